"""The wind through hybrid levels, from the change of pressure that air undergoes.

    w = (omega - b (d ps/d t + V . grad ps)) / (d p / d eta)          eta = a + b the coordinate of the levels, p = a p0 + b ps

(Simmons and Burridge 1981, Mon. Weather Rev. 109). At levels of constant pressure b is 0, and w = omega / p0.
"""

from typing import NamedTuple

import numpy as np

from steppe.array_types import Floats, Integers
from steppe.grid import Box
from steppe.kernels import field_kernel
from steppe.models.handed import Reach
from steppe.models.transport.levels import P0, HybridLevels
from steppe.models.transport.sphere import BEYOND, BoxShape, Sphere
from steppe.models.transport.winds import RADIUS


class Vertical:
    """Of the own cells of a rank; surface pressure goes through a global array, for its gradient."""

    def __init__(self, sphere: Sphere, levels: HybridLevels, box: Box, reach: Reach) -> None:
        rows, columns = sphere.shape
        y, x = (np.arange(first, first + length) for first, length in zip(box.origin, box.shape, strict=True))
        self._pressure = reach.array((rows, columns))
        self._own = y[:, None] * columns + x

        def index(row: int, column: int) -> Integers:
            at = y + BEYOND + row
            return sphere.rows[at][:, None] * columns + (x + column + sphere.shifts[at][:, None]) % columns

        self._around = np.stack([index(-1, 0), index(1, 0), index(0, 1), index(0, -1)])
        self._apart_y = RADIUS * (sphere.latitudes[y + BEYOND - 1] - sphere.latitudes[y + BEYOND + 1])[:, None]
        self._apart_x = RADIUS * (4.0 * np.pi / columns * np.cos(sphere.latitude[y]))[:, None]
        thick = np.diff(levels.a + levels.b)
        self._slope = Slope(np.diff(levels.a) / thick, np.diff(levels.b) / thick, 0.5 * (levels.b[:-1] + levels.b[1:]))
        self._found = np.empty((levels.coordinate.size, *box.shape))

    def wind(self, u: Floats, v: Floats, omega: Floats, ps: Floats, tendency: Floats) -> Floats:
        """The wind through the levels [s-1], (levels, y, x); the same array each time.

        u, v [m s-1], omega [Pa s-1] (levels, y, x); surface pressure ps [Pa] and its tendency [Pa s-1] (y, x).
        """
        self._pressure.sync()  # all ranks have read the last one
        self._pressure.scatter(self._own, ps)
        self._pressure.sync()
        north, south, east, west = self._pressure.gather(self._around)
        to_east, to_north = (east - west) / self._apart_x, (north - south) / self._apart_y
        surface = Surface(ps, tendency, to_east, to_north)
        through(BoxShape(*self._found.shape), self._slope, surface, u, v, omega, self._found)
        return self._found


class Slope(NamedTuple):
    """a, b, share (levels,): p0 a + b ps is d p / d eta; share of a change of surface pressure at each level."""

    a: Floats
    b: Floats
    share: Floats


class Surface(NamedTuple):
    """ps [Pa], its tendency [Pa s-1] and its gradient [Pa m-1], each (rows, columns)."""

    ps: Floats
    tendency: Floats
    to_east: Floats
    to_north: Floats


@field_kernel
def through(shape: BoxShape, slope: Slope, surface: Surface, u: Floats, v: Floats, omega: Floats, found: Floats) -> None:
    """found = w, (levels, rows, columns)."""
    levels, rows, columns = shape.levels, shape.rows, shape.columns
    for k in range(levels):
        for r in range(rows):
            for c in range(columns):
                at = r * columns + c
                p = k * rows * columns + at
                change = surface.tendency[at] + u[p] * surface.to_east[at] + v[p] * surface.to_north[at]
                found[p] = (omega[p] - slope.share[k] * change) / (slope.a[k] * P0 + slope.b[k] * surface.ps[at])
