"""Predictions of a fit for sizes and numbers of ranks that were not measured, with intervals and doubts."""

from dataclasses import dataclass

import numpy as np

from steppe.errors import Mistake
from steppe.measure.laws.law import DRAWS, SEED
from steppe.measure.laws.operation import OperationFit, SizeRange


@dataclass(frozen=True)
class Prediction:
    """The time [s] of n bytes on p ranks, the 95 % interval of points drawn anew, and reasons to doubt both."""

    n: float
    p: float
    time: float
    low: float
    high: float
    doubts: list[str]


def predict(fit: OperationFit, n: float, p: float) -> Prediction:
    """The time of n bytes on p ranks.

    Raises
    ------
    Mistake
        n or p is no number of bytes or ranks; there is no law in p, another mechanism is at work at p, or the law ends before it.
    """
    if not (0.0 <= n < np.inf and 1.0 <= p < np.inf):
        raise Mistake(f"{n:g} bytes on {p:g} ranks is nothing to predict. Give 0 bytes or more, on 1 rank or more.")
    piece = fit.piece_of(n)
    measured = fit.points.ranks
    if measured.size == 1 and p == measured[0]:
        return _of_line(fit, piece, n, p)
    if piece.t0 is None:
        why = " ".join(piece.reasons) or "Times were measured on one number of ranks."
        raise Mistake(f"{fit.title}: nothing can be said about p = {p:g}. {why}")
    only_latency = fit.points.sizes.size == 1
    if only_latency and n != fit.points.sizes[0]:
        raise Mistake(f"{fit.title}: only {fit.points.sizes[0]:g} bytes were measured, nothing can be said about {n:g}.")
    if piece.rate is None and not only_latency:
        raise Mistake(f"{fit.title}: nothing can be said about p = {p:g}. {' '.join(piece.reasons)}")
    laws = [law for law in (piece.t0, piece.rate) if law is not None]
    for law in laws:
        if law.change is not None and p > law.change:
            raise Mistake(f"{fit.title}: nothing can be said about p = {p:g}. {law.doubts[0]}")
        if float(law.curve(p)[0]) <= 0.0:
            what = "r_inf" if law is piece.rate else "t0"
            raise Mistake(f"{fit.title}: the law of {what}, {law.family}, is not above zero at p = {p:g}. It cannot hold so far.")
    draws, time = piece.t0.draws(p), float(piece.t0.curve(p)[0])
    if piece.rate is not None:
        rates = piece.rate.draws(p)
        draws = draws + n / np.where(rates > 0.0, rates, np.nan)
        time += n / float(piece.rate.curve(p)[0])
    lost = float(np.isnan(draws).mean())
    low, high = np.quantile(np.nan_to_num(draws, nan=np.inf), (0.025, 0.975), method="nearest")
    doubts = [doubt for law in laws for doubt in law.doubts]
    if lost > 0.025:
        doubts.append(f"In {lost:.0%} of the draws r_inf is not above zero at p = {p:g}: there is no upper bound.")
    if p > 2.0 * measured[-1]:
        doubts.append(f"p = {p:g} is {p / measured[-1]:.3g} times what was measured; the interval takes the families for granted.")
    return Prediction(n, p, time, float(low), float(high), doubts)


def _of_line(fit: OperationFit, piece: SizeRange, n: float, p: float) -> Prediction:
    t0, slope = piece.lines.draws(DRAWS, SEED)
    low, high = np.quantile(t0[:, 0] + n * slope[:, 0], (0.025, 0.975))
    time = float(piece.lines.t0[0] + n * piece.lines.slope[0])
    beyond = n > 2.0 * fit.points.sizes[-1]
    return Prediction(n, p, time, float(low), float(high), [f"{n:g} bytes is far beyond what was measured."] if beyond else [])
