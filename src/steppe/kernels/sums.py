"""Sums that depend on the numbers alone: not on their order, nor on their split over threads, ranks and boxes.

Adding floats in another order gives other bits. Here each value v, |v| <= 2^e, becomes two whole numbers and both are summed exactly:

    v = q 2^(e-30) + r 2^(e-60),    q = rint(v 2^(30-e)),    r = rint((v - q 2^(e-30)) 2^(60-e)),    |q| <= 2^30, |r| <= 2^29

so up to 2^32 values fit 64-bit sums, every value is exact to 2^(e-61), and partial sums of one e are combined by adding integers.
Fixed-point accumulation as in Hallberg and Adcroft (2014), An order-invariant real-to-integer conversion sum, with two limbs.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import copysign, inf, isfinite, ldexp
from typing import Literal, NamedTuple

import numpy as np
from numpy import int64

from steppe.array_types import Array, Floats, Integers
from steppe.errors import Failure
from steppe.kernels.field_kernel import field_kernel
from steppe.kernels.primitives import bits, fma, number

Columns = Integers | slice  # some of a table; a slice where they lie side by side
Reduce = Callable[[Array, Literal["sum", "max"]], Array]

SHIFT = np.float64(6755399441055744.0)  # 1.5 x 2^52: a number added to it is rounded to a whole one, and stands in its last bits
HUGE = float.fromhex("0x1.fffffffcp+1023")  # from here on q 2^(e-30) would be infinite: such a number counts as infinite
INFINITE = np.float64(HUGE).view(int64)  # its bits; those of greater numbers and of NaN are greater
LOWEST = SHIFT.view(int64) - int64(1 << 31)  # with what is added to it taken for a number of 32 bits
FEARED = np.float64(2.0**1022)  # from here on a product that counts as infinite may look like one that is not twice too large
ROW = 1024  # values that are summed in one go of the compiled loop: their weights stay in the first cache for all rows
SCALES = np.array([[-1, 1, -1], [30, -30, 60]])  # exponents of what is multiplied with, from e: by these, and added to these
SMALLEST_EXPONENT = -900  # below it 2^(60-e) nears overflow; values that small are exact to 2^-961


@dataclass(frozen=True, slots=True)
class Limbs:
    """A partial sum of values of at most 2^exponent in size: (high 2^30 + low) 2^(exponent - 60).

    bad: the number of ignored values: NaN, infinite or larger.
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
            The parts have different largest values.
        """
        if self.exponent != other.exponent:
            raise Failure(f"Sums for values to 2^{self.exponent} and to 2^{other.exponent} cannot be added. Use one largest value.")
        return Limbs(self.high + other.high, self.low + other.low, self.bad + other.bad, self.exponent)

    def integers(self) -> Integers:
        """high, low and bad, (3,): what ranks add up."""
        return np.array([self.high, self.low, self.bad], dtype=np.int64)

    def value(self) -> float:
        """The sum, rounded once; NaN when a value was bad."""
        if self.bad:
            return float("nan")
        whole = (self.high << 30) + self.low
        try:
            return ldexp(float(whole), self.exponent - 60)
        except OverflowError:
            return copysign(inf, whole)


class Extreme(NamedTuple):
    """A least or greatest value and the first cell with it; NaN and -1 without values."""

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
        The products lie within +-largest; other products count as bad. Parts of one sum must use the same value.

    Raises
    ------
    Failure
        `largest` is negative or not finite, or the shapes differ.
    """
    if not (isfinite(largest) and largest >= 0.0):
        raise Failure(f"The largest value of a sum must be a finite number of 0 or more, it is {largest}.")
    values = np.ravel(x)
    if weights is not None and np.size(weights) != values.size:
        raise Failure(f"{values.size} values were given {np.size(weights)} weights. Give one weight for each value.")
    return _fixed(_CAREFUL, values, weights, largest)


def _fixed(what: int, values: Array, weights: Array | None, largest: float) -> Limbs:
    limbs = np.zeros(3, np.int64)
    for rows, factors in _rows(values, weights):
        most = np.full(len(rows), min(largest, np.nextafter(HUGE, 0.0)))
        limbs += _sums(what, rows, slice(0, rows.shape[1]), factors, most).sum(axis=0)
    high, low, bad = limbs.tolist()
    return Limbs(high, low, bad, int(_exponents(np.array([largest]))[0]))


def _rows(values: Array, weights: Array | None) -> Iterator[tuple[Floats, Floats]]:
    """Values (n,) as tables for the compiled loop, with weights of their columns; without weights rows of one short list of ones."""
    values = np.ascontiguousarray(values, np.float64)
    if weights is not None:
        yield values[None], np.ascontiguousarray(np.ravel(weights), np.float64)
        return
    whole = values.size - values.size % ROW
    if whole:
        yield values[:whole].reshape(-1, ROW), np.ones(ROW)
    if values.size > whole:
        yield values[None, whole:], np.ones(values.size - whole)


def weighted_means(values: Floats, index: Columns, weights: Floats) -> Floats:
    """The mean of some columns of each row, the same bits for any order and cut of the columns; NaN when a value is not finite.

    values (rows, cells) float64; index (n,): the columns, best as `columns` gives them; weights (n,): theirs. Ranks that have some of the
    columns each do the same in three steps: `largest_products`, of which they take the greatest; `limb_sums`, which they add; `means_of`.
    """
    largest = largest_products(values, index, weights)
    return means_of(limb_sums(values, index, weights, largest), largest, total_weight(weights))


def columns(index: Integers) -> Columns:
    """A slice for contiguous columns, which sums need not copy."""
    n, first = index.size, int(index[0]) if index.size else 0
    return slice(first, first + n) if np.array_equal(index, np.arange(first, first + n)) else index


def total_weight(weights: Floats) -> float:
    """The sum of the weights of a mean, the same for any order."""
    return fixed_sum(weights, None, float(weights.max())).value()


def largest_products(values: Floats, index: Columns, weights: Floats) -> Floats:
    """The greatest finite size of a value of each row times its weight, (rows,); 0 without any."""
    largest = np.empty(len(values))
    _run(_LARGEST, values, index, weights, largest)
    return largest


def limb_sums(values: Floats, index: Columns, weights: Floats, largest: Floats) -> Integers:
    """The sums of each row as `Limbs.integers`, (rows, 3): parts of one mean are added up.

    largest (rows,): the greatest of `largest_products` over all parts.
    """
    return _sums(_TRUSTED, values, index, weights, largest)


def means_of(limbs: Integers, largest: Floats, weight: float) -> Floats:
    """The means of the sums of all parts."""
    rows = zip(limbs.tolist(), _exponents(largest).tolist(), strict=True)
    return np.array([Limbs(high, low, bad, exponent).value() / weight for (high, low, bad), exponent in rows])


def binned_sums(values: Array, bins: Integers, count: int, largest: float) -> Integers:
    """The sums of the values of each bin as `Limbs.integers`, (count, 3), which parts add up. Values not finite or too large are bad.

    values, bins: (n,); bins from 0 to count - 1. largest: the greatest size of a value of any part.
    """
    exponent = int(_exponents(np.array([largest]))[0])
    good = np.abs(values) <= largest
    known = np.where(good, values, 0.0).astype(np.float64)
    high = np.rint(known * ldexp(1.0, 30 - exponent))
    low = np.rint((known - high * ldexp(1.0, exponent - 30)) * ldexp(1.0, 60 - exponent))
    limbs = np.zeros((count, 3), np.int64)
    for column, part in enumerate((high, low, ~good)):
        np.add.at(limbs[:, column], bins, part.astype(np.int64))
    return limbs


def values_of(limbs: Integers, largest: float) -> Floats:
    """The sums of `binned_sums` of all parts, (count,), each rounded once; NaN with a bad value."""
    exponent = int(_exponents(np.array([largest]))[0])
    carried = limbs[:, 1] >> 30
    high, low = limbs[:, 0] + carried, limbs[:, 1] - (carried << 30)
    fits = np.abs(high) < 1 << 33  # then the whole number is one of 64 bits, and is rounded once
    found = np.ldexp(np.where(fits, (high << 30) + low, 0).astype(np.float64), exponent - 60)
    for bin in np.flatnonzero(~fits).tolist():
        found[bin] = Limbs(int(limbs[bin, 0]), int(limbs[bin, 1]), 0, exponent).value()
    return np.where(limbs[:, 2] > 0, np.nan, found)


def _exponents(largest: Floats) -> Integers:
    return np.maximum(np.frexp(largest)[1], SMALLEST_EXPONENT).astype(np.int64)


def total(x: Array, reduce: Reduce) -> float:
    """The sum of `x` over all ranks; see `totals`."""
    return totals([x], reduce)[0]


def totals(arrays: Sequence[Array], reduce: Reduce) -> list[float]:
    """The sum of each array over all ranks, in two reductions; the same bits for any number of ranks; NaN when a value is not finite.

    Parameters
    ----------
    arrays
        This rank's values, each of any shape.
    reduce
        Adds int64 arrays, or takes the greatest of float64 arrays, over all ranks (`steppe.comm.World.reduce`).
    """
    flat = [np.ascontiguousarray(np.ravel(x), np.float64) for x in arrays]
    sizes = [[largest_products(rows, slice(0, rows.shape[1]), ones).max() for rows, ones in _rows(values, None)] for values in flat]
    largest = reduce(np.array([max(each, default=0.0) for each in sizes]), "max")
    mine = [_fixed(_TRUSTED, values, None, float(most)) for values, most in zip(flat, largest, strict=True)]
    limbs = reduce(np.stack([each.integers() for each in mine]), "sum").tolist()
    return [Limbs(high, low, bad, each.exponent).value() for each, (high, low, bad) in zip(mine, limbs, strict=True)]


def minimum(x: Array, first: int = 0) -> Extreme:
    """The least value of `x` (cells,), whose cells are counted from `first`. NaN is ignored."""
    if np.isnan(x).all():
        return NOTHING
    cell = int(np.nanargmin(x))
    return Extreme(float(x[cell]), first + cell)


def maximum(x: Array, first: int = 0) -> Extreme:
    """The greatest value of `x` (cells,), whose cells are counted from `first`. NaN is ignored."""
    if np.isnan(x).all():
        return NOTHING
    cell = int(np.nanargmax(x))
    return Extreme(float(x[cell]), first + cell)


def least(parts: Sequence[Extreme]) -> Extreme:
    """The least of the minima of the parts of an array, in any order."""
    return min((part for part in parts if part.cell >= 0), default=NOTHING)


def greatest(parts: Sequence[Extreme]) -> Extreme:
    """The greatest of the maxima of the parts of an array, in any order."""
    return max((part for part in parts if part.cell >= 0), key=lambda part: (part.value, -part.cell), default=NOTHING)


def _sums(
    what: int,
    values: Floats,
    index: Columns,
    weights: Floats,
    largest: Floats,
) -> Integers:
    """High and low limb and number of bad values of each row, (rows, 3)."""
    limbs = np.empty((len(values), 3), np.int64)
    scales = np.ldexp(1.0, _exponents(largest)[:, None] * SCALES[0] + SCALES[1])
    _run(what, values, index, weights, largest, scales, limbs)
    return limbs


_LARGEST, _TRUSTED, _CAREFUL = 0, 1, 2


def _run(
    what: int,
    values: Floats,
    index: Columns,
    weights: Floats,
    largest: Floats,
    scales: Floats | None = None,
    limbs: Integers | None = None,
) -> None:
    """Calls the compiled loop on contiguous columns, or on a copy of others."""
    if isinstance(index, slice):
        n, first = index.stop - index.start, index.start
    else:
        n, first, values = index.size, 0, values.take(index, axis=1)
    values, weights = np.ascontiguousarray(values), np.ascontiguousarray(weights)
    scales = np.zeros(0) if scales is None else scales
    sum_rows(what, *values.shape, first, n, values, weights, largest, scales, np.zeros(0, np.int64) if limbs is None else limbs)


@field_kernel
def sum_rows(
    what: int, rows: int, cells: int, first: int, n: int, values: Floats, weights: Floats, largest: Floats, scales: Floats, limbs: Integers
) -> None:
    """Over `n` cells of each row: the greatest size of a product into `largest`, or the limbs of their sum.

    A trusting sum assumes that no finite product is larger than `largest`; a careful one tests each. Both test for values that are not
    finite. Sizes are compared as whole numbers, which have the same order: the maximum of floats is no vector operation, because of NaN.
    """
    for r in range(rows):
        at = r * cells + first
        if what == 0:
            most = int64(0)
            for i in range(n):
                size = bits(abs(values[at + i] * weights[i]))
                most = max(most, size if size < INFINITE else int64(0))
            largest[r] = number(most)
        else:
            limbs[3 * r], limbs[3 * r + 1], limbs[3 * r + 2] = 0, 0, 0
    for begin in range(0, n if what else 0, ROW):
        end = min(begin + ROW, n)
        for r in range(rows):
            at = r * cells + first
            scale, back, fine = scales[3 * r], scales[3 * r + 1], scales[3 * r + 2]
            high, low, bad, odd = int64(0), int64(0), int64(0), int64(0)
            trusted = what == _TRUSTED and largest[r] < FEARED
            if trusted:
                for i in range(begin, end):
                    product = values[at + i] * weights[i]
                    # The products with scales are exact, so that fma gives the bits of two operations, in one.
                    coarse = fma(product, scale, SHIFT)
                    rest = fma(fma(SHIFT - coarse, back, product), fine, SHIFT)
                    # Not the integer of coarse - SHIFT, which older processors cannot make in vector registers. Sums of `rest` run over;
                    # what is taken away at the end brings them back.
                    whole = bits(coarse) - LOWEST  # has more than 32 bits where the product is not finite, or twice too large
                    high += whole
                    low += bits(rest)
                    odd |= whole
            if not trusted or odd >> 32 != 0:
                high, low = int64(0), int64(0)
                for i in range(begin, end):
                    product = values[at + i] * weights[i]
                    good = abs(product) <= largest[r]  # false for NaN
                    value = product if good else 0.0
                    coarse = fma(value, scale, SHIFT)
                    rest = fma(fma(SHIFT - coarse, back, value), fine, SHIFT)
                    high += bits(coarse) - LOWEST
                    low += bits(rest)
                    bad += 0 if good else 1
            limbs[3 * r] += high + (end - begin) * (LOWEST - bits(SHIFT))
            limbs[3 * r + 1] += low - (end - begin) * bits(SHIFT)
            limbs[3 * r + 2] += bad
