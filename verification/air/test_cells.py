"""Perturbed cells beside an independent solver (scipy's Radau)."""

from benchmarks.air_cells import SECONDS, Cells, greatest_error
from scipy.integrate import solve_ivp
from tests.models.air.plain import change, jacobian

CELLS, SEED = 512, 20261126
CHECKED = 3  # cells that Radau computes, too


def test_512_cells_meet_tight_tolerances(within):
    cells = Cells(CELLS, SEED, SEED + 1)
    exact, _ = cells.after(1e-8, 1e-2, 0.1)
    worst = max(greatest_error(_radau(cells, n), exact[:, n]) for n in range(CHECKED))
    within(f"{CHECKED} cells, rtol 1e-8", "beside Radau, worst species", worst, 1e-6)
    for rtol, atol, first, limit in ((1e-2, 1e4, 1.0, 1e-2), (1e-5, 1.0, 1.0, 2e-5)):
        found, outcome = cells.after(rtol, atol, first)
        steps = float((outcome.steps + outcome.rejected).mean())
        within(f"{CELLS} cells, rtol {rtol:g}", f"worst species of any cell, {steps:.1f} steps", greatest_error(found, exact), limit)


def _radau(cells, n):
    k, equations = cells.k[:, n], cells.equations
    return solve_ivp(
        lambda t, y: change(equations, k, y), (0.0, SECONDS), cells.c[:, n], "Radau", [SECONDS],
        jac=lambda t, y: jacobian(equations, k, y), rtol=1e-9, atol=1e-3,
    ).y[:, -1]  # fmt: skip
