"""Perturbed cells beside an independent solver (scipy's Radau)."""

import numpy as np
from scipy.integrate import solve_ivp

from verification.air.cells import SECONDS, Cells

CELLS, SEED = 512, 20261126
LEAST = 1e5  # [molecule cm-3] of species that are compared
CHECKED = 3  # cells that Radau computes, too


def test_512_cells_meet_tight_tolerances(measured):
    cells = Cells(CELLS, SEED, SEED + 1)
    exact, _ = cells.after(1e-8, 1e-2, 0.1)
    counted = exact > LEAST
    worst = max(_radau(cells, n, exact[:, n], counted[:, n]) for n in range(CHECKED))
    measured(f"{CHECKED} cells, rtol 1e-8", "beside Radau, worst species", worst, "<= 1e-6")
    assert worst <= 1e-6
    for rtol, atol, first, limit in ((1e-2, 1e4, 1.0, 1e-2), (1e-5, 1.0, 1.0, 4e-5)):
        found, outcome = cells.after(rtol, atol, first)
        error = float(abs(found / exact - 1.0)[counted].max())
        steps = float((outcome.steps + outcome.rejected).mean())
        measured(f"{CELLS} cells, rtol {rtol:g}", f"worst species of any cell, {steps:.1f} steps", error, f"<= {limit:g}")
        assert error <= limit


def _radau(cells, n, found, counted):
    k, equations = cells.k[:, n], cells.equations

    def speeds(y):
        return [kp * np.prod(y[list(reactants)]) for kp, (reactants, _) in zip(k, equations, strict=True)]

    def change(t, y):
        f = np.zeros_like(y)
        for v, (reactants, products) in zip(speeds(y), equations, strict=True):
            for i in reactants:
                f[i] -= v
            for i, share in products:
                f[i] += share * v
        return f

    def jacobian(t, y):
        j = np.zeros((y.size, y.size))
        for kp, (reactants, products) in zip(k, equations, strict=True):
            for place, column in enumerate(reactants):
                slope = kp * np.prod(y[[i for other, i in enumerate(reactants) if other != place]])
                for i in reactants:
                    j[i, column] -= slope
                for i, share in products:
                    j[i, column] += share * slope
        return j

    exact = solve_ivp(change, (0.0, SECONDS), cells.c[:, n], "Radau", [SECONDS], jac=jacobian, rtol=1e-9, atol=1e-3).y[:, -1]
    return float(abs(found / exact - 1.0)[counted].max())
