"""Measured times as fits use them: one median, with its standard error, for each size and number of ranks."""

import numpy as np
from msgspec import Struct, field

from steppe.array_types import Floats
from steppe.errors import Mistake

US, MB = 1e-6, 1e6  # [s] and [bytes]: units of printed times and rates
OF_MEDIAN = 1.2533  # standard error of a median, in those of a mean; for normal deviates
OF_DEVIATION = 1.4826  # standard deviation, in median absolute deviations; for normal deviates
FLOOR = 0.003  # of the time: least standard error, however many repeats there are
SPREAD = 0.03  # of the time: assumed scatter of times without repeats
FEW, MANY = 5, 100  # repeats: with fewer their own scatter is too uncertain; with as many it is known


class SamplePoints(Struct, frozen=True, forbid_unknown_fields=True):
    """Times of messages of n bytes on p ranks, with standard errors: what is fitted, and what a file keeps of it.

    n [bytes], p, t [s], sigma [s] standard error of t, repeats: all (points,), ordered by p, then n.
    known: true if every sigma comes from repeats or was given; else it is assumed.
    """

    n: Floats = field(name="bytes")
    p: Floats
    t: Floats
    sigma: Floats
    repeats: Floats
    known: bool

    def __post_init__(self) -> None:
        """Raises `ValueError` where a file holds no such points."""
        columns = (self.n, self.p, self.t, self.sigma, self.repeats)
        if not self.t.size or {column.size for column in columns} != {self.t.size}:
            raise ValueError("there must be as many bytes, p, t, sigma and repeats, and one at least")
        if not np.isfinite(columns).all() or self.n.min() < 0.0 or self.p.min() < 1.0 or self.sigma.min() <= 0.0:
            raise ValueError("bytes must be 0 or more, p 1 or more, sigma above 0, and all of them numbers")

    @property
    def ranks(self) -> Floats:
        """The values of p, ascending."""
        return np.unique(self.p)

    @property
    def sizes(self) -> Floats:
        """The values of n [bytes], ascending."""
        return np.unique(self.n)

    def table(self) -> tuple[Floats, Floats]:
        """Times and weights 1/sigma (ranks, sizes); the weight is 0 where no time was measured."""
        times, weights = np.zeros((2, self.ranks.size, self.sizes.size))
        at = np.searchsorted(self.ranks, self.p), np.searchsorted(self.sizes, self.n)
        times[at], weights[at] = self.t, 1.0 / self.sigma
        return times, weights


def medians(n: Floats, p: Floats, t: Floats, spread: float | None = None) -> SamplePoints:
    """The points of single times: n [bytes], p, t [s] (times,), in any order; repeats have equal n and p.

    spread: relative scatter of one time, for points of fewer than 5 repeats; None: 3 % is assumed, and a remark of the fit says so.
    The scatter of 5 to 99 repeats is mixed with that of all points.

    Raises
    ------
    Mistake
        A time is not above zero, a size is below 0, p is below 1, or a value is no number.
    """
    for name, values, least in (("n", n, 0.0), ("p", p, 1.0), ("t", t, np.nextafter(0.0, 1.0))):
        wrong = ~(np.isfinite(values) & (values >= least))
        if wrong.any():
            low = "above 0" if name == "t" else f"{least:g} or more"
            raise Mistake(f"{name} = {values[wrong][0]:g} in line {int(wrong.argmax()) + 1} of the values must be a number {low}.")
    keys, where, counts = np.unique(np.stack([p, n], axis=1), axis=0, return_inverse=True, return_counts=True)
    each = np.split(t[np.argsort(where.reshape(-1), kind="stable")], np.cumsum(counts)[:-1])
    middle, repeats = np.array([np.median(times) for times in each]), counts.astype(float)
    few = repeats < FEW
    scatter = np.full(middle.size, SPREAD if spread is None else spread)  # relative, of one time
    if not few.all():
        # five times give their deviation only within a factor of two: points that scatter little by chance would decide
        deviation = np.array([np.median(np.abs(times - one)) for times, one in zip(each, middle, strict=True)]) / middle
        own = OF_DEVIATION * deviation[~few]
        share = np.minimum(1.0, repeats[~few] / MANY)
        scatter[~few] = np.sqrt(share * own**2 + (1.0 - share) * np.mean(own**2))
    sigma = np.maximum(np.where(repeats > 1, OF_MEDIAN, 1.0) * scatter / np.sqrt(repeats), FLOOR) * middle
    return SamplePoints(keys[:, 1], keys[:, 0], middle, sigma, repeats, known=bool((~few).all()) or spread is not None)
