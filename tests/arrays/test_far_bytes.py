"""A file whose bytes lie on several hosts, which are pretended: ranks as threads, and real ranks."""

import os

import numpy as np
import pytest

from steppe.arrays import MemoryFile, image
from steppe.comm import World
from steppe.errors import ArrayError
from steppe.testing import run_threads
from tests import on_disk
from tests.arrays.holding import holds
from tests.comm.mpis import run_ranks

tmp_path = on_disk.tmp_path

RECORD, N = 24, 1500
PART = 4096
PROGRAM = """
import sys
import numpy as np
from steppe.arrays import MemoryFile
from steppe.comm import find_launch, open_world
with open_world(f"host {find_launch().rank % 2}") as world:
    n, length = 20_001, 48
    table = (np.arange(n)[:, None] * 7 + np.arange(length)).astype(np.uint8)
    mine, theirs = (np.arange((world.rank + turn) % world.size, n, world.size) for turn in (0, 1))
    with MemoryFile(sys.argv[1], "w", world, size=n * length) as file:
        file.write_at(mine * length, length, table[mine])
        file.sync()
        assert (file.read_at(theirs * length, length) == table[theirs].ravel()).all()
    with MemoryFile(sys.argv[1], "r", world) as file:
        assert (file.read_at(theirs * length, length) == table[theirs].ravel()).all()
        assert (file.read_at(0, n * length) == table.ravel()).all()
"""


@pytest.fixture
def table(monkeypatch) -> np.ndarray:
    """Bytes of records; parts of hosts are small, so that records lie across their ends."""
    monkeypatch.setattr(image, "PAGE", PART)
    return np.random.default_rng(1).integers(1, 255, (N, RECORD), np.uint8)


@pytest.mark.parametrize("hosts", ["ab", "aab", "abab", "abcab", "abcdefghijklmnopq"])
def test_any_rank_reads_and_writes_bytes_of_any_host(tmp_path, table, hosts):
    path = tmp_path / "x"

    def rank(world: World) -> None:
        mine, theirs = (np.arange((world.rank + turn) % world.size, N, world.size)[::-1] for turn in (0, 1))
        with MemoryFile(path, "w", world, size=table.size) as file:
            file.write_at(mine * RECORD, RECORD, table[mine])
            file.sync()
            assert (file.read_at(theirs * RECORD, RECORD) == table[theirs].ravel()).all()
            assert file.read() == table.tobytes()
        if world.rank == 0:
            assert holds(path, table.tobytes())
        with MemoryFile(path, "r+", world) as file:
            if world.rank == world.size - 1:
                file.write_at([PART - 3, 0, 2 * PART - 1], [6, 0, 2], b"crossing")
            file.sync()
            assert file.read_at([PART - 3, 2 * PART - 1], [6, 2]).tobytes() == b"crossing"
        with MemoryFile(path, "r", world) as file:
            assert file.read_at([0, 5, 2 * PART - 1], [0, 1, 2])[1:].tobytes() == b"ng"

    run_threads(len(hosts), rank, 60.0, [*hosts])
    expected = bytearray(table.tobytes())
    expected[PART - 3 : PART + 3], expected[2 * PART - 1 : 2 * PART + 1] = b"crossi", b"ng"
    assert holds(path, expected)
    assert os.listdir(tmp_path) == ["x"]


def test_bytes_of_this_host_are_a_view_and_those_of_others_a_copy(tmp_path, table):
    (tmp_path / "x").write_bytes(table.tobytes())
    half = image.part_of(table.size, 2)

    def rank(world: World) -> None:
        with MemoryFile(tmp_path / "x", "r", world) as file:
            for host, (first, count) in enumerate([(0, half), (half, table.size - half)]):
                parts = [file.read_at(first, count) for _ in range(2)]
                assert np.shares_memory(*parts) == (host == world.rank)
                assert parts[0].tobytes() == table.tobytes()[first : first + count]
            with pytest.raises(ArrayError, match="has 2 bytes from byte 35999 on, but the file has 36000 bytes"):
                file.read_at(table.size - 1, 2)

    run_threads(2, rank, 60.0, ["a", "b"])


def test_a_block_that_another_host_changes_after_it_was_written_is_written_again(tmp_path, table):
    def rank(world: World) -> None:
        with MemoryFile(tmp_path / "x", "w", world, size=table.size) as file:
            if world.rank == 0:
                file.write_at(0, table.size, table)
            file.sync()
            if world.rank == 1:
                file.write_at([3, table.size - 1], 1, b"ab")

    run_threads(2, rank, 60.0, ["a", "b"])
    expected = bytearray(table.tobytes())
    expected[3], expected[-1] = b"ab"
    assert holds(tmp_path / "x", expected)


def test_real_ranks_on_pretended_hosts(tmp_path):
    done = run_ranks("installed", 3, "-c", PROGRAM, str(tmp_path / "x"))
    assert done.returncode == 0, done.stderr
    assert holds(tmp_path / "x", bytes((record * 7 + at) % 256 for record in range(20_001) for at in range(48)))
