"""The world of ranks: the only place that knows how many there are and how they speak.

Buffers only: C-contiguous arrays whose dtype and shape both sides know; no pickles, no wildcards. `send` and `receive` both start and
return a request; what is sent may be changed as soon as `send` returns, what is received is there after `wait`.
Floats are never summed by messages, since their sum depends on the order: `reduce` sums integers only (see `steppe.kernels.sums`).
"""

from collections.abc import Sequence
from typing import Any, Literal, NoReturn, Protocol

import numpy as np
from numpy.typing import NDArray

from steppe.errors import Exit, Failure

Array = NDArray[Any]
Operation = Literal["sum", "min", "max"]
Messages = Sequence[tuple[int, Array]]  # the other rank, and the array that is filled or sent

# The tag of each kind of message, so that no message is taken for one of another kind.
EXCHANGE_TAG, FORCING_TAG, STORE_TAG = 100, 200, 300


class Request(Protocol):
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


class Standing(Protocol):
    """Messages that pass again and again between the same arrays, made once: what an exchange of halos is made of.

    standing = world.standing([(3, incoming)], [(3, outgoing)], EXCHANGE_TAG)
    standing.expect()           `incoming` is being filled
    standing.send()             what is in `outgoing` leaves
    standing.wait()             all has come and left; the arrays are the caller's again
    """

    def expect(self) -> None:
        """Starts to fill the arrays to be received."""
        ...

    def send(self) -> None:
        """Starts to send the others, which must not change before `wait` has returned."""
        ...

    def test(self) -> bool:
        """True when `wait` would return at once; a message under way may get on by it."""
        ...

    def wait(self) -> None:
        """Returns when all has come and left.

        Raises
        ------
        Failure
            What came has another length or dtype, or can never come.
        """
        ...

    def close(self) -> None:
        """Frees what the messages hold; they pass no more."""
        ...


class World(Protocol):
    """All ranks of a run, as one of them sees them. Every method but send and receive is called by all ranks alike."""

    @property
    def rank(self) -> int:
        """Number of this rank: 0 .. size - 1."""
        ...

    @property
    def size(self) -> int:
        """How many ranks there are."""
        ...

    def send(self, array: Array, to: int, tag: int = 0) -> Request:
        """Starts to send a copy of `array`. Messages of one tag between two ranks arrive in the order they were sent.

        Raises
        ------
        Failure
            There is no such rank.
        """
        ...

    def receive(self, into: Array, source: int, tag: int = 0) -> Request:
        """Starts to fill `into` with the next message of that source and tag, of exactly its shape and dtype.

        Raises
        ------
        Failure
            There is no such rank, or `into` is no whole array.
        """
        ...

    def standing(self, receives: Messages, sends: Messages, tag: int = 0) -> Standing:
        """Messages that pass again and again, (other rank, whole array) each: `send` and `receive` without making them anew.

        Raises
        ------
        Failure
            There is no such rank, or an array is not whole.
        """
        ...

    def broadcast(self, array: Array, root: int = 0) -> None:
        """Fills `array` on every rank with that of `root`."""
        ...

    def call(self, array: Array) -> None:
        """`broadcast` from rank 0 for which the others wait asleep: what ranks without work wait in.

        A broadcast is waited for awake, at the cost of a processor a rank; a call costs none and is heard within a millisecond.
        """
        ...

    def gather(self, array: Array, root: int = 0, lengths: Sequence[int] | None = None) -> list[Array] | None:
        """Copies of the arrays of all ranks in order of rank, on `root`; None elsewhere. Lengths may differ.

        lengths: of the array of each rank, where every rank knows them and the arrays have one dimension: spares a message.
        """
        ...

    def reduce(self, array: Array, operation: Operation, asleep: bool = False) -> Array:
        """Sum, least or greatest of the arrays of all ranks, element by element, on every rank. Nothing may be NaN.

        asleep: ranks that come early spare their processor, and hear of the end a quarter of a millisecond late at most.

        Raises
        ------
        Failure
            A sum of numbers that are no integers is asked for.
        """
        ...

    def barrier(self) -> None:
        """Returns when every rank has called it."""
        ...

    def agree(self, ok: bool) -> bool:
        """True on every rank when `ok` is true on all of them: asked before every commit."""
        ...

    def abort(self, message: str, code: int = Exit.FAILURE) -> NoReturn:
        """Ends all ranks with `message` and an exit code; does not return."""
        ...

    def close(self) -> None:
        """Ends the world; a second call does nothing."""
        ...


def check_length(array: Array, rank: int, lengths: Sequence[int] | None) -> None:
    """Raises `Failure` when an array that is gathered is not as long as every rank knows."""
    if lengths is not None and array.shape != (lengths[rank],):
        raise Failure(f"Rank {rank} gives an array {array.shape} to a gather, all know one of {lengths[rank]}. All must use the same plan.")


def check_rank(rank: int, size: int) -> None:
    """Raises `Failure` when a world of `size` ranks has no such one."""
    if not 0 <= rank < size:
        raise Failure(f"There is no rank {rank}: the world has {'one rank, 0' if size == 1 else f'{size} ranks, 0 to {size - 1}'}.")


def check_target(into: Array) -> None:
    """Raises `Failure` when a message cannot be written to `into` as it comes."""
    if not (into.flags.c_contiguous and into.flags.writeable):
        raise Failure(
            f"A message fills whole arrays that may be changed, this one {into.shape} is a view with gaps or read-only. Give a copy."
        )


def check_summable(array: Array, operation: Operation) -> None:
    """Raises `Failure` when a sum of `array` over ranks would depend on their order."""
    if operation == "sum" and not np.issubdtype(array.dtype, np.integer):
        raise Failure(f"Only integers can be summed over ranks, these are {array.dtype}. Use steppe.kernels.sums for numbers.")


def deliver(message: Array, into: Array, source: int, rank: int, tag: int) -> None:
    """Copies a message that was kept within this process, or raises `Failure` when it is not what was awaited."""
    if (message.shape, message.dtype) != (into.shape, into.dtype):
        raise Failure(
            f"Rank {rank} got {message.dtype} {message.shape} from rank {source}, tag {tag}, expected {into.dtype} {into.shape}. "
            "Both sides must use the same plan."
        )
    into[...] = message
