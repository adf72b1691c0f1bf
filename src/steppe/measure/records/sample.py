"""Figures of block times: interval of the median, modes, outliers, and whether there are enough blocks.

Only modes assume a distribution. No time is removed: outliers are counted and stay.
"""

import math
from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from steppe.array_types import Floats

FIRST_LOOK = 30  # blocks; each next look is at twice as many: frequent looks would stop by chance
FEW = 6  # blocks, whose range is a 95 % interval: enough where blocks take long
MOST_BLOCKS = 1_920
SERIAL = 0.2  # correlation of neighbours above which blocks are combined in batches
STUDENT = (12.71, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228)  # 97.5 % of Student's t, by degrees of freedom
FAR = 5.0  # median absolute deviations, beyond which a time is an outlier
LEFT_OUT = 0.005  # share of the longest times that the search for modes omits
BETTER, APART, SMALLEST = 10.0, 2.5, 0.10  # least of two modes: gain of the criterion, distance in pooled sigma, share


class Statistics(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Figures of block times [s]; `half_width`: half of the 95 % interval of the median."""

    n: int
    minimum: float
    p10: float
    median: float
    p90: float
    p99: float
    maximum: float
    half_width: float

    def beside(self, other: "Statistics") -> tuple[float, float]:
        """The ratio of both medians, and half of its 95 % interval."""
        ratio = self.median / other.median
        return ratio, math.hypot(self.half_width / other.median, ratio * other.half_width / other.median)


class Mode(Struct, frozen=True, forbid_unknown_fields=True):
    """One of two times that the samples gather around: its share and its median [s]."""

    share: float
    median: float


def independent(times: Floats) -> Floats:
    """Times that are independent: the blocks, or medians of batches where neighbours correlate."""
    return _batches(times) if times.size >= FIRST_LOOK and _serial(times) > SERIAL else times


def drawn_medians(times: Floats, random: np.random.Generator, draws: int) -> Floats:
    """Medians of samples drawn anew (draws,): the rank of the median of n uniform numbers is a beta variate."""
    ordered = np.sort(times)
    middle = (ordered.size + 1) / 2.0
    return np.asarray(ordered[(random.beta(middle, middle, draws) * ordered.size).astype(int)])


def median_interval(times: Floats) -> tuple[float, float]:
    """95 % interval of the median by order statistics."""
    used = independent(times)
    ordered, n = np.sort(used), used.size
    low = int(np.floor(n / 2 - 0.98 * np.sqrt(n)))
    high = int(np.ceil(1 + n / 2 + 0.98 * np.sqrt(n)))
    return float(ordered[max(0, low - 1)]), float(ordered[min(n, high) - 1])


def student(freedom: float) -> float:
    """97.5 % quantile of Student's t; for a fraction that of the lower whole degrees of freedom."""
    known = max(1, int(freedom))
    return STUDENT[known - 1] if known <= len(STUDENT) else 1.96 + 2.6 / known


def pass_medians(times: Floats, passes: Sequence[int]) -> Floats:
    """The median of each pass (passes,) [s]."""
    return np.array([np.median(part) for part in np.split(times, np.cumsum(passes)[:-1])])


def of_passes(times: Floats, passes: Sequence[int]) -> tuple[float, float] | None:
    """Standard error of the logarithm of the time, from the medians of passes, and its degrees of freedom; None for one pass.

    Blocks of one pass share the state of the machine; only passes show how that varies.
    """
    if len(passes) < 2:
        return None
    logs = np.log(np.maximum(pass_medians(times, passes), np.finfo(float).tiny))
    return float(logs.std(ddof=1) / np.sqrt(logs.size)), logs.size - 1.0


def is_enough(times: Floats, relative: float, fewest: int = FIRST_LOOK) -> bool:
    """True if there are `fewest` blocks, and half the interval of the median is below `relative` of the median."""
    if times.size < fewest:
        return False
    low, high = median_interval(times)
    return bool((high - low) / 2.0 < relative * np.median(times))


def figures(times: Floats) -> Statistics:
    """The figures of a series (blocks,) [s]."""
    low, high = median_interval(times)
    p10, middle, p90, p99 = (float(value) for value in np.quantile(times, (0.1, 0.5, 0.9, 0.99)))
    ends = {"minimum": float(times.min()), "maximum": float(times.max())}
    return Statistics(n=times.size, p10=p10, median=middle, p90=p90, p99=p99, half_width=(high - low) / 2.0, **ends)


def count_outliers(times: Floats) -> int:
    """How many times (blocks,) [s] lie above the median by more than `FAR` median absolute deviations."""
    middle = np.median(times)
    return int((times > middle + FAR * max(float(np.median(np.abs(times - middle))), 1e-12)).sum())


def modes(times: Floats) -> list[Mode]:
    """Two times that the blocks gather around, the shorter first; none where one describes them.

    Two log-normals by expectation and maximisation. The criterion alone would split every skewed series: the modes must also be apart.
    """
    ordered = np.sort(times)[: max(1, int(np.ceil(times.size * (1.0 - LEFT_OUT))))]
    if ordered.size < FIRST_LOOK or ordered[0] <= 0.0 or ordered[0] == ordered[-1]:
        return []
    logs = np.log(ordered)
    found = max((_two(logs, start) for start in (0.2, 0.5, 0.8)), key=lambda one: one[0])
    likelihood, shares, means, sigmas = found
    one = _likelihood(logs, np.ones(1), np.array([logs.mean()]), np.array([logs.std()]))
    gain = 2.0 * (likelihood - one) - 3.0 * np.log(logs.size)
    pooled = float(np.sqrt((shares * sigmas**2).sum()))
    if gain <= BETTER or abs(means[1] - means[0]) <= APART * pooled or shares.min() < SMALLEST:
        return []
    nearer = _densities(logs, shares, means, sigmas).argmax(axis=0)
    each = [(float(share), ordered[nearer == number]) for number, share in enumerate(shares)]
    return sorted((Mode(share, float(np.median(part))) for share, part in each if part.size), key=lambda mode: mode.median)


def _two(logs: Floats, start: float) -> tuple[float, Floats, Floats, Floats]:
    cut = np.quantile(logs, start)
    low, high = logs[logs <= cut], logs[logs > cut]
    if low.size < 2 or high.size < 2:
        return -np.inf, np.ones(2) / 2, np.zeros(2), np.ones(2)
    floor = 1e-3 * logs.std() + 1e-12
    shares = np.array([low.size, high.size]) / logs.size
    means, sigmas = np.array([low.mean(), high.mean()]), np.array([low.std(), high.std()]) + floor
    for _ in range(25):
        weight = _densities(logs, shares, means, sigmas)
        weight /= weight.sum(axis=0)
        total = weight.sum(axis=1) + 1e-300
        shares, means = total / logs.size, weight @ logs / total
        sigmas = np.sqrt((weight * (logs - means[:, None]) ** 2).sum(axis=1) / total) + floor
    return _likelihood(logs, shares, means, sigmas), shares, means, sigmas


def _densities(logs: Floats, shares: Floats, means: Floats, sigmas: Floats) -> Floats:
    scaled = (logs - means[:, None]) / sigmas[:, None]
    return np.asarray(shares[:, None] * np.exp(-0.5 * scaled**2) / (sigmas[:, None] * np.sqrt(2.0 * np.pi)) + 1e-300)


def _likelihood(logs: Floats, shares: Floats, means: Floats, sigmas: Floats) -> float:
    return float(np.log(_densities(logs, shares, means, np.maximum(sigmas, 1e-12)).sum(axis=0)).sum())


def _serial(times: Floats) -> float:
    """Rank correlation of neighbours, which outliers do not dominate."""
    order = np.argsort(np.argsort(times)).astype(float)
    order -= order.mean()
    return float((order[1:] * order[:-1]).sum() / max((order**2).sum(), 1e-300))


def _batches(times: Floats) -> Floats:
    length = int(np.sqrt(times.size))
    return np.array([np.median(part) for part in np.array_split(times, times.size // length)])
