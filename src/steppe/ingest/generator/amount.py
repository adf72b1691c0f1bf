"""From a standard normal number to millimetres of rain: none up to a threshold, a power of what exceeds it above.

    rain = scale x (z - threshold)^2.25   where z > threshold                       (Bardossy and Plate 1992, with a fixed power)

Two numbers meet two conditions: the mean, and the share of days with 1 mm or more. With
delta = (1 mm / scale)^(1/2.25), threshold = dry - delta, where `dry` is the normal quantile of the share of days below 1 mm, and

    mean = delta^-2.25 M(dry - delta),   M(c) = integral over s > 0 of s^2.25 phi(c + s)

is solved for delta once, on a table.
"""

from functools import cache

import numpy as np

from steppe.ingest.meteorology import Values

POWER = 2.25  # [1] the 95th percentile of wet days at 31 stations is then near the records'; x^2 and two roots, exact
DRY = np.arange(-1.5, 3.5001, 0.05)
LN_MEAN = np.arange(-5.0, 4.5001, 0.1)
THRESHOLD = np.arange(-6.0, 4.0001, 0.01)
DELTA = (1e-3, 4.0)  # [1] bounds of delta: from deluges only to drizzle on most dry days
MOST = 960.0  # [mm d-1] the most seen in Australia: Bellenden Ker, 4 January 1979


def threshold_and_scale(dry: Values, ln_mean: Values) -> tuple[Values, Values]:
    """Threshold [1] and scale [mm] for the normal quantile of the share of days below 1 mm and ln of the mean rain [mm d-1], any shape."""
    delta = _bilinear(_deltas(), dry, ln_mean)
    threshold = dry - delta
    return threshold, np.exp(ln_mean - np.interp(threshold, THRESHOLD, _ln_moments()))


def rain_of(excess: Values, scale: Values) -> Values:
    """Rain [mm] from the excess of wetness over its threshold."""
    above = np.maximum(excess, 0.0)
    rain: Values = np.minimum(scale * (above * above * np.sqrt(np.sqrt(above))), MOST)
    return rain


@cache
def _ln_moments() -> Values:
    """ln M at THRESHOLD; trapezia, which are as good as exact for a function that is smooth and gone at the end."""
    s = np.linspace(0.0, 14.0, 1401)
    density = np.exp(-0.5 * (THRESHOLD[:, None] + s) ** 2) / np.sqrt(2.0 * np.pi)
    moments: Values = np.log(np.trapezoid(s**POWER * density, s, axis=1))
    return moments


@cache
def _deltas() -> Values:
    """delta at DRY x LN_MEAN, by bisection."""
    dry, ln_mean = np.meshgrid(DRY, LN_MEAN, indexing="ij")
    low, high = (np.full(dry.shape, np.log(bound)) for bound in DELTA)
    for _ in range(40):
        middle = 0.5 * (low + high)
        too_wet = np.interp(dry - np.exp(middle), THRESHOLD, _ln_moments()) - POWER * middle > ln_mean
        low, high = np.where(too_wet, middle, low), np.where(too_wet, high, middle)
    return np.exp(0.5 * (low + high))


def _bilinear(table: Values, dry: Values, ln_mean: Values) -> Values:
    """A table at DRY x LN_MEAN, read between its points and no farther."""
    x = np.clip((dry - DRY[0]) / (DRY[1] - DRY[0]), 0.0, len(DRY) - 1.001)
    y = np.clip((ln_mean - LN_MEAN[0]) / (LN_MEAN[1] - LN_MEAN[0]), 0.0, len(LN_MEAN) - 1.001)
    i, j = x.astype(np.int64), y.astype(np.int64)
    x, y = x - i, y - j
    found: Values = (table[i, j] * (1.0 - x) + table[i + 1, j] * x) * (1.0 - y) + (
        table[i, j + 1] * (1.0 - x) + table[i + 1, j + 1] * x
    ) * y
    return found
