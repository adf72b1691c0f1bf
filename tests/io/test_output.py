import multiprocessing
import os
import threading
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st

from steppe.errors import DamagedError, Failure, FolderError, NoSpaceError
from steppe.grid import Ownership, Points, Raster
from steppe.io.axis import Axis
from steppe.io.output.array import bitround
from steppe.io.output.store import Group, Output, create_store, group_attributes
from steppe.io.output.writer import OutputWriter
from steppe.io.shard import Layout
from tests import on_disk
from tests.io.test_shard import disk_of
from tests.io.writer_process import raster, run_and_die, variable

tmp_path = on_disk.tmp_path

FIRST = 51134  # 1990-01-01
RUNS = multiprocessing.get_context("forkserver")


def daily(days: int) -> Axis:
    return Axis.daily(FIRST, days)


def maps(days: int, precision: str = "exact") -> list[Group]:
    return [Group(daily(days), raster(), (Output(variable("growth"), precision=precision),))]


def made(path: Path, groups: list[Group]) -> OutputWriter:
    create_store(path, groups, {"title": "test"})
    return OutputWriter(path, groups)


def values(days: int, cells: int = 300) -> np.ndarray:
    return np.random.default_rng(2).normal(size=(days, cells)).astype("float32")


def contents(path: Path) -> dict[str, bytes]:
    return {str(file.relative_to(path)): file.read_bytes() for file in sorted(path.rglob("*")) if file.is_file()}


@pytest.mark.parametrize(
    ("length", "shape", "shard"),
    [
        (1, (600, 500), (192, 4096)),
        (1, (150, 100), (384, 2048)),
        (1, (1, 3), (384, 3)),
        (7, (600, 500), (54, 4096)),
        (5, (600, 500), (76, 4096)),
        (10, (600, 500), (38, 4096)),
        (31, (600, 500), (12, 4096)),
        (366, (600, 500), (3, 4096)),
        (31, (150, 100), (12, 2048)),
        (31, (300, 200), (12, 4096)),
    ],
)
def test_a_shard_is_one_chunk_of_a_tile_of_384_days_or_of_12_records_that_are_little(
    length: int, shape: tuple[int, int], shard: tuple[int, int]
) -> None:
    starts = FIRST + length * np.arange(1000)
    grid = Raster(-10.0, -0.05, 112.0, 0.05, np.ones(shape, bool))
    exact, rounded = Output(variable("growth")), Output(variable("growth"), precision="12 bits")
    group = Group(Axis("time", starts, starts + length), grid, (exact, rounded))
    assert group.layout(exact) == Layout(shard, shard, "float32", "shuffle")
    assert group.layout(rounded) == Layout(shard, shard, "float32", "bitshuffle")


@given(days=st.integers(1, 2000), length=st.integers(1, 400))
def test_a_layout_fits_any_run(days: int, length: int) -> None:
    starts = np.arange(FIRST, FIRST + days, length)
    group = Group(Axis("time", starts, np.append(starts[1:], FIRST + days)), raster(), (Output(variable("growth")),))
    layout = group.layout(group.outputs[0])
    assert layout.shard == layout.chunk
    assert layout.chunk[0] <= group.axis.rows


def test_everything_put_is_read_back(tmp_path: Path) -> None:
    writer = made(tmp_path / "output.zarr", maps(400))
    expected = values(400)
    for record, row in enumerate(expected):
        writer.put("growth", record, row)
    assert writer.finish() == {"growth": 400}
    writer.close()
    with xr.open_zarr(tmp_path / "output.zarr", chunks=None) as found:
        np.testing.assert_array_equal(found["growth"], expected)
        assert found["growth"].attrs["cell_methods"] == "time: mean"
        assert "valid_min" not in found["growth"].attrs  # of what is set: readers would mask what a step leads beyond it
        assert str(found["time"].values[399])[:10] == "1991-02-04"
        assert {"cell_lat", "cell_lon"} <= set(found.coords)
    assert group_attributes(tmp_path / "output.zarr")["steppe_progress"] == "complete"


def test_records_that_are_filled_in_where_they_go_are_read_back_beside_others(tmp_path: Path) -> None:
    filled, put = made(tmp_path / "filled.zarr", maps(1000)), made(tmp_path / "put.zarr", maps(1000))
    for record, row in enumerate(values(1000)):
        put.put("growth", record, row)
        room = filled.room("growth") if record % 3 else None
        if room is not None:
            room[:] = row
        filled.put("growth", record, row if room is None else room)
    for writer in (filled, put):
        writer.finish()
        writer.close()
    assert contents(tmp_path / "filled.zarr") == contents(tmp_path / "put.zarr")
    with xr.open_zarr(tmp_path / "filled.zarr", chunks=None) as found:
        np.testing.assert_array_equal(found["growth"], values(1000))


def test_several_ranks_have_no_room_where_records_go(tmp_path: Path) -> None:
    deals = [Ownership(300, 0, (np.arange(0, 300, 2), np.arange(1, 300, 2)))]
    writer = OutputWriter(None, maps(3), deals=deals)
    assert writer.room("growth") is None
    writer.close()


def test_series_lie_in_a_group_of_their_own(tmp_path: Path) -> None:
    series = Group(daily(3), ("north", "south"), (Output(variable("growth"), "sum", area="mean"),), "series/state")
    writer = made(tmp_path / "output.zarr", [*maps(3), series])
    for record in range(3):
        writer.put("growth", record, values(1)[0])
        writer.put("series/state/growth", record, np.array([record, 0.1]))
    writer.finish()
    writer.close()
    with xr.open_zarr(tmp_path / "output.zarr", group="series/state", chunks=None) as found:
        assert found["growth"].dtype == np.float64
        assert found["growth"].sel(region="south").values.tolist() == [0.1, 0.1, 0.1]
        assert found["growth"].attrs["cell_methods"] == "time: sum area: mean"
        assert "standard_name" not in found["growth"].attrs  # of one step, not of a sum


def test_a_store_opens_before_anything_is_written_and_is_nan(tmp_path: Path) -> None:
    made(tmp_path / "output.zarr", maps(400)).close()
    with xr.open_zarr(tmp_path / "output.zarr", chunks=None) as found:
        assert found["growth"].isnull().all()


def test_a_commit_shows_unfinished_shards_and_nothing_later(tmp_path: Path) -> None:
    writer = made(tmp_path / "output.zarr", maps(400))
    expected = values(400)
    for record in range(20):
        writer.put("growth", record, expected[record])
    assert writer.commit() == {"growth": 20}
    writer.put("growth", 20, expected[20])
    writer.close()
    with xr.open_zarr(tmp_path / "output.zarr", chunks=None) as found:
        np.testing.assert_array_equal(found["growth"][:20], expected[:20])
        assert found["growth"][20:].isnull().all()


def test_a_commit_without_news_writes_nothing(tmp_path: Path) -> None:
    writer = made(tmp_path / "output.zarr", maps(400))
    writer.put("growth", 0, values(1)[0])
    writer.commit()
    shard = tmp_path / "output.zarr/growth/c/0/0"
    before = shard.stat().st_ino
    writer.commit()
    assert shard.stat().st_ino == before
    writer.put("growth", 1, values(1)[0])
    writer.commit()
    assert shard.stat().st_ino != before
    writer.close()


def test_twelve_bits_are_kept_and_said(tmp_path: Path) -> None:
    writer = made(tmp_path / "output.zarr", maps(10, "12 bits"))
    expected = values(10)
    for record, row in enumerate(expected):
        writer.put("growth", record, row)
    writer.finish()
    writer.close()
    with xr.open_zarr(tmp_path / "output.zarr", chunks=None) as found:
        assert found["growth"].attrs["quantization_nsb"] == 12
        how = found[found["growth"].attrs["quantization"]].attrs  # CF-1.12, 8.4
        assert how == {"algorithm": "bitround", "implementation": f"steppe version {version('steppe')}"}
        raw = found["growth"].to_numpy()
    assert (raw.view(np.uint32) & 0x7FF == 0).all()
    np.testing.assert_allclose(raw, expected, rtol=2.0**-13)


@pytest.mark.parametrize("bits", [7, 12, 22])
@given(st.data())
def test_values_half_way_between_two_kept_ones_go_to_the_even_one(bits: int, data: st.DataObject) -> None:
    dropped = 23 - bits
    largest = 0x7F000000 >> dropped  # so that rounding up stays finite
    kept = np.array(data.draw(st.lists(st.integers(0, largest), min_size=1)), np.uint32)
    for sign in (np.uint32(0), np.uint32(1 << 31)):
        for below in (kept & ~np.uint32(1), kept | np.uint32(1)):  # an even and an odd last bit
            half_way = ((below << dropped) | np.uint32(1 << (dropped - 1)) | sign).view(np.float32)
            even = ((below + (below & 1)) << dropped) | sign
            np.testing.assert_array_equal(bitround(half_way, bits).view(np.uint32), even)


@given(st.lists(st.floats(width=32), min_size=1, max_size=50))
def test_rounding_keeps_what_is_no_number_and_rounding_twice_changes_nothing(numbers: list[float]) -> None:
    exact = np.array(numbers, "float32")
    once = bitround(exact, 12)
    np.testing.assert_array_equal(np.isnan(once), np.isnan(exact))
    np.testing.assert_array_equal(bitround(once, 12), once)
    normal = np.isfinite(once) & (np.abs(exact) >= np.finfo("float32").tiny)
    np.testing.assert_allclose(once[normal], exact[normal], rtol=2.0**-13)


def test_series_are_never_rounded() -> None:
    with pytest.raises(Failure, match='Series "series/state" is to be rounded'):
        Group(daily(3), ("all",), (Output(variable("growth"), precision="12 bits"),), "series/state")


def test_points_have_names(tmp_path: Path) -> None:
    grid = Points(("Dalby", "Roma"), np.array([-27.2, -26.5]), np.array([151.3, 148.8]))
    writer = made(tmp_path / "output.zarr", [Group(daily(3), grid, (Output(variable("growth")),))])
    for record in range(3):
        writer.put("growth", record, np.array([record, -record], "float32"))
    writer.finish()
    writer.close()
    with xr.open_zarr(tmp_path / "output.zarr", chunks=None) as found:
        assert list(found["cell_id"].values) == ["Dalby", "Roma"]
        assert found["growth"].sel(time="1990-01-03").values.tolist() == [2.0, -2.0]


def test_a_record_out_of_order_is_refused(tmp_path: Path) -> None:
    writer = made(tmp_path / "output.zarr", maps(2))
    with pytest.raises(Failure, match=r'Records 1 to 1 of "growth" came, expected 0 of 2'):
        writer.put("growth", 1, values(1)[0])
    with pytest.raises(Failure, match="ends with 0 of 2 records"):
        writer.finish()
    writer.close()


def test_a_store_is_not_made_over_another(tmp_path: Path) -> None:
    made(tmp_path / "output.zarr", maps(2)).close()
    with pytest.raises(FolderError, match="exists already"):
        create_store(tmp_path / "output.zarr", maps(2), {})


def test_a_store_of_another_run_is_refused(tmp_path: Path) -> None:
    made(tmp_path / "output.zarr", maps(2)).close()
    with pytest.raises(FolderError, match="other chunks than this run needs"):
        OutputWriter(tmp_path / "output.zarr", maps(400))


def test_memory_is_two_buffers_an_array() -> None:
    assert [group.memory for group in maps(800)] == [2 * 384 * 300 * 4]
    assert [group.memory for group in maps(400)] == [400 * 300 * 4]


def test_a_full_disk_is_said_at_the_commit_and_what_was_committed_stays(tmp_path: Path) -> None:
    writer = made(tmp_path / "output.zarr", maps(400))
    expected = values(400)
    for record in range(100):
        writer.put("growth", record, expected[record])
    writer.commit()
    for record in range(100, 200):
        writer.put("growth", record, expected[record])
    with disk_of(1000), pytest.raises(NoSpaceError, match=r"growth/c/0/0. cannot be written"):
        writer.commit()
    writer.close()
    again = OutputWriter(tmp_path / "output.zarr", maps(400))
    again.restore({"growth": 100})
    for record in range(100, 400):
        again.put("growth", record, expected[record])
    again.finish()
    again.close()
    with xr.open_zarr(tmp_path / "output.zarr", chunks=None) as found:
        np.testing.assert_array_equal(found["growth"], expected)


def test_a_slow_disk_is_waited_for_and_the_wait_is_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A named pipe in place of a file takes nothing until somebody reads it: the third shard row has to wait for the first."""
    monkeypatch.setattr("steppe.files.DIRECT", range(0))  # a pipe is a file of the system's cache
    writer = made(tmp_path / "output.zarr", maps(384 * 4))
    (tmp_path / "output.zarr/growth/c/0").mkdir(parents=True)
    pipe = tmp_path / "output.zarr/growth/c/0/0.tmp"
    os.mkfifo(pipe)
    for _ in range(2):  # both buffers
        writer.put("growth", writer.records["growth"], values(384))
    assert writer.stall == 0.0
    blocked = threading.Thread(target=writer.put, args=("growth", 768, values(1)))
    blocked.start()
    blocked.join(0.2)
    assert blocked.is_alive()
    taken = pipe.read_bytes()  # lets the thread go on
    blocked.join()
    assert writer.stall > 0.1
    assert len(taken) > 300_000
    held = os.open(pipe.with_suffix(""), os.O_RDWR)  # or making the shard durable waits for somebody who writes into it
    writer.close()
    os.close(held)


@pytest.mark.parametrize("behind", [True, False])
def test_with_and_without_a_thread_the_bytes_are_the_same(tmp_path: Path, behind: bool) -> None:
    create_store(tmp_path / "output.zarr", maps(800), {})
    writer = OutputWriter(tmp_path / "output.zarr", maps(800), behind)
    expected = values(800)
    for record, row in enumerate(expected):
        writer.put("growth", record, row)
        if record % 150 == 0:
            writer.commit_behind(lambda records: None)
    writer.finish()
    writer.close()
    whole = made(tmp_path / "whole.zarr", maps(800))
    whole.put("growth", 0, expected)
    whole.finish()
    whole.close()
    assert contents(tmp_path / "output.zarr/growth") == contents(tmp_path / "whole.zarr/growth")


def test_a_full_disk_is_said_at_a_later_put(tmp_path: Path) -> None:
    writer = made(tmp_path / "output.zarr", maps(800))
    row = values(1)[0]

    def fill() -> None:
        for record in range(800):
            writer.put("growth", record, row + record)

    with disk_of(1000), pytest.raises(NoSpaceError, match="Free some space"):
        fill()
    writer.close()


def test_going_back_drops_what_came_later(tmp_path: Path) -> None:
    path = tmp_path / "output.zarr"
    expected = values(800)
    writer = made(path, maps(800))
    for record in range(800):
        writer.put("growth", record, expected[record] if record < 400 else expected[record] + 1)
    writer.commit()
    writer.restore({"growth": 400})
    for record in range(400, 800):
        writer.put("growth", record, expected[record])
    writer.finish()
    writer.close()
    straight = made(tmp_path / "straight.zarr", maps(800))
    for record in range(800):
        straight.put("growth", record, expected[record])
    straight.finish()
    straight.close()
    assert contents(path) == contents(tmp_path / "straight.zarr")


def test_output_that_was_removed_behind_our_back_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "output.zarr"
    writer = made(path, maps(800))
    for record, row in enumerate(values(500)):
        writer.put("growth", record, row)
    writer.commit()
    (path / "growth/c/0/1").unlink()
    with pytest.raises(DamagedError, match=r"growth/c/0/1. is missing"):
        writer.restore({"growth": 500})
    writer.close()


def test_an_unfinished_shard_that_was_changed_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "output.zarr"
    writer = made(path, maps(800))
    for record, row in enumerate(values(20)):
        writer.put("growth", record, row)
    writer.commit()
    shard = path / "growth/c/0/0"
    data = bytearray(shard.read_bytes())
    data[100] ^= 1
    shard.write_bytes(data)
    with pytest.raises(DamagedError, match="wrong checksum"):
        writer.restore({"growth": 20})
    with pytest.raises(FolderError, match="The checkpoint has outputs rain"):
        writer.restore({"rain": 20})
    writer.close()


@pytest.fixture(scope="module")
def straight(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, bytes], int]:
    """The store of a run that nobody interrupts, and the number of its file events."""
    RUNS.set_forkserver_preload(["tests.io.writer_process", "zarr"])
    path = tmp_path_factory.mktemp("straight") / "run"
    process = RUNS.Process(target=run_and_die, args=(path, 0))
    process.start()
    process.join()
    assert process.exitcode == 0
    return contents(path / "output.zarr"), int((path.parent / "run-events").read_text())


def test_runs_killed_at_sixteen_moments_and_resumed_write_the_same_bytes(tmp_path: Path, straight: tuple[dict[str, bytes], int]) -> None:
    expected, events = straight
    moments = np.random.default_rng(0)

    def exit_code(path: Path) -> int | None:
        process = RUNS.Process(target=run_and_die, args=(path, int(moments.integers(1, events + 1))))
        process.start()
        process.join()
        return process.exitcode

    kills = 0
    while kills < 16:
        path = tmp_path / f"{kills}" / "run"
        path.parent.mkdir()
        while (code := exit_code(path)) != 0:
            assert code == -9
            kills += 1
        assert contents(path / "output.zarr") == expected
