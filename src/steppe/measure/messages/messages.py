"""Messages between ranks: buffers, loops, numbers of operations and blocks, series of times.

A compiled loop times every block on each rank. The time of a collective operation is the longest over the ranks; that of a message is rank
0's, which sends first. Rank 0 alone decides on the number of operations and blocks, and sends it to all: ranks with different counts would
wait for each other for ever. Before each series the time is measured in which a rank was not running. Collective operations begin after a
barrier, or by the clock (`windows.py`).
"""

import math
import time
from collections.abc import Callable

import msgspec
import numpy as np

from steppe.array_types import Floats
from steppe.comm.raw import ADDRESS, Raw, huge_buffer, page_buffer, pointers
from steppe.measure.messages import plan
from steppe.measure.messages.loops import collective, collective_at, empty, exchange, of_all, ping_pong, port_of, ticks, window, window_both
from steppe.measure.messages.objects import object_loop
from steppe.measure.messages.offsets import Clocks, crooked_clocks
from steppe.measure.messages.onesided import OneSided
from steppe.measure.messages.plan import Task, is_dear
from steppe.measure.messages.windows import FEWEST, Windows
from steppe.measure.records.measured import Measured, SeriesName, Start, series_of
from steppe.measure.records.sample import FEW, FIRST_LOOK, MOST_BLOCKS, is_enough
from steppe.measure.timing.rounds import ROUNDS
from steppe.measure.timing.ticks import Pace, StepWatch, Ticks, ranks_away, read_ticks

RAW = getattr(time, "CLOCK_MONOTONIC_RAW", time.CLOCK_MONOTONIC)
TICKS = 100_000
WARM_UP, WARMING = 10, 0.1  # most blocks that do not count; share of the time of a pass for those after the first
MOST = MOST_BLOCKS // ROUNDS  # of a pass
LONG = 100.0  # a block lasts so many times the cost of reading the clock
BEFORE = 3  # messages before the later one that a first one is compared with
Int = np.int64


class Messages:
    """The ranks with buffers and a clock of known cost. All ranks make one, and call `measure` for the same tasks.

    precision: of the median, at which a pass of a series ends; budget [s]: longest time of a pass; start: of collective operations.
    """

    def __init__(self, raw: Raw, precision: float, budget: float, largest: int, start: Start = "barrier") -> None:
        self._raw, self._precision, self._budget = raw, precision, budget
        self._buffers = [page_buffer(largest) for _ in range(2)]
        self._pointers = np.array(pointers(self._buffers), Int)
        self._huge = [huge_buffer(largest) for _ in range(2)]
        self._on_huge = np.array(pointers([buffer for buffer in self._huge if buffer is not None]), Int)
        self.has_huge = bool(raw.together(np.array([float(self._on_huge.size)])).min() == 2.0)  # on every rank
        self._statuses = np.zeros(2 * plan.WINDOW * raw.status_size, np.uint8)
        self._held = np.zeros(2 * plan.WINDOW * raw.request_size, np.uint8)
        self._requests = pointers([self._held])[0] + raw.request_size * np.arange(2 * plan.WINDOW, dtype=Int)
        self._work: dict[tuple[str, int, int], float] = {}  # operation, p, bytes -> [s] of work that hides it
        self._blocks: dict[Task, int] = {}  # operations in a block
        self._parts: dict[tuple[int, ...], Raw | None] = {tuple(range(raw.size)): raw}
        self._largest = largest
        self._sided: OneSided | None = None
        self._away: list[float] = []  # shares of the time in which this rank was not running
        self._watch = StepWatch(time.time, time.monotonic)
        self.pace = Pace(raw.now, lambda: time.clock_gettime(RAW))
        self.ticks = self._look()
        times = np.empty(100)
        empty(raw.addresses, times, 1_000, self.ticks.cost)
        self.overhead = float(np.median(times))  # [s] an operation, of the loop itself
        self.clocks = Clocks(raw, self.ticks.resolution)
        self.clocks.burst()
        self._windows = Windows(self.clocks, raw.size) if start == "window" else None

    def _look(self) -> Ticks:
        differences = np.empty(TICKS)
        ticks(self._raw.addresses, differences)
        found = read_ticks(differences)
        self._away.append(found.away)
        return found

    def warnings(self) -> list[str]:
        """Warnings for the report; every rank calls it."""
        away = self._raw.together(np.array([self.away()]))[:, 0]
        clocks = self._raw.texts(" ".join(self._watch.words() + self.pace.words()))
        said = ranks_away(away.tolist()) + crooked_clocks(self.clocks.lines())
        said += self._windows.warnings() if self._windows is not None else []
        return said + [f"Rank {rank}: {text}" for rank, text in enumerate(clocks) if text]

    def away(self) -> float:
        """Share of the time in which this rank was not running."""
        return float(np.mean(self._away))

    def close(self) -> None:
        """Frees the windows of MPI; every rank calls it."""
        if self._sided is not None:
            self._sided.close()

    def measure(self, task: Task) -> Measured | None:
        """One pass of a series, on rank 0 and on every rank that took part; None on the others, and where ranks rarely began together.

        Raises
        ------
        Failure
            A call of MPI failed.
        """
        part = self.part(task)
        found = None if part is None else self._measured(task, part)
        if 0 in task.ranks:
            return found
        tells = part is not None and part.rank == 0 and found is not None
        texts = self._raw.texts(msgspec.json.encode(found).decode() if tells else "")
        return next((msgspec.json.decode(text, type=Measured) for text in texts if text), None)

    def part(self, task: Task) -> Raw | None:
        """The communicator of the ranks that take part; None on the others. All ranks call it."""
        ranks = tuple(task.ranks)
        if ranks not in self._parts:
            self._parts[ranks] = self._raw.of(ranks)
        return self._parts[ranks]

    def _measured(self, task: Task, part: Raw) -> Measured | None:
        if is_dear(task) and task in self._blocks:
            return None  # one pass is enough
        self._look()
        self._watch.look()
        before = self._warm_up(task, part)
        by_clock = self._windows if task.group == "collective" and not task.variant else None
        if task not in self._blocks:  # each pass has the same number of operations
            operation = max(1e-9, float(np.median(before)))
            self._blocks[task] = 1 if by_clock else int(part.told(max(1.0, math.ceil(LONG * self.ticks.cost / operation))))
        k = self._blocks[task]
        if by_clock is not None:
            called = part.addresses[ADDRESS[plan.COLLECTIVES[task.operation]]], self._arguments(task, part)
            # compiled now: otherwise the first common time would pass during the compilation
            collective_at(part.addresses, *called, 0.0, 0.0, *np.empty((2, 0)))
        begin = time.monotonic()
        end = begin + self._budget

        def take(blocks: int) -> Floats:
            if by_clock is None:
                return self._times(task, part, blocks, k)
            return by_clock.times(part, *called, blocks, float(before.min()), end, self.ticks.cost)

        times = take(FEW)
        while not (done := part.told(self._is_done(times, end, FEW if is_dear(task) else FIRST_LOOK))):
            # a block of ranks that wait for cores may take whole time slices: take only as many as there is time for
            room = (end - time.monotonic()) * times.size / (time.monotonic() - begin)
            blocks = int(part.told(float(np.clip(room, 1, times.size))))
            times = np.concatenate([times, take(blocks)])
        if by_clock:
            by_clock.found[f"{task.operation}, {task.bytes} bytes, {task.p} ranks"] |= times.size >= FEWEST
            if times.size < FEWEST:
                return None
        if task.variant in (plan.EXCHANGE, plan.NON_BLOCKING):
            self._work[task.operation, task.p, task.bytes] = float(np.median(times))
        return series_of(task.name("window" if by_clock else "barrier"), times, k, done < 2.0)

    def series(self, name: SeriesName, times: Floats, block: int) -> Measured:
        """The series of times (blocks,) [s] that were taken by another method."""
        return series_of(name, times, block, is_enough(times, self._precision))

    def _warm_up(self, task: Task, part: Raw) -> Floats:
        """Times of operations that do not count: one, and more if there is time."""
        begin = time.monotonic()
        first = self._times(task, part, 1, 1)
        room = WARMING * self._budget / (time.monotonic() - begin)
        more = 0 if is_dear(task) else int(part.told(float(np.clip(room, 0, WARM_UP - 1))))
        return np.concatenate([first, self._times(task, part, more, 1)]) if more else first

    def _is_done(self, times: Floats, end: float, look: int) -> float:
        """0: continue; 1: the median is known; 2: the time or the blocks are used up."""
        if is_enough(times, self._precision, look):
            return 1.0
        return 2.0 if times.size >= MOST or time.monotonic() > end else 0.0

    def _times(self, task: Task, part: Raw, blocks: int, k: int) -> Floats:
        each = self.block_times(task, part, blocks, k)
        return np.asarray(each.max(axis=0) if task.group == "collective" else each[0])

    def block_times(self, task: Task, part: Raw, blocks: int, k: int) -> Floats:
        """Seconds an operation (ranks, blocks) of `part`, in blocks of k operations; all ranks of it call it alike.

        Raises
        ------
        Failure
            A call of MPI failed.
        """
        times = np.empty(blocks)
        return of_all(part, times, self._loop(task, part)(times, k))

    def _loop(self, task: Task, part: Raw) -> Callable[[Floats, int], int]:
        f, n, cost, port = self._raw.addresses, Int(task.bytes), self.ticks.cost, port_of(part)
        status = Int(self._statuses.ctypes.data)
        work = self._work[task.operation, task.p, task.bytes] if task.variant in (plan.BEHIND, plan.NON_BLOCKING_BEHIND) else 0.0
        if task.group == "collective":
            function, arguments, request = plan.COLLECTIVES[task.operation], self._arguments(task, part), Int(0)
            if task.variant:
                function, request = f"I{function.lower()}", self._requests[0]
                arguments = *arguments, request
            operation = f[ADDRESS[function]], arguments, Int(part.comm)
            return lambda times, k: int(collective(f, operation, (request, status), work, times, k, cost))
        if task.group == "one-sided":
            self._sided = self._sided or OneSided(part, self._largest)
            return self._sided.loop(task, self._pointers[0], cost)
        if task.group == "Python objects":
            return object_loop(part, task)
        if task.variant.startswith((plan.FIRST, plan.LATER)):
            return _first_messages(part, task, cost)
        if task.variant in (plan.PING_PONG, plan.ACKNOWLEDGED):
            sizes = (n, n, Int(2)) if task.variant == plan.PING_PONG else (n, Int(0), Int(1))
            return lambda times, k: int(ping_pong(port, sizes, (self._pointers, status), times, k, cost))
        memory = self._on_huge if task.variant == plan.HUGE else self._pointers, self._requests, status
        if task.variant in (plan.EXCHANGE, plan.BEHIND):
            return lambda times, k: int(exchange(port, n, memory, work, times, k, cost))
        loop = window_both if task.variant == plan.EACH_WAY else window
        return lambda times, k: int(loop(port, n, memory, times, k, cost))

    def _arguments(self, task: Task, part: Raw) -> tuple[np.int64, ...]:
        send, receive = self._pointers
        n, count, byte, root = Int(task.bytes), Int(task.bytes // 8), part.byte, Int(0)
        numbers = (send, receive, *((count, part.double) if n % 8 == 0 else (Int(n // 4), part.single)), part.sum)
        found = {
            "broadcast": (send, n, byte, root),
            "scatter": (send, n, byte, receive, n, byte, root),
            "gather": (send, n, byte, receive, n, byte, root),
            "allgather": (send, n, byte, receive, n, byte),
            "total exchange": (send, n, byte, receive, n, byte),
            "reduction": (*numbers, root),
            "barrier": (),
        }.get(task.operation, numbers)
        return tuple(Int(one) for one in (*found, part.comm))


def new_messages(raw: Raw, size: int, touched: bool, count: int, cost: float) -> tuple[Floats, int]:
    """Times of messages of `size` bytes with empty answers (count,) [s], on buffers fresh from the system; and the calls that failed.

    A touched buffer was written once; the pages of others come into memory when the message is read and written.
    """
    buffers, status, times = [page_buffer(size, touched) for _ in range(2)], np.zeros(raw.status_size, np.uint8), np.empty(count)
    where = np.array(pointers(buffers), Int)
    sizes = Int(size), Int(0), Int(1)
    return times, int(ping_pong(port_of(raw), sizes, (where, Int(status.ctypes.data)), times, 1, cost))


def _first_messages(raw: Raw, task: Task, cost: float) -> Callable[[Floats, int], int]:
    """The loop of a task; a block has one message, whatever its length."""
    count = 1 if task.variant.startswith(plan.FIRST) else BEFORE + 1

    def loop(times: Floats, _k: int) -> int:
        bad = 0
        for block in range(times.size):
            each, failed = new_messages(raw, task.bytes, plan.TOUCHED in task.variant, count, cost)
            times[block] = each[-1]
            bad += failed
        return bad

    return loop
