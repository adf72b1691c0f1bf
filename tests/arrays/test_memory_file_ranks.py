"""Files in the memory of real ranks: the bytes, kills at every point, errors of one rank."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests import on_disk
from tests.arrays.crash_points import POINTS, SIZE
from tests.arrays.holding import holds
from tests.comm.mpis import run_ranks

tmp_path = on_disk.tmp_path

ROOT = Path(__file__).parents[2]
OPENING = """
import sys
import numpy as np
from steppe.arrays import MemoryFile
from steppe.comm import open_world
from steppe.errors import NoSpaceError
world, path = open_world(), sys.argv[1]
"""
WRITING = """
n, length = 30_001, 48
mine = np.arange(world.rank, n, world.size)
theirs = np.arange((world.rank + 1) % world.size, n, world.size)
def content(records):
    return (records[:, None] * 7 + np.arange(length)).astype(np.uint8)
with MemoryFile(path, "w", world, size=n * length) as file:
    for some in np.array_split(mine, 5):
        file.write_at(some * length, length, content(some))
for _ in range(2):
    with MemoryFile(path, "r", world) as file:
        assert (file.read_at(theirs * length, length) == content(theirs).ravel()).all()
        assert (file.read_at(0, 3 * length) == content(np.arange(3)).ravel()).all()
world.close()
"""
FULL = """
with MemoryFile(path, "r+", world) as file:
    try:
        file.write_at(0, 4, b"new.")
        file.flush()
        raise SystemExit("no error")
    except NoSpaceError as error:
        assert "cannot be written: No space left on device." in str(error), error
    file.flush()
world.close()
"""


# each MPI and each number of ranks, not each pair
@pytest.mark.parametrize(("mpi", "ranks"), [("installed", 1), ("installed", 3), ("openmpi", 2), ("system", 3)])
def test_ranks_write_and_read_one_file(tmp_path, mpi, ranks):
    path = tmp_path / "x"
    done = run_ranks(mpi, ranks, "-c", OPENING + WRITING, str(path))
    assert done.returncode == 0, done.stderr
    expected = bytes((record * 7 + at) % 256 for record in range(30_001) for at in range(48))
    assert holds(path, expected)
    assert os.listdir(tmp_path) == ["x"]


def test_after_a_kill_at_any_of_fifty_points_the_file_is_the_old_one_or_the_new_one(tmp_path):
    path = tmp_path / "x"
    done = subprocess.run([sys.executable, "-m", "tests.arrays.crash_points", str(path)], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    placed = ("donio.rename", "donio.dirsync")
    assert done.stdout.splitlines() == [f"{point} -9 {'new' if point.startswith(placed) else 'old'}" for point in POINTS]
    assert len(POINTS) == 50
    assert path.stat().st_size == SIZE
    assert os.listdir(tmp_path) == ["x"], "what killed writers left is removed by the next"


@pytest.mark.parametrize("point", ["create", "block", "fsync", "rename", "dirsync"])
def test_a_rank_that_is_killed_ends_the_others_and_leaves_the_old_file_or_the_new_one(tmp_path, point):
    path = tmp_path / "x"
    path.write_bytes(b"old")
    done = run_ranks("installed", 2, "-c", OPENING + WRITING, str(path), STEPPE_FAIL=f"donio.{point}:1:kill")
    assert done.returncode != 0
    assert path.stat().st_size == (30_001 * 48 if point in ("rename", "dirsync") else 3)


@pytest.mark.parametrize("point", ["create", "block"])
def test_a_full_disk_is_an_error_on_every_rank_and_the_next_flush_succeeds(tmp_path, point):
    path = tmp_path / "x"
    path.write_bytes(b"old content")
    done = run_ranks("installed", 2, "-c", OPENING + FULL, str(path), STEPPE_FAIL=f"donio.{point}:1:enospc")
    assert done.returncode == 0, done.stderr
    assert holds(path, b"new.content")
    assert os.listdir(tmp_path) == ["x"]
