"""Weather, parameters and starts of the cases that the pasture is held to."""

import csv
import gzip
import io
import tomllib
from functools import cache
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from tests.models.pasture_reference import parameters
from tests.shared import shared_path

from steppe.models import pasture
from steppe.models.cell_declaration import CellDeclaration
from steppe.models.pasture.options import INTENSITY, ORIGINAL

GRAZED = {"stocking_rate": 0.1, "animal_weight": 400.0, "intake_yield": 300.0, "kangaroo_density": 10.0}
NAMES = ("rain", "tmin", "tmax", "radiation", "vp", "pan")
DECLARED = CellDeclaration(pasture)
AS_PRINTED = pasture.Options(soil_evaporation=ORIGINAL)  # the form of the original program, and of the runs that reproduce it


class Weather(NamedTuple):
    """Daily records of a station: dates (days,), values (days, 6) in the order of NAMES, day of year and month (days,)."""

    dates: np.ndarray
    values: np.ndarray
    day_of_year: np.ndarray
    month: np.ndarray

    def days(self) -> list[tuple[pasture.Forcing, pasture.Today]]:
        """What the scalar step takes."""
        rows = zip(self.values.tolist(), self.day_of_year.tolist(), self.month.tolist(), strict=True)
        return [(pasture.Forcing(*row[:5], 0.0, row[5], 0.0), pasture.Today(float(day), float(month))) for row, day, month in rows]


class Case(NamedTuple):
    """A reference run: its station, period and parameters, the file of its first years, its options, and what its rain is multiplied by."""

    station: str
    first: str
    last: str
    parameters: pasture.Parameters
    file: str
    options: pasture.Options = AS_PRINTED
    rain_factor: float = 1.0

    def weather(self) -> "Weather":
        """The weather of the whole run; rain is rounded to 0.1 mm after it is multiplied."""
        records = weather(self.station, self.first, self.last)
        if self.rain_factor == 1.0:
            return records
        values = records.values.copy()
        values[:, 0] = np.round(self.rain_factor * values[:, 0], 1)
        return records._replace(values=values)


def table(name: str) -> dict[str, list[str]]:
    """Column -> texts of a CSV file of the shared data."""
    path = shared_path(f"data/weather/{name}")
    raw = path.read_bytes()
    text = gzip.decompress(raw).decode() if path.suffix == ".gz" else raw.decode()
    rows = list(csv.reader(io.StringIO(text)))
    return {column: [row[k] for row in rows[1:]] for k, column in enumerate(rows[0])}


@cache
def weather(station: str, first: str = "0000", last: str = "9999") -> Weather:
    """Records of a station from `first` to `last`, ISO dates, both included."""
    columns = table(f"{station}.csv.gz")
    keep = [n for n, date in enumerate(columns["date"]) if first <= date <= last]
    dates = np.array([columns["date"][n] for n in keep], "datetime64[D]")
    values = np.array([[float(columns[name][n]) for name in NAMES] for n in keep])
    years, months = dates.astype("datetime64[Y]"), dates.astype("datetime64[M]")
    return Weather(dates, values, (dates - years).astype(int) + 1, (months - years).astype(int) + 1)


def weekly(daily: Weather) -> Weather:
    """The same, all but rain as 52 means of a year: day d, from 1, lies in week min((d - 1) div 7, 51)."""
    values = daily.values.copy()
    weeks = np.minimum((daily.day_of_year - 1) // 7, 51)
    starts = np.flatnonzero(np.diff(weeks, prepend=-1) != 0)
    for begin, end in pairwise([*starts, len(weeks)]):
        values[begin:end, 1:] = values[begin:end, 1:].mean(axis=0)
    return daily._replace(values=values)


def by_year(dates: np.ndarray, values: Any) -> dict[int, float]:
    """Year -> sum."""
    years = dates.astype("datetime64[Y]").astype(int) + 1970
    return {int(year): float(np.sum(np.asarray(values)[years == year])) for year in np.unique(years)}


@cache
def case(name: str) -> Case:
    """The case of a name; the newer ones are read from their file."""
    if name in EARLIER:
        return EARLIER[name]
    told = tomllib.loads(shared_path(f"data/weather/reference/{name}.toml").read_text(encoding="utf-8"))
    p = parameters(**told.get("sets", {}), **told["parameters"])
    dates = (told["first"].isoformat(), told["last"].isoformat())
    return Case(told["station"], *dates, p, told["daily"].removesuffix(".csv.gz"), DECLARED.options(told["options"]), told["rain_factor"])


EARLIER = {
    "brigalow67_cn": Case("brigalow67", "1957-01-01", "1998-12-31", parameters("brigalow67", "brigalow67"), "brigalow67_cn_first4years"),
    "dalby_mitchell_cn": Case(
        "041522", "1980-01-01", "1999-12-31", parameters("mitchell", "open-downs", **GRAZED), "dalby_mitchell_cn_first4years"
    ),
    "dalby_mitchell_int": Case(
        "041522",
        "1980-01-01",
        "1999-12-31",
        parameters("mitchell", "open-downs", **GRAZED),
        "dalby_mitchell_int_first2years",
        AS_PRINTED._replace(runoff=INTENSITY),
    ),
    "emerald_belyando_trees": Case(
        "035027",
        "1985-01-01",
        "2000-12-31",
        parameters("belyando", "black-vertosol", tree_basal_area=6.0),
        "emerald_belyando_trees_first4years",
    ),
    "miles_native_burnt": Case(
        "042023", "1985-01-01", "2000-12-31", parameters("native", "roma-red-earth", burn_day=244.0), "miles_native_burnt_first4years"
    ),
}
CASES = (*EARLIER, "every_option", "wet_original", "wet_bounded")
