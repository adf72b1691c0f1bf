"""A map that a run file names for a parameter or the initial state: of a forcing store of Steppe, or of any CF Zarr store on the grid."""

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

from steppe.array_types import Floats
from steppe.errors import ForcingError, nearest
from steppe.grid import Grid, Projected, Raster
from steppe.io.forcing.field import Field
from steppe.io.forcing.field_store import FieldStore
from steppe.io.forcing.store import read_static
from steppe.levels import Space
from steppe.variable import Variable


def read_map(path: Path, name: str, variable: Variable, spaces: Mapping[str, Space], grid: Grid) -> Floats:
    """A variable without time of a store, in the unit of what it is read for: float64 (cells,), or (levels, cells) if the store has levels.

    Parameters
    ----------
    path, name
        The store, and its variable.
    variable, spaces
        What it is read for, and the levels of the model: a CF store has the levels of `variable` in either order, and any unit that
        converts.
    grid
        That of the run.

    Raises
    ------
    ForcingError
        There is no such store or variable, it changes in time, or its grid, levels or unit are others; a value is missing or outside
        the limits of `variable`.
    DamagedError
        The values cannot be read.
    """
    if not path.exists():
        raise ForcingError(f'There is no store "{path}". Give a CF Zarr store on the grid of the run, or make one with `steppe ingest`.')
    kind = _kind(path)
    if kind == "output":
        raise ForcingError(
            f'"{path}" holds results of a run, which change in time. To begin with them write [initial] state = {{ store = "{path}", '
            "date = 1990-01-31 }; other maps come from a store without time."
        )
    if kind:
        return read_static(path, name, grid)
    store = FieldStore.open(path)
    if name not in store.names:
        raise ForcingError(f'"{path}" has no variable "{name}".{nearest(name, store.names)}')
    if not isinstance(grid, Raster | Projected):
        raise ForcingError(f'"{path}" holds maps of rows and columns, and the cells of the run are points. Write a number for all of them.')
    if "units" not in store.dataset[name].attrs and variable.name != "land_type":  # numbers of classes have no unit
        line = f'.attrs["units"] = "{variable.units}"'
        raise ForcingError(f'"{path}", variable "{name}" has no units, and they are never guessed. Write the store with {line}, say.')
    has_levels = sum(store.time(str(dim)) is None for dim in store.dataset[name].dims) > 2
    if has_levels and not variable.dims[:-2]:
        raise ForcingError(f'"{path}", variable "{name}" has levels, and "{variable.name}" has none. Give a map of rows and columns.')
    field = Field(store, replace(variable, name=name, dims=variable.dims if has_levels else variable.dims[-2:]), grid, spaces, "")
    if field.records > 1:
        line = f".isel({field.time}=0, drop=True)"
        raise ForcingError(f'"{path}", variable "{name}" has {field.records:,} records. Write a store of one of them: xarray\'s {line}.')
    rows, columns = grid.active.shape
    every = slice(0, rows), slice(0, columns)
    (values,) = block = field.block_of(0, *every)
    for problem in field.problems(0, *every, block):
        raise ForcingError(f"{problem._replace(day='')}. Correct it where the store is made.")
    return np.asarray(values.reshape(*values.shape[:-2], -1)[..., grid.order], np.float64)


def _kind(path: Path) -> str:
    """The kind of a store that Steppe has written, of packed cells, or "output" of a run folder; "" of others."""
    store = path / "output.zarr" if (path / "output.zarr").exists() else path
    try:
        return str(json.loads((store / "zarr.json").read_bytes()).get("attributes", {}).get("steppe_kind", ""))
    except (OSError, ValueError):
        return ""
