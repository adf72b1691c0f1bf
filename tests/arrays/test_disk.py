"""Blocks that are written behind the run, what is written again, and what a killed writer left."""

import fcntl
import os
import subprocess
import sys
import threading
import time
from errno import EINVAL

import numpy as np
import pytest

from steppe.arrays import MemoryFile, disk, image
from steppe.comm import Serial, World
from steppe.files import take
from steppe.testing import run_threads
from tests import on_disk
from tests.arrays.holding import holds

tmp_path = on_disk.tmp_path

BLOCK = 4096


@pytest.fixture
def writes(monkeypatch):
    """The offsets of all writes to the disk; blocks are small."""
    found: list[int] = []
    pwrite = os.pwrite
    monkeypatch.setattr(os, "pwrite", lambda file, data, at: found.append(at) or pwrite(file, data, at))
    for module in (disk, image):
        monkeypatch.setattr(module, "SHIFT", BLOCK.bit_length() - 1)
    return found


def wait_for(found: list[int], expected: list[int]) -> None:
    until = time.monotonic() + 20.0
    while found != expected:
        assert time.monotonic() < until, (found, expected)
        time.sleep(0.001)


def test_a_block_goes_to_the_disk_when_it_is_full_and_again_when_it_is_changed_after(tmp_path, writes):
    data = np.random.default_rng(1).integers(0, 255, 4 * BLOCK - 90, np.uint8)
    with MemoryFile(tmp_path / "x", "w", Serial(), size=data.size) as file:
        file.write_at([BLOCK, 2 * BLOCK], [BLOCK, BLOCK // 2], data[BLOCK : 5 * BLOCK // 2])
        wait_for(writes, [BLOCK])
        file.write_at(5 * BLOCK // 2, BLOCK // 2, data[5 * BLOCK // 2 : 3 * BLOCK])
        wait_for(writes, [BLOCK, 2 * BLOCK])
        data[BLOCK + 7] ^= 1
        file.write_at(BLOCK + 7, 1, data[BLOCK + 7])
        file.write_at(0, BLOCK - 1, data[: BLOCK - 1])
        file.write_at(3 * BLOCK, data.size - 3 * BLOCK, data[3 * BLOCK :])
        wait_for(writes, [BLOCK, 2 * BLOCK, 3 * BLOCK])
        file.write_at(BLOCK - 1, 1, data[BLOCK - 1])
        wait_for(writes, [BLOCK, 2 * BLOCK, 3 * BLOCK, 0])
    assert writes == [BLOCK, 2 * BLOCK, 3 * BLOCK, 0, BLOCK]
    assert holds(tmp_path / "x", data.tobytes())


def test_a_block_that_looks_full_because_it_was_written_twice_is_right_in_the_end(tmp_path, writes):
    with MemoryFile(tmp_path / "x", "w", Serial(), size=2 * BLOCK) as file:
        file.write_at([0, 0], BLOCK // 2, bytes(BLOCK // 2) + b"a" * (BLOCK // 2))
        wait_for(writes, [0])
        file.write_at(BLOCK - 1, 1, b"b")
    assert holds(tmp_path / "x", b"a" * (BLOCK // 2) + bytes(BLOCK // 2 - 1) + b"b" + bytes(BLOCK))


def test_a_block_is_full_when_all_ranks_together_have_filled_it(tmp_path, writes):
    def rank(world: World) -> None:
        with MemoryFile(tmp_path / "x", "w", world, size=3 * BLOCK) as file:
            mine = np.arange(world.rank, 3 * BLOCK // 64, world.size) * 64
            file.write_at(mine, 64, bytes([65 + world.rank]) * 64 * mine.size)
            file.sync()
            if world.rank == 0:
                file.write_at([], 0, b"")
                wait_for(writes, [0, BLOCK, 2 * BLOCK])
            world.barrier()

    run_threads(3, rank)
    assert writes == [0, BLOCK, 2 * BLOCK]
    assert holds(tmp_path / "x", (b"A" * 64 + b"B" * 64 + b"C" * 64) * (BLOCK // 64))


def test_a_file_system_that_takes_no_writes_past_its_cache_gets_them_through_it(tmp_path, monkeypatch):
    data, pwrite, control = os.urandom(3 * BLOCK + 5), os.pwrite, fcntl.fcntl
    refused = []

    def refuse_flag(file: int, command: int, value: int = 0) -> int:
        if command == fcntl.F_SETFL and value & os.O_DIRECT:
            refused.append("flag")
            raise OSError(EINVAL, "no direct writes")
        return control(file, command, value)

    def refuse_write(file: int, part: memoryview, at: int) -> int:
        if fcntl.fcntl(file, fcntl.F_GETFL) & os.O_DIRECT:
            refused.append("write")
            raise OSError(EINVAL, "larger blocks")
        return pwrite(file, part, at)

    for module, name, call in ((fcntl, "fcntl", refuse_flag), (os, "pwrite", refuse_write)):
        monkeypatch.setattr(module, name, call)
        with MemoryFile(tmp_path / name, "w", Serial(), size=len(data)) as file:
            file.write(data)
        monkeypatch.undo()
        assert holds(tmp_path / name, data)
    assert refused == ["flag", "write"]


def test_what_a_killed_writer_left_is_removed_and_that_of_a_living_one_stays(tmp_path):
    program = "import sys, os, signal\nfrom steppe.arrays import MemoryFile\nfrom steppe.comm import Serial\n"
    program += "MemoryFile(sys.argv[1], 'w', Serial(), size=9)\nos.kill(os.getpid(), signal.SIGKILL)"
    path = tmp_path / "x"
    assert subprocess.run([sys.executable, "-c", program, str(path)]).returncode == -9
    (left,) = os.listdir(tmp_path)
    others = ["x.12345678.aside.txt", "x.123.aside", "xy.12345678.aside"]
    for other in others:
        (tmp_path / other).touch()
    living = tmp_path / "x.87654321.aside"
    living.touch()
    with living.open() as held:
        assert take(held.fileno())
        with MemoryFile(path, "w", Serial(), size=3) as file:
            assert left not in os.listdir(tmp_path)
            file.write(b"abc")
    assert sorted(os.listdir(tmp_path)) == sorted(["x", living.name, *others])


def test_the_thread_of_a_file_ends_with_it(tmp_path):
    with MemoryFile(tmp_path / "x", "w", Serial(), size=3) as file:
        file.write(b"abc")
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("memory file")]


def test_by_the_clock_of_another_machine_no_image_is_kept(tmp_path, monkeypatch):
    (tmp_path / "x").write_bytes(b"abc")
    assert disk.identity_of(str(tmp_path / "x"))[0] != 0
    monkeypatch.setattr(time, "clock_gettime_ns", lambda clock: 0)
    assert disk.identity_of(str(tmp_path / "x"))[0] == 0
