"""An array that a script sets: to values of the packed cells of a region, in the variable's unit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from steppe.array_types import Array
from steppe.errors import ForcingError, ModelError
from steppe.given import CELL, by_cell, check_numbers, check_unmasked, on_axes, unit_of, unplaced
from steppe.grid import Grid
from steppe.io.forcing.units import Conversion, conversion
from steppe.levels import Space
from steppe.variable import Variable

if TYPE_CHECKING:
    import xarray

NEAR = 0.01  # part of the spacing by which coordinates of an array may differ from those of the grid
ROUND = {"lon": 360.0}  # degrees: axes that close


def packed(
    value: Any,
    variable: Variable,
    grid: Grid,
    levels: tuple[str, Space] | None,
    cells: Array | None,
    units: str | None = None,
    operation: str = "set",
) -> Array:
    """A number, ([levels,] cells) or ([levels,] rows, columns) of any kind of array, as 0-d, (cells,) or (levels, cells) of `cells`.

    An array of xarray goes by its coordinates, whatever the order of its dims, rows, columns and levels; it may reach beyond the grid. Its
    attribute `units` is converted. cells: the packed cells that are set; None: all. units: of a value without that attribute, if not the
    variable's own. operation: of the change: a factor has no unit, and a difference no zero.

    Raises
    ------
    ModelError
        The value is no number, or the array is of another shape, or lacks a row, a column or a level.
    ForcingError
        Its unit does not convert to that of the variable, or a factor has one.
    """
    name, shape = variable.name, tuple(grid.shape.values())
    check_numbers(value, name, variable.units)
    check_unmasked(value, name)
    units = unit_of(value, units, name)
    if getattr(value, "dims", ()):
        value = _aligned(value, name, grid, levels, cells)
    values = np.asarray(value)
    count, n_levels = grid.n_cells if cells is None else len(cells), len(levels[1].values) if levels else 0
    leading = [(), *([(n_levels,)] if levels else [])]
    if values.ndim > 1 and values.shape[-len(shape) :] == shape and len(shape) == 2 and values.shape[:-2] in leading:
        values = values.reshape(*values.shape[:-2], -1)[..., grid.order][..., slice(None) if cells is None else cells]
    elif values.ndim and values.shape not in [(*each, count) for each in leading]:
        wanted = f"{count:,} values, one a cell" + (f", or a map of {shape}" if len(shape) == 2 else "")
        wanted += f", or these of each of {n_levels} levels" if levels else ""
        raise ModelError(f'The array for "{name}" has the shape {values.shape}; expected {wanted}.')
    if operation == "scale" and units not in (None, "1"):
        raise ForcingError(f'The factor for "{name}" is in "{units}"; a factor has no unit. Leave units away.')
    if units is None or operation == "scale" or units == variable.units:
        return values
    line = _conversion(str(units), variable, "array" if values.ndim else "value")
    return values * line.factor + (0.0 if operation == "add" else line.offset)


def _conversion(units: str, variable: Variable, what: str) -> Conversion:
    try:
        return conversion(units, variable.units, "", daily=False)
    except ForcingError:  # whose advice is for files
        raise ForcingError(
            f'The {what} for "{variable.name}" is in "{units}", expected "{variable.units}" or a unit that converts to it. '
            f'Convert it, or give its unit: units="{variable.units}", or the attribute units of an array of xarray.'
        ) from None


def _aligned(value: xarray.DataArray, name: str, grid: Grid, levels: tuple[str, Space] | None, cells: Array | None) -> xarray.DataArray:
    """An array with the rows and columns of the grid, or with the packed cells that are set, and with the levels, in their order."""
    axes: dict[str, Array] = {}
    if CELL in value.dims or len(grid.shape) == 1:
        value = by_cell(value, grid.order if cells is None else grid.order[cells], name, getattr(grid, "ids", ()))
    else:
        value = on_axes(value, tuple(grid.shape), name, levels[0] if levels else "")
        axes = {dim: np.asarray(getattr(grid, dim)) for dim in grid.shape}
    if levels and levels[0] in value.dims:
        axes[levels[0]] = np.array(levels[1].values)
    for dim, axis in axes.items():
        if dim not in value.coords:
            raise unplaced(value, name, tuple(axes))
        if not value.indexes[dim].is_unique:
            twice = value.indexes[dim][value.indexes[dim].duplicated()][0]
            raise ModelError(f'The array for "{name}" has {dim} {twice:.6g} twice. Leave one of them away.')
        value = value.isel({dim: _places(np.asarray(value[dim].values, float), axis, ROUND.get(dim), name, dim)})
    return value


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
