"""The base of models with neighbours: fields with halos, the order of a step, and the rest of the contract of a model.

    class Diffusion(FieldModel):
        name, version = "diffusion", "1"
        needs = Needs(unit="boxes", halo={"y": 1, "x": 1})
        variables = {...}                       # state, forcing, diagnostics, parameters
        def compute(self, where): ...           # one step of a rectangle: reads self.now and self.forcing, writes self.new

On a grid with a mask the box covers cells that do not count, too. They are NaN in every field before each step, whatever `compute` wrote
there, so that results depend on neither ranks nor restarts; `self.active` says which cells count, and only these are recorded and checked.

A step sends what others need, computes the interior meanwhile, fills the halos, and computes the rims by the same code: so a cell has
the same bits however the grid is cut, as long as `compute` does the same arithmetic for each cell of any rectangle. A box that waits for
no other rank is computed at once.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from math import prod
from types import MappingProxyType
from typing import Any

import numpy as np

from steppe.array_types import Array
from steppe.clock import Clock
from steppe.errors import ComputedError, ModelError, NotComputedError, RangeError, UnknownNameError, authored, nearest
from steppe.grid import Box, last
from steppe.levels import layer, parted
from steppe.models.contract import Increment, Status
from steppe.models.defaults import Defaults, record_step, source_digest
from steppe.models.field_forcing import FieldForcing, Fields
from steppe.models.handed import FieldInputs, Inputs, Reach, Recorder
from steppe.variable import Role, Variable, Variables

BAND = 1 << 15  # cells; about a millisecond of a simple model, after which messages want a poke


class FieldModel(Defaults):
    """A model of fields on a box; a subclass is a `steppe.models.Model`.

    now, new (rows, *box.local): the fields at this step and the next, with halos, in the order of `variables`; one with levels takes as
    many rows as it has levels. Where fields differ in dtype, these hold the fields with the dtype of the first.
    before, after: name -> a field at this step and the next, of any dtype, (*box.local) or (levels, *box.local); views of such arrays.
    spaces: name -> levels, of each dim of `variables` that is none of the grid.
    active (*box.local): which cells count, in halos, too; behind a wall those of the mirror image. All of them on a grid without a mask.
    forcing: name -> values of the step, ([levels,] *box.local); NaN in halos of packed weather. diagnostics: the same, of `compute`.
    parameters: name -> 0-d array, or the own cells of a map ([levels,] *box.shape). maps: name -> such a map with halos, ([levels,]
    *box.local).
    seconds: length of a step, 0 of a model without time. elapsed: seconds from the start of the run to the beginning of the step.
    asked: diagnostics that `derive` computes on request, from the fields and what belongs to a step.
    in_place: `step` changes `now` itself, and `new` is the same memory.
    choices: name -> words of an option, the first of them its default. options: name -> the word of this run.
    """

    name: str
    version: str
    variables: Mapping[str, Variable]
    seconds = elapsed = 0.0
    asked: Collection[str] = ()
    in_place = False

    def __init_subclass__(cls) -> None:
        if "digest" not in vars(cls):
            cls.digest = source_digest(cls, FieldModel)

    def compute(self, where: tuple[slice, ...]) -> None:
        """One step of a rectangle of own cells, from `now` with its halos to `new`; it may be empty. A model writes this, or `step`.

        It cannot change what it reads: fields of this step, forcing, parameters. A `step` cannot change parameters.
        """
        raise NotImplementedError  # `check_served` refuses a model that writes neither

    def mirror(self) -> None:
        """Fills the halos behind walls: nothing flows through them. A field that points through a wall must be reversed."""
        self._repeat(self._held[0])

    def derive(self, name: str) -> Array:
        """A diagnostic of `asked` after a step, ([levels,] *box.shape)."""
        raise NotImplementedError

    def memory_of_fields(self, shape: tuple[int, ...], dtype: str) -> Array:
        """Zeroed memory for the fields; a model may take such that others see, too."""
        return np.zeros(shape, dtype)

    def step(self) -> None:
        """From `now` to `new`: the interior while messages travel, then the rims; all at once where no message comes."""
        exchange = self.reach.exchange(self._held[0], self._parities)
        for band in self._bands:
            self._compute(band)
            exchange.progress()
        exchange.finish()
        self.mirror()
        for rim in self._rims:
            self._compute(rim)

    def _compute(self, where: tuple[slice, ...]) -> None:
        """`compute`, which may not change what it reads: how often it saw the change would depend on the ranks."""
        with locked([*self._held[0], *self.before.values(), *self.forcing.values()]):
            self.compute(where)

    def _step(self) -> None:
        """`step`, which may not change parameters: the halos of a map would lose the change when the run continues."""
        try:
            with locked([*self.maps.values(), *self.parameters.values()]):
                self.step()
        except ValueError as error:
            if "read-only" in str(error):
                cannot = "`compute` cannot change fields of this step or forcing, and no step can change parameters: change a copy"
                error.args = (f"{error}; {cannot}",)
            raise

    def initialise(
        self,
        share: Box,
        parameters: Mapping[str, float | Array],
        state: Mapping[str, float | Array] | None,
        options: Mapping[str, str],
        reach: Reach,
    ) -> None:
        """See `Model`. An array of a parameter is of the packed cells, one of a state of the shape of the own box."""
        self._allocate(share, reach, options)
        for name, variable in self._of(Role.PARAMETER).items():
            self.set(name, np.asarray(parameters.get(name, variable.initial)))
        for name, variable in self._of(Role.STATE).items():
            self._own(name)[...] = state[name] if state and name in state else self._initial(variable)
            if not self.in_place:
                self.after[name][last(share.own)] = np.nan  # a state that the first step leaves out is a bad value, not an older one
        for name, values in (state or {}).items():
            if parted(name)[1] is not None:
                self._own(name)[...] = values
        self._clear()

    def _initial(self, variable: Variable) -> float:
        """The declared value before the first step, within the limits; a state that is given may lie beyond, as in a checkpoint."""
        if variable.initial is None:
            raise ModelError(f'"{variable.name}" has no initial value. Give one in [initial], or in its declaration.')
        if variable.unfit(variable.initial).any():
            raise RangeError(variable.refusal(variable.initial))
        return variable.initial

    def _allocate(self, share: Box, reach: Reach, options: Mapping[str, str]) -> None:
        self.box, self.reach, self._bad, self._stepped = share, reach, Status(), False
        self.active, self._outside = share.active, ~share.active
        self.options = {name: options.get(name, choice.words[0]) for name, choice in self.choices.items()}
        self._hold_fields()
        waits = any(piece.peer != share.rank for piece in share.receives)
        self._bands, self._rims = (bands(share.interior), [*share.rims]) if waits else ([], bands(share.own))
        self._forcing = FieldForcing(share, self._known)
        self.diagnostics = Fields(
            (name, np.full((*self._known.leading(name), *share.local), np.nan, v.dtype))
            for name, v in self._of(Role.DIAGNOSTIC).items()
            if name not in self.asked
        )
        self.parameters: Fields = Fields({name: np.array(np.nan) for name in self._of(Role.PARAMETER)})
        maps = [name for name, variable in self._of(Role.PARAMETER).items() if variable.dims]
        self.maps = Fields({name: np.full((*self._known.leading(name), *share.local), np.nan) for name in maps})
        self.parameters |= {name: values[last(share.own)] for name, values in self.maps.items()}

    def _hold_fields(self) -> None:
        """One array for the fields of each dtype, of this step and of the next, and in them the rows of each field."""
        states = self._of(Role.STATE)
        parities, held, rows = list[tuple[int, ...]](), list[tuple[Array, Array]](), dict[str, tuple[Array, Array]]()
        for dtype in dict.fromkeys(variable.dtype for variable in states.values()):
            counts = {name: prod(self._known.leading(name)) for name, variable in states.items() if variable.dtype == dtype}
            parities.append(tuple(states[name].parity for name, count in counts.items() for _ in range(count)))
            shape = sum(counts.values()), *self.box.local
            now = self.memory_of_fields(shape, dtype)
            held.append((now, now if self.in_place else self.memory_of_fields(shape, dtype)))
            for (name, count), end in zip(counts.items(), np.cumsum([*counts.values()]), strict=True):
                at = slice(end - count, end) if self._known.leading(name) else end - 1
                rows[name] = held[-1][0][at], held[-1][1][at]
        self._parities = parities
        self._held: list[tuple[Array, ...]] = [*zip(*held, strict=True)]  # of this step, of the next
        self.now, self.new = held[0]
        self.before, self.after = (Fields({name: rows[name][at] for name in states}) for at in (0, 1))

    def advance(self, steps: range, inputs: Inputs, clock: Clock, recorder: Recorder) -> None:
        """All steps, recorded one by one."""
        self.seconds = clock.step.total_seconds() if clock.step else 0.0
        if self.maps:  # any of them may have been set
            self.reach.exchange([*self.maps.values()], [self.variables[name].parity for name in self.maps]).finish()
            self._repeat(self.maps.values())
        for piece in inputs.pieces(steps) if self.forcing else [steps]:
            if self.forcing and inputs.in_turns:
                inputs.turn_to(piece)
            for step in piece:
                self.elapsed = step * self.seconds
                self._advance_one(step, inputs, clock, recorder)

    def _advance_one(self, step: int, inputs: Inputs, clock: Clock, recorder: Recorder) -> None:
        if self.forcing:
            self._forcing.read(inputs, step)
        if self.forcing and not isinstance(inputs, FieldInputs):  # whose records are looked at once, when they are read
            limits = {name: (v.low, v.high) for name, v in self._of(Role.FORCING).items()}
            self._expect(step, {name: (self._own(name) >= low) & (self._own(name) <= high) for name, (low, high) in limits.items()})
        with np.errstate(all="ignore"), authored(f"`step` of model {self.name}", lambda: clock.name(step)):
            self._step()  # `status` reports what is not finite
        self.now, self.new, self._stepped = self.new, self.now, True
        self._held.reverse()
        self.before, self.after = self.after, self.before
        self._clear()
        record_step(recorder, step, self.box, self._everywhere)
        if not all(all_finite(fields) for fields in self._held[0]):
            self._expect(step, {name: np.isfinite(values) for name, values in self.state.items()})

    @property
    def forcing(self) -> Mapping[str, Array]:
        """See the class."""
        return MappingProxyType(self._forcing.values)

    @property
    def state(self) -> Mapping[str, Array]:
        """The fields of the own cells, each of the shape of the box, after its levels if it has some."""
        return {name: self._own(name) for name in self.before}

    def export(self, name: str, index: Array | None = None) -> Array:
        """A variable over the own box, or of some packed cells of it, (len(index),); all levels of one that has some.

        Raises
        ------
        ModelError
            An unknown name, or forcing or a diagnostic when no step has been made since the start or a restore.
        """
        if name not in self._known:
            raise UnknownNameError(f'{self.name.capitalize()} has no variable "{name}" to export.{nearest(name, self.variables)}')
        if (parted(name)[0] in self._of_step or parted(name)[0] in self.asked) and not self._stepped:
            raise NotComputedError(f'"{name}" belongs to a step, and none has been made yet. Advance by one step first.')
        values = self._everywhere(name).copy()
        return values if index is None else self.box.pack(values)[..., index]

    def set(self, name: str, value: float | Array, index: Array | None = None) -> Increment:
        """Sets a parameter, or a field or a map of all or some packed cells of the own box, of all levels of one that has some."""
        if name not in self._known:
            raise UnknownNameError(f'{self.name.capitalize()} has no variable "{name}" to set.{nearest(name, self.variables)}')
        variable = self._known[name]
        if variable.settable_by or variable.role not in (Role.STATE, Role.PARAMETER):
            instead = f"{', '.join(variable.settable_by)} instead" if variable.settable_by else "states and parameters"
            raise ComputedError(f'"{name}" cannot be set. Set {instead}.')
        unfit = variable.unfit(value)
        if unfit.any():
            raise RangeError(variable.refusal(np.asarray(value)[unfit].flat[0]))
        if name in self.parameters and name not in self.maps:
            if np.ndim(value) or index is not None:
                raise ModelError(f"{name} is one number for the whole grid. Set it without a region.")
            before, self.parameters[name] = float(self.parameters[name]), np.array(value, dtype=np.float64)
            return Increment(name, self.box.n_cells, before, float(self.parameters[name]))
        cells = self.box.pack(self._own(name))
        chosen = slice(None) if index is None else index
        before = float(cells[..., chosen].sum(dtype=np.float64))
        cells[..., chosen] = value
        self._own(name)[...] = self.box.unpack(cells)
        return Increment(name, cells[..., chosen].shape[-1], before, float(cells[..., chosen].sum(dtype=np.float64)))

    def remember(self, looks: bool = False) -> Any:
        """See `Model`."""
        of_step = {name: values.copy() for name, values in self._of_step.items()} if looks and self._stepped else None
        parameters = {name: values.copy() for name, values in self.parameters.items()}
        return [fields.copy() for fields in self._held[0]], parameters, self.options, self._bad, of_step

    def recall(self, copy: Any, share: Box, reach: Reach) -> None:
        """See `Model`."""
        if not hasattr(self, "box"):
            self._allocate(share, reach, {})
        fields, parameters, self.options, self._bad, of_step = copy
        for mine, theirs in zip(self._held[0], fields, strict=True):
            mine[...] = theirs
        self.parameters |= {name: values.copy() for name, values in parameters.items() if name not in self.maps}
        for name, values in self.maps.items():
            values[last(self.box.own)] = parameters[name]
        self._stepped = of_step is not None
        for name, values in (of_step or {}).items():
            self._of_step[name][...] = values

    def memory(self) -> tuple[int, int]:
        """Bytes of the fields, with what belongs to a step, and of the parameters."""
        of_step = sum(values.nbytes for values in self._of_step.values())
        parameters = sum(values.nbytes for values in ({**self.parameters, **self.maps}).values())
        return sum(fields.nbytes for fields in self._held[0]) * (1 if self.in_place else 2) + of_step, parameters

    def status(self) -> Status:
        """The first cell that met forcing outside its limits or is not finite."""
        return self._bad

    def _clear(self) -> None:
        """No value where no cell counts."""
        if self.box.has_holes:
            for fields in self._held[0]:
                np.copyto(fields, np.nan, where=self._outside)

    def _repeat(self, fields: Iterable[Array]) -> None:
        """Behind walls the values of the other side."""
        for mirror in self.box.mirrors:
            for field in fields:
                field[last(mirror.target)] = field[last(mirror.source)]

    def _everywhere(self, name: str) -> Array:
        """A variable of a step that was made, over the own box; not to be changed."""
        if name in self.parameters and name not in self.maps:
            return np.broadcast_to(self.parameters[name], self.box.shape)
        return self._own(name)

    def _own(self, name: str) -> Array:
        whole, level = (name, None) if name in self.before else parted(name)
        if whole in self.asked:
            return self.derive(whole) if level is None else self.derive(whole)[level]
        found = self.before[whole] if whole in self.before else {**self.maps, **self._of_step}[whole]
        own: Array = (found if level is None else found[level])[last(self.box.own)]
        return own

    @cached_property
    def _known(self) -> Variables:
        return Variables(self.variables, self.spaces)

    @property
    def _of_step(self) -> dict[str, Array]:
        return {**self.forcing, **self.diagnostics}

    def _of(self, role: Role) -> dict[str, Variable]:
        return {name: variable for name, variable in self.variables.items() if variable.role is role}

    def _expect(self, step: int, good: Mapping[str, Array]) -> None:
        """Keeps the first cell that is not good in this step, unless one was found before. good: ([levels,] *box.shape)."""
        outside = self._outside[self.box.own]
        if self._bad.count or all((each | outside).all() for each in good.values()):
            return
        maps = {name: each if each.ndim > len(self.box.shape) else each[None] for name, each in good.items()}
        bad = {name: np.flatnonzero((~self.box.pack(each)).any(axis=0)) for name, each in maps.items()}
        name = min((name for name, cells in bad.items() if cells.size), key=lambda name: int(bad[name][0]))
        cell = int(bad[name][0])
        count = len(set().union(*(cells.tolist() for cells in bad.values())))
        if good[name].ndim > len(self.box.shape):
            name = layer(name, int(np.argmin(self.box.pack(good[name])[:, cell])))
        variable, value = self._known[name], float(self.box.pack(self._own(name))[cell])
        self._bad = Status(count, cell, step, name, value, low=variable.low, high=variable.high)


@contextmanager
def locked(arrays: Iterable[Array]) -> Iterator[None]:
    """Refuses to change some arrays meanwhile; an array stands before its views: NumPy unlocks them in this order."""
    writeable = [values for values in arrays if values.flags.writeable]
    for values in writeable:
        values.flags.writeable = False
    try:
        yield
    finally:
        for values in writeable:
            values.flags.writeable = True


def all_finite(values: Array) -> bool:
    """Whether no value is NaN or infinite. Each is read from memory once: what is made of a band stays in the cache.

    >>> all_finite(np.array([1.0, 1e308, -1e308])), all_finite(np.array([1.0, np.inf])), all_finite(np.array([[np.nan], [1.0]]))
    (True, False, False)
    """
    flat = values.reshape(-1)
    return all(np.isfinite(flat[at : at + BAND]).all() for at in range(0, flat.size, BAND))


def bands(where: tuple[slice, ...]) -> list[tuple[slice, ...]]:
    """A rectangle cut across its first axis into bands of at most 32,768 cells, or of one row where rows are longer.

    >>> [(y.start, y.stop) for y, x in bands((slice(1, 101), slice(1, 1001)))]
    [(1, 33), (33, 65), (65, 97), (97, 101)]
    """
    first, *rest = where
    rows = max(1, BAND // max(1, prod(part.stop - part.start for part in rest)))
    return [(slice(at, min(at + rows, first.stop)), *rest) for at in range(first.start, first.stop, rows)]
