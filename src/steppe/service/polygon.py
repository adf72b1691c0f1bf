"""Polygons of requests: their faults are found before any cell is tested."""

import math

import numpy as np

from steppe.api.requests import VERTICES
from steppe.array_types import Floats, Integers
from steppe.control import Refused

PAIRS = 10_000_000  # of sides that are compared; a second of work
CHUNK = 500_000  # of them at once


def check_polygon(corners: object) -> None:
    """Refuses a polygon that has less than three corners or more than 10,000, no places, or sides that cross.

    Corners are (longitude, latitude); the last may repeat the first.

    Raises
    ------
    Refused
        polygon-invalid, with the index of the corner; too-costly.
    """
    if not isinstance(corners, list) or not 3 <= len(corners) <= VERTICES:
        count = len(corners) if isinstance(corners, list) else 0
        raise _invalid(f"A polygon has 3 to {VERTICES:,} corners, this one has {count:,}.", min(count, VERTICES))
    for index, corner in enumerate(corners):
        numbers = isinstance(corner, list | tuple) and [x for x in corner if isinstance(x, int | float) and math.isfinite(x)]
        if not numbers or len(numbers) != 2 or len(corner) != 2:
            raise _invalid(f"Corner {index} must be two numbers, longitude and latitude.", index)
        if not (-180.0 <= numbers[0] <= 360.0 and -90.0 <= numbers[1] <= 90.0):
            raise _invalid(f"Corner {index} at longitude {numbers[0]:g}, latitude {numbers[1]:g} lies outside the world.", index)
    places = np.array(corners, dtype=np.float64)
    if (places[0] == places[-1]).all():
        places = places[:-1]
    moves = np.flatnonzero((places != np.roll(places, 1, axis=0)).any(axis=1))
    if len(np.unique(places, axis=0)) < 3:
        raise _invalid("A polygon has three corners or more at different places.", len(places) - 1)
    crossing = _first_crossing(places[moves])
    if crossing is not None:
        one, other = (int(moves[side]) for side in crossing)
        raise _invalid(f"The side from corner {one} meets the side from corner {other}.", other)


def _invalid(detail: str, index: int) -> Refused:
    return Refused("polygon-invalid", detail, position=index)


def _first_crossing(places: Floats) -> tuple[int, int] | None:
    """A pair of sides that have a point in common other than the corner between neighbours; sides run from each corner on.

    Sides are taken in the order of their western ends, so that each is compared with those only whose longitudes overlap.

    Raises
    ------
    Refused
        too-costly: so many overlap that it would take seconds.
    """
    ends = np.roll(places, -1, axis=0)
    count = len(places)
    west, east = np.minimum(places[:, 0], ends[:, 0]), np.maximum(places[:, 0], ends[:, 0])
    order = np.argsort(west, kind="stable")
    overlaps = np.searchsorted(west[order], east[order], side="right") - np.arange(count) - 1
    if overlaps.sum() > PAIRS:
        raise Refused(
            "too-costly", f"The sides of this polygon of {count:,} corners lie across each other. Give fewer corners.", value=count
        )
    whole = np.cumsum(overlaps)
    for chunk in np.split(np.arange(count), np.flatnonzero(np.diff(whole // CHUNK)) + 1):
        first = np.repeat(chunk, overlaps[chunk])
        begins = np.cumsum(overlaps[chunk]) - overlaps[chunk]
        second = first + 1 + np.arange(len(first)) - np.repeat(begins, overlaps[chunk])
        one, other = order[first], order[second]
        apart = (other - one) % count
        strangers = (apart != 1) & (apart != count - 1)
        pair = _meeting(places, ends, one[strangers], other[strangers])
        if pair is not None:
            return pair
    return None


def _meeting(places: Floats, ends: Floats, one: Integers, other: Integers) -> tuple[int, int] | None:
    """The first of some pairs of sides that meet, the lower number first."""
    a, b, c, d = places[one], ends[one], places[other], ends[other]
    left, right = _turn(a, b, c), _turn(a, b, d)
    below, above = _turn(c, d, a), _turn(c, d, b)
    meets = (left * right <= 0) & (below * above <= 0)
    flat = (left == 0) & (right == 0)  # on one line: they meet when their latitudes do too
    if flat.any():
        south, north = np.minimum(c[:, 1], d[:, 1]), np.maximum(c[:, 1], d[:, 1])
        meets &= ~flat | ((south <= np.maximum(a[:, 1], b[:, 1])) & (north >= np.minimum(a[:, 1], b[:, 1])))
    if not meets.any():
        return None
    at = int(np.argmax(meets))
    low, high = sorted((int(one[at]), int(other[at])))
    return low, high


def _turn(a: Floats, b: Floats, c: Floats) -> Floats:
    """Sign of the turn from a over b to c: 1 left, -1 right, 0 straight on."""
    return np.sign((b[:, 0] - a[:, 0]) * (c[:, 1] - a[:, 1]) - (b[:, 1] - a[:, 1]) * (c[:, 0] - a[:, 0]))
