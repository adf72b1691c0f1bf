"""Dates, numbers and arrays that a script gives, for a run at hand or on a server. Labels of an array count, not position alone."""

from collections.abc import Sequence
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
        what = f'"{asked}" is set' if near.size else f'"{name}" has {", ".join(f"{each:g}" for each in levels)}'
        raise ModelError(f'The array for "{name}" is of {dim} {given:g}, and {what}.')
    return own


def by_cell(value: "xarray.DataArray", places: Integers, name: str) -> "xarray.DataArray":
    """An array along `cell` in the order of some places of the map, by its coordinate; as it is where it has none.

    Raises
    ------
    ModelError
        It lacks a cell.
    """
    if CELL not in value.coords:
        return value
    given = np.asarray(value[CELL].values)
    order = np.argsort(given, kind="stable")
    at = np.minimum(np.searchsorted(given, places, sorter=order), max(given.size - 1, 0))
    lacking = np.flatnonzero(given[order[at]] != places) if given.size else np.arange(len(places))
    if lacking.size:
        raise ModelError(
            f'The array for "{name}" has no cell {places[lacking[0]]} of the map. Give all {len(places):,} cells, or set a region.'
        )
    return value.isel({CELL: order[at]})
