"""A change of a variable on one rank: the same sums and refusals on any number of ranks; undone if another rank failed."""

from collections.abc import Callable

import numpy as np

from steppe.array_types import Array
from steppe.comm import World
from steppe.engine.digest import changed
from steppe.engine.events import ROUNDED, is_parameter, not_kept
from steppe.engine.gatherer import Gatherer
from steppe.engine.plan import Plan
from steppe.errors import ComputedError, RangeError
from steppe.kernels.sums import total
from steppe.levels import parted
from steppe.models import Increment


class Setting:
    """Changes variables in the cells of one rank.

    Parameters
    ----------
    plan, world
        The run, and all ranks.
    gatherer
        The cells of this rank.
    """

    def __init__(self, plan: Plan, world: World, gatherer: Gatherer) -> None:
        self._plan, self._world, self._gatherer = plan, world, gatherer
        self._mine, self._model = np.asarray(gatherer.mine), plan.model
        self._before: tuple[str, Array, Array | None] | None = None

    def undo(self) -> None:
        """Undoes a change that failed on another rank."""
        if self._before:
            (name, values, index), self._before = self._before, None
            whole, level = parted(name)
            state = self._model.state.get(whole)
            if state is None:
                self._model.set(name, values if values.ndim else float(values), index)
            else:  # which may lie beyond the limits that hold for what is set
                own = state if level is None else state[level]
                cells = self._gatherer.packed(own)
                cells[..., slice(None) if index is None else index] = values
                own[...] = self._gatherer.unpacked(cells)

    def set(self, name: str, value: float | Array, cells: Array | None, operation: str) -> Callable[[], Increment]:
        """Sets, scales or adds to a variable, everywhere or in some packed cells; the function that it returns gives the sums.

        Raises
        ------
        ModelError
            The value is outside its limits, or the variable cannot be set. Nothing has changed.
        """
        index = None
        if name in self._plan.of_weather:
            raise ComputedError(f'"{name}" cannot be set: the weather holds it for every step. Change it there.')
        if cells is not None or np.ndim(value):
            every = cells if cells is not None else np.arange(self._plan.grid.n_cells)
            here, index = self._gatherer.positions(every)
            value = value[..., here] if isinstance(value, np.ndarray) and value.ndim else value
            index = None if cells is None else index
        known, parameter = parted(name)[0] in {*self._model.state, *self._model.parameters}, is_parameter(self._model, name)
        if parameter and not known:
            raise not_kept(self._model, name)
        before = self._values(name, index) if known else np.empty(0)
        if known:
            value = changed(operation, before, value)
            self._refuse_cell(name, value, cells)
        self._model.set(name, value, index)  # which refuses variables that cannot be set
        after = self._values(name, index)
        self._before = name, before, index
        if parameter and not np.allclose(after, value, ROUNDED, 0.0):
            self.undo()
            raise not_kept(self._model, name)

        def together() -> Increment:
            self._before = None
            cells = len(self._mine) if index is None else len(index)
            count = self._world.reduce(np.array([cells], np.int64), "sum")
            # of one number for all cells `total` would give the same bits: the product, rounded once
            sums = (total(each.ravel(), self._world.reduce) if each.ndim else float(count[0] * each) for each in (before, after))
            return Increment(name, int(count[0]), *sums)

        return together

    def _refuse_cell(self, name: str, value: float | Array, cells: Array | None) -> None:
        """Raises `RangeError` for the first value outside the limits of its variable; the same cell on any number of ranks."""
        if np.ndim(value):
            variable, values = self._plan.variables[name], np.asarray(value, np.float64)
            wrong = np.argwhere(variable.unfit(values))
            if len(wrong):
                first = tuple(wrong[np.argmin(wrong[:, -1])].tolist())
                cell = int((self._mine if cells is None else cells[self._gatherer.positions(cells)[0]])[first[-1]])
                raise RangeError(variable.refusal(values[first], f" in cell {cell}"))

    def _values(self, name: str, index: Array | None) -> Array:
        """A copy of a state or a parameter: of the cells `index`, or of all; of a parameter that one number gives, that."""
        whole, level = parted(name)
        values = self._model.state.get(whole)
        if values is None:
            values = self._model.parameters[whole]
            values = values if index is None or values.ndim else np.broadcast_to(values, len(self._mine))
        values = self._gatherer.packed(values if level is None else values[level])
        return np.array(values if index is None else values[..., index])
