"""Dates, numbers and arrays that a script gives, for a run at hand or on a server. Labels of an array count, not position alone."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from steppe.array_types import Integers
from steppe.errors import Mistake, ModelError, RequestError
from steppe.levels import layer

if TYPE_CHECKING:
    import xarray

Day: TypeAlias = str | date | np.datetime64
CELL = "cell"  # dimension of packed cells; its coordinate counts the places of the map row by row
CELL_ID = "cell_id"  # coordinate of packed cells: the name of each point
LATITUDE = ("latitude", "lat", "degrees_north", "degree_north")  # names, CF standard name and units of an axis
LONGITUDE = ("longitude", "lon", "degrees_east", "degree_east")
# dimension of a grid -> name, CF standard name, unit or axis of a coordinate along it, the surest first
_AXES: Mapping[str, Sequence[str]] = {
    "lat": (*LATITUDE, "y", "Y"),
    "lon": (*LONGITUDE, "x", "X"),
    "y": ("y", "projection_y_coordinate", "Y"),
    "x": ("x", "projection_x_coordinate", "X"),
}


def moment_text(when: Day) -> str:
    """A date as run files and requests have it: year-month-day; of a datetime, datetime64 or cftime date the instant.

    Raises
    ------
    Mistake
        It is none.
    """
    if isinstance(when, np.datetime64):
        return str(np.datetime_as_string(when, "D" if np.datetime_data(when.dtype)[0] in "YMWD" else "us"))
    if not isinstance(when, str) and not hasattr(when, "isoformat"):
        raise Mistake(f'{when!r} is no date. Write "2001-03-05", "2001-03-05T06:00", a datetime, or both ends of a range.')
    return when if isinstance(when, str) else str(when.isoformat())


def check_steps(count: Any, argument: str) -> None:
    """Raises `RequestError` where the argument of `step` is no whole number of steps."""
    if isinstance(count, bool) or not isinstance(count, int | np.integer) or count < 1:
        raise RequestError(f"step({argument}) computes a whole number of steps, one or more; {argument} is {count!r}.")


def check_numbers(value: Any, name: str, units: str) -> None:
    """Raises `ModelError` where a value to set is neither a number nor an array of numbers."""
    if hasattr(value, "data_vars"):
        raise ModelError(f'The value for "{name}" is a data set. Give one of its variables, such as dataset["{name}"].')
    given = value if hasattr(value, "dims") else np.asarray(value)
    if given.dtype.kind not in "biuf" or (given.dtype.kind == "b" and not given.ndim):
        raise ModelError(f'The value for "{name}" is {value!r:.60}; expected a number, or an array of numbers [{units}].')


def check_unmasked(value: Any, name: str) -> None:
    """Raises `ModelError` for a NumPy array in which values are masked: what lies under the mask must not be set."""
    masked = int(np.ma.getmaskarray(value).sum()) if isinstance(value, np.ma.MaskedArray) else 0
    if masked:
        raise ModelError(f'The array for "{name}" has {masked:,} masked values. Fill them, value.filled(...), or set a region.')


def unit_of(value: Any, units: str | None, name: str) -> str | None:
    """The unit of a value to set: as it is given, or as the attribute of an array of xarray says; None: the variable's own.

    Raises
    ------
    ModelError
        The two differ.
    """
    own = getattr(value, "attrs", {}).get("units")
    if units is not None and own is not None and str(own).strip() != units.strip():
        raise ModelError(f'The array for "{name}" has the attribute units = "{own}", and units="{units}" is given. Give one of them.')
    return own if units is None else units


def level_of_array(value: Any, name: str, dim: str, levels: Sequence[float], asked: str) -> str:
    """The name of the level that is set: `asked`, or where that is the whole variable, the level of an array's coordinate of one number.

    Raises
    ------
    ModelError
        The array is of another level than is asked for, or of one that the variable does not have.
    """
    if dim not in getattr(value, "coords", {}) or dim in value.dims:
        return asked
    given = float(value[dim])
    near = np.flatnonzero(np.isclose(levels, given, rtol=1e-6))
    if not near.size or asked not in (name, own := layer(name, int(near[0]))):
        what = f'"{name}" has {", ".join(f"{each:g}" for each in levels)}.'
        if near.size:
            what = f'"{asked}" is set. To set it there, drop the coordinate: array.drop_vars("{dim}").'
        raise ModelError(f'The array for "{name}" is of {dim} {given:g}, and {what}')
    return own


def on_axes(value: "xarray.DataArray", dims: Sequence[str], name: str, levels: str = "") -> "xarray.DataArray":
    """A map with the dimensions of a grid, in their order and under their names, each with its coordinate.

    A dimension is known by a coordinate along it: by its name, standard name, unit or axis. levels: a dimension that may come before.

    Raises
    ------
    ModelError
        A dimension is not known or has no coordinate, or there is another one.
    """
    along = [each for each in value.coords.values() if each.ndim == 1]
    found = [next((each for word in _AXES[dim] for each in along if word in _labels(each)), None) for dim in dims]
    named = {each.dims[0]: dim for each, dim in zip(found, dims, strict=True) if each is not None}
    if len(named) < len(dims):
        raise unplaced(value, name, dims)
    if set(value.dims) - {levels} != set(named):
        wanted = (levels, *dims) if levels else dims
        raise ModelError(f'The array for "{name}" has the dims ({_listed(value.dims)}); expected ({_listed(wanted)}).')
    bare = value.drop_vars([label for label in value.coords if label != levels]).swap_dims(named)
    placed = bare.assign_coords({dim: (dim, each.values) for dim, each in zip(dims, found, strict=True) if each is not None})
    return placed.transpose(..., *dims)


def _labels(coordinate: "xarray.DataArray") -> set[object]:
    return {coordinate.name, *(coordinate.attrs.get(key) for key in ("standard_name", "units", "axis"))}


def _listed(dims: Iterable[object]) -> str:
    return ", ".join(map(str, dims))


def unplaced(value: "xarray.DataArray", name: str, dims: Sequence[str]) -> ModelError:
    """The error of an array that does not say where its values lie."""
    expected = f"({_listed(dims)}) with coordinates" + (", or (cell) with the numbers of cells" if CELL not in dims else "")
    return ModelError(
        f'The array for "{name}" has the dims ({_listed(value.dims)}), and not the coordinates that say where its values lie; '
        f"expected {expected}. Give these, or array.values, which go by position."
    )


def by_cell(value: "xarray.DataArray", places: Integers, name: str, ids: Sequence[str] = ()) -> "xarray.DataArray":
    """An array along `cell` in the order of some places of the map, by its coordinate. ids: the names of all points.

    Raises
    ------
    ModelError
        It lacks a cell, or has no coordinate of cells.
    """
    given = _cells_of(value, ids)
    if given is None:
        raise unplaced(value, name, (CELL,))
    order = np.argsort(given, kind="stable")
    at = np.minimum(np.searchsorted(given, places, sorter=order), max(given.size - 1, 0))
    lacking = np.flatnonzero(given[order[at]] != places) if given.size else np.arange(len(places))
    if lacking.size:
        raise ModelError(
            f'The array for "{name}" has no cell {places[lacking[0]]} of the map. Give all {len(places):,} cells, or set a region.'
        )
    return value.isel({CELL: order[at]}).transpose(..., CELL)


def _cells_of(value: "xarray.DataArray", ids: Sequence[str]) -> Integers | None:
    """The place of each cell of an array, -1 of an unknown point; None where it does not say."""
    if CELL in value.dims and CELL in value.coords and value[CELL].dtype.kind in "iuf":
        return np.asarray(value[CELL].values)
    if CELL in value.dims and CELL_ID in value.coords and ids:
        numbers = {each: number for number, each in enumerate(ids)}
        return np.array([numbers.get(str(each), -1) for each in value[CELL_ID].values])
    return None
