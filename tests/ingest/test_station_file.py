import gzip
from pathlib import Path

import numpy as np
import pytest

from steppe.errors import ForcingError
from steppe.ingest import ColumnNames, station_points
from steppe.ingest.station import Site
from steppe.ingest.station_file import read_sites, read_station, station_file

HEADER = "date,rain,tmin,tmax,radiation,vp,pan,src"
GOOD = ["1990-01-01,0,20.5,33,25,18,8,222222", "1990-01-02,12.4,21,30.5,20,20,6.5,222222", "1990-01-03,0.2,19,31,24,19,7,222222"]
SITE = Site("one", "One", -25.0, 150.0, "")


def write(folder: Path, *lines: str) -> Path:
    path = folder / "one.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


def test_a_record_is_read_as_it_stands(tmp_path: Path) -> None:
    write(tmp_path, HEADER, *GOOD)
    station = read_station(tmp_path, SITE)
    assert list(station.values) == ["rain", "tmin", "tmax", "radiation", "vp", "pan"]
    assert station.values["rain"].tolist() == [0.0, 12.4, 0.2]
    assert (str(station.first), str(station.last), station.days) == ("1990-01-01", "1990-01-03", 3)


def test_a_compressed_record_is_the_same(tmp_path: Path) -> None:
    write(tmp_path, HEADER, *GOOD)
    plain = read_station(tmp_path, SITE)
    (tmp_path / "one.csv.gz").write_bytes(gzip.compress((tmp_path / "one.csv").read_bytes()))
    packed = read_station(tmp_path, SITE)
    assert packed.file.suffix == ".gz"
    np.testing.assert_array_equal(packed.values["tmax"], plain.values["tmax"])


def test_a_column_empty_on_all_days_is_absent(tmp_path: Path) -> None:
    write(tmp_path, "date,rain,tmin,vp", "1990-01-01,0,20,", "1990-01-02,1,21,")
    assert list(read_station(tmp_path, SITE).values) == ["rain", "tmin"]


def test_a_line_of_units_is_followed(tmp_path: Path) -> None:
    write(tmp_path, "date,rain,tmin,radiation", "units,kg m-2,K,W m-2", "1990-01-01,3,293.15,250")
    values = read_station(tmp_path, SITE).values
    assert values["rain"][0] == 3.0
    assert values["tmin"][0] == pytest.approx(20.0, abs=1e-12)
    assert values["radiation"][0] == pytest.approx(21.6, rel=1e-12)


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([HEADER], "does not hold a day"),
        (["day,rain", "1990-01-01,0"], 'line 1: no column "date"'),
        (["date;rain", "1990-01-01;0,5"], 'no column "date" in "date;rain". The columns are parted by semicolons: write commas'),
        (["date,rian", "1990-01-01,0"], 'column "rian" is not known. Did you mean "rain".* --map rain=rian'),
        (["date,tmin", "1990-01-01,0"], 'has no column "rain" with values'),
        ([HEADER, GOOD[0], GOOD[2]], r"lacks days: 1990-01-02 to 1990-01-02 \(1 such gaps\)"),
        ([HEADER, GOOD[0], GOOD[0], GOOD[1]], "line 3: 1990-01-01 comes twice"),
        ([HEADER, GOOD[1], GOOD[0]], "line 3: 1990-01-01 comes after 1990-01-02"),
        ([HEADER, GOOD[0], GOOD[1].replace("1990-01-02", "1990-01-32")], 'line 3: "1990-01-32" is not a date'),
        ([HEADER, GOOD[0], GOOD[1].replace("12.4", "")], '1990-01-02: rain is "", expected a number'),
        ([HEADER, GOOD[0], GOOD[1].replace("12.4", "nan")], '1990-01-02: rain is "nan", expected a number'),
        ([HEADER, GOOD[0], GOOD[1].replace("12.4", "wet")], '1990-01-02: rain is "wet", expected a number'),
        ([HEADER, GOOD[0], GOOD[1].replace("12.4", "-1")], "1990-01-02: rain is -1, expected 0 to 2000 mm d-1"),
        ([HEADER, GOOD[0].replace("20.5", "33.5")], "1990-01-01: tmin 33.5 is above tmax 33 degC"),
        ([HEADER, GOOD[0], "1990-01-02,1"], "line 3: 2 fields, expected 8"),
        ([HEADER, GOOD[0].replace("1990-01-01", "19900101")], 'line 2: "19900101" is not a date. Write it as 1990-01-31'),
        ([HEADER, GOOD[0].replace("1990-01-01", "")], 'line 2: "" is not a date'),
        ([HEADER, GOOD[0], "units,mm"], "line 3: 2 fields, expected 8"),
        (["date,rain", "units,mm"], "does not hold a day: below its units there is no line"),
        (["# made by hand", "", HEADER, "", GOOD[0], "# a gap", GOOD[2]], "lacks days: 1990-01-02"),
        (["# made by hand", "", HEADER, "", GOOD[0], "# again", GOOD[0]], "line 7: 1990-01-01 comes twice"),
        ([HEADER, GOOD[0], '"' + "x" * 200_000], "line 3: this is no line of a CSV file"),
        (["date,rain,tmin", "units,mm,furz", "1990-01-01,0,1"], 'column "tmin" is in "furz", expected "degC"'),
    ],
)
def test_what_is_wrong_with_a_file_is_named(tmp_path: Path, lines: list[str], message: str) -> None:
    path = write(tmp_path, *lines)
    with pytest.raises(ForcingError, match=message) as error:
        read_station(tmp_path, SITE)
    assert str(path) in str(error.value)


@pytest.mark.parametrize("time", ["T09:00+10:00", " 09:00:00-08:00", "T00:00Z", "T23:59"])
def test_a_day_is_that_which_is_written_in_any_zone(tmp_path: Path, time: str) -> None:
    write(tmp_path, HEADER, *[line.replace(",", f"{time},", 1) for line in GOOD])
    station = read_station(tmp_path, SITE)
    assert (str(station.first), str(station.last)) == ("1990-01-01", "1990-01-03")


@pytest.mark.parametrize(
    "lines",
    [
        ["date,rain,tmin", ",cm,K", "1990-01-01,1,290.15"],
        ["rain,tmin,date", "cm,K,units", "1,290.15,1990-01-01"],
        ["rain,tmin,Date", "cm,K,", "1,290.15,1990-01-01"],
        ["DATE,Rain,TMIN", "Units,cm,K", "1990-01-01,1,290.15"],
        ['"date","rain","tmin"', '"units","cm","K"', '"1990-01-01",1,"290.15"'],
        ["# of a logger", "", "date, rain, tmin", "units, cm, K", "1990-01-01, 1, 290.15", "", ",,"],
    ],
)
def test_a_line_of_units_and_a_date_may_be_written_in_several_ways(tmp_path: Path, lines: list[str]) -> None:
    write(tmp_path, *lines)
    station = read_station(tmp_path, SITE)
    assert (str(station.first), station.days, station.unread) == ("1990-01-01", 1, ())
    np.testing.assert_allclose([station.values["rain"][0], station.values["tmin"][0]], [10.0, 17.0], rtol=1e-12)


def test_a_compressed_file_cut_short_is_named(tmp_path: Path) -> None:
    whole = gzip.compress("\n".join([HEADER, *GOOD * 50]).encode())
    (tmp_path / "one.csv.gz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ForcingError, match=r'one.csv.gz" is cut short or changed'):
        read_station(tmp_path, SITE)
    (tmp_path / "one.csv.gz").write_bytes(b"no gzip at all")
    with pytest.raises(ForcingError, match=r'one.csv.gz" is cut short or changed'):
        read_station(tmp_path, SITE)


def test_a_station_without_a_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ForcingError, match=r'no file of station "one": one.csv.gz, one.csv, one.met was looked for'):
        read_station(tmp_path, SITE)


@pytest.mark.parametrize("names", ["id,lat,lon", "id,latitude,longitude", "id, latitude, lon", "ID,Lat,LON"])
def test_a_list_of_stations_has_the_spellings_of_a_list_of_points(tmp_path: Path, names: str) -> None:
    (tmp_path / "stations.csv").write_text(f"{names}\na,-25.5,150.25\n")
    assert read_sites(tmp_path) == {"a": Site("a", "a", -25.5, 150.25, "")}


def test_names_of_silo_and_apsim_are_read_and_other_columns_are_named(tmp_path: Path) -> None:
    write(tmp_path, "date, daily_rain,MaxT,mint,radn,wind,src,empty", "1990-01-01, 3,30,20,25,7,0,")
    station = read_station(tmp_path, SITE)
    assert {name: float(values[0]) for name, values in station.values.items()} == {"rain": 3, "tmin": 20, "tmax": 30, "radiation": 25}
    assert station.unread == ("wind",)


def test_a_column_is_taken_by_the_name_and_unit_that_the_user_says(tmp_path: Path) -> None:
    write(tmp_path, "date,rain,Tmean_low", "1990-01-01,3,293.15")
    values = read_station(tmp_path, SITE, ColumnNames({"tmin": "Tmean_low"}, {"tmin": "K"})).values
    assert values["tmin"][0] == pytest.approx(20.0, abs=1e-12)


def test_a_column_vpd_of_a_csv_file_is_in_doubt_as_in_an_apsim_file(tmp_path: Path) -> None:
    write(tmp_path, "date,rain,tmin,tmax,vpd", "1990-01-01,3,20,30,15")
    with pytest.raises(ForcingError, match=r"Its mean is 15.0 hPa; saturation is 23.4 hPa at tmin and 42.4 hPa at tmax. Type --map vp=vpd"):
        read_station(tmp_path, SITE)


def test_an_id_finds_a_file_of_any_kind_and_a_missing_one_is_told_what_is_there(tmp_path: Path) -> None:
    for name in ("roma.met", "dalby.csv.gz", "miles.csv", "stations.csv"):
        (tmp_path / name).write_text("")
    assert [station_file(tmp_path, name).name for name in ("roma", "dalby", "miles")] == ["roma.met", "dalby.csv.gz", "miles.csv"]
    with pytest.raises(ForcingError, match=r'"rome": rome.csv.gz, rome.csv, rome.met was looked for. Did you mean "roma"\?'):
        station_file(tmp_path, "rome")
    with pytest.raises(ForcingError, match=r"Known: dalby, miles, roma\."):
        station_file(tmp_path, "xyz")


def test_an_id_never_leads_out_of_the_folder(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    write(tmp_path, HEADER, *GOOD)
    with pytest.raises(ForcingError, match=r'Station "\.\./one": an id is the name of a file'):
        station_file(tmp_path / "inner", "../one")


def test_sites_without_a_place_are_left_out(tmp_path: Path) -> None:
    (tmp_path / "stations.csv").write_text("id,name,lat,lon\na,Alpha,-25.5,150.25\nb,Beta,-26,\n")
    assert read_sites(tmp_path) == {"a": Site("a", "Alpha", -25.5, 150.25, "")}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("id,lat\na,-25\n", "There is no column longitude or lon"),
        ("id;lat;lon\na;-25;149\n", "the columns are id;lat;lon. The columns are parted by semicolons: write commas"),
        ("id,lat,lon\na,-25,150\na,-26,151\n", 'line 3: station "a" comes a second time'),
        ("id,lat,lon\na,-25,150\nb,272.5,150\n", 'stations.csv", line 3: station "b" has latitude 272.5, longitude 150; expected are lat'),
        ("id,lat,lon\na,-25,1151.2\n", 'line 2: station "a" has latitude -25, longitude 1151.2;'),
        ("id,lat,lon\na,nan,150\n", 'line 2: station "a" has latitude nan, longitude 150;'),
        ("id,lat,lon\na,25S,150\n", 'line 2: lat "25S", lon "150" are not numbers'),
    ],
)
def test_what_is_wrong_with_the_list_of_stations_is_named(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "stations.csv").write_text(text)
    with pytest.raises(ForcingError, match=message):
        read_sites(tmp_path)


def test_a_folder_without_a_list_of_stations_is_named(tmp_path: Path) -> None:
    with pytest.raises(ForcingError, match=r'There is no ".*stations.csv"'):
        read_sites(tmp_path)


def test_a_list_without_a_station_is_named(tmp_path: Path) -> None:
    (tmp_path / "stations.csv").write_text("id,lat,lon\n")
    with pytest.raises(ForcingError, match=r'stations.csv" lists no station with a place. Write one line a station'):
        station_points(tmp_path)
