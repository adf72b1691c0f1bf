"""Three ways in which ranks write the output of a step (Blom 1998): the delay of the computation, and the time until it is on the disk.

    one gathers     all ranks send their part to rank 0, which orders the parts and writes one file; all wait for it
    a file each     every rank writes its part to its own file
    a writer apart  the last rank does not compute: it receives, orders and writes the parts while the others compute

The third way differs from the paper's, in which the system wrote behind each processor (BUFFER OUT). The output is that of the paper:
 66 concentrations, 32 layers, 64 x 64 columns, that is 4 x 32^3 x 66 numbers of 4 bytes (REAL*4), cut into rows of columns. Each
place has its own number, by which the files are verified.
"""

import os
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import numpy as np

from steppe.array_types import Floats, Singles
from steppe.comm.team import SendHandle, Team
from steppe.measure.files.ranked import PRIVATE, agree, samples
from steppe.measure.records.measured import Measured, SeriesName, series_of
from steppe.measure.timing.rounds import OF_RANKS

LAYERS, ROWS, COLUMNS = 32, 64, 64
FIELDS, QUICK_FIELDS = 66, 11
GATHERED, APART = "one gathers", "a writer apart"
SEEN, DURABLE = "output, seen by the computation", "output, until durable"
SLICES = 40  # of the computation; after each a call lets messages proceed
LEAST = 0.02  # [s] of the computation
Fields = Singles


def volume(fields: int) -> int:
    """Bytes of the output of a step."""
    return 4 * fields * LAYERS * ROWS * COLUMNS


def cuts(ranks: int) -> list[int]:
    """First rows of all ranks, and the end."""
    return [ROWS * rank // ranks for rank in range(ranks + 1)]


def part_of(fields: int, low: int, high: int) -> Fields:
    """Rows from `low` to before `high` (fields, layers, rows, columns): how many numbers of the whole stand before each."""
    at = np.arange(fields * LAYERS * ROWS * COLUMNS, dtype=np.float32).reshape(fields, LAYERS, ROWS, COLUMNS)
    return np.ascontiguousarray(at[:, :, low:high])


class OutputTimes:
    """The ranks and their parts of the output. All ranks make one with the same arguments, and call `measure` for the same ways."""

    def __init__(self, team: Team, folder: Path, fields: int, budget: float) -> None:
        self._team, self._folder, self._fields, self._budget = team, folder, fields, budget
        self._durable = LEAST  # [s] until the file of one rank was durable: the computation that hides it is as long

    def measure(self, way: str) -> list[Measured]:
        """Both times of one way; no series where one rank cannot spare a writer."""
        if way == APART and self._team.size < 2:
            return []
        take, path = {GATHERED: self._gathered, PRIVATE: self._private, APART: self._apart}[way]()
        times = samples(self._team, take, self._budget)
        self._check(way, path)
        if way == GATHERED:
            self._durable = max(LEAST, float(np.median(times[1])))
        return [
            series_of(SeriesName(OF_RANKS, name, way, p=self._team.size, bytes=volume(self._fields)), one, 1, False)
            for name, one in zip((SEEN, DURABLE), times, strict=True)
        ]

    def _gathered(self) -> tuple[Callable[[], tuple[float, ...]], Path]:
        team, path, spans = self._team, self._folder / "gathered", list(pairwise(cuts(self._team.size)))
        mine = part_of(self._fields, *spans[team.rank])
        lengths = [self._fields * LAYERS * COLUMNS * (high - low) for low, high in spans]
        whole = np.zeros((self._fields, LAYERS, ROWS, COLUMNS), np.float32) if team.rank == 0 else None

        def take() -> tuple[float, ...]:
            if team.rank == 0:
                path.write_bytes(b"")
            begin = self._begin()
            parts = team.gather(mine, lengths)
            if whole is not None and parts is not None:
                for (low, high), part in zip(spans, np.split(parts, np.cumsum(lengths)[:-1]), strict=True):
                    whole[:, :, low:high] = part.reshape(self._fields, LAYERS, high - low, COLUMNS)
            return self._written(begin, path, whole)

        return take, path

    def _private(self) -> tuple[Callable[[], tuple[float, ...]], Path]:
        ends, rank = cuts(self._team.size), self._team.rank
        mine, path = part_of(self._fields, ends[rank], ends[rank + 1]), self._folder / f"own-{rank}"

        def take() -> tuple[float, ...]:
            path.write_bytes(b"")
            return self._written(self._begin(), path, mine)

        return take, path

    def _apart(self) -> tuple[Callable[[], tuple[float, ...]], Path]:
        """The last rank writes. The others copy their part, which the next step changes, and send the copy while they compute."""
        team, writer = self._team, self._team.size - 1
        path, spans = self._folder / "apart", list(pairwise(cuts(writer)))
        mine = part_of(self._fields, *spans[team.rank]) if team.rank < writer else np.zeros(0, np.float32)
        copy, state = np.zeros_like(mine), np.ones(mine.size)
        whole = np.zeros((self._fields, LAYERS, ROWS, COLUMNS), np.float32) if team.rank == writer else None
        parts = [] if whole is None else [np.zeros_like(whole[:, :, low:high]) for low, high in spans]
        sweeps = self._sweeps(state, team.raw.told(self._durable))

        def take() -> tuple[float, ...]:
            if team.rank == writer:
                path.write_bytes(b"")
            begin = self._begin()
            if whole is None:
                _compute(state, sweeps, None)
            alone = team.raw.now() - begin
            begin = self._begin()
            if whole is None:
                copy[:] = mine
                sent = team.begin_send(copy, writer)
                begun = team.raw.now() - begin
                _compute(state, sweeps, sent)
                sent.Wait()
                more = team.raw.now() - begin - alone
                return agree(team, "", max(begun, more), 0.0)
            for rank, ((low, high), part) in enumerate(zip(spans, parts, strict=True)):
                team.receive(part, rank)
                whole[:, :, low:high] = part
            text = _store(path, whole, lambda: None)
            return agree(team, text, 0.0, team.raw.now() - begin)

        return take, path

    def _sweeps(self, state: Floats, seconds: float) -> int:
        """Sweeps over the numbers of a rank in `seconds`; equal on every rank."""
        begin, count = time.monotonic(), 0
        while time.monotonic() - begin < LEAST:
            _sweep(state)
            count += 1
        return max(1, int(self._team.raw.together(np.array([count * seconds / (time.monotonic() - begin)])).min() / SLICES)) * SLICES

    def _begin(self) -> float:
        self._team.raw.barrier()
        return self._team.raw.now()

    def _written(self, begin: float, path: Path, array: Fields | None) -> tuple[float, ...]:
        """Writes the array of this rank, if any; returns the times until it is written, and until it is on the disk."""
        moments: list[float] = []
        text = "" if array is None else _store(path, array, lambda: moments.append(self._team.raw.now() - begin))
        end = self._team.raw.now() - begin
        return agree(self._team, text, moments[0] if moments else end, end)

    def _check(self, way: str, path: Path) -> None:
        """Compares the files with their expected bytes."""
        ends, rank = cuts(self._team.size), self._team.rank
        rows = (ends[rank], ends[rank + 1]) if way == PRIVATE else (0, ROWS)
        right = (way != PRIVATE and rank > 0) or path.read_bytes() == part_of(self._fields, *rows).tobytes()
        agree(self._team, "" if right else f'{way}: "{path.name}" does not hold what was written.')


def _sweep(state: Floats) -> None:
    state *= 0.5
    state += 0.5


def _compute(state: Floats, sweeps: int, sent: SendHandle | None) -> None:
    for number in range(sweeps):
        _sweep(state)
        if sent is not None and number % max(1, sweeps // SLICES) == 0:
            sent.Test()


def _store(path: Path, array: Fields, written: Callable[[], None]) -> str:
    """Writes an array and waits until it is on the disk; returns the error as text, empty if there is none."""
    try:
        with path.open("r+b") as file:
            file.write(array.data)
            file.flush()
            written()
            os.fsync(file.fileno())
    except OSError as error:
        return f'"{path.name}" cannot be written: {error.strerror or error}.'
    return ""
