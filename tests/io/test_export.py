"""Exports: right values after the conventions of each form, whole or absent, in bounded memory, and what is not there is said."""

import csv
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import netCDF4
import numpy as np
import pytest
import rasterio
import xarray

from steppe.clock import parse_date
from steppe.errors import DamagedError, Failure, FolderError, GridError, Mistake, NoSpaceError
from steppe.grid import Points
from steppe.io.axis import Axis, day_number
from steppe.io.export import ExportSource, selection, write_cells, write_geotiff, write_netcdf, write_series
from steppe.io.folders.run_progress import Progress
from steppe.io.output.store import Group, Output, create_store
from steppe.io.output.writer import OutputWriter
from steppe.io.shard import write_small
from steppe.variable import Role, Variable
from tests.io.small_store import small_grid, small_values, write_small_store
from tests.io.writer_process import groups, raster

FIRST = 51134  # 1990-01-01
GROWTH = Variable("growth", ("cell",), "kg ha-1 d-1", "float32", Role.DIAGNOSTIC, "Growth", low=0.0)
WETNESS = Variable(
    "wetness", ("cell",), "1", "float32", Role.STATE, "Wetness of the soil", standard_name="volume_fraction_of_condensed_water_in_soil"
)


def values(records: int, cells: int, seed: int = 5) -> np.ndarray:
    return np.random.default_rng(seed).gamma(1.0, 4.0, (records, cells)).astype(np.float32)


def make_run(path: Path, grid, days: int = 500, records: int = 500, calendar: str = "standard", first: int = FIRST) -> np.ndarray:
    """A run folder whose output is known: `records` of `days` days are committed."""
    group = Group(Axis.daily(first, days, calendar), grid, (Output(GROWTH), Output(WETNESS, "last", "12 bits")))
    path.mkdir()
    create_store(path / "output.zarr", [group], {"title": "A run", "source": "Steppe, model test", "steppe_identity": {"model": "test 1"}})
    writer, table = OutputWriter(path / "output.zarr", [group]), values(days, grid.n_cells)
    for day in range(records):
        for name in ("growth", "wetness"):
            writer.put(name, day, table[day])
    committed = writer.finish() if records == days else writer.commit()
    Progress("finished" if records == days else "running", records, records=committed).write(path)
    writer.close()
    return table


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> tuple[Path, np.ndarray]:
    path = tmp_path_factory.mktemp("export") / "run"
    return path, make_run(path, raster())


@pytest.fixture(scope="module")
def stations(tmp_path_factory) -> tuple[Path, np.ndarray]:
    path = tmp_path_factory.mktemp("stations") / "run"
    grid = Points(("Dalby", "Roma", "Longreach"), np.array([-27.16, -26.55, -23.44]), np.array([151.26, 148.77, 144.25]))
    return path, make_run(path, grid)


def check_cf(path: Path) -> None:
    """The CF checker of IOOS has nothing to say."""
    command = [Path(sys.executable).with_name("compliance-checker"), "--test", "cf:1.11", "--criteria", "strict", path]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert "All tests passed!" in done.stdout, done.stdout + done.stderr


# ---- NetCDF ---------------------------------------------------------------------------------------------------------------------------
def test_maps_are_the_values_of_the_store_on_the_raster(made, tmp_path):
    path, table = made
    told: list[float] = []
    what = ExportSource(path)
    assert write_netcdf(what, tmp_path / "a.nc", "made by a test", progress=told.append) == [tmp_path / "a.nc"]
    with xarray.open_dataset(tmp_path / "a.nc", decode_coords="all") as found:
        assert found["growth"].dims == ("time", "lat", "lon")
        np.testing.assert_array_equal(found["growth"], raster().unpack(table))
        np.testing.assert_array_equal(found["lat"], raster().lat)
        np.testing.assert_array_equal(found["lon_bnds"], raster().lon_bnds)
        assert str(found["time"].values[31])[:10] == "1990-02-01"
        assert str(found["time_bnds"].values[31, 1])[:10] == "1990-02-02"
        np.testing.assert_allclose(found["cell_area"].sum(), raster().cell_area.sum(), rtol=1e-6)
        assert found["growth"].attrs["units"] == "kg ha-1 d-1"
        assert found["growth"].attrs["cell_methods"] == "time: mean"
        assert found.attrs["history"].endswith("made by a test")
        assert found.attrs["time_coverage_end"] == "1991-05-15"
    assert told == sorted(told)
    assert told[-1] == 1.0
    assert len(told) > 4


def test_the_file_holds_to_the_conventions(made, tmp_path):
    what = ExportSource(made[0], start="1990-01-01", end="1990-01-20")
    write_netcdf(what, tmp_path / "a.nc", "made by a test")
    check_cf(tmp_path / "a.nc")


def test_values_are_compressed_and_rounding_is_said_as_the_conventions_want(made, tmp_path):
    what = ExportSource(made[0])
    write_netcdf(what, tmp_path / "a.nc", "")
    with netCDF4.Dataset(tmp_path / "a.nc") as found:
        assert found["growth"].filters()["zlib"]
        assert found["growth"].chunking() == [16, 20, 20]
        assert found[found["wetness"].getncattr("quantization")].algorithm == "bitround"
        assert found["wetness"].quantization_nsb == 12


def test_a_folder_takes_a_file_for_each_variable(made, tmp_path):
    what = ExportSource(made[0], end="1990-01-05")
    assert write_netcdf(what, tmp_path / "maps", "") == [tmp_path / "maps/growth.nc", tmp_path / "maps/wetness.nc"]
    with xarray.open_dataset(tmp_path / "maps/wetness.nc") as found:
        assert "wetness" in found
        assert "growth" not in found


@pytest.mark.parametrize("rows", [1, 8, 64])
def test_the_size_of_the_blocks_does_not_show(made, tmp_path, monkeypatch, rows):
    path, table = made
    monkeypatch.setattr(selection, "BLOCK_BYTES", rows * 8 * raster().active.size)
    what = ExportSource(path, ["growth"], "1990-03-01", "1990-06-30")
    assert what.rows_of_a_block() == rows
    write_netcdf(what, tmp_path / "a.nc", "")
    with xarray.open_dataset(tmp_path / "a.nc") as found:
        np.testing.assert_array_equal(found["growth"], raster().unpack(table[59:181]))


def test_a_region_is_the_box_about_its_cells(made, tmp_path):
    path, table = made
    what = ExportSource(path, ["growth"], end="1990-01-03", region={"polygon": [[140.95, -20.25], [141.45, -20.25], [141.45, -20.75]]})
    write_netcdf(what, tmp_path / "a.nc", "")
    write_geotiff(what, tmp_path / "maps")
    cells = what.cells
    whole = np.full((3, raster().n_cells), np.nan, np.float32)
    whole[:, cells] = table[:3, cells]
    wanted = raster().unpack(whole)[:, 3:8, 10:15]
    with xarray.open_dataset(tmp_path / "a.nc") as found:
        assert 0 < cells.size < found["growth"][0].size
        np.testing.assert_allclose(found["lat"], raster().lat[3 : 3 + found.sizes["lat"]])
        np.testing.assert_array_equal(found["growth"], wanted[:, : found.sizes["lat"], -found.sizes["lon"] :])
        with rasterio.open(tmp_path / "maps/growth_1990-01-03.tif") as file:
            np.testing.assert_array_equal(file.read(1), found["growth"][2])


def test_records_of_maps_can_be_appended_as_nco_needs_it(made, stations, tmp_path):
    path, _ = made
    write_netcdf(ExportSource(path), tmp_path / "a.nc", "")
    write_netcdf(ExportSource(stations[0]), tmp_path / "b.nc", "")
    with netCDF4.Dataset(tmp_path / "a.nc") as maps, netCDF4.Dataset(tmp_path / "b.nc") as series:
        assert maps.dimensions["time"].isunlimited()
        assert maps["growth"].dimensions[0] == "time"
        assert maps["time_bnds"].chunking() == list(maps["time_bnds"].shape)  # not a chunk for each record
        assert not series.dimensions["time"].isunlimited()  # (station, time): only the first dimension may grow
    if ncra := shutil.which("ncra"):
        subprocess.run([ncra, tmp_path / "a.nc", tmp_path / "mean.nc"], check=True)
        with xarray.open_dataset(tmp_path / "a.nc") as found, xarray.open_dataset(tmp_path / "mean.nc") as mean:
            np.testing.assert_allclose(mean["growth"][0], found["growth"].mean("time"), rtol=1e-5)


def test_a_record_that_is_appended_in_part_is_missing_elsewhere(made, tmp_path):
    """Other readers, such as VirtualiZarr, take the fill value of HDF5, which is that of the attribute."""
    path, _ = made
    [file] = write_netcdf(ExportSource(path, ["growth"]), tmp_path / "all.nc", "test")
    with netCDF4.Dataset(file, "a") as data:
        records = len(data["time"])
        data["growth"][records, 0, 0] = 3.0
        data["time"][records] = data["time"][records - 1] + 1
    with netCDF4.Dataset(file) as data:
        record = data["growth"][records]
        assert record[0, 0] == 3.0
        assert record.mask.sum() == record.size - 1


def test_stations_become_time_series_after_the_conventions(stations, tmp_path):
    path, table = stations
    what = ExportSource(path)
    write_netcdf(what, tmp_path / "a.nc", "")
    with xarray.open_dataset(tmp_path / "a.nc") as found:
        assert found.attrs["featureType"] == "timeSeries"
        assert found["growth"].dims == ("station", "time")
        np.testing.assert_array_equal(found["growth"], table.T)
        assert list(found["station"].values) == ["Dalby", "Roma", "Longreach"]
        assert found["lat"].values[2] == -23.44
    check_cf(tmp_path / "a.nc")


def test_a_calendar_of_360_days_is_kept(tmp_path):
    make_run(tmp_path / "run", raster(), 40, 40, "360_day", day_number(parse_date("1990-02-01", "360_day")))
    what = ExportSource(tmp_path / "run", ["growth"])
    write_netcdf(what, tmp_path / "a.nc", "")
    write_cells(what, tmp_path / "a.csv", [(141.0, -20.5)])
    with xarray.open_dataset(tmp_path / "a.nc", decode_times=xarray.coders.CFDatetimeCoder(use_cftime=True)) as found:
        assert found["time"].dt.calendar == "360_day"
    dates = [line.split(",")[0] for line in (tmp_path / "a.csv").read_text().splitlines()[1:]]
    assert dates[29:31] == ["1990-02-30", "1990-03-01"]


def test_weather_is_exported_in_its_units_too(tmp_path):
    write_small_store(tmp_path / "weather.zarr")
    what = ExportSource(tmp_path / "weather.zarr", ["rain"], end="1990-02-28")
    write_netcdf(what, tmp_path / "a.nc", "")
    with xarray.open_dataset(tmp_path / "a.nc") as found:
        np.testing.assert_allclose(found["rain"], small_grid().unpack(small_values()["rain"][:59]), rtol=1e-6)
    check_cf(tmp_path / "a.nc")


def project(path: Path) -> None:
    """Makes of the raster of a run one of Australian Albers, 10 km wide cells."""
    store = path / "output.zarr"
    albers = {
        "grid_mapping_name": "albers_conical_equal_area",
        "standard_parallel": [-18.0, -36.0],
        "longitude_of_central_meridian": 132.0,
        "latitude_of_projection_origin": 0.0,
        "crs_wkt": rasterio.crs.CRS.from_epsg(3577).to_wkt(),
    }
    for old, new, first, step in (("lat", "y", -2_000_000.0, -10_000.0), ("lon", "x", 800_000.0, 10_000.0)):
        centres = first + step * np.arange(20)
        shutil.rmtree(store / old)
        shutil.rmtree(store / f"{old}_bnds")
        named = {
            "units": "m",
            "standard_name": f"projection_{new}_coordinate",
            "long_name": new,
            "axis": new.upper(),
            "bounds": f"{new}_bnds",
        }
        write_small(store, new, centres, named, (new,))
        write_small(store, f"{new}_bnds", np.stack([centres - step / 2, centres + step / 2], 1), {}, (new, "bnds"))
    for name, attributes in (("cell", {"compress": "y x", "long_name": "cell"}), ("crs", albers)):
        described = json.loads((store / name / "zarr.json").read_text())
        (store / name / "zarr.json").write_text(json.dumps({**described, "attributes": attributes}))


def test_a_projected_raster_keeps_its_axes_and_says_where_its_cells_are(tmp_path):
    table = make_run(tmp_path / "run", raster(), 20, 20)
    project(tmp_path / "run")
    what = ExportSource(tmp_path / "run", ["growth"], end="1990-01-03")
    write_netcdf(what, tmp_path / "a.nc", "")
    write_geotiff(what, tmp_path / "maps")
    write_cells(what, tmp_path / "a.csv", [(141.0, -20.5)])
    with xarray.open_dataset(tmp_path / "a.nc", decode_coords="all") as found:
        assert found["growth"].dims == ("time", "y", "x")
        np.testing.assert_array_equal(found["growth"], raster().unpack(table[:3]))
        assert found["lat"].dims == found["lon"].dims == ("y", "x")
        np.testing.assert_allclose(found["lat"].values[:, 10], raster().lat, rtol=1e-6)
    check_cf(tmp_path / "a.nc")
    with rasterio.open(tmp_path / "maps/growth_1990-01-02.tif") as file:
        assert file.crs.to_epsg() == 3577
        assert file.bounds == pytest.approx((795_000.0, -2_195_000.0, 995_000.0, -1_995_000.0))
        np.testing.assert_array_equal(file.read(1), raster().unpack(table[1]))
    assert (tmp_path / "a.csv").read_text().splitlines()[1].startswith("1990-01-01,-20.5,141,")


# ---- CSV ------------------------------------------------------------------------------------------------------------------------------
def test_cells_are_lines_with_dates_places_and_units(made, tmp_path):
    path, table = made
    what = ExportSource(path, start="1990-02-01")
    write_cells(what, tmp_path / "a.csv", [(141.0, -20.5), (140.6, -21.9)])
    cells = [what.grid.locate(141.0, -20.5), what.grid.locate(140.6, -21.9)]
    head, *lines = csv.reader((tmp_path / "a.csv").read_text().splitlines())
    assert head == ["date", "latitude", "longitude", "growth [kg ha-1 d-1]", "wetness [1]"]
    assert lines[0][:3] == ["1990-02-01", "-20.5", "141"]
    assert len(lines) == 2 * (500 - 31)
    read = np.array([float(line[3]) for line in lines], np.float32).reshape(-1, 2)
    np.testing.assert_array_equal(read, table[31:, cells])


def test_stations_are_named(stations, tmp_path):
    what = ExportSource(stations[0], end="1990-01-01", region="Roma")
    write_cells(what, tmp_path / "a.csv")
    assert (tmp_path / "a.csv").read_text().splitlines()[1].startswith("1990-01-01,Roma,-26.55,148.77,")


def test_regions_are_lines_of_a_series(tmp_path):
    create_store(tmp_path / "output.zarr", groups(), {})
    writer = OutputWriter(tmp_path / "output.zarr", groups())
    for record in range(40):
        writer.put("series/ten/growth", record, np.array([record / 3.0, np.nan]))
    Progress("running", 400, records=writer.commit()).write(tmp_path)
    writer.close()
    write_series(tmp_path, "ten", tmp_path / "a.csv", end="1990-01-15")
    assert (tmp_path / "a.csv").read_text().splitlines() == [
        "date,region,growth [kg ha-1]",
        "1990-01-01,north,0.0",
        "1990-01-01,south,",
        "1990-01-11,north,0.3333333333333333",
        "1990-01-11,south,",
    ]
    with pytest.raises(Mistake, match=r'has no series "tem". Did you mean "ten"?'):
        write_series(tmp_path, "tem", tmp_path / "b.csv")
    with pytest.raises(Mistake, match=r'holds no variable "grwth". Did you mean "growth"?'):
        write_series(tmp_path, "ten", tmp_path / "b.csv", ["grwth"])
    with pytest.raises(Mistake, match="holds 1990-01-01 to 1991-02-04"):
        write_series(tmp_path, "ten", tmp_path / "b.csv", start="1980-01-01")


# ---- GeoTIFF --------------------------------------------------------------------------------------------------------------------------
def test_a_map_is_a_valid_geotiff_of_its_place_and_unit(made, tmp_path):
    from rio_cogeo.cogeo import cog_validate

    path, table = made
    what = ExportSource(path, ["growth"], "1990-03-01", "1990-03-01")
    assert write_geotiff(what, tmp_path / "a.tif") == [tmp_path / "a.tif"]
    with rasterio.open(tmp_path / "a.tif") as file:
        np.testing.assert_array_equal(file.read(1), raster().unpack(table[59]))
        assert file.crs.to_epsg() == 4326
        assert file.bounds == pytest.approx((139.95, -21.95, 141.95, -19.95))
        assert np.isnan(file.nodata)
        assert file.units == ("kg ha-1 d-1",)
        assert file.descriptions == ("Growth [kg ha-1 d-1] 1990-03-01 time: mean",)
        assert file.tags()["title"] == "A run"
        x, y = file.index(141.0, -20.5)
        assert file.read(1)[x, y] == table[59, raster().locate(141.0, -20.5)]
    assert cog_validate(tmp_path / "a.tif", quiet=True) == (True, [], [])


def test_a_large_map_has_overviews(tmp_path):
    from rio_cogeo.cogeo import cog_validate

    from steppe.grid import Raster

    large = Raster(-10.0, -0.05, 112.0, 0.05, np.ones((700, 600), bool))
    make_run(tmp_path / "run", large, 1, 1)
    what = ExportSource(tmp_path / "run", ["growth"])
    write_geotiff(what, tmp_path / "a.tif")
    with rasterio.open(tmp_path / "a.tif") as file:
        assert file.overviews(1) == [2, 4]
    assert cog_validate(tmp_path / "a.tif", strict=True, quiet=True)[0]


def test_a_row_on_a_pole_is_a_whole_pixel_of_a_geotiff(tmp_path):
    from steppe.grid import Raster

    make_run(tmp_path / "run", Raster(90.0, -0.5, 0.25, 0.5, np.ones((4, 6), bool)), 1, 1)
    for region, rows in (("all", 4), ({"box": [0.0, 89.9, 3.0, 90.0]}, 1)):
        write_geotiff(ExportSource(tmp_path / "run", ["growth"], region=region), tmp_path / "a.tif", overwrite=True)
        with rasterio.open(tmp_path / "a.tif") as file:
            assert file.shape == (rows, 6)
            assert file.bounds == pytest.approx((0.0, 90.25 - 0.5 * rows, 3.0, 90.25))


def test_one_file_takes_one_map_and_points_make_none(made, stations, tmp_path):
    what = ExportSource(made[0])
    with pytest.raises(Mistake, match="takes one map, 1,000 are wanted"):
        write_geotiff(what, tmp_path / "a.tif")
    what = ExportSource(stations[0])
    with pytest.raises(GridError, match="holds points, which make no map"):
        write_geotiff(what, tmp_path / "a.tif")


# ---- what is not there, what breaks -----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("wanted", "sentence"),
    [
        ({"variables": ["grwth"]}, 'holds no variable "grwth" on its cells. Did you mean "growth"?'),
        ({"start": "1980-01-01"}, "1980-01-01 is not in .* which holds 1990-01-01 to 1991-05-15"),
        ({"end": "1999-01-01"}, "1999-01-01 is not in"),
        (
            {"start": "1990-03-01", "end": "1990-02-01"},
            "The period from 1990-03-01 to 1990-02-01 holds nothing: its start is after its end",
        ),
    ],
)
def test_what_is_not_in_the_run_is_said(made, wanted, sentence):
    with pytest.raises(Mistake, match=sentence):
        ExportSource(made[0], **wanted)


def test_what_is_not_computed_yet_is_told_from_what_never_will_be(tmp_path):
    table = make_run(tmp_path / "run", raster(), 800, 390)
    with pytest.raises(Mistake, match=r"holds 1990-01-01 to 1992-03-10, but the run has written up to 1991-01-25 yet"):
        ExportSource(tmp_path / "run", end="1991-02-01")
    with pytest.raises(Mistake, match="not in"):
        ExportSource(tmp_path / "run", end="1995-02-01")
    what = ExportSource(tmp_path / "run", ["growth"])
    write_netcdf(what, tmp_path / "a.nc", "")
    with xarray.open_dataset(tmp_path / "a.nc") as found:
        np.testing.assert_array_equal(found["growth"], raster().unpack(table[:390]))


def test_a_run_that_has_written_nothing_says_so(tmp_path):
    make_run(tmp_path / "run", raster(), 500, 0)
    with pytest.raises(Mistake, match="but the run has written nothing yet"):
        ExportSource(tmp_path / "run")


def test_a_file_that_is_there_stays_unless_it_may_go(made, tmp_path):
    (tmp_path / "a.nc").write_text("mine")
    what = ExportSource(made[0], end="1990-01-02")
    with pytest.raises(FolderError, match="is there already"):
        write_netcdf(what, tmp_path / "a.nc", "")
    assert (tmp_path / "a.nc").read_text() == "mine"
    write_netcdf(what, tmp_path / "a.nc", "", overwrite=True)
    with pytest.raises(FolderError, match="there is no folder"):
        write_cells(what, tmp_path / "no/a.csv")
    assert xarray.open_dataset(tmp_path / "a.nc").sizes["time"] == 2


def test_a_pipe_is_not_replaced_by_a_file(made, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(FolderError, match=r'pipe" is a device or a pipe, whose place a file would take\. Give another name\.'):
        write_cells(ExportSource(made[0]), tmp_path / "pipe", [(141.0, -20.5)], overwrite=True)
    assert (tmp_path / "pipe").is_fifo()


def test_damage_in_the_store_leaves_the_old_file(tmp_path):
    make_run(tmp_path / "run", raster())
    shard = next((tmp_path / "run/output.zarr/growth/c").glob("1/0"))
    data = bytearray(shard.read_bytes())
    data[len(data) // 3] ^= 1
    shard.write_bytes(data)
    (tmp_path / "a.nc").write_text("mine")
    what = ExportSource(tmp_path / "run")
    with pytest.raises(DamagedError, match=r'Variable "growth", 1991-\d\d-\d\d to'):
        write_netcdf(what, tmp_path / "a.nc", "", overwrite=True)
    assert (tmp_path / "a.nc").read_text() == "mine"
    assert sorted(file.name for file in tmp_path.iterdir()) == ["a.nc", "run"]


def test_two_who_write_one_file_at_once_do_not_mix(made, tmp_path):
    what, begun = ExportSource(made[0]), []

    def write_another(part: float) -> None:
        if not begun:
            begun.append(part)
            write_netcdf(what, tmp_path / "a.nc", "another", overwrite=True)

    write_netcdf(what, tmp_path / "a.nc", "one", overwrite=True, progress=write_another)
    assert begun
    with xarray.open_dataset(tmp_path / "a.nc") as written, xarray.open_dataset(write_netcdf(what, tmp_path / "b.nc", "one")[0]) as alone:
        xarray.testing.assert_equal(written, alone)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["a.nc", "b.nc"]


@pytest.fixture
def small_disk(tmp_path) -> Path:
    """A file system of 256 kB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    if os.geteuid() or subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", folder], check=False).returncode:
        pytest.skip("needs the right to mount a tmpfs")
    yield folder
    subprocess.run(["umount", "--lazy", folder], check=True)


def test_a_full_disk_is_named_and_nothing_is_left_of_the_file(made, small_disk):
    what = ExportSource(made[0])
    for write in (
        lambda: write_netcdf(what, small_disk / "a.nc", ""),
        lambda: write_cells(what, small_disk / "a.csv"),
        lambda: write_geotiff(what, small_disk),
    ):
        with pytest.raises(NoSpaceError, match=r"No space left|no space is left"):
            write()
        assert not list(small_disk.glob("*.tmp"))
        for file in small_disk.iterdir():
            assert file.suffix == ".tif"
            with rasterio.open(file) as whole:
                assert np.isfinite(whole.read(1)).any()


def test_a_folder_that_may_not_be_written_is_a_failure(made):
    what = ExportSource(made[0], end="1990-01-02")
    with pytest.raises(Failure, match="cannot be written"):
        write_netcdf(what, Path("/proc/a.nc"), "")
