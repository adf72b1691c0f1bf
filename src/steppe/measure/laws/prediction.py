"""Predictions of a fit for sizes and numbers of ranks that were not measured, with intervals and doubts."""

from dataclasses import dataclass

import numpy as np

from steppe.errors import Mistake
from steppe.measure.laws.law import DRAWS, SEED
from steppe.measure.laws.operation import OperationFit, SizeRange

FAR, FAR_OF_LINE = 10.0, 2.0  # times the largest measured size, from which on a prediction is doubted; FAR_OF_LINE without a law in p


@dataclass(frozen=True)
class Prediction:
    """The time [s] of n bytes on p ranks one way, its 95 % interval from resampled points, and reasons to doubt both."""

    n: float
    p: float
    time: float
    low: float
    high: float
    doubts: list[str]


def predict(fit: OperationFit, n: float, p: float) -> Prediction:
    """The time of n bytes on p ranks, as the table of the fit states it: one way, t0 / 2 + n / r_inf of times with acknowledgements.

    Raises
    ------
    Mistake
        n or p is no number of bytes or ranks; there is no law in p, another mechanism is at work at p, the law ends before it, or the
        time is not above zero.
    """
    if not (0.0 <= n < np.inf and 1.0 <= p < np.inf):
        raise Mistake(f"{n:.12g} bytes on {p:g} ranks is nothing to predict. Give 0 bytes or more, on 1 rank or more.")
    piece = fit.piece_of(n)
    measured = fit.points.ranks
    if measured.size == 1 and p == measured[0]:
        return _of_line(fit, piece, n, p)
    if piece.t0 is None or p < 2.0 <= measured[0]:
        why = f"Times were measured on {measured[0]:g} ranks {'alone' if measured.size == 1 else 'and more'}."
        if piece.t0 is None and measured.size > 1:
            why = " ".join(piece.reasons)
        raise Mistake(f"{fit.title}: nothing can be said about p = {p:g}. {why}")
    only_latency = fit.points.sizes.size == 1
    if only_latency and n != fit.points.sizes[0]:
        raise Mistake(f"{fit.title}: only {fit.points.sizes[0]:.12g} bytes were measured, nothing can be said about {n:.12g}.")
    if piece.rate is None and not only_latency:
        raise Mistake(f"{fit.title}: nothing can be said about p = {p:g}. {' '.join(piece.reasons)}")
    laws = [law for law in (piece.t0, piece.rate) if law is not None]
    for law in laws:
        if law.change is not None and p > law.change:
            raise Mistake(f"{fit.title}: nothing can be said about p = {p:g}. {law.doubts[0]}")
        if float(law.curve(p)[0]) <= 0.0:
            what = "r_inf" if law is piece.rate else "t0"
            raise Mistake(f"{fit.title}: the law of {what}, {law.family}, is not above zero at p = {p:g}. It cannot hold so far.")
    draws, time = piece.t0.draws(p) * fit.one_way, float(piece.t0.curve(p)[0]) * fit.one_way
    if piece.rate is not None:
        rates = piece.rate.draws(p)
        draws = draws + n / np.where(rates > 0.0, rates, np.nan)
        time += n / float(piece.rate.curve(p)[0])
    lost = float(np.isnan(draws).mean())
    low, high = np.quantile(np.nan_to_num(draws, nan=np.inf), (0.025, 0.975), method="nearest")
    doubts = [doubt for law in laws for doubt in law.doubts]
    if p < measured[0]:
        doubts.append(f"p = {p:g} is less than was measured; the interval takes the families for granted.")
    if lost > 0.025:
        doubts.append(f"In {lost:.0%} of the draws r_inf is not above zero at p = {p:g}: there is no upper bound.")
    if p > 2.0 * measured[-1]:
        doubts.append(f"p = {p:g} is {p / measured[-1]:.3g} times what was measured; the interval takes the families for granted.")
    return Prediction(n, p, _above_zero(fit, n, time), max(0.0, float(low)), float(high), doubts + _far(fit, n, FAR))


def _of_line(fit: OperationFit, piece: SizeRange, n: float, p: float) -> Prediction:
    t0, slope = piece.lines.draws(DRAWS, SEED)
    low, high = np.quantile(t0[:, 0] * fit.one_way + n * slope[:, 0], (0.025, 0.975))
    time = float(piece.lines.t0[0] * fit.one_way + n * piece.lines.slope[0])
    return Prediction(n, p, _above_zero(fit, n, time), max(0.0, float(low)), float(high), _far(fit, n, FAR_OF_LINE))


def _above_zero(fit: OperationFit, n: float, time: float) -> float:
    if time <= 0.0:
        raise Mistake(f"{fit.title}: the line gives {time * 1e6:.4g} us for {n:.12g} bytes, which cannot be. Measure such sizes, too.")
    return time


def _far(fit: OperationFit, n: float, most: float) -> list[str]:
    """A doubt if n is more than `most` times the largest measured size."""
    largest = fit.points.sizes[-1]
    if n <= most * largest:
        return []
    times = f"{n / largest:.3g} times" if largest > 0.0 else "beyond"
    return [f"{n:.12g} bytes is {times} what was measured; the interval takes the line for granted."]
