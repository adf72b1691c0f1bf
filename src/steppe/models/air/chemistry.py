"""The chemistry of many cells over a time: the tables of a mechanism, the memory of its lanes, and what is wrong with a cell."""

from dataclasses import dataclass

import numpy as np

from steppe.array_types import Floats, Integers
from steppe.models.air.lanes import PER_CELL, PER_LANE, SUN_FIRST, SUN_SECOND, integrate_of
from steppe.models.air.program import Program

LANES = 64


@dataclass(frozen=True)
class ChemistryOutcome:
    """What happened to each cell.

    steps, rejected (cells,). clipped (species, cells): what was added where a concentration came out negative, in its unit. iterations: of
    the lanes. failed (cells,): -1, or the species whose error is greatest where the solver cannot go on.
    """

    steps: Integers
    rejected: Integers
    clipped: Floats
    failed: Integers
    iterations: int

    @property
    def efficiency(self) -> float:
        """The part of all lanes that was of use."""
        return float((self.steps.sum() + self.rejected.sum()) / max(1, self.iterations))


def darkness(cells: int) -> Floats:
    """The `sun` of cells that never see it, (PER_CELL, cells)."""
    sun = np.zeros((PER_CELL, cells))
    sun[[SUN_FIRST, SUN_SECOND]] = np.inf
    return sun


class Chemistry:
    """The solver of one thread.

    program: of the mechanism; the processes that vary in it follow the sun by exp(-slant / cos(theta)). slant (varying,). rtol, atol
    [molecule cm-3]: tolerances of a step. lanes: cells that are computed side by side.
    """

    def __init__(self, program: Program, slant: Floats, rtol: float = 1e-2, atol: float = 1e4, lanes: int = LANES) -> None:
        self.program, self.rtol, self.atol, self.lanes = program, rtol, atol, lanes
        self._slant = np.ascontiguousarray(slant, float)
        n, v = program.species, program.varying
        self._cell = np.zeros(lanes, np.int64)
        shapes = [PER_LANE, 1, v, v, v, v, program.processes, n, program.elements, program.rows, 1, n, n, n, n, n, n, n]
        self._integrate = integrate_of(lanes)
        self._work = [np.zeros((rows, lanes)) for rows in shapes]

    @property
    def nbytes(self) -> int:
        """Of the lanes."""
        return sum(each.nbytes for each in self._work)

    def advance(
        self, seconds: float, rates: Floats, sun: Floats, c: Floats, at: Integers, carried: Floats, scale: Floats | None = None
    ) -> ChemistryOutcome:
        """All cells over a time.

        Parameters
        ----------
        rates
            (processes, cells or more), [molecule, cm3, s]: of each process, without exp(-slant / cos(theta)) where it is sunlit.
        sun
            (6, cells): s, c, phase [rad] of cos(theta) = s + c cos(turn t + phase); 1 or 0, whether there is light at first; two times [s]
            at which that changes, inf for none.
        c
            (species, ...): concentrations, changed in place; of cell n at c.reshape(species, -1)[:, at[n]].
        carried
            (cells,) [s]: the step of each cell, changed in place.
        scale
            (cells,): concentration [molecule cm-3] is c times this; None: 1.
        """
        program, cells = self.program, len(at)
        steps, failed, count = np.zeros((2, cells), np.int64), np.full(cells, -1), np.zeros(1, np.int64)
        clipped = np.zeros((program.species, cells))
        self._integrate(
            cells, rates.shape[1], c[0].size, seconds, self.rtol, self.atol, program.codes, program.yields, self._slant, rates, sun,
            np.ones(cells) if scale is None else scale, at, c, carried, clipped, steps, failed, count, self._cell, *self._work,
        )  # fmt: skip
        return ChemistryOutcome(steps[0], steps[1], clipped, failed, int(count[0]) * self.lanes)
