from pathlib import Path

import numpy as np
import pytest
import xarray

from steppe.grid import Points, builtin_grid
from steppe.io import scan
from steppe.io.forcing_variables import WEATHER
from steppe.io.ingest import generate
from steppe.io.ingest.generate import PERSISTENCE, Generator, make_climate

YEAR = np.arange(1, 366)
PLACES = np.array([[-25.9, 139.35], [-23.44, 144.25], [-27.4, 152.6], [-17.5, 146.0]])  # Birdsville, Longreach, Brisbane, Innisfail


def test_generated_weather_is_possible_and_says_what_it_is(tmp_path: Path) -> None:
    grid = Points(("a", "b", "c", "d"), *PLACES.T)
    generate(tmp_path / "w.zarr", grid, "1990-01-01", "1991-06-30", seed=3)
    assert scan(tmp_path / "w.zarr", WEATHER) == []
    found = xarray.open_zarr(tmp_path / "w.zarr", consolidated=False, chunks=None)
    assert found.attrs["weather"] == "generated"
    assert "not observed" in found.attrs["title"]
    assert "No observation" in found.attrs["summary"]
    assert found.attrs["seed"] == 3
    assert found.sizes["time"] == 546
    assert float((found.tmax - found.tmin).min()) > 0.85


def test_any_day_can_be_made_alone() -> None:
    generator = Generator(*PLACES.T, seed=5)
    year = generator.weather(50_000, YEAR)
    for day in (0, 1, 17, 200, 364):
        alone = Generator(*PLACES.T, seed=5).weather(50_000 + day, YEAR[day : day + 1])
        for name, values in alone.items():
            np.testing.assert_allclose(values[0], year[name][day], rtol=1e-10, atol=1e-10)  # sums in another order


def test_another_seed_is_another_weather() -> None:
    one, two = (Generator(*PLACES.T, seed=seed).weather(0, YEAR)["tmax"] for seed in (1, 2))
    assert np.abs(one - two).mean() > 1.0


def test_the_climate_runs_from_desert_to_wet_tropics() -> None:
    birdsville, longreach, brisbane, innisfail = make_climate(*PLACES.T, YEAR).rain.sum(axis=0)
    assert 150.0 < birdsville < 200.0
    assert 380.0 < longreach < 520.0
    assert 800.0 < brisbane < 1300.0
    assert innisfail > 1500.0
    grid = builtin_grid("queensland")
    climate = make_climate(grid.cell_lat, grid.cell_lon, YEAR)
    assert 560.0 < climate.rain.sum(axis=0).mean() < 700.0
    assert (climate.tmax - climate.tmin).min() > 4.0


def test_summer_is_on_the_right_side_of_the_equator() -> None:
    climate = make_climate(np.array([-20.0, 20.0]), np.array([145.0, 145.0]), YEAR)
    january, july = climate.tmax[14], climate.tmax[195]
    assert january[0] > july[0]
    assert january[1] < july[1]


def test_rain_has_the_mean_the_wet_days_and_the_persistence_of_its_climate() -> None:
    place = PLACES[1:2].T
    days = np.tile(YEAR, 60)
    rain = Generator(*place, seed=11).weather(0, days)["rain"][:, 0]
    climate = make_climate(*place, YEAR)
    assert rain.mean() == pytest.approx(climate.rain.mean(), rel=0.1)
    wet = rain > 0.0
    assert wet.mean() == pytest.approx(climate.wet.mean(), rel=0.05)
    month = np.arange(len(days)) % 365 < 60  # within a season the chance is nearly constant
    after_wet, after_dry = wet[1:][month[1:] & wet[:-1]].mean(), wet[1:][month[1:] & ~wet[:-1]].mean()
    assert after_wet - after_dry == pytest.approx(PERSISTENCE, abs=0.05)


def test_neighbours_have_alike_days_and_far_places_their_own() -> None:
    places = np.array([[-25.0, 145.0], [-25.0, 145.1], [-15.0, 143.0]])
    warmth = Generator(*places.T, seed=1).weather(0, np.tile(YEAR[:30], 40))["tmax"]
    near, far = np.corrcoef(warmth.T)[0, 1:]
    assert near > 0.95
    assert abs(far) < 0.35
