"""The cut of a query of a variable at one step: its cells, and the form of its answer. Pure: the same on every rank."""

from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, cast

import numpy as np
from msgspec.structs import replace

from steppe.api.query import MapQuery
from steppe.array_types import Array, Floats, Integers
from steppe.comm import World
from steppe.errors import RequestError
from steppe.grid import Grid, MapWindow, Raster, every_nth, pixels_of, window_of
from steppe.kernels.sums import binned_sums, values_of

Box = tuple[float, float, float, float]


def check(query: MapQuery) -> None:
    """Checks that the members of a query go together.

    Raises
    ------
    RequestError
        A number is too small, or one member excludes another.
    """
    for key in ("stride", "width", "height"):
        if (number := getattr(query, key)) is not None and number < 1:
            raise RequestError(f'"{key}" is {number}; it must be 1 or more.')
    if query.chosen and query.box:
        raise RequestError("Ask for cells or for a box, not for both.")
    if query.in_pixels and (query.packed or query.stride > 1):
        raise RequestError('"width" and "height" are of a map, without "packed" and "stride".')
    if query.format == "png" and query.packed:
        raise RequestError('An image is of a map, without "packed".')


def numbers_of(query: MapQuery) -> MapQuery:
    """The members of a query that decide the numbers of its answer: equal for equal numbers at one position."""
    return replace(query, step=None, format=None, low=None, high=None, style=None)


@dataclass(frozen=True, eq=False)
class Cut:
    """The source and the place of each value of an answer.

    cells: packed cells, None for all of them in their order. places: where each goes in the flat answer, None for one after the other.
    reduce: how cells of one place are taken together; "" when each has one of its own. weights, order: area and row-major index of each.
    box: west, south, east, north [degrees] of a map of latitudes and longitudes. lat: centres of its rows where they are not even.
    """

    dims: tuple[str, ...]
    shape: tuple[int, ...]
    cells: Integers | None = None
    places: Integers | None = None
    reduce: str = ""
    weights: Floats | None = None
    order: Integers | None = None
    box: Box | None = None
    lat: list[float] | None = None

    @cached_property
    def seen(self) -> Integers:
        """The places that have cells, ascending."""
        assert self.places is not None, "it has a map"
        return np.unique(self.places)

    def chosen(self, values: Array) -> Array:
        """The values of its cells, of those of all."""
        return values if self.cells is None else values[..., self.cells]

    def placed(self, chosen: Array) -> Array:
        """The answer from the values of its cells, (cells,); other places are NaN, in whole numbers the least number."""
        if self.places is None:
            return chosen.reshape(*chosen.shape[:-1], *self.shape)
        missing = np.nan if chosen.dtype.kind == "f" else np.iinfo(chosen.dtype).min
        found = np.full(self.shape, missing, chosen.dtype)
        found.ravel()[self.places] = chosen
        return found

    def reduced(self, chosen: Array, here: Array | slice, world: World) -> Array:
        """The answer from the values of the cells on this rank, `here` among its cells; every rank calls it.

        It has the same bits on any number of ranks. Values that are not finite are left out; a place without a value is NaN.
        """
        assert self.places is not None, "it has pixels"
        assert self.weights is not None
        assert self.order is not None
        known = np.isfinite(chosen)
        values, places = chosen[known].astype(np.float64), self.places[here][known]
        count = int(np.prod(self.shape))
        if self.reduce == "mean":
            weights = self.weights[here][known]
            sums = _binned(values * weights, places, count, world)
            area = _binned(weights, places, count, world)
            found = np.divide(sums, area, out=np.full(count, np.nan), where=area > 0)
        else:
            if self.reduce == "first":
                order = self.order[here][known]
                first = np.full(count, np.iinfo(np.int64).max)
                np.minimum.at(first, places, order)
                first = world.reduce(first, "min")
                mine = order == first[places]
                values, places = values[mine], places[mine]
            method, start = ("min", np.inf) if self.reduce == "min" else ("max", -np.inf)
            found = np.full(count, start)
            (np.minimum if method == "min" else np.maximum).at(found, places, values)
            found = world.reduce(found, "min" if method == "min" else "max")
            found = np.where(np.isfinite(found), found, np.nan)
        whole: Array = found.astype(chosen.dtype if chosen.dtype.kind == "f" else np.float64).reshape(self.shape)
        return whole


def _binned(values: Array, places: Integers, count: int, world: World) -> Floats:
    largest = float(world.reduce(np.array([np.abs(values).max(initial=0.0)]), "max")[0])
    return values_of(world.reduce(binned_sums(values, places, count, largest), "sum"), largest)


def cut_of(query: MapQuery, grid: Grid, cells: Array | None, classes: Collection[int] = ()) -> Cut:
    """The cut of a query on a grid. cells: those that it has chosen. classes: of its variable; they have no mean, and get the first cell.

    Raises
    ------
    GridError
        A box holds no active cell.
    RequestError
        A map is asked for, and the grid has none.
    """
    raster = grid.active.ndim == 2
    if classes and query.reduce == "mean":
        query = replace(query, reduce="first")
    if not raster and (query.in_pixels or query.format == "png"):
        raise RequestError("A map with pixels is of a raster; these are points.")
    if cells is not None:
        if query.packed or not raster:
            return Cut(("cell",), (len(cells),), cells.astype(np.int64))
        return _map(grid, np.unique(cells.astype(np.int64)), query)
    return _cut(cast(Any, grid), replace(numbers_of(query), name="", packed=query.packed or not raster))


@lru_cache(32)
def _cut(grid: Grid, query: MapQuery) -> Cut:
    inside = None if query.box is None else grid.select({"box": list(query.box)})
    if not query.packed:
        return _map(grid, inside, query)
    every = inside if query.stride == 1 else every_nth(grid, inside, query.stride, query.box)
    return Cut(("cell",), (grid.n_cells if every is None else len(every),), every)


def _map(grid: Grid, inside: Integers | None, query: MapQuery) -> Cut:
    """The rectangle of the raster around some cells."""
    window = window_of(grid, inside, query.width, query.height, query.stride, query.box)
    order = grid.order if inside is None else grid.order[inside]
    row, column = np.divmod(order, grid.active.shape[1])
    rows, columns, (height, width) = window.rows, window.columns, window.shape
    dims, box = tuple(grid.shape), _box(grid, window)
    down, across = row - rows.start, (column - columns.start) % grid.active.shape[1]
    if window.takes_together:
        places = pixels_of(down, len(rows), height) * width + pixels_of(across, len(columns), width)
        area = grid.cell_area if inside is None else grid.cell_area[inside]
        return Cut(dims, (height, width), inside, places, query.reduce, area, order, box, window.lat)
    stride = query.stride
    on = (down % stride == 0) & (across % stride == 0)
    places = down[on] // stride * width + across[on] // stride
    chosen = np.flatnonzero(on) if inside is None else inside[on]
    return Cut(dims, (height, width), None if len(chosen) == grid.n_cells else chosen, places, box=box, lat=window.lat)


def _box(grid: Grid, window: MapWindow) -> Box | None:
    if not isinstance(grid, Raster):
        return None
    lat, lon = grid.lat_bnds[[*window.rows]], window.longitudes(grid.lon_bnds, 1)
    return float(lon[0, 0]), float(lat[-1, 1]), float(lon[-1, 1]), float(lat[0, 0])
