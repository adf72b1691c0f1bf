"""The world of one rank. It imports no message library."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from steppe.array_types import Array
from steppe.comm.world import (
    InProcessWorld,
    Operation,
    check_parts,
    check_rank,
    check_summable,
    check_target,
    deliver,
    native,
)
from steppe.errors import Failure


class Serial(InProcessWorld):
    """A world of one rank: messages to itself are stored copies, collective calls are the identity."""

    rank = 0
    size = 1

    def __init__(self, host: str | None = None) -> None:
        super().__init__()
        self.host = host
        self._messages: dict[tuple[int, int], Array] = {}  # by tag, and number within it
        self._sent: Counter[int] = Counter()
        self._awaited: Counter[int] = Counter()

    def send(self, array: Array, to: int, tag: int = 0) -> "FinishedSend":
        """Stores a copy of `array`."""
        check_rank(to, 1)
        self._messages[tag, self._sent[tag]] = np.array(array)
        self._sent[tag] += 1
        return FinishedSend()

    def receive(self, into: Array, source: int, tag: int = 0) -> "SerialReceive":
        """Fills `into` at `wait`."""
        check_rank(source, 1)
        check_target(into)
        self._awaited[tag] += 1
        return SerialReceive(into, (tag, self._awaited[tag] - 1), self._messages)

    def broadcast(self, array: Array, root: int = 0) -> None:
        """Leaves `array` unchanged."""
        check_rank(root, 1)
        check_target(array)

    def call(self, array: Array) -> None:
        """Leaves `array` unchanged."""
        check_target(array)

    def gather(self, array: Array, root: int = 0, lengths: Sequence[int] | None = None) -> list[Array]:
        """A copy of `array`."""
        check_rank(root, 1)
        return [np.array(native(array))]

    def exchange(self, parts: Sequence[Array]) -> list[Array]:
        """A copy of the only part."""
        check_parts(parts, 1)
        return [np.array(native(parts[0]))]

    def reduce(self, array: Array, operation: Operation, asleep: bool = False, watch: Callable[[], None] | None = None) -> Array:
        """A copy of `array`."""
        check_summable(array, operation)
        return np.array(native(array))

    def barrier(self) -> None:
        """Returns at once."""

    def agree(self, ok: bool) -> bool:
        """Returns `ok`."""
        return ok


class FinishedSend:
    """A sent message; its copy is stored."""

    def test(self) -> bool:
        """True."""
        return True

    def wait(self) -> None:
        """Returns at once."""


@dataclass
class SerialReceive:
    """A message to be received."""

    into: Array
    key: tuple[int, int]
    messages: dict[tuple[int, int], Array]
    done: bool = False

    def test(self) -> bool:
        """True when the message has come."""
        return self.done or self.key in self.messages

    def wait(self) -> None:
        """Fills the buffer.

        Raises
        ------
        Failure
            No message was sent, or one of another shape or dtype.
        """
        if self.done:
            return
        tag = self.key[0]
        if self.key not in self.messages:
            raise Failure(f"Rank 0 waits for a message from itself, tag {tag}, that was not sent. Send before waiting.")
        deliver(self.messages.pop(self.key), self.into, 0, 0, tag)
        self.done = True
