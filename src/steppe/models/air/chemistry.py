"""The chemistry of many cells over a time: the tables of a mechanism, the memory of its lanes, and what is wrong with a cell."""

from typing import NamedTuple

import numpy as np

from steppe.array_types import Floats, Integers
from steppe.models.air.lanes import PER_CELL, SUN_FIRST, SUN_SECOND, CellsOfCall, Lanes, Tolerance, integrate_of
from steppe.models.air.program import Program
from steppe.models.air.rosenbrock import Attempt

LANES = 64


class ChemistryOutcome(NamedTuple):
    """What happened to each cell.

    steps, rejected (cells,). clipped (species, cells): what was added where a concentration came out negative, in its unit. iterations: of
    the lanes. failed (cells,): -1, or the species whose error is greatest where the solver cannot go on.
    """

    steps: Integers
    rejected: Integers
    clipped: Floats
    failed: Integers
    iterations: int


def darkness(cells: int) -> Floats:
    """The `sun` of cells that never see it, (PER_CELL, cells)."""
    sun = np.zeros((PER_CELL, cells))
    sun[[SUN_FIRST, SUN_SECOND]] = np.inf
    return sun


class Chemistry:
    """The solver of one thread.

    program: of the mechanism; the processes that vary in it follow the sun by exp(-slant / cos(theta)). slant (varying,). rtol, atol
    [molecule cm-3]: tolerances of a step. lanes: cells that are computed side by side. spent: attempts of cells and of lanes, so far.
    """

    def __init__(self, program: Program, slant: Floats, rtol: float = 1e-2, atol: float = 1e4, lanes: int = LANES) -> None:
        self.program, self.lanes, self.tolerance = program, lanes, Tolerance(rtol, atol)
        self._slant, self.spent = np.ascontiguousarray(slant, float), np.zeros(2, np.int64)
        self.state, self.step = Lanes.room(program.species, program.varying, lanes), Attempt.room(program, lanes)

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
            at which that changes, every day again, inf for none.
        c
            (species, ...): concentrations, changed in place; of cell n at c.reshape(species, -1)[:, at[n]].
        carried
            (cells,) [s]: the step of each cell, changed in place.
        scale
            (cells,): concentration [molecule cm-3] is c times this; None: 1.
        """
        n = len(at)
        ones = np.ones(n) if scale is None else scale
        steps, failed, clipped = np.zeros((2, n), np.int64), np.full(n, -1), np.zeros((self.program.species, n))
        cells = CellsOfCall(n, seconds, rates.shape[1], c[0].size, rates, sun, ones, at, c, carried, clipped, steps, failed)
        self.state.clear(seconds)
        self.step.y[...], self.step.k[...] = 0.0, 0.0
        integrate_of(self.lanes)(self.tolerance, self.program, self._slant, cells, self.state, self.step)
        iterations = int(self.state.attempts[0]) * self.lanes
        self.spent += steps.sum(), iterations
        return ChemistryOutcome(steps[0], steps[1], clipped, failed, iterations)
