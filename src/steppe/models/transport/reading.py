"""Which pages of a global array some points need: of the wind, or of the tracers. The loops go as those that read the elements."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from steppe.kernels import field_kernel
from steppe.models.transport.paths import level_before, row_before, within

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]


def mark(pages: Any, first: int, last: int, shift: int) -> None:
    """Marks the pages of elements first to last."""
    for page in range(first >> shift, (last >> shift) + 1):
        pages[page] = True


@field_kernel
def pages_of_wind(
    n: int,
    levels: int,
    columns: int,
    shift: int,
    rows: Integers,
    shifts: Integers,
    latitudes: Floats,
    coordinate: Floats,
    column: Integers,
    row: Integers,
    latitude: Floats,
    height: Floats,
    pages: Flags,
) -> None:
    """Marks the pages that `paths.wind_at` reads for n points."""
    width = columns + 3
    k = 0
    for p in range(n):
        k = level_before(height[p], levels, coordinate, k)
        below = min(k + 1, levels - 1)
        first = row_before(latitude[p], latitudes, row[p]) - 1
        for r in range(4):
            e = first + r
            i = column[p] + shifts[e]
            base = rows[e] * 3 * levels * width + (i - columns if i >= columns else i)
            for component in range(3):
                at = base + component * levels * width
                mark(pages, at + k * width, at + k * width + 3, shift)
                mark(pages, at + below * width, at + below * width + 3, shift)


@field_kernel
def pages_of_tracers(
    n: int,
    levels: int,
    columns: int,
    shift: int,
    tracers: int,
    width: int,
    layers: int,
    points: int,
    rows: Integers,
    shifts: Integers,
    latitudes: Floats,
    coordinate: Floats,
    column: Integers,
    row: Integers,
    latitude: Floats,
    height: Floats,
    pages: Flags,
) -> None:
    """Marks the pages that a kernel of `interpolation` reads for n points. points: of a line of its stencil, 4 or 6."""
    back = points // 2 - 1
    k = 0
    for p in range(n):
        k = level_before(height[p], levels, coordinate, k)
        layer = within(k - 1, 0, layers - 4)
        row_first = row_before(latitude[p], latitudes, row[p]) - back
        for r in range(points):
            e = row_first + r
            first = (column[p] + shifts[e] - back + columns) % columns
            last = first + points - 1
            for tracer in range(tracers):
                base = (rows[e] * tracers + tracer) * width + layer
                mark(pages, base + first * layers, base + min(last, columns - 1) * layers + 3, shift)
                if last >= columns:
                    mark(pages, base, base + (last - columns) * layers + 3, shift)
