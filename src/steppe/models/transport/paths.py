"""Where the air of each cell comes from: the midpoint rule on the sphere, in Cartesian coordinates.

    M = norm(A - sin(dt V / 2) / V * V(M))      middle of the path to the arrival point A, found by iteration (after Ritchie 1987, Mon.
    D = 2 (A . M) M - A                         Weather Rev. 115); V: wind at M, half-way through the step [rad s-1]; D: departure point

The wind is a tangent at M, so A = cos(dt V / 2) M + sin(dt V / 2) V(M) / V, and a path along a great circle is exact at any step. Scheme
`ccm` has tan in place of sin, as the model had that it follows: its paths are too long, by 0.5 % where half a step is 0.1 rad.

Cartesian coordinates have no singular place, so the poles need no other scheme. The vertical goes along: its middle is half a step below
the wind at M, its departure a whole one, both within the first and the last level.

A wind on the grid is interpolated at M: cubic in longitude and latitude, linear between levels. Rows beyond a pole are those of the other
side, where u and v change sign.
"""

from functools import cache
from typing import Any, NamedTuple, Self, TypeAlias

import numpy as np
from numpy import int64

from steppe.array_types import Floats, Integers
from steppe.kernels import FieldKernel, field_kernel
from steppe.kernels.vecmath import arctan2, cos, sin, sqrt, where
from steppe.models.transport.winds import WINDS

ROUND = 6.283185307179586  # rad
BEFORE, AFTER = 1, 2  # columns that the array of the wind has before the first and after the last, so that four neighbours lie in a row
NEARER = 1.0 - 1e-13  # more than rounding moves a latitude, less than any weight feels
COMPONENTS = 3  # of the wind
Three: TypeAlias = tuple[float, float, float]


class SomeRows(NamedTuple):
    """Rows first_row .. first_row + n_rows - 1 of all rows of the own cells, whole."""

    levels: int
    n_rows: int
    n_columns: int
    first_row: int
    all_rows: int


class GridPlaces(NamedTuple):
    """Of the grid. per_lon, per_lat: columns and rows per rad; first_lat: the latitude of row 0 of the tables if all were as far apart."""

    columns: int
    table_rows: int
    first_lon: float
    per_lon: float
    first_lat: float
    per_lat: float


class PathPoints(NamedTuple):
    """Where points lie in the tables, each (points,): the column at or before, its part beyond (along), latitude and height.

    row: about the row at or before. `row_before` finds the very one: it looks into a table, which does not go into vectors.
    """

    column: Integers
    row: Integers
    along: Floats
    latitude: Floats
    height: Floats

    @classmethod
    def room(cls, n: int) -> Self:
        """For n points."""
        return cls(np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n), np.empty(n), np.empty(n))

    def some(self, first: int, end: int) -> Self:
        """Those from first to end - 1."""
        here = slice(first, end)
        return type(self)(self.column[here], self.row[here], self.along[here], self.latitude[here], self.height[here])


class Circles(NamedTuple):
    """Cosine and sine of the latitudes and longitudes of the own cells."""

    cos_lat: Floats
    sin_lat: Floats
    cos_lon: Floats
    sin_lon: Floats


class WindArrays(NamedTuple):
    """u, v along the sphere, w through the levels."""

    u: Floats
    v: Floats
    w: Floats


def within(value: Any, low: float, high: float) -> Any:
    """The number, or the end of the range that it lies beyond."""
    return min(max(value, low), high)


@field_kernel
def locate(some: SomeRows, places: GridPlaces, points: Floats, found: PathPoints) -> None:
    """Finds points (4, levels, all_rows, n_columns) of some rows, each x, y, z and height, in the tables."""
    levels, n_rows, n_columns, first_row, all_rows = some.levels, some.n_rows, some.n_columns, some.first_row, some.all_rows
    size = levels * all_rows * n_columns
    for k in range(levels):
        for r in range(n_rows):
            there, here = (k * all_rows + first_row + r) * n_columns, (k * n_rows + r) * n_columns
            for c in range(n_columns):
                q, p = there + c, here + c
                x, y, z = points[q], points[q + size], points[q + 2 * size]
                across = arctan2(y, x) - places.first_lon
                across = where(across < 0.0, across + ROUND, across)
                across = where(across < 0.0, across + ROUND, across) * places.per_lon
                lat = arctan2(z, sqrt(x * x + y * y))
                i = within(int64(across), 0, places.columns - 1)
                found.column[p] = i
                found.row[p] = within(int64((places.first_lat - lat) * places.per_lat), 2, places.table_rows - 4)
                found.along[p] = within(across - i, 0.0, 1.0)
                found.latitude[p] = lat
                found.height[p] = points[q + 3 * size]


def level_before(height: float, levels: int, coordinate: Floats, guess: int) -> int:
    """The level at or before a height, at most the last but one."""
    k = guess
    while k > 0 and height < coordinate[k]:
        k -= 1
    while k < levels - 2 and height >= coordinate[k + 1]:
        k += 1
    return k


def row_before(latitude: float, latitudes: Floats, about: int) -> int:
    """The row of the tables before the cell of a latitude; on a row, of the cell towards the equator. about: this row, or one beside it.

    So both hemispheres are alike, and rounding does not choose between the two cells beside a row.
    """
    nearer = latitude * NEARER
    row = about - 1 if nearer > latitudes[about] else about
    return row + 1 if nearer <= latitudes[row + 1] else row


def turned_column(column: int, shift: int, columns: int) -> int:
    """A column moved to the east by half of all columns at most."""
    moved = column + shift
    return moved - columns if moved >= columns else moved


class WindTables(NamedTuple):
    """Of the sphere, see `sphere.Sphere`; inverse: `Sphere.lagrange4`; coordinate (levels,): of the levels."""

    levels: int
    columns: int
    rows: Integers
    shifts: Integers
    signs: Floats
    latitudes: Floats
    inverse: Floats
    coordinate: Floats


class Levels2(NamedTuple):
    """Where two levels begin in a row of the array, and the part of the way from the higher to the lower one."""

    high: int
    low: int
    down: float


def two_levels(field: Floats, row: int, between: Levels2, weight: float, work: Floats, to: int, first: bool) -> None:
    """Adds four neighbours of two levels with weights, side by side, to work[to .. to + 3], or begins with them."""
    high, low, near, far = row + between.high, row + between.low, weight * (1.0 - between.down), weight * between.down
    for m in range(4):
        both = near * field[high + m] + far * field[low + m]
        work[to + m] = both if first else work[to + m] + both


def four_columns(field: Floats, rows: tuple[int, ...], between: Levels2, weights: tuple[float, ...], work: Floats, to: int) -> None:
    """Four columns of a component, of four rows and two levels."""
    two_levels(field, rows[0], between, weights[0], work, to, True)
    two_levels(field, rows[1], between, weights[1], work, to, False)
    two_levels(field, rows[2], between, weights[2], work, to, False)
    two_levels(field, rows[3], between, weights[3], work, to, False)


@field_kernel
def wind_at(n: int, field: Floats, tables: WindTables, points: PathPoints, work: Floats, found: WindArrays) -> None:
    """Interpolates the wind at n points, out of the array (rows, components, levels, BEFORE + columns + AFTER). work: (12,)."""
    levels, columns, rows, shifts, signs = tables.levels, tables.columns, tables.rows, tables.shifts, tables.signs
    latitudes, inverse, coordinate, height = tables.latitudes, tables.inverse, tables.coordinate, points.height
    width = BEFORE + columns + AFTER
    component = levels * width
    stride = COMPONENTS * component
    k = 0
    for p in range(n):
        s = points.along[p]
        a, b, c = s + 1.0, s - 1.0, s - 2.0
        x0, x1, x2, x3 = -s * b * c * (1.0 / 6.0), a * b * c * 0.5, -a * s * c * 0.5, a * s * b * (1.0 / 6.0)
        lat = points.latitude[p]
        e = row_before(lat, latitudes, points.row[p]) - 1
        d0, d1, d2, d3 = lat - latitudes[e], lat - latitudes[e + 1], lat - latitudes[e + 2], lat - latitudes[e + 3]
        at = 4 * (e + 1)
        y0, y1 = d1 * d2 * d3 * inverse[at], d0 * d2 * d3 * inverse[at + 1]
        y2, y3 = d0 * d1 * d3 * inverse[at + 2], d0 * d1 * d2 * inverse[at + 3]
        k = level_before(height[p], levels, coordinate, k)
        below = min(k + 1, levels - 1)
        down = (height[p] - coordinate[k]) / (coordinate[below] - coordinate[k]) if below > k else 0.0
        i = points.column[p]
        i0, i1 = turned_column(i, shifts[e], columns), turned_column(i, shifts[e + 1], columns)
        i2, i3 = turned_column(i, shifts[e + 2], columns), turned_column(i, shifts[e + 3], columns)
        four = rows[e] * stride + i0, rows[e + 1] * stride + i1, rows[e + 2] * stride + i2, rows[e + 3] * stride + i3
        signed = y0 * signs[e], y1 * signs[e + 1], y2 * signs[e + 2], y3 * signs[e + 3]
        high, low, c1, c2 = k * width, below * width, component, 2 * component
        four_columns(field, four, Levels2(high, low, down), signed, work, 0)
        four_columns(field, four, Levels2(high + c1, low + c1, down), signed, work, 4)
        four_columns(field, four, Levels2(high + c2, low + c2, down), (y0, y1, y2, y3), work, 8)
        u, v, w = found.u, found.v, found.w
        u[p] = (x0 * work[0] + x1 * work[1]) + (x2 * work[2] + x3 * work[3])
        v[p] = (x0 * work[4] + x1 * work[5]) + (x2 * work[6] + x3 * work[7])
        w[p] = (x0 * work[8] + x1 * work[9]) + (x2 * work[10] + x3 * work[11])


def longitude(x: float, y: float) -> Three:
    """Cosine and sine of the longitude of a point on the unit sphere, and the cosine of its latitude; at a pole, longitude 0."""
    cos_lat = sqrt(x * x + y * y)
    inverse = 1.0 / max(cos_lat, 1e-300)
    return where(cos_lat > 0.0, x * inverse, 1.0), y * inverse, cos_lat


def to_chord(half: float, speed: float) -> float:
    """The length of the wind at the middle of a path that leads from its end to the chord there, as a part of its speed."""
    return where(speed > 0.0, sin(half * speed) / max(speed, 1e-300), half)


def to_tangent(half: float, speed: float) -> float:
    """The same as if the wind was a tangent at the end of the path."""
    angle = half * speed
    return where(speed > 0.0, sin(angle) / (cos(angle) * max(speed, 1e-300)), half)


@cache
def turn(exact: bool) -> FieldKernel:
    """The kernel of one iteration for the middles of the paths to some rows; `points` as in `locate`. exact: paths along great circles are.

    half: of a step [s]; per_speed: the angle that a speed of 1 passes in it.
    """
    length = to_chord if exact else to_tangent

    def turned(half: float, u: float, v: float, arrival: Three, at: Three) -> Three:
        """The middle of the path to an arrival point with the wind u, v that blows at another, both x, y, z."""
        x, y, z = at
        cos_lon, sin_lon, flat = longitude(x, y)
        factor = length(half, sqrt(u * u + v * v))
        bx = arrival[0] - factor * (-u * sin_lon - v * z * cos_lon)
        by = arrival[1] - factor * (u * cos_lon - v * z * sin_lon)
        bz = arrival[2] - factor * (v * flat)
        scale = 1.0 / sqrt(bx * bx + by * by + bz * bz)
        return bx * scale, by * scale, bz * scale

    @field_kernel
    def iterate(
        some: SomeRows, half: float, per_speed: float, circles: Circles, coordinate: Floats, wind: WindArrays, points: Floats
    ) -> None:
        levels, n_rows, n_columns, first_row, all_rows = some.levels, some.n_rows, some.n_columns, some.first_row, some.all_rows
        cos_lat, sin_lat, cos_lon, sin_lon, u, v = circles.cos_lat, circles.sin_lat, circles.cos_lon, circles.sin_lon, wind.u, wind.v
        size = levels * all_rows * n_columns
        top, bottom = coordinate[0], coordinate[levels - 1]
        for k in range(levels):
            for r in range(n_rows):
                there, here = (k * all_rows + first_row + r) * n_columns, (k * n_rows + r) * n_columns
                flat, up = cos_lat[first_row + r], sin_lat[first_row + r]
                for c in range(n_columns):
                    q, p = there + c, here + c
                    ax, ay = flat * cos_lon[c], flat * sin_lon[c]
                    x, y, z = turned(per_speed, u[p], v[p], (ax, ay, up), (points[q], points[q + size], points[q + 2 * size]))
                    points[q], points[q + size], points[q + 2 * size] = x, y, z
                    points[q + 3 * size] = within(coordinate[k] - half * wind.w[p], top, bottom)

    return iterate


@field_kernel
def depart(some: SomeRows, circles: Circles, coordinate: Floats, points: Floats, begins: Floats) -> None:
    """Where the paths to some rows begin: begins (4, levels, n_rows, n_columns), of middles as in `turn`."""
    levels, n_rows, n_columns, first_row, all_rows = some.levels, some.n_rows, some.n_columns, some.first_row, some.all_rows
    cos_lat, sin_lat, cos_lon, sin_lon = circles.cos_lat, circles.sin_lat, circles.cos_lon, circles.sin_lon
    size, part = levels * all_rows * n_columns, levels * n_rows * n_columns
    top, bottom = coordinate[0], coordinate[levels - 1]
    for k in range(levels):
        for r in range(n_rows):
            there, here = (k * all_rows + first_row + r) * n_columns, (k * n_rows + r) * n_columns
            flat, up = cos_lat[first_row + r], sin_lat[first_row + r]
            for c in range(n_columns):
                q, p = there + c, here + c
                ax, ay = flat * cos_lon[c], flat * sin_lon[c]
                x, y, z = points[q], points[q + size], points[q + 2 * size]
                double = 2.0 * (ax * x + ay * y + up * z)
                begins[p], begins[p + part], begins[p + 2 * part] = double * x - ax, double * y - ay, double * z - up
                begins[p + 3 * part] = within(2.0 * points[q + 3 * size] - coordinate[k], top, bottom)


@cache
def formula_wind(name: str) -> FieldKernel:
    """A kernel that gives one of `WINDS` at some rows of points, as in `locate`. c: its constants."""
    formula = WINDS[name].formula

    @field_kernel
    def wind(some: SomeRows, c: Floats, points: Floats, found: WindArrays) -> None:
        levels, n_rows, n_columns, first_row, all_rows = some.levels, some.n_rows, some.n_columns, some.first_row, some.all_rows
        u, v, w = found.u, found.v, found.w
        size = levels * all_rows * n_columns
        for k in range(levels):
            for r in range(n_rows):
                there, here = (k * all_rows + first_row + r) * n_columns, (k * n_rows + r) * n_columns
                for i in range(n_columns):
                    q, p = there + i, here + i
                    x, y, z = points[q], points[q + size], points[q + 2 * size]
                    cos_lon, sin_lon, cos_lat = longitude(x, y)
                    u[p], v[p], w[p] = formula(cos_lon, sin_lon, cos_lat, z, points[q + 3 * size], c)

    return wind
