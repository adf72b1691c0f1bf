import shutil
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

from steppe.clock import Clock
from steppe.errors import DamagedError, ForcingError, NoSpaceError
from steppe.io import archive_store, open_results, pack_store
from steppe.io.forcing.reader import ForcingReader
from tests.cli.conftest import call
from tests.io.small_store import DAYS, START, write_small_store
from tests.io.test_shard import disk_of

__all__ = ["call"]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("archive") / "weather.zarr"
    write_small_store(path)
    return path


def test_an_archive_holds_the_same_values_and_is_smaller(made: Path, tmp_path: Path) -> None:
    parts: list[float] = []
    found = archive_store(made, tmp_path / "kept.zarr", parts.append)
    assert found.after < 0.95 * found.before
    assert parts == sorted(parts)
    assert parts[-1] == 1.0
    with open_results(made) as expected, open_results(tmp_path / "kept.zarr") as kept:
        xr.testing.assert_identical(kept.load(), expected.load())
    with xr.open_zarr(tmp_path / "kept.zarr", chunks=None) as plain, xr.open_zarr(made, chunks=None) as expected:
        np.testing.assert_array_equal(plain["rain"], expected["rain"])  # by zarr-python, and from consolidated metadata
        assert "zstd" in str(plain["rain"].encoding["compressors"][0].cname)


def test_a_run_reads_it_with_and_without_a_fast_copy(made: Path, tmp_path: Path) -> None:
    pack_store(made, "raw")
    archive_store(made, tmp_path / "kept.zarr")
    assert not (tmp_path / "kept.zarr/pack").exists()

    def rows(path: Path) -> list[np.ndarray]:
        reader, found = ForcingReader(path, range(403), None, Clock.daily(START)), []
        for piece in reader.pieces(range(DAYS)):
            found += [np.array(packed.rows) for _, packed in reader.stream(range(403)).tiles(piece)]
        reader.close()
        return found

    expected = rows(made)
    for number in range(2):
        if number:
            pack_store(tmp_path / "kept.zarr", "bits")
        for mine, theirs in zip(rows(tmp_path / "kept.zarr"), expected, strict=True):
            np.testing.assert_array_equal(mine, theirs)


def test_a_damaged_store_or_a_full_disk_leaves_nothing(made: Path, tmp_path: Path) -> None:
    target = tmp_path / "kept.zarr"
    bad = Path(shutil.copytree(made, tmp_path / "weather.zarr"))
    shard = bad / "rain/c/0/0"
    data = bytearray(shard.read_bytes())
    data[1000] ^= 1
    shard.write_bytes(data)
    with pytest.raises(DamagedError, match="rain/c/0/0"):
        archive_store(bad, target)
    with disk_of(20_000), pytest.raises(NoSpaceError):
        archive_store(made, target)
    with pytest.raises(ForcingError, match="exists already"):
        archive_store(made, bad)
    assert [path.name for path in tmp_path.iterdir()] == ["weather.zarr"]


def test_the_command_says_what_it_made(made: Path, tmp_path: Path, call) -> None:
    code, said, _ = call("forcing", "archive", str(made), str(tmp_path / "kept.zarr"))
    assert code == 0
    assert "times the shards." in said
    assert call("forcing", "check", str(tmp_path / "kept.zarr"))[0] == 0
