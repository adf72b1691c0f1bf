"""The sphere under a grid of latitudes and longitudes, as tables for loops: rows that go on beyond the poles, and weights between them.

A row beyond a pole is a row of the grid seen from the other side: its longitudes are turned by half a circle, and what points along an
axis changes sign. A row on a pole is none of them: its cells are the ends of as many meridians, and those beyond begin with the next. So a
row is counted with `BEYOND` rows before the first of the grid: row e of the tables is row e - BEYOND of the grid.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from steppe.array_types import Floats, Integers
from steppe.errors import GridError
from steppe.grid import Grid, Raster, Region

BEYOND = 3  # rows beyond each pole: as many as the widest stencil reads
ROUND = 360.0  # degrees


class BoxShape(NamedTuple):
    """Of the own cells of a rank, for loops over them."""

    levels: int
    rows: int
    columns: int


@dataclass(frozen=True, eq=False)
class Sphere:
    """A grid round the Earth.

    latitude (rows,) falling, longitude (columns,) rising [rad], edges (rows + 1,) of the rows [rad].
    """

    latitude: Floats
    longitude: Floats
    edges: Floats

    @classmethod
    def of(cls, grid: Grid) -> "Sphere":
        """The sphere under a grid.

        Raises
        ------
        GridError
            The grid does not go round the Earth from pole to pole, has an odd number of columns, fewer than 6 rows, or a mask.
        """
        if not isinstance(grid, Raster):
            raise GridError(f"Transport needs latitudes and longitudes round the Earth, not {grid!r}. Write [grid] gaussian = 64.")
        rows, columns = grid.nlat, grid.nlon
        spans = f"{columns} columns of {grid.dlon:g} degrees from latitude {grid.lat_bnds[-1, 1]:g} to {grid.lat_bnds[0, 0]:g}"
        if abs(columns * grid.dlon - ROUND) > 1e-6 or grid.lat_bnds[0, 0] < 90.0 - 1e-6 or grid.lat_bnds[-1, 1] > 1e-6 - 90.0:
            raise GridError(
                f"Transport goes round the Earth from pole to pole, and the grid has {spans}. Give winds of the whole Earth, or write "
                "[grid] gaussian = 64."
            )
        if columns % 2 or rows < 2 * BEYOND:
            raise GridError(
                f"The grid has {rows} rows and {columns} columns. Transport crosses the poles to the opposite column: it needs an even "
                f"number of columns, and at least {2 * BEYOND} rows."
            )
        if grid.n_cells < grid.active.size:
            raise GridError(f"The grid has a mask, and tracers pass over all {grid.active.size:,} cells. Give a grid without a mask.")
        edges = np.append(grid.lat_bnds[:, 0], grid.lat_bnds[-1, 1])
        turns = max(0.0, np.ceil((-ROUND / 2.0 - grid.lon0) / ROUND))  # so that all begin east of -180, as what looks for a column expects
        return cls(np.deg2rad(grid.lat), np.deg2rad(grid.lon + ROUND * turns), np.deg2rad(edges))

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.latitude.size, self.longitude.size

    @cached_property
    def weights(self) -> Floats:
        """The part of the sphere that a cell of each row covers, (rows,)."""
        return -np.diff(np.sin(self.edges)) / (2.0 * self.longitude.size)

    @cached_property
    def rows(self) -> Integers:
        """The row of the grid of each row of the tables, (rows + 2 BEYOND,)."""
        n = self.latitude.size
        north, south = (np.arange(BEYOND) + (abs(end) >= np.pi / 2) for end in self.latitude[[0, -1]])
        return np.concatenate([north[::-1], np.arange(n), n - 1 - south])

    @cached_property
    def shifts(self) -> Integers:
        """The columns by which each row of the tables is turned."""
        return np.where(self._inside, 0, self.longitude.size // 2)

    @cached_property
    def signs(self) -> Floats:
        """The sign of what points along an axis in each row of the tables."""
        return np.where(self._inside, 1.0, -1.0)

    @cached_property
    def latitudes(self) -> Floats:
        """The latitude of each row of the tables [rad], beyond 90 degrees where the row lies beyond a pole."""
        here = self.latitude[self.rows]
        return np.where(self._inside, here, np.where(here > 0.0, np.pi, -np.pi) - here)

    @cached_property
    def slopes(self) -> Floats:
        """See `slopes`, of the interval that begins with each row of the tables, (rows + 2 BEYOND, 6); 0 where a neighbour is missing."""
        found = np.zeros((self.latitudes.size, 6))
        for first in range(1, self.latitudes.size - 2):
            found[first] = slopes(self.latitudes[first - 1 : first + 3], 1)
        return found

    @cached_property
    def lagrange4(self) -> Floats:
        """See `_lagrange`, of four rows."""
        return self._lagrange(4)

    @cached_property
    def lagrange6(self) -> Floats:
        """See `_lagrange`, of six rows."""
        return self._lagrange(6)

    def inside(self, region: Region) -> NDArray[np.bool_]:
        """Which cells lie in a box, (rows, columns)."""
        lat: Floats = np.degrees(self.latitude).round(9)
        lon: Floats = np.degrees(self.longitude).round(9)
        return region.contains(lon[None, :], lat[:, None])

    def _lagrange(self, points: int) -> Floats:
        """Denominators of Lagrange's polynomials through so many rows about each interval, inverted: (rows + 2 BEYOND, points)."""
        found, before = np.zeros((self.latitudes.size, points)), points // 2 - 1
        for first in range(before, self.latitudes.size - points // 2):
            x = self.latitudes[first - before : first - before + points]
            found[first] = 1.0 / (x[:, None] - x + np.eye(points)).prod(axis=1)
        return found

    @property
    def _inside(self) -> NDArray[np.bool_]:
        at = np.arange(self.latitude.size + 2 * BEYOND) - BEYOND
        return (at >= 0) & (at < self.latitude.size)


def slopes(x: Floats, first: int) -> Floats:
    """Derivatives of the cubic through four values at both ends of the interval from x[first], from the three differences of the values.

    (6,): three factors for the beginning and three for the end, times the length of the interval. Differences, and not the values
    themselves, make the derivative of a constant exactly 0.
    """
    h, found = x[first + 1] - x[first], []
    for at in (first, first + 1):
        weights = h * derivative_weights(x, at)
        found += [-weights[0], weights[2] + weights[3], weights[3]]
    return np.array(found)


def derivative_weights(x: Floats, at: int) -> Floats:
    """The derivative at x[at] of the polynomial through values at x, as a factor for each value."""
    found = np.zeros(x.size)
    for m in range(x.size):
        if m != at:
            others = [x[at] - x[n] for n in range(x.size) if n not in (at, m)]
            found[m] = np.prod(others) / np.prod([x[m] - x[n] for n in range(x.size) if n != m])
    found[at] = -found.sum()
    return found
