"""What ranks say to each other: counted, and kept, so that one rank can be run again alone.

    recorded = Recorded(world, keep=True)       on every rank, in place of its world
    ...                                         the run
    recorded.counts["send 100"]                 messages, bytes and seconds, by tag or kind of call
    recorded.save(Path("rank-3.npz"))

    replayed = Replayed(Path("rank-3.npz"))     a world that gives the rank what it was given then

A rank that sends other messages than it did then gets an error at once.
"""

import time
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn, TypeVar
from zlib import crc32

import numpy as np

from steppe.comm.standing import Repeated
from steppe.comm.world import Array, Messages, Operation, Request, World, check_rank, check_summable, check_target, deliver
from steppe.errors import Exit, Failure

T = TypeVar("T")


@dataclass
class Count:
    """Calls of one kind: how many, their bytes as this rank gave or got them, the time within them [s]."""

    calls: int = 0
    bytes: int = 0
    seconds: float = 0.0


class _Names:
    """Names of what passes: messages are numbered by other rank and tag, collective calls one after another."""

    def __init__(self) -> None:
        self._numbers: Counter[str] = Counter()

    def message(self, verb: str, other: int, tag: int) -> str:
        return self._next(f"{verb}.{other}.{tag}")

    def collective(self, verb: str) -> str:
        return f"{self._next('collective')}.{verb}"

    def _next(self, key: str) -> str:
        self._numbers[key] += 1
        return f"{key}.{self._numbers[key]}"


class Recorded:
    """A world that counts, and with `keep` keeps what this rank receives."""

    def __init__(self, world: World, keep: bool = False) -> None:
        self.rank, self.size = world.rank, world.size
        self.counts: defaultdict[str, Count] = defaultdict(Count)
        self._world = world
        self._keep = keep
        self._names = _Names()
        self._kept: dict[str, Array] = {"world": np.array([self.rank, self.size])}

    def save(self, path: Path) -> None:
        """Writes what was kept."""
        with path.open("wb") as file:
            np.savez(file, **self._kept)  # type: ignore[arg-type]

    def send(self, array: Array, to: int, tag: int = 0) -> "Timed":
        """Counts a message sent."""
        kind = f"send {tag}"
        self.hold(self._names.message("send", to, tag), _sum(array))
        return Timed(self, kind, self.timed(kind, array.nbytes, lambda: self._world.send(array, to, tag)))

    def receive(self, into: Array, source: int, tag: int = 0) -> "Timed":
        """Counts a message received, and keeps it when it has come."""
        kind, name = f"receive {tag}", self._names.message("receive", source, tag)
        return Timed(self, kind, self.timed(kind, into.nbytes, lambda: self._world.receive(into, source, tag)), name, into)

    def standing(self, receives: Messages, sends: Messages, tag: int = 0) -> Repeated:
        """Counted and kept each time they pass."""
        return Repeated(self, receives, sends, tag)

    def broadcast(self, array: Array, root: int = 0) -> None:
        """Counts and keeps."""
        self.timed("broadcast", array.nbytes, lambda: self._world.broadcast(array, root))
        self.hold(self._names.collective("broadcast"), array)

    def call(self, array: Array) -> None:
        """Counts and keeps."""
        self.timed("call", array.nbytes, lambda: self._world.call(array))
        self.hold(self._names.collective("call"), array)

    def gather(self, array: Array, root: int = 0, lengths: Sequence[int] | None = None) -> list[Array] | None:
        """Counts and keeps."""
        name = self._names.collective("gather")
        self.hold(f"{name}.given", _sum(array))
        found = self.timed("gather", array.nbytes, lambda: self._world.gather(array, root, lengths))
        for rank, part in enumerate(found or []):
            self.hold(f"{name}.{rank}", part)
        return found

    def reduce(self, array: Array, operation: Operation, asleep: bool = False) -> Array:
        """Counts and keeps."""
        name = self._names.collective(f"reduce.{operation}")
        self.hold(f"{name}.given", _sum(array))
        found = self.timed("reduce", array.nbytes, lambda: self._world.reduce(array, operation, asleep))
        self.hold(name, found)
        return found

    def barrier(self) -> None:
        """Counts."""
        self.timed("barrier", 0, self._world.barrier)
        self.hold(self._names.collective("barrier"), np.empty(0))

    def agree(self, ok: bool) -> bool:
        """Counts and keeps."""
        found = self.timed("agree", 1, lambda: self._world.agree(ok))
        self.hold(self._names.collective("agree"), np.array(found))
        return found

    def abort(self, message: str, code: int = Exit.FAILURE) -> NoReturn:
        """Ends all ranks."""
        self._world.abort(message, code)

    def close(self) -> None:
        """Ends."""
        self._world.close()

    def timed(self, kind: str, size: int | None, function: Callable[[], T]) -> T:
        """Calls `function`; its time, and the call when it has a size, are counted."""
        count, begin = self.counts[kind], time.perf_counter()
        try:
            return function()
        finally:
            count.seconds += time.perf_counter() - begin
            if size is not None:
                count.calls += 1
                count.bytes += size

    def hold(self, name: str, array: Array) -> None:
        """Keeps a copy."""
        if self._keep:
            self._kept[name] = np.array(array)


class Timed:
    """A message under way whose waiting is counted; a received one is kept once it is there."""

    def __init__(self, world: Recorded, kind: str, request: Request, name: str = "", into: Array | None = None) -> None:
        self._world, self._kind, self._request = world, kind, request
        self._name, self._into = name, into

    def test(self) -> bool:
        """True when `wait` would return at once."""
        return self._request.test()

    def wait(self) -> None:
        """Waits."""
        self._world.timed(self._kind, None, self._request.wait)
        if self._into is not None:
            self._world.hold(self._name, self._into)
            self._into = None


class Replayed:
    """The world of one rank as it was recorded: it receives what it received then.

    Its methods raise `Failure` when the rank does something else than it did.
    """

    def __init__(self, path: Path) -> None:
        with np.load(path) as kept:
            self._kept: dict[str, Array] = {name: kept[name] for name in kept}
        self.rank, self.size = (int(number) for number in self._kept["world"])
        self._names = _Names()

    def send(self, array: Array, to: int, tag: int = 0) -> "Past":
        """Compares with what was sent."""
        check_rank(to, self.size)
        self._compare(self._names.message("send", to, tag), array)
        return Past()

    def receive(self, into: Array, source: int, tag: int = 0) -> "Past":
        """Fills `into` when it is waited for."""
        check_rank(source, self.size)
        check_target(into)
        message = self._past(self._names.message("receive", source, tag))
        return Past(lambda: deliver(message, into, source, self.rank, tag))

    def standing(self, receives: Messages, sends: Messages, tag: int = 0) -> Repeated:
        """Compared and filled each time they pass."""
        return Repeated(self, receives, sends, tag)

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
        """What was gathered."""
        check_rank(root, self.size)
        name = self._names.collective("gather")
        self._compare(f"{name}.given", array)
        return [self._past(f"{name}.{rank}") for rank in range(self.size)] if self.rank == root else None

    def reduce(self, array: Array, operation: Operation, asleep: bool = False) -> Array:
        """What was found."""
        check_summable(array, operation)
        name = self._names.collective(f"reduce.{operation}")
        self._compare(f"{name}.given", array)
        return np.array(self._past(name))

    def barrier(self) -> None:
        """Waits for no rank."""
        self._past(self._names.collective("barrier"))

    def agree(self, ok: bool) -> bool:
        """What was agreed on."""
        return bool(self._past(self._names.collective("agree")))

    def abort(self, message: str, code: int = Exit.FAILURE) -> NoReturn:
        """Raises `Failure`."""
        raise Failure(message)

    def close(self) -> None:
        """Does nothing."""

    def _past(self, name: str) -> Array:
        if name not in self._kept:
            raise Failure(f"Rank {self.rank} does something else than was recorded: there is no {name}.")
        return self._kept[name]

    def _compare(self, name: str, array: Array) -> None:
        if self._past(name) != _sum(array):
            raise Failure(
                f"Rank {self.rank} gives something else than was recorded: {name} is {array.dtype} {array.shape} of other values."
            )


class Past:
    """A message of long ago."""

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
    """A checksum of dtype, shape and values."""
    return np.array(crc32(array.tobytes(), crc32(f"{array.dtype} {array.shape}".encode())))
