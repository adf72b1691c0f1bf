"""Weather files of APSIM: read as they stand, their mistakes named by line."""

from pathlib import Path

import numpy as np
import pytest

import steppe
from steppe.engine.run_file import read_run_file
from steppe.engine.weather import open_weather
from steppe.errors import Exit, ForcingError
from steppe.io.ingest import ingest_stations, station_points
from steppe.io.ingest.met_file import PAN_AS_SAID, PAN_UNSAID, read_met, read_met_site
from steppe.io.ingest.meteorology import pan_evaporation, saturation_vapour_pressure
from tests.shared import shared_path

HEADER = """\
[weather.met.weather]
!Station name: Dalby Airport
!Rain is read at 9 am.
!Evaporation of a day was shifted: it is credited to the day before its reading
latitude = -27.16 (DECIMAL DEGREES)   ! north is positive
longitude =  151.26
tav = 19.1 (oC)

year  day radn maxt mint rain pan vp code
 ()   () (MJ/m^2) (oC) (oC) (mm) (mm) (hPa) ()
"""
DAYS = ["1990 364 26.0 31.2 19.4  0.0 8.2 20.1 222222", "1990 365 25.5 30 18.5 12.4 6.5 21 222222", "1991 1 24 29 18 0.2 7 19 222222 ! wet"]


def write(path: Path, *lines: str, header: str = HEADER) -> Path:
    path.write_text(header + "\n".join(lines) + "\n")
    return path


def year_of(path: Path, header: str = HEADER, fields: str = "25.5 30 18.5 {rain} 6.5 21 222222") -> Path:
    return write(path, *(f"1990 {day} {fields.format(rain=day % 7)}" for day in range(1, 366)), header=header)


def test_a_file_is_read_as_it_stands(tmp_path):
    station = read_met(write(tmp_path / "dalby.met", *DAYS))
    assert station.site == read_met_site(tmp_path / "dalby.met")
    assert station.site == ("dalby", "Dalby Airport", -27.16, 151.26, "")
    assert (str(station.first), str(station.last)) == ("1990-12-30", "1991-01-01")
    assert list(station.values) == ["rain", "tmin", "tmax", "radiation", "vp", "pan"]
    assert station.values["rain"].tolist() == [0.0, 12.4, 0.2]
    assert station.values["pan"].tolist() == [8.2, 6.5, 7.0]


def test_the_header_says_to_which_day_pan_belongs_or_the_store_says_that_it_does_not(tmp_path):
    assert read_met(write(tmp_path / "a.met", *DAYS)).notes == (PAN_AS_SAID,)
    silent = HEADER.replace("!Evaporation of a day was shifted: it is credited to the day before its reading\n", "")
    assert read_met(write(tmp_path / "a.met", *DAYS, header=silent)).notes == (PAN_UNSAID,)


def test_leap_years_and_units_count(tmp_path):
    header = HEADER.replace("(MJ/m^2)", "(W/m^2)").replace("(oC) (oC)", "(K) (oC)")
    days = ["1992 60 250 300.15 20 0 8 20 0", "1992 61 250 300.15 20 0 8 20 0"]
    station = read_met(write(tmp_path / "a.met", *days, header=header))
    assert str(station.last) == "1992-03-01"
    np.testing.assert_allclose(station.values["radiation"], 21.6)
    np.testing.assert_allclose(station.values["tmax"], 27.0)


def test_units_may_hold_spaces(tmp_path):
    header = HEADER.replace(" ()   () (MJ/m^2)", "( ) ( ) ( W/m^2 )")
    station = read_met(write(tmp_path / "a.met", "1990 1 250 27 20 0 8 20 0", header=header))
    np.testing.assert_allclose(station.values["radiation"], 21.6)


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("1990 365", "1990 363", r'"dalby.met", line 12: 1990-12-29 comes after 1990-12-30, expected 1990-12-31'),
        ("1990 365", "1990 366", r'"dalby.met", line 12: year 1990, day 366 is no day'),
        ("12.4 6.5 21 222222", "12.4 6.5", r'"dalby.met", line 12: 7 fields, expected 9 \(year day radn'),
        ("12.4", "wet", r'"dalby.met", 1990-12-31: rain is "wet", expected a number'),
        ("12.4", "-99.9", r'"dalby.met", 1990-12-31: rain is -99.9, expected 0 to 2000 mm d-1'),
        ("30 18.5", "18.5 30", r'"dalby.met", 1990-12-31: tmin 30 is above tmax 18.5 degC'),
        ("(mm) (mm)", "(bucket) (mm)", r'"dalby.met", column "rain" is in "bucket"'),
        ("latitude", "lattitude", r'"dalby.met": the header has no latitude\. Write latitude = -27.16'),
        ("-27.16 (DEC", "south (DEC", r'"dalby.met": the header has "latitude = south'),
        ("-27.16 (DEC", "27.16 S (DEC", r'"dalby.met": the header has "latitude = 27.16 S'),
        ("-27.16 (DEC", "-2.716e1 (DEC", r'"dalby.met": the header has "latitude = -2.716e1'),
        ("rain pan", "rain rain", r'"dalby.met", line 9: the column "rain" is there 2 times. Keep one.'),
        ("\n".join(DAYS), "", r'"dalby.met" holds no day'),
        (" ()   () (MJ", "1990 1 (MJ", r'"dalby.met", line 10: .* are no units of the 9 columns'),
        ("year  day", "anno  day", r'"dalby.met" has no column "year"'),
        ("rain pan", "rayn pan", r'"dalby.met" has no column "rain"; it has year day radn'),
    ],
)
def test_a_mistake_is_named(tmp_path, monkeypatch, old, new, says):
    monkeypatch.chdir(tmp_path)
    text = HEADER + "\n".join(DAYS)
    assert old in text
    Path("dalby.met").write_text(text.replace(old, new, 1))
    with pytest.raises(ForcingError, match=says):
        read_met(Path("dalby.met"))


def test_one_file_is_a_point_and_what_it_lacks_is_computed(tmp_path):
    header = HEADER.replace("pan vp code", "").replace("(mm) (hPa) ()", "")
    file = year_of(tmp_path / "dalby.met", header, "25.5 30 18.5 {rain}")
    report = ingest_stations(file, tmp_path / "w.zarr", station_points(file), "1990-01-01", "1990-12-31")
    assert {note[:12] for note in report.notes} == {"vp of dalby:", "pan of dalby"}
    with steppe.open(tmp_path / "w.zarr") as dataset:
        assert (float(dataset["cell_lat"][0]), float(dataset["cell_lon"][0])) == (-27.16, 151.26)
        np.testing.assert_array_equal(dataset["rain"].values[:, 0], np.arange(1, 366) % 7)
        np.testing.assert_array_equal(dataset["vp"].values, saturation_vapour_pressure(np.array(18.5)))
        np.testing.assert_array_equal(dataset["pan"].values, pan_evaporation(*(np.array(value) for value in (25.5, 30.0, 18.5))))


def test_a_folder_of_files_is_a_grid_of_points(tmp_path):
    for name in ("b", "a"):
        year_of(tmp_path / f"{name}.met")
    report = ingest_stations(tmp_path, tmp_path / "w.zarr", station_points(tmp_path), "1990-02-01", "1990-12-31")
    assert report.notes == (f"{PAN_AS_SAID} (a, b)",)
    with steppe.open(tmp_path / "w.zarr") as dataset:
        assert dataset["cell_id"].values.tolist() == ["a", "b"]
        assert PAN_AS_SAID in dataset.attrs["history"]


def test_a_run_takes_files_of_apsim_directly(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("STEPPE_CACHE", str(tmp_path / "cache"))
    Path("met").mkdir()
    year_of(Path("met/dalby.met"))
    Path("points.csv").write_text("id,lat,lon\ndalby,-27.16,151.26\n")
    Path("run.toml").write_text(
        'model = "pasture"\n[time]\nstart = 1990-01-05\nend = 1990-03-01\n[grid]\npoints = "points.csv"\n[forcing]\nstations = "met"\n'
        '[parameters]\nplant = "mitchell"\nsoil = "open-downs"\n[output]\npath = "out"\nvariables = ["rain"]\nevery = "1 day"\n'
    )
    store = open_weather(read_run_file("run.toml"), station_points(Path("met")))
    assert store is not None
    with steppe.open(store.path) as dataset:
        np.testing.assert_allclose(dataset["rain"].values[:, 0], np.arange(5, 61) % 7)


def test_the_command_takes_a_file(tmp_path, monkeypatch, capfd):
    from steppe.cli import run_command

    monkeypatch.chdir(tmp_path)
    year_of(Path("dalby.met"))
    days = ["--start", "1990-01-01", "--end", "1990-12-31"]
    assert run_command(["ingest", "stations", "dalby.met", "w.zarr", *days]) == Exit.DONE
    assert "w.zarr: 1 cells, 365 days" in capfd.readouterr().out


def test_station_records_written_as_apsim_files_give_the_same_weather(tmp_path):
    """A real record, through both doors."""
    folder = shared_path("data/weather")
    ingest_stations(folder, tmp_path / "csv.zarr", points := _points(folder, "041522"), "1990-01-01", "1990-12-31")
    with steppe.open(tmp_path / "csv.zarr") as dataset:
        there = {name: dataset[name].values[:, 0] for name in ("radiation", "tmax", "tmin", "rain", "pan", "vp")}
    rows = [f"1990 {day + 1} " + " ".join(f"{there[name][day]:.17g}" for name in there) + " 0" for day in range(365)]
    write(tmp_path / "041522.met", *rows)
    ingest_stations(tmp_path / "041522.met", tmp_path / "met.zarr", points, "1990-01-01", "1990-12-31")
    with steppe.open(tmp_path / "met.zarr") as dataset:
        for name, values in there.items():
            np.testing.assert_array_equal(dataset[name].values[:, 0], values)


def _points(folder: Path, name: str):
    every = station_points(folder)
    at = every.ids.index(name)
    return type(every)((name,), every.cell_lat[at : at + 1], every.cell_lon[at : at + 1])
