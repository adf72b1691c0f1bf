"""Generated weather at the places of the station records, and what of it is held beside them."""

from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from steppe.ingest.generator import Generator
from steppe.ingest.generator.weather import days_of_year
from verification.generator.records import Record, Values, Wetness, persistence, wetness

FIRST = int((np.datetime64("1961-01-01") - np.datetime64("1850-01-01")).astype(int))
YEARS = 30
DAYS = int((np.datetime64("1991-01-01") - np.datetime64("1961-01-01")).astype(int))
BLOCK = 512  # days made at a time
LEAST_DAYS = 3000  # that both stations of a pair read
LEAST_YEARS = 20  # of a record whose years are compared


class Made(NamedTuple):
    """Generated days at the stations (days, stations) in the units of `Record`, rain to a tenth.

    month: 0 to 11; year; day_of_year (days,).
    """

    rain: Values
    tmax: Values
    tmin: Values
    radiation: Values
    vp: Values
    pan: Values
    month: NDArray[np.int64]
    year: NDArray[np.int64]
    day_of_year: NDArray[np.int64]


class Correlation(NamedTuple):
    """Means over pairs of stations."""

    made: float
    seen: float


def make(records: list[Record], seeds: range) -> Made:
    """Thirty years of each seed, one after the other."""
    latitude, longitude = (np.array([getattr(record, name) for record in records]) for name in ("latitude", "longitude"))
    blocks = [
        Generator(latitude, longitude, seed).weather(FIRST + day, min(BLOCK, DAYS - day)) for seed in seeds for day in range(0, DAYS, BLOCK)
    ]
    found = {name: np.concatenate([block[name] for block in blocks]) for name in blocks[0]}
    found["rain"] = np.round(found["rain"], 1)
    dates = np.datetime64("1961-01-01") + np.arange(DAYS)
    month = dates.astype("datetime64[M]").astype(np.int64) % 12
    year = dates.astype("datetime64[Y]").astype(np.int64)
    years = np.concatenate([year + 1000 * seed for seed in seeds])
    month, day_of_year = (np.tile(values, len(seeds)) for values in (month, days_of_year(FIRST, DAYS)))
    return Made(**found, month=month, year=years, day_of_year=day_of_year)


def errors(records: list[Record], made: Made) -> dict[str, Values]:
    """What is generated less what was recorded, by name, (stations,) or (stations x 12,). Amounts and their spread are relative."""
    seen = [wetness(record.rain, record.month) for record in records]
    found = [wetness(made.rain[:, i], made.month) for i in range(len(records))]
    pairs: list[tuple[Wetness, Wetness]] = list(zip(found, seen, strict=True))
    annual = [
        annual_totals(made, i).std(ddof=1) / totals.std(ddof=1) - 1.0
        for i, record in enumerate(records)
        if len(totals := record.annual_rain()) >= LEAST_YEARS
    ]
    lasting = [
        persistence(made.tmax[:, i], made.day_of_year) - persistence(record.tmax, record.day_of_year)
        for i, record in enumerate(records)
        if not np.isnan(record.tmax).any()
    ]
    return {
        "monthly rain": np.concatenate([one.monthly / two.monthly - 1.0 for one, two in pairs]),
        "share of wet days": np.array([one.share - two.share for one, two in pairs]),
        "P(wet | wet)": np.array([one.after_wet - two.after_wet for one, two in pairs]),
        "95th percentile of wet days": np.array([one.heavy / two.heavy - 1.0 for one, two in pairs]),
        "lag-1 of tmax": np.array(lasting),
        "sd of annual totals": np.array(annual),
    }


def annual_totals(made: Made, station: int) -> Values:
    """Rain of each year [mm]."""
    totals: Values = np.bincount(np.unique(made.year, return_inverse=True)[1], made.rain[:, station])
    return totals


def halves(records: list[Record]) -> Values:
    """Monthly rain in the odd years of each record over that in the even ones, less 1: what thirty years can tell at all."""
    found = []
    for record in records:
        odd = record.year % 2 == 1
        one, two = (wetness(np.where(of, record.rain, np.nan), record.month).monthly for of in (odd, ~odd))
        found.append(one / two - 1.0)
    return np.concatenate(found)


def of_days(records: list[Record], made: Made, low: float, high: float, months: tuple[int, ...] = tuple(range(12))) -> Correlation:
    """Of rain on days of some months, between stations `low` to `high` km apart."""
    chosen = np.isin(made.month, months)
    found = []
    for i, j in pairs_apart(records, low, high):
        one, two = (np.where(np.isin(records[k].month, months), records[k].rain, np.nan) for k in (i, j))
        found += both(records[i].dates, one, records[j].dates, two, made.rain[chosen][:, [i, j]], LEAST_DAYS * len(months) // 12)
    return Correlation(*np.mean(found, axis=0))


def of_years(records: list[Record], made: Made, low: float, high: float) -> Correlation:
    """Of annual totals between stations `low` to `high` km apart."""
    found = []
    for i, j in pairs_apart(records, low, high):
        totals = np.stack([annual_totals(made, station) for station in (i, j)], axis=1)
        found += both(*years_of(records[i]), *years_of(records[j]), totals, LEAST_YEARS)
    return Correlation(*np.mean(found, axis=0))


def pairs_apart(records: list[Record], low: float, high: float) -> list[tuple[int, int]]:
    """Stations `low` to `high` km apart."""
    return [(i, j) for i, j in combinations(range(len(records)), 2) if low <= kilometres(records[i], records[j]) < high]


def both(when: Values, one: Values, also: Values, two: Values, made: Values, least: int) -> list[tuple[float, float]]:
    """Correlation generated and recorded over the times that two series share, if these are enough."""
    _, first, second = np.intersect1d(when, also, return_indices=True)
    x, y = one[first], two[second]
    known = ~np.isnan(x) & ~np.isnan(y)
    return [(np.corrcoef(made.T)[0, 1], np.corrcoef(x[known], y[known])[0, 1])] if known.sum() >= least else []


def years_of(record: Record) -> tuple[Values, Values]:
    """The years of a record, and their rain [mm], NaN where not complete."""
    years = np.unique(record.year)
    return years, np.array([record.total(year) for year in years])


def kilometres(one: Record, two: Record) -> float:
    """Distance along the sphere."""
    a, b = np.radians(one.latitude), np.radians(two.latitude)
    apart = np.radians(one.longitude - two.longitude)
    return float(6371.0 * np.arccos(np.sin(a) * np.sin(b) + np.cos(a) * np.cos(b) * np.cos(apart)))
