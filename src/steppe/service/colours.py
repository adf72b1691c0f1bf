"""Between which values the colours of a map go."""

from math import ceil, floor, log10

NARROWEST = 1e-30  # that float32 tells


def outward(low: float, high: float) -> tuple[float, float]:
    """Round ends of colours for values from low to high: steps of 1, 2 or 5; amounts are read against nothing."""
    if 0.0 <= low < 0.3 * high or (low == high == 0.0):
        low = 0.0
    size = max(abs(low), abs(high))
    if high - low <= max(1e-6 * size, NARROWEST):  # one value, give or take rounding
        half = 0.1 * size if size > NARROWEST else 1.0
        low, high = low - half * (low != 0.0), high + half
    power = 10.0 ** floor(log10((high - low) / 10))
    step = next(digit * power for digit in (1, 2, 5, 10) if (high - low) / 10 <= digit * power * (1 + 1e-9))
    return float(f"{floor(low / step + 1e-9) * step:.12g}"), float(f"{ceil(high / step - 1e-9) * step:.12g}")
