"""Records as plain arrays: the same values as through xarray, and damage is found."""

from pathlib import Path

import numpy as np
import pytest
import xarray
from hypothesis import given, settings
from hypothesis import strategies as st

from steppe.errors import DamagedError, FolderError
from steppe.grid import Raster
from steppe.io import StoredRecords, open_results
from tests.io.small_store import small_values, write_small_store
from tests.io.test_export import make_run
from tests.io.writer_process import DAYS, raster, run


@pytest.fixture(scope="module")
def finished(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("records") / "run"
    run(path)
    return path


@settings(max_examples=25, deadline=None)
@given(st.integers(0, DAYS), st.integers(0, DAYS), st.lists(st.integers(0, 299), min_size=1, max_size=9, unique=True))
def test_any_part_is_what_xarray_reads(finished, first, stop, columns):
    records = StoredRecords.open(finished)
    columns = np.array(columns)
    with open_results(finished) as dataset:
        whole = dataset["growth"].to_numpy()
    found = records.read("growth", slice(first, stop), columns)
    np.testing.assert_array_equal(found, whole[first:stop][:, columns])


def test_series_and_axes_are_read_by_name(finished):
    records = StoredRecords.open(finished, "ten")
    with open_results(finished, "ten") as dataset:
        np.testing.assert_array_equal(records.read("growth", slice(None)), dataset["growth"])
        assert list(records.small("region")) == list(dataset["region"].values)
    assert records.axes["growth"].period() == "1990-01-01 to 1992-03-10"
    assert records.attributes["growth"]["units"] == "kg ha-1"


def test_weather_is_read_in_its_units(tmp_path):
    values = write_small_store(tmp_path / "weather.zarr")
    records = StoredRecords.open(tmp_path / "weather.zarr")
    assert sorted(records.axes) == sorted(values)
    np.testing.assert_allclose(records.read("tmin", slice(900, None)), small_values()["tmin"][900:], atol=1e-9)


@pytest.mark.parametrize("poles", [0, 1])
@pytest.mark.parametrize("columns", [11, 36, 54, 108])
def test_the_grid_of_records_is_that_of_the_run_whatever_the_decimals_of_its_cells(tmp_path, columns, poles):
    rows, dlon = 18 + poles, 360.0 / columns
    mask = np.arange(rows * columns).reshape(rows, columns) % 3 > 0
    grid = Raster(90.0 if poles else 85.0, -10.0, -180.0, dlon, mask)
    make_run(tmp_path / "run", grid, 2, 2)
    assert StoredRecords.open(tmp_path / "run").grid == grid


def test_what_is_not_committed_is_not_there(tmp_path):
    make_run(tmp_path / "run", raster(), 800, 390)
    records = StoredRecords.open(tmp_path / "run")
    assert records.axes["growth"].rows == 390
    assert records.read("growth", slice(380, None)).shape == (10, 300)


def test_damage_and_absence_are_said(tmp_path):
    make_run(tmp_path / "run", raster())
    shard = tmp_path / "run/output.zarr/growth/c/0/0"
    data = bytearray(shard.read_bytes())
    data[100] ^= 1
    shard.write_bytes(data)
    with pytest.raises(DamagedError, match="wrong checksum"):
        StoredRecords.open(tmp_path / "run").read("growth", slice(None))
    with pytest.raises(FolderError, match=r'There is no series "no" at'):
        StoredRecords.open(tmp_path / "run", "no")
    with pytest.raises(FolderError, match="There is no run folder or store at"):
        StoredRecords.open(tmp_path)
    xarray.Dataset({"u": (("lat", "lon"), np.zeros((2, 2)))}).to_zarr(tmp_path / "winds.zarr", consolidated=False)
    with pytest.raises(FolderError, match=r'winds.zarr" is no store of Steppe. Open it with xarray.open_zarr'):
        StoredRecords.open(tmp_path / "winds.zarr")
