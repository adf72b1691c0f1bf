"""The processor and its memory measured: streams, random reads, arithmetic, functions; on one core, then on all; a model beside them.

Streams go through arrays far larger than the largest cache, a piece a block, and come back to a piece when all others were touched.
"""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from steppe.errors import Mistake
from steppe.measure.arithmetic import DEPTH, FUNCTIONS, NUMBERS, loop_of, multiply_add_of
from steppe.measure.clock import Ticks, read_ticks
from steppe.measure.cores import Cores
from steppe.measure.document import Document, Measured, Roof
from steppe.measure.family import Floats
from steppe.measure.machine import describe_machine, largest_cache, memory
from steppe.measure.processor_loops import LINE, add, chase, copy, gather, ring, scale, triad
from steppe.measure.series import series_of, take_blocks
from steppe.measure.system import addresses, ticks

MIB = 1 << 20
TIMES, QUICK_TIMES = 4, 2  # the largest cache
SMALLEST, DEFAULT_CACHE = 32 * MIB, 64 * MIB  # bytes of an array at least; of the cache where the system does not say
SHARE = 0.5  # of the memory that is free, at most, for three arrays
PIECE = 1 << 20  # numbers of a stream in a block
STEPS, READS = 20_000, 500_000  # of a block: reads that wait for each other, and that do not
SWEEPS, CALLS = 20_000, 20  # how often a block goes over numbers that are multiplied, and over those of functions
STREAMS = {"copy": (copy, 2), "scale": (scale, 2), "add": (add, 3), "triad": (triad, 3)}  # and the numbers that are moved
PRECISION = 0.02
BUDGET, QUICK_BUDGET = 3.0, 0.6  # [s] of a series
REALS = (np.float64, np.float32)


class Cell(NamedTuple):
    """What a model does: cells a second, and for each the bytes that go to and from memory and the operations on numbers of a type."""

    rate: float
    bytes: float
    operations: float
    real: str


class Processor:
    """Arrays and threads. Memory is touched first by the thread that uses it."""

    def __init__(self, quick: bool) -> None:
        self._budget, self._times = (QUICK_BUDGET, QUICK_TIMES) if quick else (BUDGET, TIMES)
        self.warnings: list[str] = []
        self.length = self._length()
        differences, moment = np.empty(100_000), np.zeros(2, np.int64)
        ticks(addresses(), moment, np.int64(moment.ctypes.data), differences)
        self.ticks: Ticks = read_ticks(differences)

    def _length(self) -> int:
        """Bytes of an array."""
        cache, room = largest_cache() or DEFAULT_CACHE, int(SHARE * memory("MemAvailable") / len("abc"))
        wanted = max(SMALLEST, self._times * cache)
        if wanted > room > 0:
            self.warnings.append(
                f"Arrays of {room / MIB:.0f} MiB are {room / cache:.1f} times the largest cache, not {self._times}: there is no more "
                "memory. Streams may be too fast."
            )
            return max(SMALLEST, room)
        return wanted

    def _take(self, cores: Cores, works: Sequence[Callable[[], object]]) -> tuple[Floats, bool]:
        cores.time(works)  # loads or compiles, touches
        return take_blocks(lambda _wanted: np.array([cores.time(works)]), PRECISION, self._budget)

    def streams(self, cores: Cores, title: str) -> list[Measured]:
        """Copy, scale, add and triad, each core with arrays of its own."""
        each = max(2 * PIECE, self.length // 8 // cores.size)
        held: list[Any] = [None] * cores.size

        def touch(number: int) -> None:
            held[number] = [np.full(each, 1.0 + i) for i in range(3)]

        cores.time([partial(touch, number) for number in range(cores.size)])
        found = []
        for name, (loop, moved) in STREAMS.items():
            turns = [_Turn(loop, arrays, each) for arrays in held]
            times, converged = self._take(cores, turns)
            found.append(series_of("memory", name, title, 8 * moved * PIECE * cores.size, times, 1, converged))
        return found

    def random_reads(self, cores: Cores, title: str) -> list[Measured]:
        """Reads that wait for each other, and that do not, of lines in no order; all cores read the same memory."""
        lines = 1 << int(np.log2(self.length // (8 * LINE)))
        links = np.zeros((lines, LINE), np.int64)
        ring(links, 1)
        starts = np.random.default_rng(2).integers(0, lines, cores.size)
        found = []
        for name, loop, count in (("random reads, each after the last", chase, STEPS), ("random reads, independent", gather, READS)):
            state = starts.copy()

            def read(number: int, loop: Any = loop, count: int = count, state: Any = state) -> None:
                state[number] = loop(links, state[number], count)

            times, converged = self._take(cores, [partial(read, number) for number in range(cores.size)])
            found.append(series_of("memory", name, title, 8, times / count, count, converged, work=cores.size, unit="reads"))
        return found

    def arithmetic(self, cores: Cores, title: str) -> list[Measured]:
        """Multiplications with additions on numbers that stay in the nearest cache."""
        found = []
        for real in REALS:
            made = [multiply_add_of(real) for _ in range(cores.size)]
            works = [partial(run, SWEEPS) for run, _ in made]
            times, converged = self._take(cores, works)
            work = 2.0 * DEPTH * made[0][1].size * SWEEPS * cores.size
            name = f"multiply-add, {np.dtype(real).name}"
            found.append(series_of("arithmetic", name, title, 0, times, 1, converged, work=work, unit="flop"))
        return found

    def functions(self, cores: Cores, title: str) -> list[Measured]:
        """The functions that models' equations are made of."""
        found = []
        for name in FUNCTIONS:
            for real in REALS:
                loops = [loop_of(name, real) for _ in range(cores.size)]
                times, converged = self._take(cores, [partial(loop, CALLS) for loop in loops])
                work, series = float(NUMBERS * CALLS * cores.size), f"{name}, {np.dtype(real).name}"
                found.append(series_of("functions", series, title, 0, times, 1, converged, work=work, unit="values"))
        return found


class _Turn:
    """A stream's next piece, at each call."""

    def __init__(self, loop: Callable[..., None], arrays: Sequence[Floats], size: int) -> None:
        self._f, self._loop, self._arrays, self._pieces, self._next = addresses(), loop, arrays, size // PIECE, 0

    def __call__(self) -> None:
        part = slice(self._next * PIECE, (self._next + 1) * PIECE)
        self._loop(self._f, *(array[part] for array in self._arrays))
        self._next = (self._next + 1) % self._pieces


def measure_processor(cells: Cell | None, quick: bool, tell: Callable[[float], None], stop: Callable[[], bool]) -> Document:
    """Measures on one core and on all that this process may use. cells: a model to set beside; tell: gets the share that is done."""
    machine = describe_machine()
    allowed: list[int] = machine["allowed"]  # type: ignore[assignment]
    processor = Processor(quick)
    counts = sorted({1, len(allowed)})
    series: list[Measured] = []
    complete, done = True, 0
    for count in counts:
        title = f"{count} core{'s' if count > 1 else ''}"
        with Cores(allowed[:count]) as cores:
            for part in (processor.streams, processor.random_reads, processor.arithmetic, processor.functions):
                if stop():
                    complete = False
                    break
                series += part(cores, title)
                done += 1
                tell(done / (4 * len(counts)))
    return Document(
        made=datetime.now(UTC).isoformat(timespec="seconds"),
        complete=complete,
        machine={**machine, "array": processor.length},
        clock={"resolution": processor.ticks.resolution, "cost": processor.ticks.cost, "away": processor.ticks.away},
        warnings=processor.warnings,
        series=series,
        roofs=[roof_of(cells, series)] if cells and complete else [],
    )


def check_cell(rate: float | None, size: float | None, operations: float | None, real: str) -> Cell | None:
    """What a model does, from options that go together.

    Raises
    ------
    Mistake
        Some are given and not all, or one is not above 0.
    """
    given = {"--cells": rate, "--cell-bytes": size, "--cell-flops": operations}
    missing = [name for name, value in given.items() if value is None]
    if len(missing) == len(given):
        return None
    if missing or rate is None or size is None or operations is None:
        raise Mistake(
            f"{' and '.join(missing)} must be given, too: a rate is set beside memory and arithmetic by what a cell takes of both."
        )
    wrong = [name for name, value in given.items() if value is not None and not (0.0 < value < np.inf)]
    if wrong:
        raise Mistake(f"{wrong[0]} {given[wrong[0]]:g} must be above 0.")
    return Cell(rate, size, operations, real)


def roof_of(cell: Cell, series: Sequence[Measured]) -> Roof:
    """A model's rate beside what triad and multiply-add allow on the most cores that were measured."""
    triads = [one.bytes / one.statistics.median for one in series if one.operation == "triad"]
    sums = [one.work / one.statistics.median for one in series if one.operation == f"multiply-add, {cell.real}"]
    return Roof(
        rate=cell.rate, bytes=cell.bytes, flops=cell.operations, memory=triads[-1] / cell.bytes, arithmetic=sums[-1] / cell.operations
    )
