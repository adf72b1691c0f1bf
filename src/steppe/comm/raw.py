"""MPI's own functions by address, for timed loops without an interpreter between two messages.

    functions ──dlsym──> addresses (int64 array) ──> compiled loop: call(address, (handle, pointer, ...)) -> return code

The library is the one that mpi4py has loaded, never another of the same name; under the bridge, what stands before it. Handles are 32-bit
numbers or pointers, by library; all are passed as 64 bits, which registers and stack slots of x86-64 and AArch64 Linux take alike.
Importing this imports Numba.
"""

# Numba declares types for some of its functions only.
# mypy: disable-error-code="untyped-decorator, no-untyped-call, no-any-return, call-arg, var-annotated, unreachable"

import ctypes
import mmap
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from steppe.array_types import Array, Bytes, Floats, Integers
from steppe.comm.launch import Launch, check_pair, find_library
from steppe.comm.mpi import initialise
from steppe.comm.objects import Arrays, PassingMethod, Receive, Send, object_passing
from steppe.errors import Failure, Mistake

if TYPE_CHECKING:
    from mpi4py import MPI

FUNCTIONS = (
    "Wtime", "Wtick", "Barrier", "Send", "Recv", "Isend", "Irecv", "Waitall", "Bcast", "Scatter", "Gather", "Allgather", "Alltoall",
    "Reduce", "Allreduce", "Reduce_scatter_block", "Scan", "Put", "Get", "Accumulate", "Win_flush",
    "Ibcast", "Iscatter", "Igather", "Iallgather", "Ialltoall", "Ireduce", "Iallreduce", "Ireduce_scatter_block", "Iscan", "Ibarrier",
    "Wait", "Pack", "Pack_external",
)  # fmt: skip
ADDRESS = {name: number for number, name in enumerate(FUNCTIONS)}
HUGE = 2 << 20  # [bytes] of a page
PRIVATE = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS  # ordinary memory; shared memory has other pages
Threads = Literal["single", "funneled", "serialized", "multiple"]
PROGRESS = (  # of MPICH and those made of it, Intel's, Open MPI's from version 6 on
    "MPICH_ASYNC_PROGRESS", "MPIR_CVAR_ASYNC_PROGRESS", "I_MPI_ASYNC_PROGRESS", "OMPI_ASYNC_PROGRESS", "OPAL_ASYNC_PROGRESS",
)  # fmt: skip

Found = TypeVar("Found")
Typed = tuple[object, Callable[..., ir.Value]] | None  # of an intrinsic: signature, and what writes its instructions


@intrinsic
def call(_context: object, address: object, arguments: object) -> Typed:
    """Calls the function at an address with a tuple of 64-bit arguments; returns its 32-bit result."""
    if not (isinstance(address, types.Integer) and isinstance(arguments, types.UniTuple) and arguments.dtype == types.int64):
        return None

    def emit(_context: object, builder: ir.IRBuilder, signature: Any, values: Sequence[ir.Value]) -> ir.Value:
        long, count = ir.IntType(64), signature.args[1].count
        kind = ir.FunctionType(ir.IntType(32), [long] * count)
        function = builder.inttoptr(values[0], kind.as_pointer())
        return builder.call(function, [builder.extract_value(values[1], i) for i in range(count)])

    return types.int32(address, arguments), emit


@intrinsic
def seconds(_context: object, address: object) -> Typed:
    """Calls the function without arguments at an address that gives a double: MPI_Wtime."""
    if not isinstance(address, types.Integer):
        return None

    def emit(_context: object, builder: ir.IRBuilder, _signature: object, values: Sequence[ir.Value]) -> ir.Value:
        kind = ir.FunctionType(ir.DoubleType(), [])
        return builder.call(builder.inttoptr(values[0], kind.as_pointer()), [])

    return types.float64(address), emit


class Raw:
    """A communicator with the addresses and handles for compiled loops.

    addresses (functions,) int64, by `ADDRESS`; comm, byte, single, double, sum: handles; thread_level: as MPI granted it, as a word.
    """

    def __init__(self, comm: "MPI.Comm", mpi: ModuleType, addresses: Integers) -> None:
        self._comm, self._mpi, self.addresses = comm, mpi, addresses
        self.rank, self.size = int(comm.rank), int(comm.size)
        handles = (comm, mpi.BYTE, mpi.FLOAT, mpi.DOUBLE, mpi.SUM)
        self.comm, self.byte, self.single, self.double, self.sum = (_signed(mpi._handleof(one)) for one in handles)
        self.request_size, self.status_size = mpi._sizeof(mpi.Request), mpi._sizeof(mpi.Status)
        levels = {mpi.THREAD_SINGLE: "single", mpi.THREAD_FUNNELED: "funneled", mpi.THREAD_SERIALIZED: "serialized"}
        self.thread_level = levels.get(mpi.Query_thread(), "multiple")

    def of(self, ranks: Sequence[int]) -> "Raw | None":
        """Some of the ranks in this order, for each of them; None for the others. All ranks call it."""
        ours = self.rank in ranks
        part = self._comm.Split(0 if ours else self._mpi.UNDEFINED, ranks.index(self.rank) if ours else 0)
        return None if part == self._mpi.COMM_NULL else Raw(part, self._mpi, self.addresses)

    def communicator(self) -> "tuple[MPI.Comm, ModuleType]":
        """mpi4py's communicator, and mpi4py."""
        return self._comm, self._mpi

    def together(self, times: Floats) -> Floats:
        """The arrays of all ranks (ranks, ...), on every rank."""
        found = np.empty((self.size, *times.shape))
        self._comm.Allgather(np.ascontiguousarray(times), found)
        return found

    def told(self, value: float) -> float:
        """A number of rank 0, on every rank."""
        return float(self._comm.bcast(value, 0))

    def texts(self, text: str) -> list[str]:
        """A text of every rank, on every rank."""
        return list(self._comm.allgather(text))

    def on_first(self, act: Callable[[], Found]) -> Found | None:
        """The result of `act` on rank 0, which alone calls it; None on the others. A `Mistake` of it is raised on every rank."""
        found, problem = None, ""
        if self.rank == 0:
            try:
                found = act()
            except Mistake as mistake:
                problem = str(mistake)
        if problem := self.texts(problem)[0]:
            raise Mistake(problem)
        return found

    def now(self) -> float:
        """MPI's clock [s]."""
        return float(self._mpi.Wtime())

    def barrier(self) -> None:
        """Returns when all ranks have called it."""
        self._comm.Barrier()

    def memory(self, size: int, allocated: bool) -> "MpiWindow":
        """`size` bytes of every rank, open to one-sided access of the others; every rank calls it."""
        return MpiWindow(self._comm, self._mpi, size, allocated)

    def objects(self, way: PassingMethod, into: Arrays) -> tuple[Send, Receive]:
        """Functions of mpi4py that send Python objects to a rank and receive them from one: see `object_passing`."""
        return object_passing(self._comm, way, into)

    def abort(self, text: str) -> None:
        """Ends all ranks, which would otherwise wait for this one for ever."""
        os.write(2, f"steppe: rank {self.rank}: {text}\n".encode())
        self._comm.Abort(1)

    def close(self) -> None:
        """Ends MPI."""
        self._mpi.Finalize()


class MpiWindow:
    """An MPI window: bytes (size,) of each rank for put, get and accumulate of the others, under a lock that all share.

    allocated: by MPI, which shares memory between ranks of a host where it can; otherwise ordinary memory of this process.
    handle: of the window; bytes: of this rank. All ranks make and close it together.
    """

    def __init__(self, comm: "MPI.Comm", mpi: ModuleType, size: int, allocated: bool) -> None:
        self._own = None if allocated else page_buffer(size)
        self._window = mpi.Win.Allocate(size, 1, comm=comm) if self._own is None else mpi.Win.Create(self._own, 1, comm=comm)
        self.bytes = np.frombuffer(self._window.tomemory(), np.uint8)
        self.bytes[:] = 1
        self.handle = _signed(mpi._handleof(self._window))
        comm.Barrier()  # no rank reads bytes that are not written yet
        self._window.Lock_all()

    def close(self) -> None:
        """Frees the window."""
        self._window.Unlock_all()
        self._window.Free()


def progress_settings() -> list[str]:
    """Variables that ask the MPI library for asynchronous progress, as NAME=value; empty if there are none."""
    return [f"{name}={value}" for name in PROGRESS if (value := os.environ.get(name, "")) not in ("", "0", "no", "false", "off")]


def open_raw(launch: Launch, threads: Threads = "single") -> Raw:
    """Joins all ranks, with the thread level asked for, which decides what a message costs.

    Raises
    ------
    Mistake
        There is no MPI library, it belongs to another launcher, or MPI has begun already.
    Failure
        Functions of the library are not found.
    """
    library = find_library()
    check_pair(launch, library)
    from mpi4py import MPI

    if MPI.Is_initialized():
        raise Mistake("MPI has begun already, with another thread level. Measure in separate processes: `steppe measure messages`.")
    initialise(launch, library, getattr(MPI, f"THREAD_{threads.upper()}"))
    if library.file is None:
        raise Failure("The system does not show which MPI library is loaded: its functions cannot be found.")
    return Raw(MPI.COMM_WORLD.Dup(), MPI, _addresses(None if launch.bridged else str(library.file)))


def _addresses(path: str | None) -> Integers:
    held = ctypes.CDLL(path)
    try:
        return np.array([ctypes.cast(getattr(held, f"MPI_{name}"), ctypes.c_void_p).value for name in FUNCTIONS], np.int64)
    except AttributeError as error:
        raise Failure(f'"{path}" lacks a function of MPI: {error}.') from None


def _signed(handle: int) -> np.int64:
    """The 64 bits of a handle, for a compiled loop."""
    return np.uint64(handle % 2**64).astype(np.int64)


def page_buffer(size: int, touched: bool = True) -> Bytes:
    """Bytes on small pages of their own, written once: huge pages, which numpy asks for, carry messages half as fast again.

    Not touched: a page is in memory only after its first read or write.
    """
    memory = mmap.mmap(-1, max(size, 1), flags=PRIVATE)
    if hasattr(mmap, "MADV_NOHUGEPAGE"):
        memory.madvise(mmap.MADV_NOHUGEPAGE)
    found = np.frombuffer(memory, np.uint8)
    if touched:
        found[:] = 1
    return found


def huge_buffer(size: int) -> Bytes | None:
    """Bytes on pages of 2 MiB, written once; None if the system has none."""
    if not hasattr(mmap, "MADV_HUGEPAGE"):
        return None
    whole = -(-max(size, 1) // HUGE) * HUGE
    memory = mmap.mmap(-1, whole + HUGE, flags=PRIVATE)
    try:
        memory.madvise(mmap.MADV_HUGEPAGE)
    except OSError:
        return None
    found = np.frombuffer(memory, np.uint8)
    begin = -found.ctypes.data % HUGE
    found = found[begin : begin + whole]
    found[:] = 1
    return found[:size] if _is_huge(int(found.ctypes.data)) else None


def _is_huge(address: int) -> bool:
    """True if the mapping of an address has huge pages: the system may refuse them silently."""
    try:
        lines = Path("/proc/self/smaps").read_text(encoding="utf-8").splitlines()
    except OSError:
        return False
    inside = False
    for line in lines:
        first = line.split(None, 1)[0]
        if "-" in first:
            low, _, high = first.partition("-")
            inside = int(low, 16) <= address < int(high, 16)
        elif inside and first == "AnonHugePages:":
            return int(line.split()[1]) > 0
    return False


def pointers(arrays: Sequence[Array]) -> tuple[int, ...]:
    """The addresses of arrays."""
    return tuple(int(array.ctypes.data) for array in arrays)
