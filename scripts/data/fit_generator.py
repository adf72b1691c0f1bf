"""Fits the tables of `steppe.ingest.generator` to normals and station records, and prints how well they fit.

    python -m scripts.data.fit_generator ../shared/data

`climate.csv`: CRU CL 2.0 (New and others 2002, 10 minutes, 1961-90) at the positions of `normals/queensland_normals.csv`, and the means of
the stations, which weigh four times as much: harmonics of the year at each place by least squares, then their coefficients as surfaces by
least squares with a small penalty on the bumps. `days.toml`: the stations alone. `docs/generator.md` has the equations.
"""

import csv
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scripts.data.fit_generator_days import ANGLE, DRIEST, LENGTH, by_month, write_days
from verification.generator.records import Record, read_records

from steppe.ingest.generator.climate import HARMONICS, TREND, bump, trend, waves
from steppe.ingest.meteorology import extraterrestrial_radiation, saturation_vapour_pressure

Values = NDArray[np.float64]

TARGET = Path(__file__).parents[2] / "src" / "steppe" / "ingest" / "generator"
MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
CLOSE = 12.0  # [km] positions nearer to one that is taken say nothing new
DOUBTFUL = 0.23  # ln; positions where CRU and WorldClim differ by more are wrong (see the README of the normals)
PAPUA = -10.4  # [degrees] positions north of it lie in Papua
STATION_WEIGHT = 4.0
BUMPS = 36
PENALTY = {"1": 1e-3, "bump": 0.2}
# harmonics of the trend, and of the bumps
ORDER = {"rain": (7, 3), "tmax": (5, 3), "tmin": (5, 3), "vp": (5, 1), "clearness": (5, 1)}


class Places(NamedTuple):
    """Where something is known: latitude, longitude [degrees] (places,), weight [1], and name -> monthly means (places, 12) or NaN."""

    latitude: Values
    longitude: Values
    weight: Values
    monthly: dict[str, Values]


def main(folder: Path) -> None:
    """Fits all and writes the tables."""
    records = read_records(folder / "weather")
    places = join(read_normals(folder / "normals" / "queensland_normals.csv"), station_means(records))
    centres = choose_centres(places)
    write_climate(centres, {name: fit_surface(name, places, centres) for name in ORDER})
    write_days(records, TARGET / "days.toml")


def read_normals(path: Path) -> Places:
    """The CRU columns."""
    with path.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    annual = {row["id"]: float(row["annual"]) for row in rows if row["variable"] == "rain" and row["source"].startswith("WorldClim")}
    sites: dict[str, dict[str, Values]] = {}
    at: dict[str, tuple[float, float]] = {}
    for row in rows:
        if row["source"].startswith("CRU"):
            sites.setdefault(row["id"], {})[row["variable"]] = np.array([float(row[month]) for month in MONTHS])
            at[row["id"]] = (float(row["lat"]), float(row["lon"]))
    taken: list[str] = []
    for name, normals in sites.items():
        good = at[name][0] < PAPUA and abs(np.log(normals["rain"].sum() / annual[name])) < DOUBTFUL
        if good and all(distance(at[name], at[other]) > CLOSE for other in taken):
            taken.append(name)
    where = np.array([at[name] for name in taken])
    get: Callable[[str], Values] = lambda variable: np.array([sites[name][variable] for name in taken])  # noqa: E731
    tmax, tmin = get("tmax"), get("tmin")
    # the mean agrees with the 9 a.m. vapour pressure of the stations after 1.04; clearness from sunshine as in FAO-56, equation 35
    vp = 1.04 * get("relative_humidity") / 100.0 * (saturation_vapour_pressure(tmax) + saturation_vapour_pressure(tmin)) / 2.0
    monthly = {
        "rain": np.log(np.maximum(get("rain") / LENGTH, DRIEST)),
        "tmax": tmax,
        "tmin": tmin,
        "vp": np.log(vp),
        "clearness": 0.25 + 0.5 * get("sunshine") / 100.0,
    }
    print(f"{len(taken)} CRU positions")
    return Places(where[:, 0], where[:, 1], np.ones(len(taken)), monthly)


def station_means(records: list[Record]) -> Places:
    """The monthly means of the stations."""
    latitude, longitude = (np.array([getattr(record, name) for record in records]) for name in ("latitude", "longitude"))
    monthly = {name: np.full((len(records), 12), np.nan) for name in ORDER}
    for i, record in enumerate(records):
        above = extraterrestrial_radiation(latitude[i : i + 1], record.day_of_year)[:, 0]
        days = {"rain": record.rain, "tmax": record.tmax, "tmin": record.tmin, "vp": record.vp, "clearness": record.radiation / above}
        for name, values in days.items():
            monthly[name][i] = [np.nanmean(part) if (~np.isnan(part)).any() else np.nan for part in by_month(values, record.month)]
    monthly["rain"], monthly["vp"] = np.log(np.maximum(monthly["rain"], DRIEST)), np.log(monthly["vp"])
    print(f"{len(records)} stations")
    return Places(latitude, longitude, np.full(len(records), STATION_WEIGHT), monthly)


def join(one: Places, two: Places) -> Places:
    """Both."""
    monthly = {name: np.concatenate([one.monthly[name], two.monthly[name]]) for name in ORDER}
    return Places(*(np.concatenate([getattr(one, name), getattr(two, name)]) for name in Places._fields[:3]), monthly)


def distance(one: tuple[float, float], two: tuple[float, float]) -> float:
    """[km], on a plane."""
    return 111.2 * float(np.hypot(one[0] - two[0], (one[1] - two[1]) * np.cos(np.radians((one[0] + two[0]) / 2.0))))


def choose_centres(places: Places) -> list[tuple[float, float]]:
    """Centres of bumps, each the place farthest from those before it, to half a degree; the first is the one nearest to the middle."""
    sites = list(zip(places.latitude, places.longitude, strict=True))
    middle = (float(places.latitude.mean()), float(places.longitude.mean()))
    chosen = [min(sites, key=lambda site: distance(site, middle))]
    while len(chosen) < BUMPS:
        chosen.append(max(sites, key=lambda site: min(distance(site, other) for other in chosen)))
    return [(round(lat * 2.0) / 2.0, round(lon * 2.0) / 2.0) for lat, lon in chosen]


def fit_surface(name: str, places: Places, centres: list[tuple[float, float]]) -> Values:
    """Coefficients (terms, harmonics) of one quantity; prints its errors, also at places left out of the fit."""
    known = ~np.isnan(places.monthly[name]).any(axis=1)
    lat, lon, weight, monthly = places.latitude[known], places.longitude[known], places.weight[known], places.monthly[name][known]
    order, of_bumps = ORDER[name]
    turns = waves(ANGLE, order)
    harmonics = np.linalg.lstsq(turns.T, monthly.T, rcond=None)[0].T
    plain = trend(lat, lon).T
    full = np.column_stack([plain, *(bump(lat, lon, centre) for centre in centres)])
    solved = lambda keep: solve(plain[keep], full[keep], harmonics[keep], weight[keep], of_bumps)  # noqa: E731
    coefficients = solved(np.ones(len(lat), bool))
    relative = name in ("rain", "vp")
    error = lambda fitted: np.abs(np.expm1(fitted - monthly)) if relative else np.abs(fitted - monthly)  # noqa: E731
    inside = error(full @ coefficients @ turns)
    fold = np.arange(len(lat)) % 10
    outside = np.empty_like(inside)
    for k in range(10):
        outside[fold == k] = error(full @ solved(fold != k) @ turns)[fold == k]
    stations = weight > 1.0
    for what, values, of in (
        ("CRU", inside, ~stations),
        ("stations", inside, stations),
        ("CRU left out", outside, ~stations),
        ("stations left out", outside, stations),
    ):
        print(
            f"{name:10s} {what:18s} monthly error: median {np.median(values[of]):.3f}, nine of ten below {np.quantile(values[of], 0.9):.3f}"
        )
    return coefficients


def solve(plain: Values, full: Values, harmonics: Values, weight: Values, of_bumps: int) -> Values:
    """Ridge regression; the bumps take part in the first harmonics only."""
    coefficients = np.zeros((full.shape[1], harmonics.shape[1]))
    for terms, part in ((full, slice(0, of_bumps)), (plain, slice(of_bumps, None))):
        penalty = np.where(np.arange(terms.shape[1]) < len(TREND), PENALTY["1"], PENALTY["bump"])
        left = (terms * weight[:, None]).T @ terms + np.diag(penalty)
        coefficients[: terms.shape[1], part] = np.linalg.solve(left, (terms * weight[:, None]).T @ harmonics[:, part])
    return coefficients


def write_climate(centres: list[tuple[float, float]], fitted: dict[str, Values]) -> None:
    """`climate.csv`."""
    columns = [(name, k) for name, (order, _) in ORDER.items() for k in range(order)]
    rows = [(term, "", "") for term in TREND] + [("bump", f"{lat:g}", f"{lon:g}") for lat, lon in centres]
    lines = [
        "# The climate of the weather generator: coefficients of terms (rows) and harmonics of the year (columns). See climate.py.",
        "# Fitted by scripts/data/fit_generator.py to CRU CL 2.0 (New and others 2002, Climate Research 21, 1-25) and to stations.",
        "# rain: ln of mm d-1; tmax, tmin: degC; vp: ln of hPa; clearness: share of the radiation above the air.",
        ",".join(["term", "lat", "lon", *(f"{name} {HARMONICS[k]}" for name, k in columns)]),
    ]
    for i, row in enumerate(rows):
        numbers = [f"{fitted[name][i, k]:.3f}" if fitted[name][i, k] else "" for name, k in columns]
        lines.append(",".join([*row, *numbers]))
    (TARGET / "climate.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
