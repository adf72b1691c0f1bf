"""The main job on real weather: what the maps and the years of 1990-99 must look like."""

from pathlib import Path

import numpy as np
import pytest
import xarray
from tests.shared import shared_path

import steppe
from steppe.engine import Plan, read_run_file
from steppe.grid import read_grid
from steppe.ingest import ingest_land, ingest_stations
from steppe.ingest.station_file import read_sites, read_station

EXAMPLE = Path(__file__).parents[2] / "examples" / "queensland.toml"
YEARS = range(1990, 2000)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run folder of the example on the station records."""
    folder, stations = tmp_path_factory.mktemp("queensland"), shared_path("data/weather")
    grid = read_grid(region="queensland")
    ingest_stations(stations, folder / "weather.zarr", grid, "1990-01-01", "1999-12-31")
    ingest_land(stations, folder / "land.zarr", grid)
    changes = {"forcing.store": f'"{folder}/weather.zarr"', "output.path": f'"{folder}/out"'}
    changes |= {f"parameters.{name}.store": f'"{folder}/land.zarr"' for name in ("land_type", "plant_available_water")}
    with steppe.Simulation(Plan.of(read_run_file(EXAMPLE, changes))) as simulation:
        simulation.run()
    return folder / "out"


@pytest.fixture(scope="module")
def maps(run: Path) -> xarray.Dataset:
    """Monthly maps, loaded."""
    with steppe.open(run) as dataset:
        return dataset.load()


def yearly(dataset: xarray.Dataset, name: str) -> xarray.DataArray:
    """Sums of years of a daily rate."""
    days = (dataset["time_bnds"][:, 1] - dataset["time_bnds"][:, 0]).dt.days
    return (dataset[name] * days).groupby("time.year").sum()


def ranks(values: np.ndarray) -> np.ndarray:
    return np.argsort(np.argsort(values))


def test_annual_rain_follows_the_normals(maps, measured):
    normals = np.load(shared_path("data/normals/queensland_climatology_0p1deg.npz"))
    rain = yearly(maps, "rainfall").mean("year")
    known = np.nansum(normals["rain_mm"], axis=0)
    there = known.ravel()[maps["cell"].values]
    good = there > 0
    r = np.corrcoef(rain.values[good], there[good])[0, 1]
    measured("queensland", "correlation of annual rain 1990-99 with the normals", r, ">= 0.99")
    assert r >= 0.99


def test_the_dry_west_grows_little(maps, measured):
    growth = yearly(maps, "growth").mean("year")
    area = maps["cell_area"]
    west, east = ((growth * area)[here].sum() / area[here].sum() for here in (maps["cell_lon"] < 141, maps["cell_lon"] > 150))
    measured("queensland", "growth west of 141 E over growth east of 150 E", float(west / east), "< 0.3")
    assert west < 0.3 * east


def test_good_and_bad_years_follow_the_rain_of_the_donors(run, measured):
    with steppe.open(run, "regions") as series:
        growth = series["growth"].sel(region="all").groupby("time.year").sum().values
    folder = shared_path("data/weather")
    relative = []
    for site in read_sites(folder).values():
        if site.longitude >= 138.0 and site.latitude > -31.0:
            station = read_station(folder, site)
            days = station.first + np.arange(station.days)
            year = days.astype("datetime64[Y]").astype(int) + 1970
            base = (year >= 1961) & (year <= 1990)
            normal = station.values["rain"][base].mean() * 365.25 if base.sum() > 3650 else np.nan
            totals = [station.values["rain"][year == number].sum() if (year == number).sum() > 364 else np.nan for number in YEARS]
            relative.append(np.array(totals) / normal)
    rain = np.nanmean(relative, axis=0)
    for year, value in zip(YEARS, rain, strict=True):
        measured("queensland", f"rain of the donors over their normals in {year}", value, "")
    rho = np.corrcoef(ranks(growth), ranks(rain))[0, 1]
    worst = sorted(np.array(YEARS)[np.argsort(growth)[:3]].tolist())
    for year, value in zip(YEARS, growth, strict=True):
        measured("queensland", f"growth of the state in {year} [kg/ha]", value, "1991, 1993, 1994 least")
    measured("queensland", "rank correlation of growth with the donors' relative rain", rho, ">= 0.8")
    assert rho >= 0.8
    assert worst == [1991, 1993, 1994]
