import json
from pathlib import Path

import numpy as np
import pytest
import xarray
import zarr
from numpy.typing import NDArray

from steppe.errors import DamagedError, Failure, ForcingError
from steppe.grid import Points
from steppe.io import ForcingStore, read_static
from steppe.io.axis import Axis
from steppe.io.forcing.store import read_small
from steppe.io.forcing.variables import WEATHER
from steppe.io.forcing.writer import ForcingBlock, ForcingWriter, Written, chunk_layout
from steppe.io.shard import write_small
from steppe.variable import Role, Variable
from tests.io.small_store import ABOUT, DAYS, small_axis, small_grid, write_small_store

BLOCK = ForcingBlock(range(512), range(403))


def writer_of_rain(folder: Path, scale: float = 0.1) -> ForcingWriter:
    return ForcingWriter(folder / "w.zarr", small_grid(), [Written(WEATHER["rain"], small_axis(), scale=scale)], ABOUT)


def test_xarray_reads_what_was_written(tmp_path: Path) -> None:
    values = write_small_store(tmp_path / "w.zarr")
    found = xarray.open_zarr(tmp_path / "w.zarr", consolidated=False, chunks=None)
    for name, table in values.items():
        np.testing.assert_allclose(found[name], table, atol=1e-9)
        assert found[name].dims == ("time", "cell")
    assert str(found.time.values[0])[:10] == "1990-01-01"
    assert found.sizes["time"] == DAYS
    assert found.attrs["weather"] == "stations"
    np.testing.assert_array_equal(found.cell_lat, small_grid().cell_lat)
    np.testing.assert_array_equal(found.cell, small_grid().order)


def test_a_float_store_keeps_every_bit(tmp_path: Path) -> None:
    grid = Points(("a", "b"), np.array([-20.0, -21.0]), np.array([140.0, 141.0]))
    axis, values = small_axis(), np.random.default_rng(1).gamma(0.3, 8.0, (DAYS, 2))
    with ForcingWriter(tmp_path / "w.zarr", grid, [Written(WEATHER["rain"], axis, "float64")], ABOUT) as writer:
        for block in writer.blocks("rain"):
            writer.write("rain", block, values[block.steps.start : block.steps.stop])
    found = xarray.open_zarr(tmp_path / "w.zarr", consolidated=False, chunks=None)
    np.testing.assert_array_equal(found.rain, values)


def test_the_digest_of_a_store_tells_it_from_others(tmp_path: Path) -> None:
    write_small_store(tmp_path / "w.zarr")
    first = ForcingStore.open(tmp_path / "w.zarr").digest
    assert first == ForcingStore.open(tmp_path / "w.zarr").digest
    group = tmp_path / "w.zarr" / "zarr.json"
    group.write_text(group.read_text().replace("Known values", "Other values"))
    assert first != ForcingStore.open(tmp_path / "w.zarr").digest


def test_what_is_lost_or_lies_beside_does_not_change_what_a_store_is(tmp_path: Path) -> None:
    write_small_store(tmp_path / "w.zarr")
    first = ForcingStore.open(tmp_path / "w.zarr").digest
    (tmp_path / "w.zarr" / "rain" / "c" / "0" / "0").unlink()
    (tmp_path / "w.zarr" / ".DS_Store").write_text("of the Finder")
    (tmp_path / "w.zarr" / "picture.png").write_bytes(b"")
    assert ForcingStore.open(tmp_path / "w.zarr").digest == first


def test_the_same_values_make_the_same_bytes(tmp_path: Path) -> None:
    for name in ("one", "two"):
        write_small_store(tmp_path / name / "w.zarr")
    files = [sorted(path for path in (tmp_path / name).rglob("*") if path.is_file()) for name in ("one", "two")]
    assert len(files[0]) == len(files[1])
    assert all(a.read_bytes() == b.read_bytes() for a, b in zip(*files, strict=True))


def test_chunks_follow_the_size_of_the_grid() -> None:
    assert chunk_layout(278_349, 36_525, "int16")[:2] == ((64, 4096), (384, 20_480))
    assert chunk_layout(15_195, 3652, "int16")[:2] == ((64, 2048), (384, 16_384))
    assert chunk_layout(403, 3652, "int16")[:2] == ((512, 256), (512, 512))
    assert chunk_layout(3, 100, "float64")[:2] == ((128, 3), (384, 3))


def test_a_store_that_was_not_finished_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt), writer_of_rain(tmp_path):
        raise KeyboardInterrupt
    assert list(tmp_path.iterdir()) == []


def test_a_lacking_block_is_found_before_the_store_appears(tmp_path: Path) -> None:
    with pytest.raises(Failure, match="blocks lacking"), writer_of_rain(tmp_path) as writer:
        writer.write("rain", BLOCK, np.zeros((512, 403)))
    assert list(tmp_path.iterdir()) == []


def test_an_existing_path_is_never_overwritten(tmp_path: Path) -> None:
    (tmp_path / "w.zarr").mkdir()
    with pytest.raises(ForcingError, match="exists already"):
        ForcingWriter(tmp_path / "w.zarr", small_grid(), [], ABOUT)


@pytest.mark.parametrize(
    ("value", "scale", "message"),
    [
        (np.nan, 0.1, r"1990-01-03, cell 5 \(latitude -20.05, longitude 140.55\): rain is nan, expected 0 to 2000 mm d-1"),
        (-0.1, 0.1, "rain is -0.1, expected 0 to 2000"),
        (9999.0, 0.1, "rain is 9999, expected 0 to 2000"),
        (1000.0, 0.01, "too great for int16 at scale 0.01. Take a scale of 0.031 or more"),
    ],
)
def test_a_value_that_cannot_be_is_never_written(tmp_path: Path, value: float, scale: float, message: str) -> None:
    values = np.ones((512, 403))
    values[2, 5] = value
    with pytest.raises(ForcingError, match=message), writer_of_rain(tmp_path, scale) as writer:
        writer.write("rain", BLOCK, values)
    assert list(tmp_path.iterdir()) == []


def test_a_block_of_another_shape_is_a_defect(tmp_path: Path) -> None:
    with pytest.raises(Failure, match="This is a defect"), writer_of_rain(tmp_path) as writer:
        writer.write("rain", BLOCK, np.zeros((3, 403)))


@pytest.mark.parametrize(
    ("attributes", "message"),
    [({"steppe_format": 2}, "steppe_format 2, this Steppe reads up to 1"), ({"steppe_kind": "output"}, "is not a forcing store")],
)
def test_a_store_of_another_kind_or_a_newer_format_is_refused(tmp_path: Path, attributes: dict[str, object], message: str) -> None:
    write_small_store(tmp_path / "w.zarr")
    group = tmp_path / "w.zarr" / "zarr.json"
    described = json.loads(group.read_text())
    described["attributes"] |= attributes
    group.write_text(json.dumps(described))
    with pytest.raises(ForcingError, match=message):
        ForcingStore.open(tmp_path / "w.zarr")


def test_a_missing_store_says_how_to_make_one(tmp_path: Path) -> None:
    with pytest.raises(ForcingError, match="Make one with `steppe ingest`"):
        ForcingStore.open(tmp_path / "w.zarr")


def test_a_gap_in_the_time_bounds_is_refused(tmp_path: Path) -> None:
    axis = small_axis()
    gap = Axis("time", np.delete(axis.starts, 40), np.delete(axis.stops, 40))
    with ForcingWriter(tmp_path / "w.zarr", small_grid(), [Written(WEATHER["rain"], gap)], ABOUT) as writer:
        for block in writer.blocks("rain"):
            writer.write("rain", block, np.zeros((len(block.steps), len(block.cells))))
    with pytest.raises(ForcingError, match="gap or an overlap after 1990-02-09"):
        ForcingStore.open(tmp_path / "w.zarr")


def test_a_changed_byte_is_found_and_named(tmp_path: Path) -> None:
    write_small_store(tmp_path / "w.zarr")
    shard = tmp_path / "w.zarr" / "tmin" / "c" / "1" / "0"
    data = bytearray(shard.read_bytes())
    data[100] ^= 1
    shard.write_bytes(data)
    store = ForcingStore.open(tmp_path / "w.zarr")
    store.chunk("tmin", (0, 0))
    with pytest.raises(DamagedError, match=r'Variable "tmin", days 1991-05-28 to 1992-10-20: .*wrong checksum'):
        store.chunk("tmin", (1, 0))


def test_a_missing_shard_is_damage_and_no_fill_value(tmp_path: Path) -> None:
    write_small_store(tmp_path / "w.zarr")
    (tmp_path / "w.zarr" / "rain" / "c" / "0" / "0").unlink()
    with pytest.raises(DamagedError, match=r'Variable "rain", days 1990-01-01 to 1991-05-27: .*is missing'):
        ForcingStore.open(tmp_path / "w.zarr").chunk("rain", (0, 1))


@pytest.mark.parametrize("values", [np.arange(7, dtype="int16"), np.linspace(0, 1, 9), np.eye(2), np.int32(5), ["a", "bé"]])
def test_small_arrays_come_back_as_zarr_gives_them(tmp_path: Path, values: object) -> None:
    write_small(tmp_path, "small", values, {}, ["x", "y"][: np.ndim(values)])  # type: ignore[arg-type]
    found, expected = read_small(tmp_path, "small"), np.asarray(zarr.open_array(tmp_path / "small", mode="r")[...])
    np.testing.assert_array_equal(found, expected)
    assert found.dtype == expected.dtype


def test_a_coordinate_that_is_lost_or_changed_is_damage(tmp_path: Path) -> None:
    write_small_store(tmp_path / "w.zarr")
    file = tmp_path / "w.zarr" / "cell_lat" / "c" / "0"
    good = file.read_bytes()
    for place in range(0, len(good), 40):
        file.write_bytes(good[:place] + bytes([good[place] ^ 0x10]) + good[place + 1 :])
        with pytest.raises(DamagedError, match="cell_lat"):
            ForcingStore.open(tmp_path / "w.zarr")
    file.unlink()
    with pytest.raises(DamagedError, match="cell_lat"):
        ForcingStore.open(tmp_path / "w.zarr")


def test_another_grid_is_refused_with_the_first_cell_that_lacks_weather(tmp_path: Path) -> None:
    write_small_store(tmp_path / "w.zarr")
    store = ForcingStore.open(tmp_path / "w.zarr")
    store.check_grid(small_grid())
    one_more = Points(("here", "else"), np.array([-20.05, -30.0]), np.array([140.05, 150.0]))
    with pytest.raises(ForcingError, match="1 of the 2 cells of this run have no weather in it, the first at latitude -30, longitude 150"):
        store.check_grid(one_more)
    fewer = Points(("here",), np.array([-20.05]), np.array([140.05]))
    with pytest.raises(ForcingError, match="403 cells in another order or mask than the 1 of this run"):
        store.check_grid(fewer)


def write_height(path: Path, values: NDArray[np.float64]) -> None:
    height = Variable("height", ("cell",), "m", "float32", Role.PARAMETER, "height")
    with ForcingWriter(path, small_grid(), [Written(height, None, "float32")], ABOUT) as writer:
        writer.write_static("height", values)


def test_a_static_variable_comes_back_for_its_own_grid_only(tmp_path: Path) -> None:
    grid = small_grid()
    values = np.arange(grid.n_cells, dtype=np.float64)
    write_height(tmp_path / "land.zarr", values)
    with pytest.raises(ForcingError, match=r'two.zarr", cell 3 \(latitude -20\.05, longitude 140\.35\): height is nan, expected'):
        write_height(tmp_path / "two.zarr", np.where(values == 3.0, np.nan, values))
    found = read_static(tmp_path / "land.zarr", "height", grid)
    np.testing.assert_array_equal(found, values)
    assert found.dtype == np.float64
    with pytest.raises(ForcingError, match=r'no variable "hight" without time\. Did you mean "height"'):
        read_static(tmp_path / "land.zarr", "hight", grid)
    with pytest.raises(ForcingError, match="another order or mask"):
        read_static(tmp_path / "land.zarr", "height", Points(("a",), grid.cell_lat[:1], grid.cell_lon[:1]))


def test_weeks_are_those_of_paper_000() -> None:
    axis = Axis.weekly(51_134, 3 * 365 + 1)  # 1990, 1991 and the leap year 1992
    assert axis.rows == 3 * 52
    day_of_year = np.concatenate([np.arange(365), np.arange(365), np.arange(366)])
    year = np.repeat([0, 1, 2], [365, 365, 366])
    np.testing.assert_array_equal(axis.row_of_day, 52 * year + np.minimum(day_of_year // 7, 51))


def test_weeks_are_cut_off_where_the_store_begins_and_ends() -> None:
    axis = Axis.weekly(51_134 + 10, 10)
    assert (axis.starts - 51_134).tolist() == [10, 14]
    assert (axis.stops - 51_134).tolist() == [14, 20]
