"""Replies as arrays of xarray: series over time, and maps of all levels."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from steppe.api import SeriesInfo, VariableInfo
from steppe.array_types import Array
from steppe.levels import LevelArray, flags

if TYPE_CHECKING:
    import xarray

STATISTICS = ["mean", "min", "max"]  # of a region
NANOSECONDS = range(1678, 2262)  # years that datetime64[ns] has
STANDARD = ("standard", "gregorian", "proleptic_gregorian", "")
TIME = {"standard_name": "time", "axis": "T"}  # attributes of CF


def times(dates: Iterable[str | None], calendar: str) -> Array:
    """Dates of a calendar, (time,): datetime64[ns] of the standard ones where it has all of them, cftime otherwise."""
    texts = [str(date) for date in dates]
    if calendar in STANDARD and all(int(text[:4]) in NANOSECONDS for text in texts):
        return np.array(texts, "datetime64[ns]")
    import cftime

    parts = [text.partition(".") for text in texts]
    numbers = [([*map(int, re.split("[-T:]", whole))], int(rest.ljust(6, "0"))) for whole, _, rest in parts]
    return np.array([cftime.datetime(*whole, microsecond=rest, calendar=calendar or "standard") for whole, rest in numbers])


def attributes_of(variable: VariableInfo, *more: str) -> dict[str, object]:
    """The attributes of CF that a variable declares. more: names beside unit, long and standard name."""
    said = {name: getattr(variable, name) for name in ("units", "long_name", "standard_name", *more)}
    return {name: text for name, text in said.items() if text} | flags(variable.classes)


def series_array(
    found: SeriesInfo, variable: VariableInfo, levels: Mapping[str, LevelArray], places: int, calendar: str
) -> "xarray.DataArray":
    """(time, place), of all levels (time, level, place); of a region, which is no place, (time, statistic).

    levels: their coordinate, or that of one.
    """
    import xarray  # 0.5 s

    kind = variable.dtype if variable.dtype.startswith("float") else float  # a decimal of float32 gives its bits to float32 alone
    values = np.array(found.values, kind).T
    coordinates: dict[str, object] = {"step": ("time", found.steps), **levels}
    dims: tuple[str, ...] = ("time", "place") if places else ("time", "statistic")
    if places:
        lon, lat = np.array(found.places[:places]).T
        coordinates |= {"lon": ("place", lon), "lat": ("place", lat)}
    else:
        coordinates["statistic"] = STATISTICS
    if variable.levels:
        values, dims = values.reshape(len(values), -1, places), ("time", variable.levels.name, "place")
    if all(found.dates):
        coordinates["time"] = "time", times(found.dates, calendar), TIME
    said = {"units": variable.units, "long_name": variable.long_name, "scenario": found.scenario}
    return xarray.DataArray(values, coordinates, dims, variable.name, said)


def all_levels(maps: "Sequence[xarray.DataArray]", variable: VariableInfo) -> "xarray.DataArray":
    """The maps of the levels of a variable as one array, ([time,] level, ...)."""
    import xarray

    assert variable.levels is not None
    name = variable.levels.name
    whole = xarray.concat(maps, name, coords="minimal", compat="override", join="override")
    first = ("time",) if "time" in maps[0].dims else ()
    whole = whole.transpose(*first, name, ...)
    whole.attrs["long_name"] = variable.long_name
    return whole.rename(variable.name)
