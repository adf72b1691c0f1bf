"""Known laws, simulated measurements of them with noise, and the laws that the fits find: a test of the fits."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from steppe.measure.laws.formula import Formula, made_points
from steppe.measure.laws.operation import OperationFit, fit

SIZES = 2.0 ** np.arange(2, 17)  # [bytes] of Santos et al. (1997), section 4
RANKS = (2, 4, 8, 12, 16)
LEAST = 1e-30  # [s] and [bytes/s]: less is taken for zero


@dataclass(frozen=True)
class Rehearsal:
    """A law, the fit of its simulated times, and the worst relative errors at the measured p, NaN where there are none."""

    formula: Formula
    fit: OperationFit | None
    t0_error: float
    rate_error: float
    reason: str


def rehearse(
    formulas: Sequence[Formula], noise: float, outliers: float, repeats: int, seed: int, ranks: Sequence[int] = RANKS
) -> list[Rehearsal]:
    """The rehearsals of laws, each with its own seed, on those of the p where the law is above zero."""
    return [_one(formula, noise, outliers, repeats, seed + number, ranks) for number, formula in enumerate(formulas)]


def _one(formula: Formula, noise: float, outliers: float, repeats: int, seed: int, ranks: Sequence[int]) -> Rehearsal:
    if formula.t0 is None:
        return Rehearsal(formula, None, np.nan, np.nan, "t0 is not known")
    p = np.unique(np.array(ranks, float))
    for law in (formula.t0, formula.rate):
        if law is not None:
            p = p[(law(p) > LEAST) & (law(p) < np.inf)]
    if p.size < 3:
        return Rehearsal(formula, None, np.nan, np.nan, "above zero at fewer than 3 of the p")
    sizes = SIZES[:1] if formula.rate is None else SIZES
    each_p, each_n = (grid.reshape(-1) for grid in np.meshgrid(p, sizes, indexing="ij"))
    times = formula.t0(each_p) + (0.0 if formula.rate is None else each_n / formula.rate(each_p))
    points = made_points(times, each_n, each_p, noise, outliers, repeats, seed)
    found = fit(points, {"environment": formula.environment, "operation": formula.operation})
    t0, rate = found.pieces[0].t0, found.pieces[-1].rate
    t0_error = np.nan if t0 is None else float(np.abs(t0.curve(p) / formula.t0(p) - 1.0).max())
    rate_error = np.nan if rate is None or formula.rate is None else float(np.abs(rate.curve(p) / formula.rate(p) - 1.0).max())
    return Rehearsal(formula, found, t0_error, rate_error, "")
