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

import numpy as np
from numpy import int64
from numpy.typing import NDArray

from steppe.kernels import FieldKernel, field_kernel
from steppe.kernels.primitives import float64s
from steppe.kernels.vecmath import arctan2, cos, sin, sqrt, where
from steppe.models.transport.winds import WINDS

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
ROUND = 6.283185307179586  # rad
BEFORE, AFTER = 1, 2  # columns that the array of the wind has before the first and after the last, so that four neighbours lie in a row


def within(value: Any, low: Any, high: Any) -> Any:
    """The number, or the end of the range that it lies beyond."""
    return min(max(value, low), high)


@cache
def neighbours(one_piece: bool) -> Callable[..., Any]:
    """A function (table, shift, i) for the float64 from element i of an array on, as far as its page goes."""

    def of_piece(table: Any, shift: int, i: int) -> Any:
        return float64s(table[0] + 8 * i)

    def of_page(table: Any, shift: int, i: int) -> Any:
        return float64s(table[i >> shift] + 8 * (i & ((1 << shift) - 1)))

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
    latitudes: Floats,
    points: Floats,
    column: Integers,
    row: Integers,
    along: Floats,
    latitude: Floats,
    height: Floats,
) -> None:
    """The column and the row of the tables at or before each of some points, the part of a column beyond it, its latitude, its height.

    points (4, levels, all_rows, n_columns): x, y, z and height, of which rows first_row .. first_row + n_rows - 1 are located.
    per_lon, per_lat: columns and rows per rad; first_lat: the latitude of row 0 of the tables if all were as far apart.
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
                e = within(int64((first_lat - lat) * per_lat), 2, table_rows - 4)
                e = e - 1 if lat > latitudes[e] else e
                e = e + 1 if lat <= latitudes[e + 1] else e
                column[p] = i
                row[p] = within(e, 2, table_rows - 4)
                along[p] = within(across - i, 0.0, 1.0)
                latitude[p] = lat
                height[p] = points[q + 3 * size]


def level_before(height: Any, levels: Any, coordinate: Any, guess: Any) -> Any:
    """The level at or before a height, at most the last but one."""
    k = guess
    while k > 0 and height < coordinate[k]:
        k -= 1
    while k < levels - 2 and height >= coordinate[k + 1]:
        k += 1
    return k


@cache
def wind_at(one_piece: bool) -> FieldKernel:
    """The kernel that interpolates the wind at points, out of the array (rows, components, levels, BEFORE + columns + AFTER).

    inverse: `Sphere.lagrange4`. column .. height: of the points. u, v, w: the wind.
    """
    of = neighbours(one_piece)

    def along(table: Any, shift: int, at: int, a: float, b: float, c: float, d: float) -> Any:
        """The sum of four neighbours with weights."""
        f = of(table, shift, at)
        if one_piece or not split(at, shift):
            return a * f[0] + b * f[1] + c * f[2] + d * f[3]
        return a * f[0] + b * of(table, shift, at + 1)[0] + c * of(table, shift, at + 2)[0] + d * of(table, shift, at + 3)[0]

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
        u: Floats,
        v: Floats,
        w: Floats,
    ) -> None:
        width = columns + 3
        component = levels * width
        k = 0
        for p in range(n):
            s = part[p]
            a, b, c = s + 1.0, s - 1.0, s - 2.0
            x0, x1, x2, x3 = -s * b * c * (1.0 / 6.0), a * b * c * 0.5, -a * s * c * 0.5, a * s * b * (1.0 / 6.0)
            e, lat = row[p] - 1, latitude[p]
            d0, d1, d2, d3 = lat - latitudes[e], lat - latitudes[e + 1], lat - latitudes[e + 2], lat - latitudes[e + 3]
            at = 4 * (e + 1)
            y0, y1 = d1 * d2 * d3 * inverse[at], d0 * d2 * d3 * inverse[at + 1]
            y2, y3 = d0 * d1 * d3 * inverse[at + 2], d0 * d1 * d2 * inverse[at + 3]
            k = level_before(height[p], levels, coordinate, k)
            below = min(k + 1, levels - 1)
            down = (height[p] - coordinate[k]) / (coordinate[below] - coordinate[k]) if below > k else 0.0
            high, low = k * width, below * width
            east, north, up = 0.0, 0.0, 0.0
            for r in range(4):
                i = column[p] + shifts[e + r]
                here = rows[e + r] * 3 * component + (i - columns if i >= columns else i)
                y = y0 if r == 0 else y1 if r == 1 else y2 if r == 2 else y3
                near, far, sign = y * (1.0 - down), y * down, signs[e + r]
                f0, f1 = along(table, shift, here + high, x0, x1, x2, x3), along(table, shift, here + low, x0, x1, x2, x3)
                east += sign * (near * f0 + far * f1)
                here += component
                f0, f1 = along(table, shift, here + high, x0, x1, x2, x3), along(table, shift, here + low, x0, x1, x2, x3)
                north += sign * (near * f0 + far * f1)
                here += component
                f0, f1 = along(table, shift, here + high, x0, x1, x2, x3), along(table, shift, here + low, x0, x1, x2, x3)
                up += near * f0 + far * f1
            u[p], v[p], w[p] = east, north, up

    return interpolate


def turned(half: float, u: float, v: float, ax: float, ay: float, az: float, x: float, y: float, z: float) -> tuple[float, float, float]:
    """The middle of the path to (ax, ay, az) with the wind u, v [rad s-1] that blows at (x, y, z). half: of a step [s]."""
    flat = sqrt(x * x + y * y)
    inverse = 1.0 / max(flat, 1e-300)
    cos_lon, sin_lon = where(flat > 0.0, x * inverse, 1.0), y * inverse
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
    """One iteration for the middles of the paths to some rows; `points` and rows as in `locate`."""
    size = levels * all_rows * n_columns
    top, bottom = coordinate[0], coordinate[levels - 1]
    for k in range(levels):
        for r in range(n_rows):
            there, here = (k * all_rows + first_row + r) * n_columns, (k * n_rows + r) * n_columns
            flat, up = cos_lat[first_row + r], sin_lat[first_row + r]
            for c in range(n_columns):
                q, p = there + c, here + c
                ax, ay = flat * cos_lon[c], flat * sin_lon[c]
                x, y, z = turned(half, u[p], v[p], ax, ay, up, points[q], points[q + size], points[q + 2 * size])
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
                    flat = sqrt(x * x + y * y)
                    inverse = 1.0 / max(flat, 1e-300)
                    cos_lon = where(flat > 0.0, x * inverse, 1.0)
                    u[p], v[p], w[p] = formula(cos_lon, y * inverse, flat, z, points[q + 3 * size], c)

    return wind
