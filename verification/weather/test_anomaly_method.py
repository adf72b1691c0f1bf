"""The anomaly method against stations left out, the normals, and published figures. Acceptance numbers are the project's own."""

import csv
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from tests.shared import shared_path

from steppe.grid import builtin_grid
from steppe.ingest.donors import Donors, make_donors
from steppe.ingest.meteorology import Values
from steppe.ingest.months import Months
from steppe.ingest.normals import Normals, read_normals
from steppe.ingest.spread import StationSpread
from steppe.ingest.station_file import Station, read_sites, read_station
from steppe.ingest.station_raster import RAIN_ONLY, SOUTH, WEST

Measured = Callable[[str, str, float, str], None]
MONTHS = Months(1961, 1990)
WET = 0.1  # [mm] a day with more is wet
LEFT_OUT = ("035027", "041117", "042023", "041522", "brigalow67", "narayen", "bundaberg", "051010", "052026")
CASE = "weather"


@pytest.fixture(scope="module")
def stations() -> list[Station]:
    folder = shared_path("data/weather")
    sites = [site for site in read_sites(folder).values() if site.longitude >= WEST and site.latitude > SOUTH]
    return [read_station(folder, site) for site in sites]


@pytest.fixture(scope="module")
def at_stations(stations: list[Station]) -> Normals:
    """Normals of the places of the stations, not their own: the grid's, or south of it those of the nearest CRU position."""
    places = np.array([(station.site.latitude, station.site.longitude) for station in stations])
    found = read_normals(shared_path("data/normals/queensland_climatology_0p1deg.npz"), *places.T)
    for column in np.flatnonzero(np.isnan(found.rain[0])):
        for name, values in _nearest_position(*places[column]).items():
            getattr(found, name)[:, column] = values
    return found


@pytest.fixture(scope="module")
def donors(stations: list[Station], at_stations: Normals) -> Donors:
    return make_donors(stations, MONTHS, at_stations, RAIN_ONLY)


def test_a_station_left_out_is_found_again_from_the_others(
    stations: list[Station], at_stations: Normals, donors: Donors, measured: Measured
) -> None:
    bias, share, error = [], [], []
    for name in LEFT_OUT:
        column = next(i for i, station in enumerate(stations) if station.site.id == name)
        weather = _predict(column, at_stations, donors)
        seen = stations[column]
        start = int((MONTHS.dates[0] - seen.first).astype(int))
        rain = seen.values["rain"][start : start + len(MONTHS.dates)]
        bias.append(weather["rain"][:, 0].sum() / rain.sum() - 1.0)
        share.append(np.mean(weather["rain"][:, 0] > WET) - np.mean(rain > WET))
        if name not in RAIN_ONLY:
            tmax = seen.values["tmax"][start : start + len(MONTHS.dates)]
            error.append(np.sqrt(np.mean((weather["tmax"][:, 0] - tmax) ** 2)))
        measured(CASE, f"{name} left out: bias of rain 1961-90", bias[-1], "")
    good = int(np.sum(np.abs(bias) <= 0.10))
    measured(CASE, "stations whose rain is within 10 %, of 9", good, ">= 7")
    measured(CASE, "wet-day share, predicted - seen, mean", float(np.mean(share)), "within 0.05")
    measured(CASE, "RMSE of daily tmax, mean of 8 [K]", float(np.mean(error)), "< 1.6")
    assert good >= 7
    assert abs(np.mean(share)) < 0.05
    assert np.mean(error) < 1.6


@pytest.mark.parametrize("variance", [True, False], ids=["variance restored", "plain"])
def test_thirty_years_over_the_state_have_the_normals_for_their_mean(variance: bool, donors: Donors, measured: Measured) -> None:
    grid = builtin_grid("queensland")
    normals = read_normals(shared_path("data/normals/queensland_climatology_0p1deg.npz"), grid.cell_lat, grid.cell_lon)
    spread = StationSpread(donors, normals, grid.cell_lat, grid.cell_lon, variance)
    annual = spread.monthly_rain.reshape(MONTHS.years, 12, -1).sum(axis=1)
    expected = normals.rain.sum(axis=0)
    how = "restored" if variance else "plain"
    ratio = annual.mean() / expected.mean()
    correlation = float(np.corrcoef(annual.mean(axis=0), expected)[0, 1])
    measured(CASE, f"{how}: mean rain of the state 1961-90 [mm]", float(annual.mean()), f"{expected.mean():.1f} within 1 %")
    measured(CASE, f"{how}: year-to-year deviation of the state [mm]", float(annual.mean(axis=1).std()), "")
    measured(CASE, f"{how}: annual rain against normals, r", correlation, ">= 0.99")
    assert abs(ratio - 1.0) < 0.01
    assert correlation >= 0.99
    for name, longitude, latitude, mean, restored in (("Birdsville", 139.35, -25.9, 184.0, 0.56), ("Boulia", 139.9, -22.91, 260.0, 0.46)):
        cell = grid.locate(longitude, latitude)
        series = annual[:, cell]
        measured(CASE, f"{how}: {name}, annual rain [mm]", float(series.mean()), f"{mean:g} within 10 %")
        variation = float(series.std(ddof=1) / series.mean())
        measured(CASE, f"{how}: {name}, coefficient of variation", variation, f"{restored:g} within 0.03" if variance else "")
        assert abs(series.mean() / mean - 1.0) < 0.10
        assert not variance or abs(variation - restored) <= 0.03


def _predict(column: int, at_stations: Normals, donors: Donors) -> dict[str, Values]:
    """Weather at a station from the other donors and the normals of its place, without variance restoring."""
    others = [i for i in range(len(donors.sites)) if i != column]
    left = donors._replace(
        sites=tuple(donors.sites[i] for i in others),
        latitude=donors.latitude[others],
        longitude=donors.longitude[others],
        rain_ratio=donors.rain_ratio[:, others],
        rain_share=donors.rain_share[:, others],
        departure={name: table[:, others] for name, table in donors.departure.items()},
    )
    here = Normals(*(table[:, [column]] for table in at_stations))
    place = donors.latitude[[column]], donors.longitude[[column]]
    return StationSpread(left, here, *place, variance=False).weather(range(len(MONTHS.dates)))


def _nearest_position(latitude: float, longitude: float) -> dict[str, list[float]]:
    """Monthly normals of the nearest CRU position, by name; radiation and vapour pressure, which it lacks, are those of no place: 1."""
    with Path(shared_path("data/normals/queensland_normals.csv")).open(newline="", encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["source"].startswith("CRU CL 2.0")]
    rows = [row for row in rows if row["variable"] in ("rain", "tmin", "tmax")]
    squeeze = np.cos(np.radians(latitude))
    near = min(rows, key=lambda row: (float(row["lat"]) - latitude) ** 2 + (squeeze * (float(row["lon"]) - longitude)) ** 2)
    months = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
    found = {row["variable"]: [float(row[month]) for month in months] for row in rows if row["id"] == near["id"]}
    return {**found, "radiation": [1.0] * 12, "vp": [1.0] * 12}
