"""The record of a weather station, from any kind of file, and its checks."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from steppe.errors import ForcingError
from steppe.ingest.meteorology import Values
from steppe.io.forcing.variables import WEATHER

FAR = 0.1  # [degree] places that differ by more are reported: 10 km
ONE_DAY = np.timedelta64(1, "D")


class Site(NamedTuple):
    """The place of a station: a line of `stations.csv`, or the header of an APSIM file."""

    id: str
    name: str
    latitude: float
    longitude: float
    note: str


class Record(NamedTuple):
    """The values of a file: every day from `first`, float64 (days,) for each variable.

    taken: our name -> column. unread: other columns. own: variable that Steppe does not know -> its unit.
    """

    first: np.datetime64
    values: Mapping[str, Values]
    taken: Mapping[str, str]
    unread: tuple[str, ...]
    own: Mapping[str, str]


class Station(NamedTuple):
    """The record of one station, as in `Record`, and its place. notes: sentences about it for the user."""

    site: Site
    file: Path
    first: np.datetime64
    values: Mapping[str, Values]
    taken: Mapping[str, str] = {}
    unread: tuple[str, ...] = ()
    own: Mapping[str, str] = {}
    notes: tuple[str, ...] = ()

    @property
    def days(self) -> int:
        """Number of days of the record."""
        return len(self.values["rain"])

    @property
    def last(self) -> np.datetime64:
        """Last day of the record."""
        return self.first + (self.days - 1) * ONE_DAY


def check_place(site: Site, where: str) -> Site:
    """The same site. where: the file that has its place, for the message.

    Raises
    ------
    ForcingError
        It is no place on the Earth.
    """
    if not (abs(site.latitude) <= 90.0 and -180.0 <= site.longitude <= 360.0):
        raise ForcingError(
            f'{where}: station "{site.id}" has latitude {site.latitude:g}, longitude {site.longitude:g}; expected are latitudes from '
            "-90 to 90 and longitudes from -180 to 360 degrees. Correct its place."
        )
    return site


def moved(site: Site, other: Site, source: str) -> list[str]:
    """A sentence if `source` has the station at another place than the grid; else none."""
    if max(abs(site.latitude - other.latitude), abs(site.longitude - other.longitude)) <= FAR:
        return []
    return [
        f"the point is at latitude {site.latitude:g}, longitude {site.longitude:g}, "
        f"but {source} says latitude {other.latitude:g}, longitude {other.longitude:g}; the point counts"
    ]


def numbers(path: Path, name: str, column: Iterable[str], dates: NDArray[np.datetime64]) -> Values:
    """The values of one column.

    Raises
    ------
    ForcingError
        One of them is missing or not a number.
    """
    texts = list(column)
    values = np.array([_number(text) for text in texts])
    wrong = np.flatnonzero(~np.isfinite(values))
    if wrong.size:
        i = int(wrong[0])
        raise ForcingError(
            f'"{path}", {dates[i]}: {name} is "{texts[i]}", expected a number ({wrong.size} such days). Fill them where the file is made.'
        )
    return values


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return float("nan")


def check_limits(path: Path, values: Mapping[str, Values], dates: NDArray[np.datetime64]) -> None:
    """Checks that all values lie within their limits, and that tmin is not above tmax.

    Raises
    ------
    ForcingError
        A value does not; the message names the first one, and their number.
    """
    for name, variable in WEATHER.items():
        if name not in values:
            continue
        series, low, high = values[name], variable.low, variable.high
        wrong = np.flatnonzero((series < low) | (series > high))
        if wrong.size:
            i = int(wrong[0])
            raise ForcingError(
                f'"{path}", {dates[i]}: {name} is {series[i]:g}, expected {low:g} to {high:g} {variable.units} '
                f"({wrong.size} such days). Correct the file or its units line."
            )
    if "tmin" in values and "tmax" in values:
        wrong = np.flatnonzero(values["tmin"] > values["tmax"])
        if wrong.size:
            i = int(wrong[0])
            raise ForcingError(
                f'"{path}", {dates[i]}: tmin {values["tmin"][i]:g} is above tmax {values["tmax"][i]:g} degC ({wrong.size} such days). '
                "Correct the file."
            )
