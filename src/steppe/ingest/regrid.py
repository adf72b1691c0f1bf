"""From the cells of a file to those of a grid, by a method that has a name. Steppe never interpolates unasked.

as it is     the cells are the same
area mean    of all cells of the file that lie in a cell of the grid, wholly or in part, weighted with the area they share
nearest      the cell of the file in which the centre of the cell lies
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from steppe.array_types import Floats, Integers, Singles
from steppe.errors import ForcingError
from steppe.grid import FileLattice, Grid, Points, Projected, Raster
from steppe.grid.lattice import UNEVEN
from steppe.grid.projected import parse_crs, project

AS_IT_IS, AREA_MEAN, NEAREST = "as it is", "area mean", "nearest"
METHODS = (AREA_MEAN, NEAREST)
SLIVER = 1e-9  # [1] of a cell: less than that is the rounding of coordinates, no overlap


class Overlap(NamedTuple):
    """The parts of one axis of a file in each cell of a grid: place (cells, parts) and share (cells, parts) [1], 0 without a part."""

    place: Integers
    share: Singles


class Regrid:
    """The way from a lattice to the cells of a grid.

    method: one of the three names above. rows, columns: the part of the lattice that it needs.

    Raises
    ------
    ForcingError
        The grid reaches beyond the lattice, is shifted against it, or is finer, and no method was chosen for that.
    """

    def __init__(self, lattice: FileLattice, grid: Grid, method: str | None, where: str) -> None:
        self.method = _method(lattice, grid, method, where)
        place = _positions(lattice, grid)
        _check_extent(lattice, grid, place, where)
        if self.method == AREA_MEAN:
            rows, columns = _overlaps(lattice, grid)
            taken = [np.unique(overlap.place[overlap.share > 0.0]) for overlap in (rows, columns)]
        else:
            taken = [np.unique(along) for along in place]
        self.rows, self.columns = (range(int(along[0]), int(along[-1]) + 1) for along in taken)
        if self.method == AREA_MEAN:
            self._rows, self._columns = _within(rows, self.rows), _within(columns, self.columns)
            self._cells = grid.order
            self._known: tuple[NDArray[np.bool_], Singles] | None = None
        else:
            self._cells = (place[0] - self.rows.start) * len(self.columns) + place[1] - self.columns.start

    def __call__(self, values: Singles) -> Singles:
        """Maps (days, rows, columns) of the needed part as (days, cells); NaN where the file has no value."""
        if self.method != AREA_MEAN:
            flat: Singles = values.reshape(len(values), -1)[:, self._cells]
            return flat
        means = np.empty((len(values), self._cells.size), np.float32)
        for day, map_ in enumerate(values):
            there = np.isfinite(map_)
            if self._known is None or not np.array_equal(self._known[0], there):
                self._known = (there, self._gather(there.astype(np.float32)))
            with np.errstate(invalid="ignore"):
                means[day] = self._gather(np.where(there, map_, np.float32(0.0))) / self._known[1]
        return means

    def _gather(self, map_: Singles) -> Singles:
        """Sum of the shares of a map that fall into each cell, (cells,); parts are added in order, so the bits are always the same."""
        by_row = sum(share[:, None] * map_[index] for index, share in zip(self._rows.place.T, self._rows.share.T, strict=True))
        assert isinstance(by_row, np.ndarray)
        both = sum(share * by_row[:, index] for index, share in zip(self._columns.place.T, self._columns.share.T, strict=True))
        assert isinstance(both, np.ndarray)
        found: Singles = both.ravel()[self._cells]
        return found


def _method(lattice: FileLattice, grid: Grid, method: str | None, where: str) -> str:
    """The method from the lattice to the grid: `method`, or the one that fits if the user gives none."""
    if isinstance(grid, Points):
        if method == AREA_MEAN:
            raise ForcingError(f"{where}: an area mean is for a raster; points have no area. Use --method nearest.")
        return NEAREST
    if not _same_axes(lattice, grid):
        if method != NEAREST:
            raise ForcingError(
                f"{where}: its rows and columns are those of {_axes(lattice.crs)}, the grid's those of {_axes(_crs(grid))}. "
                "From one to the other goes only --method nearest."
            )
        return NEAREST
    row0, drow, column0, dcolumn = _geometry(grid)
    ratio = (drow / lattice.dlat, dcolumn / lattice.dlon)
    shift = ((row0 - lattice.lat[0]) / lattice.dlat % 1.0, (column0 - lattice.lon[0]) / lattice.dlon % 1.0)
    off = max(min(part, 1.0 - part) for part in shift)
    alike = all(abs(one - 1.0) < UNEVEN for one in ratio)
    if alike and off < UNEVEN:
        return AS_IT_IS
    if method is not None:
        return method
    if alike:
        raise ForcingError(
            f"{where}: its cells are as large as those of the grid, but shifted by {off:g} of a cell: its first centre is at "
            f"{_place(lattice.crs, lattice.lat[0], lattice.lon[0])}, that of the grid at {_place(lattice.crs, row0, column0)}. "
            "Correct the coordinates, or say how to come from one to the other: --method nearest, or --method 'area mean'."
        )
    if min(ratio) < 1.0 - UNEVEN:
        raise ForcingError(
            f"{where}: its cells of {-lattice.dlat:g} x {lattice.dlon:g} {'degrees' if lattice.crs is None else 'm'} are larger than "
            f"those of the grid, {-drow:g} x {dcolumn:g}. Take a coarser grid, or repeat values on purpose with --method nearest."
        )
    return AREA_MEAN


def _geometry(grid: Grid) -> tuple[float, float, float, float]:
    """First centre and spacing of the rows of a raster, and of its columns."""
    if isinstance(grid, Projected):
        return grid.y0, grid.dy, grid.x0, grid.dx
    assert isinstance(grid, Raster)
    return grid.lat0, grid.dlat, grid.lon0, grid.dlon


def _crs(grid: Grid) -> Mapping[str, object] | None:
    return grid.crs if isinstance(grid, Projected) else None


def _same_axes(lattice: FileLattice, grid: Grid) -> bool:
    """Whether the rows and columns of both are latitudes and longitudes, or those of one projection."""
    theirs, ours = lattice.crs, _crs(grid)
    if theirs is None or ours is None:
        return theirs is None and ours is None
    return bool(parse_crs(theirs) == parse_crs(ours))


def _axes(crs: Mapping[str, object] | None) -> str:
    return "latitude and longitude" if crs is None else f'the projection "{crs.get("grid_mapping_name", parse_crs(crs).name)}"'


def _place(crs: Mapping[str, object] | None, row: float, column: float) -> str:
    return f"latitude {row:g}, longitude {column:g}" if crs is None else f"y {row:.10g}, x {column:.10g} m"


def _positions(lattice: FileLattice, grid: Grid) -> tuple[Integers, Integers]:
    """Row and column of the lattice in which the centre of each cell lies, (cells,); may lie outside."""
    if lattice.crs is not None:
        x, y = project(parse_crs(lattice.crs), grid.cell_lon, grid.cell_lat)
        if isinstance(grid, Projected) and _same_axes(lattice, grid):  # exactly, without a way round the Earth
            y, x = grid.y[grid.order // grid.x.size], grid.x[grid.order % grid.x.size]
        found = ((y - lattice.lat[0]) / lattice.dlat, (x - lattice.lon[0]) / lattice.dlon)
        row, column = (np.floor(np.round(np.nan_to_num(along, nan=-9.0, posinf=-9.0, neginf=-9.0) + 0.5, 6)) for along in found)
        return row.astype(np.int64), column.astype(np.int64)
    row = np.floor(np.round((grid.cell_lat - lattice.lat[0]) / lattice.dlat + 0.5, 6)).astype(np.int64)
    row -= (grid.cell_lat == -90.0) & (row == lattice.lat.size)  # the South Pole belongs to the row beside it
    east = np.round((grid.cell_lon - lattice.lon[0]) / lattice.dlon + 0.5, 6)
    column = np.floor(np.mod(east, np.round(360.0 / lattice.dlon, 6))).astype(np.int64)
    return row, column


def _check_extent(lattice: FileLattice, grid: Grid, place: tuple[Integers, Integers], where: str) -> None:
    row, column = place
    beyond = np.flatnonzero((row < 0) | (row >= lattice.lat.size) | (column < 0) | (column >= lattice.lon.size))
    if beyond.size:
        cell = int(beyond[0])
        south, north = lattice.lat[-1] + lattice.dlat / 2, lattice.lat[0] - lattice.dlat / 2
        west, east = lattice.lon[0] - lattice.dlon / 2, lattice.lon[-1] + lattice.dlon / 2
        covers = f"latitude {south:g} to {north:g}, longitude {west:g} to {east:g}"
        if lattice.crs is not None:
            covers = f"y {south:.10g} to {north:.10g}, x {west:.10g} to {east:.10g} m"
        raise ForcingError(
            f"{where} covers {covers}: {beyond.size} of {grid.n_cells} cells of the "
            f"grid lie beyond, the first at latitude {grid.cell_lat[cell]:g}, longitude {grid.cell_lon[cell]:g}. "
            "Give files that cover the grid, or a smaller grid."
        )


def _overlaps(lattice: FileLattice, grid: Grid) -> tuple[Overlap, Overlap]:
    """Shares of rows (by area: the sine of latitude) and of columns; on a map by area there."""
    if isinstance(grid, Projected):
        found = []
        for centres, step, bounds in ((-lattice.lat, -lattice.dlat, "y_bnds"), (lattice.lon, lattice.dlon, "x_bnds")):
            ends = grid.coordinates()[bounds] * (-1.0 if bounds == "y_bnds" else 1.0)
            found.append(_shares(np.append(centres - step / 2, centres[-1] + step / 2), np.sort(ends, axis=1)))
        return found[0], found[1]
    assert isinstance(grid, Raster)
    edges = np.append(lattice.lat - lattice.dlat / 2, lattice.lat[-1] + lattice.dlat / 2).clip(-90.0, 90.0)
    rows = _shares(-np.sin(np.radians(edges)), -np.sin(np.radians(grid.lat_bnds)))
    east = np.append(lattice.lon - lattice.dlon / 2, lattice.lon[-1] + lattice.dlon / 2)
    bounds = grid.lon_bnds + 360.0 * np.round((east.mean() - grid.lon_bnds.mean()) / 360.0)
    if abs(lattice.lon.size * lattice.dlon - 360.0) < UNEVEN * lattice.dlon:  # the first column follows the last
        columns = _shares(np.concatenate([east[:-1] - 360.0, east, east[1:] + 360.0]), bounds)
        return rows, columns._replace(place=columns.place % lattice.lon.size)
    return rows, _shares(east, bounds)


def _shares(edges: Floats, bounds: Floats) -> Overlap:
    """Of rising edges (n + 1,) the cells that overlap each of some intervals (m, 2), with the part of the interval that they fill."""
    first = np.clip(np.searchsorted(edges, bounds[:, 0], side="right") - 1, 0, len(edges) - 2)
    last = np.clip(np.searchsorted(edges, bounds[:, 1], side="left") - 1, 0, len(edges) - 2)
    index = np.minimum(first[:, None] + np.arange((last - first).max() + 1), len(edges) - 2)
    low, high = np.maximum(edges[index], bounds[:, :1]), np.minimum(edges[index + 1], bounds[:, 1:])
    share = np.maximum(high - low, 0.0) / (bounds[:, 1:] - bounds[:, :1])
    share[:, 1:][index[:, 1:] == index[:, :-1]] = 0.0  # an index repeated at the end of the axis
    share[share < SLIVER] = 0.0
    return Overlap(index, share.astype(np.float32))


def _within(overlap: Overlap, part: range) -> Overlap:
    """The same, counted from the beginning of a part of the axis; a place with share 0 may be any in it."""
    return Overlap(np.clip(overlap.place - part.start, 0, len(part) - 1), overlap.share)
