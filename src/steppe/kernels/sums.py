"""Sums that depend on nothing but the numbers: not on their order, nor on how they are split over threads, ranks and boxes.

Adding floats in another order gives other bits. Here each value v, |v| <= 2^e, becomes two whole numbers and both are summed exactly:

    v = q 2^(e-30) + r 2^(e-60),    q = rint(v 2^(30-e)),    r = rint((v - q 2^(e-30)) 2^(60-e)),    |q| <= 2^30, |r| <= 2^29

so up to 2^32 values fit 64-bit sums, every value is exact to 2^(e-61), and partial sums of one e are combined by adding integers.
Fixed-point accumulation as in Hallberg and Adcroft (2014), An order-invariant real-to-integer conversion sum, with two limbs.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from math import frexp, isfinite, ldexp
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from steppe.errors import Failure

Array = NDArray[Any]
Reduce = Callable[[Array, Literal["sum", "max"]], Array]

SMALLEST_EXPONENT = -900  # below it 2^(60-e) nears overflow; values that small are exact to 2^-961


@dataclass(frozen=True, slots=True)
class Limbs:
    """A partial sum of values of at most 2^exponent in size: (high 2^30 + low) 2^(exponent - 60).

    bad: how many values were left out since they are NaN, infinite or larger.
    """

    high: int
    low: int
    bad: int
    exponent: int

    def __add__(self, other: "Limbs") -> "Limbs":
        """The sum of both parts.

        Raises
        ------
        Failure
            They were made for different largest values.
        """
        if self.exponent != other.exponent:
            raise Failure(f"Sums for values to 2^{self.exponent} and to 2^{other.exponent} cannot be added. Use one largest value.")
        return Limbs(self.high + other.high, self.low + other.low, self.bad + other.bad, self.exponent)

    def integers(self) -> NDArray[np.int64]:
        """high, low and bad, (3,): what ranks add up."""
        return np.array([self.high, self.low, self.bad], dtype=np.int64)

    def value(self) -> float:
        """The sum, rounded once; NaN when a value was bad."""
        if self.bad:
            return float("nan")
        return ldexp(float((self.high << 30) + self.low), self.exponent - 60)


class Extreme(NamedTuple):
    """A least or greatest value and the smallest cell that has it; NaN and -1 when there is no value."""

    value: float
    cell: int


NOTHING = Extreme(float("nan"), -1)


def fixed_sum(x: Array, weights: Array | None, largest: float) -> Limbs:
    """The exact sum of x * weights, each product rounded to float64.

    Parameters
    ----------
    x
        Values of any shape, float32 or float64.
    weights
        Of the shape of `x`, or None for 1.
    largest
        The products lie within +-largest; those that do not are counted as bad. Parts of one sum must be given the same.

    Raises
    ------
    Failure
        `largest` is negative or not finite, or the shapes differ.
    """
    if not (isfinite(largest) and largest >= 0.0):
        raise Failure(f"The largest value of a sum must be a finite number of 0 or more, it is {largest}.")
    values = np.ravel(x)
    factors = np.ones(values.size, dtype=values.dtype) if weights is None else np.ravel(weights)
    if factors.size != values.size:
        raise Failure(f"{values.size} values were given {factors.size} weights. Give one weight for each value.")
    exponent = max(frexp(largest)[1], SMALLEST_EXPONENT)
    high, low, bad = _compiled()(values, factors, largest, exponent)
    return Limbs(int(high), int(low), int(bad), exponent)


def total(x: Array, reduce: Reduce) -> float:
    """The sum of `x` over all ranks, the same bits for any number of them; NaN when a value is not finite.

    Parameters
    ----------
    x
        This rank's values, any shape.
    reduce
        Adds int64 arrays, or takes the greatest of float64 arrays, over all ranks (`steppe.comm.World.reduce`).
    """
    sizes = np.abs(np.asarray(x, dtype=np.float64))
    largest = reduce(np.array([sizes.max(initial=0.0, where=np.isfinite(sizes))]), "max")
    mine = fixed_sum(x, None, float(largest[0]))
    high, low, bad = reduce(mine.integers(), "sum")
    return Limbs(int(high), int(low), int(bad), mine.exponent).value()


def minimum(x: Array, first: int = 0) -> Extreme:
    """The least value of `x` (cells,), whose cells are counted from `first`. NaN is passed over."""
    if np.isnan(x).all():
        return NOTHING
    cell = int(np.nanargmin(x))
    return Extreme(float(x[cell]), first + cell)


def maximum(x: Array, first: int = 0) -> Extreme:
    """The greatest value of `x` (cells,), whose cells are counted from `first`. NaN is passed over."""
    if np.isnan(x).all():
        return NOTHING
    cell = int(np.nanargmax(x))
    return Extreme(float(x[cell]), first + cell)


def least(parts: Sequence[Extreme]) -> Extreme:
    """The least of the minima of the parts of an array, in whatever order."""
    return min((part for part in parts if part.cell >= 0), default=NOTHING)


def greatest(parts: Sequence[Extreme]) -> Extreme:
    """The greatest of the maxima of the parts of an array, in whatever order."""
    return max((part for part in parts if part.cell >= 0), key=lambda part: (part.value, -part.cell), default=NOTHING)


def _fixed_sum(x, weights, largest, exponent):  # type: ignore[no-untyped-def]
    """High and low limb and count of bad values of x * weights: (values,) each, largest, exponent scalars."""
    scale = 2.0 ** (30 - exponent)
    back = 2.0 ** (exponent - 30)
    fine = 2.0 ** (60 - exponent)
    shift = np.float64(6755399441055744.0)  # 1.5 x 2^52: a number added to it is rounded to a whole one, and stands in its last bits
    zero = shift.view(np.int64)
    high = np.int64(0)
    low = np.int64(0)
    bad = np.int64(0)
    for i in range(x.size):
        product = np.float64(x[i]) * np.float64(weights[i])
        good = abs(product) <= largest  # false for NaN
        value = product if good else 0.0
        coarse = np.float64(value * scale + shift)
        rest = np.float64((value - (coarse - shift) * back) * fine + shift)
        high += coarse.view(np.int64) - zero  # not int64(coarse - shift), which older processors cannot do in vector registers
        low += rest.view(np.int64) - zero
        bad += 0 if good else 1
    return high, low, bad


@cache
def _compiled() -> Callable[..., tuple[int, int, int]]:
    from numba import njit  # 0.5 s to import, and only sums need it

    compiled: Callable[..., tuple[int, int, int]] = njit(cache=True, nogil=True, error_model="numpy")(_fixed_sum)
    return compiled
