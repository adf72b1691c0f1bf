"""The climate of a place: smooth surfaces of a few coefficients (`climate.csv`, `days.toml`), fitted by `scripts/data/fit_generator.py`.

    value(place, day) = sum over terms of  term(place) x (mean + cos1 cos a + sin1 sin a + cos2 cos 2a + ...),   a = the angle of the year

Terms are powers of latitude, exponentials of the distance from the coast of Australia, and bumps about points where normals are known.
A bump is nothing some hundred kilometres away: there the climate is extrapolated by latitude and distance from the coast.
"""

import csv
import tomllib
from functools import cache
from importlib.resources import files
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from steppe.array_types import Floats
from steppe.ingest.generator.lattice import EARTH
from steppe.ingest.meteorology import Values

TREND = ("1", "l", "l2", "l3", "near", "near l", "near l2", "coastal", "coastal l", "coastal l2", "inland", "barrier")
NEAR, COASTAL = 50.0, 250.0  # [km] over which the sea is felt
BARRIER = (
    -17.4,
    1.3,
)  # [degrees] middle and half width of the latitudes where mountains stand in the trade wind at the sea: the wet tropics
BUMP = 300.0  # [km] width of a bump
REACH = 0.25  # [1] height of a bump 500 km from its centre
FARTHEST = 1000.0  # [km] from the coast; no place in Australia is as far
EQUATORWARD, POLEWARD = -9.0, -37.0  # [degrees] of latitude: normals and stations end there; beyond, the climate stays as it is there
HARMONICS = ("mean", "cos1", "sin1", "cos2", "sin2", "cos3", "sin3")
NORTHMOST = 0.3  # [10 degrees] north of 25 S; the stations end there, and how days differ stays that of there
YEAR = 365.25  # [d]


class Surfaces(NamedTuple):
    """The values of `climate.csv`, (angles, cells): ln rain [mm d-1], tmax, tmin [degC], ln vp [hPa], clearness [1] of the sky."""

    rain: Values
    tmax: Values
    tmin: Values
    vp: Values
    clearness: Values


class ClimateSpread(NamedTuple):
    """The values of `days.toml` for the spread of days, (angles, cells).

    dry: standard normal quantile of the chance of less than 1 mm; tmax, tmin, vp: ln of the standard deviations [degC, degC, ln hPa];
    persistence: correlation of wetness with that of the day before [1]; memory: share of tmax's own variance that lasts [1].
    """

    dry: Values
    persistence: Values
    tmax: Values
    tmin: Values
    vp: Values
    memory: Values


def distance_from_coast(latitude: Values, longitude: Values) -> Values:
    """Distance [km] to the coast of Australia (`coast.csv`), at most FARTHEST; good to about 20 km."""
    line = _table("coast.csv")
    nearest = np.full(latitude.shape, FARTHEST)
    narrowing = np.cos(np.radians(latitude))
    for start, end in pairwise(line):
        if start[0] != end[0]:
            continue  # from one island to the next
        x, y = (start[2] - longitude) * narrowing, start[1] - latitude
        dx, dy = (end[2] - start[2]) * narrowing, end[1] - start[1]
        along = np.clip(-(x * dx + y * dy) / (dx * dx + dy * dy), 0.0, 1.0)
        nearest = np.minimum(nearest, EARTH * np.sqrt((x + along * dx) ** 2 + (y + along * dy) ** 2))
    return nearest


def southern(latitude: Values) -> Values:
    """The latitude in the southern hemisphere [degrees] whose climate a place has, half a year apart if it lies in the northern."""
    mirrored: Values = np.clip(-np.abs(latitude), POLEWARD, EQUATORWARD)
    return mirrored


def trend(latitude: Values, longitude: Values) -> Values:
    """The terms TREND, (terms, cells)."""
    south, coast = (southern(latitude) + 25.0) / 10.0, distance_from_coast(latitude, longitude)
    near, coastal = np.exp(-coast / NEAR), np.exp(-coast / COASTAL)
    barrier = near * np.exp(-(((latitude - BARRIER[0]) / BARRIER[1]) ** 2))
    powers = [np.ones_like(south), south, south * south]
    return np.stack([*powers, south**3, *(near * p for p in powers), *(coastal * p for p in powers), coast / FARTHEST, barrier])


def bump(latitude: Values, longitude: Values, centre: tuple[float, float]) -> Values:
    """One bump, (cells,) [1]; centre: its latitude and longitude [degrees]."""
    x, y = (longitude - centre[1]) * np.cos(np.radians(centre[0])), latitude - centre[0]
    height: Values = np.exp(-(x * x + y * y) * (EARTH / BUMP) ** 2 / 2.0)
    return height


def is_extrapolated(latitude: Values, longitude: Values) -> NDArray[np.bool_]:
    """True where no bump reaches, (cells,): there only latitude and distance from the coast give the climate."""
    reach = np.zeros(latitude.shape)
    for centre in _climate()[0]:
        reach = np.maximum(reach, bump(latitude, longitude, centre))
    return reach < REACH


def local(latitude: Values, longitude: Values) -> Values:
    """The terms of `days.toml` without their season, (5, cells): 1, latitude, near, near and latitude, coastal."""
    south = np.minimum((southern(latitude) + 25.0) / 10.0, NORTHMOST)
    coast = distance_from_coast(latitude, longitude)
    near = np.exp(-coast / NEAR)
    return np.stack([np.ones_like(south), south, near, near * south, np.exp(-coast / COASTAL)])


def waves(angle: Values, count: int) -> Values:
    """1, cos, sin, cos of twice the angle, ... of the year, (count, ...)."""
    return np.stack([np.ones_like(angle), *(turned(k * angle) for k in (1, 2, 3) for turned in (np.cos, np.sin))][:count])


def season(angle: Values, latitude: Values) -> Values:
    """The angle of the southern year at places, (angles, cells)."""
    return angle[:, None] + np.where(latitude > 0.0, np.pi, 0.0)


def read_surfaces(latitude: Values, longitude: Values, angle: Values) -> Surfaces:
    """The surfaces at places (cells,) [degrees] and angles of the year (angles,)."""
    terms, columns = _climate()
    basis = [*trend(latitude, longitude), *(bump(latitude, longitude, centre) for centre in terms)]
    turns = waves(season(angle, latitude), len(HARMONICS))
    found = []
    for name in Surfaces._fields:
        surface = np.zeros(turns.shape[1:])
        for harmonic, turn in zip(HARMONICS, turns, strict=True):
            if f"{name} {harmonic}" in columns:
                surface += _sum(columns[f"{name} {harmonic}"], basis) * turn
        found.append(surface)
    return Surfaces(*found)


def read_spread(latitude: Values, longitude: Values, angle: Values, rain: Values) -> ClimateSpread:
    """The spread of days at places (cells,) [degrees] and angles of the year (angles,); rain: ln of the mean rain (angles, cells)."""
    table, basis = days(), list(local(latitude, longitude))
    turns = waves(season(angle, latitude), 3)
    found = {}
    for name in ClimateSpread._fields:
        rows = table[name]
        found[name] = sum((_sum(row, basis) * turn for row, turn in zip(rows[:3], turns, strict=False)), np.zeros(turns.shape[1:]))
    found["dry"] = -(found["dry"] + table["dry_by_rain"] * rain)
    return ClimateSpread(**found)


@cache
def days() -> dict[str, Any]:
    """The whole of `days.toml`."""
    with (files("steppe.ingest.generator") / "days.toml").open("rb") as file:
        return tomllib.load(file)


def _sum(coefficients: Floats | list[float], basis: list[Values]) -> Values:
    """Sum of terms in their order: the same bits for any set of cells, which a product of matrices does not guarantee."""
    total = np.zeros_like(basis[0])
    for coefficient, term in zip(coefficients, basis, strict=True):
        if coefficient:
            total += float(coefficient) * term
    return total


@cache
def _climate() -> tuple[list[tuple[float, float]], dict[str, Floats]]:
    """Centres of the bumps, and the coefficients of each column of `climate.csv`, (terms,)."""
    with (files("steppe.ingest.generator") / "climate.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(line for line in file if not line.startswith("#")))
    centres = [(float(row["lat"]), float(row["lon"])) for row in rows if row["term"] == "bump"]
    names = [name for name in rows[0] if name not in ("term", "lat", "lon")]
    return centres, {name: np.array([float(row[name] or 0.0) for row in rows]) for name in names}


@cache
def _table(name: str) -> Floats:
    with (files("steppe.ingest.generator") / name).open(encoding="utf-8") as file:
        return np.loadtxt(file, delimiter=",", skiprows=1)
