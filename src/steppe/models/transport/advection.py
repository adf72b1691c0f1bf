"""Paths and tracers of the own cells, read out of global arrays: a path may begin in any cell of any rank.

All ranks put wind and tracers into the arrays. Then each finds where the air of its cells comes from, some rows at a time, and what there
was. Each element of an array has its place in memory: those of this host are there, and pages of other hosts come into theirs, those that
some points need while the points before are computed. So the kernels know nothing of hosts.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from steppe.array_types import Floats, Integers
from steppe.grid import Box
from steppe.kernels import field_kernel
from steppe.models.handed import CommonArray, Reach
from steppe.models.transport import interpolation
from steppe.models.transport.levels import HybridLevels
from steppe.models.transport.paths import (
    AFTER,
    BEFORE,
    COMPONENTS,
    Circles,
    GridPlaces,
    PathPoints,
    SomeRows,
    WindArrays,
    WindTables,
    depart,
    formula_wind,
    locate,
    turn,
    wind_at,
)
from steppe.models.transport.reading import Flags, Reading, mark_tracers, mark_wind
from steppe.models.transport.sphere import BEYOND, BoxShape, Sphere
from steppe.models.transport.winds import RADIUS

PIECE = 1 << 14  # cells that are computed at once: what is kept of them fits the cache of a core
SCHEMES = {"ccm": (interpolation.ccm, 4), "best": (interpolation.best, 6)}  # kernel, and points of a line of its stencil


@field_kernel
def lay_tracer(shape: BoxShape, first: int, stride: int, layers: int, values: Floats, field: Floats) -> None:
    """Puts a tracer of a box into the array. first, stride: element where it begins, elements of a row."""
    levels, rows, columns = shape.levels, shape.rows, shape.columns
    for r in range(rows):
        for c in range(columns):
            at = first + r * stride + c * layers
            for k in range(levels):
                field[at + k] = values[(k * rows + r) * columns + c]


@field_kernel
def lay_wind(shape: BoxShape, first_row: int, first_column: int, all_columns: int, wind: WindArrays, field: Floats) -> None:
    """Puts the wind of a box into the array, and again before its first and after its last column."""
    levels, rows, columns, u, v, w = shape.levels, shape.rows, shape.columns, wind.u, wind.v, wind.w
    width = BEFORE + all_columns + AFTER
    component = levels * width
    for r in range(rows):
        for k in range(levels):
            row = ((first_row + r) * COMPONENTS * levels + k) * width
            here = (k * rows + r) * columns
            for c in range(columns):
                at, p = row + BEFORE + first_column + c, here + c
                field[at], field[at + component], field[at + 2 * component] = u[p], v[p], w[p]
            for c in range(columns):
                i = first_column + c
                if i < AFTER or i >= all_columns - BEFORE:
                    at, p = row + (BEFORE + all_columns + i if i < AFTER else i - all_columns + BEFORE), here + c
                    field[at], field[at + component], field[at + 2 * component] = u[p], v[p], w[p]


class Part(NamedTuple):
    """PathPoints first to end - 1 of a piece, the pages of other hosts that they need; last: of the piece."""

    piece: tuple[int, int]
    points: PathPoints
    first: int
    end: int
    pages: Integers
    last: bool


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
    page, cache
        Bytes of a page, and for pages of other hosts; at least those that one point reads are stored.
    """

    def __init__(
        self, sphere: Sphere, levels: HybridLevels, box: Box, reach: Reach, tracers: int, gridded: bool, page: int, cache: int
    ) -> None:
        self.sphere, self.levels, self.box = sphere, levels, box
        self.y, self.x = (slice(first, first + length) for first, length in zip(box.origin, box.shape, strict=True))
        lat, lon = sphere.latitude[self.y], sphere.longitude[self.x]
        self.circles = Circles(np.cos(lat), np.sin(lat), np.cos(lon), np.sin(lon))
        n_levels, (rows, columns) = levels.coordinate.size, sphere.shape
        self._shape = BoxShape(n_levels, *box.shape)
        most = max(1, PIECE // (n_levels * box.shape[1]))
        self._pieces = [(first, min(most, box.shape[0] - first)) for first in range(0, box.shape[0], most)]
        n = n_levels * most * box.shape[1]
        self._points, self._speeds = (PathPoints.room(n), PathPoints.room(n)), WindArrays(np.empty(n), np.empty(n), np.empty(n))
        self._begins, self._found, self._work = np.empty(4 * n), np.empty(n * tracers), np.empty(interpolation.WORK)
        self._layers, self._tracers = max(n_levels, interpolation.LAYERS), tracers
        self._level_slopes = levels.slopes()
        width = BEFORE + columns + AFTER
        shape = rows, tracers, columns, self._layers
        self._air = reach.array(shape, page=page)
        self._air_elsewhere = _elsewhere(self._air, shape, self.y, range(tracers), range(columns)[self.x], range(n_levels))
        self._wind: CommonArray | None = None
        if gridded:
            shape, at = (rows, COMPONENTS, n_levels, width), np.arange(width)
            self._wind = reach.array(shape, page=page)
            mine = at[np.isin((at - BEFORE) % columns, np.arange(columns)[self.x])]
            self._wind_elsewhere = _elsewhere(self._wind, shape, self.y, range(COMPONENTS), range(n_levels), mine)
        least = max(_most_pages(36 * tracers, self._layers, page), _most_pages(24, width, page))
        self._cache = max(cache, 2 * page * least)
        inner = sphere.latitude  # as if rows were as far apart as they are on average
        per_lat = (rows - 1) / float(inner[0] - inner[-1])
        of_lat = float(inner[0]) + BEYOND / per_lat, per_lat
        self._places = GridPlaces(columns, sphere.latitudes.size, float(sphere.longitude[0]), columns / (2.0 * np.pi), *of_lat)

    def put(self, tracers: Sequence[Floats]) -> None:
        """The tracers at the beginning of a step, each (levels, y, x) of the own cells."""
        width, field = self.sphere.shape[1] * self._layers, self._air.places
        first = self.y.start * self._tracers * width + self.x.start * self._layers
        for number, values in enumerate(tracers):
            lay_tracer(self._shape, first + number * width, self._tracers * width, self._layers, values, field)
        if self._air_elsewhere.size:
            self._air.scatter(self._air_elsewhere, field[self._air_elsewhere])

    def blow(self, wind: WindArrays) -> None:
        """The wind half-way through a step: u, v [m s-1] and w [s-1], each (levels, y, x) of the own cells."""
        assert self._wind is not None
        field = self._wind.places
        lay_wind(self._shape, self.y.start, self.x.start, self.sphere.shape[1], wind, field)
        if self._wind_elsewhere.size:
            self._wind.scatter(self._wind_elsewhere, field[self._wind_elsewhere])

    def trace(self, middles: Floats, half: float, iterations: int, formula: tuple[str, Floats] | None, scheme: str) -> None:
        """Improves the middles of the paths (4, levels, y, x): x, y, z on the unit sphere, and height.

        half: of a step [s]. formula: name and constants of a wind, None for that of `blow`. scheme: of `SCHEMES`.
        """
        if self._wind is None:
            assert formula is not None
            for _ in range(iterations):
                for piece in self._pieces:
                    formula_wind(formula[0])(self._where(piece), formula[1], middles, self._speed(piece))
                    self._turn(piece, half, half, middles, scheme)
            return
        sphere, n_levels, columns = self.sphere, self.levels.coordinate.size, self.sphere.shape[1]
        with self._wind.read_only(self._cache) as seen:
            reading = Reading(seen, sphere.rows)
            of_sphere = sphere.rows, sphere.shifts, sphere.signs, sphere.latitudes, sphere.lagrange4
            tables = WindTables(n_levels, columns, *of_sphere, self.levels.coordinate)

            def prepare(piece: tuple[int, int], points: PathPoints) -> None:
                locate(self._where(piece), self._places, middles, points)

            def needed(points: PathPoints, pages: Flags) -> None:
                mark_wind(points.row.size, tables, points, reading.marks(n_levels, pages))

            def work(part: Part) -> None:
                speeds = WindArrays(*(each[part.first : part.end] for each in self._speed(part.piece)))
                some = part.points.some(part.first, part.end)
                wind_at(some.row.size, reading.field, tables, some, self._work, speeds)
                if part.last:
                    self._turn(part.piece, half, half / RADIUS, middles, scheme)

            for _ in range(iterations):
                self._go(reading, self._parts(reading, prepare, needed), work)

    def carry(self, middles: Floats, tracers: Sequence[Floats], scheme: str, limited: bool) -> None:
        """Fills tracers (levels, y, x) with what there was where the paths begin. scheme: of `SCHEMES`."""
        sphere, n_levels, columns = self.sphere, self.levels.coordinate.size, self.sphere.shape[1]
        width, (kernel, wide) = columns * self._layers, SCHEMES[scheme]
        with self._air.read_only(self._cache) as seen:
            reading = Reading(seen, sphere.rows)
            weights = sphere.slopes if scheme == "ccm" else sphere.lagrange6
            of_sphere = sphere.rows, sphere.shifts, sphere.latitudes, weights
            tables = interpolation.TracerTables(
                n_levels, columns, self._tracers, width, *of_sphere, self.levels.coordinate, self._level_slopes
            )

            def prepare(piece: tuple[int, int], points: PathPoints) -> None:
                where, begins = self._where(piece), self._begins[: 4 * self._count(piece)]
                depart(where, self.circles, self.levels.coordinate, middles, begins)
                locate(where._replace(first_row=0, all_rows=where.n_rows), self._places, begins, points)

            def needed(points: PathPoints, pages: Flags) -> None:
                cells = np.zeros(sphere.shape[0] * columns, np.bool_)
                mark_tracers(points.row.size, wide, tables, points, reading.marks(columns, pages), cells)

            def work(part: Part) -> None:
                some = part.points.some(part.first, part.end)
                n = some.row.size
                found = self._found[: n * self._tracers]
                kernel(limited)(n, reading.field, tables, some, self._work, found)
                first, rows = part.piece
                for values, there in zip(tracers, found.reshape(self._tracers, n), strict=True):
                    if n == self._count(part.piece):
                        values[:, first : first + rows] = there.reshape(n_levels, rows, -1)
                    else:
                        at = np.unravel_index(np.arange(part.first, part.end), (n_levels, rows, self.box.shape[1]))
                        values[at[0], first + at[1], at[2]] = there

            self._go(reading, self._parts(reading, prepare, needed), work)

    def _go(self, reading: Reading, parts: Iterator[Part], work: Callable[[Part], None]) -> None:
        """Works through all parts; pages of other hosts come while the points before are worked on."""
        waiting: Part | None = None
        for part in parts:
            coming = reading.seen.bring(part.pages, keep=waiting.pages if waiting else ()) if part.pages.size else None
            if waiting:
                work(waiting)
            if coming:
                coming.wait()
                reading.look()
            waiting = part
        if waiting:
            work(waiting)

    def _parts(
        self,
        reading: Reading,
        prepare: Callable[[tuple[int, int], PathPoints], None],
        needed: Callable[[PathPoints, Flags], None],
    ) -> Iterator[Part]:
        """The pieces, each prepared, and cut where the pages that two parts need do not fit at once."""
        for number, piece in enumerate(self._pieces):
            n = self._count(piece)
            points = self._points[number % 2].some(0, n)
            prepare(piece, points)
            first, ends = 0, [n]
            while ends:
                pages = np.zeros_like(reading.away)
                some = points.some(first, ends[-1])
                if reading.seen.room and not reading.is_near(some):
                    needed(some, pages)
                numbers = np.flatnonzero(pages & reading.away)
                if numbers.size > reading.most and ends[-1] - first > 1:
                    ends.append((first + ends[-1]) // 2)
                    continue
                end = ends.pop()
                yield Part(piece, points, first, end, numbers, end == n)
                first = end

    def _count(self, piece: tuple[int, int]) -> int:
        return self.levels.coordinate.size * piece[1] * self.box.shape[1]

    def _speed(self, piece: tuple[int, int]) -> WindArrays:
        return WindArrays(*(each[: self._count(piece)] for each in self._speeds))

    def _where(self, piece: tuple[int, int]) -> SomeRows:
        return SomeRows(self._shape.levels, piece[1], self._shape.columns, piece[0], self._shape.rows)

    def _turn(self, piece: tuple[int, int], half: float, per_speed: float, middles: Floats, scheme: str) -> None:
        turn(scheme == "best")(self._where(piece), half, per_speed, self.circles, self.levels.coordinate, self._speed(piece), middles)


def _elsewhere(array: CommonArray, shape: tuple[int, ...], rows: slice, *along: Integers | range) -> Integers:
    """The flat indices of own elements that lie on other hosts: where a page has rows of two ranks. along: indices of each further dim."""
    of_rows = (np.ix_(np.array([row]), *map(np.asarray, along)) for row in range(shape[0])[rows])
    return np.concatenate([array.elsewhere(np.ravel_multi_index(index, shape).ravel()) for index in of_rows])


def _most_pages(runs: int, length: int, page: int) -> int:
    """Pages that one point reads at most: so many runs of neighbours (float64)."""
    return runs * (8 * length // page + 2)
