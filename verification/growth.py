"""How much memory grows with use, apart from what comes and goes."""

import statistics
from collections.abc import Sequence


def growth(samples: Sequence[tuple[float, float]]) -> float:
    """What a measure adds from the first to the last sample, in percent of its median.

    samples: (time, value), at least two. By the median of the slopes of all pairs (Theil 1950, Sen 1968): a few high samples, of what is
    held for a while, change it little.
    """
    slopes = [(late - early) / (then - now) for k, (now, early) in enumerate(samples) for then, late in samples[k + 1 :]]
    return 100 * statistics.median(slopes) * (samples[-1][0] - samples[0][0]) / statistics.median(value for _, value in samples)
