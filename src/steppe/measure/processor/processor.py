"""The processor and its memory measured: streams, random reads, arithmetic, functions; on one core, then on all; a model beside them.

Streams go through arrays far larger than the largest cache, a piece a block, and return to a piece after all others.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from itertools import cycle
from typing import NamedTuple

import numpy as np

from steppe.array_types import Floats, Integers
from steppe.comm import host_memory
from steppe.errors import Mistake
from steppe.kernels.primitives import Precision
from steppe.measure.processor.arithmetic import DEPTH, FUNCTIONS, NUMBERS, loop_of, multiply_add_of
from steppe.measure.processor.cores import Cores
from steppe.measure.processor.streams import LINE, add, chase, copy, gather, ring, scale, triad
from steppe.measure.records.document import Document, Roof, made_now
from steppe.measure.records.measured import Measured, SeriesName, series_of
from steppe.measure.timing.machine import Others, describe_machine, largest_cache
from steppe.measure.timing.rounds import ROUNDS, Tell, measure_rounds, take_blocks
from steppe.measure.timing.system import addresses, steady_ticks

MIB = 1 << 20
TIMES, QUICK_TIMES = 4, 1  # the largest cache
SMALLEST, DEFAULT_CACHE = 32 * MIB, 64 * MIB  # bytes of an array at least; of the cache where the system does not say
ARRAYS = 3  # of a stream
SHARE = 0.25  # of the free memory, at most, for them; those of one core and of all cores exist together
PIECE = 1 << 20  # numbers of a stream in a block
STEPS, READS = 20_000, 500_000  # of a block: dependent reads, independent reads
SWEEPS, CALLS = 20_000, 20  # of a block: over numbers that are multiplied, over arguments of functions
STREAMS = {"copy": (copy, 2), "scale": (scale, 2), "add": (add, 3), "triad": (triad, 3)}  # loops, and numbers moved for each element
PRECISION = 0.02
BUDGET, QUICK_BUDGET = 3.0, 0.6  # [s] of a series
REALS: tuple[Precision, ...] = (np.float64, np.float32)
Task = Callable[[], list[Measured]]


class Cell(NamedTuple):
    """A model: cells a second, and for each cell the bytes to and from memory and the operations on numbers of type `real`."""

    rate: float
    bytes: float
    operations: float
    real: str


class Processor:
    """The arrays and tasks. The thread that uses memory touches it first."""

    def __init__(self, quick: bool) -> None:
        budget, self._times = (QUICK_BUDGET, QUICK_TIMES) if quick else (BUDGET, TIMES)
        self._budget = budget / ROUNDS
        self.warnings: list[str] = []
        self.length = self._length()
        self.ticks = steady_ticks()
        self._links = np.zeros((1 << int(np.log2(self.length // (8 * LINE))), LINE), np.int64)
        ring(self._links, 1)

    def _length(self) -> int:
        """Bytes of an array."""
        cache, room = largest_cache() or DEFAULT_CACHE, int(SHARE * host_memory("MemAvailable") / ARRAYS)
        wanted = max(SMALLEST, self._times * cache)
        if wanted > room > 0:
            self.warnings.append(
                f"Arrays of {room / MIB:.0f} MiB are {room / cache:.1f} times the largest cache, not {self._times}: there is no more "
                "memory. Streams may be too fast."
            )
            return max(SMALLEST, room)
        return wanted

    def _task(self, cores: Cores, works: Sequence[Callable[[], object]], series: Callable[..., Measured], count: int = 1) -> Task:
        """A task that times works on all cores together; a block has `count` operations of the series."""

        def run() -> list[Measured]:
            cores.time(works)  # compiles the loops and touches the memory
            times, known = take_blocks(lambda _wanted: np.array([cores.time(works)]), PRECISION, self._budget)
            return [series(times / count, count, known)]

        return run

    def tasks(self, cores: Cores) -> list[Task]:
        """All tasks on these cores."""
        title = f"{cores.size} core{'s' if cores.size > 1 else ''}"
        parts = (self._streams, self._random_reads, self._arithmetic, self._functions)
        return [task for part in parts for task in part(cores, title)]

    def _streams(self, cores: Cores, title: str) -> Iterator[Task]:
        """Copy, scale, add and triad, each core with arrays of its own."""
        each = max(2 * PIECE, self.length // 8 // cores.size)
        held: list[list[Floats]] = [[]] * cores.size

        def touch(number: int) -> None:
            held[number] = [np.full(each, 1.0 + i) for i in range(ARRAYS)]

        cores.time([partial(touch, number) for number in range(cores.size)])
        for name, (loop, moved) in STREAMS.items():
            works = [_in_turn(loop, arrays, each) for arrays in held]
            yield self._task(cores, works, partial(series_of, SeriesName("memory", name, title, bytes=8 * moved * PIECE * cores.size)))

    def _random_reads(self, cores: Cores, title: str) -> Iterator[Task]:
        """Dependent and independent reads of lines in random order; all cores read the same memory."""
        starts = np.random.default_rng(2).integers(0, len(self._links), cores.size)
        for name, loop, count in (("random reads, each after the last", chase, STEPS), ("random reads, independent", gather, READS)):
            state = starts.copy()

            def read(number: int, loop: Callable[..., int] = loop, count: int = count, state: Integers = state) -> None:
                state[number] = loop(self._links, state[number], count)

            works = [partial(read, number) for number in range(cores.size)]
            series = partial(series_of, SeriesName("memory", name, title, bytes=8), work=float(cores.size), unit="reads")
            yield self._task(cores, works, series, count)

    def _arithmetic(self, cores: Cores, title: str) -> Iterator[Task]:
        """Multiplications with additions on numbers that stay in the nearest cache."""
        for real in REALS:
            made = [multiply_add_of(real) for _ in range(cores.size)]
            work = 2.0 * DEPTH * made[0][1].size * SWEEPS * cores.size
            series = partial(series_of, SeriesName("arithmetic", f"multiply-add, {np.dtype(real).name}", title), work=work, unit="flop")
            yield self._task(cores, [partial(run, SWEEPS) for run, _ in made], series)

    def _functions(self, cores: Cores, title: str) -> Iterator[Task]:
        """Functions that the equations of models use."""
        work = float(NUMBERS * CALLS * cores.size)
        for name in FUNCTIONS:
            for real in REALS:
                works = [partial(loop_of(name, real), CALLS) for _ in range(cores.size)]
                series = partial(series_of, SeriesName("functions", f"{name}, {np.dtype(real).name}", title), work=work, unit="values")
                yield self._task(cores, works, series)


def _in_turn(loop: Callable[..., None], arrays: Sequence[Floats], size: int) -> Callable[[], None]:
    """A stream through the next piece of its arrays, at each call."""
    f, places = addresses(), cycle(range(0, size - PIECE + 1, PIECE))

    def stream() -> None:
        place = next(places)
        loop(f, *(array[place : place + PIECE] for array in arrays))

    return stream


def measure_processor(cells: Cell | None, quick: bool, tell: Tell, stop: Callable[[], bool], passes: int | None = None) -> Document:
    """Measures on one core and on all that this process may use.

    cells: a model for comparison; tell: shows the progress; stop: called between series; passes: over all series, `ROUNDS` when None.
    """
    machine = describe_machine()
    allowed: list[int] = machine["allowed"]  # type: ignore[assignment]
    processor, others = Processor(quick), Others()
    with ExitStack() as stack:
        counts = sorted({1, len(allowed)})
        tasks = [task for count in counts for task in processor.tasks(stack.enter_context(Cores(allowed[:count])))]
        series, complete = measure_rounds(tasks, PRECISION, tell, stop, passes or ROUNDS)
        taken = others.share()  # while the threads are there
    return Document(
        made=made_now(),
        complete=complete,
        machine={**machine, "array": processor.length},
        clock=processor.ticks.kept(taken),
        warnings=processor.warnings,
        series=series,
        roofs=[roof_of(cells, series)] if cells and complete else [],
    )


def check_cell(rate: float | None, size: float | None, operations: float | None, real: str) -> Cell | None:
    """The model of four options, None where none of them is given.

    Raises
    ------
    Mistake
        Some of them are missing, or one is not above 0.
    """
    given = {"--cells": rate, "--cell-bytes": size, "--cell-flops": operations}
    missing = [name for name, value in given.items() if value is None]
    if rate is None and size is None and operations is None:
        return None
    if rate is None or size is None or operations is None:
        raise Mistake(
            f"{' and '.join(missing)} must be given, too: a rate is set beside memory and arithmetic by what a cell takes of both."
        )
    for name, value in given.items():
        if value is not None and not 0.0 < value < np.inf:
            raise Mistake(f"{name} {value:g} must be above 0.")
    return Cell(rate, size, operations, real)


def roof_of(cell: Cell, series: Sequence[Measured]) -> Roof:
    """A model's rate beside the rates that triad and multiply-add allow on the most cores that were measured."""
    triads = [one.bytes / one.statistics.median for one in series if one.operation == "triad"]
    sums = [one.work / one.statistics.median for one in series if one.operation == f"multiply-add, {cell.real}"]
    return Roof(
        rate=cell.rate, bytes=cell.bytes, flops=cell.operations, memory=triads[-1] / cell.bytes, arithmetic=sums[-1] / cell.operations
    )
