"""Steps of one cell model, or of several that share the forcing: all or nothing.

    each thread     tile of forcing ──> window ──> model, model, ...   ──> next tile
                    decoded once                   while it is near

Of the last step are kept its forcing and the state before it, so that diagnostics can be had of it later.
"""

from collections.abc import Sequence
from itertools import pairwise
from time import thread_time
from typing import NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from steppe.array_types import Array
from steppe.kernels import TURN, BoundKernel, CellKernel, ForcingRows, RecordRow
from steppe.models.cell_constants import Constants
from steppe.models.cell_forcing import ForcingWindows, joined, one_step
from steppe.timeline import span


class LastStep(NamedTuple):
    """The inputs of the last step, to compute it again."""

    steps: range  # of length 1
    window: ForcingRows  # of all cells
    today: Array
    constants: Constants
    state: Array  # before the step
    codes: NDArray[np.int32]


class Bad(NamedTuple):
    """A cell that became bad, at which step, and its forcing then."""

    step: int
    cell: int
    window: ForcingRows


class CellArrays:
    """Arrays of some cells that change: states and events (rows, cells), codes and steps of bad cells. real: precision of the states."""

    def __init__(self, rows: int, cells: int, real: DTypeLike) -> None:
        self.state: Array = np.empty((rows, cells), real)
        self.codes, self.bad_steps = np.empty(cells, np.int32), np.empty(cells, np.int32)
        self.before: tuple[Array, NDArray[np.int32]] = (np.empty_like(self.state), np.empty_like(self.codes))  # the last step
        self._kept = tuple(np.empty_like(each) for each in self.all)  # when a piece begins

    @property
    def all(self) -> tuple[Array, NDArray[np.int32], NDArray[np.int32]]:
        """State, codes and steps of bad cells."""
        return self.state, self.codes, self.bad_steps

    def mark(self, whole: bool) -> None:
        """Keeps what there is, for `undo` if it is to be whole."""
        self._kept[1][...] = self.codes
        if whole:
            for kept, values in zip(self._kept, self.all, strict=True):
                kept[...] = values

    def undo(self) -> None:
        """Goes back to what was marked."""
        for kept, values in zip(self._kept, self.all, strict=True):
            values[...] = kept

    def keep_before(self, cells: range) -> None:
        """Keeps the state of some cells before the last step."""
        at = slice(cells.start, cells.stop)
        self.before[0][:, at], self.before[1][at] = self.state[:, at], self.codes[at]

    def newly_bad(self, cells: range, piece: range) -> int | None:
        """The first cell of a range that became bad in a piece since what was marked, the earliest of them."""
        at = slice(cells.start, cells.stop)
        if not self.codes[at].any():
            return None
        new = cells.start + np.flatnonzero((self.codes[at] != 0) & (self._kept[1][at] == 0) & (self.bad_steps[at] >= piece.start))
        return int(new[np.argmin(self.bad_steps[new])]) if new.size else None


class StepRange:
    """The steps of one model, some pieces of the forcing.

    today (steps, 3). keep: keep what diagnostics of the last step need. undoable: after an error all is as it was before.
    """

    def __init__(
        self,
        arrays: CellArrays,
        kernel: CellKernel,
        constants: Constants,
        today: Array,
        pieces: Sequence[range],
        records: list[RecordRow],
        keep: bool,
        undoable: bool,
    ) -> None:
        self.arrays, self.kernel, self.constants, self.today = arrays, kernel, constants, today
        self.pieces, self.records, self.keep = pieces, records, keep
        self.steps = range(pieces[0].start, pieces[-1].stop)
        arrays.mark(undoable)

    def last(self, sweeps: Sequence["Sweep"]) -> LastStep | None:
        """The inputs of its last step, joined from all threads; None if they were not kept."""
        if not self.keep or not sweeps:
            return None
        window = joined([window for sweep in sweeps for window in sweep.lasts])
        return LastStep(self.steps[-1:], window, self.today[-1:], self.constants, *self.arrays.before)


class Sweep:
    """One thread's way through the steps of one model."""

    def __init__(self, step_range: StepRange) -> None:
        self._step_range = step_range
        self._whole: BoundKernel | None = None
        self._piece = range(0)
        self._bound: list[BoundKernel] = []  # of all steps of the piece but the last of the range, and of that
        self._first = 0
        self.lasts: list[ForcingRows] = []  # what the last step met; the same for all models
        self.bad: list[Bad] = []

    def __call__(self, piece: range, cells: range, window: ForcingRows, beside: "Sweep") -> None:
        """Computes a piece of some cells. beside: the sweep of the first model, which met the same forcing."""
        arrays = self._step_range.arrays
        if piece is not self._piece:
            self._turn_to(piece, window)
        first, bound = self._first, self._bound
        with span("compute"):
            if first:
                bound[0](cells, window.rows, window.first_cell)
            if first < len(piece):
                self.lasts.append(one_step(window, first, cells) if beside is self else beside.lasts[-1])
                arrays.keep_before(cells)
                bound[1](cells, window.rows, window.first_cell)
        found = arrays.newly_bad(cells, piece)
        if found is not None:
            step = int(arrays.bad_steps[found])
            self.bad.append(Bad(step, found, one_step(window, step - piece.start, range(found, found + 1))))

    def _turn_to(self, piece: range, window: ForcingRows) -> None:
        step_range, constants = self._step_range, self._step_range.constants
        if self._whole is None:  # for all steps: of the window it takes only what is the same in all of them
            given = *step_range.arrays.all, constants.rows, constants.uniform, step_range.today, step_range.steps
            self._whole = step_range.kernel.bind(*given, window, step_range.records)
        self._piece = piece
        self._first = len(piece) - 1 if step_range.keep and piece is step_range.pieces[-1] else len(piece)
        start = piece.start - step_range.steps.start
        cuts = [slice(start, start + self._first), slice(start + self._first, start + len(piece))]
        self._bound = [self._whole.part(cut, window.row_of[:, cut.start - start : cut.stop - start]) for cut in cuts]


def go_through(windows: ForcingWindows, step_ranges: Sequence[StepRange]) -> tuple[list[Sweep], float]:
    """Computes all models for the cells of one thread; returns their sweeps, and the CPU seconds of each."""
    begin = thread_time()
    sweeps = [Sweep(each) for each in step_ranges]
    for piece in step_ranges[0].pieces:
        for cells, window in windows(piece):
            for sweep in sweeps:
                sweep(piece, cells, window, sweeps[0])
    return sweeps, (thread_time() - begin) / len(sweeps)


def shares_of(cells: int, threads: int) -> list[range]:
    """The cells of each thread, in whole turns of the kernel."""
    turns = -(-cells // TURN)
    cuts = [min(cells, TURN * (turns * k // threads)) for k in range(threads + 1)]
    return [range(low, high) for low, high in pairwise(cuts) if low < high]
