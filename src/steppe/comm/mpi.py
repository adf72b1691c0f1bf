"""The world of ranks that are processes, over MPI. Buffers only."""

import atexit
import itertools
import os
import sys
import threading
import time
import warnings
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from steppe.array_types import Array, Integers
from steppe.comm.fail import RankLocation, fail
from steppe.comm.launch import Launch, Library, check_pair, check_size, find_library
from steppe.comm.layout import ABOUT, GatherLayout, about, known_layout, layout_of, names
from steppe.comm.leftovers import sweep
from steppe.comm.passing import PART, MpiMessage, MpiPersistent
from steppe.comm.wake import Wake
from steppe.comm.world import (
    ClosedAtEnd,
    Messages,
    Operation,
    check_length,
    check_parts,
    check_rank,
    check_summable,
    check_target,
    native,
)
from steppe.errors import Exit, Failure, Mistake

if TYPE_CHECKING:
    from mpi4py import MPI

GATHER_TAG, PARTS_TAG = 1_000, 1_001  # of the parts of a large gather and of an exchange; tags above belong to this file
NAP = 0.005  # [s] longest between two tests of a request, where no rank can be woken
AWAKE = 0.0001  # [s] before the first nap of a rank that watches others: those that arrive together do not sleep
SHORT_NAP = 0.001  # [s] the same, where other ranks are about to arrive; a test takes a thirtieth of that
NAPS = 8  # of a wait: so a rank wakes by an eighth of it too late
FORWARDED = 0.2  # [s] for a launcher to forward a rank's last line, which it may lose after the end
LAST_WAIT = 10.0  # [s] for the end that another rank has started
MANY = 256  # messages under way, from which on finished sends are freed


def open_mpi(launch: Launch, host: str | None = None, on_abort: Callable[[int], None] = lambda code: None) -> "Mpi":
    """Initialises MPI and returns the world of all ranks. host: replaces the name of this host (tests).

    on_abort: called with the exit code by the rank that ends all ranks, just before: launchers do not always pass it on.

    Raises
    ------
    Mistake
        There is no MPI library, or it is not of the launcher's kind.
    """
    library: Library = find_library()
    check_pair(launch, library)
    from mpi4py import MPI

    if MPI.Is_finalized():
        raise Mistake("MPI has ended in this process, and begins once. Open one world, and leave it at the end of the program.")
    ours = not MPI.Is_initialized()
    if ours:
        initialise(launch, library, MPI.THREAD_SERIALIZED)
    else:
        check_size(launch, library, MPI.COMM_WORLD.size)
    try:
        return _guarded(Mpi(MPI.COMM_WORLD.Dup(), ours, host, on_abort))
    except BaseException as error:  # the other ranks wait for this one
        os.write(2, f"steppe: rank {launch.rank} cannot join the others: {type(error).__name__}: {error}\n".encode())
        MPI.COMM_WORLD.Abort(Exit.FAILURE)
        raise


def initialise(launch: Launch, library: Library, level: int) -> None:
    """Begins MPI at a thread level.

    Raises
    ------
    Mistake
        The library does not see the ranks that the launcher started; MPI is finalised before.
    """
    from mpi4py import MPI

    if library.name == "MPICH":
        sweep()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # mpi4py's own doubt about the launcher: check_size knows
        MPI.Init_thread(level)
    try:
        check_size(launch, library, MPI.COMM_WORLD.size)
    except Mistake:
        MPI.Finalize()
        raise


def _guarded(world: "Mpi") -> "Mpi":
    """Makes a rank that raises, or ends without `close`, end the other ranks, which would wait for it for ever."""

    def of_python(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        fail(world, RankLocation(), error, debug=True)

    def of_thread(arguments: threading.ExceptHookArgs) -> None:
        fail(world, RankLocation(), arguments.exc_value or arguments.exc_type(), debug=True)

    sys.excepthook, threading.excepthook = of_python, of_thread
    atexit.register(world.leave)
    return world


class Mpi(ClosedAtEnd):
    """The ranks of a communicator.

    Parameters
    ----------
    comm
        Of mpi4py; used by this world alone.
    finalise
        `close` ends MPI. A rank that failed would wait for ever in mpi4py's own end, at the exit of the interpreter.
    host
        The name of the host, the same for all its ranks; default: of this machine.
    on_abort
        Called with the exit code before `abort` ends all ranks.
    """

    def __init__(
        self, comm: "MPI.Intracomm", finalise: bool = False, host: str | None = None, on_abort: Callable[[int], None] = lambda code: None
    ) -> None:
        from mpi4py import MPI

        super().__init__()
        self._mpi = MPI
        self._comm = comm
        self._finalise = finalise
        self.host = host
        self._on_abort = on_abort
        self._closed = False
        self._live: dict[int, MpiMessage] = {}  # messages under way, so that their arrays stay alive
        self._persistent: set[MpiPersistent] = set()
        self._kept: list[tuple[MPI.Request, Array | None]] = []  # reductions that an error has left under way
        self.rank: int = comm.rank
        self.size: int = comm.size
        self._wake = Wake(self, host)

    def send(self, array: Array, to: int, tag: int = 0) -> MpiMessage:
        """Starts to send a copy of `array`."""
        check_rank(to, self.size)
        copy = np.array(array, order="C")
        return self._pass("", copy, [self._comm.Isend(part, to, tag) for part in self._parts(copy)])

    def receive(self, into: Array, source: int, tag: int = 0) -> MpiMessage:
        """Starts to fill `into`."""
        check_rank(source, self.size)
        check_target(into)
        what = f"from rank {source}, tag {tag}"
        return self._pass(what, into, [self._comm.Irecv(part, source, tag) for part in self._parts(into)])

    def persistent(self, receives: Messages, sends: Messages, tag: int = 0) -> MpiPersistent:
        """Prepares messages once, in the library."""
        for other, array in (*receives, *sends):
            check_rank(other, self.size)
            check_target(array)

        def prepared(what: str, array: Array, prepare: "Callable[..., MPI.Prequest]", other: int) -> MpiMessage:
            return MpiMessage(self.rank, what, array, [prepare(part, other, tag) for part in self._parts(array)], self._end)

        incoming = [prepared(f"from rank {source}, tag {tag}", into, self._comm.Recv_init, source) for source, into in receives]
        outgoing = [prepared("", array, self._comm.Send_init, to) for to, array in sends]
        found = MpiPersistent(incoming, outgoing, self._persistent.discard)
        self._persistent.add(found)
        return found

    def broadcast(self, array: Array, root: int = 0) -> None:
        """Fills `array` with the one of `root`."""
        check_rank(root, self.size)
        check_target(array)
        for part in self._parts(array):
            self._comm.Bcast(part, root)

    def call(self, array: Array) -> None:
        """Fills `array` with the one of rank 0; sleeps until it is sent."""
        check_target(array)
        if self.rank and self._wake.works:
            self._wake.sleep()
        requests = [self._comm.Ibcast(part, 0) for part in self._parts(array)]
        if self._wake.works:
            if self.rank == 0:  # after the message has started: a rank that wakes on this processor would wait for it there
                self._wake.rouse()
            self._mpi.Request.Waitall(requests)
            return
        for request in requests:
            self._await(request, NAP)

    def gather(self, array: Array, root: int = 0, lengths: Sequence[int] | None = None) -> list[Array] | None:
        """The arrays of all ranks as parts of one new array, on `root`.

        Raises
        ------
        Failure
            The arrays differ in dtype, or this one differs from its known length.
        """
        check_rank(root, self.size)
        check_length(array, self.rank, lengths)
        array = native(array)
        mine = array if array.flags.c_contiguous else np.array(array, order="C")
        layout = None
        if lengths is not None:
            layout = known_layout(mine.dtype, tuple(lengths))
            if self._fits(layout.longest):  # the path of every map: one message
                whole = np.empty(layout.length, mine.dtype) if self.rank == root else None
                self._comm.Gatherv([mine, self._mpi.BYTE], None if whole is None else [whole, layout.counts, self._mpi.BYTE], root)
                return None if whole is None else [whole[span] for span in layout.spans]
        else:
            abouts = np.empty((self.size, ABOUT), np.int64) if self.rank == root else None
            self._comm.Gather(about(mine.dtype, mine.shape), abouts, root)
            layout = None if abouts is None else layout_of(abouts.tobytes())
        late = None if self._fits(mine.nbytes) else self.send(mine, root, GATHER_TAG)
        part = [mine if late is None else mine.reshape(-1)[:0], self._mpi.BYTE]
        if self.rank != root or layout is None:
            self._comm.Gatherv(part, None, root)
            found = None
        else:
            found = self._take(mine.dtype, layout, part)
        if late is not None:
            late.wait()
        return found

    def _fits(self, size: int) -> bool:
        """True if parts of this size of all ranks fit into one message."""
        return size * self.size <= PART

    def _take(self, dtype: np.dtype[np.generic], layout: GatherLayout, part: list[Any]) -> list[Array]:
        """Receives at the root of a gather: small arrays in one message, large ones one by one."""
        sizes, byte = layout.sizes, self._mpi.BYTE
        if layout.dtypes != {(dtype.kind, dtype.itemsize)}:
            raise Failure(f"Rank {self.rank} gathers {dtype}, but other ranks sent another dtype: {names(layout.dtypes)} in all.")
        whole = np.empty(layout.length, dtype)
        found = [whole[span] for span in layout.spans]
        if self._fits(layout.longest):
            self._comm.Gatherv(part, [whole, sizes, byte], self.rank)
        else:
            together = [size if self._fits(size) else 0 for size in sizes]
            small = np.empty(sum(together), np.uint8)
            large = [self.receive(into, rank, GATHER_TAG) for rank, into in enumerate(found) if not self._fits(sizes[rank])]
            self._comm.Gatherv(part, [small, together, byte], self.rank)
            for target, end, size in zip(found, itertools.accumulate(together), together, strict=True):
                if size:
                    target[:] = small[end - size : end].view(dtype)
            for request in large:
                request.wait()
        return found if layout.flat else [array.reshape(shape) for array, shape in zip(found, layout.shapes, strict=True)]

    def exchange(self, parts: Sequence[Array]) -> list[Array]:
        """The parts of all ranks for this one: lengths first, then one message for each part that is not empty."""
        check_parts(parts, self.size)
        parts = [native(part) for part in parts]
        lengths, theirs = np.array([part.size for part in parts]), np.empty(self.size, np.int64)
        self._comm.Alltoall(lengths, theirs)
        found = [np.empty(length, parts[0].dtype) for length in theirs.tolist()]
        coming = [self.receive(into, rank, PARTS_TAG) for rank, into in enumerate(found) if into.size]
        going = [self.send(part, rank, PARTS_TAG) for rank, part in enumerate(parts) if part.size]
        for message in (*coming, *going):
            message.wait()
        return found

    def reduce(self, array: Array, operation: Operation, asleep: bool = False, watch: Callable[[], None] | None = None) -> Array:
        """Sum, least or greatest over the ranks."""
        check_summable(array, operation)
        result = np.array(native(array), order="C")
        flat = result.reshape(-1)
        if flat.dtype == bool:
            flat = flat.view(np.uint8)
        floats = flat.dtype.kind == "f" and flat.itemsize in (4, 8)
        if floats:
            flat[np.isnan(flat)] = np.nan if operation == "max" else -np.nan
            flat = flat.view(f"i{flat.itemsize}")
            _order(flat)
        op = {"sum": self._mpi.SUM, "min": self._mpi.MIN, "max": self._mpi.MAX}[operation]
        step = max(1, PART // max(1, flat.itemsize))
        for begin in range(0, flat.size, step):
            part = flat[begin : begin + step]
            if asleep or watch:
                self._await(self._comm.Iallreduce(self._mpi.IN_PLACE, part, op), SHORT_NAP, watch, part)
            else:
                self._comm.Allreduce(self._mpi.IN_PLACE, part, op)
        if floats:
            _order(flat)
        return result

    def _await(self, request: "MPI.Request", longest: float, watch: Callable[[], None] | None = None, buffer: Array | None = None) -> None:
        """Tests a request until it is done, in naps that are a part of the wait up to then; with `watch` at first without a nap."""
        begin = time.monotonic()
        while not request.Test():
            waited = time.monotonic() - begin
            if watch and waited < AWAKE:
                continue
            if watch:
                self._kept.append((request, buffer))  # MPI may still write to it if `watch` raises
                watch()
                self._kept.pop()
            time.sleep(min(waited / NAPS, longest))

    def barrier(self) -> None:
        """Returns when all ranks have called it."""
        self._comm.Barrier()

    def agree(self, ok: bool) -> bool:
        """True when `ok` is true on all ranks."""
        return bool(self.reduce(np.array([int(ok)]), "min")[0])

    def abort(self, message: str, code: int = Exit.FAILURE) -> NoReturn:
        """Ends all ranks. The first caller writes the reason on standard error, in one line, and the job ends with its `code`."""
        self.call_ends()
        if self._wake.first():
            self._on_abort(code)
            line = " ".join(message.split())
            os.write(2, f"steppe: {line}\n".encode())
            time.sleep(FORWARDED)
        else:
            time.sleep(LAST_WAIT)
        if not self._closed:  # another thread of this rank may have closed it, and then no rank waits
            self._comm.Abort(code)
        os._exit(code)

    def close(self) -> None:
        """Ends MPI when all ranks have called it; a second call does nothing.

        Raises
        ------
        Failure
            An awaited message did not come, or a message was never received (if the library detects that).
        """
        if self._closed:
            return
        for passing in list(self._live.values()):
            if passing.what and not passing.test():
                raise Failure(f"Rank {self.rank} ends, but still awaits a message {passing.what}.")
            passing.wait()
        for persistent in list(self._persistent):
            persistent.close()
        self.begin_close()
        self._closed = True
        self.barrier()
        self.call_ends()
        self._wake.close()
        try:
            self._comm.Free()
        except self._mpi.Exception as error:
            raise Failure(f"Rank {self.rank} ends with messages that it never received: {' '.join(str(error).split())}.") from None
        if self._finalise:
            self._mpi.Finalize()

    def leave(self) -> None:
        """Ends all ranks at the end of a program that did not close its world."""
        if not self._closed:
            self.abort(f"rank {self.rank} ended without closing its world; the other ranks would wait for it.")

    def _parts(self, array: Array) -> list[list[Any]]:
        flat = _bytes(array)
        return [[flat[begin : begin + PART], self._mpi.BYTE] for begin in range(0, flat.size + 1, PART)]

    def _pass(self, what: str, array: Array, requests: "list[MPI.Request]") -> MpiMessage:
        passing = MpiMessage(self.rank, what, array, requests, self._end)
        if len(self._live) > MANY:
            for other in list(self._live.values()):
                if not other.what:
                    other.test()
        self._live[id(passing)] = passing
        return passing

    def _end(self, passing: MpiMessage) -> None:
        self._live.pop(id(passing), None)


def _order(bits: Integers) -> None:
    """Turns the bits of floats into integers of the same order, or back: MPI compares floats, and would lose NaN.

    NaN becomes the greatest integers, negative NaN the least.
    """
    bits ^= (bits >> (8 * bits.itemsize - 1)) & np.iinfo(bits.dtype).max


def _bytes(array: Array) -> Array:
    return array.reshape(-1).view(np.uint8)
