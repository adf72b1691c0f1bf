"""The ranks of DONIO's test (paper 004, section 4): an element-to-vertex list is written column by column, and read again.

python -m benchmarks.programs.donio_ranks FOLDER ROUNDS DURABLE_ROUNDS      as the ranks of a launcher; rank 0 prints JSON

Column c is written by rank c mod p and read by the next rank. Each way of doing it takes turns with the others; a time is that from barrier
to barrier. The loops of the peers are compiled, so that the interpreter counts for none of them.
"""

import ctypes
import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import numba
import numpy as np
from numpy.typing import NDArray

from steppe.arrays import MemoryFile
from steppe.arrays.image import pool_of
from steppe.comm import World, open_world

GRIDS = {"81x81x61": (81, 81, 61), "121x121x91": (121, 121, 91)}
PHASES = ("wopen", "write", "wclose", "ropen", "read", "rclose")
DELAY = 200  # [us] of each request, where it is injected
REQUESTS = ("open", "stat", "pwrite", "preadv", "posix_fallocate", "ftruncate", "fdatasync", "fsync", "replace")  # of ours to the disk
Bytes = NDArray[np.uint8]


class Columns(NamedTuple):
    """Columns of elements: offsets (n,) and length [bytes] of their records, and their bytes."""

    offsets: NDArray[np.int64]
    length: int
    data: Bytes


def columns(grid: tuple[int, int, int], rank: int, ranks: int) -> Columns:
    """The columns of a rank: of each element the numbers of its eight vertices, int32."""
    nx, ny, nz = grid
    column = np.arange(rank, (nx - 1) * (ny - 1), ranks)
    i, j, k = (column // (ny - 1))[:, None], (column % (ny - 1))[:, None], np.arange(nz - 1)
    corners = [((i + a) * ny + j + b) * nz + k + c for a in (0, 1) for b in (0, 1) for c in (0, 1)]
    data = np.stack(corners, axis=-1).astype(np.int32)
    length = (nz - 1) * 8 * 4
    return Columns(column * length, length, data.reshape(-1).view(np.uint8))


_libc = ctypes.CDLL(None, use_errno=True)
_pwrite, _pread, _usleep = _libc.pwrite, _libc.pread, _libc.usleep
for _call in (_pwrite, _pread):
    _call.argtypes, _call.restype = [ctypes.c_int, ctypes.c_size_t, ctypes.c_size_t, ctypes.c_int64], ctypes.c_int64
_usleep.argtypes, _usleep.restype = [ctypes.c_uint32], ctypes.c_int


@numba.njit(nogil=True)
def write_columns(file: int, offsets: NDArray[np.int64], length: int, data: Bytes, delay: int) -> int:
    done = 0
    for n in range(offsets.size):
        if delay:
            _usleep(delay)
        done += _pwrite(file, data.ctypes.data + n * length, length, offsets[n])
    return done


@numba.njit(nogil=True)
def read_columns(file: int, offsets: NDArray[np.int64], length: int, data: Bytes, delay: int) -> int:
    done = 0
    for n in range(offsets.size):
        if delay:
            _usleep(delay)
        done += _pread(file, data.ctypes.data + n * length, length, offsets[n])
    return done


class Case(NamedTuple):
    """What a rank does in each way."""

    world: World
    path: Path
    size: int
    writes: Columns
    reads: Columns
    room: Bytes

    def phase(self, work: Callable[[], Any]) -> tuple[float, Any]:
        """Milliseconds from barrier to barrier."""
        self.world.barrier()
        begin = time.perf_counter()
        done = work()
        self.world.barrier()
        return (time.perf_counter() - begin) * 1e3, done


def of_memory(case: Case, forget: bool = False) -> list[float]:
    wopen, file = case.phase(lambda: MemoryFile(case.path, "w", case.world, size=case.size))
    write, _ = case.phase(lambda: file.write_at(case.writes.offsets, case.writes.length, case.writes.data))
    wclose, _ = case.phase(file.close)
    if forget:
        pool_of(case.world).clear()
    ropen, file = case.phase(lambda: MemoryFile(case.path, "r", case.world))
    read, _ = case.phase(lambda: file.read_at(case.reads.offsets, case.reads.length, case.room))
    rclose, _ = case.phase(file.close)
    return [wopen, write, wclose, ropen, read, rclose]


def of_posix(case: Case, flags: int = 0, delay: int = 0) -> list[float]:
    first = case.world.rank == 0

    def create() -> int:
        if first:
            os.close(os.open(case.path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC))
        case.world.barrier()
        return os.open(case.path, os.O_WRONLY | flags)

    def finish(file: int) -> None:
        case.world.barrier()
        if first:
            os.fsync(file)
        os.close(file)

    wopen, file = case.phase(create)
    write, written = case.phase(lambda: write_columns(file, *case.writes, delay))
    wclose, _ = case.phase(lambda: finish(file))
    ropen, file = case.phase(lambda: os.open(case.path, os.O_RDONLY))
    read, taken = case.phase(lambda: read_columns(file, case.reads.offsets, case.reads.length, case.room, delay))
    rclose, _ = case.phase(lambda: os.close(file))
    assert (written, taken) == (case.writes.data.size, case.reads.data.size)
    return [wopen, write, wclose, ropen, read, rclose]


def of_mpi(case: Case) -> list[float]:
    from mpi4py import MPI

    comm, writes, reads = MPI.COMM_WORLD, case.writes, case.reads
    rows, room = writes.data.reshape(-1, writes.length), case.room.reshape(-1, reads.length)

    def finish(file: Any) -> None:
        file.Sync()
        file.Close()

    def create() -> Any:
        file = MPI.File.Open(comm, str(case.path), MPI.MODE_WRONLY | MPI.MODE_CREATE)
        file.Set_size(0)
        return file

    wopen, file = case.phase(create)
    write, _ = case.phase(lambda: [file.Write_at(at, row) for at, row in zip(writes.offsets.tolist(), rows, strict=True)])
    wclose, _ = case.phase(lambda: finish(file))
    ropen, file = case.phase(lambda: MPI.File.Open(comm, str(case.path), MPI.MODE_RDONLY))
    read, _ = case.phase(lambda: [file.Read_at(at, row) for at, row in zip(reads.offsets.tolist(), room, strict=True)])
    rclose, _ = case.phase(file.Close)
    return [wopen, write, wclose, ropen, read, rclose]


@contextmanager
def slow_disk() -> Iterator[None]:
    """Each request of this process to the disk through `os` takes `DELAY` longer."""

    def slowed(call: Callable[..., Any]) -> Callable[..., Any]:
        def late(*given: Any, **named: Any) -> Any:
            _usleep(DELAY)
            return call(*given, **named)

        return late

    with patch.multiple(os, **{name: slowed(getattr(os, name)) for name in REQUESTS}):
        yield


def late_memory(case: Case) -> list[float]:
    with slow_disk():
        return of_memory(case)


ROUND: dict[str, Callable[[Case], list[float]]] = {
    "memory file": of_memory,
    "page cache, one fsync": of_posix,
    "memory file, image forgotten": lambda case: of_memory(case, forget=True),
    "MPI-IO, one sync": of_mpi,
}
DURABLE: dict[str, Callable[[Case], list[float]]] = {
    "memory file": of_memory,
    "every write durable": lambda case: of_posix(case, os.O_DSYNC),
    "memory file, 0.2 ms a request": late_memory,
    "page cache, 0.2 ms a request": lambda case: of_posix(case, delay=DELAY),
}


def measure(world: World, folder: Path, rounds: int, durable_rounds: int) -> dict[str, Any]:
    """By grid and way the times of each round, [ms] by phase, of what is bound by the page cache and of what waits for the disk."""
    found: dict[str, Any] = {}
    for name, grid in GRIDS.items():
        writes, reads = (columns(grid, (world.rank + turn) % world.size, world.size) for turn in (0, 1))
        size = int(world.reduce(np.array([writes.data.size]), "sum")[0])
        case = Case(world, folder / name, size, writes, reads, np.zeros(reads.data.size, np.uint8))
        times: dict[str, dict[str, list[list[float]]]] = {"cached": {}, "durable": {}}
        checksums = set()
        for what, ways, number in (("cached", ROUND, rounds), ("durable", DURABLE, durable_rounds)):
            for turn in range(number + 1):
                for way in [*ways] if turn % 2 else [*reversed(ways)]:
                    case.room[:] = 0
                    took = ways[way](case)
                    assert world.agree(np.array_equal(case.room, reads.data)), f"{way} reads other bytes than were written"
                    if world.rank == 0:
                        checksums.add(sha256(case.path.read_bytes()).hexdigest())
                    if turn:  # the first round does not count
                        times[what].setdefault(way, []).append(took)
        found[name] = {"bytes": size, "writes": (grid[0] - 1) * (grid[1] - 1), "checksums": sorted(checksums), **times}
    return found


if __name__ == "__main__":
    here = open_world()
    told = measure(here, Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
    if here.rank == 0:
        print(json.dumps(told), flush=True)
    here.close()
