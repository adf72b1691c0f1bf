"""What a person may ask of a variable at one step: which cells, in which form. Pure: the same on every rank."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import lru_cache
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from steppe.errors import RequestError, nearest
from steppe.grid import Grid

Array = NDArray[Any]
Box = tuple[float, float, float, float]


@dataclass(frozen=True)
class Request:
    """What is asked for.

    name: of a variable. cells: digest of an uploaded list of packed cells. box: west, south, east, north [degrees]. stride: every n-th
    row and column. at: places (longitude, latitude). packed: values of cells in packed order instead of a map. step: of which step, None
    for the one that was finished last.
    """

    name: str
    cells: str = ""
    box: Box | None = None
    stride: int = 1
    at: tuple[tuple[float, float], ...] = ()
    packed: bool = False
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
        if "box" in found:
            found["box"] = tuple(_numbers("box", found["box"], 4))
        if "at" in found:
            found["at"] = tuple(tuple(_numbers("at", place, 2)) for place in found["at"])
        if found.get("stride", 1) < 1:
            raise RequestError(f'"stride" is {found["stride"]}; it must be 1 or more.')
        if sum(bool(found.get(key)) for key in ("cells", "box", "at")) > 1:
            raise RequestError('Ask for one of "cells", "box" and "at".')
        return cls(**found)


@dataclass(frozen=True, eq=False)
class Cut:
    """Where the values of an answer come from and go to.

    cells: packed cells, None for all of them in their order. places: where each goes in the flat answer, None for one after the other.
    """

    dims: tuple[str, ...]
    shape: tuple[int, ...]
    cells: NDArray[np.int64] | None = None
    places: NDArray[np.int64] | None = None

    def of(self, values: Array) -> Array:
        """The answer from the values of all packed cells; what is no cell is NaN, of whole numbers the least there is."""
        return self.placed(values if self.cells is None else values[self.cells])

    def placed(self, chosen: Array) -> Array:
        """The answer from the values of `cells`."""
        if self.places is None:
            return chosen.reshape(self.shape)
        missing = np.nan if chosen.dtype.kind == "f" else np.iinfo(chosen.dtype).min
        found = np.full(self.shape, missing, chosen.dtype)
        found.ravel()[self.places] = chosen
        return found


def cut_of(request: Request, grid: Grid, cells: Array | None) -> Cut:
    """How a request is answered on a grid. cells: those that it names by their digest.

    Raises
    ------
    GridError
        A place or a box holds no active cell.
    """
    if cells is not None:
        return Cut(("cell",), (len(cells),), cells.astype(np.int64))
    return _cut(cast(Any, grid), request.box, request.stride, request.at, request.packed or grid.active.ndim != 2)


@lru_cache(32)
def _cut(grid: Grid, box: Box | None, stride: int, at: tuple[tuple[float, float], ...], packed: bool) -> Cut:
    if at:
        return Cut(("point",), (len(at),), np.array([grid.locate(*place) for place in at]))
    inside = None if box is None else grid.select({"box": list(box)})
    if packed:
        every = inside if stride == 1 else (np.arange(grid.n_cells) if inside is None else inside)[::stride]
        return Cut(("cell",), (grid.n_cells if every is None else len(every),), every)
    row, column = np.divmod(grid.order if inside is None else grid.order[inside], grid.active.shape[1])
    rows, columns = range(grid.active.shape[0]), range(grid.active.shape[1])
    if inside is not None:
        rows, columns = range(int(row.min()), int(row.max()) + 1), range(int(column.min()), int(column.max()) + 1)
    on = ((row - rows.start) % stride == 0) & ((column - columns.start) % stride == 0)
    shape = len(rows[::stride]), len(columns[::stride])
    places = (row[on] - rows.start) // stride * shape[1] + (column[on] - columns.start) // stride
    chosen = np.flatnonzero(on) if inside is None else inside[on]
    return Cut(tuple(grid.shape), shape, None if len(chosen) == grid.n_cells else chosen, places)


def _numbers(key: str, values: Any, count: int) -> list[float]:
    try:
        found = [float(value) for value in values]
    except (TypeError, ValueError):
        found = []
    if len(found) != count or not np.isfinite(found).all():
        raise RequestError(f'"{key}" needs {count} numbers, it has {values!r}.')
    return found
