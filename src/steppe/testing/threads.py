"""Ranks as threads of one process: a whole parallel run without a message library, for tests.

All messages are copied through one table under one condition. No wait lasts longer than a limit, so a deadlock becomes an error with a
message. Collective calls synchronise all ranks, more strictly than MPI, and check that all are in the same call.
"""

import functools
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np

from steppe.array_types import Array
from steppe.comm.serial import FinishedSend
from steppe.comm.world import (
    InProcessWorld,
    Operation,
    check_length,
    check_parts,
    check_rank,
    check_summable,
    check_target,
    deliver,
    native,
)
from steppe.errors import Failure

T = TypeVar("T")
Way = tuple[int, int, int]  # source, to, tag: messages of one way are numbered as they are sent, receives as they are started

REDUCTIONS: dict[Operation, np.ufunc] = {"sum": np.add, "min": np.minimum, "max": np.maximum}


def run_threads(n: int, function: Callable[["Threads"], T], limit: float = 30.0, hosts: Sequence[str] | None = None) -> list[T]:
    """Calls `function(world)` on `n` ranks at once and returns what each returned, by rank.

    Parameters
    ----------
    n
        Number of ranks.
    function
        The work of a rank.
    limit
        Longest wait for another rank [s].
    hosts
        The name of the pretended host of each rank.

    Raises
    ------
    BaseException
        The exception of the first rank that failed; the others got a `Failure` at their next wait.
    Failure
        A message was sent that no rank received.
    """
    table = _Table(n, limit)
    results: dict[int, T] = {}

    def rank(me: int) -> None:
        try:
            results[me] = function(Threads(me, table, hosts[me] if hosts else None))
        except BaseException as error:
            table.fail(me, error)

    threads = [threading.Thread(target=rank, args=(me,), name=f"rank {me}", daemon=True) for me in range(n)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if table.error is not None:
        raise table.error
    for (source, to, tag), _ in table.messages:
        raise Failure(f"Rank {source} sent rank {to} a message, tag {tag}, that was never received.")
    return [results[me] for me in range(n)]


@dataclass
class _Table:
    """The data that ranks share; they use it only while they hold `changed`."""

    size: int
    limit: float
    changed: threading.Condition = field(default_factory=threading.Condition)
    messages: dict[tuple[Way, int], Array] = field(default_factory=dict)
    sent: Counter[Way] = field(default_factory=Counter)
    awaited: Counter[Way] = field(default_factory=Counter)
    meetings: dict[int, "_Meeting"] = field(default_factory=dict)
    error: BaseException | None = None
    failed: int = -1

    def fail(self, rank: int, error: BaseException) -> None:
        with self.changed:
            if self.error is None:
                self.error, self.failed = error, rank
            self.changed.notify_all()

    def check(self, me: int) -> None:
        if self.error is not None:
            raise Failure(f"Rank {me} ends because rank {self.failed} failed: {type(self.error).__name__}: {self.error}")

    def wait(self, me: int, what: str, ready: Callable[[], bool]) -> None:
        """Returns when `ready()`; called with `changed` held."""
        end = time.monotonic() + self.limit
        while not ready():
            self.check(me)
            if not self.changed.wait(end - time.monotonic()):
                raise Failure(f"Rank {me} has waited {self.limit:g} s for {what}.")


@dataclass
class _Meeting:
    """One collective call: the call and array of each rank."""

    calls: dict[int, str]
    arrays: dict[int, Array]
    left: int = 0


class Threads(InProcessWorld):
    """The world of a rank that is a thread; `run_threads` makes it."""

    def __init__(self, rank: int, table: _Table, host: str | None = None) -> None:
        super().__init__()
        self.rank = rank
        self.size = table.size
        self.host = host
        self._table = table
        self._meetings = 0

    def send(self, array: Array, to: int, tag: int = 0) -> FinishedSend:
        """Puts a copy of `array` on the table."""
        check_rank(to, self.size)
        way = self.rank, to, tag
        with self._table.changed:
            self._table.check(self.rank)
            self._table.messages[way, self._table.sent[way]] = np.array(array)
            self._table.sent[way] += 1
            self._table.changed.notify_all()
        return FinishedSend()

    def receive(self, into: Array, source: int, tag: int = 0) -> "ThreadReceive":
        """Fills `into` at `wait`."""
        check_rank(source, self.size)
        check_target(into)
        way = source, self.rank, tag
        with self._table.changed:
            number = self._table.awaited[way]
            self._table.awaited[way] += 1
        return ThreadReceive(into, way, number, self._table)

    def broadcast(self, array: Array, root: int = 0) -> None:
        """Copies the array of `root` into `array`."""
        check_rank(root, self.size)
        check_target(array)
        array[...] = self._meet(f"broadcast from rank {root} of {array.dtype} {array.shape}", array)[root]

    call = broadcast

    def gather(self, array: Array, root: int = 0, lengths: Sequence[int] | None = None) -> list[Array] | None:
        """Copies of all arrays, on `root`."""
        check_rank(root, self.size)
        check_length(array, self.rank, lengths)
        array = native(array)
        arrays = self._meet(f"gather to rank {root} of {array.dtype}", array)
        return arrays if self.rank == root else None

    def exchange(self, parts: Sequence[Array]) -> list[Array]:
        """The parts of all ranks for this one."""
        check_parts(parts, self.size)
        parts = [native(part) for part in parts]
        lengths = self._meet(f"exchange of {self.size} parts", np.array([part.size for part in parts]))
        whole = self._meet(f"exchange of {parts[0].dtype}", np.concatenate(list(parts)))
        ends = [np.cumsum(each) for each in lengths]
        me = self.rank
        return [np.array(one[end[me] - length[me] : end[me]]) for one, end, length in zip(whole, ends, lengths, strict=True)]

    def reduce(self, array: Array, operation: Operation, asleep: bool = False, watch: Callable[[], None] | None = None) -> Array:
        """The reduction of the arrays of all ranks, in order of rank."""
        check_summable(array, operation)
        array = native(array)
        arrays = self._meet(f"reduce ({operation}) of {array.dtype} {array.shape}", array)
        return np.asarray(functools.reduce(REDUCTIONS[operation], arrays))

    def barrier(self) -> None:
        """Returns when all ranks have called it."""
        self._meet("barrier", np.empty(0))

    def agree(self, ok: bool) -> bool:
        """True when `ok` is true on all ranks."""
        return bool(self.reduce(np.array([int(ok)]), "min")[0])

    def _meet(self, call: str, array: Array) -> list[Array]:
        """Waits for all ranks and returns copies of their arrays, which they share."""
        self._meetings += 1
        table, number = self._table, self._meetings
        with table.changed:
            table.check(self.rank)
            meeting = table.meetings.setdefault(number, _Meeting({}, {}))
            for other, theirs in meeting.calls.items():
                if theirs != call:
                    raise Failure(f"The ranks disagree: rank {other} is in {theirs}, rank {self.rank} in {call}.")
            meeting.calls[self.rank], meeting.arrays[self.rank] = call, np.array(array)
            table.changed.notify_all()
            table.wait(self.rank, f"the other ranks in {call}", lambda: len(meeting.calls) == self.size)
            meeting.left += 1
            if meeting.left == self.size:
                del table.meetings[number]
            return [meeting.arrays[rank] for rank in range(self.size)]


class ThreadReceive:
    """A message to be received."""

    def __init__(self, into: Array, way: Way, number: int, table: _Table) -> None:
        self._into: Array | None = into
        self._way, self._number = way, number
        self._table = table

    def test(self) -> bool:
        """True when the message has come."""
        with self._table.changed:
            self._table.check(self._way[1])
            return self._into is None or (self._way, self._number) in self._table.messages

    def wait(self) -> None:
        """Fills the buffer.

        Raises
        ------
        Failure
            No message came within the limit, another rank failed, or the message has another shape or dtype.
        """
        if self._into is None:
            return
        (source, me, tag), key = self._way, (self._way, self._number)
        with self._table.changed:
            self._table.wait(me, f"a message from rank {source}, tag {tag}", lambda: key in self._table.messages)
            message = self._table.messages.pop(key)
        deliver(message, self._into, source, me, tag)
        self._into = None
