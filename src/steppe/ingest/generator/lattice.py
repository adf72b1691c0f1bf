"""Smooth random fields over the Earth; any part of a field has the same values, with whichever other parts it is computed.

Random numbers sit on a fixed lattice of the sphere, keyed by row, column and day; between them a field is interpolated by cubic B-splines:

      o     o     o     o          rows of latitude, `spacing` apart; each goes once around the Earth in a
    o    o    o    o    o          whole number of columns, as near to `spacing` apart as that allows
   o   o    x    o    o   o        x: a place, from four columns of each of four rows

The weights are divided by the root of the sum of their squares, so that the variance is 1 everywhere. The correlation of two places
d apart is nearly exp(-0.75 (d / spacing)^2). Sums run in a fixed order: a cell has the same bits in any set
of cells, on any grid. A coarser grid has the values at its own centres, not means of a finer one.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from steppe.array_types import Integers
from steppe.ingest.meteorology import Values

EARTH = 20_003.9 / 180.0  # [km] of a degree of latitude
TAPS = 4
BEYOND = 4  # rows beyond the poles, so that their numbers are positive
WORD_BITS, WORD = 32, 0xFFFFFFFF


class Lattice(NamedTuple):
    """One scale of noise. spacing [km]; stream: its number among the lattices; days: between two of its times."""

    spacing: float
    stream: int
    days: int = 1


class Patch:
    """The part of a lattice that some cells need, with their weights. latitude, longitude (cells,) [degrees]."""

    def __init__(self, lattice: Lattice, latitude: Values, longitude: Values) -> None:
        self.lattice = lattice
        step = lattice.spacing / EARTH
        first, self._down = _taps((latitude + 90.0) / step + BEYOND)
        # a node is where a row of the lattice crosses the meridian of a cell: cells in a column of a raster share theirs
        meridians, meridian = np.unique(longitude, return_inverse=True)
        nodes, self._node = np.unique((first[:, None] + np.arange(TAPS)) * meridians.size + meridian[:, None], return_inverse=True)
        row, east = nodes // meridians.size, np.mod(meridians, 360.0)[nodes % meridians.size]
        around = np.maximum(np.rint(360.0 / step * np.cos(np.radians((row - BEYOND) * step - 90.0))), TAPS)
        west, self._along = _taps(east / 360.0 * around)
        columns = np.mod(west[:, None] + np.arange(TAPS), around[:, None].astype(np.int64))
        points, self._point = np.unique((row[:, None] << WORD_BITS) + columns, return_inverse=True)
        self._row, self._column = (points >> WORD_BITS).astype(np.uint64), (points & WORD).astype(np.uint64)

    def noise(self, first: int, count: int, seed: int) -> Values:
        """Noise of four kinds at the lattice points, (4, count, points) from day, or row in time, `first` on."""
        day = np.arange(first, first + count)[:, None] & WORD
        return normals(self._column, self._row, day.astype(np.uint64), self.lattice.stream, seed)

    def spread(self, noise: Values) -> Values:
        """A field at the cells (days, cells) from noise at the lattice points (days, points)."""
        return _weighted(_weighted(noise, self._point, self._along), self._node, self._down)


def along_time(times: Values, apart: int) -> tuple[int, Integers, Values]:
    """For times [d] in rising order, between rows `apart` days apart.

    Returns the first row, the row of each time's first tap counted from it, and the weights of the taps.
    """
    start, weights = _taps(times / apart)
    return int(start[0]), start - start[0], weights


def _weighted(values: Values, at: Integers, weights: Values) -> Values:
    """Sum over taps of the columns `at` (places, taps) of values (days, columns) times weights (places, taps): (days, places)."""
    total = np.take(values, at[:, 0], axis=1)
    total *= weights[:, 0]
    term = np.empty_like(total)
    for tap in range(1, TAPS):
        np.take(values, at[:, tap], axis=1, out=term, mode="clip")  # the other mode would make a copy of `out`
        term *= weights[:, tap]
        total += term
    return total


def _taps(position: Values) -> tuple[Integers, Values]:
    """The first of four lattice points about each position [spacings], and the weights (..., 4) of a cubic B-spline, sum of squares 1."""
    whole = np.floor(position)
    t = position - whole
    s = 1.0 - t
    weights = np.stack([s * s * s, 4.0 - 6.0 * t * t + 3.0 * t * t * t, 4.0 - 6.0 * s * s + 3.0 * s * s * s, t * t * t], axis=-1)
    size = np.sqrt(weights[..., 0] ** 2 + weights[..., 1] ** 2 + weights[..., 2] ** 2 + weights[..., 3] ** 2)
    return whole.astype(np.int64) - 1, weights / size[..., None]


Words = NDArray[np.uint64]  # 32-bit words in 64 bits, so that a product of two has room

MULTIPLIERS = (np.uint64(0xD2511F53), np.uint64(0xCD9E8D57))
WEYL = (0x9E3779B9, 0xBB67AE85)
ROUNDS = 10
LOW = np.uint64(0xFFFFFFFF)
HALF = np.uint64(32)


def philox(counter: tuple[Words, Words, Words, Words], key: int) -> tuple[Words, Words, Words, Words]:
    """Four random words for each counter of four (arrays of one shape) and a key of 64 bits: Philox4x32-10, Salmon and others (2011)."""
    a, b, c, d = counter
    low, high = key & 0xFFFFFFFF, key >> 32 & 0xFFFFFFFF
    for _ in range(ROUNDS):
        first, second = MULTIPLIERS[0] * a, MULTIPLIERS[1] * c
        a, b, c, d = (second >> HALF) ^ b ^ np.uint64(low), second & LOW, (first >> HALF) ^ d ^ np.uint64(high), first & LOW
        low, high = (low + WEYL[0]) & 0xFFFFFFFF, (high + WEYL[1]) & 0xFFFFFFFF
    return a, b, c, d


def normals(column: Words, row: Words, day: Words, stream: int, seed: int) -> Values:
    """Four independent standard normal numbers (4, ...) for each place and day of a stream; Box and Muller (1958).

    column, row, day: words that broadcast to the shape wanted; stream: a number of its own for each use.
    """
    counter = np.broadcast_arrays(column, row, day, np.uint64(stream))
    words = philox((counter[0], counter[1], counter[2], counter[3]), seed % 2**64)
    radius = [np.sqrt(-2.0 * np.log((word + 0.5) * 2.0**-32)) for word in words[:2]]
    turn = [(2.0 * np.pi * 2.0**-32) * word for word in words[2:]]
    return np.stack([length * turned(angle) for length, angle in zip(radius, turn, strict=True) for turned in (np.cos, np.sin)])
