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
from typing import Any, NamedTuple, TypeAlias

from steppe.array_types import Floats, Integers
from steppe.kernels import FieldKernel, field_kernel
from steppe.models.transport.paths import Pages, Points, level_before, neighbours, row_before, split, turned_column, within

LAYERS = 4  # of the array, at least
WORK = 100  # values that a kernel keeps of a point
STEEPEST = 3.0 * (1.0 - 10.0 * 2.220446049250313e-16)
SIXTH = 1.0 / 6.0
Five: TypeAlias = tuple[float, float, float, float, float]
Six: TypeAlias = tuple[float, float, float, float, float, float]


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


class ArrayRow(NamedTuple):
    """A row of the array: its first element, its columns, and layers of a column."""

    base: int
    columns: int
    layers: int


@cache
def ccm(limited: bool, one_piece: bool) -> FieldKernel:
    """The kernel of scheme `ccm`, for n points. work: (WORK,). out: (tracers, n)."""
    between, slope, upright, load = interval(limited), slope_of(limited), over_levels(limited), neighbours(one_piece)

    def across(work: Floats, a: int, to: int, w: Six, s: float) -> None:
        """From four values at work[a] to one at work[to], of each layer. Slopes are stored before they are used, for vectors of layers."""
        for m in range(LAYERS):
            d0, d1, d2 = work[a + 4 + m] - work[a + m], work[a + 8 + m] - work[a + 4 + m], work[a + 12 + m] - work[a + 8 + m]
            work[32 + m] = slope(d1, w[0] * d0 + w[1] * d1 + w[2] * d2)
            work[36 + m] = slope(d1, w[3] * d0 + w[4] * d1 + w[5] * d2)
        for m in range(LAYERS):
            work[to + m] = between(work[a + 4 + m], work[a + 8 + m], work[32 + m], work[36 + m], s)

    def line(work: Floats, at: int, pages: Pages, row: ArrayRow, i: int, s: float) -> None:
        """Along a row."""
        base, columns, layers, shift = row.base, row.columns, row.layers, pages.shift
        j, k = after(i, columns), after(after(i, columns), columns)
        a0, a1, a2, a3 = base + before(i, columns) * layers, base + i * layers, base + j * layers, base + k * layers
        if one_piece or not (split(a0, shift) or split(a1, shift) or split(a2, shift) or split(a3, shift)):
            f0, f1, f2, f3 = load(pages, a0), load(pages, a1), load(pages, a2), load(pages, a3)
            for m in range(LAYERS):
                work[16 + m], work[20 + m], work[24 + m], work[28 + m] = f0[m], f1[m], f2[m], f3[m]
        else:
            for m in range(LAYERS):
                work[16 + m], work[20 + m] = load(pages, a0 + m)[0], load(pages, a1 + m)[0]
                work[24 + m], work[28 + m] = load(pages, a2 + m)[0], load(pages, a3 + m)[0]
        across(work, 16, at, (2.0 * SIXTH, 5.0 * SIXTH, -SIXTH, -SIXTH, 5.0 * SIXTH, 2.0 * SIXTH), s)

    @field_kernel
    def interpolate(n: int, pages: Pages, tables: TracerTables, points: Points, work: Floats, out: Floats) -> None:
        levels, columns, tracers, width, rows = tables.levels, tables.columns, tables.tracers, tables.width, tables.rows
        shifts, latitudes, weights, coordinate = tables.shifts, tables.latitudes, tables.weights, tables.coordinate
        latitude, height = points.latitude, points.height
        layers, stride = max(levels, LAYERS), tracers * width
        k = 0
        for p in range(n):
            e, s, i = row_before(latitude[p], latitudes, points.row[p]) - 1, points.along[p], points.column[p]
            k = level_before(height[p], levels, coordinate, k)
            layer = within(k - 1, 0, layers - LAYERS)
            i0, i1 = turned_column(i, shifts[e], columns), turned_column(i, shifts[e + 1], columns)
            i2, i3 = turned_column(i, shifts[e + 2], columns), turned_column(i, shifts[e + 3], columns)
            r0, r1, r2, r3 = (
                layer + rows[e] * stride,
                layer + rows[e + 1] * stride,
                layer + rows[e + 2] * stride,
                layer + rows[e + 3] * stride,
            )
            t = within((latitudes[e + 1] - latitude[p]) / (latitudes[e + 1] - latitudes[e + 2]), 0.0, 1.0)
            c = 6 * (e + 1)
            w = weights[c], weights[c + 1], weights[c + 2], weights[c + 3], weights[c + 4], weights[c + 5]
            for tracer in range(tracers):
                here = tracer * width
                line(work, 0, pages, ArrayRow(here + r0, columns, layers), i0, s)
                line(work, 4, pages, ArrayRow(here + r1, columns, layers), i1, s)
                line(work, 8, pages, ArrayRow(here + r2, columns, layers), i2, s)
                line(work, 12, pages, ArrayRow(here + r3, columns, layers), i3, s)
                across(work, 0, 40, w, t)
                out[tracer * n + p] = upright(work, 40, tables.level_slopes, coordinate, height[p], k, levels)

    return interpolate


@cache
def best(limited: bool, one_piece: bool) -> FieldKernel:
    """The kernel of scheme `best`; as `ccm`."""
    upright, load = over_levels(limited), neighbours(one_piece)

    def line(work: Floats, at: int, pages: Pages, row: ArrayRow, i2: int, w: Five) -> None:
        """Along a row; also the least and the greatest of the two values around the point."""
        base, columns, layers, shift = row.base, row.columns, row.layers, pages.shift
        i1, i3 = before(i2, columns), after(i2, columns)
        i0, i4 = before(i1, columns), after(i3, columns)
        i5 = after(i4, columns)
        a0, a1, a2 = base + i0 * layers, base + i1 * layers, base + i2 * layers
        a3, a4, a5 = base + i3 * layers, base + i4 * layers, base + i5 * layers
        whole = not (split(a0, shift) or split(a1, shift) or split(a2, shift) or split(a3, shift) or split(a4, shift) or split(a5, shift))
        if one_piece or whole:
            f0, f1, f2 = load(pages, a0), load(pages, a1), load(pages, a2)
            f3, f4, f5 = load(pages, a3), load(pages, a4), load(pages, a5)
            for m in range(LAYERS):
                work[76 + m], work[80 + m], work[84 + m], work[88 + m], work[92 + m], work[96 + m] = (
                    f0[m],
                    f1[m],
                    f2[m],
                    f3[m],
                    f4[m],
                    f5[m],
                )
        else:
            for m in range(LAYERS):
                work[76 + m], work[80 + m] = load(pages, a0 + m)[0], load(pages, a1 + m)[0]
                work[84 + m], work[88 + m] = load(pages, a2 + m)[0], load(pages, a3 + m)[0]
                work[92 + m], work[96 + m] = load(pages, a4 + m)[0], load(pages, a5 + m)[0]
        for m in range(LAYERS):
            f, g = work[84 + m], work[88 + m]
            d0, d1, d4, d5 = work[76 + m] - f, work[80 + m] - f, work[92 + m] - f, work[96 + m] - f
            work[at + m] = f + (w[0] * d0 + w[1] * d1 + w[2] * (g - f) + w[3] * d4 + w[4] * d5)
            work[24 + at + m] = min(f, g)
            work[48 + at + m] = max(f, g)

    @field_kernel
    def interpolate(n: int, pages: Pages, tables: TracerTables, points: Points, work: Floats, out: Floats) -> None:
        levels, columns, tracers, width, rows = tables.levels, tables.columns, tables.tracers, tables.width, tables.rows
        shifts, latitudes, weights, coordinate = tables.shifts, tables.latitudes, tables.weights, tables.coordinate
        latitude, height = points.latitude, points.height
        layers, stride = max(levels, LAYERS), tracers * width
        k = 0
        for p in range(n):
            e, s, i = row_before(latitude[p], latitudes, points.row[p]) - 2, points.along[p], points.column[p]
            k = level_before(height[p], levels, coordinate, k)
            layer = within(k - 1, 0, layers - LAYERS)
            x0, x1, x3, x4, x5 = s + 2.0, s + 1.0, s - 1.0, s - 2.0, s - 3.0
            w0, w1 = -x1 * s * x3 * x4 * x5 * (1.0 / 120.0), x0 * s * x3 * x4 * x5 * (1.0 / 24.0)
            w3, w4 = x0 * x1 * s * x4 * x5 * (1.0 / 12.0), -x0 * x1 * s * x3 * x5 * (1.0 / 24.0)
            w5 = x0 * x1 * s * x3 * x4 * (1.0 / 120.0)
            w = w0, w1, w3, w4, w5
            i0, i1, i2 = (
                turned_column(i, shifts[e], columns),
                turned_column(i, shifts[e + 1], columns),
                turned_column(i, shifts[e + 2], columns),
            )
            i3, i4, i5 = (
                turned_column(i, shifts[e + 3], columns),
                turned_column(i, shifts[e + 4], columns),
                turned_column(i, shifts[e + 5], columns),
            )
            r0, r1, r2 = layer + rows[e] * stride, layer + rows[e + 1] * stride, layer + rows[e + 2] * stride
            r3, r4, r5 = layer + rows[e + 3] * stride, layer + rows[e + 4] * stride, layer + rows[e + 5] * stride
            lat, c = latitude[p], 6 * (e + 2)
            y0, y1, y2 = lat - latitudes[e], lat - latitudes[e + 1], lat - latitudes[e + 2]
            y3, y4, y5 = lat - latitudes[e + 3], lat - latitudes[e + 4], lat - latitudes[e + 5]
            v0, v1 = y1 * y2 * y3 * y4 * y5 * weights[c], y0 * y2 * y3 * y4 * y5 * weights[c + 1]
            v3, v4 = y0 * y1 * y2 * y4 * y5 * weights[c + 3], y0 * y1 * y2 * y3 * y5 * weights[c + 4]
            v5 = y0 * y1 * y2 * y3 * y4 * weights[c + 5]
            for tracer in range(tracers):
                here = tracer * width
                line(work, 0, pages, ArrayRow(here + r0, columns, layers), i0, w)
                line(work, 4, pages, ArrayRow(here + r1, columns, layers), i1, w)
                line(work, 8, pages, ArrayRow(here + r2, columns, layers), i2, w)
                line(work, 12, pages, ArrayRow(here + r3, columns, layers), i3, w)
                line(work, 16, pages, ArrayRow(here + r4, columns, layers), i4, w)
                line(work, 20, pages, ArrayRow(here + r5, columns, layers), i5, w)
                for m in range(LAYERS):
                    f = work[8 + m]
                    d0, d1, d3, d4, d5 = work[m] - f, work[4 + m] - f, work[12 + m] - f, work[16 + m] - f, work[20 + m] - f
                    value = f + (v0 * d0 + v1 * d1 + v3 * d3 + v4 * d4 + v5 * d5)
                    if limited:
                        value = max(value, min(work[32 + m], work[36 + m]))
                        value = min(value, max(work[56 + m], work[60 + m]))
                    work[72 + m] = value
                out[tracer * n + p] = upright(work, 72, tables.level_slopes, coordinate, height[p], k, levels)

    return interpolate
