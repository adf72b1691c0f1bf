"""Every byte of what a run leaves, changed: an error that names the file, or the checkpoint before, said aloud; never other values."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from steppe.errors import DamagedError
from steppe.grid import Points
from steppe.io.axis import Axis
from steppe.io.checkpoints.checkpoint import Checkpoint
from steppe.io.folders.folder import RunFolder
from steppe.io.folders.run_progress import Progress
from steppe.io.output.store import Group, Output, create_store
from steppe.io.output.writer import OutputWriter
from steppe.io.results.dataset import open_results
from tests.io.checkpoints import write_checkpoint
from tests.io.writer_process import IDENTITY, variable

DAYS = 7
VALUES = np.random.default_rng(5).normal(size=(DAYS, 3)).astype("float32")
PATTERNS = (0x01, 0x80, 0xFF)  # the bits that are changed


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of a week at three places with two checkpoints."""
    path = tmp_path_factory.mktemp("flips") / "run"
    grid = Points(("a", "b", "c"), np.array([-20.0, -21.0, -22.0]), np.array([140.0, 141.0, 142.0]))
    groups = [Group(Axis.daily(51134, DAYS), grid, (Output(variable("growth")),))]
    with RunFolder(path, IDENTITY) as folder:
        create_store(folder.output, groups, {})
        writer = OutputWriter(folder.output, groups)
        for day, row in enumerate(VALUES):
            writer.put("growth", day, row)
            if day in (3, 6):
                records = writer.commit()
                arrays = {"state/leaf": VALUES[day], "parameter/rate": np.array(0.1)}
                kept = write_checkpoint(folder.checkpoints, day + 1, arrays, {"date": f"1990-01-0{day + 2}", "records": records}, IDENTITY)
                Progress("running", day + 1, f"1990-01-0{day + 2}", records, kept.name).write(path)
        writer.close()
    return path


@pytest.fixture
def run(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made, tmp_path / "run"))


def flips(path: Path) -> Iterator[int]:
    """Changes each byte of a file in turn, in several ways; the file is whole again afterwards."""
    good = path.read_bytes()
    for position in range(len(good)):
        for pattern in PATTERNS:
            bad = bytearray(good)
            bad[position] ^= pattern
            path.write_bytes(bad)
            yield position
    path.write_bytes(good)


def test_of_a_shard(run: Path) -> None:
    shard = run / "output.zarr/growth/c/0/0"
    with open_results(run) as found:
        np.testing.assert_array_equal(found["growth"][:], VALUES)
        for _ in flips(shard):
            with pytest.raises(DamagedError, match=str(shard)):
                found["growth"][2:3, 1:2].to_numpy()


@pytest.mark.parametrize("name", ["arrays.bin", "manifest.json"])
def test_of_a_checkpoint(run: Path, name: str) -> None:
    checkpoint = Checkpoint.newest(run / "checkpoints", IDENTITY, pytest.fail)
    assert checkpoint is not None
    assert checkpoint.step == 7
    for _ in flips(checkpoint.path / name):
        said: list[str] = []
        before = Checkpoint.newest(run / "checkpoints", IDENTITY, said.append)
        assert before is not None
        assert before.step == 4
        np.testing.assert_array_equal(before.read("state/leaf"), VALUES[3])
        assert len(said) == 1
        assert str(checkpoint.path / name) in said[0]
        assert said[0].endswith("The checkpoint before it is taken.")


def test_of_the_progress_file(run: Path) -> None:
    for _ in flips(run / "progress.json"):
        with pytest.raises(DamagedError, match=r"progress\.json"):
            Progress.read(run)
    with open_results(run) as found:
        assert found.sizes["time"] == 7


def test_of_the_identity(run: Path) -> None:
    for _ in flips(run / "identity.json"):
        with pytest.raises(DamagedError, match=r"identity\.json"):
            RunFolder(run, IDENTITY)
    RunFolder(run, IDENTITY).close()
