"""The few curves that the formulas share."""


def clamp(x: float, low: float, high: float) -> float:
    """The number x, or the limit that it passes."""
    return min(high, max(low, x))


def join(one: float, other: float) -> float:
    """Cover of two covers, each spread at random under the other."""
    return 1.0 - (1.0 - one) * (1.0 - other)


def competition(x: float, factor: float) -> float:
    """Share in what is taken of a part x of the whole that is taken `factor` times as readily as the rest: 0 at 0, 1 at 1.

    APSIM 6.1 uses the curve in grasp, graz and soilwat2.
    """
    return factor * x / (x * (factor - 1.0) + 1.0)
