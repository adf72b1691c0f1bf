"""Reductions over time, computed in the loop of the model. Unfinished intervals are part of a checkpoint."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import prod

import numpy as np
from numpy.typing import NDArray

from steppe.array_types import Array, Floats, Integers
from steppe.models import Records

PIECE = 64  # steps of a piece of a run, at least, and slots of an accumulator, at most
AT_ONCE = 6 * PIECE  # steps between two meetings of the threads, where the slots suffice
OPERATION = {"mean": "sum", "sum": "sum", "min": "min", "max": "max", "last": "last"}
START = {"sum": 0.0, "min": np.inf, "max": -np.inf}

Deliver = Callable[[int, Array], None]  # first record, values (records, [levels,] cells)
Room = Callable[
    [int], Array | None
]  # a record -> the array for its values (1, [levels,] cells), which are stored there before they are delivered


@dataclass
class Reduction:
    """One variable reduced by one method over intervals of the run; `deliver` takes whole intervals.

    operation: of a step on the slot of its interval; "last" where each step has an interval of its own. edges: first step of each interval
    and the end of the last. longest: steps of the longest interval. leading: (levels,) of a variable that has some. spare: buffers (slots,
    [levels,] cells) that no recorder uses now. dtype: of its values where no interval has several, else they are float64. carried: the
    unfinished interval so far. rest: room for that. room: of the first that takes whole intervals. factor: of whole intervals.
    """

    variable: str
    method: str
    operation: str
    edges: Integers
    longest: int
    leading: tuple[int, ...]
    deliver: list[Deliver]
    spare: list[Array]
    dtype: str
    room: Room
    factor: float = 1.0
    carried: Floats | None = None
    rest: Floats | None = None


class IntervalRecorder:
    """The reductions of a run, for the cells of one share.

    like: the recorder of another branch of the same run and share. Both use the same buffers: a branch that does not step holds none.
    at_once: steps that the model records at once, at most.
    """

    def __init__(self, n_cells: int, like: "IntervalRecorder | None" = None, at_once: int = AT_ONCE) -> None:
        self._cells, self._at_once = n_cells, at_once
        self._reductions: list[Reduction] = []
        self._spare: list[list[Array]] = like._spare if like else []  # of each reduction
        self._open: list[tuple[Reduction, int, Records, Array | None]] = []
        self.on_piece: Callable[[range], None] = lambda steps: None  # gets the steps that are computed next
        self.done = 0  # steps that are computed, also those whose records could not be delivered
        self.most_steps = AT_ONCE
        """Steps that may be recorded at once: at most `PIECE` slots, for intervals of any length."""

    def want(
        self,
        variable: str,
        method: str,
        edges: Integers,
        deliver: Deliver,
        leading: tuple[int, ...] = (),
        dtype: str = "float64",
        room: Room = lambda record: None,
        factor: float = 1.0,
    ) -> None:
        """Asks for a reduction; equal ones are computed once. leading: (levels,) of a variable that has some.

        dtype: of the values, where a model can store it and each interval is one step; what reduces several is float64.
        room: saves a copy of the record of one step where nothing else takes it. factor: what is delivered is multiplied by it.
        """
        for reduction in self._reductions:
            if (reduction.variable, reduction.method) == (variable, method) and np.array_equal(reduction.edges, edges):
                reduction.deliver.append(deliver)
                return
        number = len(self._reductions)
        if number == len(self._spare):
            self._spare.append([])
        lengths = np.diff(edges)
        longest = int(lengths.max())
        operation, dtype = ("last", dtype) if longest == 1 else (OPERATION[method], "float64")
        spare = self._spare[number]
        self._reductions.append(Reduction(variable, method, operation, edges, longest, leading, [deliver], spare, dtype, room, factor))
        self.most_steps = min(self.most_steps, PIECE * int(lengths.min()))

    def mute(self) -> None:
        """Reduces as before, by the same kernel, but delivers nothing."""
        for reduction in self._reductions:
            reduction.deliver.clear()

    def close(self) -> None:
        """Frees its memory and its receivers: they refer to each other, and the collector would free them only much later."""
        self._reductions, self._open, self.on_piece = [], [], lambda steps: None

    def records(self, steps: range) -> list[Records]:
        """Slots and accumulators of `steps` for every reduction; an interval that began earlier continues with its accumulator."""
        self.on_piece(steps)
        self._open = []
        known: dict[int, tuple[int, int, NDArray[np.int32]]] = {}  # of reductions over the same intervals
        for reduction in self._reductions:
            if id(reduction.edges) not in known:
                intervals = np.searchsorted(reduction.edges, np.arange(steps.start, steps.stop), side="right") - 1
                known[id(reduction.edges)] = int(intervals[0]), int(np.ptp(intervals)) + 1, (intervals - intervals[0]).astype(np.int32)
            (first, slots, places), operation = known[id(reduction.edges)], reduction.operation
            room = reduction.room(first) if len(steps) == reduction.longest == len(reduction.deliver) == 1 else None
            if room is not None and room.dtype == reduction.dtype:
                self._open.append((reduction, first, Records(reduction.variable, operation, places, room), None))
                continue
            buffer = reduction.spare.pop() if reduction.spare else np.empty((0, *reduction.leading, self._cells), reduction.dtype)
            if len(buffer) < slots:
                # Of a run as long as it will ever be, and filled, so that from then on a process has the memory that is announced; some
                # days of a calibration need little of that.
                most = slots if len(steps) <= PIECE else max(slots, self._most_slots(reduction))
                buffer = np.full((most, *reduction.leading, self._cells), np.nan, reduction.dtype)
            values = buffer[:slots]
            if operation != "last":  # which asks for no value before
                values[1:] = START[operation]
                values[0] = START[operation] if reduction.carried is None else reduction.carried
            due = int(reduction.edges[first + 1]) <= steps.stop
            record = Records(reduction.variable, operation, places, values, due)
            self._open.append((reduction, first, record, buffer))
        return [record for _, _, record, _ in self._open]

    def finish(self, steps: range) -> None:
        """Delivers the intervals that end within `steps`, and keeps the last one if it continues."""
        self.done = steps.stop
        for reduction, first, record, buffer in self._open:
            ends = reduction.edges[first + 1 : first + 1 + len(record.values)]
            whole = int(ends.searchsorted(steps.stop, side="right"))
            if whole:
                values = record.values[:whole]
                if reduction.operation == "sum" and reduction.method == "mean":
                    lengths = np.diff(reduction.edges[first : first + whole + 1])
                    values /= lengths.reshape(-1, *(1,) * (values.ndim - 1))
                if reduction.factor != 1.0:
                    values *= reduction.factor
                for deliver in reduction.deliver:
                    deliver(first, values)
            reduction.carried = None
            if whole < len(record.values) and record.operation != "last":  # which a later step replaces
                reduction.rest = np.empty((*reduction.leading, self._cells)) if reduction.rest is None else reduction.rest
                reduction.carried = reduction.rest
                reduction.carried[:] = record.values[whole]
            if buffer is not None:
                reduction.spare.append(buffer)
        self._open = []

    def spare_at_most(self, buffers: int) -> None:
        """Frees spare buffers of each reduction beyond so many."""
        for spare in self._spare:
            del spare[buffers:]

    @property
    def nbytes(self) -> int:
        """Bytes of the accumulators: the slots of the steps that are recorded at once, and the unfinished interval."""
        sizes = ((r, prod(r.leading) * np.dtype(r.dtype).itemsize) for r in self._reductions)
        return self._cells * sum((self._most_slots(reduction) + (reduction.operation != "last")) * size for reduction, size in sizes)

    def _most_slots(self, reduction: Reduction) -> int:
        """Intervals that the steps recorded at once may touch, unless they are of very different lengths."""
        steps = min(self.most_steps, self._at_once)
        return min(steps, -(-steps // reduction.longest) + 1)

    def state(self) -> dict[str, Floats]:
        """Accumulators of unfinished intervals, for a checkpoint."""
        return {f"{i}": r.carried for i, r in enumerate(self._reductions) if r.carried is not None}

    def restore(self, state: Mapping[str, Array]) -> None:
        """Takes the accumulators of a checkpoint."""
        self.done = 0
        for i, reduction in enumerate(self._reductions):
            reduction.carried = state.get(f"{i}")
