"""Files of many ranks: methods to read common data and to write the data of each rank, for p = 1, 2, 4 ... ranks.

Common data are read by each rank alone, by all together (MPI-IO), or by one rank that broadcasts them (ADVISE, 1995, table 23). A sample is
the time until the last rank has the whole file. Requests are bounded. Cold means that no page of the file is in memory, which is verified
on every host. The bytes that a method reads or writes are compared with the file before it is timed.
"""

import os
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from steppe.array_types import Bytes, Floats, Integers
from steppe.comm.raw import ADDRESS, page_buffer, pointers
from steppe.comm.team import Team
from steppe.errors import Failure
from steppe.measure.files.disk import COLD, put_out, resident_pages
from steppe.measure.records.measured import Measured, SeriesName, series_of
from steppe.measure.timing.rounds import OF_RANKS
from steppe.measure.timing.system import read_and_broadcast, read_blocks, steady_clock

ALONE, TOGETHER, BROADCAST = "each reads it all", "all read together", "one reads and broadcasts"
PRIVATE, SHARED = "a file each", "one file"
FEWEST, MOST = 2, 30  # samples of a pass
MIX = 0x9E3779B97F4A7C15  # makes a number of a place that no other place has


def pattern(place: int, size: int) -> Bytes:
    """The bytes at `place` of every file here; place and size are multiples of 8."""
    at = np.arange(place // 8, (place + size) // 8, dtype=np.uint64)
    return (at * np.uint64(MIX)).view(np.uint8)


def samples(team: Team, take: Callable[[], tuple[float, ...]], budget: float) -> Floats:
    """Times (times of a sample, samples) [s], each the longest over the ranks; rank 0 decides when there are enough."""
    found = [take() for _ in range(FEWEST)]
    end = time.monotonic() + budget
    while team.raw.told(float(len(found) < MOST and time.monotonic() < end)):
        found.append(take())
    return np.array(found).T


def agree(team: Team, problem: str, *times: float) -> tuple[float, ...]:
    """The longest of each of the times over all ranks.

    Raises
    ------
    Failure
        Some rank has a problem; the text is that of the first one. On every rank.
    """
    wrong, *longest = team.longest(float(bool(problem)), *times)
    if wrong:
        raise Failure(next(text for text in team.raw.texts(problem) if text))
    return tuple(longest)


class Ranked:
    """A file that some ranks read, and files that they write. All ranks make one with the same arguments.

    size: of the file; request: bytes read or written at once; both are multiples of 8.
    """

    def __init__(self, team: Team, folder: Path, size: int, request: int, budget: float) -> None:
        self._team, self._folder, self._size, self._request, self._budget = team, folder, size, request, budget
        self._clock = steady_clock()
        self._buffer = page_buffer(request)
        self._memory = np.int64(pointers([self._buffer])[0])
        self._checked: set[str] = set()
        self.path = folder / "common"

    def prepare(self) -> int:
        """Rank 0 writes the file; returns how many of its pages cannot be removed from memory on some host."""
        if self._team.rank == 0:
            with self.path.open("wb") as file:
                for place in range(0, self._size, self._request):
                    file.write(pattern(place, min(self._request, self._size - place)).data)
                os.fsync(file.fileno())
        self._team.raw.barrier()
        return self._forget()

    def _forget(self) -> int:
        """Removes the file from memory; returns the pages that stay, the most of any rank."""
        with self.path.open("r+b") as file:
            put_out(file.fileno(), self._size)
            self._team.raw.barrier()
            return int(self._team.longest(resident_pages(file.fileno(), self._size))[0])

    def read(self, state: str, method: str) -> list[Measured]:
        """Times in which all ranks get the whole file."""
        places = np.arange(0, self._size, self._request, dtype=np.int64)
        sizes = np.minimum(self._request, self._size - places)
        file = os.open(self.path, os.O_RDONLY)
        common = self._team.open(self.path) if method == TOGETHER else None
        reads, raw, source = method == ALONE or self._team.rank == 0, self._team.raw, (np.int64(file), self._memory)

        def bring(part: slice) -> int:
            if common is not None:
                return sum(not common.read(int(at), self._buffer[:size]) for at, size in zip(places[part], sizes[part], strict=True))
            if method == ALONE:
                return int(read_blocks(self._clock, source, (places[part], sizes[part]), np.empty(1), places[part].size, 0.0))
            broadcast = raw.addresses[ADDRESS["Bcast"]], np.int64(raw.byte), np.int64(raw.comm)
            return int(read_and_broadcast(self._clock[0], broadcast, reads, source, (places[part], sizes[part])))

        def take() -> tuple[float, ...]:
            if state == COLD and (left := self._forget()):
                raise Failure(f"{left} pages of a file that was put out of memory are in memory again: something else reads it.")
            raw.barrier()
            begin = raw.now()
            bad = bring(slice(None))
            seconds = raw.now() - begin
            return agree(self._team, f"{method}: {bad} requests did not read what they were to read." if bad else "", seconds)

        try:
            if method not in self._checked:
                self._checked.add(method)
                self._check(method, places, sizes, bring)
            (times,) = samples(self._team, take, self._budget)
        finally:
            os.close(file)
            if common is not None:
                common.close()
        return [self._series(f"read, {state}, by {self._request} bytes", method, times)]

    def _check(self, method: str, places: Integers, sizes: Integers, bring: Callable[[slice], int]) -> None:
        wrong = 0
        for i in range(places.size):
            self._buffer[:] = 0
            bring(slice(i, i + 1))
            wrong += not np.array_equal(self._buffer[: sizes[i]], pattern(int(places[i]), int(sizes[i])))
        agree(self._team, f"{method}: {wrong} of {places.size} requests did not bring what stands in the file." if wrong else "")

    def write(self, method: str) -> list[Measured]:
        """Times until each rank's share of the file is written, and until it is on the disk."""
        team, share = self._team, self._size // self._team.size // 8 * 8
        base = share * team.rank
        places = np.arange(0, share, self._request, dtype=np.int64)
        sizes = np.minimum(self._request, share - places)
        held = page_buffer(max(share, 8))
        held[:share] = pattern(base, share)
        path = self._folder / (f"part-{team.rank}" if method == PRIVATE else "parts")
        file = os.open(path, os.O_RDWR | os.O_CREAT) if method == PRIVATE else -1
        common = team.open(path, write=True) if method == SHARED else None

        def take() -> tuple[float, ...]:
            if method == PRIVATE or team.rank == 0:
                os.truncate(path, 0)
            team.raw.barrier()
            begin, bad = team.raw.now(), 0
            for at, size in zip(places.tolist(), sizes.tolist(), strict=True):
                part = held[at : at + size]
                if common is not None:
                    common.write(base + at, part)
                else:
                    bad += os.pwrite(file, part.data, at) != size
            written = team.raw.now() - begin
            if common is not None:
                common.sync()
            else:
                os.fsync(file)
            durable = team.raw.now() - begin
            text = f"{method}: {bad} requests were not written whole: the disk is full or fails." if bad else ""
            return agree(team, text, written, durable)

        try:
            times = samples(team, take, self._budget)
            with path.open("rb") as again:
                again.seek(0 if method == PRIVATE else base)
                right = again.read(share) == held[:share].tobytes()
            agree(team, "" if right else f'{method}: "{path.name}" does not hold what was written.')
        finally:
            if common is not None:
                common.close()
            if file >= 0:
                os.close(file)
        names = ("into memory", "durable")
        return [self._series(f"write, {name}, by {self._request} bytes", method, one) for name, one in zip(names, times, strict=True)]

    def _series(self, operation: str, method: str, times: Floats) -> Measured:
        return series_of(SeriesName(OF_RANKS, operation, method, p=self._team.size, bytes=self._size), times, 1, False)
