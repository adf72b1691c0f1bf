"""Readers in processes of their own while a run writes: nothing fails, no value is half there, nothing is warned of."""

import multiprocessing
import time
import traceback
import warnings
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
import xarray as xr
from zarr.storage import LocalStore

from steppe.io.folders.folder import RunFolder
from steppe.io.folders.run_progress import Progress
from steppe.io.output.store import Group, Output, create_store
from steppe.io.output.writer import OutputWriter
from steppe.io.results.dataset import open_results
from tests.io.small_store import write_small_store
from tests.io.test_output import daily
from tests.io.writer_process import IDENTITY, advance, raster, variable

RUNS = multiprocessing.get_context("forkserver")
DAYS, COMMITS = 800, 16  # a commit every so many days: each replaces the files that readers have open


def group() -> Group:
    return Group(daily(DAYS), raster(), (Output(variable("growth")), Output(variable("water"), "last", "12 bits")))


def truth() -> np.ndarray:
    state, rows = np.zeros(300), []
    for day in range(DAYS):
        state = advance(state, day)
        rows.append(state.astype("float32"))
    return np.array(rows)


def look_with_xarray(path: Path, expected: np.ndarray) -> int:
    """What anybody would write."""
    with xr.open_zarr(path / "output.zarr") as found:
        values, mean = found["growth"].to_numpy(), float(found["growth"].mean())
        few = found["growth"].isel(time=slice(10, 14)).to_numpy()
        some = found["water"].isel(time=slice(3, None, 7), cell=[5, 299]).to_numpy()
    written = ~np.isnan(values)
    np.testing.assert_array_equal(values[written], expected[written])
    np.testing.assert_array_equal(few[~np.isnan(few)], expected[10:14][~np.isnan(few)])
    part = expected[3::7, [5, 299]]
    there = ~np.isnan(some)
    np.testing.assert_allclose(some[there], part[there], rtol=2.0**-13)
    assert np.isnan(mean) or abs(mean) < np.abs(expected).max()
    return int(written.all(axis=1).sum())


def look_with_steppe(path: Path, expected: np.ndarray) -> int:
    """Only what is committed, and all of it."""
    with open_results(path) as found:
        days = found.sizes["time"]
        np.testing.assert_array_equal(found["growth"], expected[:days])
        assert not np.isnan(found["water"]).any()
    return days


def keep_looking(look: Any, path: Path, expected: np.ndarray, looks: Any, told: Any) -> None:
    """Looks as fast as it can until everything is there, and counts; tells how often, how much it saw, or what went wrong."""
    warnings.simplefilter("error")
    seen: list[int] = []
    try:
        while DAYS not in seen[-1:]:
            seen.append(look(path, expected))
            looks.value += 1
        told.put((len(seen), len(set(seen)), seen == sorted(seen), ""))
    except BaseException:
        told.put((len(seen), len(set(seen)), False, traceback.format_exc()))


@pytest.mark.parametrize("look", [look_with_xarray, look_with_steppe])
def test_a_reader_that_never_rests_is_never_disturbed(tmp_path: Path, look: Any) -> None:
    path, expected, looks, told = tmp_path / "run", truth(), RUNS.Value("l", 0), RUNS.Queue()
    RUNS.set_forkserver_preload(["tests.io.test_readers"])
    with RunFolder(path, IDENTITY) as folder:
        create_store(folder.output, [group()], {})
        writer = OutputWriter(folder.output, [group()])
        Progress("running", records=writer.records).write(path)
        reader = RUNS.Process(target=keep_looking, args=(look, path, expected, looks, told))
        reader.start()
        for day, row in enumerate(expected):
            writer.put("growth", day, row)
            writer.put("water", day, row)
            if day % COMMITS == COMMITS - 1:
                time.sleep(0.02)
                Progress("running", day + 1, records=writer.finish() if day + 1 == DAYS else writer.commit()).write(path)
            if day % (6 * COMMITS) == 6 * COMMITS - 1:  # however slow it is, it sees some commits
                until = looks.value + 2
                while looks.value < until and reader.is_alive():
                    time.sleep(0.001)
        writer.close()
    times, different, grew, wrong = told.get(timeout=60)
    reader.join()
    assert wrong == ""
    assert grew
    assert times >= different > 5


@pytest.mark.parametrize("series", ["", "series/state"])
def test_a_plain_xarray_opens_results_and_forcing_without_a_warning(tmp_path: Path, series: str) -> None:
    """Warnings are errors here."""
    state = Group(daily(5), ("north",), (Output(variable("growth"), area="mean"),), "series/state")
    create_store(tmp_path / "output.zarr", [group(), state], {})
    with xr.open_zarr(tmp_path / "output.zarr", group=series) as found:
        assert "growth" in found.data_vars
    write_small_store(tmp_path / "weather.zarr")
    with xr.open_zarr(tmp_path / "weather.zarr") as found:
        assert "rain" in found.data_vars


class Counting(LocalStore):
    """Notes which parts of which files are asked for."""

    asked: ClassVar[list[tuple[str, Any]]] = []

    async def get(self, key: str, prototype: Any = None, byte_range: Any = None) -> Any:
        self.asked.append((key, byte_range))
        return await super().get(key, prototype, byte_range)


def test_zarr_takes_a_file_at_one_stroke_so_that_no_commit_comes_between(tmp_path: Path) -> None:
    create_store(tmp_path / "output.zarr", [group()], {})
    writer = OutputWriter(tmp_path / "output.zarr", [group()])
    writer.put("growth", 0, truth()[:100])
    writer.commit()
    writer.close()
    with xr.open_zarr(Counting(tmp_path / "output.zarr", read_only=True)) as found:
        Counting.asked.clear()
        assert found["growth"].isel(time=7, cell=299).item() == truth()[7, 299]
        assert Counting.asked == [("growth/c/0/1", None)]
