"""Exports of the last step of a cell model: forcing and diagnostics.

The forcing of the last step and the state before it are kept. A diagnostic is computed from them when a caller asks for it, in one pass
with those that were asked for at the step before: callers mostly ask for the same diagnostics again.
"""

from collections.abc import Callable, Sequence

import numpy as np

from steppe.array_types import Array
from steppe.kernels import CellKernel, RecordRow
from steppe.models.cell_forcing import unpacked
from steppe.models.cell_piece import LastStep


class LastStepExports:
    """The last step, and those of its diagnostics that were computed. step: None before the first step."""

    def __init__(self) -> None:
        self.step: LastStep | None = None
        self._diagnostics: dict[str, Array] = {}
        self._asked = self._asked_before = frozenset[str]()  # names: of the last step, and of one before it

    def begin_steps(self) -> None:
        """Drops the computed diagnostics, and keeps the names that were asked for."""
        self._diagnostics = {}
        if self._asked:
            self._asked_before, self._asked = self._asked, frozenset()

    def forcing(self, step: LastStep, name: str, rows: Sequence[str]) -> Array:
        """A forcing of the step, (cells,); one that the inputs lack is a row of the state."""
        if name not in step.window.names:
            row: Array = step.state[rows.index(name)]
            return row
        return unpacked(step.window, name)

    def diagnostic(
        self, step: LastStep, name: str, every: Sequence[str], kernel: CellKernel, on_all: Callable[[Callable[[range], None]], object]
    ) -> Array:
        """A diagnostic of the step, float64 (cells,); NaN in a bad cell.

        every: all diagnostics, in the order of the model. kernel: keeps all of them; a kernel for each choice would take longer to load
        than it saves. on_all: calls a function with ranges that are all cells together.
        """
        self._asked |= {name}
        if name not in self._diagnostics:
            names = [each for each in every if each in self._asked | self._asked_before and each not in self._diagnostics]
            values = np.empty((len(names), 1, step.codes.size))
            records = [RecordRow(kernel.rows[n], "last", np.zeros(1, np.int32), v) for n, v in zip(names, values, strict=True)]
            constants = step.constants.rows, step.constants.uniform
            given = step.state.copy(), step.codes.copy(), np.zeros(step.codes.size, np.int32), *constants, step.today, step.steps

            def run(cells: range) -> None:
                kernel.run(*given, cells, step.window, records)

            on_all(run)
            self._diagnostics |= dict(zip(names, values[:, 0], strict=True))
        return self._diagnostics[name]
