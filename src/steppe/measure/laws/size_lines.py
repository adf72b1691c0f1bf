"""t(n) = t0 + n / r_inf for each number of ranks, and the sizes at which the protocol changes.

Weights are 1/sigma, and sigma grows with t: small messages count as much as large ones. Residuals beyond `HUBER` sigma count less.
"""

from dataclasses import dataclass

import numpy as np
from msgspec import Struct

from steppe.array_types import Array, Floats
from steppe.measure.laws.points import SamplePoints

HUBER = 2.5  # residuals in sigma, beyond which they count linearly (Huber 1964)
LEAST_SIZES = 3  # of a piece
MOST_PIECES = 6
FOR_SURE = 6.0  # least gain of the criterion at which a cut is reported as a change of protocol
TURNS = 50


class SizeLine(Struct, frozen=True, forbid_unknown_fields=True):
    """t(n) = t0 + n / r_inf on p ranks, with standard errors; r_inf None where the sizes do not determine it."""

    p: float
    t0: float
    t0_error: float
    r_inf: float | None
    r_inf_error: float | None
    worst_residual: float

    def time(self, n: Floats) -> Floats:
        """Times [s] of n bytes (sizes,)."""
        return self.t0 + (n / self.r_inf if self.r_inf else np.zeros_like(n))


@dataclass(frozen=True)
class RangeLines:
    """Lines of one range of sizes, one for each p (ranks,).

    t0 [s], slope [s/byte]; covariance (ranks, 2, 2) of both; misfit: sum of squares in sigma, residuals beyond `HUBER` counting linearly;
    worst: the largest residual relative to the measured time. With one size slope is 0 and has no meaning.
    """

    low: float
    high: float
    t0: Floats
    slope: Floats
    covariance: Floats
    misfit: Floats
    worst: Floats
    sizes: Floats

    @property
    def grows(self) -> Array:
        """Where the sizes determine a rate (ranks,): the slope is above zero by twice its error."""
        return np.asarray((self.sizes > 1) & (self.slope > 2.0 * np.sqrt(self.covariance[:, 1, 1])))

    @property
    def has_rate(self) -> bool:
        """True if the sizes determine a rate at every p."""
        return bool(self.grows.all())

    @property
    def rate(self) -> Floats:
        """r_inf [bytes/s]."""
        return np.asarray(1.0 / self.slope)

    @property
    def rate_error(self) -> Floats:
        """Standard error of r_inf [bytes/s]."""
        return np.asarray(np.sqrt(self.covariance[:, 1, 1]) / self.slope**2)

    @property
    def t0_error(self) -> Floats:
        """Standard error of t0 [s]."""
        return np.asarray(np.sqrt(self.covariance[:, 0, 0]))

    def lines(self, ranks: Floats) -> list[SizeLine]:
        """The line of each of the ranks (ranks,)."""
        none = [None] * ranks.size
        rates = (self.rate.tolist(), self.rate_error.tolist()) if self.has_rate else (none, none)
        columns = ranks.tolist(), self.t0.tolist(), self.t0_error.tolist(), *rates, self.worst.tolist()
        return [SizeLine(*line) for line in zip(*columns, strict=True)]

    def draws(self, number: int, seed: int) -> tuple[Floats, Floats]:
        """t0 and slope (number, ranks) of points drawn anew."""
        root = np.zeros_like(self.covariance)  # Cholesky; that of NumPy refuses errors that are far greater than the values
        root[:, 0, 0] = np.sqrt(self.covariance[:, 0, 0])
        root[:, 1, 0] = self.covariance[:, 0, 1] / root[:, 0, 0]
        root[:, 1, 1] = np.sqrt(np.maximum(0.0, self.covariance[:, 1, 1] - root[:, 1, 0] ** 2))
        normal = np.random.default_rng(seed).standard_normal((number, self.t0.size, 2))
        both = np.stack([self.t0, self.slope], axis=1) + np.einsum("rij,drj->dri", root, normal)
        return both[..., 0], both[..., 1]


def fit_lines(sizes: Floats, times: Floats, weights: Floats) -> RangeLines:
    """Robust lines: sizes (n,) [bytes], times [s] and weights 1/sigma (ranks, n)."""
    there = weights > 0.0
    count = there.sum(axis=1)
    calm = np.ones_like(weights)
    for _ in range(TURNS):
        t0, slope, cross = _solve(sizes, times, weights**2 * calm)
        residual = np.abs(times - t0[:, None] - slope[:, None] * sizes) * weights
        before, calm = calm, np.minimum(1.0, HUBER / np.maximum(residual, HUBER))
        if np.abs(calm - before).max() < 1e-9:
            break
    misfit = np.where(residual <= HUBER, residual**2, 2.0 * HUBER * residual - HUBER**2).sum(axis=1)
    # residuals beyond the scatter of the points widen the errors of the line
    wide = np.maximum(1.0, misfit / np.maximum(1, count - 2))
    above = there & (times > 0.0)  # what is left behind work may be less
    worst = (residual / np.where(above, weights * times, 1.0) * above).max(axis=1)
    used = sizes[there.any(axis=0)]
    return RangeLines(float(used[0]), float(used[-1]), t0, slope, cross * wide[:, None, None], misfit, worst, count)


def _solve(sizes: Floats, times: Floats, weights: Floats) -> tuple[Floats, Floats, Floats]:
    """Weighted least squares: t0, slope and their covariance. Sizes are centred on their mean, which keeps all digits."""
    total = weights.sum(axis=1)
    mean_size, mean_time = (weights * sizes).sum(axis=1) / total, (weights * times).sum(axis=1) / total
    from_mean = sizes - mean_size[:, None]
    square = (weights * from_mean**2).sum(axis=1)
    one = (weights > 0.0).sum(axis=1) < 2
    slope = np.where(one, 0.0, (weights * from_mean * (times - mean_time[:, None])).sum(axis=1) / np.where(one, 1.0, square))
    variance = np.where(one, 0.0, 1.0 / np.where(one, 1.0, square))
    at_zero = np.where(one, 0.0, mean_size)
    corner = -at_zero * variance
    covariance = np.stack([np.stack([1.0 / total + at_zero**2 * variance, corner], axis=1), np.stack([corner, variance], axis=1)], axis=1)
    return mean_time - slope * at_zero, slope, covariance


@dataclass(frozen=True)
class Pieces:
    """The lines of each range of sizes. sure: true if the cuts are changes of protocol, not only possible ones."""

    lines: tuple[RangeLines, ...]
    sure: bool = False


def fit_pieces(points: SamplePoints) -> Pieces:
    """One line for all sizes, or up to `MOST_PIECES` with jumps between them, the same cuts for all p.

    Cuts are sought only if the scatter of the times is known: an assumed scatter would decide alone.
    """
    sizes, (times, weights) = points.sizes, points.table()
    whole = fit_lines(sizes, times, weights)
    price = (2 * points.ranks.size + 1) * np.log(points.n.size)  # of one more piece: its lines and its cut
    if not points.known or whole.misfit.sum() <= price:
        return Pieces((whole,))
    least: dict[int, list[tuple[float, list[int]]]] = {0: [(0.0, [0])]}  # end -> by pieces: misfit, cuts
    for end in range(1, sizes.size + 1):
        found: dict[int, tuple[float, list[int]]] = {}
        for begin in least:
            if end - begin < LEAST_SIZES or ((weights[:, begin:end] > 0).sum(axis=1) < LEAST_SIZES).any():
                continue
            cost = float(fit_lines(sizes[begin:end], times[:, begin:end], weights[:, begin:end]).misfit.sum())
            for misfit, cuts in least[begin]:
                pieces = len(cuts)
                if pieces <= MOST_PIECES and misfit + cost < found.get(pieces, (np.inf, []))[0]:
                    found[pieces] = misfit + cost, [*cuts, end]
        if found:
            least[end] = list(found.values())
    one = float(whole.misfit.sum())
    best = min(least.get(sizes.size, []), key=lambda way: way[0] + price * (len(way[1]) - 2), default=(one, [0, sizes.size]))
    gain = one - best[0] - price * (len(best[1]) - 2)
    if len(best[1]) == 2 or gain <= 0.0:
        return Pieces((whole,))
    parts = zip(best[1], best[1][1:], strict=False)
    return Pieces(tuple(fit_lines(sizes[a:b], times[:, a:b], weights[:, a:b]) for a, b in parts), gain > FOR_SURE)
