"""Prepares a process as a rank, and opens its world."""

import atexit
import io
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING

from steppe.comm.launch import Launch, find_launch

if TYPE_CHECKING:
    from steppe.comm.world import World

LIBRARY_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
STOPS = (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1)
_kept: list[int] = []
MOST_CORES = 4_096  # of a machine


def prepare_rank(launch: Launch) -> None:
    """Prepares this process as a rank, before it imports a library that starts threads.

    Libraries get one thread. Standard input is empty. Rank 0 has standard output; the output of other ranks goes to standard error with
    their names. Lines are written whole. Requests to stop are stored.
    """
    keep_stops()
    for name in LIBRARY_THREADS:
        os.environ.setdefault(name, "1")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    sys.stdout.flush()
    name_output(launch.rank)


def name_output(rank: int) -> None:
    """Gives standard output to rank 0, and names the lines of all others. Called again, under the bridge, with the rank of the world."""
    if rank == 0:
        sys.stdout, sys.stderr = LineStream(1), LineStream(2)
    else:
        os.dup2(2, 1)
        sys.stdout = sys.stderr = LineStream(2, f"[rank {rank}] ")


def keep_stops() -> None:
    """Stores requests to stop until they are handled. Call it again after MPI has started, whose library takes SIGUSR1 for itself."""
    for number in STOPS:
        signal.signal(number, lambda number, frame: _kept.append(number))


def kept_stops() -> list[int]:
    """The stored requests to stop."""
    return _kept


@contextmanager
def delayed_interrupt() -> Iterator[Callable[[], bool]]:
    """Within, the first Ctrl-C waits for the end, where `KeyboardInterrupt` is raised; a second one interrupts at once.

    Gives a function that says if there was one. Where something else than Python handles Ctrl-C, as in commands, nothing changes.
    """
    asked: list[int] = []

    def ask(number: int, frame: FrameType | None) -> None:
        if asked:
            raise KeyboardInterrupt
        asked.append(number)

    if threading.current_thread() is not threading.main_thread() or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield lambda: False
        return
    signal.signal(signal.SIGINT, ask)
    try:
        yield lambda: bool(asked)
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if asked:
        raise KeyboardInterrupt


def open_world(host: str | None = None, on_abort: Callable[[int], None] = lambda code: None) -> "World":
    """The world of all ranks that a launcher started; without a launcher, of one rank. All ranks call it, once.

    Parameters
    ----------
    host
        Replaces the name of this host (tests).
    on_abort
        Called with the exit code by the rank that ends all ranks, just before: launchers do not always pass it on.

    Raises
    ------
    Mistake
        There is no MPI library, or the launcher belongs to another one.
    """
    launch = find_launch()
    if launch is None:
        from steppe.comm.serial import Serial

        return Serial(host)
    from steppe.comm.mpi import open_mpi

    return open_mpi(launch, host, on_abort)


def cores_of_rank(world: "World", host: str | None = None) -> int:
    """The number of threads that a rank may start, at least 1: its allowed cores, shared with other ranks of the host.

    host: replaces the name of this host (tests).
    """
    import numpy as np

    from steppe.comm.node import nodes

    hosts = nodes(world, host)
    allowed = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else range(os.cpu_count() or 1)
    users = np.zeros((max(hosts) + 1, MOST_CORES), np.int64)
    own = hosts[world.rank], [core for core in allowed if core < MOST_CORES]
    users[own] = 1
    return max(1, int((1.0 / world.reduce(users, "sum")[own]).sum() + 1e-9))


class LineStream(io.TextIOBase):
    """A stream that writes whole lines, each group by one call, so that lines of several ranks never mix."""

    encoding = "utf-8"
    errors = "backslashreplace"

    def __init__(self, file: int, prefix: str = "") -> None:
        self._file = file
        self._prefix = prefix
        self._rest = ""
        self._lock = threading.RLock()  # a handler of signals may write within a write
        atexit.register(self._finish)

    def fileno(self) -> int:
        """The number of the file."""
        return self._file

    def writable(self) -> bool:
        """True."""
        return True

    def write(self, text: str) -> int:
        """Writes the complete lines and stores the rest."""
        with self._lock:
            *lines, self._rest = (self._rest + text).split("\n")
            if lines:
                self._put("".join(f"{self._prefix}{line}\n" for line in lines))
        return len(text)

    def _put(self, text: str) -> None:
        data = text.encode(self.encoding, self.errors)
        while data:
            data = data[os.write(self._file, data) :]

    def _finish(self) -> None:
        with self._lock:
            if self._rest:
                self.write("\n")
