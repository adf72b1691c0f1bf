"""What a tracer is at departure points: longitudes first, then latitudes, then levels.

ccm     a cubic of Hermite in each dimension, its slopes those of the cubic through four values (Williamson and Rasch 1989, Mon. Weather
        Rev. 117). Limited: slopes of the sign of the difference and at most three times as steep (their SCM0), so nothing overshoots.
best    the polynomial through six values in longitude and latitude, clipped to the four values around the point (Bermejo and Staniforth
        1992, Mon. Weather Rev. 120); levels as in ccm.

Each is written with differences of values, so that a constant stays what it is to the last bit.
The array of tracers is (rows, tracers, columns, layers): a point reads `LAYERS` layers, which lie side by side, at once. The lines of a
stencil stand one after the other, and not in a loop, so that LLVM makes vectors of layers and not of lines.
"""

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

from steppe.array_types import Floats, Integers
from steppe.kernels import FieldKernel, field_kernel
from steppe.models.transport.paths import PathPoints, level_before, row_before, turned_column, within

LAYERS = 4  # of the array, at least
WORK = 100  # values that a kernel keeps of a point
STEEPEST = 3.0 * (1.0 - 10.0 * 2.220446049250313e-16)
SIXTH = 1.0 / 6.0


@cache
def slope_of(limited: bool) -> Callable[[float, float], float]:
    """A function (difference, slope) for the slope at an end of an interval over which a tracer differs so much."""

    def free(difference: float, slope: float) -> float:
        return slope

    def monotone(difference: float, slope: float) -> Any:
        most = STEEPEST * difference
        return within(slope, min(most, 0.0), max(most, 0.0))

    return monotone if limited else free


@cache
def interval(limited: bool) -> Callable[[float, float, float, float, float], float]:
    """A function (f0, f1, slopes at both, s) for the value at s, from 0 to 1, between f0 and f1."""

    def free(f0: float, f1: float, first: float, last: float, s: float) -> float:
        a = 1.0 - s
        return f0 + ((f1 - f0) * (s * s * (3.0 - 2.0 * s)) + s * a * (first * a - last * s))

    def monotone(f0: float, f1: float, first: float, last: float, s: float) -> Any:
        return within(free(f0, f1, first, last, s), min(f0, f1), max(f0, f1))

    return monotone if limited else free


@cache
def over_levels(limited: bool) -> Callable[[Floats, int, Floats, Floats, float, int, int], float]:
    """A function (work, at, slopes, coordinate, height, k, levels): the value at a height, of the four levels about level k at work[at]."""
    between, slope = interval(limited), slope_of(limited)

    def value(work: Floats, at: int, slopes: Floats, coordinate: Floats, height: float, k: int, levels: int) -> Any:
        if levels == 1:
            return work[at]
        d0, d1, d2 = work[at + 1] - work[at], work[at + 2] - work[at + 1], work[at + 3] - work[at + 2]
        here, c = at + k - within(k - 1, 0, levels - LAYERS), 6 * k
        f0, f1 = work[here], work[here + 1]
        first = slope(f1 - f0, slopes[c] * d0 + slopes[c + 1] * d1 + slopes[c + 2] * d2)
        last = slope(f1 - f0, slopes[c + 3] * d0 + slopes[c + 4] * d1 + slopes[c + 5] * d2)
        return between(f0, f1, first, last, (height - coordinate[k]) / (coordinate[k + 1] - coordinate[k]))

    return value


def after(column: int, columns: int) -> int:
    """The next column to the east."""
    return column + 1 if column < columns - 1 else 0


def before(column: int, columns: int) -> int:
    """The next column to the west."""
    return column - 1 if column > 0 else columns - 1


class TracerTables(NamedTuple):
    """Of the array (rows, tracers, columns, layers), of the sphere, and of the levels.

    width: elements of one tracer in a row of the array. weights: `Sphere.slopes` for `ccm`, `Sphere.lagrange6` for `best`. level_slopes:
    `HybridLevels.slopes`.
    """

    levels: int
    columns: int
    tracers: int
    width: int
    rows: Integers
    shifts: Integers
    latitudes: Floats
    weights: Floats
    coordinate: Floats
    level_slopes: Floats


def begin_of_row(tables: TracerTables, e: int, column: int, layer: int) -> tuple[int, int]:
    """Where the first tracer begins in row e of the tables, at a layer; and a column, turned as that row is."""
    begin = layer + tables.rows[e] * (tables.tracers * tables.width)
    return begin, turned_column(column, tables.shifts[e], tables.columns)


def weights_of_columns(s: float) -> tuple[float, ...]:
    """Of the polynomial through six values, s columns after the third; without that of the third itself."""
    x0, x1, x3, x4, x5 = s + 2.0, s + 1.0, s - 1.0, s - 2.0, s - 3.0
    w0, w1 = -x1 * s * x3 * x4 * x5 * (1.0 / 120.0), x0 * s * x3 * x4 * x5 * (1.0 / 24.0)
    w3, w4 = x0 * x1 * s * x4 * x5 * (1.0 / 12.0), -x0 * x1 * s * x3 * x5 * (1.0 / 24.0)
    return w0, w1, w3, w4, x0 * x1 * s * x3 * x4 * (1.0 / 120.0)


def weights_of_rows(lat: float, e: int, latitudes: Floats, weights: Floats) -> tuple[float, ...]:
    """The same for rows e to e + 5 of the tables."""
    c = 6 * (e + 2)
    y0, y1, y2 = lat - latitudes[e], lat - latitudes[e + 1], lat - latitudes[e + 2]
    y3, y4, y5 = lat - latitudes[e + 3], lat - latitudes[e + 4], lat - latitudes[e + 5]
    v0, v1 = y1 * y2 * y3 * y4 * y5 * weights[c], y0 * y2 * y3 * y4 * y5 * weights[c + 1]
    v3, v4 = y0 * y1 * y2 * y4 * y5 * weights[c + 3], y0 * y1 * y2 * y3 * y5 * weights[c + 4]
    return v0, v1, v3, v4, y0 * y1 * y2 * y3 * y4 * weights[c + 5]


@cache
def ccm(limited: bool) -> FieldKernel:
    """The kernel of scheme `ccm`, for n points. work: (WORK,). out: (tracers, n)."""
    between, slope, upright = interval(limited), slope_of(limited), over_levels(limited)

    def across(work: Floats, a: int, to: int, w: tuple[float, ...], s: float) -> None:
        """From four values at work[a] to one at work[to], of each layer. Slopes are stored before they are used, for vectors of layers."""
        for m in range(LAYERS):
            d0, d1, d2 = work[a + 4 + m] - work[a + m], work[a + 8 + m] - work[a + 4 + m], work[a + 12 + m] - work[a + 8 + m]
            work[32 + m] = slope(d1, w[0] * d0 + w[1] * d1 + w[2] * d2)
            work[36 + m] = slope(d1, w[3] * d0 + w[4] * d1 + w[5] * d2)
        for m in range(LAYERS):
            work[to + m] = between(work[a + 4 + m], work[a + 8 + m], work[32 + m], work[36 + m], s)

    def line(work: Floats, at: int, field: Floats, tables: TracerTables, base: int, i: int, s: float) -> None:
        """Along a row."""
        columns, layers = tables.columns, max(tables.levels, LAYERS)
        j, k = after(i, columns), after(after(i, columns), columns)
        a0, a1, a2, a3 = base + before(i, columns) * layers, base + i * layers, base + j * layers, base + k * layers
        for m in range(LAYERS):
            work[16 + m], work[20 + m], work[24 + m], work[28 + m] = field[a0 + m], field[a1 + m], field[a2 + m], field[a3 + m]
        across(work, 16, at, (2.0 * SIXTH, 5.0 * SIXTH, -SIXTH, -SIXTH, 5.0 * SIXTH, 2.0 * SIXTH), s)

    @field_kernel
    def interpolate(n: int, field: Floats, tables: TracerTables, points: PathPoints, work: Floats, out: Floats) -> None:
        levels, latitudes, weights, coordinate = tables.levels, tables.latitudes, tables.weights, tables.coordinate
        k = 0
        for p in range(n):
            lat, height, s, i = points.latitude[p], points.height[p], points.along[p], points.column[p]
            e = row_before(lat, latitudes, points.row[p]) - 1
            k = level_before(height, levels, coordinate, k)
            layer = within(k - 1, 0, max(levels, LAYERS) - LAYERS)
            r0, i0 = begin_of_row(tables, e, i, layer)
            r1, i1 = begin_of_row(tables, e + 1, i, layer)
            r2, i2 = begin_of_row(tables, e + 2, i, layer)
            r3, i3 = begin_of_row(tables, e + 3, i, layer)
            t = within((latitudes[e + 1] - lat) / (latitudes[e + 1] - latitudes[e + 2]), 0.0, 1.0)
            c = 6 * (e + 1)
            w = weights[c], weights[c + 1], weights[c + 2], weights[c + 3], weights[c + 4], weights[c + 5]
            for tracer in range(tables.tracers):
                here = tracer * tables.width
                line(work, 0, field, tables, here + r0, i0, s)
                line(work, 4, field, tables, here + r1, i1, s)
                line(work, 8, field, tables, here + r2, i2, s)
                line(work, 12, field, tables, here + r3, i3, s)
                across(work, 0, 40, w, t)
                out[tracer * n + p] = upright(work, 40, tables.level_slopes, coordinate, height, k, levels)

    return interpolate


@cache
def from_six_rows(limited: bool) -> Callable[[Floats, int, tuple[float, ...]], None]:
    """A function (work, to, weights): what `best` makes of its lines."""

    def across(work: Floats, to: int, v: tuple[float, ...]) -> None:
        """From six rows to one value of each layer."""
        for m in range(LAYERS):
            f = work[8 + m]
            d0, d1, d3, d4, d5 = work[m] - f, work[4 + m] - f, work[12 + m] - f, work[16 + m] - f, work[20 + m] - f
            value = f + (v[0] * d0 + v[1] * d1 + v[2] * d3 + v[3] * d4 + v[4] * d5)
            if limited:
                value = max(value, min(work[32 + m], work[36 + m]))
                value = min(value, max(work[56 + m], work[60 + m]))
            work[to + m] = value

    return across


@cache
def best(limited: bool) -> FieldKernel:
    """The kernel of scheme `best`; as `ccm`."""
    upright, across = over_levels(limited), from_six_rows(limited)

    def line(work: Floats, at: int, field: Floats, tables: TracerTables, base: int, i2: int, w: tuple[float, ...]) -> None:
        """Along a row; also the least and the greatest of the two values around the point."""
        columns, layers = tables.columns, max(tables.levels, LAYERS)
        i1, i3 = before(i2, columns), after(i2, columns)
        i0, i4 = before(i1, columns), after(i3, columns)
        i5 = after(i4, columns)
        a0, a1, a2 = base + i0 * layers, base + i1 * layers, base + i2 * layers
        a3, a4, a5 = base + i3 * layers, base + i4 * layers, base + i5 * layers
        for m in range(LAYERS):
            work[76 + m], work[80 + m], work[84 + m] = field[a0 + m], field[a1 + m], field[a2 + m]
            work[88 + m], work[92 + m], work[96 + m] = field[a3 + m], field[a4 + m], field[a5 + m]
        for m in range(LAYERS):
            f, g = work[84 + m], work[88 + m]
            d0, d1, d4, d5 = work[76 + m] - f, work[80 + m] - f, work[92 + m] - f, work[96 + m] - f
            work[at + m] = f + (w[0] * d0 + w[1] * d1 + w[2] * (g - f) + w[3] * d4 + w[4] * d5)
            work[24 + at + m] = min(f, g)
            work[48 + at + m] = max(f, g)

    @field_kernel
    def interpolate(n: int, field: Floats, tables: TracerTables, points: PathPoints, work: Floats, out: Floats) -> None:
        levels, latitudes, coordinate = tables.levels, tables.latitudes, tables.coordinate
        k = 0
        for p in range(n):
            lat, height, i = points.latitude[p], points.height[p], points.column[p]
            e = row_before(lat, latitudes, points.row[p]) - 2
            k = level_before(height, levels, coordinate, k)
            layer = within(k - 1, 0, max(levels, LAYERS) - LAYERS)
            w, v = weights_of_columns(points.along[p]), weights_of_rows(lat, e, latitudes, tables.weights)
            r0, i0 = begin_of_row(tables, e, i, layer)
            r1, i1 = begin_of_row(tables, e + 1, i, layer)
            r2, i2 = begin_of_row(tables, e + 2, i, layer)
            r3, i3 = begin_of_row(tables, e + 3, i, layer)
            r4, i4 = begin_of_row(tables, e + 4, i, layer)
            r5, i5 = begin_of_row(tables, e + 5, i, layer)
            for tracer in range(tables.tracers):
                here = tracer * tables.width
                line(work, 0, field, tables, here + r0, i0, w)
                line(work, 4, field, tables, here + r1, i1, w)
                line(work, 8, field, tables, here + r2, i2, w)
                line(work, 12, field, tables, here + r3, i3, w)
                line(work, 16, field, tables, here + r4, i4, w)
                line(work, 20, field, tables, here + r5, i5, w)
                across(work, 72, v)
                out[tracer * n + p] = upright(work, 72, tables.level_slopes, coordinate, height, k, levels)

    return interpolate
