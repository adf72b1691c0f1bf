"""Perturbed cells, which the chemistry is measured and verified with.

They are the box of EMEP at 10 o'clock of its third day, each species and photolysis changed at random.
"""

import numpy as np
from numpy.typing import NDArray

from steppe.models.air.chemistry import Chemistry, ChemistryOutcome, darkness
from steppe.models.air.chemistry_box import ChemistryBox
from steppe.models.air.conditions import Conditions
from steppe.models.air.mechanism_file import read_mechanism
from steppe.models.air.program import Program

Floats = NDArray[np.float64]
MORNING = 58.0 * 3600.0  # [s] since midnight of the first day
SECONDS = 600.0
LEAST = 1e5  # [molecule cm-3] of species that are compared
GAP = 8  # elements behind a row: rows that lie a power of two apart would drive each other out of the cache


class Cells:
    """mechanism, program without processes that vary, concentrations c (species, cells) and rates k (processes, cells)."""

    def __init__(self, n: int, seed: int = 1, light_seed: int = 5) -> None:
        self.mechanism = read_mechanism("emep66")
        box = ChemistryBox(Conditions.of(self.mechanism), rtol=1e-6, atol=1.0)
        *_, last = box.run(MORNING)
        self.equations = [(process.reactants, process.products) for process in self.mechanism.processes]
        self.program = Program.of(len(self.mechanism.species), self.equations)
        noise = np.random.default_rng(seed).standard_normal((n, len(last.c)))
        self.c = np.ascontiguousarray((last.c * np.exp(0.5 * noise)).T)
        day = 86_400.0 * np.floor(MORNING / 86_400.0)
        self.k = np.repeat(box.rates_at(np.array([MORNING]), 1.0, day), n, axis=1)
        sunlit = [p for p, process in enumerate(self.mechanism.processes) if process.rate.form == "photolysis"]
        self.k[sunlit] *= 1.0 + 0.2 * np.random.default_rng(light_seed).uniform(-1.0, 1.0, n)
        self._rates = np.pad(self.k, ((0, 0), (0, GAP)))

    def after(self, rtol: float, atol: float, first: float, lanes: int = 64) -> tuple[Floats, ChemistryOutcome]:
        """The concentrations 600 s later. first [s]: the first step of each cell."""
        solver, cells = Chemistry(self.program, np.zeros(0), rtol, atol, lanes), self.c.shape[1]
        c = np.pad(self.c, ((0, 0), (0, GAP)))
        outcome = solver.advance(SECONDS, self._rates, darkness(cells), c, np.arange(cells), np.full(cells, first))
        return c[:, :cells], outcome


def greatest_error(found: Floats, exact: Floats) -> float:
    """Relative, of all species of all cells of which there is enough."""
    return float(abs(found / exact - 1.0)[exact > LEAST].max())
