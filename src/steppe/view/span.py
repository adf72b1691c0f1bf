"""The limits of the colours of a live map, and values as levels of few bits between them.

An automatic span follows the values without flicker: it has round ends and 2 % beyond either. It changes when a value lies outside, or when
less than half of it was used for 50 frames.
"""

from collections.abc import Sequence
from math import ceil, floor
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from steppe.api import has_value
from steppe.array_types import Array
from steppe.view.colour import round_step

SHARES = (0.02, 0.98)  # of the cells below the ends of the colours
MARGIN = 0.02  # of the width, beyond either end
HALF, PATIENCE = 0.5, 50  # least used part of the width, frames for which it may be less
LARGEST, NARROWEST, FINEST = 1e37, 1e-30, 1e-4  # limits for float32: values, widths, widths relative to values


class Span(NamedTuple):
    """Round ends. idle: consecutive frames that used less than half; least, most: their values. fixed: it never changes and has no margin.

    fit: 2nd and 98th percentile of the map, if these are equal its ends; for two maps also the 98th of their differences, if that is 0
    the greatest. Empty for a map without values.
    """

    low: float
    high: float
    idle: int = 0
    least: float = 0.0
    most: float = 0.0
    fixed: bool = False
    fit: tuple[float, ...] = ()

    @property
    def ends(self) -> tuple[float, float]:
        """The least and greatest value that a level can represent."""
        beyond = 0.0 if self.fixed else MARGIN * (self.high - self.low)
        return self.low - beyond, self.high + beyond


def following(span: Span | None, least: float, most: float) -> Span:
    """The next span for values from least to most; without values, least is inf and most -inf."""
    if span is not None and span.fixed:
        return span
    if not least <= most:
        return span or Span(0.0, 1.0)
    least, most = (min(max(end, -LARGEST), LARGEST) for end in (least, most))
    if span is None:
        return _fitted(least, most)
    low, high = span.ends
    if least < low or most > high:
        return _fitted(min(least, span.low), max(most, span.high))
    if most - least >= HALF * (span.high - span.low):
        return Span(span.low, span.high)
    if span.idle:
        least, most = min(least, span.least), max(most, span.most)
    if span.idle + 1 < PATIENCE:
        return Span(span.low, span.high, span.idle + 1, least, most)
    fitted = _fitted(least, most)
    return fitted if fitted.high - fitted.low < span.high - span.low else Span(span.low, span.high)


def _fitted(least: float, most: float) -> Span:
    narrowest = max(FINEST * max(abs(least), abs(most)), NARROWEST)
    if most - least < narrowest:
        half = narrowest / 2 if least or most else 0.5
        least, most = least - half, most + half
    step = round_step(most - least)
    return Span(floor(least / step + 1e-9) * step, ceil(most / step - 1e-9) * step)


def scale_of(span: Span, bits: int) -> tuple[np.float32, np.float32]:
    """Scale and offset of levels: value = offset + scale x level."""
    low, high = span.ends
    return np.float32((high - low) / _most(bits)), np.float32(low)


def _most(bits: int) -> int:
    """The level of the greatest value; the two above it mean no value."""
    return (1 << bits) - 3


def fit_of(levels: Sequence[Array], span: Span, bits: int) -> tuple[float, ...]:
    """The member `fit` of a span, exact to one level, from the levels of one map or of two."""
    scale, offset = (float(number) for number in scale_of(span, bits))
    most = _most(bits)
    counts = np.sum([np.bincount(each, minlength=most + 3)[: most + 1] for each in levels], axis=0).cumsum()
    if not counts[-1]:
        return ()
    low, high = np.searchsorted(counts, np.array(SHARES) * counts[-1])
    if low == high:  # a plume in few cells: from the least to the greatest value
        low, high = np.searchsorted(counts, [1, counts[-1]])
    half = scale / 2 if low < high else 0.0  # rounding to levels must not move an end beyond the values
    found = offset + scale * float(low) + half, offset + scale * float(high) - half
    if low == high and abs(found[0]) <= scale / 2:
        found = 0.0, 0.0
    if len(levels) < 2:
        return found
    both = (levels[0] <= most) & (levels[1] <= most)
    apart = np.bincount(np.abs(levels[0][both].astype(np.int64) - levels[1][both])).cumsum()
    if not len(apart):
        return found
    far = int(np.searchsorted(apart, SHARES[1] * apart[-1])) or len(apart) - 1
    return (*found, scale * max(far - 0.5, 0.0))


def extremes(values: Array) -> tuple[NDArray[np.bool_] | None, float, float]:
    """The mask of known values (None: all are), their least and greatest; inf and -inf without values."""
    known = has_value(values)
    whole = bool(known.all())
    there = values if whole else values[known]
    return None if whole else known, *((float(there.min()), float(there.max())) if there.size else (np.inf, -np.inf))


def levels_of(values: Array, known: NDArray[np.bool_] | None, span: Span, bits: int) -> Array:
    """The level of each value, exact to half a level and clipped to the span; top - 1 for an unknown value."""
    scale, offset = (float(number) for number in scale_of(span, bits))
    number = values.astype(np.float64)
    if known is not None:
        number[~known] = offset
    number -= offset
    number /= scale
    np.rint(number, out=number)
    np.clip(number, 0, _most(bits), out=number)
    levels = number.astype(f"<u{bits // 8}")
    if known is not None:
        levels[~known] = _most(bits) + 1
    return levels
