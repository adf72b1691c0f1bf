"""Weather files of APSIM: read as they stand, their mistakes named by line."""

from pathlib import Path

import numpy as np
import pytest

import steppe
from steppe.engine.run_file import read_run_file
from steppe.engine.weather import open_weather
from steppe.errors import Exit, ForcingError
from steppe.grid import Points
from steppe.ingest import ColumnNames, StationChoices, ingest_stations, station_points
from steppe.ingest.met_file import PAN_AS_SAID, PAN_UNSAID, read_met, read_met_site
from steppe.ingest.meteorology import pan_evaporation, saturation_vapour_pressure
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


def test_empty_lines_and_comments_among_the_days_do_not_count(tmp_path):
    first, second, third = DAYS
    station = read_met(write(tmp_path / "a.met", first, "", "! patched", f"{second}  ! by hand", " ", third, ""))
    assert station.values["rain"].tolist() == [0.0, 12.4, 0.2]
    with pytest.raises(ForcingError, match="line 14: 1991-01-01 comes after 1990-12-30"):
        read_met(write(tmp_path / "a.met", first, "", "! lost", third))


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


def test_a_number_in_the_header_holds_on_every_day(tmp_path):
    header = HEADER.replace("tav =", "vp = 1.5 (kPa)\nradiation = 18 ! of the year\ntav =").replace("pan vp code", "pan wet code")
    station = read_met(write(tmp_path / "a.met", *DAYS, header=header))
    assert (station.values["vp"].tolist(), station.values["radiation"].tolist()) == ([15.0] * 3, [26.0, 25.5, 24.0])
    assert station.notes[0] == "vp = 1.5 (kPa) on every day, as the header says"
    assert len(station.notes) == 2
    with pytest.raises(ForcingError, match='1990-12-30: vp is "dry", expected a number'):
        read_met(write(tmp_path / "a.met", *DAYS, header=header.replace("1.5 (kPa)", "dry")))


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
        ("-27.16 (DEC", "151.26 (DEC", r'"dalby.met": station "dalby" has latitude 151.26, longitude 151.26; expected'),
        ("rain pan", "rain rain", r'"dalby.met", line 9: the column "rain" is there 2 times. Keep one.'),
        ("\n".join(DAYS), "", r'"dalby.met" holds no day'),
        (" ()   () (MJ", "1990 1 (MJ", r'"dalby.met", line 10: .* are no units of the 9 columns'),
        ("year  day", "anno  day", r'"dalby.met" has no column "year"'),
        ("rain pan", "rayn pan", r'"dalby.met": column "rayn" is not known. Did you mean "rain"\? Type --map rain=rayn'),
    ],
)
def test_a_mistake_is_named(tmp_path, monkeypatch, old, new, says):
    monkeypatch.chdir(tmp_path)
    text = HEADER + "\n".join(DAYS)
    assert old in text
    Path("dalby.met").write_text(text.replace(old, new, 1))
    with pytest.raises(ForcingError, match=says):
        read_met(Path("dalby.met"))


SATURATED = saturation_vapour_pressure(np.array([18.5, 30.0]))
TO_TYPE = (
    'Type --map vp=vpd if it is vapour pressure, or --map deficit=vpd if it is the deficit; in a run file, under [forcing]: map.vp = "vpd"'
)
WEIGHTED = 0.75 * SATURATED[1] + 0.25 * SATURATED[0]


def with_vpd(path: Path, value: float, unit: str = "hPa") -> Path:
    """A year in a file whose humidity stands in a column "vpd"; tmin 18.5, tmax 30 degC."""
    header = HEADER.replace("pan vp code", "pan vpd code").replace("(hPa)", f"({unit})")
    return year_of(path, header, f"25.5 30 18.5 {{rain}} 6.5 {value} 222222")


def test_a_column_vpd_is_refused_with_its_mean_and_both_saturations_until_the_user_says_which_it_is(tmp_path):
    file = with_vpd(tmp_path / "dalby.met", 20.0)
    with pytest.raises(ForcingError) as refused:
        read_met(file)
    assert f"Its mean is 20.0 hPa; saturation is {SATURATED[0]:.1f} hPa at tmin and {SATURATED[1]:.1f} hPa at tmax." in str(refused.value)
    assert TO_TYPE in str(refused.value)
    np.testing.assert_array_equal(read_met(file, said=ColumnNames({"vp": "vpd"})).values["vp"], 20.0)
    np.testing.assert_allclose(read_met(file, said=ColumnNames({"deficit": "VPD"})).values["vp"], WEIGHTED - 20.0, rtol=1e-13)


def test_the_report_shows_at_each_station_what_the_humidity_came_to(tmp_path):
    """One station of a folder may have the other meaning: its mean tells."""
    with_vpd(tmp_path / "a.met", 20.0)
    with_vpd(tmp_path / "b.met", 4.0)
    report = ingest_stations(
        tmp_path,
        tmp_path / "w.zarr",
        station_points(tmp_path),
        "1990-01-01",
        "1990-12-31",
        StationChoices(said=ColumnNames({"deficit": "vpd"})),
    )
    read = 'deficit was read from the column "vpd", as requested; the mean of vp is {} hPa, saturation at tmin 21.3 hPa ({})'
    assert read.format(f"{WEIGHTED - 20.0:.1f}", "a") in report.notes
    assert read.format(f"{WEIGHTED - 4.0:.1f}", "b") in report.notes
    with steppe.open(tmp_path / "w.zarr") as dataset:
        assert dataset["vp"].attrs["derived_at"] == ["a", "b"]
        assert "0.75 of saturation at tmax" in dataset["vp"].attrs["derivation"]


def test_the_unit_of_the_header_counts_for_a_deficit_and_the_user_overrules_it(tmp_path):
    file = with_vpd(tmp_path / "dalby.met", 2.0, "kPa")
    np.testing.assert_allclose(read_met(file, said=ColumnNames({"deficit": "vpd"})).values["vp"], WEIGHTED - 20.0, rtol=1e-13)
    wrong = with_vpd(tmp_path / "dalby.met", 2.0, "hPa")
    np.testing.assert_allclose(
        read_met(wrong, said=ColumnNames({"deficit": "vpd"}, {"deficit": "kPa"})).values["vp"], WEIGHTED - 20.0, rtol=1e-13
    )


def test_a_deficit_above_saturation_is_named_by_day_and_value(tmp_path):
    file = with_vpd(tmp_path / "dalby.met", 40.0)
    with pytest.raises(ForcingError, match=r"1990-01-01: the deficit is 40 hPa, expected 0 to the saturation of that day, 37.1 hPa"):
        read_met(file, said=ColumnNames({"deficit": "vpd"}))


def test_a_file_with_vapour_pressure_of_its_own_is_not_in_doubt_and_names_the_column_that_is_not_read(tmp_path):
    file = year_of(tmp_path / "a.met", HEADER.replace("code", "vpd"), "25.5 30 18.5 {rain} 6.5 21 16")
    assert read_met(file).unread == ("vpd",)
    np.testing.assert_array_equal(read_met(file).values["vp"], 21.0)
    np.testing.assert_allclose(read_met(file, said=ColumnNames({"deficit": "vpd"})).values["vp"], WEIGHTED - 16.0, rtol=1e-13)


def test_two_columns_for_one_variable_are_refused_until_one_is_chosen(tmp_path):
    file = year_of(tmp_path / "a.met", HEADER.replace("code", "evap").replace("(hPa) ()", "(hPa) (mm)"), "25.5 30 18.5 {rain} 6.5 21 7")
    with pytest.raises(ForcingError, match=r'the columns "pan" and "evap" could both be pan. Choose one: --map pan=evap'):
        read_met(file)
    np.testing.assert_array_equal(read_met(file, said=ColumnNames({"pan": "evap"})).values["pan"], 7.0)


@pytest.mark.parametrize(
    ("said", "says"),
    [
        (ColumnNames({"vp": "vdp"}), 'no station file has a column "vdp".* Did you mean "vp"'),
        (ColumnNames({"vpp": "vpd", "vp": "vpd"}), r"vpp=vpd \(in a run file, .*\): the column is taken as vp. Map it to one variable"),
        (
            ColumnNames({"vp": "vpd"}, {"deficit": "kPa"}),
            r'--units deficit=kPa \(in a run file, under \[forcing\]: units.deficit = "kPa"\): no station file has a column',
        ),
    ],
)
def test_what_the_user_says_of_no_column_is_refused(tmp_path, said, says):
    file = year_of(tmp_path / "dalby.met", HEADER.replace("code", "vpd"), "25.5 30 18.5 {rain} 6.5 21 16")
    with pytest.raises(ForcingError, match=says):
        ingest_stations(file, tmp_path / "w.zarr", station_points(file), "1990-01-01", "1990-12-31", StationChoices(said=said))
    assert not (tmp_path / "w.zarr").exists()


def test_the_place_of_a_file_without_one_comes_from_the_points(tmp_path):
    header = "\n".join(line for line in HEADER.splitlines() if "itude" not in line) + "\n"
    year_of(tmp_path / "dalby.met", header)
    points = Points(("dalby",), np.array([-27.16]), np.array([151.26]))
    report = ingest_stations(tmp_path, tmp_path / "w.zarr", points, "1990-01-01", "1990-12-31")
    assert not any("latitude" in note for note in report.notes)
    with steppe.open(tmp_path / "w.zarr") as dataset:
        assert float(dataset["cell_lon"][0]) == 151.26


def test_the_points_give_the_place_of_a_header_that_has_none_on_the_earth(tmp_path):
    file = year_of(tmp_path / "dalby.met", HEADER.replace("-27.16", "151.26"))
    with pytest.raises(ForcingError, match=r'dalby.met": station "dalby" has latitude 151.26'):
        read_met_site(file)
    points = Points(("dalby",), np.array([-27.16]), np.array([151.26]))
    report = ingest_stations(tmp_path, tmp_path / "w.zarr", points, "1990-01-01", "1990-12-31")
    assert any("but the header of dalby.met says latitude 151.26" in note for note in report.notes)


def test_a_header_that_has_another_place_than_the_point_is_told_by_value(tmp_path):
    year_of(tmp_path / "dalby.met")
    points = Points(("dalby",), np.array([-26.5]), np.array([151.26]))
    report = ingest_stations(tmp_path, tmp_path / "w.zarr", points, "1990-01-01", "1990-12-31")
    assert any(
        "the point is at latitude -26.5, longitude 151.26, but the header of dalby.met says latitude -27.16, longitude 151.26" in note
        for note in report.notes
    )


def test_a_run_on_files_with_vpd_says_in_the_run_file_which_it_is(tmp_path, monkeypatch):
    monkeypatch.setenv("STEPPE_CACHE", str(tmp_path / "cache"))
    (tmp_path / "met").mkdir()
    with_vpd(tmp_path / "met" / "dalby.met", 20.0)
    text = (
        'model = "pasture"\n[time]\nstart = 1990-01-05\nend = 1990-03-01\n[forcing]\nstations = "met"\n{}\n'
        '[parameters]\nplant = "mitchell"\nsoil = "open-downs"\n[output]\npath = "out"\nvariables = ["rain"]\nevery = "1 day"\n'
    )
    run = tmp_path / "run.toml"
    run.write_text(text.format(""))
    with pytest.raises(ForcingError, match="may hold vapour pressure or its deficit"):
        steppe.Plan.of(run)
    found = []
    for line in (
        'map.vp = "vpd"',
        'map.deficit = "vpd"',
        'map.deficit = "vpd"\nunits.deficit = "mbar"',
        'map.vp = "vpd"\nunits.vp = "torr"',
    ):
        run.write_text(text.format(line))
        plan = steppe.Plan.of(run)
        assert plan.grid.ids == ("dalby",)
        with steppe.open(plan.forcing.path) as dataset:
            found.append(float(dataset["vp"][0, 0]))
    assert found == pytest.approx([20.0, WEIGHTED - 20.0, WEIGHTED - 20.0, 20.0 * 1.33322], rel=1e-5)


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
