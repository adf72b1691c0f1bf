"""Records the messages of ranks: counts them, and stores them, so that one rank can be run again alone.

    recorded = RecordingWorld(world, keep=True)       on every rank, in place of its world
    ...                                         the run
    recorded.counts["send 100"]                 messages, bytes and seconds, by tag or kind of call
    recorded.save(Path("rank-3.npz"))

    replayed = ReplayWorld(Path("rank-3.npz"))  a world that gives the rank the same messages again

A rank that sends another message than recorded gets an error at once.
"""

import time
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn, TypeVar
from zlib import crc32

import numpy as np

from steppe.array_types import Array
from steppe.comm.world import (
    ClosedAtEnd,
    InProcessWorld,
    MessageRequest,
    Messages,
    Operation,
    RepeatedMessages,
    World,
    check_parts,
    check_plain,
    check_rank,
    check_summable,
    check_target,
    deliver,
)
from steppe.errors import Exit, Failure

T = TypeVar("T")


@dataclass
class Count:
    """Calls of one kind: their number, their bytes on this rank, their time [s]."""

    calls: int = 0
    bytes: int = 0
    seconds: float = 0.0


class _Names:
    """Names of messages, numbered by other rank and tag, and of collective calls, numbered in order."""

    def __init__(self) -> None:
        self._numbers: Counter[str] = Counter()

    def message(self, verb: str, other: int, tag: int) -> str:
        return self._next(f"{verb}.{other}.{tag}")

    def collective(self, verb: str) -> str:
        return f"{self._next('collective')}.{verb}"

    def _next(self, key: str) -> str:
        self._numbers[key] += 1
        return f"{key}.{self._numbers[key]}"


class RecordingWorld(ClosedAtEnd):
    """A world that counts messages, and with `keep` stores those that this rank receives."""

    def __init__(self, world: World, keep: bool = False) -> None:
        super().__init__()
        self.rank, self.size, self.host = world.rank, world.size, world.host
        self.counts: defaultdict[str, Count] = defaultdict(Count)
        self._world = world
        self._keep = keep
        self._names = _Names()
        self._kept: dict[str, Array] = {"world": np.array([self.rank, self.size])}

    def save(self, path: Path) -> None:
        """Writes the stored messages."""
        with path.open("wb") as file:
            np.savez(file, **self._kept)  # type: ignore[arg-type]

    def send(self, array: Array, to: int, tag: int = 0) -> "TimedRequest":
        """Counts a message sent."""
        kind = f"send {tag}"
        self.hold(self._names.message("send", to, tag), _sum(array))
        return TimedRequest(self, kind, self.timed(kind, array.nbytes, lambda: self._world.send(array, to, tag)))

    def receive(self, into: Array, source: int, tag: int = 0) -> "TimedRequest":
        """Counts a received message, and stores it when it has come."""
        kind, name = f"receive {tag}", self._names.message("receive", source, tag)
        return TimedRequest(self, kind, self.timed(kind, into.nbytes, lambda: self._world.receive(into, source, tag)), name, into)

    def persistent(self, receives: Messages, sends: Messages, tag: int = 0) -> RepeatedMessages:
        """Counts and stores the messages of each pass."""
        return RepeatedMessages(self, receives, sends, tag)

    def broadcast(self, array: Array, root: int = 0) -> None:
        """Counts and stores the call."""
        self.timed("broadcast", array.nbytes, lambda: self._world.broadcast(array, root))
        self.hold(self._names.collective("broadcast"), array)

    def call(self, array: Array) -> None:
        """Counts and stores the call."""
        self.timed("call", array.nbytes, lambda: self._world.call(array))
        self.hold(self._names.collective("call"), array)

    def gather(self, array: Array, root: int = 0, lengths: Sequence[int] | None = None) -> list[Array] | None:
        """Counts and stores the call."""
        name = self._names.collective("gather")
        self.hold(f"{name}.given", _sum(array))
        found = self.timed("gather", array.nbytes, lambda: self._world.gather(array, root, lengths))
        for rank, part in enumerate(found or []):
            self.hold(f"{name}.{rank}", part)
        return found

    def exchange(self, parts: Sequence[Array]) -> list[Array]:
        """Counts and stores the call."""
        name = self._names.collective("exchange")
        self.hold(f"{name}.given", _sum(np.concatenate(list(parts))))
        found = self.timed("exchange", sum(part.nbytes for part in parts), lambda: self._world.exchange(parts))
        for rank, part in enumerate(found):
            self.hold(f"{name}.{rank}", part)
        return found

    def reduce(self, array: Array, operation: Operation, asleep: bool = False, watch: Callable[[], None] | None = None) -> Array:
        """Counts and stores the call."""
        name = self._names.collective(f"reduce.{operation}")
        self.hold(f"{name}.given", _sum(array))
        found = self.timed("reduce", array.nbytes, lambda: self._world.reduce(array, operation, asleep, watch))
        self.hold(name, found)
        return found

    def barrier(self) -> None:
        """Counts the call."""
        self.timed("barrier", 0, self._world.barrier)
        self.hold(self._names.collective("barrier"), np.empty(0))

    def agree(self, ok: bool) -> bool:
        """Counts and stores the call."""
        found = self.timed("agree", 1, lambda: self._world.agree(ok))
        self.hold(self._names.collective("agree"), np.array(found))
        return found

    def abort(self, message: str, code: int = Exit.FAILURE) -> NoReturn:
        """Ends all ranks."""
        self._world.abort(message, code)

    def at_close(self, function: Callable[[], None]) -> None:
        """Passed on to the recorded world."""
        self._world.at_close(function)

    def at_end(self, function: Callable[[], None]) -> None:
        """Passed on to the recorded world."""
        self._world.at_end(function)

    def close(self) -> None:
        """Closes the recorded world."""
        self._world.close()

    def timed(self, kind: str, size: int | None, function: Callable[[], T]) -> T:
        """Calls `function` and adds its time to the counts; with a size also the call."""
        count, begin = self.counts[kind], time.perf_counter()
        try:
            return function()
        finally:
            count.seconds += time.perf_counter() - begin
            if size is not None:
                count.calls += 1
                count.bytes += size

    def hold(self, name: str, array: Array) -> None:
        """Stores a copy."""
        if self._keep:
            self._kept[name] = np.array(array)


class TimedRequest:
    """A message under way whose waiting is timed; a received one is stored once it has come."""

    def __init__(self, world: RecordingWorld, kind: str, request: MessageRequest, name: str = "", into: Array | None = None) -> None:
        self._world, self._kind, self._request = world, kind, request
        self._name, self._into = name, into

    def test(self) -> bool:
        """True when `wait` would return at once."""
        return self._request.test()

    def wait(self) -> None:
        """Waits, and stores a received message."""
        self._world.timed(self._kind, None, self._request.wait)
        if self._into is not None:
            self._world.hold(self._name, self._into)
            self._into = None


class ReplayWorld(InProcessWorld):
    """The recorded world of one rank: it returns the recorded messages.

    Its methods raise `Failure` for a call that differs from the recorded one.
    """

    def __init__(self, path: Path) -> None:
        super().__init__()
        with np.load(path) as kept:
            self._kept: dict[str, Array] = {name: kept[name] for name in kept}
        self.rank, self.size = (int(number) for number in self._kept["world"])
        self._names, self.host = _Names(), None

    def send(self, array: Array, to: int, tag: int = 0) -> "ReplayedRequest":
        """Compares with the recorded message."""
        check_rank(to, self.size)
        self._compare(self._names.message("send", to, tag), array)
        return ReplayedRequest()

    def receive(self, into: Array, source: int, tag: int = 0) -> "ReplayedRequest":
        """Fills `into` at `wait`."""
        check_rank(source, self.size)
        check_target(into)
        message = self._past(self._names.message("receive", source, tag))
        return ReplayedRequest(lambda: deliver(message, into, source, self.rank, tag))

    def broadcast(self, array: Array, root: int = 0) -> None:
        """Fills `array`."""
        check_rank(root, self.size)
        check_target(array)
        array[...] = self._past(self._names.collective("broadcast"))

    def call(self, array: Array) -> None:
        """Fills `array`."""
        check_target(array)
        array[...] = self._past(self._names.collective("call"))

    def gather(self, array: Array, root: int = 0, lengths: Sequence[int] | None = None) -> list[Array] | None:
        """The recorded result."""
        check_rank(root, self.size)
        name = self._names.collective("gather")
        self._compare(f"{name}.given", array)
        return [self._past(f"{name}.{rank}") for rank in range(self.size)] if self.rank == root else None

    def exchange(self, parts: Sequence[Array]) -> list[Array]:
        """The recorded result."""
        check_parts(parts, self.size)
        name = self._names.collective("exchange")
        self._compare(f"{name}.given", np.concatenate(list(parts)))
        return [self._past(f"{name}.{rank}") for rank in range(self.size)]

    def reduce(self, array: Array, operation: Operation, asleep: bool = False, watch: Callable[[], None] | None = None) -> Array:
        """The recorded result."""
        check_summable(array, operation)
        name = self._names.collective(f"reduce.{operation}")
        self._compare(f"{name}.given", array)
        return np.array(self._past(name))

    def barrier(self) -> None:
        """Returns at once."""
        self._past(self._names.collective("barrier"))

    def agree(self, ok: bool) -> bool:
        """The recorded result."""
        return bool(self._past(self._names.collective("agree")))

    def _past(self, name: str) -> Array:
        if name not in self._kept:
            raise Failure(f"Rank {self.rank} does something else than was recorded: there is no {name}.")
        return self._kept[name]

    def _compare(self, name: str, array: Array) -> None:
        if _sum(array) != self._past(name):
            raise Failure(
                f"Rank {self.rank} gives something else than was recorded: {name} is {array.dtype} {array.shape} of other values."
            )


class ReplayedRequest:
    """A recorded message."""

    def __init__(self, deliver: Callable[[], None] | None = None) -> None:
        self._deliver = deliver

    def test(self) -> bool:
        """True."""
        return True

    def wait(self) -> None:
        """Fills the buffer."""
        if self._deliver is not None:
            self._deliver()
            self._deliver = None


def _sum(array: Array) -> Array:
    """A checksum of dtype, shape and values; raises as `check_plain` does."""
    check_plain(array)
    return np.array(crc32(array.tobytes(), crc32(f"{array.dtype} {array.shape}".encode())))
