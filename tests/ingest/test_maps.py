"""Daily maps of any CF data set become a forcing store, by methods that have names."""

import os
import resource
from pathlib import Path

import numpy as np
import pyproj
import pytest
import xarray
from hypothesis import given, settings
from hypothesis import strategies as st

from steppe.cli.ingest_maps import named
from steppe.clock import Clock
from steppe.errors import DamagedError, Failure, FolderError, ForcingError
from steppe.grid import FileLattice, Gaussian, Points, Raster, read_grid, read_lattice
from steppe.ingest import Choices, Product, ingest_maps, map_transfer
from steppe.ingest.regrid import Regrid
from steppe.io import Axis, ForcingReader, ForcingStore
from steppe.io.forcing.units import check_rate
from tests.ingest.daily_maps import LAT, LON, known_maps, write_maps, write_year

NO_SHIFT = {"rain": 0, "pan": 0}
PRODUCT = Product("a test", "maps")


def ingest(files, path, grid=None, **choices):
    choices.setdefault("day_shift", NO_SHIFT)
    return ingest_maps(files, path, grid, Choices(**choices), PRODUCT)


def values(path: Path, name: str) -> np.ndarray:
    """What a plain reader sees, (time, cell)."""
    with xarray.open_zarr(path, consolidated=False, chunks=None) as dataset:
        return dataset[name].values


def cells_of(maps_: np.ndarray, path: Path) -> np.ndarray:
    """The packed cells of maps (days, lat, lon) with rows from the north."""
    with xarray.open_zarr(path, consolidated=False, chunks=None) as dataset:
        return maps_.reshape(len(maps_), -1)[:, dataset["cell"].values]


def whole(nlat: int, nlon: int, lat0: float, dlat: float, lon0: float, dlon: float) -> Raster:
    return Raster(lat0, dlat, lon0, dlon, np.ones((nlat, nlon), bool))


@pytest.fixture(scope="module")
def year(tmp_path_factory) -> list[Path]:
    return write_year(tmp_path_factory.mktemp("year"))


def test_the_cells_of_the_files_are_kept_as_they_are(year, tmp_path):
    report = ingest(year, tmp_path / "w.zarr")
    assert (report.cells, report.days) == (42, 365)
    for ours, theirs in (("rain", "daily_rain"), ("tmin", "min_temp"), ("pan", "evap_pan")):
        expected = cells_of(known_maps(theirs, 365)[:, ::-1], tmp_path / "w.zarr")
        np.testing.assert_allclose(values(tmp_path / "w.zarr", ours), expected, atol=1e-5)
    store = ForcingStore.open(tmp_path / "w.zarr")
    assert "rows run from the south in the file, and were turned" in store.attributes["history"]
    assert [source["name"] for source in store.attributes["source"]] == [file.name for file in year]


@pytest.mark.parametrize("lon", [LON, LON[::-1], LON - 360.0], ids=["east", "west", "negative"])
@pytest.mark.parametrize("lat", [LAT, LAT[::-1]], ids=["from the south", "from the north"])
def test_a_store_is_the_same_whichever_way_the_axes_run(tmp_path, lat, lon):
    file = write_maps(tmp_path / "a.nc", {"daily_rain": known_maps("daily_rain", 3, lat, lon)}, lat=lat, lon=lon)
    grid = whole(7, 6, -20.0, -0.25, 143.0, 0.25)
    ingest([file], tmp_path / "w.zarr", grid, day_shift={"rain": 0})
    np.testing.assert_allclose(
        values(tmp_path / "w.zarr", "rain"), cells_of(known_maps("daily_rain", 3)[:, ::-1], tmp_path / "w.zarr"), atol=1e-5
    )


def test_a_circle_from_0_to_360_is_turned_and_a_grid_across_greenwich_is_served(tmp_path):
    lat, lon = np.array([10.0, 0.0, -10.0]), np.arange(0.0, 360.0, 10.0)
    maps_ = known_maps("daily_rain", 2, lat, lon)
    file = write_maps(tmp_path / "a.zarr", {"daily_rain": maps_}, lat=lat, lon=lon)
    ingest([file], tmp_path / "w.zarr", whole(1, 4, 0.0, -10.0, -20.0, 10.0), day_shift={"rain": 0})
    np.testing.assert_allclose(values(tmp_path / "w.zarr", "rain"), maps_[:, 1, [34, 35, 0, 1]], atol=1e-5)


def test_a_grid_over_the_date_line_may_be_sorted_by_longitude(tmp_path):
    maps_, lon = known_maps("daily_rain", 3), 179.0 + 0.5 * np.arange(6)
    turned = (lon + 180.0) % 360.0 - 180.0
    order = np.argsort(turned)
    ingest([write_maps(tmp_path / "a.nc", {"daily_rain": maps_}, lon=lon)], tmp_path / "a.zarr", day_shift={"rain": 0})
    file = write_maps(tmp_path / "b.nc", {"daily_rain": maps_[:, :, order]}, lon=turned[order])
    report = ingest([file], tmp_path / "b.zarr", day_shift={"rain": 0})
    assert any("columns join over the ends of the file" in note for note in report.notes)
    np.testing.assert_array_equal(values(tmp_path / "b.zarr", "rain"), values(tmp_path / "a.zarr", "rain"))
    assert len({ForcingStore.open(tmp_path / f"{name}.zarr").attributes["grid_digest"] for name in "ab"}) == 1


def test_zarr_and_netcdf_give_the_same_store(tmp_path):
    rain = {"daily_rain": known_maps("daily_rain", 5)}
    for suffix in ("nc", "zarr"):
        file = write_maps(tmp_path / f"in.{suffix}", rain)
        ingest([file], tmp_path / f"out-{suffix}.zarr", day_shift={"rain": 0})
    np.testing.assert_array_equal(values(tmp_path / "out-nc.zarr", "rain"), values(tmp_path / "out-zarr.zarr", "rain"))


def plain_area_mean(maps_, lattice: FileLattice, grid: Raster) -> np.ndarray:
    """The definition, cell by cell: integral of the values over a cell / integral of 1 where there are any."""
    found = np.full((len(maps_), grid.nlat, grid.nlon), np.nan)
    for i, (north, south) in enumerate(grid.lat_bnds):
        for j, (west, east) in enumerate(grid.lon_bnds):
            total, area = np.zeros(len(maps_)), np.zeros(len(maps_))
            for row, lat in enumerate(lattice.lat):
                top, bottom = min(north, lat - lattice.dlat / 2), max(south, lat + lattice.dlat / 2)
                for column, lon in enumerate(lattice.lon):
                    width = min(east, lon + lattice.dlon / 2) - max(west, lon - lattice.dlon / 2)
                    if top > bottom and width > 0:
                        share = width * (np.sin(np.radians(top)) - np.sin(np.radians(bottom)))
                        there = np.isfinite(maps_[:, row, column])
                        total += np.where(there, maps_[:, row, column], 0.0) * share
                        area += there * share
            with np.errstate(invalid="ignore"):
                found[:, i, j] = total / area
    return found


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.floats(1.0, 4.0), st.floats(1.0, 4.0), st.floats(-0.4, 0.4), st.floats(-0.4, 0.4))
def test_the_area_mean_is_what_it_says(seed, coarser_lat, coarser_lon, down, right):
    numbers = np.random.default_rng(seed)
    dataset = xarray.Dataset(coords={"lat": 60.0 - 0.5 * np.arange(16), "lon": 10.0 + 0.5 * np.arange(18)})
    lattice = read_lattice(dataset)
    maps_ = numbers.normal(10.0, 3.0, (3, 16, 18)).astype(np.float32)
    maps_[:, numbers.random((16, 18)) < 0.3] = np.nan
    grid = whole(3, 3, 57.0 + down, -0.5 * round(coarser_lat, 3), 13.0 + right, 0.5 * round(coarser_lon, 3))
    way = Regrid(lattice, grid, "area mean", "a test")
    got = way(maps_[:, way.rows.start : way.rows.stop, way.columns.start : way.columns.stop])
    expected = plain_area_mean(maps_.astype(np.float64), lattice, grid).reshape(3, -1)
    if way.method == "area mean":
        np.testing.assert_allclose(got, expected, rtol=1e-5)


@pytest.mark.parametrize("first", [-179.5, 0.0, 0.5])
@pytest.mark.parametrize(("west", "columns"), [(-180.0, 180), (171.0, 10), (-9.0, 9), (0.0, 180)])
def test_an_area_mean_goes_on_over_the_joint_of_a_file_round_the_earth(first, west, columns):
    lon = first + np.arange(360.0)
    lattice = read_lattice(xarray.Dataset(coords={"lat": [1.5, 0.5, -0.5, -1.5], "lon": lon}))
    maps_ = np.broadcast_to(np.random.default_rng(3).normal(10.0, 3.0, (1, 1, 360)), (1, 4, 360)).astype(np.float32)
    grid = whole(2, columns, 1.0, -2.0, west, 2.0)
    way = Regrid(lattice, grid, "area mean", "a test")
    got = grid.unpack(way(maps_[:, way.rows.start : way.rows.stop, way.columns.start : way.columns.stop]))[0, 0]
    apart = (grid.lon[:, None] - lattice.lon + 180.0) % 360.0 - 180.0
    share = np.clip(1.5 - np.abs(apart), 0.0, 1.0) / 2.0  # of a cell of 2 degrees, by a column of 1 degree
    np.testing.assert_allclose(got, share @ maps_[0, 0], rtol=1e-5)


def test_a_grid_over_the_date_line_loses_no_cell_of_a_file_round_the_earth(tmp_path):
    lat, lon = np.array([3.0, 1.0, -1.0, -3.0]), np.arange(-179.0, 180.0, 2.0)
    file = write_maps(tmp_path / "a.nc", {"daily_rain": known_maps("daily_rain", 2, lat, lon)}, lat=lat, lon=lon)
    report = ingest([file], tmp_path / "w.zarr", whole(2, 5, 2.0, -4.0, 172.0, 4.0), day_shift={"rain": 0}, intersect=True)
    assert report.cells == 10
    assert "rain: area mean, days from time stamps" in report.notes


def test_a_coarser_grid_gets_area_means_unasked_and_the_store_says_so(year, tmp_path):
    grid = whole(2, 2, -20.25, -0.5, 143.25, 0.5)
    report = ingest(year, tmp_path / "w.zarr", grid)
    assert "rain: area mean, days from time stamps" in report.notes
    lattice = read_lattice(xarray.Dataset(coords={"lat": LAT, "lon": LON}))
    expected = plain_area_mean(known_maps("max_temp", 365)[:, ::-1], lattice, grid).reshape(365, -1)
    np.testing.assert_allclose(values(tmp_path / "w.zarr", "tmax"), expected, atol=0.0501)
    with xarray.open_zarr(tmp_path / "w.zarr", consolidated=False) as dataset:
        assert dataset["tmax"].attrs["regridding"] == "area mean"


def test_a_point_gets_the_cell_it_lies_in(year, tmp_path):
    points = Points(("a", "b"), np.array([-20.1, -21.4]), np.array([143.1, 144.2]))
    ingest(year, tmp_path / "w.zarr", points)
    np.testing.assert_allclose(values(tmp_path / "w.zarr", "rain"), known_maps("daily_rain", 365)[:, [6, 0], [0, 5]], atol=1e-5)


def test_the_same_values_for_any_buffer_and_batch(year, tmp_path, monkeypatch):
    ingest(year, tmp_path / "whole.zarr", end="1990-02-28")
    monkeypatch.setattr(map_transfer, "BUFFER", 1)
    monkeypatch.setattr(map_transfer, "READ", 100)
    monkeypatch.setattr("steppe.io.forcing.writer.tile_size", lambda n_cells: 16)
    monkeypatch.setattr("steppe.io.forcing.writer.SHARD_CELLS", 1)
    monkeypatch.setattr("steppe.io.forcing.writer.CHUNK_BYTES", 1)
    ingest(year, tmp_path / "cut.zarr", end="1990-02-28")
    assert ForcingStore.open(tmp_path / "cut.zarr")["rain"].layout.shard == (384, 16)
    for name in ("rain", "tmin"):
        np.testing.assert_array_equal(values(tmp_path / "whole.zarr", name), values(tmp_path / "cut.zarr", name))


def test_units_are_converted_by_the_table(tmp_path):
    maps_ = {"pr": np.full((2, 7, 6), 1e-5), "tasmax": np.full((2, 7, 6), 300.15), "rsds": np.full((2, 7, 6), 250.0)}
    file = write_maps(tmp_path / "a.nc", maps_, units={"pr": "kg m-2 s-1", "tasmax": "K", "rsds": "W m-2"}, packed=False)
    ingest([file], tmp_path / "w.zarr", day_shift={"rain": 0}, exact=True)
    for name, expected in (("rain", 0.864), ("tmax", 27.0), ("radiation", 21.6)):
        np.testing.assert_allclose(values(tmp_path / "w.zarr", name), expected, rtol=2e-6)
    with xarray.open_zarr(tmp_path / "w.zarr", consolidated=False) as dataset:
        assert dataset["radiation"].attrs["source_units"] == "W m-2"
        assert dataset["rain"].dtype == np.float32


@pytest.mark.parametrize(("rain", "sun"), [("m", "J cm-2"), ("cm", "kWh m-2"), ("inches", "W h m-2"), ("m of water equivalent", "MJ m-2")])
def test_the_amount_of_a_day_in_any_unit_is_a_rate_a_day(tmp_path, rain, sun):
    sizes = {"m": 1000.0, "cm": 10.0, "inches": 25.4, "J cm-2": 0.01, "kWh m-2": 3.6, "W h m-2": 0.0036, "m of water equivalent": 1000.0}
    maps_ = {"daily_rain": np.full((14, 7, 6), 5.0 / sizes[rain]), "radiation": np.full((14, 7, 6), 20.0 / sizes.get(sun, 1.0))}
    file = write_maps(tmp_path / "a.nc", maps_, units={"daily_rain": rain, "radiation": sun}, packed=False)
    ingest([file], tmp_path / "w.zarr", day_shift={"rain": 0}, exact=True)
    np.testing.assert_allclose(values(tmp_path / "w.zarr", "rain"), 5.0, rtol=2e-6)
    np.testing.assert_allclose(values(tmp_path / "w.zarr", "radiation"), 20.0, rtol=2e-6)
    with pytest.raises(ForcingError, match=f'weekly maps in "{rain}" may be sums or daily means'):
        check_rate(rain, "mm d-1", "a.nc")
    with pytest.raises(ForcingError, match=f'weekly maps in "{rain}" are sums, as their cell_methods "area: mean time: sum" state'):
        check_rate(rain, "mm d-1", "a.nc", "area: mean time: sum")


def test_a_variable_of_another_name_makes_all_of_one_kind_which_a_run_reads(tmp_path):
    file = write_maps(tmp_path / "a.nc", {"daily_rain": known_maps("daily_rain", 2), "tas": np.full((2, 7, 6), 3.25)}, packed=False)
    report = ingest([file], tmp_path / "w.zarr", names={"warmth": "tas"}, day_shift={"rain": 0}, units={"warmth": "degC"})
    with xarray.open_zarr(tmp_path / "w.zarr", consolidated=False) as dataset:
        assert {dataset[name].dtype for name in ("rain", "warmth")} == {np.dtype("f4")}
    assert "all in single precision, as warmth is not packed to 0.1" in report.notes


def test_a_unit_that_a_file_lacks_or_has_wrong_is_said_and_recorded(tmp_path):
    maps_ = {"daily_rain": known_maps("daily_rain", 2) / 1000.0, "max_temp": known_maps("max_temp", 2) + 273.15}
    file = write_maps(tmp_path / "a.nc", maps_, units={"daily_rain": "", "max_temp": "Celsius"}, packed=False)
    ingest([file], tmp_path / "w.zarr", day_shift={"rain": 0}, units={"rain": "m d-1", "tmax": "K"})
    for name, theirs in (("rain", "daily_rain"), ("tmax", "max_temp")):
        expected = cells_of(known_maps(theirs, 2)[:, ::-1], tmp_path / "w.zarr")
        np.testing.assert_allclose(values(tmp_path / "w.zarr", name), expected, atol=1e-4)
    with xarray.open_zarr(tmp_path / "w.zarr", consolidated=False) as dataset:
        assert dataset["rain"].attrs["source_units"] == "m d-1, as the user says; the file says none"
        assert dataset["tmax"].attrs["source_units"] == "K, as the user says; the file says Celsius"


def test_time_bounds_decide_the_day(tmp_path):
    """Stamped at the end of 24 hours to 9 am: most of them lie on the day before."""
    ends = np.arange(3) + 1.375
    bounds = np.stack([ends - 1.0, ends], axis=1)
    file = write_maps(tmp_path / "a.nc", {"daily_rain": known_maps("daily_rain", 3)}, time=ends, bounds=bounds)
    ingest([file], tmp_path / "w.zarr", day_shift={})
    assert ForcingStore.open(tmp_path / "w.zarr")["rain"].axis.period() == "1990-01-01 to 1990-01-03"


@pytest.mark.parametrize(("since", "days"), [("0001-01-01", 730169), ("1500-01-01", 182671), ("1600-01-01", 146147)])
def test_days_of_a_proleptic_calendar_count_from_dates_before_1582(tmp_path, since, days):
    """All three are 20 February 2000, as xarray reads them."""
    time, maps = [days, days + 1.0], {"daily_rain": known_maps("daily_rain", 2)}
    file = write_maps(tmp_path / "a.nc", maps, since, time=time, calendar="proleptic_gregorian")
    with xarray.open_dataset(file) as dataset:
        assert str(dataset["time"].values[0])[:10] == "2000-02-20"
    ingest([file], tmp_path / "w.zarr", day_shift={"rain": 0})
    assert ForcingStore.open(tmp_path / "w.zarr")["rain"].axis.period() == "2000-02-20 to 2000-02-21"


@pytest.mark.parametrize(("zone", "first"), [("00:00 -06:00", 2), ("00:00 -6:00", 2), ("00:00:00 UTC", 1)])
def test_days_count_from_an_instant_in_its_zone(tmp_path, zone, first):
    """-6:00 is the example of the CF conventions; 18 hours from there are the next midnight of UTC."""
    time, maps = [0.75, 1.75] if first == 2 else [0.0, 1.0], {"daily_rain": known_maps("daily_rain", 2)}
    file = write_maps(tmp_path / "a.nc", maps, f"1990-01-01 {zone}", time=time)
    ingest([file], tmp_path / "w.zarr", day_shift={"rain": 0})
    assert ForcingStore.open(tmp_path / "w.zarr")["rain"].axis.period() == f"1990-01-0{first} to 1990-01-0{first + 1}"


def test_a_zone_by_name_is_refused(tmp_path):
    file = write_maps(tmp_path / "a.nc", {"daily_rain": known_maps("daily_rain", 2)}, "1990-01-01 00:00 EST")
    with pytest.raises(ForcingError, match=r'a.nc": "time" in "days since 1990-01-01 00:00 EST" .*the zone "EST" is not known'):
        ingest([file], tmp_path / "w.zarr", day_shift={"rain": 0})


def test_days_of_a_proleptic_calendar_before_1582_are_refused(tmp_path):
    """A store has the standard calendar, whose days have other names then."""
    file = write_maps(tmp_path / "a.nc", {"daily_rain": known_maps("daily_rain", 2)}, "1582-10-14", calendar="proleptic_gregorian")
    with pytest.raises(ForcingError, match=r'a.nc" has days before 1582-10-15 in the calendar "proleptic_gregorian"'):
        ingest([file], tmp_path / "w.zarr", day_shift={"rain": 0})
    file = write_maps(tmp_path / "b.nc", {"daily_rain": known_maps("daily_rain", 2)}, "1582-10-15", calendar="proleptic_gregorian")
    ingest([file], tmp_path / "w.zarr", day_shift={"rain": 0})
    assert ForcingStore.open(tmp_path / "w.zarr")["rain"].axis.period() == "1582-10-15 to 1582-10-16"


@pytest.mark.parametrize(
    ("offset", "first"), [("+10:00", "1990-01-31"), (" -0930", "1990-02-01"), (" +00:00", "1990-02-01"), ("", "1990-02-01")]
)
def test_the_report_says_that_days_of_times_with_an_offset_are_those_of_utc(tmp_path, offset, first):
    file = write_maps(tmp_path / "a.nc", {"daily_rain": known_maps("daily_rain", 2)}, f"1990-02-01 09:00:00{offset}")
    notes = ingest([file], tmp_path / "w.zarr", day_shift={"rain": 0}).notes
    assert ForcingStore.open(tmp_path / "w.zarr")["rain"].axis.period().startswith(first)
    told = [note for note in notes if "UTC" in note]
    assert len(told) == (offset.strip() in ("+10:00", "-0930"))
    assert all(f"have the offset {offset.strip()} from UTC; days are those of UTC, and --day-shift" in note for note in told)


def test_maps_without_a_time_are_named(tmp_path):
    time = [0.0, 1.0, np.nan, 3.0]
    file = write_maps(tmp_path / "a.nc", {"daily_rain": known_maps("daily_rain", 4)}, time=time)
    with pytest.raises(ForcingError, match=r'a\.nc": 1 of 4 times in "time" or its bounds are missing, the first at map 3\.'):
        ingest([file], tmp_path / "w.zarr", day_shift={"rain": 0})


@pytest.mark.parametrize("suffix", ["nc", "zarr"])
def test_a_file_with_two_marks_of_missing_values_is_read_without_a_warning(tmp_path, suffix):
    file = write_maps(tmp_path / f"a.{suffix}", {"daily_rain": known_maps("daily_rain", 2)})
    with xarray.open_dataset(file, decode_cf=False, **({"engine": "zarr", "consolidated": False} if suffix == "zarr" else {})) as dataset:
        raw = dataset.load()
    raw["daily_rain"].attrs["missing_value"] = np.int16(-9999)
    raw["daily_rain"][:, 0, 0], raw["daily_rain"][:, 0, 1] = -9999, -32767
    twice = tmp_path / f"b.{suffix}"
    raw.to_netcdf(twice) if suffix == "nc" else raw.to_zarr(twice, consolidated=False)
    assert ingest([twice], tmp_path / "w.zarr", day_shift={"rain": 0}).cells == 40


def test_a_day_shift_moves_the_days_and_is_recorded(year, tmp_path):
    report = ingest(year, tmp_path / "w.zarr", day_shift={"rain": 0, "pan": -1})
    assert report.days == 364  # pan of the last day is in the file of the next year
    assert "pan: as it is, days from time stamps moved by -1" in report.notes
    pan = known_maps("evap_pan", 365)[1:, ::-1]
    np.testing.assert_allclose(values(tmp_path / "w.zarr", "pan"), cells_of(pan, tmp_path / "w.zarr"), atol=1e-5)
    with xarray.open_zarr(tmp_path / "w.zarr", consolidated=False) as dataset:
        assert (dataset["pan"].attrs["day_shift"], dataset["rain"].attrs["day_shift"]) == (-1, 0)


def test_variables_of_other_names_and_kinds_are_taken_by_map(tmp_path):
    file = write_maps(
        tmp_path / "a.nc", {"RAINNC": known_maps("daily_rain", 3), "wind": np.full((3, 7, 6), 2.5)}, units={"RAINNC": "mm", "wind": "m s-1"}
    )
    ingest([file], tmp_path / "w.zarr", names={"rain": "RAINNC", "wind_speed": "wind"}, day_shift={"rain": 0})
    store = ForcingStore.open(tmp_path / "w.zarr")
    assert set(store.variables) == {"rain", "wind_speed"}
    assert store["wind_speed"].units == "m s-1"


def test_a_variable_of_the_files_has_one_name_in_the_store(tmp_path):
    file = write_maps(tmp_path / "a.nc", {"temp": known_maps("max_temp", 3)}, units={"temp": "degC"})
    with pytest.raises(ForcingError, match=r"--map tmax=temp and --map tmin=temp take one variable twice"):
        ingest([file], tmp_path / "w.zarr", names={"tmax": "temp", "tmin": "temp"}, day_shift={})
    with pytest.raises(ForcingError, match=r'--map is given twice for tmax: "temp" and "other"'):
        named("map", ("tmax=temp", "tmax=other"))


def test_the_report_names_a_variable_on_other_rows_and_columns(tmp_path):
    file = write_maps(tmp_path / "a.nc", {"daily_rain": known_maps("daily_rain", 2)})
    dataset = xarray.load_dataset(file, decode_times=False)
    dataset["max_temp"] = (("time", "lat_2", "lon_2"), np.full((2, 3, 3), 30.0), {"units": "degC"})
    dataset.to_netcdf(tmp_path / "b.nc")
    report = ingest([tmp_path / "b.nc"], tmp_path / "w.zarr", day_shift={"rain": 0})
    assert "not taken: max_temp; --map NAME=max_temp takes it as NAME" in report.notes
    with pytest.raises(ForcingError, match=r'variable "max_temp" has the dimensions \(time: 2, lat_2: 3, lon_2: 3\).* Expected are'):
        ingest([tmp_path / "b.nc"], tmp_path / "w2.zarr", names={"tmax": "max_temp"}, day_shift={})


def test_files_of_one_variable_have_one_projection(tmp_path):
    axes = {
        name: (name, centres, {"units": "m", "standard_name": f"projection_{name}_coordinate"})
        for name, centres in (("y", -1000.0 * np.arange(3)), ("x", 500_000.0 + 1000.0 * np.arange(4)))
    }
    files = []
    for day, zone in enumerate((55, 56)):
        time = ("time", [float(day)], {"units": "days since 1990-01-01"})
        maps = {"rain": (("time", "y", "x"), np.ones((1, 3, 4)), {"units": "mm", "grid_mapping": "utm"})}
        utm = ((), 0, pyproj.CRS.from_epsg(32700 + zone).to_cf())
        files.append(tmp_path / f"{zone}.nc")
        xarray.Dataset({**maps, "utm": utm}, {**axes, "time": time}).to_netcdf(files[-1])
    with pytest.raises(ForcingError, match=r'56S", but .* of the projection "WGS 84 / UTM zone 55S"\. All files of a variable must'):
        ingest(files, tmp_path / "w.zarr", day_shift={"rain": 0})


def test_a_point_at_the_south_pole_gets_the_row_beside_it(tmp_path):
    lat, lon = 75.0 - 30.0 * np.arange(6), -165.0 + 30.0 * np.arange(12)
    rain = known_maps("daily_rain", 2, lat, lon)
    file = write_maps(tmp_path / "a.nc", {"daily_rain": rain}, lat=lat, lon=lon)
    ingest([file], tmp_path / "w.zarr", Points(("south", "north"), np.array([-90.0, 90.0]), np.array([20.0, 20.0])), day_shift={"rain": 0})
    np.testing.assert_allclose(values(tmp_path / "w.zarr", "rain"), rain[:, [-1, 0], 6], atol=1e-5)


def test_maps_of_one_row_and_one_column_make_a_store_whose_grid_a_run_takes(tmp_path):
    for rows, columns in ((1, 4), (3, 1)):
        lat, lon = 40.0 - 0.25 * np.arange(rows), 10.0 + 0.25 * np.arange(columns)
        rain = known_maps("daily_rain", 2, lat, lon)
        store = tmp_path / f"{rows}.zarr"
        ingest([write_maps(tmp_path / f"{rows}.nc", {"daily_rain": rain}, lat=lat, lon=lon)], store, day_shift={"rain": 0})
        np.testing.assert_allclose(values(store, "rain"), cells_of(rain, store), atol=1e-5)
        assert read_grid(file=store).digest == ForcingStore.open(store).attributes["grid_digest"]


@pytest.mark.parametrize("fill", ["previous", "climatology"])
def test_missing_days_are_filled_on_request_and_each_is_recorded(tmp_path, fill):
    rain = known_maps("daily_rain", 800)
    files = [
        write_maps(tmp_path / "a.nc", {"daily_rain": rain[:40]}),
        write_maps(tmp_path / "b.nc", {"daily_rain": rain[42:800]}, start="1990-02-12"),
    ]
    report = ingest(files, tmp_path / "w.zarr", day_shift={"rain": 0}, fill=fill)
    assert any("2 missing days are filled" in note for note in report.notes)
    found = values(tmp_path / "w.zarr", "rain")
    with xarray.open_zarr(tmp_path / "w.zarr", consolidated=False, chunks=None) as dataset:
        assert np.flatnonzero(dataset["fill_flag"].values).tolist() == [40, 41]
        assert dataset["fill_flag"].attrs["flag_meanings"] == "rain_filled"
        assert dataset["fill_flag"].attrs["method"] == fill
    expected = rain[39] if fill == "previous" else (rain[40 + 365] + rain[40 + 730]) / 2
    np.testing.assert_allclose(found[40], cells_of(expected[None, ::-1], tmp_path / "w.zarr")[0], atol=0.0501)
    np.testing.assert_allclose(found[42], cells_of(rain[None, 42, ::-1], tmp_path / "w.zarr")[0], atol=1e-5)


def test_days_before_1850_are_filled_and_missed_as_later_ones(tmp_path):
    rain = known_maps("daily_rain", 3)
    file = write_maps(tmp_path / "a.nc", {"daily_rain": rain}, start="1849-12-27", time=[0.0, 1.0, 3.0])
    with pytest.raises(ForcingError, match=r"lacks 2 of the 5 days .*: 1849-12-29, 1849-12-31\. "):
        ingest([file], tmp_path / "w.zarr", end="1849-12-31", day_shift={"rain": 0})
    ingest([file], tmp_path / "w.zarr", end="1849-12-31", fill="previous", day_shift={"rain": 0})
    expected = cells_of(rain[[0, 1, 1, 2, 2], ::-1], tmp_path / "w.zarr")
    np.testing.assert_allclose(values(tmp_path / "w.zarr", "rain"), expected, atol=1e-5)


@pytest.mark.parametrize("suffix", ["nc", "zarr"])
def test_a_day_whose_map_is_empty_is_filled_as_one_that_is_not_there(tmp_path, suffix):
    """The last day too; one with some values is refused as before."""
    rain = known_maps("daily_rain", 10)
    rain[[3, 4, 9]] = np.nan
    file = write_maps(tmp_path / f"a.{suffix}", {"daily_rain": rain})
    with pytest.raises(ForcingError, match=r"rain is missing .* fill days without any value by --fill previous"):
        ingest([file], tmp_path / "w.zarr", day_shift={"rain": 0}, start="1990-01-02", end="1990-01-09")
    report = ingest([file], tmp_path / "w.zarr", day_shift={"rain": 0}, fill="previous")
    assert any("rain: 3 missing days are filled (previous)" in note for note in report.notes)
    expected = cells_of(rain[[0, 1, 2, 2, 2, 5, 6, 7, 8, 8], ::-1], tmp_path / "w.zarr")
    np.testing.assert_allclose(values(tmp_path / "w.zarr", "rain"), expected, atol=1e-5)


def test_the_29th_of_february_is_filled_from_the_28th_where_no_other_year_has_it(tmp_path):
    rain = known_maps("daily_rain", 100)
    files = [
        write_maps(tmp_path / "a.nc", {"daily_rain": rain[:59]}, start="2004-01-01"),
        write_maps(tmp_path / "b.nc", {"daily_rain": rain[60:]}, start="2004-03-01"),
        write_maps(tmp_path / "c.nc", {"daily_rain": rain[:5] + 7.0}, start="2005-02-26"),
    ]
    ingest(files, tmp_path / "w.zarr", day_shift={"rain": 0}, fill="climatology", end="2004-04-09")
    expected = cells_of((rain[None, 58, ::-1] + rain[None, 2, ::-1] + 7.0) / 2.0, tmp_path / "w.zarr")
    np.testing.assert_allclose(values(tmp_path / "w.zarr", "rain")[[59]], expected, atol=0.0501)


def test_values_outside_their_limits_are_clipped_on_request_and_counted(tmp_path):
    rain, tmin, tmax = (known_maps(name, 4) for name in ("daily_rain", "min_temp", "max_temp"))
    rain[1, 2, 3], tmin[2, 0, 0] = -5.0, 41.0
    file = write_maps(tmp_path / "a.nc", {"daily_rain": rain, "min_temp": tmin, "max_temp": tmax})
    with pytest.raises(ForcingError, match=r"1990-01-02, cell .* rain is -5 mm d-1 \(1 such cells"):
        ingest([file], tmp_path / "w.zarr", day_shift={"rain": 0})
    with pytest.raises(ForcingError, match=r"1990-01-03.* tmin is 41 degC .* expected not more than tmax of the day"):
        ingest([file], tmp_path / "w.zarr", day_shift={"rain": 0}, names={"rain": "daily_rain"}, start="1990-01-03")
    ingest([file], tmp_path / "w.zarr", day_shift={"rain": 0}, clip=True)
    with xarray.open_zarr(tmp_path / "w.zarr", consolidated=False, chunks=None) as dataset:
        assert (dataset["rain"].attrs["clipped"], dataset["tmin"].attrs["clipped"]) == (1, 1)
        assert float(dataset["rain"].min()) == 0.0
        assert (dataset["tmin"].values <= dataset["tmax"].values + 1e-6).all()


def test_cells_without_values_are_left_out_on_request(tmp_path):
    rain = known_maps("daily_rain", 3)
    rain[:, 2, 3] = np.nan
    file = write_maps(tmp_path / "a.nc", {"daily_rain": rain})
    grid = whole(7, 6, -20.0, -0.25, 143.0, 0.25)
    with pytest.raises(ForcingError, match=r"has no value for 1 of 42 cells .* latitude -21, longitude 143.75.*--mask intersect"):
        ingest([file], tmp_path / "w.zarr", grid, day_shift={"rain": 0})
    report = ingest([file], tmp_path / "w.zarr", grid, day_shift={"rain": 0}, intersect=True)
    assert report.cells == 41
    assert report.notes[1] == "1 of 42 cells of the grid have no values and were left out"


def test_a_gaussian_grid_keeps_its_latitudes_when_cells_are_left_out(tmp_path):
    lat, lon = np.arange(85.0, -90.0, -10.0), np.arange(0.0, 360.0, 10.0)
    rain = known_maps("daily_rain", 2, lat, lon)
    rain[:, 7, :4] = np.nan
    file = write_maps(tmp_path / "a.nc", {"daily_rain": rain}, lat=lat, lon=lon)
    report = ingest([file], tmp_path / "w.zarr", Gaussian(8), day_shift={"rain": 0}, methods={"": "nearest"}, intersect=True)
    active = np.ones((8, 16), bool)
    active[3, :2] = False
    assert report.cells == 8 * 16 - 2
    assert ForcingStore.open(tmp_path / "w.zarr").attributes["grid_digest"] == Gaussian(8, active).digest


def test_points_without_a_value_are_named(tmp_path):
    rain = known_maps("daily_rain", 3)
    rain[:, 2, 3] = np.nan
    file = write_maps(tmp_path / "a.nc", {"daily_rain": rain})
    points = Points(("here", "there"), LAT[[4, 2]], LON[[1, 3]])
    for intersect in (False, True):
        with pytest.raises(ForcingError, match=r"a.nc.* no value for 1 of 2 points on the first and the last day: \"there\"\. Take"):
            ingest([file], tmp_path / "w.zarr", points, day_shift={"rain": 0}, intersect=intersect)


@pytest.mark.parametrize("day", [0, 1, 2])
def test_a_gap_is_refused_on_whichever_day_it_is(tmp_path, day):
    rain, tmin = known_maps("daily_rain", 3), known_maps("min_temp", 3)
    rain[:, 2, 3] = np.nan  # never a value: the sea
    rain[day, 4, 4] = np.nan
    file = write_maps(tmp_path / "a.nc", {"daily_rain": rain, "min_temp": tmin})
    with pytest.raises(ForcingError, match=rf"1990-01-0{day + 1}, cell .*: rain is missing \(1 such cells"):
        ingest([file], tmp_path / "w.zarr", day_shift={"rain": 0})
    rain[day, 4, 4] = 1.0
    report = ingest([write_maps(tmp_path / "b.nc", {"daily_rain": rain, "min_temp": tmin})], tmp_path / "v.zarr", day_shift={"rain": 0})
    assert report.cells == 41
    assert "1 of 42 cells of the files have no values and were left out" in report.notes


def test_a_clipped_night_is_not_warmer_than_the_clipped_day(tmp_path):
    tmin, tmax = known_maps("min_temp", 2), known_maps("max_temp", 2)
    tmin[1, 2, 3], tmax[1, 2, 3] = -112.0, -104.0
    file = write_maps(tmp_path / "a.nc", {"min_temp": tmin, "max_temp": tmax})
    with pytest.raises(ForcingError, match=r"tmin is -112 degC .*, expected -95 to 60 degC"):
        ingest([file], tmp_path / "w.zarr", day_shift={})
    ingest([file], tmp_path / "w.zarr", clip=True, day_shift={})
    assert (values(tmp_path / "w.zarr", "tmin").min(), values(tmp_path / "w.zarr", "tmax").min()) == (-95.0, -95.0)


def test_the_report_says_how_much_rain_packing_loses(tmp_path):
    drizzle = np.full((10, 7, 6), 0.04)
    drizzle[0] = 0.1
    file = write_maps(tmp_path / "a.nc", {"daily_rain": drizzle}, packed=False)
    report = ingest([file], tmp_path / "w.zarr", day_shift={"rain": 0})
    assert report.mean_annual_rain == pytest.approx(0.01 * 365.25, rel=1e-3)
    assert report.notes[-1] == "rain in steps of 0.1 mm d-1 is 21.7 % of that of the files; --exact keeps all of it"
    report = ingest([file], tmp_path / "v.zarr", exact=True, day_shift={"rain": 0})
    assert report.mean_annual_rain == pytest.approx(0.046 * 365.25, rel=1e-3)
    assert not any("steps of" in note for note in report.notes)


@pytest.mark.parametrize(("calendar", "days"), [("standard", 365.25), ("noleap", 365.0), ("360_day", 360.0)])
def test_the_rain_of_a_year_is_that_of_a_year_of_the_calendar(tmp_path, calendar, days):
    file = write_maps(tmp_path / "a.nc", {"daily_rain": np.full((3, 7, 6), 2.0)}, calendar=calendar)
    assert ingest([file], tmp_path / "w.zarr", day_shift={"rain": 0}).mean_annual_rain == pytest.approx(2.0 * days, rel=1e-6)


def test_a_time_without_a_unit_and_a_dimension_too_many_are_named(tmp_path):
    file = write_maps(tmp_path / "a.nc", {"daily_rain": known_maps("daily_rain", 3)})
    with xarray.open_dataset(file, decode_times=False) as dataset:
        dataset.load()
    dataset["time"].attrs = {}
    dataset.to_netcdf(tmp_path / "b.nc")
    with pytest.raises(ForcingError, match=r'b\.nc": variable "daily_rain" has the dimensions .*, and "time" has no unit\. Expected'):
        ingest([tmp_path / "b.nc"], tmp_path / "w.zarr")
    with xarray.open_dataset(file) as dataset:
        dataset.expand_dims(member=[1, 2]).to_netcdf(tmp_path / "c.nc")
    with pytest.raises(ForcingError, match=r'c\.nc": variable "daily_rain" has the dimensions \(member: 2,.*dataset\.isel'):
        ingest([tmp_path / "c.nc"], tmp_path / "w.zarr")


def test_a_file_cut_short_is_found_and_nothing_is_left_behind(tmp_path):
    file = write_maps(tmp_path / "a.nc", {"daily_rain": known_maps("daily_rain", 400)})
    content = file.read_bytes()
    file.write_bytes(content[: len(content) // 2])
    with pytest.raises(DamagedError, match=r'a\.nc".*cannot be read .* get the file again'):
        ingest([file], tmp_path / "w.zarr", day_shift={"rain": 0})
    assert [path.name for path in tmp_path.iterdir()] == ["a.nc"]


def test_more_files_than_a_process_may_open_are_not_called_damaged(tmp_path):
    rain = known_maps("daily_rain", 1)
    files = [write_maps(tmp_path / f"{day}.nc", {"daily_rain": rain}, start=f"1990-01-0{day}") for day in range(1, 9)]
    most, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    next_ = os.open(os.devnull, os.O_RDONLY)
    os.close(next_)
    resource.setrlimit(resource.RLIMIT_NOFILE, (next_ + 4, hard))
    try:
        with pytest.raises(
            Failure, match=rf'\d\.nc" cannot be opened: {next_ + 4} files are open, the most .* Raise the limit with ulimit -n'
        ):
            ingest(files, tmp_path / "w.zarr", day_shift={"rain": 0})
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
    assert ingest(files, tmp_path / "w.zarr", day_shift={"rain": 0}).days == 8


def test_an_ingest_that_was_killed_begins_anew(year, tmp_path):
    left = tmp_path / "w.zarr.partial"
    (left / "rain").mkdir(parents=True)
    (left / "rain" / "zarr.json").write_text("half")
    ingest(year, tmp_path / "w.zarr")
    assert not left.exists()
    assert ForcingStore.open(tmp_path / "w.zarr").n_cells == 42


def test_two_that_make_one_store_at_once_do_not_mix_what_they_write(year, tmp_path):
    refused: list[str] = []

    def meanwhile(part: float) -> None:
        if not refused:
            with pytest.raises(FolderError, match=r'Another process is making ".*w\.zarr"\. Wait until it ends') as error:
                ingest(year, tmp_path / "w.zarr", clip=True)
            refused.append(str(error.value))

    ingest_maps(year, tmp_path / "w.zarr", None, Choices(day_shift=NO_SHIFT), PRODUCT, meanwhile)
    assert len(refused) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["w.zarr"]
    np.testing.assert_allclose(
        values(tmp_path / "w.zarr", "rain"), cells_of(known_maps("daily_rain", 365)[:, ::-1], tmp_path / "w.zarr"), atol=1e-5
    )


def test_a_store_in_a_place_that_cannot_be_is_a_failure(year, tmp_path):
    (tmp_path / "file").write_text("no folder")
    with pytest.raises(Failure, match=r'file/w\.zarr" cannot be written: .*Check the disk and the permissions'):
        ingest(year, tmp_path / "file" / "w.zarr")


def weekly(path: Path, weeks: int, lengths: list[int] | None = None, units: str = "mm d-1", start: str = "1990-01-01") -> Path:
    """Maps of pan evaporation, a week each."""
    stops = np.cumsum(lengths or [7] * weeks)
    bounds = np.stack([np.append(0, stops[:-1]), stops], axis=1).astype(np.float64)
    maps_ = {"evap_pan": known_maps("evap_pan", weeks)}
    return write_maps(path, maps_, start=start, units={"evap_pan": units}, time=bounds.mean(axis=1), bounds=bounds)


def test_bounds_of_cdo_that_lack_the_end_of_a_day_are_named(tmp_path):
    begins = np.arange(4.0)
    bounds = np.stack([begins, begins + 0.875], axis=1)  # cdo daymean of records at 0, 3, .., 21 h
    file = write_maps(tmp_path / "a.nc", {"vp": known_maps("vp", 4)}, time=bounds.mean(axis=1), bounds=bounds)
    with pytest.raises(ForcingError, match=r"is of 0.875 days, .* as cdo daymean writes them, .*: ncatted -a bounds,time,d,, FILE"):
        ingest([file], tmp_path / "w.zarr", day_shift={})
    parts = write_maps(tmp_path / "b.nc", {"vp": known_maps("vp", 4)}, time=begins / 2, bounds=np.stack([begins, begins + 1], axis=1) / 2)
    with pytest.raises(ForcingError, match=r"is of 0.5 days, .* Make them daily first"):
        ingest([parts], tmp_path / "w.zarr", day_shift={})


def test_weekly_maps_keep_their_weeks_beside_daily_ones(tmp_path):
    rain = write_maps(tmp_path / "rain.nc", {"daily_rain": known_maps("daily_rain", 365)})
    pan = [weekly(tmp_path / "a.nc", 26), weekly(tmp_path / "b.nc", 26, [7] * 25 + [8], start="1990-07-02")]
    report = ingest([rain, *pan], tmp_path / "w.zarr", day_shift={"rain": 0})
    assert report.days == 365
    store = ForcingStore.open(tmp_path / "w.zarr")
    assert (store["rain"].axis.rows, store["pan"].axis.rows, store["pan"].axis.name) == (365, 52, "time_weekly")
    np.testing.assert_array_equal(store["pan"].axis.starts, Axis.weekly(store["rain"].axis.first, 365).starts)
    expected = np.concatenate([cells_of(known_maps("evap_pan", 26)[:, ::-1], tmp_path / "w.zarr")] * 2)
    np.testing.assert_allclose(values(tmp_path / "w.zarr", "pan"), expected, atol=1e-5)
    reader = ForcingReader(tmp_path / "w.zarr", range(42), ["rain", "pan"], Clock.daily("1990-01-01"))
    first = reader.pieces(range(365))[0]
    _, packed = next(iter(reader.stream(range(42)).tiles(first)))
    rows = packed.row_of[1]
    assert [int(rows[day] - rows[0]) for day in (0, 6, 7, 13, 14)] == [0, 0, 1, 1, 2]
    reader.close()


def test_a_period_cuts_weeks_off_and_other_weeks_have_an_axis_of_their_own(tmp_path):
    bounds = np.array([[9 * k, 9 * k + 9] for k in range(5)], float)
    vp = write_maps(tmp_path / "vp.nc", {"vp": known_maps("vp", 5)}, time=bounds.mean(axis=1), bounds=bounds)
    ingest([weekly(tmp_path / "a.nc", 8), vp], tmp_path / "w.zarr", start="1990-01-03", end="1990-02-10", day_shift={})
    store = ForcingStore.open(tmp_path / "w.zarr")
    pan, vapour = store["pan"].axis, store["vp"].axis
    assert (pan.first, pan.stop) == (vapour.first, vapour.stop)
    assert {pan.name, vapour.name} == {"time_weekly", "time_weekly_2"}
    assert list(pan.stops - pan.starts) == [5, 7, 7, 7, 7, 6]
    assert list(vapour.stops - vapour.starts) == [7, 9, 9, 9, 5]


def test_the_last_week_of_a_year_may_have_one_day(tmp_path):
    files = [weekly(tmp_path / "a.nc", 53, [7] * 52 + [1]), weekly(tmp_path / "b.nc", 2, start="1991-01-01")]
    ingest(files, tmp_path / "w.zarr", day_shift={"pan": 0})
    axis = ForcingStore.open(tmp_path / "w.zarr")["pan"].axis
    assert list(axis.stops - axis.starts) == [7] * 52 + [1, 7, 7]
    daily = write_maps(tmp_path / "c.nc", {"evap_pan": known_maps("evap_pan", 3)}, start="1991-01-15")
    with pytest.raises(ForcingError, match="pan has daily and weekly maps in 3 files"):
        ingest([*files, daily], tmp_path / "w.zarr", day_shift={"pan": 0})


def test_weeks_that_lack_or_come_twice_and_months_are_refused(tmp_path):
    files = [weekly(tmp_path / "a.nc", 4), weekly(tmp_path / "b.nc", 4, start="1990-02-05")]
    with pytest.raises(ForcingError, match=r"pan lacks 7 of the 63 days .* 1990-01-29 to 1990-02-04\..* weeks are not filled"):
        ingest(files, tmp_path / "w.zarr", fill="previous", day_shift={})
    with pytest.raises(ForcingError, match=r"both hold pan of 1990-01-25 \(1 such"):
        ingest([files[0], weekly(tmp_path / "c.nc", 4, start="1990-01-25")], tmp_path / "w.zarr", day_shift={})
    with pytest.raises(ForcingError, match="is of 31 days, expected daily or weekly maps"):
        ingest([weekly(tmp_path / "d.nc", 2, [31, 28])], tmp_path / "w.zarr", day_shift={})
    daily = write_maps(tmp_path / "e.nc", {"evap_pan": known_maps("evap_pan", 7)}, start="1990-01-29")
    with pytest.raises(ForcingError, match="pan has daily and weekly maps in 2 files"):
        ingest([files[0], daily], tmp_path / "w.zarr", day_shift={"pan": 0})
    assert not (tmp_path / "w.zarr").exists()


@pytest.mark.parametrize("span", [np.array([0, 500], np.int16), np.array([0.0, 50.0])], ids=["packed", "of its values"])
def test_limits_of_packed_numbers_are_those_of_the_values(tmp_path, span):
    data = xarray.open_dataset(write_maps(tmp_path / "made.nc", {"wind_speed": np.full((3, 7, 6), 12.5)}, units={"wind_speed": "m s-1"}))
    data["wind_speed"].attrs["valid_range"] = span
    data.to_netcdf(tmp_path / "wind.nc")
    ingest([tmp_path / "wind.nc"], tmp_path / "w.zarr", names={"wind": "wind_speed"}, day_shift={})
    with xarray.open_zarr(tmp_path / "w.zarr", consolidated=False, chunks=None) as store:
        assert (store["wind"].attrs["valid_min"], store["wind"].attrs["valid_max"]) == (0.0, 50.0)
    np.testing.assert_allclose(values(tmp_path / "w.zarr", "wind"), 12.5, atol=0.05)


@pytest.mark.parametrize("packed", [True, False])
@pytest.mark.parametrize("limits", [{"valid_max": 500.0}, {"valid_range": [0.0, 500.0]}, {"valid_max": np.int16(5000)}], ids=str)
def test_weather_outside_its_valid_range_is_missing(tmp_path, limits, packed):
    """One cell is beyond on every day; 500.0 is not."""
    if not packed:
        limits = {name: np.minimum(limit, 500.0) for name, limit in limits.items()}
    rain = known_maps("daily_rain", 3)
    rain[:, 0, 0], rain[:, 0, 1] = 900.0, 500.0
    data = xarray.open_dataset(write_maps(tmp_path / "made.nc", {"daily_rain": rain}, packed=packed))
    data["daily_rain"].attrs |= limits
    data.to_netcdf(tmp_path / "a.nc")
    assert ingest([tmp_path / "a.nc"], tmp_path / "w.zarr", day_shift={"rain": 0}).cells == 41
    assert values(tmp_path / "w.zarr", "rain").max() == pytest.approx(500.0)
    rain[0, 0, 0] = 1.0
    other = xarray.open_dataset(write_maps(tmp_path / "again.nc", {"daily_rain": rain}, packed=packed))
    other["daily_rain"].attrs |= limits
    other.to_netcdf(tmp_path / "b.nc")
    with pytest.raises(ForcingError, match="rain is missing, or outside the valid range that the file states"):
        ingest([tmp_path / "b.nc"], tmp_path / "other.zarr", day_shift={"rain": 0})


@pytest.mark.parametrize("limits", [{"valid_range": [-500, 0]}, {"valid_min": -500, "valid_max": 0}, {"valid_min": -500}], ids=str)
def test_where_a_scale_is_negative_the_least_packed_number_is_the_greatest_value(tmp_path, limits):
    data = xarray.open_dataset(write_maps(tmp_path / "made.nc", {"wind_speed": np.full((3, 7, 6), 12.5)}, units={"wind_speed": "m s-1"}))
    data["wind_speed"].attrs |= {name: np.array(limit, np.int16) for name, limit in limits.items()}
    data["wind_speed"].encoding["scale_factor"] = -0.1
    data.to_netcdf(tmp_path / "wind.nc")
    ingest([tmp_path / "wind.nc"], tmp_path / "w.zarr", names={"wind": "wind_speed"}, day_shift={})
    with xarray.open_zarr(tmp_path / "w.zarr", consolidated=False, chunks=None) as store:
        assert store["wind"].attrs["valid_max"] == pytest.approx(50.0)
        assert store["wind"].attrs["valid_min"] <= 0.0
