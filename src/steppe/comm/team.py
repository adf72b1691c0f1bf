"""Arrays and common files of ranks, for measurements of disks.

`raw` has MPI's functions by address, for loops of microseconds; these operations take longer than the interpreter.
"""

from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Protocol

import numpy as np

from steppe.array_types import Array
from steppe.comm.raw import Raw

if TYPE_CHECKING:
    from mpi4py import MPI


class SendHandle(Protocol):
    """A message under way; its array must not change."""

    def Test(self) -> bool:
        """True when it has left; also lets MPI move it."""

    def Wait(self) -> bool:
        """Returns when it has left."""


class Team:
    """The ranks of a `Raw`; all methods but `begin_send` and `receive` are called by all of them."""

    def __init__(self, raw: Raw) -> None:
        self.raw = raw
        self._comm, self._mpi = raw.communicator()
        self.rank, self.size = raw.rank, raw.size

    def first(self, size: int) -> "Team | None":
        """The first `size` ranks, for each of them; None for the others."""
        part = self.raw if size == self.size else self.raw.of(range(size))
        return None if part is None else Team(part)

    def longest(self, *values: float) -> list[float]:
        """The largest value of all ranks, for each argument, on every rank."""
        return [float(value) for value in self.raw.together(np.array(values, float)).max(axis=0)]

    def gather(self, array: Array, lengths: list[int]) -> Array | None:
        """The arrays of all ranks one after the other, on rank 0; `lengths`: numbers of each rank."""
        whole = np.empty(sum(lengths), array.dtype) if self.rank == 0 else None
        self._comm.Gatherv(np.ascontiguousarray(array).reshape(-1), None if whole is None else [whole, lengths], 0)
        return whole

    def begin_send(self, array: Array, to: int) -> SendHandle:
        """Starts to send."""
        found: SendHandle = self._comm.Isend(array, to)
        return found

    def receive(self, into: Array, rank: int) -> None:
        """Waits for a message of a rank."""
        self._comm.Recv(into, rank)

    def open(self, path: Path, write: bool = False) -> "CommonFile":
        """A file that all ranks use together (MPI-IO), made when it is written."""
        mode = self._mpi.MODE_WRONLY | self._mpi.MODE_CREATE if write else self._mpi.MODE_RDONLY
        return CommonFile(self._mpi.File.Open(self._comm, str(path), mode), self._mpi)


class CommonFile:
    """A file of all ranks; every method is called by all. Errors of the disk are OSError."""

    def __init__(self, file: "MPI.File", mpi: ModuleType) -> None:
        self._file, self._mpi = file, mpi

    def read(self, place: int, into: Array) -> bool:
        """Reads the bytes at `place`, for each rank its own; returns True if the file has all of them."""
        status = self._mpi.Status()
        self._do(self._file.Read_at_all, place, [into, self._mpi.BYTE], status)
        return bool(status.Get_count(self._mpi.BYTE) == into.nbytes)

    def write(self, place: int, array: Array) -> None:
        """Writes each rank's bytes at its `place`."""
        self._do(self._file.Write_at_all, place, [array, self._mpi.BYTE])

    def sync(self) -> None:
        """Returns when the writes of all ranks are on the disk."""
        self._do(self._file.Sync)

    def close(self) -> None:
        """Closes the file on all ranks."""
        self._do(self._file.Close)

    def _do(self, function: Callable[..., object], *arguments: object) -> None:
        try:
            function(*arguments)
        except self._mpi.Exception as error:
            raise OSError(f"MPI reports: {' '.join(str(error).split())}") from None
