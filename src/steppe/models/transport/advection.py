"""Paths and tracers of the own cells, read out of global arrays: a path may begin in any cell of any rank.

All ranks put wind and tracers into the arrays. Then each finds where the air of its cells comes from, some rows at a time, and what there
was: elements are read by their addresses, on one host straight from the memory of all ranks.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from steppe.grid import Box
from steppe.kernels import FieldKernel
from steppe.models.handed import CommonArray, Reach
from steppe.models.transport import interpolation
from steppe.models.transport.levels import Levels
from steppe.models.transport.paths import AFTER, BEFORE, depart, formula_wind, locate, turn, wind_at
from steppe.models.transport.sphere import BEYOND, Sphere

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
PIECE = 1 << 14  # cells that are computed at once: what is kept of them fits the cache of a core
COMPONENTS = 3  # of the wind


class Points(NamedTuple):
    """Where points lie in the tables, as `paths.locate` finds it; each (points,)."""

    column: Integers
    row: Integers
    along: Floats
    latitude: Floats
    height: Floats

    @classmethod
    def room(cls, n: int) -> Self:
        """For n points."""
        return cls(np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n), np.empty(n), np.empty(n))


class Advection:
    """What the own cells of a rank need to be reached by the wind.

    Parameters
    ----------
    sphere, levels
        Of the grid.
    box
        The own cells.
    reach
        Makes the arrays.
    tracers
        How many there are.
    gridded
        True if the wind is put on the grid: `blow`; otherwise it is a formula.
    """

    def __init__(self, sphere: Sphere, levels: Levels, box: Box, reach: Reach, tracers: int, gridded: bool) -> None:
        self.sphere, self.levels, self.box = sphere, levels, box
        self.y, self.x = (slice(first, first + length) for first, length in zip(box.origin, box.shape, strict=True))
        lat, lon = sphere.latitude[self.y], sphere.longitude[self.x]
        self.circles = np.cos(lat), np.sin(lat), np.cos(lon), np.sin(lon)
        n_levels, (rows, columns) = levels.coordinate.size, sphere.shape
        most = max(1, PIECE // (n_levels * box.shape[1]))
        self._pieces = [(first, min(most, box.shape[0] - first)) for first in range(0, box.shape[0], most)]
        n = n_levels * most * box.shape[1]
        self._points, self._u, self._v, self._w = Points.room(n), np.empty(n), np.empty(n), np.empty(n)
        self._begins, self._found, self._work = np.empty(4 * n), np.empty(n * tracers), np.empty(interpolation.WORK)
        self._layers, self._tracers = max(n_levels, interpolation.LAYERS), tracers
        self._air: CommonArray = reach.array((rows, tracers, columns, self._layers))
        self._wind: CommonArray | None = reach.array((rows, COMPONENTS, n_levels, BEFORE + columns + AFTER)) if gridded else None
        self._first_lat, self._per_lat = _even(sphere.latitudes)

    def put(self, tracers: Sequence[Floats]) -> None:
        """The tracers at the beginning of a step, each (levels, y, x) of the own cells."""
        rows, columns = (np.arange(part.start, part.stop) for part in (self.y, self.x))
        level = np.arange(self.levels.coordinate.size)[:, None, None]
        width = self.sphere.shape[1] * self._layers
        place = rows[:, None] * (self._tracers * width) + columns * self._layers + level
        self._air.sync()
        for number, values in enumerate(tracers):
            self._air.scatter(place + number * width, values)
        self._air.sync()

    def blow(self, wind: Sequence[Floats]) -> None:
        """The wind in the middle of a step: to the east and north [rad s-1], and through the levels; each (levels, y, x) of the own cells."""
        assert self._wind is not None
        columns, width = self.sphere.shape[1], BEFORE + self.sphere.shape[1] + AFTER
        at = np.arange(width)
        mine = (at - BEFORE) % columns
        at, mine = (each[(mine >= self.x.start) & (mine < self.x.stop)] for each in (at, mine))
        rows, level = np.arange(self.y.start, self.y.stop)[:, None], np.arange(self.levels.coordinate.size)[:, None, None]
        place = (rows * COMPONENTS * level.size + level) * width + at
        for number, values in enumerate(wind):
            self._wind.scatter(place + number * level.size * width, values[..., mine - self.x.start])
        self._wind.sync()

    def trace(self, middles: Floats, half: float, iterations: int, formula: tuple[str, Floats] | None) -> None:
        """Improves the middles of the paths (4, levels, y, x): x, y, z on the unit sphere, and height.

        half: of a step [s]. formula: name and constants of a wind, None for that of `blow`.
        """
        for _ in range(iterations):
            for first, rows in self._pieces:
                where = self._where(first, rows)
                n = where[0] * where[1] * where[2]
                points, u, v, w = Points(*(each[:n] for each in self._points)), self._u[:n], self._v[:n], self._w[:n]
                if formula:
                    formula_wind(formula[0])(*where, formula[1], middles, u, v, w)
                else:
                    self._locate(where, middles, points)
                    self._wind_at(points, u, v, w)
                turn(*where, half, *self.circles, self.levels.coordinate, u, v, w, middles)

    def carry(self, middles: Floats, tracers: Sequence[Floats], kernel: FieldKernel, weights: Floats) -> None:
        """Fills tracers (levels, y, x) with what there was where the paths begin.

        kernel: of `interpolation`; weights: what it takes of the rows.
        """
        sphere, n_levels, columns = self.sphere, self.levels.coordinate.size, self.sphere.shape[1]
        width, level_slopes = columns * self._layers, self.levels.slopes()
        table, shift = self._air.raw()
        for first, rows in self._pieces:
            where = self._where(first, rows)
            shape = where[:3]
            n = shape[0] * shape[1] * shape[2]
            points, begins, found = Points(*(each[:n] for each in self._points)), self._begins[: 4 * n], self._found[: n * self._tracers]
            depart(*where, *self.circles, self.levels.coordinate, middles, begins)
            self._locate((*shape, 0, rows), begins, points)
            tables = sphere.rows, sphere.shifts, sphere.latitudes, weights, self.levels.coordinate, level_slopes
            kernel(n, n_levels, columns, shift, self._tracers, width, self._air._whole, table, *tables, *points, self._work, found)
            for values, there in zip(tracers, found.reshape(-1, *shape), strict=True):
                values[:, first : first + rows] = there

    def _where(self, first: int, rows: int) -> tuple[int, int, int, int, int]:
        """Levels, rows and columns of a piece, its first row, and all rows."""
        return self.levels.coordinate.size, rows, self.box.shape[1], first, self.box.shape[0]

    def _locate(self, where: Any, block: Floats, points: Points) -> None:
        sphere, columns = self.sphere, self.sphere.shape[1]
        lons = float(sphere.longitude[0]), columns / (2.0 * np.pi)
        locate(*where, columns, sphere.latitudes.size, *lons, self._first_lat, self._per_lat, sphere.latitudes, block, *points)

    def _wind_at(self, points: Points, u: Floats, v: Floats, w: Floats) -> None:
        assert self._wind is not None
        sphere, (table, shift) = self.sphere, self._wind.raw()
        tables = sphere.rows, sphere.shifts, sphere.signs, sphere.latitudes, sphere.lagrange4, self.levels.coordinate
        wind_at(u.size, self.levels.coordinate.size, sphere.shape[1], shift, table, *tables, *points, u, v, w)


def _even(latitudes: Floats) -> tuple[float, float]:
    """The latitude of the first row [rad] and rows per rad, if the rows between the poles were as far apart as they are on average."""
    inner = latitudes[BEYOND:-BEYOND]
    per_lat = (inner.size - 1) / (inner[0] - inner[-1])
    return float(inner[0] + BEYOND / per_lat), float(per_lat)
