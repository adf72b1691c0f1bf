"""The world of ranks: their number and their messages.

Buffers only: C-contiguous arrays whose dtype and shape both sides know; no pickles, no wildcards. `send` and `receive` both start a
message and return a request. A sent array may change as soon as `send` returns; a received one is filled after `wait`.
Floats are never summed by messages, since their sum depends on the order: `reduce` sums integers only (see `steppe.kernels.sums`).
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Literal, NoReturn, Protocol, Self

import numpy as np

from steppe.array_types import Array
from steppe.errors import Exit, Failure

Operation = Literal["sum", "min", "max"]
Messages = Sequence[tuple[int, Array]]  # the other rank, and the array that is filled or sent

# The tags of each kind of message, so that kinds are never confused.
EXCHANGE_TAG, FORCING_TAG, STORE_TAG = 100, 200, 300


class MessageRequest(Protocol):
    """A message under way."""

    def test(self) -> bool:
        """True when `wait` would return at once."""
        ...

    def wait(self) -> None:
        """Returns when the buffer has been sent or filled.

        Raises
        ------
        Failure
            The message has another length or dtype than the buffer, or can never come.
        """
        ...


class PersistentMessages(Protocol):
    """Messages that pass again and again between the same arrays and are made once, as in an exchange of halos.

    messages = world.persistent([(3, incoming)], [(3, outgoing)], EXCHANGE_TAG)
    messages.expect()           starts to fill `incoming`
    messages.send()             starts to send `outgoing`
    messages.wait()             returns when all messages have passed; the caller may use the arrays again
    """

    def expect(self) -> None:
        """Starts to receive."""
        ...

    def send(self) -> None:
        """Starts to send; the sent arrays must not change before `wait` has returned."""
        ...

    def test(self) -> bool:
        """True when `wait` would return at once; also lets MPI move messages."""
        ...

    def wait(self) -> None:
        """Returns when all messages have passed.

        Raises
        ------
        Failure
            A received message has another length or dtype, or can never come.
        """
        ...

    def close(self) -> None:
        """Frees the messages."""
        ...


class ClosedAtEnd(ABC):
    """A world as a context: its end closes the world, unless an error ends it; and what is called at the end."""

    def __init__(self) -> None:
        self._ends: list[Callable[[], None]] = []
        self._closings: list[Callable[[], None]] = []

    def at_close(self, function: Callable[[], None]) -> None:
        """Has `function` called when all ranks begin to close the world; it may send messages, and raise."""
        self._closings.append(function)

    def begin_close(self) -> None:
        """Calls what `at_close` was given, once."""
        while self._closings:
            self._closings.pop()()

    def at_end(self, function: Callable[[], None]) -> None:
        """Has `function` called by `call_ends`."""
        self._ends.append(function)

    def call_ends(self) -> None:
        """Calls what `at_end` was given, once."""
        while self._ends:
            self._ends.pop()()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self.close()

    @abstractmethod
    def close(self) -> None:
        """Ends the world."""


class World(Protocol):
    """All ranks of a run, as one of them sees them. Every method but send and receive is called by all ranks alike."""

    def __enter__(self) -> Self:
        """The world, which the end of the context closes."""
        ...

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Closes the world, unless an error ends the context."""
        ...

    @property
    def rank(self) -> int:
        """The number of this rank: 0 .. size - 1."""
        ...

    @property
    def size(self) -> int:
        """How many ranks there are."""
        ...

    @property
    def host(self) -> str | None:
        """A name that replaces the one of this host (tests); normally None."""
        ...

    def send(self, array: Array, to: int, tag: int = 0) -> MessageRequest:
        """Starts to send a copy of `array`. Messages of one tag between two ranks arrive in the order they were sent.

        Raises
        ------
        Failure
            There is no such rank.
        """
        ...

    def receive(self, into: Array, source: int, tag: int = 0) -> MessageRequest:
        """Starts to fill `into` with the next message of that source and tag, of exactly its shape and dtype.

        Raises
        ------
        Failure
            There is no such rank, or `into` is not contiguous and writeable.
        """
        ...

    def persistent(self, receives: Messages, sends: Messages, tag: int = 0) -> PersistentMessages:
        """Prepares messages that pass again and again, (other rank, whole array) each.

        Raises
        ------
        Failure
            There is no such rank, or an array is not contiguous and writeable.
        """
        ...

    def broadcast(self, array: Array, root: int = 0) -> None:
        """Fills `array` on every rank with the one of `root`."""
        ...

    def call(self, array: Array) -> None:
        """Broadcasts from rank 0; the other ranks sleep until it comes. Ranks without work wait in it.

        Waiting for a broadcast takes a processor of each rank; waiting for a call takes none and adds less than a millisecond.
        """
        ...

    def gather(self, array: Array, root: int = 0, lengths: Sequence[int] | None = None) -> list[Array] | None:
        """Copies of the arrays of all ranks in order of rank, on `root`; None elsewhere. Lengths may differ.

        lengths: of the array of each rank, if every rank knows them and the arrays have one dimension; saves a message. Dtypes are then
        not compared.
        """
        ...

    def exchange(self, parts: Sequence[Array]) -> list[Array]:
        """Sends `parts[r]` to each rank r and returns the parts that the ranks sent to this one, by rank. Parts are flat, of one dtype.

        Raises
        ------
        Failure
            There are more or fewer parts than ranks.
        """
        ...

    def reduce(self, array: Array, operation: Operation, asleep: bool = False, watch: Callable[[], None] | None = None) -> Array:
        """Sum, least or greatest of the arrays of all ranks, element by element, on every rank; NaN where one of them is NaN.

        A sum has the dtype of the arrays, as in NumPy: beyond its range it wraps around.

        asleep: early ranks free their processor while they wait. They return later by an eighth of the wait, at most by a millisecond.
        watch: called now and then while this rank waits; may raise. It implies `asleep` for longer waits.

        Raises
        ------
        Failure
            A sum of other numbers than integers.
        """
        ...

    def barrier(self) -> None:
        """Returns when every rank has called it."""
        ...

    def agree(self, ok: bool) -> bool:
        """True on every rank when `ok` is true on all of them; called before every commit."""
        ...

    def at_close(self, function: Callable[[], None]) -> None:
        """Has `function` called when all ranks begin to close the world; it may send messages, and raise."""
        ...

    def at_end(self, function: Callable[[], None]) -> None:
        """Has `function` called when this rank closes the world or ends all ranks."""
        ...

    def abort(self, message: str, code: int = Exit.FAILURE) -> NoReturn:
        """Ends all ranks with `message` and an exit code; does not return."""
        ...

    def close(self) -> None:
        """Ends the world; a second call does nothing."""
        ...


def check_length(array: Array, rank: int, lengths: Sequence[int] | None) -> None:
    """Raises `Failure` when a gathered array differs from its known length."""
    if lengths is not None and array.shape != (lengths[rank],):
        raise Failure(f"Rank {rank} gathers an array of {array.shape}, expected length {lengths[rank]}. All ranks must use the same plan.")


def check_rank(rank: int, size: int) -> None:
    """Raises `Failure` when a world of `size` ranks has no such rank."""
    if not 0 <= rank < size:
        raise Failure(f"There is no rank {rank}: the world has {'one rank, 0' if size == 1 else f'{size} ranks, 0 to {size - 1}'}.")


def check_plain(array: Array) -> None:
    """Raises `Failure` for an array of Python objects: a message carries bytes alone."""
    if array.dtype.hasobject:
        raise Failure(f"A message carries numbers, this array holds Python objects ({array.dtype}). Convert it to a dtype of numbers.")


def check_target(into: Array) -> None:
    """Raises `Failure` when a message cannot be written directly to `into`."""
    check_plain(into)
    if not (into.flags.c_contiguous and into.flags.writeable):
        raise Failure(
            f"A message fills a contiguous, writeable array; this one {into.shape} is a view with gaps or read-only. Pass a copy."
        )


def check_summable(array: Array, operation: Operation) -> None:
    """Raises `Failure` when a sum of `array` over ranks would depend on their order."""
    if operation == "sum" and not np.issubdtype(array.dtype, np.integer):
        raise Failure(f"Only integers can be summed over ranks, these are {array.dtype}. Use steppe.kernels.sums for numbers.")


def native(array: Array) -> Array:
    """`array` in the byte order of this machine; raises as `check_plain` does."""
    check_plain(array)
    return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))


def check_parts(parts: Sequence[Array], size: int) -> None:
    """Raises `Failure` unless there is a part for each rank."""
    if len(parts) != size:
        raise Failure(f"An exchange of {size} ranks was given {len(parts)} parts. Give one for each rank.")


def deliver(message: Array, into: Array, source: int, rank: int, tag: int) -> None:
    """Copies a message of this process to its target; raises `Failure` for another shape or dtype."""
    if (message.shape, message.dtype) != (into.shape, into.dtype):
        raise Failure(
            f"Rank {rank} got {message.dtype} {message.shape} from rank {source}, tag {tag}, expected {into.dtype} {into.shape}. "
            "Both sides must use the same plan."
        )
    into[...] = message


class RepeatedMessages:
    """Sends and receives new messages in each pass; implements `PersistentMessages`."""

    def __init__(self, world: World, receives: Messages, sends: Messages, tag: int) -> None:
        self._world = world
        self._receives, self._sends, self._tag = receives, sends, tag
        self._live: list[MessageRequest] = []

    def expect(self) -> None:
        """Starts to receive."""
        self._live = [self._world.receive(array, source, self._tag) for source, array in self._receives]

    def send(self) -> None:
        """Starts to send."""
        self._live += [self._world.send(array, to, self._tag) for to, array in self._sends]

    def test(self) -> bool:
        """True when all messages have passed."""
        return all(request.test() for request in self._live)

    def wait(self) -> None:
        """Returns when all messages have passed."""
        for request in self._live:
            request.wait()
        self._live = []

    def close(self) -> None:
        """Does nothing."""


class InProcessWorld(ClosedAtEnd):
    """The common part of worlds without a message library."""

    def persistent(self: World, receives: Messages, sends: Messages, tag: int = 0) -> RepeatedMessages:
        """Sends new messages each time."""
        return RepeatedMessages(self, receives, sends, tag)

    def abort(self, message: str, code: int = Exit.FAILURE) -> NoReturn:
        """Raises `Failure`, which ends this rank."""
        raise Failure(message)

    def close(self) -> None:
        """Calls what `at_close` and `at_end` were given."""
        self.begin_close()
        self.call_ends()
