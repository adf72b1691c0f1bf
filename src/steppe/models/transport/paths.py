"""Where the air of each cell comes from: the midpoint rule on the sphere, in Cartesian coordinates.

    M = norm(A - tan(dt V / 2) / V * V(M))      middle of the path to the arrival point A, found by iteration (Ritchie 1987, Mon. Weather
    D = 2 (A . M) M - A                         Rev. 115); V: wind at M, half-way through the step [rad s-1]; D: departure point

Cartesian coordinates have no singular place, so the poles need no other scheme. The vertical goes along: its middle is half a step below
the wind at M, its departure a whole one, both within the first and the last level.

A wind on the grid is interpolated at M: cubic in longitude and latitude, linear between levels. Rows beyond a pole are those of the other
side, where u and v change sign.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

from numpy import int64

from steppe.array_types import Floats, Integers
from steppe.kernels import FieldKernel, field_kernel
from steppe.kernels.elements import element_address
from steppe.kernels.primitives import float64s
from steppe.kernels.vecmath import arctan2, cos, sin, sqrt, where
from steppe.models.transport.winds import WINDS

ROUND = 6.283185307179586  # rad
BEFORE, AFTER = 1, 2  # columns that the array of the wind has before the first and after the last, so that four neighbours lie in a row
COMPONENTS = 3  # of the wind


def within(value: Any, low: float, high: float) -> Any:
    """The number, or the end of the range that it lies beyond."""
    return min(max(value, low), high)


@cache
def neighbours(one_piece: bool) -> Callable[[Integers, int, int], Floats]:
    """A function (table, shift, i) for the float64 from element i of an array on, as far as its page goes."""

    def of_piece(table: Integers, shift: int, i: int) -> Any:
        return float64s(table[0] + 8 * i)

    def of_page(table: Integers, shift: int, i: int) -> Any:
        return float64s(element_address(table, shift, i, 8))

    return of_piece if one_piece else of_page


def split(i: int, shift: int) -> bool:
    """True if elements i to i + 3 lie in two pages."""
    return (i & ((1 << shift) - 1)) > (1 << shift) - 4


@field_kernel
def locate(
    levels: int,
    n_rows: int,
    n_columns: int,
    first_row: int,
    all_rows: int,
    columns: int,
    table_rows: int,
    first_lon: float,
    per_lon: float,
    first_lat: float,
    per_lat: float,
    points: Floats,
    column: Integers,
    row: Integers,
    along: Floats,
    latitude: Floats,
    height: Floats,
) -> None:
    """The column at or before each of some points, the part of a column beyond it, its latitude, its height, and about its row.

    points (4, levels, all_rows, n_columns): x, y, z and height, of which rows first_row .. first_row + n_rows - 1 are located.
    per_lon, per_lat: columns and rows per rad; first_lat: the latitude of row 0 of the tables if all were as far apart. `row_before` finds
    the very row from that: it looks into a table, which does not go into vectors.
    """
    size = levels * all_rows * n_columns
    for k in range(levels):
        for r in range(n_rows):
            there, here = (k * all_rows + first_row + r) * n_columns, (k * n_rows + r) * n_columns
            for c in range(n_columns):
                q, p = there + c, here + c
                x, y, z = points[q], points[q + size], points[q + 2 * size]
                across = arctan2(y, x) - first_lon
                across = where(across < 0.0, across + ROUND, across)
                across = where(across < 0.0, across + ROUND, across) * per_lon
                lat = arctan2(z, sqrt(x * x + y * y))
                i = within(int64(across), 0, columns - 1)
                column[p] = i
                row[p] = within(int64((first_lat - lat) * per_lat), 2, table_rows - 4)
                along[p] = within(across - i, 0.0, 1.0)
                latitude[p] = lat
                height[p] = points[q + 3 * size]


def level_before(height: float, levels: int, coordinate: Floats, guess: int) -> int:
    """The level at or before a height, at most the last but one."""
    k = guess
    while k > 0 and height < coordinate[k]:
        k -= 1
    while k < levels - 2 and height >= coordinate[k + 1]:
        k += 1
    return k


def row_before(latitude: float, latitudes: Floats, about: int) -> int:
    """The row of the tables at or before a latitude. about: this row, or one beside it."""
    row = about - 1 if latitude > latitudes[about] else about
    return row + 1 if latitude <= latitudes[row + 1] else row


def turned_column(column: int, shift: int, columns: int) -> int:
    """A column moved to the east by half of all columns at most."""
    moved = column + shift
    return moved - columns if moved >= columns else moved


@cache
def wind_at(one_piece: bool) -> FieldKernel:
    """The kernel that interpolates the wind at points, out of the array (rows, components, levels, BEFORE + columns + AFTER).

    inverse: `Sphere.lagrange4`. column .. height: of the points. u, v, w: the wind.
    """
    of = neighbours(one_piece)

    def two(table: Integers, shift: int, high: int, low: int, near: float, far: float, work: Floats, to: int, first: bool) -> None:
        """Adds four neighbours of two levels with weights, side by side, to work[to .. to + 3], or begins with them."""
        if one_piece or not (split(high, shift) or split(low, shift)):
            f, g = of(table, shift, high), of(table, shift, low)
            for m in range(4):
                work[to + m] = near * f[m] + far * g[m] if first else work[to + m] + (near * f[m] + far * g[m])
        else:
            for m in range(4):
                both = near * of(table, shift, high + m)[0] + far * of(table, shift, low + m)[0]
                work[to + m] = both if first else work[to + m] + both

    def across(
        table: Integers,
        shift: int,
        r0: int,
        r1: int,
        r2: int,
        r3: int,
        high: int,
        low: int,
        down: float,
        y0: float,
        y1: float,
        y2: float,
        y3: float,
        work: Floats,
        to: int,
    ) -> None:
        """Four columns of a component, of four rows and two levels."""
        up = 1.0 - down
        two(table, shift, r0 + high, r0 + low, y0 * up, y0 * down, work, to, True)
        two(table, shift, r1 + high, r1 + low, y1 * up, y1 * down, work, to, False)
        two(table, shift, r2 + high, r2 + low, y2 * up, y2 * down, work, to, False)
        two(table, shift, r3 + high, r3 + low, y3 * up, y3 * down, work, to, False)

    @field_kernel
    def interpolate(
        n: int,
        levels: int,
        columns: int,
        shift: int,
        table: Integers,
        rows: Integers,
        shifts: Integers,
        signs: Floats,
        latitudes: Floats,
        inverse: Floats,
        coordinate: Floats,
        column: Integers,
        row: Integers,
        part: Floats,
        latitude: Floats,
        height: Floats,
        work: Floats,
        u: Floats,
        v: Floats,
        w: Floats,
    ) -> None:
        width = BEFORE + columns + AFTER
        component = levels * width
        stride = COMPONENTS * component
        k = 0
        for p in range(n):
            s = part[p]
            a, b, c = s + 1.0, s - 1.0, s - 2.0
            x0, x1, x2, x3 = -s * b * c * (1.0 / 6.0), a * b * c * 0.5, -a * s * c * 0.5, a * s * b * (1.0 / 6.0)
            lat = latitude[p]
            e = row_before(lat, latitudes, row[p]) - 1
            d0, d1, d2, d3 = lat - latitudes[e], lat - latitudes[e + 1], lat - latitudes[e + 2], lat - latitudes[e + 3]
            at = 4 * (e + 1)
            y0, y1 = d1 * d2 * d3 * inverse[at], d0 * d2 * d3 * inverse[at + 1]
            y2, y3 = d0 * d1 * d3 * inverse[at + 2], d0 * d1 * d2 * inverse[at + 3]
            k = level_before(height[p], levels, coordinate, k)
            below = min(k + 1, levels - 1)
            down = (height[p] - coordinate[k]) / (coordinate[below] - coordinate[k]) if below > k else 0.0
            high, low = k * width, below * width
            i0, i1 = turned_column(column[p], shifts[e], columns), turned_column(column[p], shifts[e + 1], columns)
            i2, i3 = turned_column(column[p], shifts[e + 2], columns), turned_column(column[p], shifts[e + 3], columns)
            r0, r1, r2, r3 = rows[e] * stride + i0, rows[e + 1] * stride + i1, rows[e + 2] * stride + i2, rows[e + 3] * stride + i3
            s0, s1, s2, s3 = y0 * signs[e], y1 * signs[e + 1], y2 * signs[e + 2], y3 * signs[e + 3]
            c1, c2 = component, 2 * component
            across(table, shift, r0, r1, r2, r3, high, low, down, s0, s1, s2, s3, work, 0)
            across(table, shift, r0 + c1, r1 + c1, r2 + c1, r3 + c1, high, low, down, s0, s1, s2, s3, work, 4)
            across(table, shift, r0 + c2, r1 + c2, r2 + c2, r3 + c2, high, low, down, y0, y1, y2, y3, work, 8)
            u[p] = (x0 * work[0] + x1 * work[1]) + (x2 * work[2] + x3 * work[3])
            v[p] = (x0 * work[4] + x1 * work[5]) + (x2 * work[6] + x3 * work[7])
            w[p] = (x0 * work[8] + x1 * work[9]) + (x2 * work[10] + x3 * work[11])

    return interpolate


def longitude(x: float, y: float) -> tuple[float, float, float]:
    """Cosine and sine of the longitude of a point on the unit sphere, and the cosine of its latitude; at a pole, longitude 0."""
    cos_lat = sqrt(x * x + y * y)
    inverse = 1.0 / max(cos_lat, 1e-300)
    return where(cos_lat > 0.0, x * inverse, 1.0), y * inverse, cos_lat


def turned(half: float, u: float, v: float, ax: float, ay: float, az: float, x: float, y: float, z: float) -> tuple[float, float, float]:
    """The middle of the path to (ax, ay, az) with the wind u, v that blows at (x, y, z). half: see `turn`."""
    cos_lon, sin_lon, flat = longitude(x, y)
    speed = sqrt(u * u + v * v)
    angle = half * speed
    factor = where(speed > 0.0, sin(angle) / (cos(angle) * max(speed, 1e-300)), half)
    bx = ax - factor * (-u * sin_lon - v * z * cos_lon)
    by = ay - factor * (u * cos_lon - v * z * sin_lon)
    bz = az - factor * (v * flat)
    scale = 1.0 / sqrt(bx * bx + by * by + bz * bz)
    return bx * scale, by * scale, bz * scale


@field_kernel
def turn(
    levels: int,
    n_rows: int,
    n_columns: int,
    first_row: int,
    all_rows: int,
    half: float,
    per_speed: float,
    cos_lat: Floats,
    sin_lat: Floats,
    cos_lon: Floats,
    sin_lon: Floats,
    coordinate: Floats,
    u: Floats,
    v: Floats,
    w: Floats,
    points: Floats,
) -> None:
    """One iteration for the middles of the paths to some rows; `points` and rows as in `locate`.

    half: of a step [s]; per_speed: the angle that a speed of 1 passes in it.
    """
    size = levels * all_rows * n_columns
    top, bottom = coordinate[0], coordinate[levels - 1]
    for k in range(levels):
        for r in range(n_rows):
            there, here = (k * all_rows + first_row + r) * n_columns, (k * n_rows + r) * n_columns
            flat, up = cos_lat[first_row + r], sin_lat[first_row + r]
            for c in range(n_columns):
                q, p = there + c, here + c
                ax, ay = flat * cos_lon[c], flat * sin_lon[c]
                x, y, z = turned(per_speed, u[p], v[p], ax, ay, up, points[q], points[q + size], points[q + 2 * size])
                points[q], points[q + size], points[q + 2 * size] = x, y, z
                points[q + 3 * size] = within(coordinate[k] - half * w[p], top, bottom)


@field_kernel
def depart(
    levels: int,
    n_rows: int,
    n_columns: int,
    first_row: int,
    all_rows: int,
    cos_lat: Floats,
    sin_lat: Floats,
    cos_lon: Floats,
    sin_lon: Floats,
    coordinate: Floats,
    points: Floats,
    begins: Floats,
) -> None:
    """Where the paths to some rows begin: begins (4, levels, n_rows, n_columns), of middles as in `turn`."""
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
    def wind(
        levels: int, n_rows: int, n_columns: int, first_row: int, all_rows: int, c: Floats, points: Floats, u: Floats, v: Floats, w: Floats
    ) -> None:
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
