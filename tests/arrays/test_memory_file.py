"""A file in the memory of all ranks: bytes, views, modes, mistakes. Ranks are threads; `test_memory_file_ranks` has real ones."""

import doctest
import errno
import os
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steppe.arrays import MemoryFile, memory_file
from steppe.arrays.image import pool_of
from steppe.comm import Serial, World
from steppe.errors import ArrayError, DamagedError, Failure, IndexOutOfRangeError, Mistake, NoSpaceError
from steppe.testing import run_threads
from tests import on_disk
from tests.arrays.holding import holds
from tests.small_disk import mount_small_disk, resize

tmp_path = on_disk.tmp_path

RANKS = pytest.mark.parametrize("ranks", [1, 2, 3, 4, 7])
RECORD = 24


def content(n: int, seed: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).integers(1, 255, n, np.uint8)


def make(path: Path, n: int = 100, world: World | None = None) -> np.ndarray:
    """A file of random bytes."""
    data = content(n)
    with MemoryFile(path, "w", world or Serial(), size=n) as file:
        file.write_at(0, n, data)
    return data


@RANKS
def test_the_file_is_the_same_for_any_number_of_ranks_and_each_reads_what_another_wrote(tmp_path, ranks):
    path, n = tmp_path / "x", 1000
    data = content(n * RECORD)

    def rank(world: World) -> bool:
        mine = np.arange(world.rank, n, world.size)[::-1]
        theirs = np.arange((world.rank + 1) % world.size, n, world.size)
        with MemoryFile(path, "w", world, size=data.size) as file:
            file.write_at(mine * RECORD, RECORD, data.reshape(n, RECORD)[mine])
            file.sync()
            shared = file.read_at(theirs * RECORD, RECORD)
        with MemoryFile(path, "r", world) as file:
            again = file.read_at(theirs * RECORD, np.full(theirs.size, RECORD))
        expected = data.reshape(n, RECORD)[theirs].ravel()
        return bool((shared == expected).all() and (again == expected).all())

    assert all(run_threads(ranks, rank))
    assert holds(path, data.tobytes())
    assert os.listdir(tmp_path) == ["x"]


@given(st.lists(st.tuples(st.sampled_from(["read", "write", "seek", "back", "end"]), st.integers(0, 60)), max_size=20))
def test_read_write_and_seek_do_what_those_of_a_file_do(tmp_path_factory, calls):
    path, size = tmp_path_factory.mktemp("seek") / "x", 64
    peer = bytearray(size)
    at = 0
    with patch("os.fsync"), patch("os.fdatasync"), MemoryFile(path, "w", Serial(), size=size) as file:
        for number, (call, count) in enumerate(calls):
            match call:
                case "read":
                    expected = bytes(peer[at : at + count])
                    assert file.read(count) == expected
                    at += len(expected)
                case "write" if at + count <= size:
                    data = content(count, number).tobytes()
                    assert file.write(data) == count
                    peer[at : at + count] = data
                    at += count
                case "seek":
                    at = file.seek(count)
                case "back" if at >= count:
                    at = file.seek(-count, os.SEEK_CUR)
                case "end":
                    at = file.seek(-count, os.SEEK_END)
            assert file.tell() == at
        file.seek(0)
        assert file.read() == bytes(peer)
    assert holds(path, bytes(peer))


def test_bytes_that_no_rank_writes_are_zero_also_in_used_memory(tmp_path):
    world = Serial()
    make(tmp_path / "first", 100_000, world)
    with MemoryFile(tmp_path / "second", "w", world, size=100_000) as file:
        file.write_at([5, 99_999], 1, b"ab")
    expected = bytearray(100_000)
    expected[5], expected[99_999] = b"ab"
    assert holds(tmp_path / "second", expected)


def test_records_of_one_range_are_a_view_that_cannot_be_changed_and_stays_as_it_is(tmp_path):
    world = Serial()
    data = make(tmp_path / "x", 100, world)
    with MemoryFile(tmp_path / "x", "r", world) as file:
        view = file.read_at([10, 20], [10, 5])
        assert np.shares_memory(view, file.read_at(0, 100))
        assert not np.shares_memory(file.read_at([10, 30], 5), view)
        with pytest.raises(ValueError, match="read-only"):
            view[0] = 1
    make(tmp_path / "y", 100, world)
    assert (view == data[10:25]).all()
    with MemoryFile(tmp_path / "x", "r+", world) as file:
        assert not np.shares_memory(file.read_at(10, 15), view)


def test_a_view_keeps_its_bytes_when_its_own_file_is_changed_and_another_is_made(tmp_path):
    def rank(world: World) -> None:
        if world.rank == 0:
            (tmp_path / "x").write_bytes(bytes([1]) * 100)
        world.barrier()
        with MemoryFile(tmp_path / "x", "r", world) as file:
            view = file.read_at(0, 100) if world.rank == 0 else None
        with MemoryFile(tmp_path / "x", "r", world):
            pass
        for name, mode, size in (("x", "r+", None), ("y", "w", 100), ("z", "w", 100)):
            with MemoryFile(tmp_path / name, mode, world, size=size) as file:
                if world.rank == 1:
                    file.write_at(0, 100, bytes([9]) * 100)
            assert view is None or view.tolist() == [1] * 100

    run_threads(2, rank)


def test_permissions_and_links_stay(tmp_path):
    make(tmp_path / "real")
    (tmp_path / "real").chmod(0o640)
    (tmp_path / "link").symlink_to("real")
    data = make(tmp_path / "link", 50)
    assert (tmp_path / "link").is_symlink()
    assert holds(tmp_path / "real", data.tobytes())
    assert (tmp_path / "real").stat().st_mode & 0o777 == 0o640
    assert sorted(os.listdir(tmp_path)) == ["link", "real"]


def test_a_file_is_open_for_writing_once(tmp_path):
    make(tmp_path / "x", 3)
    (tmp_path / "link").symlink_to("x")

    def rank(world: World) -> None:
        with MemoryFile(tmp_path / "x", "r+", world) as file:
            for mode, size in (("r+", None), ("w", 3)):
                with pytest.raises(ArrayError, match=r'link" is open for writing already. Close it before it is opened again'):
                    MemoryFile(tmp_path / "link", mode, world, size=size)
            with MemoryFile(tmp_path / "link", "r", world) as other:
                assert other.read(1) == content(1).tobytes()
            file.write_at(world.rank, 1, b"x")
        MemoryFile(tmp_path / "link", "r+", world).close()

    run_threads(2, rank)
    assert (tmp_path / "x").read_bytes()[:2] == b"xx"


def test_a_pipe_is_not_replaced(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for mode, size in (("r", None), ("r+", None), ("w", 3)):
        with pytest.raises(ArrayError, match=r'pipe" is a device or a pipe, not a file'):
            MemoryFile(tmp_path / "pipe", mode, Serial(), size=size)
    assert (tmp_path / "pipe").is_fifo()


def test_a_path_may_be_bytes_and_is_not_empty(tmp_path):
    with MemoryFile(os.fsencode(tmp_path / "x"), "w", Serial(), size=3) as file:
        file.write(b"abc")
        assert (file.seek(1), file.read(None)) == (1, b"bc")
    assert (tmp_path / "x").read_bytes() == b"abc"
    with pytest.raises(ArrayError, match=r'"" is a folder, not a file'):
        MemoryFile("", "w", Serial(), size=3)


def test_a_replaced_file_that_only_root_could_write_stays_so(tmp_path, monkeypatch):
    make(tmp_path / "x")
    os.chmod(tmp_path / "x", 0o444)
    monkeypatch.setattr(os, "access", lambda path, kind: True)  # as for root
    with MemoryFile(tmp_path / "x", "r+", Serial()) as file:
        file.write(b"a")
    assert (tmp_path / "x").stat().st_mode & 0o777 == 0o444


def test_a_file_of_before_1970_is_read(tmp_path):
    data = make(tmp_path / "x")
    os.utime(tmp_path / "x", (-1e9, -1e9))

    def rank(world: World) -> None:
        with MemoryFile(tmp_path / "x", "r", world) as file:
            assert file.read() == data.tobytes()

    run_threads(2, rank)


def test_a_file_without_permission_to_write_is_refused(tmp_path, monkeypatch):
    make(tmp_path / "x")
    monkeypatch.setattr(os, "access", lambda path, kind: kind != os.W_OK)  # root may write any file
    for mode, size in (("r+", None), ("w", 3)):
        with pytest.raises(ArrayError, match=r"may not be written. Change its permissions"):
            MemoryFile(tmp_path / "x", mode, Serial(), size=size)


def test_memory_is_used_again_once_no_view_of_it_is_left(tmp_path):
    world = Serial()
    data = make(tmp_path / "x", 100, world)
    segment = pool_of(world)._closed[0].segment
    with MemoryFile(tmp_path / "x", "r", world) as file:
        view = file.read_at(0, 50).view(np.int16)[3:]
    make(tmp_path / "y", 90, world)
    assert pool_of(world)._closed[0].segment is not segment
    assert view.tobytes() == data[6:50].tobytes()
    del view
    make(tmp_path / "z", 80, world)
    assert pool_of(world)._closed[0].segment is not segment, "the memory of y, closed last, is taken first"
    file = MemoryFile(tmp_path / "z", "r", world)
    make(tmp_path / "w", 80, world)
    assert pool_of(world)._closed[0].segment is segment
    file.close()


def test_an_unchanged_file_is_not_read_again_and_a_changed_one_is(tmp_path, monkeypatch):
    world, path = Serial(), tmp_path / "x"
    data = make(path, 100, world)
    reads = []
    preadv = os.preadv
    monkeypatch.setattr(os, "preadv", lambda *given: reads.append(given) or preadv(*given))
    for _ in range(2):
        with MemoryFile(path, "r", world) as file:
            assert file.read() == data.tobytes()
    assert not reads
    for byte in range(20):  # at once after it was closed, of the same length, and with the old time of change
        about = path.stat()
        with path.open("r+b") as other:
            other.write(bytes([byte]))
        os.utime(path, ns=(about.st_atime_ns, about.st_mtime_ns))
        with MemoryFile(path, "r", world) as file:
            assert file.read(1) == bytes([byte])
    assert len(reads) == 20


def test_a_file_is_changed_in_place_of_the_old_one_and_only_if_a_rank_writes(tmp_path):
    path = tmp_path / "x"
    data = make(path)
    before = path.stat().st_ino

    def rank(world: World) -> None:
        with MemoryFile(path, "r+", world) as file:
            assert (file.read_at(0, 100) == data).all()
        assert path.stat().st_ino == before
        with MemoryFile(path, "r+", world) as file:
            if world.rank == 1:
                file.write_at(7, 2, b"ab")
            file.flush()
            assert path.read_bytes()[7:9] == b"ab"
            file.sync()
            if world.rank == 0:
                file.write_at(0, 1, b"c")
            file.flush()
            assert path.read_bytes()[:1] == b"c"

    run_threads(2, rank)
    data[7:9], data[0] = list(b"ab"), ord("c")
    assert holds(path, data.tobytes())
    assert os.listdir(tmp_path) == ["x"]


def test_after_an_error_the_old_file_stays_and_nothing_else(tmp_path):
    path = tmp_path / "x"
    data = make(path)
    for mode, size in (("w", 50), ("r+", None)):
        with pytest.raises(IndexOutOfRangeError, match="Record 1 of"), MemoryFile(path, mode, Serial(), size=size) as file:
            file.write_at([0, 100], 1, b"ab")
        assert holds(path, data.tobytes())
    assert os.listdir(tmp_path) == ["x"]


def test_the_example_of_the_docstring_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert doctest.testmod(memory_file) == (0, 4)


def test_an_empty_file_is_a_file(tmp_path):
    with MemoryFile(tmp_path / "x", "w", Serial(), size=0) as file:
        file.write_at([], 4, b"")
    assert holds(tmp_path / "x", b"")
    with MemoryFile(tmp_path / "x", "r", Serial()) as file:
        assert (file.read(), file.read_at([], 1).size, file.size) == (b"", 0, 0)


def test_writes_of_several_ranks_to_the_same_bytes_are_found_on_every_rank(tmp_path):
    def rank(world: World) -> None:
        with MemoryFile(tmp_path / "x", "w", world, size=100, check=True) as file:
            file.write_at([10 * world.rank, 10 * world.rank], 10, content(20))  # of one rank alone
            file.sync()
            file.write_at([30 - 10 * world.rank], 10, content(10))  # what another rank wrote before the last sync
            file.sync()
            file.write_at([20 * world.rank], 20 + 3 * (world.rank == 1), content(20 + 3 * (world.rank == 1)))
            with pytest.raises(ArrayError, match=r'Ranks 1 and 2 both wrote bytes 40 to 42 of ".*x" between two calls of sync\.'):
                file.sync()
            file.write_at(world.rank % 2, 1, b"a")
            with pytest.raises(ArrayError, match="Ranks 0 and 2 both wrote bytes 0 to 0"):
                file.flush()

    run_threads(3, rank)


@pytest.mark.parametrize(
    ("work", "says"),
    [
        (lambda w, p: MemoryFile(p / "no", "r", w), 'There is no file ".*no"'),
        (
            lambda w, p: MemoryFile(p / "x", "a", w),
            'cannot be opened with mode "a" and size=None. Give "r", "r\\+", or "w" with a whole number of bytes.',
        ),
        (lambda w, p: MemoryFile(p / "y", "w", w), 'cannot be opened with mode "w" and size=None'),
        (lambda w, p: MemoryFile(p, "w", w, size=3), "is a folder, not a file. Give the path of a file."),
        (lambda w, p: MemoryFile(p / "y", "w", w, size=-1), 'mode "w" and size=-1'),
        (lambda w, p: MemoryFile(p / "y", "w", w, size=2**63), "size=9223372036854775808. Give"),
        (lambda w, p: MemoryFile(p / "y", "w", w, size=1.5), 'mode "w" and size=1.5. Give .* a whole number of bytes'),
        (lambda w, p: MemoryFile(p / "x", "r", w, size=3), 'x" is opened with mode "r" and size=3. Leave `size` out'),
        (
            lambda w, p: MemoryFile(p / f"{w.rank}", "w", w, size=3),
            r'The ranks disagree: rank 0 is in the opening \(mode "w", size=3, check=False\) of ".*0", rank 1 in .*1"',
        ),
        (lambda w, p: MemoryFile(p / "x", "r", w).write_at(0, 1, b"a"), 'is open for reading, mode "r"'),
        (lambda w, p: MemoryFile(p / "x", "r", w).write(b"a"), 'is open for reading, mode "r"'),
        (lambda w, p: MemoryFile(p / "x", "r", w).read_at(96, 5), 'Record 0 of ".*x" has 5 bytes from byte 96 on, but the file has 100'),
        (lambda w, p: MemoryFile(p / "x", "r", w).write_at(0, 1, "a"), 'is open for reading, mode "r"'),
        (lambda w, p: MemoryFile(p / "x", "r+", w).write_at(0, 1, [1]), "takes bytes, not list. Give bytes or an array"),
        (lambda w, p: MemoryFile(p / "x", "r", w).seek(-1), "Position -1 lies before the begin"),
        (lambda w, p: MemoryFile(p / "x", "r", w).seek(0, 3), r"cannot seek\(0, 3\). Give a whole number of bytes, and 0, 1 or 2"),
        (lambda w, p: MemoryFile(p / "x", "r", w).seek(0.5), "Give a whole number of bytes"),
        (lambda w, p: MemoryFile(p / "x", "r+", w).write_at([0, 5], 2, b"abc"), "3 bytes are given for records of .* of 4 bytes"),
        (lambda w, p: MemoryFile(p / "x", "r", w).read_at(0, 8, bytearray(8)), r"are read into bytearray. Give .* uint8 \(8,\)"),
        (lambda w, p: MemoryFile(p / "x", "r", w).read_at(0, 8, np.empty(1)), r"are read into float64 \(1,\). Give .* uint8 \(8,\)"),
        (lambda w, p: MemoryFile(p / "x", "r", w).read_at(0, 8, np.empty(16, np.uint8)[::2]), "Give a contiguous, writeable array"),
    ],
)
def test_a_mistake_is_told_in_a_sentence_on_the_rank_that_makes_it(tmp_path, work, says):
    make(tmp_path / "x")

    def rank(world: World) -> None:
        with pytest.raises((ArrayError, Mistake), match=says):
            work(world, tmp_path)

    run_threads(2, rank)
    assert os.listdir(tmp_path) == ["x"]


def test_a_closed_file_is_closed_and_may_be_closed_again(tmp_path):
    make(tmp_path / "x")
    file = MemoryFile(tmp_path / "x", "r", Serial())
    file.close()
    file.close()
    for work in (file.sync, file.flush, file.read, lambda: file.read_at(0, 1)):
        with pytest.raises(ArrayError, match=r'x" is closed\. Open it again\.'):
            work()


def test_a_copy_of_the_process_is_refused(tmp_path, monkeypatch):
    file = MemoryFile(tmp_path / "x", "w", Serial(), size=3)
    monkeypatch.setattr(os, "getpid", lambda: 1)
    with pytest.raises(ArrayError, match=r"was opened by process .* of which this one is a copy"):
        file.write(b"a")
    monkeypatch.undo()
    file.close()


def test_a_file_that_is_cut_or_changed_while_it_is_read_is_an_error_on_every_rank(tmp_path, monkeypatch):
    path = tmp_path / "x"
    preadv = os.preadv

    def rank(world: World, kind: type[Failure], says: str) -> None:
        with pytest.raises(kind, match=says):
            MemoryFile(path, "r", world)

    def cut(file: int, *rest: object) -> int:
        os.truncate(path, 60)
        return preadv(file, *rest)

    def change(file: int, *rest: object) -> int:
        path.write_bytes(bytes(100))
        return preadv(file, *rest)

    for disturbed, kind, says in (
        (cut, DamagedError, 'x" ends at byte 60, expected 100 bytes: it was cut while it was read'),
        (change, Failure, 'x" was changed while it was read'),
    ):
        make(path)
        monkeypatch.setattr(os, "preadv", disturbed)
        run_threads(2, lambda world, kind=kind, says=says: rank(world, kind, says))
        monkeypatch.undo()


def test_a_full_disk_is_an_error_on_every_rank_and_the_file_may_be_closed_later(tmp_path):
    disk = tmp_path / "disk"
    undo = mount_small_disk(disk, "300k")
    try:
        path = disk / "x"
        data = make(path, 200_000)

        def rank(world: World) -> None:
            with pytest.raises(NoSpaceError, match=r'x" cannot be written: No space left on device\.'):
                MemoryFile(path, "w", world, size=250_000)
            file = MemoryFile(path, "r+", world)
            if world.rank == 0:
                file.write_at(3, 1, b"a")
            with pytest.raises(NoSpaceError):
                file.close()
            assert holds(path, data.tobytes())
            assert os.listdir(disk) == ["x"]
            world.barrier()
            if world.rank == 0:
                resize(disk, "600k")
            world.barrier()
            file.close()

        run_threads(2, rank)
        data[3] = ord("a")
        assert holds(path, data.tobytes())
        assert os.listdir(disk) == ["x"]
    finally:
        undo()


def test_without_memory_that_of_closed_files_is_given_back_before_an_error_on_every_rank(tmp_path, monkeypatch):
    def rank(world: World) -> None:
        make_alike(world)
        with MemoryFile(tmp_path / "y", "w", world, size=300_000):
            assert not pool_of(world).in_use()
        refused.append(OSError(errno.ENOMEM, os.strerror(errno.ENOMEM)))
        with pytest.raises(Failure, match="Rank 0 cannot share 1 MB of memory with other ranks: Cannot allocate memory"):
            MemoryFile(tmp_path / "z", "w", world, size=1_000_000)

    def make_alike(world: World) -> None:
        with MemoryFile(tmp_path / "x", "w", world, size=100):
            pass
        world.barrier()
        if world.rank == 0:
            refused.append(OSError(errno.ENOMEM, os.strerror(errno.ENOMEM)))
        world.barrier()

    def allocate(file: int, begin: int, length: int) -> None:
        if refused and length >= 1 << 18:
            raise refused.pop()
        fallocate(file, begin, length)

    refused: list[OSError] = []
    fallocate = os.posix_fallocate
    monkeypatch.setattr(os, "posix_fallocate", allocate)
    run_threads(2, rank)
    assert sorted(os.listdir(tmp_path)) == ["x", "y"]
