"""The station records that the weather generator is fitted to and held to, and how their gaps are used.

A *wet day* has 1 mm or more (the WMO's count of wet days): below that, what is written down depends on the observer. Records count from
1957 on; before, humidity and temperature are long-term means. Rain counts on the days when it was read at the station (origin 0 or 1 of
SILO's code), or on all days where a record has no code. Pairs of days, or of stations, count where both were read. A year's total counts
where rain was read on nine days of ten, and takes the filled days too. Temperatures count on all days: the interpolated ones keep their
means and nearly all of their spread. Brigalow and Narayen have humidities computed from temperature: their vapour pressure does not count.
Pan evaporation counts from 1970 on, and not where it is a long-term mean (code 7).
"""

import csv
import gzip
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.float64]

WET = 1.0  # [mm] a day with as much is wet
SINCE = np.datetime64("1957-01-01")
PAN_SINCE = np.datetime64("1970-01-01")
COMPLETE = 0.9  # [1] of a year's days
FEWEST = 3  # years that a straight line is laid through
LEFT_OUT = {"cooper": "its longitude is not known"}
RAIN_ONLY = {"bundaberg": "its temperatures and radiation come from a weather generator"}
NO_HUMIDITY = {"brigalow67", "narayen", "bundaberg"}


class Record:
    """One station, (days,), NaN where a value does not count.

    `dates`; rain [mm], tmax, tmin [degC], radiation [MJ m-2 d-1], vp [hPa], pan [mm].

    filled: rain with the days that were interpolated.
    """

    def __init__(self, name: str, latitude: float, longitude: float, columns: dict[str, list[str]]) -> None:
        self.name, self.latitude, self.longitude = name, latitude, longitude
        dates = np.array(columns["date"], dtype="datetime64[D]")
        late = dates >= SINCE
        self.dates = dates[late]
        self.filled, self.tmax, self.tmin, self.radiation, self.vp, self.pan = (
            np.array([float(text) if text else np.nan for text in columns[key]])[late]
            for key in ("rain", "tmax", "tmin", "radiation", "vp", "pan")
        )
        read = np.array([not source or source[3] in "01" for source in columns["src"]])[late]
        self.rain = np.where(read, self.filled, np.nan)
        long_term_mean = np.array([source[4:5] == "7" for source in columns["src"]])[late]
        self.pan[long_term_mean | (self.dates < PAN_SINCE)] = np.nan
        if name in NO_HUMIDITY:
            self.vp = np.full(len(self.dates), np.nan)
        if name in RAIN_ONLY:
            self.tmax, self.tmin, self.radiation = (np.full(len(self.dates), np.nan) for _ in range(3))

    @cached_property
    def month(self) -> NDArray[np.int64]:
        """Month of each day, 0 to 11."""
        return self.dates.astype("datetime64[M]").astype(np.int64) % 12

    @cached_property
    def year(self) -> NDArray[np.int64]:
        """Year of each day."""
        return self.dates.astype("datetime64[Y]").astype(np.int64) + 1970

    @cached_property
    def day_of_year(self) -> NDArray[np.int64]:
        """Day of the year, 1 = 1 January."""
        return (self.dates - self.dates.astype("datetime64[Y]").astype("datetime64[D]")).astype(np.int64) + 1

    def total(self, year: int) -> float:
        """Rain of a year [mm], NaN where too few of its days were read."""
        of = self.year == year
        return float(self.filled[of].sum()) if (~np.isnan(self.rain[of])).sum() >= COMPLETE * 365.0 else np.nan

    def annual_rain(self) -> Values:
        """Totals [mm] of the years that are complete enough."""
        totals = np.array([self.total(year) for year in np.unique(self.year)])
        return totals[~np.isnan(totals)]


class Wetness(NamedTuple):
    """Rain at one place.

    monthly: mean of each month (12,) [mm d-1]; share of wet days; chance of a wet day after a wet one; heavy: 95th percentile of
    wet days [mm].
    """

    monthly: Values
    share: float
    after_wet: float
    heavy: float


def wetness(rain: Values, month: NDArray[np.int64]) -> Wetness:
    """Of days of rain (days,) [mm], NaN where not read, in months 0 to 11."""
    read = ~np.isnan(rain)
    wet = rain >= WET
    follows = read[:-1] & read[1:] & wet[:-1]
    monthly = np.array([rain[read & (month == m)].mean() for m in range(12)])
    return Wetness(monthly, wet[read].mean(), wet[1:][follows].mean(), float(np.quantile(rain[wet], 0.95)))


def persistence(temperature: Values, day_of_year: NDArray[np.int64]) -> float:
    """Correlation of a day's departure from the season (two harmonics) with that of the day before."""
    departure = departures(temperature, day_of_year)
    return float(np.corrcoef(departure[:-1], departure[1:])[0, 1])


def departures(values: Values, day_of_year: NDArray[np.int64]) -> Values:
    """What is left (days,) after mean and two harmonics of the year."""
    angle = 2.0 * np.pi * day_of_year / 365.25
    season = np.column_stack([np.ones_like(angle), *(turned(k * angle) for k in (1, 2) for turned in (np.cos, np.sin))])
    left: Values = values - season @ np.linalg.lstsq(season, values, rcond=None)[0]
    return left


def yearly(values: Values, year: NDArray[np.int64]) -> tuple[NDArray[np.int64], Values]:
    """The years (years,) and their means, NaN where less than nine days of ten count; values, year: (days,)."""
    years, of = np.unique(year, return_inverse=True)
    known = ~np.isnan(values)
    count = np.bincount(of, known)
    means: Values = np.bincount(of, np.where(known, values, 0.0)) / np.maximum(count, 1.0)
    return years, np.where(count >= COMPLETE * 365.0, means, np.nan)


def detrended(years: NDArray[np.int64], means: Values) -> Values:
    """What is left (years,) after a straight line through the means that are known."""
    known = ~np.isnan(means)
    left = np.full(len(means), np.nan)
    if known.sum() >= FEWEST:
        since = years[known] - years[known].mean()
        left[known] = means[known] - means[known].mean() - since * (since @ means[known]) / (since @ since)
    return left


def read_records(folder: Path) -> list[Record]:
    """All stations of `folder` but those left out."""
    with (folder / "stations.csv").open(encoding="utf-8") as file:
        sites = [row for row in csv.DictReader(file) if row["id"] not in LEFT_OUT]
    records = []
    for site in sites:
        with gzip.open(folder / f"{site['id']}.csv.gz", "rt", encoding="utf-8") as file:
            header, *rows = csv.reader(file)
        columns = dict(zip(header, map(list, zip(*rows, strict=True)), strict=True))
        records.append(Record(site["id"], float(site["lat"]), float(site["lon"]), columns))
    return records
