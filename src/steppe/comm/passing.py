"""Messages under way in MPI.

Large messages travel in parts, since older standards of MPI count in 32 bits. The last part is always shorter than a whole one, so that
any unexpected length is detected.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from steppe.array_types import Array
from steppe.errors import Failure

if TYPE_CHECKING:
    from mpi4py import MPI

PART = 1 << 30  # [bytes]


class MpiMessage:
    """A message under way in its parts, between this rank and another.

    what: the source of a received message; empty for a sent one. ended: called when it has passed or failed.
    """

    def __init__(self, rank: int, what: str, array: Array, requests: list[Any], ended: Callable[["MpiMessage"], None]) -> None:
        from mpi4py import MPI

        self._mpi = MPI
        self._rank = rank
        self._ended = ended
        self._array = array
        self._requests = requests
        self._done = 0
        self.what = what

    def again(self) -> None:
        """Starts a prepared message again."""
        self._done = 0
        for request in self._requests:
            request.Start()

    def free(self) -> None:
        """Frees a prepared message."""
        for request in self._requests:
            request.Free()

    def test(self) -> bool:
        """True when it has passed."""
        status = self._mpi.Status()
        while self._done < len(self._requests):
            try:
                if not self._requests[self._done].Test(status):
                    return False
            except self._mpi.Exception as error:
                raise self._wrong(error) from None
            self._check(status)
        return True

    def wait(self) -> None:
        """Returns when it has passed.

        Raises
        ------
        Failure
            The message has another length than the buffer.
        """
        status = self._mpi.Status()
        while self._done < len(self._requests):
            try:
                self._requests[self._done].Wait(status)
            except self._mpi.Exception as error:
                raise self._wrong(error) from None
            self._check(status)

    def _check(self, status: "MPI.Status") -> None:
        """Checks and counts a part that has passed."""
        expected = min(PART, self._array.nbytes - PART * self._done)
        if self.what and status.Get_count(self._mpi.BYTE) != expected:
            raise self._other_length(f"{PART * self._done + status.Get_count(self._mpi.BYTE):,} bytes")
        self._done += 1
        if self._done == len(self._requests):
            self._ended(self)

    def _wrong(self, error: "MPI.Exception") -> Failure:
        if self.what and error.Get_error_class() == self._mpi.ERR_TRUNCATE:
            return self._other_length(f"more than {self._array.nbytes:,} bytes")
        self._ended(self)
        return Failure(f"Rank {self._rank}: a message {self.what or 'to another rank'} failed: {error}.")

    def _other_length(self, got: str) -> Failure:
        self._ended(self)
        self._done = len(self._requests)
        return Failure(
            f"Rank {self._rank} got {got} {self.what}, expected {self._array.dtype} {self._array.shape}, "
            f"{self._array.nbytes:,} bytes. Both sides must use the same plan."
        )


class MpiPersistent:
    """Messages that the library has prepared. closed: called when they are freed."""

    def __init__(self, incoming: list[MpiMessage], outgoing: list[MpiMessage], closed: Callable[["MpiPersistent"], None]) -> None:
        self._incoming, self._outgoing, self._closed = incoming, outgoing, closed

    def expect(self) -> None:
        """Starts to receive."""
        for passing in self._incoming:
            passing.again()

    def send(self) -> None:
        """Starts to send."""
        for passing in self._outgoing:
            passing.again()

    def test(self) -> bool:
        """True when all messages have passed."""
        return all(passing.test() for passing in (*self._incoming, *self._outgoing))

    def wait(self) -> None:
        """Returns when all messages have passed."""
        for passing in (*self._incoming, *self._outgoing):
            passing.wait()

    def close(self) -> None:
        """Frees the prepared messages."""
        for passing in (*self._incoming, *self._outgoing):
            passing.free()
        self._incoming, self._outgoing = [], []
        self._closed(self)
