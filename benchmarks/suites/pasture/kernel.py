"""Steppe's kernel on a `Case`, called as `CellModel` calls it."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.rounds import thread_seconds
from benchmarks.suites.pasture.case import FORCING, Case
from steppe.kernels import BLOCK, TODAY, CellKernel, ForcingRows, attributes
from steppe.models import pasture
from steppe.models.cell_declaration import CellDeclaration

Array = NDArray[Any]


class Kernel:
    """The kernel without diagnostics on one case at a time. dtype: "float32" or "float64"."""

    def __init__(self, dtype: str = "float32") -> None:
        self._real: Any = np.dtype(dtype).type
        self._declaration = CellDeclaration(pasture, dtype)

    def prepare(self, case: Case) -> None:
        """Compiles the kernel, or loads it, and takes the case's numbers in its precision and order."""
        used = attributes(pasture.step)
        # What no formula reads is NaN, so that it needs no row in the kernel.
        constants = {name: np.asarray(value) if name in used else np.asarray(np.nan) for name, value in case.constants.items()}
        per_cell = tuple(name for name, value in constants.items() if value.ndim)
        self._case = case
        self._kernel = CellKernel(self._declaration.cell_step(self._declaration.options({})), self._real, per_cell)
        self._constants = np.array([constants[name] for name in per_cell], self._real)
        self._uniform = np.array([value for value in constants.values() if not value.ndim], self._real)
        self._today = np.stack(case.clock.fields(range(case.days)), axis=1).astype(self._real)
        assert TODAY == ("day_of_year", "month", "year")
        forcing = case.forcing
        self._window = ForcingRows(
            FORCING, forcing.rows, forcing.row_of, forcing.scale.astype(self._real), forcing.offset.astype(self._real), 0
        )
        carried = {name: np.full(case.cells, value) for name, value in self._declaration.optional().items()} | dict(case.state)
        self._rows = (*self._declaration.fields("State"), *self._declaration.optional())
        self._start = np.array([carried[name] for name in self._rows], self._real)
        self.reset()

    def reset(self) -> None:
        """Back to the state that the case begins with."""
        self._state = self._start.copy()
        self._codes, self._bad_steps = np.zeros(self._case.cells, np.int32), np.full(self._case.cells, -1, np.int32)

    def run(self, part: int = 0, parts: int = 1) -> None:
        """All days of the cells, or of one of `parts` shares of them."""
        blocks = -(-self._case.cells // BLOCK)
        first, last = (min(self._case.cells, BLOCK * (blocks * k // parts)) for k in (part, part + 1))
        arrays = (self._state, self._codes, self._bad_steps, self._constants, self._uniform, self._today)
        self._kernel.run(*arrays, range(self._case.days), range(first, last), self._window, [])
        assert not self._codes.any()

    def seconds(self, cells: range) -> float:
        """CPU time of the loop itself on some cells, all days; cells may become bad."""
        arrays = (self._state, self._codes, self._bad_steps, self._constants, self._uniform, self._today)
        bound = self._kernel.bind(*arrays, range(self._case.days), self._window, [])
        return thread_seconds(lambda: bound(cells, self._window.rows, self._window.first_cell))

    def state(self) -> dict[str, Array]:
        """The states now."""
        return {name: row for name, row in zip(self._rows, self._state, strict=True) if name in self._case.state}
