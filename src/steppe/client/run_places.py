"""Where the values of a run lie: what an array needs to become one of xarray, and one of xarray to become cells. Asked once a region."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import numpy as np

from steppe.api import GridInfo, VariableInfo, decode, has_value
from steppe.api.documents import ArrayHead
from steppe.api.query import MapQuery
from steppe.array_types import Array, Floats, Integers
from steppe.client.http_client import HttpClient
from steppe.client.labels import TIME, attributes_of, times
from steppe.client.words import keys
from steppe.errors import Mistake, RangeError
from steppe.given import CELL, by_cell, check_unmasked, on_axes

if TYPE_CHECKING:
    import xarray

CF = {
    "lat": {"standard_name": "latitude", "units": "degrees_north", "axis": "Y"},
    "lon": {"standard_name": "longitude", "units": "degrees_east", "axis": "X"},
    "y": {"standard_name": "projection_y_coordinate", "units": "m", "axis": "Y"},
    "x": {"standard_name": "projection_x_coordinate", "units": "m", "axis": "X"},
}
KEPT = 64  # regions whose cells are kept
AT_ONCE = 500  # listed cells of a request
NEAR = 0.01  # part of the spacing by which coordinates of an array may differ from those of the grid
TURN = 360.0  # degrees of longitude
DIGITS = 10  # decimals of a degree that count, as at the server


class Cells(NamedTuple):
    """The cells of a region, each (n,): packed number, row-major place on the map, centre [degrees]."""

    number: Integers
    place: Integers
    lon: Floats
    lat: Floats


class Map(NamedTuple):
    """The part of the grid's map around some cells: its axes, and of each cell its row and column within."""

    axes: Mapping[str, Floats]
    row: Integers
    column: Integers


class Places:
    """The grid of one run."""

    def __init__(self, line: HttpClient, path: str) -> None:
        self._line, self._path = line, path
        self._grid: GridInfo | None = None
        self._cells: dict[str, Cells] = {}
        self._maps: dict[str, Map] = {}

    async def grid(self) -> GridInfo:
        """Its axes."""
        if self._grid is None:
            self._grid = msgspec.json.decode((await self._line.ask("GET", f"{self._path}/grid")).content, type=GridInfo)
        return self._grid

    async def cells(self, region: Mapping[str, Any]) -> Cells:
        """The cells of a region, {} for all."""
        found = self._cells.get(key := str(region))
        if found is None:
            parts: list[Mapping[str, Any]] = [region]
            if len(listed := region.get("cells", ())) > AT_ONCE:  # too many for an address
                parts = [{"cells": listed[begin : begin + AT_ONCE]} for begin in range(0, len(listed), AT_ONCE)]
            answers = [await self._line.ask("GET", f"{self._path}/cells", keys(MapQuery(**part))) for part in parts]
            rows = np.concatenate([decode(answer.content)[1] for answer in answers], axis=1)
            found = Cells(rows[0].astype(np.int64), rows[1].astype(np.int64), rows[2], rows[3])
            if len(self._cells) >= KEPT:
                self._cells.clear()
                self._maps.clear()
            self._cells[key] = found
        return found

    async def map(self, region: Mapping[str, Any]) -> Map:
        """The part of the map around a region."""
        grid, cells = await self.grid(), await self.cells(region)
        found = self._maps.get(key := str(region))
        if found is None:
            row, column = np.divmod(cells.place, grid.shape[1])
            axes = {name: np.asarray(axis) for name, axis in grid.axes.items()}
            if region:
                (down, rows), (across, columns) = axes.items()
                column, columns = _columns(column, columns, region.get("box") if across == "lon" else None)
                axes, row = {down: rows[row.min() : row.max() + 1], across: columns}, row - row.min()
            found = self._maps[key] = Map(axes, row, column)
        return found

    # ---- from a run to xarray -----------------------------------------------------------------------------------------------------------
    async def labelled(
        self, head: ArrayHead, values: Array, region: Mapping[str, object], variable: VariableInfo, calendar: str, stride: int
    ) -> "xarray.DataArray":
        """An answer with its coordinates. What is packed is put on the map, but for points and for cells that were listed."""
        import xarray  # 0.5 s

        grid = await self.grid()
        coordinates: dict[str, object] = {}
        before = ["time"] if "steps" in head else []
        dims = [*before, *grid.dims]
        if head["dims"][-1] == "cell":
            cells = await self.cells(region)
            if len(grid.dims) == 2 and "cells" not in region:
                there = await self.map(region)
                values = _on_map(values, there)
                coordinates = {**there.axes}
            else:
                dims = [*before, "cell"]
                if region.keys() <= {"box"}:  # all of a polygon are given, and all that were listed
                    cells = Cells(cells.number[::stride], cells.place[::stride], cells.lon[::stride], cells.lat[::stride])
                coordinates = {"cell": cells.place, "packed": ("cell", cells.number)}
                coordinates |= {"lat": ("cell", cells.lat, CF["lat"]), "lon": ("cell", cells.lon, CF["lon"])}
                if grid.ids:
                    coordinates["cell_id"] = ("cell", [grid.ids[number] for number in cells.number])
        elif (box := head.get("box")) and stride == 1:
            west, south, east, north = box
            rows, columns = values.shape[-2:]
            coordinates["lat"] = head.get("lat", north - (np.arange(rows) + 0.5) * (north - south) / rows)
            coordinates["lon"] = west + (np.arange(columns) + 0.5) * (east - west) / columns
        else:
            there = await self.map(region)
            coordinates = {name: axis[::stride] for name, axis in there.axes.items()}
        if values.dtype.kind != "f" and not (valued := has_value(values)).all():
            values = np.where(valued, values, np.nan)
        coordinates = {name: (name, given, CF[name]) if name in CF and name in dims else given for name, given in coordinates.items()}
        if head.get("date"):
            coordinates["time"] = _times(head, calendar)
        return xarray.DataArray(values, coordinates, dims, variable.name, _attributes(head, variable, grid))

    # ---- from xarray to a run -----------------------------------------------------------------------------------------------------------
    async def packed(self, value: Any, region: Mapping[str, object], variable: VariableInfo) -> Array:
        """One number for each cell of a region, (n,), in the variable's dtype, from a map, a list of them, or an array of xarray.

        Raises
        ------
        Mistake
            The array is of another shape, or has no finite value where a cell lies.
        """
        check_unmasked(value, variable.name)
        grid, cells = await self.grid(), await self.cells(region)
        shapes = f"expected {len(cells.number):,} values, one a cell" + (
            f", or a map of {tuple(grid.shape)}" if len(grid.shape) == 2 else ""
        )
        if variable.levels and variable.levels.name in getattr(value, "dims", ()):
            raise Mistake(
                f'The array for "{variable.name}" has levels. Set one after the other: run.set("{variable.name}", array[0], level=0).'
            )
        dims = getattr(value, "dims", ())
        if dims and CELL not in dims and len(grid.dims) == 2:
            value = self._at_cells(on_axes(value, grid.dims, variable.name), grid, cells)
        else:
            value = np.asarray(by_cell(value, cells.place, variable.name, grid.ids or ()) if dims else value)
            if len(grid.shape) == 2 and value.shape == tuple(grid.shape):
                value = value.ravel()[cells.place]
        if value.shape != (len(cells.number),):
            raise Mistake(f'The array for "{variable.name}" has the shape {value.shape}; {shapes}.')
        packed = np.ascontiguousarray(value, np.dtype(variable.dtype).newbyteorder("<"))
        _check_finite(packed, cells, variable.name)
        return packed

    def _at_cells(self, value: "xarray.DataArray", grid: GridInfo, cells: Cells) -> Array:
        """The values of a map of any extent and order of axes where the cells lie."""
        found: list[Integers] = []
        for dim, place in zip(grid.dims, np.divmod(cells.place, grid.shape[1]), strict=True):
            axis = np.asarray(grid.axes[dim])
            given, wanted = np.asarray(value[dim].values, float), axis[place]
            apart = given[:, None] - axis
            apart -= TURN * np.round(apart / TURN) if dim == "lon" else 0.0
            index = np.abs(apart).argmin(axis=0)[place]
            spacing = abs(axis[1] - axis[0]) if len(axis) > 1 else 1.0
            away = np.abs(apart[index, place]) > NEAR * spacing
            if away.any():
                lies = f"{dim} {wanted[np.argmax(away)]:.6g}, where a cell lies"
                raise Mistake(f"The array has no {lies}; it has {given.min():.6g} to {given.max():.6g}. Give it for the whole region.")
            found.append(index)
        values: Array = np.asarray(value.values)[found[0], found[1]]
        return values


def _check_finite(values: Array, cells: Cells, name: str) -> None:
    """Raises `RangeError` where a cell gets no finite number."""
    wrong = np.flatnonzero(~np.isfinite(values))
    if wrong.size:
        first = wrong[0]
        at = f"at index {first}, the cell at longitude {cells.lon[first]:.6g}, latitude {cells.lat[first]:.6g}"
        more = f", and no finite number at {wrong.size - 1:,} more" if wrong.size > 1 else ""
        raise RangeError(f'The array for "{name}" is {values[first]:g} {at}{more}. Give each cell a finite number, or set a region.')


def _columns(column: Integers, lon: Floats, box: Sequence[float] | None) -> tuple[Integers, Floats]:
    """Where the columns of cells lie in their part of the map, and its longitudes.

    As at the server, the columns of a box go on round the Earth if these are fewer.
    """
    left, right, count = int(column.min()), int(column.max()), len(lon)
    if box is not None and count > 1 and round(count * float(lon[1] - lon[0]), 6) == TURN:
        west = box[0] if box[0] < box[2] or box[2] <= 0.0 else box[0] - TURN
        after = (column - int(np.argmin(np.round(np.mod(np.round(lon - west, DIGITS), TURN), DIGITS)))) % count
        if (most := int(after.max() - after.min())) < right - left:
            index = int(column[np.argmin(after)]) + np.arange(most + 1)
            degrees = lon[index % count] + TURN * (index // count)
            return after - after.min(), degrees - TURN * (round(degrees[0] - west, DIGITS) // TURN)
    return column - left, lon[left : right + 1]


def _on_map(values: Array, there: Map) -> Array:
    """Values of cells put on the map; NaN where there is none."""
    shape = tuple(map(len, there.axes.values()))
    if values.shape[-1] == shape[0] * shape[1]:
        found = np.empty((*values.shape[:-1], *shape), values.dtype)
    else:
        found = np.full((*values.shape[:-1], *shape), np.nan, values.dtype if values.dtype.kind == "f" else np.float64)
    found[..., there.row, there.column] = values
    return found


def _times(head: ArrayHead, calendar: str) -> tuple[str | tuple[()], object, dict[str, str]]:
    found = times(head["dates"] if "steps" in head else [head["date"]], calendar)
    return ("time", found, TIME) if "steps" in head else ((), found[0], TIME)


def _attributes(head: ArrayHead, variable: VariableInfo, grid: GridInfo) -> dict[str, object]:
    said = attributes_of(variable, "cell_methods")
    if grid.crs:
        said["grid_mapping_name"] = grid.crs.get("grid_mapping_name", "")
    said |= {"rounded": head["rounded"]} if "rounded" in head else {}
    return said | {"scenario": head["scenario"], "step": head.get("step")}
