"""Runs a cell model, a module with a `step` for one cell and one step, over all cells of a share: threads, records, exports, changes.

    advance: some pieces of the inputs ─> threads over ranges of cells ─> a window a piece and tile ─> the kernel: blocks, steps, cells
                                                                                  records reduced in the loop ┘

Threads do not wait for each other between pieces, so a thread that was slow for a while can make up for it. There are two kernels: one
keeps the diagnostics that are recorded, often none; the other keeps all diagnostics, for `export` (`cell_exports`). Pieces that are
computed together are computed for all cells or, when the forcing of one cannot be read, for none.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from copy import copy
from dataclasses import replace
from functools import partial
from time import perf_counter
from types import ModuleType
from typing import Any, NamedTuple, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from steppe.array_types import Array, Floats
from steppe.clock import Clock
from steppe.errors import ComputedError, ModelError, NotComputedError
from steppe.html_summary import html_summary
from steppe.kernels import TODAY, Background, CellKernel, RecordRow, attributes
from steppe.levels import Space
from steppe.models.cell_bad import bad_status, found_bad
from steppe.models.cell_constants import Constants
from steppe.models.cell_declaration import BAD, CellDeclaration, Chosen
from steppe.models.cell_exports import LastStepExports
from steppe.models.cell_forcing import ForcingWindows, NoWeather
from steppe.models.cell_piece import Bad, CellArrays, LastStep, StepRange, Sweep, go_through, shares_of
from steppe.models.cell_values import check_known, checked_values
from steppe.models.contract import Increment, Needs, Status
from steppe.models.declare import Choice
from steppe.models.handed import Inputs, Reach, Recorder, Records, Surroundings
from steppe.variable import Role, Variable

Part = TypeVar("Part")
Made = TypeVar("Made")


class Copy(NamedTuple):
    """All that changes in a run. Parameters and what is derived from them are replaced when they are set: they need no copy.

    last: for diagnostics of the last step, where these are wanted.
    """

    options: Chosen
    parameters: dict[str, Floats]
    constants: Constants
    state: Array
    codes: NDArray[np.int32]
    bad_steps: NDArray[np.int32]
    first_bad: Status
    last: LastStep | None


class CellModel:
    """A cell model on a share of cells. module: see `cell_declaration`; dtype: "float32" or "float64"; threads: kernels at once.

    Results do not depend on threads, tiles, or how the steps are split.

    Raises
    ------
    ModelError
        The module is not a whole cell model; the message says what is missing.
    """

    needs = Needs(step="1 day")
    undoes = True

    def __init__(self, module: ModuleType, dtype: str = "float32", threads: int = 1) -> None:
        if dtype not in ("float32", "float64"):
            raise ModelError(f'A cell model cannot be computed in "{dtype}". Use float32 or float64.')
        self._declaration = CellDeclaration(module, dtype)
        self._real: Any = np.dtype(dtype).type
        self._threads = threads
        self._pool = ThreadPoolExecutor(threads, "cells") if threads > 1 else None
        self._kernels: dict[tuple[Chosen, tuple[str, ...], tuple[str, ...]], Background[CellKernel]] = {}
        self.needs = replace(self.needs, cost=getattr(module, "COST", None))
        self.name: str = self._declaration.name
        self.version: str = self._declaration.version
        self.digest = self._declaration.digest()
        self.variables: Mapping[str, Variable] = self._declaration.variables | BAD
        self.spaces: Mapping[str, Space] = {}
        self.choices: Mapping[str, Choice] = self._declaration.choices
        self._used, self._optional = attributes(module.step), self._declaration.optional()
        self._cells = -1  # nothing is allocated
        self.busy = 0.0
        """CPU seconds in which threads advanced cells, reading in them included: what the share costs. No part of results."""
        self.compiling = 0.0
        self._looks = False  # a run without viewers never loads the kernel of all diagnostics

    def __repr__(self) -> str:
        counts = ", ".join(f"{len(self._declaration.of(role))} {role.value}" for role in Role if self._declaration.of(role))
        return f"<CellModel {self.name} {self.version}: {counts}>"

    def _repr_html_(self) -> str:
        of = {role.value: self._declaration.of(role).values() for role in Role}
        tables = {name: [(v.name, v.units, v.long_name) for v in variables] for name, variables in of.items() if variables}
        options = {name: ", ".join(choice.words) for name, choice in self.choices.items()}
        return html_summary(f"{self.name} {self.version}", options, tables=tables)

    def again(self, table: Mapping[str, object] | None = None) -> "CellModel":
        """Another one of the same equations, to be initialised; kernels and threads are shared. See `Model`."""
        other = copy(self)
        other.busy, other.compiling, other._cells = 0.0, 0.0, -1
        return other

    def place(self, around: Surroundings) -> None:
        """It runs anywhere. See `Model`."""

    # --- start ----------------------------------------------------------------------------------------------------------------------
    def initialise(
        self,
        share: Any,
        parameters: Mapping[str, float | Array],
        state: Mapping[str, float | Array] | None,
        options: Mapping[str, str],
        reach: Reach | None = None,
    ) -> None:
        """Allocates the state of the share's `n_cells` cells.

        parameters, state: name -> number or array (cells,). What is missing has its declared value; a state that `start` computes
        goes before the declared one. A state that is given may be computed, so it may lie outside its limits. options: name -> word.

        Raises
        ------
        ModelError
            An unknown name, a missing value, or a parameter outside its limits.
        """
        declaration = self._declaration
        self._allocate(share.n_cells)
        self._options = declaration.options(options)
        declared = declaration.of(Role.PARAMETER)
        check_known(parameters, declared, self.name, "parameter")
        given = {name: parameters.get(name, variable.initial) for name, variable in declared.items()}
        self._parameters = {name: checked_values(declared[name], value, self._cells, self.name) for name, value in given.items()}
        self._constants = self._derived()
        self._first_bad = Status()
        self._fill(state or {})

    def _allocate(self, cells: int) -> None:
        self._exports = LastStepExports()
        self._recorded: set[str] = set()
        if cells == self._cells:
            return
        self._cells = cells
        self._rows = (*self._declaration.fields("State"), *self._optional)
        self._arrays = CellArrays(len(self._rows), cells, self._real)
        self._shares = shares_of(cells, self._threads)

    def remember(self, looks: bool = False) -> Copy:
        """See `Model`."""
        state, codes, bad_steps = self._arrays.all
        copies = state.copy(), codes.copy(), bad_steps.copy()
        last = self._exports.step if looks else None
        if last is not None:  # the next step uses the memory of these two again
            last = last._replace(state=last.state.copy(), codes=last.codes.copy())
        return Copy(self._options, self._parameters, self._constants, *copies, self._first_bad, last)

    def recall(self, copy: Copy, share: Any, reach: Reach | None = None) -> None:
        """See `Model`."""
        self._allocate(share.n_cells)
        self._options, self._parameters, self._constants = copy.options, copy.parameters, copy.constants
        for values, kept in zip(self._arrays.all, (copy.state, copy.codes, copy.bad_steps), strict=True):
            values[...] = kept
        self._first_bad, self._exports.step = copy.first_bad, copy.last

    def _fill(self, given: Mapping[str, float | Array]) -> None:
        check_known(given, {*self._rows, *BAD}, self.name, "state")
        started = self._declaration.start(self._constants.p, self._constants.d, self._options)
        check_known(started, self._declaration.fields("State"), self.name, "state")
        for row, name in zip(self._arrays.state, self._rows, strict=True):
            variable = self.variables[name]
            start = given.get(name, started.get(name, variable.initial))
            row[:] = checked_values(variable, start, self._cells, self.name, limited=name not in given)
        self._arrays.codes[:] = given.get("bad_code", 0)
        self._arrays.bad_steps[:] = given.get("bad_step", -1)

    def _derived(self) -> Constants:
        return Constants.of(self._declaration, self._parameters, self._options, self._used, self._cells, self._real)

    def _kernel(self, per_cell: tuple[str, ...], diagnostics: Iterable[str]) -> Background[CellKernel]:
        """Loaded in the background, once for each choice of per-cell constants and of diagnostics that are kept."""
        names = tuple(name for name in self._declaration.fields("Diagnostics") if name in diagnostics)
        key = (self._options, per_cell, names)
        if key not in self._kernels:
            step, real = self._declaration.cell_step(self._options), self._real  # not `self`: kernels outlive it
            self._kernels[key] = Background(lambda: CellKernel(step, real, per_cell, names))
        return self._kernels[key]

    # --- steps ----------------------------------------------------------------------------------------------------------------------
    def advance(self, steps: range, inputs: Inputs, clock: Clock, recorder: Recorder) -> None:
        """All steps; what the recorder wants is reduced on the way.

        Raises
        ------
        ModelError
            The inputs lack a forcing variable, hold one that was also set, or a parameter is to be recorded.
        """
        self.advance_together((), steps, inputs, clock, [recorder])

    def advance_together(self, others: Sequence[Self], steps: range, inputs: Inputs, clock: Clock, recorders: Sequence[Recorder]) -> None:
        """See `Model`: each tile of forcing is decoded once. A single model stands where a piece of the inputs begins when it raises."""
        models, inputs = (self, *others), inputs or NoWeather(self._shares[-1].stop)
        wanted = [model._wanted(inputs) for model in models]
        streams = [ForcingWindows(inputs, cells, wanted[0], self._real) for cells in self._shares]
        for model in models:
            model._exports.begin_steps()
        most = 1 if inputs.in_turns else min(recorder.most_steps for recorder in recorders)
        for pieces in _together(inputs.pieces(steps), most):
            some = range(pieces[0].start, pieces[-1].stop)
            if inputs.in_turns:
                inputs.turn_to(some)
            today, keep = self._today(some, clock), some.stop == steps.stop
            both = zip(models, recorders, strict=True)
            step_ranges = [model._step_range(pieces, today, recorder.records(some), keep, not others) for model, recorder in both]
            try:
                found = self._each(partial(go_through, step_ranges=step_ranges), streams)
            except BaseException:
                if not others:
                    step_ranges[0].arrays.undo()
                raise
            for k, (model, recorder) in enumerate(zip(models, recorders, strict=True)):
                model._finish(step_ranges[k], [sweeps[k] for sweeps, _ in found], sum(seconds for _, seconds in found), clock)
                recorder.finish(some)

    def _wanted(self, inputs: Inputs) -> list[str]:
        optional = self._optional
        for name in self._declaration.fields("Forcing"):
            if name not in inputs.names and name not in optional:
                raise ModelError(f'{self.name} needs the forcing "{name}"; the inputs hold {", ".join(inputs.names)}. Add it to the store.')
            if name in inputs.names and name in optional and (self._row(name) != self._real(optional[name])).any():
                raise ModelError(f'"{name}" was set for the next step, but the inputs hold it for every step. Change it there.')
        return [name for name in self._declaration.fields("Forcing") if name in inputs.names]

    def _today(self, steps: range, clock: Clock) -> Array:
        if not self._declaration.fields("Today"):
            return np.zeros((len(steps), len(TODAY)), self._real)
        return np.stack(clock.fields(steps), axis=1).astype(self._real)

    def _step_range(self, pieces: Sequence[range], today: Array, records: list[Records], keep: bool, undoable: bool) -> StepRange:
        """Some pieces, to be computed. keep: keep what diagnostics of the last step need. undoable: all or not at all."""
        constants, self._recorded = self._constants, {record.name for record in records}
        begin = perf_counter()
        kernel = self._kernel(constants.per_cell, self._recorded).result()
        self.compiling += perf_counter() - begin
        rows = [self._row_of(record, kernel) for record in records]
        self._exports.step = None  # its memory is used again
        return StepRange(self._arrays, kernel, constants, today, pieces, rows, keep, undoable)

    def _finish(self, step_range: StepRange, sweeps: Sequence[Sweep], seconds: float, clock: Clock) -> None:
        self.busy += seconds
        self._exports.step = step_range.last(sweeps)
        bad = [each for sweep in sweeps for each in sweep.bad]
        if bad and not self._first_bad.count:
            self._first_bad = self._found_bad(min(bad, key=lambda each: each[:2]), clock)

    def _each(self, work: Callable[[Part], Made], parts: Sequence[Part]) -> list[Made]:
        """The results of the parts, one a thread; none is at work any more when this returns or raises."""
        if not self._pool:
            return [work(part) for part in parts]
        futures = [self._pool.submit(work, part) for part in parts]
        wait(futures)
        return [future.result() for future in futures]

    def _row_of(self, record: Records, kernel: CellKernel) -> RecordRow:
        name, values = record.name, record.values
        if name not in kernel.rows:
            raise ModelError(f'"{name}" cannot be recorded: it is no state, forcing or diagnostic of {self.name}.')
        if values.dtype != np.float64 or not values.flags.c_contiguous or values.shape[1:] != (self._cells,):
            raise ModelError(f'The record of "{name}" must be float64 (slots, {self._cells}), it is {values.dtype} {values.shape}.')
        slots = np.ascontiguousarray(record.slots, np.int32)
        return RecordRow(kernel.rows[name], record.operation, slots, values.astype(np.float64, copy=False))

    # --- values ---------------------------------------------------------------------------------------------------------------------
    @property
    def state(self) -> Mapping[str, Array]:
        """Views (cells,): states, optional forcing as set for the next step, and which cells are bad since when."""
        rows = dict(zip(self._rows, self._arrays.state, strict=True))
        return {**rows, "bad_code": self._arrays.codes, "bad_step": self._arrays.bad_steps}

    @property
    def parameters(self) -> Mapping[str, Array]:
        """float64: 0-d where one number holds for all cells, else (cells,)."""
        return dict(self._parameters)

    def expect_looks(self) -> None:
        """Begins to load the kernel of all diagnostics, behind the program; from now on also where a parameter is set."""
        self._looks = True
        self._kernel(self._constants.per_cell, self._declaration.fields("Diagnostics"))

    def memory(self) -> tuple[int, int]:
        """Bytes of the state, with its copies before the piece and before the last step, and of the parameters, with what is derived."""
        return 3 * sum(values.nbytes for values in self.state.values()), self._constants.nbytes

    def _row(self, name: str) -> Array:
        row: Array = self._arrays.state[self._rows.index(name)]
        return row

    def export(self, name: str, index: Array | None = None) -> Array:
        """Any variable at the last step, a new array (cells,) or of the cells `index`.

        Raises
        ------
        ModelError
            An unknown name, or forcing or a diagnostic when no step has been made since the start or a restore.
        """
        check_known([name], self.variables, self.name, "variable")
        role = self.variables[name].role
        values: Array
        if role is Role.STATE:
            values = self.state[name]
        elif role is Role.PARAMETER:
            values = np.broadcast_to(self._parameters[name], (self._cells,))
        elif role is Role.DERIVED:
            values = np.broadcast_to(getattr(self._constants.d, name), (self._cells,))
        elif not self._cells:
            values = np.empty(0, self._real)
        elif (last := self._exports.step) is None:
            raise NotComputedError(f'"{name}" belongs to a step, and none has been made yet. Advance by one step first.')
        elif role is Role.FORCING:
            values = self._exports.forcing(last, name, self._rows)
        else:
            every = self._declaration.fields("Diagnostics")
            kernel = self._kernel(last.constants.per_cell, every).result()
            found = self._exports.diagnostic(last, name, every, kernel, lambda work: self._each(work, self._shares))
            values = found.astype(self._real)
        return np.array(values if index is None else values[index])

    def set(self, name: str, value: float | Array, index: Array | None = None) -> Increment:
        """Sets a state or a parameter from now on, or an optional forcing for the next step, for all cells or those of `index`.

        Raises
        ------
        ModelError
            An unknown name, a value outside its limits, or a quantity that cannot be set (what to set instead is named).
        """
        check_known([name], self.variables, self.name, "variable")
        variable = self.variables[name]
        settable = name in self._rows or variable.role is Role.PARAMETER
        if not settable or variable.settable_by:
            instead = f"Set {', '.join(variable.settable_by)} instead." if variable.settable_by else "Set states, parameters or events."
            raise ComputedError(f'"{name}" is {variable.role.value} and cannot be set. {instead}')
        where = slice(None) if index is None else index
        count = self._cells if index is None else int(np.arange(self._cells)[where].size)
        new = checked_values(variable, value, count, self.name)
        whole = np.array(np.broadcast_to(self._parameters[name], (self._cells,))) if variable.role is Role.PARAMETER else self._row(name)
        before = float(whole[where].sum(dtype=np.float64))
        whole[where] = new
        if variable.role is Role.PARAMETER:
            self._set_parameter(name, new if index is None else whole)
        return Increment(name, count, before, float(whole[where].sum(dtype=np.float64)))

    def _set_parameter(self, name: str, values: Floats) -> None:
        old = self._parameters
        self._parameters = {**old, name: values}
        try:
            self._constants = self._derived()
        except ModelError:
            self._parameters = old
            raise
        self._kernel(self._constants.per_cell, self._recorded)
        if self._looks:
            self.expect_looks()

    # --- bad cells ------------------------------------------------------------------------------------------------------------------
    def status(self) -> Status:
        """How many cells are bad, and of the first one the step, variable and value. After a restore the value is not known (NaN)."""
        return bad_status(self._declaration, self._arrays, self._first_bad)

    def _found_bad(self, bad: Bad, clock: Clock) -> Status:
        state = {name: self._row(name)[bad.cell] for name in self._rows}  # an event of this very step is its default again
        today = dict(zip(TODAY, self._today(range(bad.step, bad.step + 1), clock)[0], strict=True))

        def step_again(forcing: Mapping[str, float]) -> Mapping[str, float]:
            constants = self._constants.p, self._constants.d
            return self._declaration.step_in_python(bad.cell, {**state, **forcing}, constants, today, self._options, self._real)

        return found_bad(self._declaration, int(self._arrays.codes[bad.cell]), bad, step_again)


def _together(pieces: Sequence[range], steps: int) -> Iterator[list[range]]:
    """Pieces that follow each other, as many at once as have not more than so many steps, but at least one."""
    some: list[range] = []
    for piece in pieces:
        if some and piece.stop - some[0].start > steps:
            yield some
            some = []
        some.append(piece)
    if some:
        yield some
