"""The visible part of a map: a rectangle of rows and columns, as cells or as pixels of several cells."""

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from steppe.array_types import Floats, Integers
from steppe.errors import GridError
from steppe.grid.gaussian import Gaussian
from steppe.grid.grid import Grid
from steppe.grid.projected import Projected
from steppe.grid.raster import Raster
from steppe.grid.region import DIGITS, TURN, Region, east_of

WIDE = 4096  # points of a row, where a grid has no rows of its own


class MapWindow(NamedTuple):
    """Rows and columns of the grid; shape: rows and columns of the picture; bounds: its west, south, east, north.

    A window that goes round the Earth over the last column has columns beyond it, which are the first ones. turn: added to all longitudes.
    lat: for a Gaussian grid, whose rows are not even, the latitude of each row of the picture; for pixels the middle of their edges.
    """

    rows: range
    columns: range
    shape: tuple[int, int]
    stride: int
    bounds: tuple[float, float, float, float]
    lat: list[float] | None = None
    turn: float = 0.0

    def longitudes(self, axis: Floats, stride: int | None = None) -> Floats:
        """The degrees of its columns, (columns,) or (columns, 2), rising from west to east. axis: those of the columns of the grid."""
        columns = np.asarray(self.columns[:: stride or self.stride])
        turns = self.turn + TURN * (columns // len(axis))
        found: Floats = axis[columns % len(axis)] + turns.reshape(-1, *(1 for _ in axis.shape[1:]))
        return found

    @property
    def takes_together(self) -> bool:
        """True if a pixel combines several cells."""
        return self.stride == 1 and self.shape != (len(self.rows), len(self.columns))


def window_of(
    grid: Grid,
    inside: Integers | None = None,
    width: int | None = None,
    height: int | None = None,
    stride: int = 1,
    box: Sequence[float] | None = None,
) -> MapWindow:
    """The window of some packed cells; None: of all. box: of which they are the cells; its columns go round the Earth if these are fewer.

    width, height: most pixels; one follows from the other. stride: every n-th row and column, instead. Points lie in rows of 4,096, in
    their order.

    Raises
    ------
    GridError
        A part or pixels of points.
    """
    if grid.active.ndim < 2:
        if inside is not None or width or height:
            raise GridError("Only a raster has parts or pixels of a map; this grid has points. Leave region, width and height out.")
        count = -(-grid.n_cells // stride)
        lon, lat = grid.cell_lon, grid.cell_lat
        bounds = float(lon.min()), float(lat.min()), float(lon.max()), float(lat.max())
        shape = -(-count // WIDE), min(count, WIDE)
        return MapWindow(range(shape[0]), range(shape[1]), shape, stride, bounds)
    rows, columns, turn = range(grid.active.shape[0]), range(grid.active.shape[1]), 0.0
    if inside is not None:
        row, column = np.divmod(grid.order[inside], grid.active.shape[1])
        rows, columns = range(int(row.min()), int(row.max()) + 1), range(int(column.min()), int(column.max()) + 1)
        if box is not None and isinstance(grid, Raster) and round(grid.nlon * grid.dlon, DIGITS) == TURN:
            around, turned = _columns_from(grid, column, Region.of({"box": list(box)}).places[0][0])
            columns, turn = (around, turned) if len(around) < len(columns) else (columns, turn)
    shape = _pixels(len(rows), len(columns), width, height)
    if shape == (len(rows), len(columns)):
        shape = len(rows[::stride]), len(columns[::stride])
        bounds = _bounds(grid, rows, columns, stride, turn)
        return MapWindow(rows, columns, shape, stride, bounds, _lat(grid, rows[::stride], shape[0]), turn)
    return MapWindow(rows, columns, shape, 1, _bounds(grid, rows, columns, 1, turn), _lat(grid, rows, shape[0]), turn)


def _columns_from(grid: Raster, column: Integers, west: float) -> tuple[range, float]:
    """The columns of some cells from the first one east of a longitude on, and what is added to their longitudes if they go round."""
    start = int(np.argmin(east_of(grid.lon, west)))
    after = (column - start) % grid.nlon
    first = start + int(after.min())
    columns = range(first % grid.nlon, first % grid.nlon + int(after.max() - after.min()) + 1)
    return columns, -TURN * float(np.floor(round(grid.lon[columns.start] - west, DIGITS) / TURN))


def pixels_of(places: Integers, count: int, pixels: int) -> Integers:
    """The pixel in which the centre of each row or column lies. places: from 0; count: of rows or columns that become so many pixels."""
    found: Integers = (2 * places + 1) * pixels // (2 * count)
    return found


def every_nth(grid: Grid, inside: Integers | None, stride: int, box: Sequence[float] | None = None) -> Integers:
    """The packed cells on every n-th row and column of the window of some cells (None: of all), those of `box`; of points, every n-th."""
    cells: Integers = np.arange(grid.n_cells) if inside is None else inside
    if grid.active.ndim < 2:
        return cells[::stride]
    window, (row, column) = window_of(grid, inside, box=box), np.divmod(grid.order[cells], grid.active.shape[1])
    down, across = row - window.rows.start, (column - window.columns.start) % grid.active.shape[1]
    found: Integers = cells[(down % stride == 0) & (across % stride == 0)]
    return found


def _pixels(rows: int, columns: int, width: int | None, height: int | None) -> tuple[int, int]:
    """Height and width in pixels of a map of some rows and columns."""
    width = width or max(1, round(columns * (height or rows) / rows))
    height = height or max(1, round(rows * min(width, columns) / columns))
    return min(height, rows), min(width, columns)


def _bounds(grid: Grid, rows: range, columns: range, stride: int, turn: float) -> tuple[float, float, float, float]:
    """West, south, east and north edge of the cells; with a stride, of pixels of that width."""
    high, wide = stride * len(rows[::stride]), stride * len(columns[::stride])
    if isinstance(grid, Raster):
        lon, (round_, last) = grid.lon_bnds, divmod(columns[-1], grid.nlon)
        west, north, across, down = float(lon[columns[0], 0]) + turn, float(grid.even_lat_bnds[rows[0], 0]), grid.dlon, grid.dlat
        if stride == 1:
            return west, float(grid.even_lat_bnds[rows[-1], 1]), float(lon[last, 1]) + turn + TURN * round_, north
    else:
        assert isinstance(grid, Projected), "it has rows"
        across, down = grid.dx, grid.dy
        west, north = grid.x0 + (columns[0] - 0.5) * across, grid.y0 + (rows[0] - 0.5) * down
    return west, north + high * down, west + wide * across, north


def _lat(grid: Grid, rows: range, height: int) -> list[float] | None:
    if not isinstance(grid, Gaussian):
        return None
    if len(rows) == height:
        return [float(grid.lat[row]) for row in rows]
    cuts = np.searchsorted(pixels_of(np.arange(len(rows)), len(rows), height), np.arange(height + 1)).tolist()
    return [float(grid.lat_bnds[rows[first], 0] + grid.lat_bnds[rows[stop - 1], 1]) / 2.0 for first, stop in pairwise(cuts)]
