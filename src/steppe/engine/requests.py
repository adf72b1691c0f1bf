"""What a person may ask of a variable at one step: which cells, in which form. Pure: the same on every rank."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from functools import cached_property, lru_cache
from hashlib import sha256
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from steppe.comm import World
from steppe.errors import RequestError, nearest
from steppe.grid import Grid, Raster, window_of
from steppe.kernels.sums import binned_sums, values_of

Array = NDArray[Any]
Box = tuple[float, float, float, float]

REDUCE = ("mean", "min", "max", "first")
FORMATS = ("raw", "png")


@dataclass(frozen=True)
class Request:
    """What is asked for.

    name: of a variable. cells: packed numbers of cells, uint32. box: west, south, east, north [degrees]. stride: every n-th
    row and column. width, height: pixels of a map, at most one for each row and column; one of them follows from the other. reduce: what
    a pixel is of its cells: their mean by area, the least, the greatest, the first in order of rows. at: places (longitude, latitude).
    packed: values of cells in packed order instead of a map. format: "raw" or "png"; low, high, style: values at the ends of the colours
    and their name in cmcrameri. step: of which step, None for the one that was finished last.
    """

    name: str
    cells: bytes = b""
    box: Box | None = None
    stride: int = 1
    width: int | None = None
    height: int | None = None
    reduce: str = "mean"
    at: tuple[tuple[float, float], ...] = ()
    packed: bool = False
    format: str = "raw"
    low: float | None = None
    high: float | None = None
    style: str | None = None
    step: int | None = None

    @classmethod
    def of(cls, words: Mapping[str, Any]) -> "Request":
        """From JSON.

        Raises
        ------
        RequestError
            A key is unknown, or its value cannot be.
        """
        known = [field.name for field in fields(cls)]
        for key in words:
            if key not in known:
                raise RequestError(f'A request has no "{key}".{nearest(key, known)}')
        if not isinstance(words.get("name"), str):
            raise RequestError('A request needs the name of a variable, as {"name": "growth"}.')
        found: dict[str, Any] = {key: value for key, value in words.items() if value is not None}
        if not isinstance(found.get("cells", b""), bytes):
            raise RequestError(f'"cells" is {found["cells"]!r}; it must be whole uint32 numbers.')
        if "box" in found:
            found["box"] = tuple(_numbers("box", found["box"], 4))
        if "at" in found:
            found["at"] = tuple(tuple(_numbers("at", place, 2)) for place in found["at"])
        for key in ("stride", "width", "height"):
            if key in found and not (isinstance(found[key], int) and found[key] >= 1):
                raise RequestError(f'"{key}" is {found[key]}; it must be 1 or more.')
        for key, choices in (("reduce", REDUCE), ("format", FORMATS)):
            if found.get(key, choices[0]) not in choices:
                raise RequestError(f'"{key}" is "{found[key]}"; it must be one of {", ".join(choices)}.')
        if sum(bool(found.get(key)) for key in ("cells", "box", "at")) > 1:
            raise RequestError('Ask for one of "cells", "box" and "at".')
        asked = cls(**found)
        if asked.pixels and (asked.packed or asked.at or asked.stride > 1):
            raise RequestError('"width" and "height" are of a map, without "packed", "at" and "stride".')
        if asked.format == "png" and (asked.packed or asked.at):
            raise RequestError('An image is of a map, without "packed" and "at".')
        return asked

    @property
    def pixels(self) -> bool:
        """Whether cells are taken together."""
        return self.width is not None or self.height is not None

    @property
    def region(self) -> dict[str, Any]:
        """What decides which numbers are in the answer beside the cells, as JSON."""
        return {key: value for key, value in asdict(self).items() if key in _REGION}

    @property
    def digest(self) -> str:
        """The same as a short text, with the cells; equal for equal answers."""
        return f"{json.dumps(self.region)} {sha256(self.cells).hexdigest() if self.cells else ''}"

    @property
    def pixel_words(self) -> tuple[int | None, int | None, int]:
        """Width, height and stride."""
        return self.width, self.height, self.stride

    @property
    def look(self) -> tuple[Any, ...]:
        """What decides how they look."""
        return self.format, self.low, self.high, self.style


_REGION = ("name", "box", "stride", "width", "height", "reduce", "at", "packed")


@dataclass(frozen=True, eq=False)
class Cut:
    """Where the values of an answer come from and go to.

    cells: packed cells, None for all of them in their order. places: where each goes in the flat answer, None for one after the other.
    reduce: how cells of one place are taken together; "" when each has one of its own. weights, order: area and row-major index of each.
    box: west, south, east, north [degrees] of a map of latitudes and longitudes. lat: centres of its rows where they are not even.
    """

    dims: tuple[str, ...]
    shape: tuple[int, ...]
    cells: NDArray[np.int64] | None = None
    places: NDArray[np.int64] | None = None
    reduce: str = ""
    weights: NDArray[np.float64] | None = None
    order: NDArray[np.int64] | None = None
    box: Box | None = None
    lat: list[float] | None = None

    @cached_property
    def seen(self) -> NDArray[np.int64]:
        """The places that have cells, ascending."""
        assert self.places is not None, "it has a map"
        return np.unique(self.places)

    def chosen(self, values: Array) -> Array:
        """The values of its cells, of those of all."""
        return values if self.cells is None else values[..., self.cells]

    def placed(self, chosen: Array) -> Array:
        """The answer from the values of its cells, (cells,); what is no cell is NaN, of whole numbers the least there is."""
        if self.places is None:
            return chosen.reshape(*chosen.shape[:-1], *self.shape)
        missing = np.nan if chosen.dtype.kind == "f" else np.iinfo(chosen.dtype).min
        found = np.full(self.shape, missing, chosen.dtype)
        found.ravel()[self.places] = chosen
        return found

    def reduced(self, chosen: Array, here: Any, world: World) -> Array:
        """The answer from the values of those cells that this rank has, `here` among its cells; every rank calls it.

        The same bits for any number of ranks. What is not finite is passed over; a place without a value is NaN.
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


def _binned(values: Array, places: NDArray[np.int64], count: int, world: World) -> NDArray[np.float64]:
    largest = float(world.reduce(np.array([np.abs(values).max(initial=0.0)]), "max")[0])
    return values_of(world.reduce(binned_sums(values, places, count, largest), "sum"), largest)


def cut_of(request: Request, grid: Grid, cells: Array | None) -> Cut:
    """How a request is answered on a grid. cells: those that it names.

    Raises
    ------
    GridError
        A place or a box holds no active cell.
    RequestError
        A map is asked for, and the grid has none.
    """
    raster = grid.active.ndim == 2
    if not raster and (request.pixels or request.format == "png"):
        raise RequestError("A map with pixels is of a raster; these are points.")
    if cells is not None:
        if request.packed or not raster:
            return Cut(("cell",), (len(cells),), cells.astype(np.int64))
        return _map(grid, np.unique(cells.astype(np.int64)), request)
    plain = Request("", width=request.width, height=request.height, reduce=request.reduce, stride=request.stride)
    return _cut(cast(Any, grid), plain if raster and not request.packed else None, request.box, request.stride, request.at)


@lru_cache(32)
def _cut(grid: Grid, request: Request | None, box: Box | None, stride: int, at: tuple[tuple[float, float], ...]) -> Cut:
    if at:
        return Cut(("point",), (len(at),), np.array([grid.locate(*place) for place in at]))
    inside = None if box is None else grid.select({"box": list(box)})
    if request:
        return _map(grid, inside, request)
    every = inside if stride == 1 else (np.arange(grid.n_cells) if inside is None else inside)[::stride]
    return Cut(("cell",), (grid.n_cells if every is None else len(every),), every)


def _map(grid: Grid, inside: NDArray[np.int64] | None, request: Request) -> Cut:
    """The rectangle of the raster around some cells."""
    window = window_of(grid, inside, request.width, request.height, request.stride)
    order = grid.order if inside is None else grid.order[inside]
    row, column = np.divmod(order, grid.active.shape[1])
    rows, columns, (height, width) = window.rows, window.columns, window.shape
    dims, box = tuple(grid.shape), _box(grid, rows, columns)
    down, across = row - rows.start, column - columns.start
    if window.takes_together:
        places = down * height // len(rows) * width + across * width // len(columns)
        area = grid.cell_area if inside is None else grid.cell_area[inside]
        return Cut(dims, (height, width), inside, places, request.reduce, area, order, box, window.lat)
    stride = request.stride
    on = (down % stride == 0) & (across % stride == 0)
    places = down[on] // stride * width + across[on] // stride
    chosen = np.flatnonzero(on) if inside is None else inside[on]
    return Cut(dims, (height, width), None if len(chosen) == grid.n_cells else chosen, places, box=box, lat=window.lat)


def _box(grid: Grid, rows: range, columns: range) -> Box | None:
    if not isinstance(grid, Raster):
        return None
    lat, lon = grid.lat_bnds, grid.lon_bnds
    west, east = lon[columns[0], 0], lon[columns[-1], 1]
    return float(west), float(lat[rows[-1], 1]), float(east), float(lat[rows[0], 0])


def _numbers(key: str, values: Any, count: int) -> list[float]:
    try:
        found = [float(value) for value in values]
    except (TypeError, ValueError):
        found = []
    if len(found) != count or not np.isfinite(found).all():
        raise RequestError(f'"{key}" needs {count} numbers, it has {values!r}.')
    return found
