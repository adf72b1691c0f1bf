"""An array that a script sets: to values of the packed cells of a region, in the variable's unit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from steppe.array_types import Array
from steppe.errors import ModelError
from steppe.given import CELL, by_cell, check_numbers, check_unmasked
from steppe.grid import Grid
from steppe.io.forcing.units import conversion
from steppe.levels import Space
from steppe.variable import Variable

if TYPE_CHECKING:
    import xarray

NEAR = 0.01  # part of the spacing by which coordinates of an array may differ from those of the grid
ROUND = {"lon": 360.0}  # degrees: axes that close


def packed(
    value: Any, variable: Variable, grid: Grid, levels: tuple[str, Space] | None, cells: Array | None, units: str | None = None
) -> Array:
    """A number, ([levels,] cells) or ([levels,] rows, columns) of any kind of array, as 0-d, (cells,) or (levels, cells) of `cells`.

    An array of xarray goes by its coordinates, whatever the order of its dims, rows, columns and levels; it may reach beyond the grid. Its
    attribute `units` is converted. cells: the packed cells that are set; None: all. units: of the value, if not the attribute's or the
    variable's own.

    Raises
    ------
    ModelError
        The value is no number, or the array is of another shape, or lacks a row, a column or a level.
    ForcingError
        Its unit does not convert to that of the variable.
    """
    name, shape, dims = variable.name, tuple(grid.shape.values()), tuple(grid.shape)
    check_numbers(value, name, variable.units)
    check_unmasked(value, name)
    if hasattr(value, "dims") and set(dims) <= set(value.dims) and len(dims) == 2:
        value = _aligned(value, name, grid, levels)
    elif CELL in getattr(value, "dims", ()) and len(dims) == 2:
        value = by_cell(value, grid.order if cells is None else grid.order[cells], name)
    values = np.asarray(value)
    count, n_levels = grid.n_cells if cells is None else len(cells), len(levels[1].values) if levels else 0
    leading = [(), *([(n_levels,)] if levels else [])]
    if values.ndim > 1 and values.shape[-len(shape) :] == shape and len(shape) == 2 and values.shape[:-2] in leading:
        values = values.reshape(*values.shape[:-2], -1)[..., grid.order][..., slice(None) if cells is None else cells]
    elif values.ndim and values.shape not in [(*each, count) for each in leading]:
        wanted = f"{count:,} values, one a cell" + (f", or a map of {shape}" if len(shape) == 2 else "")
        wanted += f", or these of each of {n_levels} levels" if levels else ""
        raise ModelError(f'The array for "{name}" has the shape {values.shape}; expected {wanted}.')
    units = units or getattr(value, "attrs", {}).get("units")
    if units is None or units == variable.units:
        return values
    line = conversion(str(units), variable.units, f'The array for "{name}"', daily=False)
    return values * line.factor + line.offset


def _aligned(value: xarray.DataArray, name: str, grid: Grid, levels: tuple[str, Space] | None) -> xarray.DataArray:
    """An array with the rows, columns and levels of the grid, in their order."""
    space = levels[1] if levels and levels[0] in value.dims else None
    dims = (*([levels[0]] if levels and space else []), *grid.shape)
    if set(value.dims) != set(dims):
        wanted = (*([levels[0]] if levels else []), *grid.shape)
        raise ModelError(f'The array for "{name}" has the dims ({", ".join(map(str, value.dims))}); expected ({", ".join(wanted)}).')
    axes = {dim: np.asarray(getattr(grid, dim)) for dim in grid.shape if hasattr(grid, dim)}
    if levels and space:
        axes[levels[0]] = np.array(space.values)
    for dim, axis in axes.items():
        if dim in value.coords:
            if not value.indexes[dim].is_unique:
                twice = value.indexes[dim][value.indexes[dim].duplicated()][0]
                raise ModelError(f'The array for "{name}" has {dim} {twice:.6g} twice. Leave one of them away.')
            value = value.isel({dim: _places(np.asarray(value[dim].values, float), axis, ROUND.get(dim), name, dim)})
    return value.transpose(*dims)


def _places(given: Array, axis: Array, around: float | None, name: str, dim: str) -> Array:
    apart = np.abs(given[:, None] - axis)
    apart = np.minimum(apart % around, -apart % around) if around else apart
    places = apart.argmin(axis=0)
    spacing = np.abs(np.diff(axis)).min() if len(axis) > 1 else max(1.0, abs(axis[0]))
    away = np.flatnonzero(apart[places, np.arange(len(axis))] > NEAR * spacing)
    if away.size:
        raise ModelError(
            f'The array for "{name}" has no {dim} {axis[away[0]]:.6g}; it has {given.min():.6g} to {given.max():.6g}. '
            "Give it for the whole grid."
        )
    return np.asarray(places)
