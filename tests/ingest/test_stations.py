from pathlib import Path

import numpy as np
import pytest
import xarray

from steppe.errors import ForcingError, RunFileError
from steppe.grid import Points, Raster
from steppe.ingest import StationChoices, ingest_stations
from steppe.ingest.donors import Donors, make_donors
from steppe.ingest.meteorology import extraterrestrial_radiation, pan_evaporation, saturation_vapour_pressure
from steppe.ingest.months import Months
from steppe.ingest.normals import Normals
from steppe.ingest.spread import StationSpread, variation
from steppe.ingest.station import Site, Station
from steppe.io import read_static, scan
from steppe.io.forcing.variables import WEATHER
from tests.shared import shared_path

PLACES = {"north": (-20.0, 145.0), "south": (-24.0, 147.0)}
PERIOD = np.arange("1961-01-01", "1993-01-01", dtype="datetime64[D]")
MONTHS = Months(1961, 1992)
BASE_MONTHS = Months(1961, 1990)


def record(name: str, seed: int) -> Station:
    """32 years of a place with wet summers."""
    numbers = np.random.default_rng(seed)
    warm = np.cos(2.0 * np.pi * np.arange(len(PERIOD)) / 365.25)
    tmin = np.round(14.0 + 6.0 * warm + numbers.normal(0.0, 2.0, len(PERIOD)), 1)
    values = {
        "rain": np.round(np.where(numbers.random(len(PERIOD)) < 0.15 + 0.1 * warm, numbers.gamma(0.7, 12.0, len(PERIOD)), 0.0), 1),
        "tmin": tmin,
        "tmax": np.round(tmin + numbers.uniform(8.0, 16.0, len(PERIOD)), 1),
        "radiation": np.round(20.0 + 5.0 * warm + numbers.normal(0.0, 1.0, len(PERIOD)), 1),
        "vp": np.round(0.8 * saturation_vapour_pressure(tmin), 1),
    }
    return Station(Site(name, name, *PLACES[name], ""), Path(f"{name}.csv"), PERIOD[0], values)


STATIONS = [record("north", 1), record("south", 2)]
NOTHING = Normals(*(np.full((12, 2), np.nan) for _ in Normals._fields))


def monthly_means(station: Station) -> Normals:
    """The station's own means of 1961-90: totals of rain, daily means of the rest."""
    last = int(MONTHS.starts[360])
    days = {name: series[:last] for name, series in station.values.items()}
    lengths = np.diff(MONTHS.starts)[:360]
    sums = {name: BASE_MONTHS.sums(series[:, None])[:, 0] for name, series in days.items()}
    found = {name: (table if name == "rain" else table / lengths).reshape(30, 12).mean(axis=0)[:, None] for name, table in sums.items()}
    return Normals(*(found[name] for name in Normals._fields))


def donors(rain_only: frozenset[str] = frozenset()) -> Donors:
    return make_donors(STATIONS, MONTHS, NOTHING, rain_only)


def spread_at(name: str, variance: bool = False, given: Donors | None = None) -> StationSpread:
    station = STATIONS[list(PLACES).index(name)]
    latitude, longitude = PLACES[name]
    return StationSpread(given or donors(), monthly_means(station), np.array([latitude]), np.array([longitude]), variance)


def test_a_donor_is_exact_at_its_own_place() -> None:
    weather = spread_at("north").weather(range(len(PERIOD)))
    for name, series in STATIONS[0].values.items():
        # the other donor, 500 km away, weighs 1 / 250,000
        np.testing.assert_allclose(weather[name][:, 0], series, atol=2e-3, err_msg=name)


def test_the_rain_of_a_month_falls_on_the_days_of_the_nearest_donor_with_rain() -> None:
    given = donors()
    dry = given.rain_ratio.copy()
    dry[3, 0] = 0.0  # April 1961 is dry in the north, so the south gives the days
    weather = spread_at("north", given=given._replace(rain_ratio=dry)).weather(range(365))
    north, south = (station.values["rain"][:365] > 0.0 for station in STATIONS)
    april = slice(90, 120)
    np.testing.assert_array_equal(weather["rain"][april, 0] > 0.0, south[april])
    np.testing.assert_array_equal(weather["rain"][:90, 0] > 0.0, north[:90])


def test_a_month_dry_at_all_donors_is_dry() -> None:
    given = donors()
    dry = given.rain_ratio.copy()
    dry[3] = 0.0
    assert spread_at("north", given=given._replace(rain_ratio=dry)).weather(range(90, 120))["rain"].max() == 0.0


def test_weights_are_normalised_over_the_donors_that_cover_the_month() -> None:
    given = donors()
    gone = given.rain_ratio.copy()
    gone[12:, 0] = np.nan
    there = spread_at("north", given=given._replace(rain_ratio=gone)).monthly_rain
    expected = monthly_means(STATIONS[0]).rain[np.arange(384) % 12, 0] * given.rain_ratio[:, 1]
    np.testing.assert_allclose(there[12:, 0], expected[12:], rtol=1e-13)


def test_a_month_that_no_donor_covers_is_named() -> None:
    gone = np.where(np.arange(384)[:, None] == 14, np.nan, donors().rain_ratio)
    given = donors()._replace(rain_ratio=gone)
    with pytest.raises(ForcingError, match="No donor covers 1962-03"):
        spread_at("north", given=given).weather(range(365, 600))
    with pytest.raises(ForcingError, match="No donor covers some month of 1962: its variance cannot be restored"):
        spread_at("north", variance=True, given=given).weather(range(365, 390))


def test_restored_variance_is_the_one_wanted_and_keeps_the_mean() -> None:
    plain = spread_at("north").monthly_rain[:360].reshape(30, 12).sum(axis=1)
    tame = plain.mean() + 0.1 * (plain - plain.mean())  # as averaging over far donors makes it
    given = donors()
    ratio = given.rain_ratio.copy()
    ratio[:360] *= np.repeat(tame / plain, 12)[:, None]
    restored = spread_at("north", variance=True, given=given._replace(rain_ratio=ratio)).monthly_rain[:360, 0].reshape(30, 12).sum(axis=1)
    untouched = spread_at("north", given=given._replace(rain_ratio=ratio)).monthly_rain[:360, 0].reshape(30, 12).sum(axis=1)
    assert restored.mean() == pytest.approx(untouched.mean(), rel=1e-12)
    wanted = np.sqrt(np.log1p(float(variation(np.array([untouched.mean()]))[0]) ** 2))
    assert np.log(restored).std(ddof=1) == pytest.approx(wanted, rel=1e-10)
    assert untouched.std() < 0.2 * restored.std()


def test_the_wanted_variation_rises_from_wet_to_dry() -> None:
    np.testing.assert_allclose(variation(np.array([150.0, 200.0, 350.0, 500.0, 2000.0])), [0.6, 0.6, 0.425, 0.25, 0.25], rtol=1e-12)


def test_a_donor_without_ten_years_of_its_own_takes_the_normals_of_its_place() -> None:
    short = STATIONS[1]._replace(values={name: series[:2000] for name, series in STATIONS[1].values.items()})
    ones = Normals(*(np.ones((12, 2)) for _ in Normals._fields))
    given = make_donors([STATIONS[0], short], MONTHS, ones, frozenset())
    totals = MONTHS.sums(np.append(short.values["rain"], np.zeros(len(PERIOD) - 2000))[:, None])[:60, 0]
    np.testing.assert_allclose(given.rain_ratio[:60, 1], np.minimum(totals, 8.0), rtol=1e-12)  # capped: the normal is below 5 mm
    np.testing.assert_allclose(given.departure["tmax"][:100, 1], short.values["tmax"][:100] - 1.0, atol=1e-12)
    assert np.isnan(given.rain_ratio[66:, 1]).all()


def test_a_donor_of_rain_only_gives_no_temperatures() -> None:
    given = donors(frozenset({"south"}))
    assert np.isfinite(given.rain_ratio).all()
    assert np.isnan(given.departure["tmax"][:, 1]).all()
    assert np.isfinite(given.departure["tmax"][:, 0]).all()


def test_normals_run_linearly_from_mid_month_to_mid_month() -> None:
    values = Months(1961, 1962).interpolate(np.arange(12.0)[:, None], range(730))[:, 0]
    assert values[15] == 0.0  # noon of 16 January
    assert values[45 - 1] == pytest.approx(1.0 - 0.5 / 29.5)  # half a day before mid-February
    assert np.abs(np.diff(values)[16:330]).max() < 1.0 / 29.0
    assert values[365] == pytest.approx(values[0], abs=1e-12)


def test_formulae_give_known_numbers() -> None:
    assert saturation_vapour_pressure(np.array(20.0)) == pytest.approx(23.38, abs=0.02)  # FAO-56, annex 2, table 2.3: 2.338 kPa
    above = extraterrestrial_radiation(np.array([-20.0]), np.array([246]))  # FAO-56, example 8: 32.2 on 3 September at 20 S
    assert above[0, 0] == pytest.approx(32.2, abs=0.05)
    equilibrium = 23.8846 * 20.0 * (0.000204 - 0.000183 * 0.23) * (0.6 * 30.0 + 0.4 * 20.0 + 29.0)
    assert pan_evaporation(np.array(20.0), np.array(30.0), np.array(20.0)) == pytest.approx(1.25 * 1.1 * equilibrium, rel=1e-13)
    hot, cold = (pan_evaporation(np.array(20.0), np.array(t), np.array(0.0)) for t in (40.0, 0.0))
    assert hot == pytest.approx(1.25 * 1.35 * 23.8846 * 20.0 * (0.000204 - 0.000183 * 0.23) * 53.0, rel=1e-13)
    assert cold == pytest.approx(1.25 * 0.01 * np.exp(3.6) * 23.8846 * 20.0 * (0.000204 - 0.000183 * 0.23) * 29.0, rel=1e-13)


def test_points_take_their_stations_weather_unchanged(tmp_path: Path) -> None:
    folder = shared_path("data/weather")
    grid = Points(("041522", "bundaberg"), np.array([-27.17, -24.9]), np.array([151.27, 152.3]))
    report = ingest_stations(folder, tmp_path / "w.zarr", grid, "1990-01-01", "1990-12-31")
    found = xarray.open_zarr(tmp_path / "w.zarr", consolidated=False, chunks=None)
    given = np.genfromtxt(folder / "041522.csv.gz", delimiter=",", names=True, dtype=None, encoding=None)
    year = given[[text.startswith("1990") for text in given["date"]]]
    for name in WEATHER:
        np.testing.assert_array_equal(found[name][:, 0], year[name])
    np.testing.assert_array_equal(found.vp[:, 1], saturation_vapour_pressure(found.tmin.values[:, 1]))
    assert found.cell_id.values.tolist() == ["041522", "bundaberg"]
    assert found.vp.attrs["derived_at"] == ["bundaberg"]
    assert found.pan.attrs["derived_at"] == ["bundaberg"]
    assert "not measured" in found.pan.attrs["derivation"]
    assert found.attrs["source"][0]["name"] == "041522.csv.gz"
    assert len(report.notes) == 2
    assert scan(tmp_path / "w.zarr", WEATHER) == []


def test_a_point_without_a_station_or_days_is_refused(tmp_path: Path) -> None:
    folder = shared_path("data/weather")
    with pytest.raises(ForcingError, match=r'no file of station "41522": 41522.csv.gz, .* Did you mean "041522"'):
        ingest_stations(folder, tmp_path / "w.zarr", Points(("41522",), np.array([-27.0]), np.array([151.0])), "1990-01-01", "1990-12-31")
    point = Points(("040451",), np.array([-26.0]), np.array([152.83]))
    with pytest.raises(ForcingError, match="holds 1987-01-01 to 1998-05-08, but 1998-01-01 to 1998-12-31 was asked for"):
        ingest_stations(folder, tmp_path / "w.zarr", point, "1998-01-01", "1998-12-31")


def test_a_raster_gets_the_stations_spread_and_says_what_it_is_worth(tmp_path: Path) -> None:
    folder = shared_path("data/weather")
    grid = Raster(-20.05, -0.1, 139.05, 0.1, np.ones((3, 4), dtype=bool))
    said: list[float] = []
    report = ingest_stations(folder, tmp_path / "w.zarr", grid, "1993-01-01", "1994-12-31", progress=said.append)
    assert report.donors == {1993: 11, 1994: 10}
    assert report.notes == ('Station "bundaberg" is not a donor throughout: weights are normalised anew without it from 1994-01.',)
    assert "donors: 11 in 1993, 10 in 1994" in str(report)
    assert said[-1] == 1.0
    assert scan(tmp_path / "w.zarr", WEATHER) == []
    found = xarray.open_zarr(tmp_path / "w.zarr", consolidated=False, chunks=None)
    assert found.attrs["weather"] == "stations"
    assert "100% of the cells are more than 300 km from any" in found.attrs["summary"]
    assert report.mean_annual_rain == pytest.approx(float(found.rain.mean()) * 365.25, rel=0.01)
    distance = read_static(tmp_path / "w.zarr", "distance_to_nearest_donor", grid)
    assert 900.0 < distance.min() < distance.max() < 1100.0


def test_the_part_of_a_longer_period_is_the_same_weather(tmp_path: Path) -> None:
    folder = shared_path("data/weather")
    grid = Raster(-20.05, -0.1, 139.05, 0.1, np.ones((2, 2), dtype=bool))
    ingest_stations(folder, tmp_path / "long.zarr", grid, "1992-01-01", "1993-12-31")
    ingest_stations(folder, tmp_path / "short.zarr", grid, "1992-03-05", "1992-12-31")
    long, short = (xarray.open_zarr(tmp_path / f"{name}.zarr", consolidated=False, chunks=None) for name in ("long", "short"))
    for name in WEATHER:
        np.testing.assert_array_equal(long[name].sel(time=short.time), short[name])


def test_a_cell_beyond_the_normals_is_named(tmp_path: Path) -> None:
    grid = Raster(-35.05, -0.1, 149.05, 0.1, np.ones((2, 2), dtype=bool))
    with pytest.raises(ForcingError, match=r"no normals within 50 km of 4 of 4 cells, the first at latitude -35\.05, longitude 149\.05"):
        ingest_stations(shared_path("data/weather"), tmp_path / "w.zarr", grid, "1990-01-01", "1990-12-31")


def test_missing_normals_and_days_are_named(tmp_path: Path) -> None:
    grid = Raster(-20.05, -0.1, 139.05, 0.1, np.ones((2, 2), dtype=bool))
    with pytest.raises(ForcingError, match=r'no file of normals ".*n.npz"'):
        ingest_stations(
            shared_path("data/weather"), tmp_path / "w.zarr", grid, "1990-01-01", "1990-12-31", StationChoices(tmp_path / "n.npz")
        )
    with pytest.raises(ForcingError, match="covers a whole month of 2012-01-01 to 2012-12-31"):
        ingest_stations(shared_path("data/weather"), tmp_path / "w.zarr", grid, "2012-01-01", "2012-12-31")
    with pytest.raises(RunFileError, match="holds no day"):
        ingest_stations(shared_path("data/weather"), tmp_path / "w.zarr", grid, "1990-02-01", "1990-01-31")
