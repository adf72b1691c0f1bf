"""`steppe ingest`: stores of weather and land, from the command line."""

import gzip
from datetime import date, timedelta
from pathlib import Path

import numpy as np
import pytest
import xarray

import steppe
from steppe.errors import Exit
from tests.ingest.daily_maps import write_year
from tests.shared import shared_path

POINTS = "id,lat,lon\nnorth,-20.5,145.25\nsouth,-25.0,147.5\n"
DAYS = ("--start", "1990-01-01", "--end", "1990-12-31")


def write_stations(folder: Path) -> None:
    """Two stations of made-up days: it rains on every seventh, twice as much in the north."""
    (folder / "stations.csv").write_text("id,name,lat,lon\nnorth,North,-20.5,145.25\nsouth,South,-25.0,147.5\n")
    for name, rain in (("north", 14.0), ("south", 7.0)):
        rows = ["date,rain,tmin,tmax,radiation"]
        for day in range(365):
            when = date(1990, 1, 1) + timedelta(day)
            rows.append(f"{when},{rain if day % 7 == 0 else 0.0},{10 + day % 5},{25 + day % 6},{18 + day % 3}")
        with gzip.open(folder / f"{name}.csv.gz", "wt", encoding="utf-8") as file:
            file.write("\n".join(rows) + "\n")


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "points.csv").write_text(POINTS)
    return tmp_path


def test_generated_weather_says_what_it_is(call, folder):
    code, said, wrong = call("ingest", "generate", "w.zarr", "--points", "points.csv", *DAYS)
    assert (code, wrong) == (Exit.DONE, "")
    assert said == "w.zarr: generated weather, seed 1. No day, year or place of it is real.\n"
    with steppe.open("w.zarr") as dataset:
        assert dataset.attrs["weather"] == "generated"
        assert dataset.sizes == {"time": 365, "cell": 2, "bnds": 2}


def test_a_climate_that_is_extrapolated_is_told(call, folder):
    (folder / "points.csv").write_text("id,lat,lon\nlongreach,-23.4,144.2\nbroome,-18.0,122.2\n")
    code, said, _ = call("ingest", "generate", "w.zarr", "--points", "points.csv", *DAYS)
    assert code == Exit.DONE
    assert "In 50% of the cells, far from all places with known normals, the climate is extrapolated by latitude" in said


def test_another_seed_is_other_weather_and_the_same_seed_is_the_same(call, folder):
    for store, seed in (("a.zarr", "1"), ("b.zarr", "1"), ("c.zarr", "2")):
        assert call("ingest", "generate", store, "--points", "points.csv", *DAYS, "--seed", seed)[0] == Exit.DONE
    first, same, other = (steppe.open(store)["rain"].values for store in ("a.zarr", "b.zarr", "c.zarr"))
    np.testing.assert_array_equal(first, same)
    assert (first != other).any()


def test_a_raster_of_ones_own_is_given_by_its_file(call, folder):
    lat, lon = -20.0 - 0.25 * np.arange(3), 143.0 + 0.25 * np.arange(4)
    axes = {"lat": ("lat", lat, {"units": "degrees_north"}), "lon": ("lon", lon, {"units": "degrees_east"})}
    xarray.Dataset({"land_mask": (("lat", "lon"), np.eye(3, 4, dtype="int8"))}, axes).to_zarr("mask.zarr", consolidated=False)
    assert call("ingest", "generate", "w.zarr", "--file", "mask.zarr", *DAYS)[0] == Exit.DONE
    assert call("ingest", "land", "land.zarr", "--file", "mask.zarr")[0] == Exit.DONE
    assert steppe.open("w.zarr").sizes["cell"] == steppe.open("land.zarr").sizes["cell"] == 3


def test_without_a_grid_every_station_of_the_list_is_a_point(call, folder):
    write_stations(folder)
    code, said, _ = call("ingest", "stations", ".", "w.zarr", *DAYS)
    assert code == Exit.DONE
    assert said.startswith("w.zarr: 2 cells, 365 days")


def test_points_need_no_list_of_stations_and_take_plain_files(call, folder):
    write_stations(folder)
    (folder / "stations.csv").unlink()
    (folder / "north.csv").write_bytes(gzip.decompress((folder / "north.csv.gz").read_bytes()))
    (folder / "north.csv.gz").unlink()
    assert call("ingest", "stations", ".", "w.zarr", "--points", "points.csv", *DAYS)[0] == Exit.DONE
    with steppe.open("w.zarr") as dataset:
        assert dataset.attrs["source"][0]["name"] == "north.csv"
        assert dataset["rain"].values[0].tolist() == [14.0, 7.0]


def test_points_take_any_column_and_need_rain_alone(call, folder):
    write_stations(folder)
    rows = {name: gzip.decompress((folder / f"{name}.csv.gz").read_bytes()).decode().splitlines() for name in ("north", "south")}
    for name, lines in rows.items():
        short = ["date,rain,depth", *(f"{line.rsplit(',', 3)[0]},{number % 9}" for number, line in enumerate(lines[1:]))]
        (folder / f"{name}.csv.gz").write_bytes(gzip.compress("\n".join(short).encode()))
    both = ("ingest", "stations", ".", "w.zarr", "--points", "points.csv", *DAYS, "--map", "snow_depth=depth")
    code, _, wrong = call(*both)
    assert (code, wrong) == (
        Exit.MISTAKE,
        'steppe: "north.csv.gz", column "depth" has no unit. Type --units snow_depth=UNIT '
        '(in a run file, under [forcing]: units.snow_depth = "UNIT"), or add a line of units.\n',
    )
    code, said, _ = call(*both, "--units", "snow_depth=cm")
    assert code == Exit.DONE
    assert "no station has tmin, tmax, radiation, vp, pan: the store is without" in said
    with steppe.open("w.zarr") as dataset:
        assert set(dataset.data_vars) >= {"rain", "snow_depth"}
        assert "tmin" not in dataset
        assert (dataset["snow_depth"].values[:, 1] == np.arange(365) % 9).all()
        assert dataset["snow_depth"].attrs["units"] == "cm"
    south = gzip.decompress((folder / "south.csv.gz").read_bytes()).decode().replace("depth", "other")
    (folder / "south.csv.gz").write_bytes(gzip.compress(south.encode()))
    _, _, wrong = call(*(each.replace("w.zarr", "u.zarr") for each in both), "--units", "snow_depth=cm")
    assert '"south.csv.gz" has no snow_depth, and "north.csv.gz" has.' in wrong


def test_a_column_is_mapped_and_its_unit_said_on_the_command_line(call, folder):
    write_stations(folder)
    text = gzip.decompress((folder / "north.csv.gz").read_bytes()).decode().replace("radiation", "glow")
    (folder / "north.csv.gz").write_bytes(gzip.compress(text.encode()))
    both = ("ingest", "stations", ".", "w.zarr", "--points", "points.csv", *DAYS)
    code, _, wrong = call(*both)
    assert code == Exit.MISTAKE
    assert '"north.csv.gz" has no radiation, and "south.csv.gz" has.' in wrong
    code, said, _ = call(*both, "--map", "radiation=glow", "--units", "radiation=MJ/m2")
    assert code == Exit.DONE
    assert 'radiation was read from the column "glow", as requested (north)' in said
    with steppe.open("w.zarr") as dataset:
        assert "pan evaporation to the day before it" in dataset.attrs["summary"]
        assert "glow" in dataset.attrs["summary"]


def test_points_take_the_records_of_their_stations(call, folder):
    write_stations(folder)
    code, said, _ = call("ingest", "stations", ".", "w.zarr", "--points", "points.csv", *DAYS)
    assert code == Exit.DONE
    assert said.startswith("w.zarr: 2 cells, 365 days, mean rain 557 mm a year\n")
    assert "vp of north, south: " in said
    with steppe.open("w.zarr") as dataset:
        rain = dataset["rain"].values
        assert rain[::7].tolist() == [[14.0, 7.0]] * 53
        assert rain.sum() == 53 * 21.0
        assert dataset["tmax"].values[8].tolist() == [27.0, 27.0]


def test_real_stations_become_a_store_that_a_run_takes(call, folder):
    weather = shared_path("data/weather")
    shared_path("data/weather/stations.csv")
    (folder / "points.csv").write_text("id,lat,lon\n041522,-27.1638,151.2631\n042023,-26.6573,150.1864\n")
    code, said, _ = call("ingest", "stations", str(weather), "weather.zarr", "--points", "points.csv", *DAYS)
    assert code == Exit.DONE
    assert said.startswith("weather.zarr: 2 cells, 365 days, mean rain ")
    call("new", "run", "--output", "run.toml")
    text = Path("run.toml").read_text().replace('region = "queensland"', 'points = "points.csv"').replace("1999-12-31", "1990-12-31")
    Path("run.toml").write_text(text)
    code, said, wrong = call("run", "run.toml")
    assert code == Exit.DONE, wrong
    assert "days: 365 of 365" in said
    assert "generated" not in said


def test_land_without_a_soil_map_is_alike_everywhere_and_says_so(call, folder):
    code, said, _ = call("ingest", "land", "land.zarr", "--points", "points.csv")
    assert (code, said) == (Exit.DONE, "land.zarr: no soil data were given; all cells are alike.\n")
    assert steppe.open("land.zarr")["land_type"].values.tolist() == [1.0, 1.0]


def test_land_of_a_soil_map_takes_the_nearest_value(call, folder):
    table = folder / "soils" / "queensland_grid" / "queensland_0p1deg.csv.gz"
    table.parent.mkdir(parents=True)
    with gzip.open(table, "wt", encoding="utf-8") as file:
        file.write("lat,lon,pawc_1m_mm\n-20.5,145.2,140\n-25.1,147.5,60\n")
    code, said, _ = call("ingest", "land", "land.zarr", "soils", "--points", "points.csv")
    assert (code, said) == (Exit.DONE, "land.zarr: soil water and land types from a soil map.\n")
    with steppe.open("land.zarr") as dataset:
        assert dataset["plant_available_water"].values.tolist() == [140.0, 60.0]
        assert dataset["land_type"].values.tolist() == [1.0, 2.0]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["generate", "w.zarr", *DAYS], "Give exactly one of --region, --file and --points."),
        (["generate", "w.zarr", *DAYS, "--region", "queensland", "--points", "points.csv"], "Give exactly one of --region"),
        (["generate", "w.zarr", *DAYS, "--region", "quensland"], 'There is no built-in grid "quensland". Did you mean "queensland"?'),
        (["generate", "w.zarr", "--points", "points.csv", "--start", "spring", "--end", "1990-12-31"], '"spring" is not a date'),
        (["stations", ".", "w.zarr", "--points", "points.csv", *DAYS], 'no file of station "north": north.csv.gz, north.csv, north.met'),
        (["stations", ".", "w.zarr", *DAYS], 'There is no "stations.csv". It must list the stations: id, latitude, longitude.'),
        (["land", "w.zarr", "no-folder", "--points", "points.csv"], 'There is no folder "no-folder".'),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_mistake_makes_no_store(call, folder, arguments, sentence):
    code, said, wrong = call("ingest", *arguments)
    assert (code, said) == (Exit.MISTAKE, "")
    assert sentence in wrong
    assert sorted(path.name for path in folder.iterdir()) == ["points.csv"]


@pytest.mark.parametrize(
    "command", [["generate", "w.zarr", *DAYS], ["land", "w.zarr"], ["stations", ".", "w.zarr", *DAYS]], ids=lambda c: c[0]
)
def test_a_store_that_is_there_stays_as_it_is(call, folder, command):
    write_stations(folder)
    (folder / "w.zarr").mkdir()
    (folder / "w.zarr" / "mine").write_text("precious")
    code, _, wrong = call("ingest", *command, "--points", "points.csv")
    assert code == Exit.MISTAKE
    assert "exists already" in wrong
    assert (folder / "w.zarr" / "mine").read_text() == "precious"


def test_info_shows_how_maps_came_onto_the_grid(call, folder):
    files = [str(file) for file in write_year(folder / "silo", days=30)]
    shifts = ["--day-shift", "rain=0", "--day-shift", "pan=-1"]
    code, said, _ = call("ingest", "netcdf", *files, "-o", "w.zarr", *shifts, "--method", "rain=nearest", "--points", "places.csv")
    assert code == Exit.MISTAKE
    (folder / "places.csv").write_text("id,lat,lon\na,-20.5,143.25\nb,-21.0,144.0\n")
    code, said, _ = call("ingest", "netcdf", *files, "-o", "w.zarr", *shifts, "--method", "rain=nearest", "--points", "places.csv")
    assert code == Exit.DONE
    assert "pan: nearest, days from time stamps moved by -1" in said
    code, said, _ = call("info", "w.zarr")
    assert "rain: mm d-1, rainfall, time: mean, nearest, days from time stamps, (time, cell)" in said
    assert "source: 1990.evap_pan.nc" in said


def test_a_year_of_silo_makes_a_store_whose_name_says_what_it_is(call, folder):
    write_year(folder / "silo")
    (folder / "places.csv").write_text("id,lat,lon\na,-20.5,143.25\n")
    code, said, wrong = call("ingest", "silo", "silo", "--years", "1990", "--points", "places.csv")
    assert (code, wrong) == (Exit.DONE, "")
    assert said.startswith("silo-1990.zarr: 1 cells, 365 days")


@pytest.mark.parametrize(
    ("option", "says"),
    [
        (["--day-shift", "radiation=today"], "must be whole days"),
        (["--day-shift", "rain=1"], '--day-shift is given twice for rain: "0" and "1". Keep one.'),
        (["--day-shift", "-1"], "must be NAME=VALUE"),
        (["--map", "rain"], "must be NAME=VALUE"),
        (["--method", "wind=nearest"], '"wind" is none of the variables that are taken.'),
    ],
)
def test_options_of_maps_that_say_nothing_are_explained(call, folder, option, says):
    files = [str(file) for file in write_year(folder / "silo", days=3)]
    code, _, wrong = call("ingest", "netcdf", *files, "-o", "w.zarr", "--day-shift", "rain=0", "--day-shift", "pan=0", *option)
    assert code == Exit.MISTAKE
    assert says in wrong
