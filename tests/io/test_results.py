import threading
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st

from steppe.errors import DamagedError, FolderError, GridError
from steppe.grid import Points
from steppe.io.axis import Axis
from steppe.io.folders.run_progress import Progress
from steppe.io.output.store import Group, Output, create_store
from steppe.io.output.writer import OutputWriter
from steppe.io.results.dataset import open_results, unpack
from tests.io.small_store import write_small_store
from tests.io.writer_process import DAYS, advance, groups, raster, run, variable


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("results") / "run"
    run(path)
    return path


@cache
def expected() -> np.ndarray:
    state, rows = np.zeros(300), []
    for day in range(DAYS):
        state = advance(state, day)
        rows.append(state.astype("float32"))
    return np.array(rows)


def test_a_finished_run_opens_with_dates_and_places(finished: Path) -> None:
    with open_results(finished) as found:
        np.testing.assert_array_equal(found["growth"], expected())
        assert list(found.data_vars) == ["growth"]
        assert {"time", "cell", "lat", "lon", "cell_lat", "cell_lon", "cell_area", "time_bnds", "crs"} <= set(found.coords)
        assert str(found["time"].values[31])[:10] == "1990-02-01"
        assert found["growth"].attrs["units"] == "kg ha-1"
        np.testing.assert_array_equal(found["cell_lat"], raster().cell_lat)


def test_a_store_opens_like_its_run_folder(finished: Path) -> None:
    with open_results(finished) as folder, open_results(finished / "output.zarr") as store:
        xr.testing.assert_identical(folder, store)


def test_a_forcing_store_opens_in_its_units(tmp_path: Path) -> None:
    values = write_small_store(tmp_path / "weather.zarr")
    with open_results(tmp_path / "weather.zarr") as found:
        np.testing.assert_allclose(found["rain"], values["rain"], atol=1e-6)
        assert unpack(found["tmax"], found).dims == ("time", "lat", "lon")
    (tmp_path / "weather.zarr/rain/c/0/0").unlink()
    with pytest.raises(DamagedError, match=r"rain/c/0/0. is missing"):
        open_results(tmp_path / "weather.zarr")


def test_series_open_by_name(finished: Path) -> None:
    with open_results(finished, series="ten") as found:
        assert list(found["region"].values) == ["north", "south"]
        assert found["growth"].dtype == np.float64
        np.testing.assert_allclose(found["growth"], expected()[9::10, :2], rtol=1e-5)
        assert found["growth"].attrs["cell_methods"] == "time: sum area: mean"


def test_maps_are_unpacked_to_latitude_and_longitude(finished: Path) -> None:
    with open_results(finished) as found:
        maps = unpack(found)
        assert maps["growth"].dims == ("time", "lat", "lon")
        np.testing.assert_array_equal(maps["growth"], raster().unpack(expected()))
        assert {"lat_bnds", "crs", "time_bnds"} <= set(maps.coords)
        assert maps["growth"].encoding == {"grid_mapping": "crs"}
        one = unpack(found["growth"].isel(time=7), found)
        assert unpack(found["growth"].mean("time"), found).encoding == {"grid_mapping": "crs"}
        assert one.dims == ("lat", "lon")
        np.testing.assert_array_equal(one, raster().unpack(expected()[7]))
        np.testing.assert_array_equal(one["lat"], raster().lat)
        assert "cell" not in maps.dims
        with pytest.raises(GridError, match=r'Write unpack\(dataset\["name"\], dataset\)'):
            unpack(found["growth"])


@pytest.mark.parametrize(("given", "said"), [(3, "not a int"), ("runs/a", 'not "runs/a"'), (None, "not a NoneType")])
def test_what_is_no_dataset_is_named(given: object, said: str) -> None:
    with pytest.raises(TypeError, match=f"unpack takes a dataset of steppe.open or variables of one, {said}"):
        unpack(given)  # type: ignore[type-var]


def test_points_are_not_unpacked(tmp_path: Path) -> None:
    grid = Points(("Dalby",), np.array([-27.2]), np.array([151.3]))
    create_store(tmp_path / "output.zarr", [Group(Axis.daily(51134, 3), grid, (Output(variable("growth")),))], {})
    with open_results(tmp_path) as found, pytest.raises(GridError, match="not packed cells of a raster"):
        unpack(found)


def test_a_run_under_way_shows_what_is_committed(tmp_path: Path) -> None:
    create_store(tmp_path / "output.zarr", groups(), {})
    writer = OutputWriter(tmp_path / "output.zarr", groups())
    with open_results(tmp_path) as found:
        assert found.sizes["time"] == 0
    for day in range(500):
        writer.put("growth", day, expected()[0])
    Progress("running", 500, records=writer.commit()).write(tmp_path)
    with open_results(tmp_path) as found:
        assert found.sizes["time"] == 500
        assert not found["growth"].isnull().any()
    with open_results(tmp_path, series="ten") as found:
        assert found.sizes["time"] == 0
    writer.close()


def test_nobody_who_looks_while_a_run_writes_is_disturbed(tmp_path: Path) -> None:
    path, truth = tmp_path / "run", expected()
    seen: list[int] = []
    failures: list[BaseException] = []

    def look() -> int:
        with open_results(path) as found:
            days = found.sizes["time"]
            np.testing.assert_array_equal(found["growth"], truth[:days])
        with xr.open_zarr(path / "output.zarr", chunks=None) as plain:
            values = plain["growth"].to_numpy()
            written = ~np.isnan(values)
            np.testing.assert_array_equal(values[written], truth[written])
            assert written[:days].all()
        return days

    def keep_looking() -> None:
        while DAYS not in seen and not failures:
            begun = (path / "output.zarr").exists()
            try:
                seen.append(look())
            except FolderError as error:
                failures.extend([error] if begun else [])
            except BaseException as error:
                failures.append(error)

    looker = threading.Thread(target=keep_looking)
    looker.start()
    try:
        run(path)
    except BaseException as error:
        failures.append(error)
    looker.join()
    assert failures == []


def copied(finished: Path, folder: Path) -> Path:
    for file in finished.rglob("*"):
        target = folder / file.relative_to(finished)
        if file.is_dir():
            target.mkdir(parents=True, exist_ok=True)
        else:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(file.read_bytes())
    return folder


def test_a_missing_file_is_an_error_not_a_missing_value(finished: Path, tmp_path: Path) -> None:
    path = copied(finished, tmp_path / "run")
    (path / "output.zarr/growth/c/1/1").unlink()
    with pytest.raises(DamagedError, match=r"growth/c/1/1. is missing"):
        open_results(path)


def test_a_missing_file_is_an_error_also_when_it_went_after_the_store_was_opened(finished: Path, tmp_path: Path) -> None:
    path = copied(finished, tmp_path / "run")
    with open_results(path) as found:
        (path / "output.zarr/growth/c/1/1").unlink()
        with pytest.raises(DamagedError, match=r"growth/c/1/1. is missing"):
            found["growth"].load()


@given(data=st.data())
@settings(deadline=None, max_examples=60)
def test_any_part_is_what_was_written(finished: Path, data: st.DataObject) -> None:
    def part(length: int) -> int | slice | list[int]:
        number = st.integers(-length, length - 1)
        filled = st.slices(length).filter(lambda part: range(length)[part])  # an empty one backwards is too much for xarray itself
        return data.draw(number | filled | st.lists(number, max_size=5))

    rows, cells = part(DAYS), part(300)
    with open_results(finished) as found:
        chosen = found["growth"].isel(time=rows, cell=cells)
        np.testing.assert_array_equal(chosen, expected()[rows][..., cells])


def test_zarr_itself_detects_changed_bytes_in_one_chunk(finished: Path, tmp_path: Path) -> None:
    path = copied(finished, tmp_path / "run")
    shard = path / "output.zarr/growth/c/0/0"
    good = shard.read_bytes()
    with xr.open_zarr(path / "output.zarr", chunks=None) as found:
        for position in np.random.default_rng(3).integers(0, len(good), 30):
            bad = bytearray(good)
            bad[position] ^= 4
            shard.write_bytes(bad)
            with pytest.raises(ValueError, match="checksum"):
                found["growth"][:, :256].load()


def test_a_store_taken_out_of_its_folder_opens_whole_when_it_is_complete(finished: Path, tmp_path: Path) -> None:
    with open_results(copied(finished / "output.zarr", tmp_path / "results.zarr")) as found:
        np.testing.assert_array_equal(found["growth"], expected())


def test_a_forcing_store_without_its_tables_becomes_netcdf(tmp_path: Path) -> None:
    values = write_small_store(tmp_path / "weather.zarr")
    opened = open_results(tmp_path / "weather.zarr").isel(time=slice(0, 3))
    opened.drop_attrs(deep=False).to_netcdf(tmp_path / "weather.nc")
    with xr.open_dataset(tmp_path / "weather.nc") as found:
        np.testing.assert_allclose(found["rain"].values, values["rain"][:3], atol=1e-4)


def test_a_store_of_fields_has_the_times_that_it_names(tmp_path: Path) -> None:
    time = ("time", 6.0 * np.arange(3), {"units": "hours since 2001-03-05"})
    xr.Dataset({"u": ("time", np.zeros(3))}, {"time": time}).to_zarr(tmp_path / "winds.zarr", consolidated=False)
    with open_results(tmp_path / "winds.zarr") as found:
        assert found["time"].values.astype("datetime64[h]").astype(str).tolist() == ["2001-03-05T00", "2001-03-05T06", "2001-03-05T12"]


def test_what_is_not_there_is_said(finished: Path, tmp_path: Path) -> None:
    with pytest.raises(FolderError, match="no run folder or store at"):
        open_results(tmp_path)
    with pytest.raises(FolderError, match='no series "state" at'):
        open_results(finished, series="state")
