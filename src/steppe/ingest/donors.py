"""Donors: the stations whose weather is spread over a grid, as departures from their own normals.

A departure travels where the value itself would not: a month with twice the normal rain in the valley is one with about twice the normal
rain on the range. Means of other stations as donors of *values* were wrong by 18 % of rain in the mean, donors of departures by 5 %.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from steppe.array_types import Floats
from steppe.ingest.meteorology import Values
from steppe.ingest.months import Months
from steppe.ingest.normals import Normals
from steppe.ingest.station import Site, Station

BASE = (1961, 1990)  # the period of the normals; WMO standard normals, and that of CRU CL 2.0
ENOUGH_YEARS = 10  # [1] of the base period make a normal of a station's own; judgement
DRY_MONTH = 5.0  # [mm] below this normal a ratio says little ...
LARGEST_RATIO = 8.0  # [1] ... and is capped here; judgement
TEMPERATURES = ("tmin", "tmax")


class Donors(NamedTuple):
    """The departures of some stations, NaN in months that a station does not cover from first to last day.

    rain_ratio (months, donors) [1]: month's total over its normal. rain_share (days, donors) [1]: part of the month's total that fell on
    the day, 0 in a dry month. departure: name -> (days, donors), difference from the normal [K] for tmin and tmax, ratio [1] for radiation
    and vp. latitude, longitude (donors,) [degrees].
    """

    months: Months
    sites: tuple[Site, ...]
    latitude: Values
    longitude: Values
    rain_ratio: Values
    rain_share: Values
    departure: Mapping[str, Values]

    def covering(self, year: int) -> int:
        """The number of donors that give rain in every month of a year."""
        first = (year - self.months.first_year) * 12
        return int(np.isfinite(self.rain_ratio[first : first + 12]).all(axis=0).sum())


def make_donors(stations: Sequence[Station], months: Months, normals: Normals, rain_only: frozenset[str]) -> Donors:
    """The departures of stations from their normals over `months`.

    The normal of a station is its own mean of 1961-90 where it has ten years of the month in it, so that a donor is exact at its own place,
    else `normals`, those of the place (12, stations); a station that has neither (NaN) gives nothing.
    """
    values = {name: np.full((len(months.dates), len(stations)), np.nan) for name in ("rain", *TEMPERATURES, "radiation", "vp")}
    for column, station in enumerate(stations):
        for name, table in values.items():
            if name in station.values and (name == "rain" or station.site.id not in rain_only):
                _place(table[:, column], station.values[name], months.day(station.first))
    totals = months.sums(values["rain"])
    own_rain = _own_normals(totals, months)
    normal = np.where(np.isnan(own_rain), normals.rain, own_rain)[np.arange(len(totals)) % 12]
    ratio = totals / np.maximum(normal, 0.01)
    ratio = np.where(normal < DRY_MONTH, np.minimum(ratio, LARGEST_RATIO), ratio)
    month_of_day = np.repeat(np.arange(len(totals)), np.diff(months.starts))
    share = values["rain"] / np.where(totals > 0.0, totals, 1.0)[month_of_day]

    departure = {}
    days = range(len(months.dates))
    lengths = np.diff(months.starts)[:, None]
    for name in (*TEMPERATURES, "radiation", "vp"):
        means = months.sums(values[name]) / lengths
        own = _own_normals(means, months)
        usual = months.interpolate(np.where(np.isnan(own), getattr(normals, name), own), days)
        found = values[name] - usual if name in TEMPERATURES else values[name] / usual
        found[np.isnan(means)[month_of_day]] = np.nan
        departure[name] = found
    sites = tuple(station.site for station in stations)
    latitude, longitude = np.array([site.latitude for site in sites]), np.array([site.longitude for site in sites])
    return Donors(months, sites, latitude, longitude, ratio, share, departure)


def _place(column: Values, series: Values, first: int) -> None:
    """Copies the part of a series beginning on day `first` that lies within the days of `column`."""
    start, stop = max(first, 0), min(first + len(series), len(column))
    if start < stop:
        column[start:stop] = series[start - first : stop - first]


def _own_normals(monthly: Values, months: Months) -> Floats:
    """Mean of each calendar month over the base period (12, donors), NaN with fewer than ten years."""
    first, last = (BASE[0] - months.first_year) * 12, (BASE[1] + 1 - months.first_year) * 12
    by_year = monthly[first:last].reshape(-1, 12, monthly.shape[1])
    count = np.isfinite(by_year).sum(axis=0)
    mean = np.nansum(by_year, axis=0) / np.maximum(count, 1)
    return np.where(count >= ENOUGH_YEARS, mean, np.nan)
