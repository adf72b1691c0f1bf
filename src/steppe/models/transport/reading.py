"""Which pages of a global array some points need: of the wind, or of the tracers.

A loop over the points notes the row of the tables of each, with its level or its column, which is one store a point. What the stencils read
around these is found for all points together: of the wind whole lines of columns, of the tracers whole columns.
"""

import numpy as np
from numpy.typing import NDArray

from steppe.array_types import Floats, Integers
from steppe.kernels import field_kernel
from steppe.models.transport.paths import AFTER, BEFORE, COMPONENTS, PathPoints, level_before, row_before
from steppe.models.transport.sphere import Sphere

Flags = NDArray[np.bool_]


@field_kernel
def note_levels(n: int, levels: int, latitudes: Floats, coordinate: Floats, points: PathPoints, noted: Flags) -> None:
    """noted (rows of the tables, levels): where points lie."""
    k = 0
    for p in range(n):
        k = level_before(points.height[p], levels, coordinate, k)
        noted[row_before(points.latitude[p], latitudes, points.row[p]) * levels + k] = True


@field_kernel
def note_columns(n: int, columns: int, latitudes: Floats, points: PathPoints, noted: Flags) -> None:
    """noted (rows of the tables, columns): where points lie."""
    for p in range(n):
        noted[row_before(points.latitude[p], latitudes, points.row[p]) * columns + points.column[p]] = True


def pages_of_wind(sphere: Sphere, coordinate: Floats, points: PathPoints, shift: int, pages: Flags) -> None:
    """Marks the pages that `paths.wind_at` reads for some points."""
    levels, width = coordinate.size, BEFORE + sphere.shape[1] + AFTER
    noted = np.zeros((sphere.latitudes.size, levels), np.bool_)
    note_levels(points.row.size, levels, sphere.latitudes, coordinate, points, noted)
    noted[:, 1:] |= noted[:, :-1].copy()
    rows, level = np.nonzero(_around(noted, 1, 2))
    line = (sphere.rows[rows] * COMPONENTS + np.arange(COMPONENTS)[:, None]) * levels + level
    _mark(pages, line.ravel() * width, width, shift)


def pages_of_tracers(sphere: Sphere, points: PathPoints, wide: int, tracers: int, layers: int, shift: int, pages: Flags) -> None:
    """Marks the pages that a kernel of `interpolation` reads for some points. wide: points of a line of its stencil."""
    columns, before, after = sphere.shape[1], wide // 2 - 1, wide // 2
    noted = np.zeros((sphere.latitudes.size, columns), np.bool_)
    note_columns(points.row.size, columns, sphere.latitudes, points, noted)
    rows, here = np.nonzero(_around(noted, before, after))
    reach = np.arange(-before, after + 1)[:, None]
    cells = np.zeros(sphere.shape, np.bool_)
    cells[sphere.rows[rows], (here + sphere.shifts[rows] + reach) % columns] = True
    rows, here = np.nonzero(cells)
    begin = (rows * tracers + np.arange(tracers)[:, None]) * columns + here
    _mark(pages, begin.ravel() * layers, layers, shift)


def _around(noted: Flags, before: int, after: int) -> Flags:
    """The rows of the tables from so many before to so many after those that are noted."""
    found = noted.copy()
    for n in range(1, before + 1):
        found[:-n] |= noted[n:]
    for n in range(1, after + 1):
        found[n:] |= noted[:-n]
    return found


def _mark(pages: Flags, begin: Integers, length: int, shift: int) -> None:
    """Marks the pages of runs of elements."""
    for offset in range(0, length, 1 << shift):
        pages[(begin + offset) >> shift] = True
    pages[(begin + length - 1) >> shift] = True
