"""Dates of replies as coordinates of xarray."""

import re
from collections.abc import Iterable

import numpy as np

from steppe.array_types import Array

STANDARD = ("standard", "gregorian", "proleptic_gregorian", "")
TIME = {"standard_name": "time", "axis": "T"}  # attributes of CF


def times(dates: Iterable[str | None], calendar: str) -> Array:
    """Dates of a calendar, (time,): datetime64 of the standard ones, cftime of the others."""
    if calendar in STANDARD:
        return np.array(dates, "datetime64[ns]")
    import cftime

    parts = [str(date).partition(".") for date in dates]
    numbers = [([*map(int, re.split("[-T:]", whole))], int(rest.ljust(6, "0"))) for whole, _, rest in parts]
    return np.array([cftime.datetime(*whole, microsecond=rest, calendar=calendar) for whole, rest in numbers])
