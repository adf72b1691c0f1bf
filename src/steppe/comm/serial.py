"""The world of one rank. It imports no message library."""

from collections import defaultdict, deque
from dataclasses import dataclass
from typing import NoReturn

import numpy as np

from steppe.comm.world import Array, Operation
from steppe.errors import Failure


class Serial:
    """One rank that is everyone: messages to itself are queued copies, collective calls are the identity."""

    rank = 0
    size = 1

    def __init__(self) -> None:
        self._queues: defaultdict[int, deque[Array]] = defaultdict(deque)

    def send(self, array: Array, to: int, tag: int = 0) -> "Sent":
        """Queues a copy of `array`."""
        _check_rank(to)
        self._queues[tag].append(np.array(array))
        return Sent()

    def receive(self, into: Array, source: int, tag: int = 0) -> "Awaited":
        """Will fill `into` from the queue."""
        _check_rank(source)
        return Awaited(into, self._queues[tag], tag)

    def broadcast(self, array: Array, root: int = 0) -> None:
        """Leaves `array` as it is."""
        _check_rank(root)

    def gather(self, array: Array, root: int = 0) -> list[Array]:
        """A copy of `array`."""
        _check_rank(root)
        return [np.array(array)]

    def reduce(self, array: Array, operation: Operation) -> Array:
        """A copy of `array`."""
        if operation == "sum" and not np.issubdtype(array.dtype, np.integer):
            raise Failure(f"Only integers can be summed over ranks, these are {array.dtype}. Use steppe.kernels.sums for numbers.")
        return np.array(array)

    def barrier(self) -> None:
        """Returns at once."""

    def agree(self, ok: bool) -> bool:
        """What this rank says."""
        return ok

    def abort(self, message: str) -> NoReturn:
        """Raises `Failure`, which ends the only rank there is."""
        raise Failure(message)


class Sent:
    """A message that has left: its copy is in the queue."""

    def test(self) -> bool:
        """True."""
        return True

    def wait(self) -> None:
        """Returns at once."""


@dataclass
class Awaited:
    """A message to come: the next of a queue."""

    into: Array
    queue: deque[Array]
    tag: int
    done: bool = False

    def test(self) -> bool:
        """True when the message has come."""
        return self.done or bool(self.queue)

    def wait(self) -> None:
        """Fills the buffer.

        Raises
        ------
        Failure
            No message was sent, or one of another shape or dtype.
        """
        if self.done:
            return
        if not self.queue:
            raise Failure(f"Rank 0 waits for a message from itself, tag {self.tag}, that was not sent. Send before waiting.")
        message = self.queue.popleft()
        if (message.shape, message.dtype) != (self.into.shape, self.into.dtype):
            raise Failure(
                f"Rank 0 got {message.dtype} {message.shape} from rank 0, tag {self.tag}, expected {self.into.dtype} {self.into.shape}. "
                "Both sides must use the same plan."
            )
        self.into[...] = message
        self.done = True


def _check_rank(rank: int) -> None:
    if rank != 0:
        raise Failure(f"There is no rank {rank}: the world has one rank, 0.")
