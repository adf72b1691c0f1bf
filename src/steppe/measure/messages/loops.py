"""The timed loops, and those that compare clocks and begin by them: compiled, cached on disk. Importing this imports Numba.

Each fills `times` (blocks,) with seconds an operation and returns the number of calls that failed. A block has `k` operations; the cost
of reading the clock is subtracted.

    port    addresses of MPI's functions, communicator, type of a byte, rank: see `port_of`
    memory  addresses: of two buffers, (of requests,) of statuses

The loops call MPI alone.
"""

# Numba declares types for some of its functions only.
# mypy: disable-error-code="untyped-decorator, no-untyped-call, no-any-return, call-arg, var-annotated, unreachable"

import numpy as np
from numba import njit

from steppe.array_types import Floats, Integers
from steppe.comm.raw import ADDRESS, Raw, call, seconds
from steppe.errors import Failure
from steppe.measure.messages.plan import WINDOW

TAG = 7
READING = 8  # [bytes] of a time
_WTIME, _WTICK, _BARRIER, _SEND, _RECV = (ADDRESS[name] for name in ("Wtime", "Wtick", "Barrier", "Send", "Recv"))
_ISEND, _IRECV, _WAIT, _WAITALL = (ADDRESS[name] for name in ("Isend", "Irecv", "Wait", "Waitall"))
Int = np.int64
Port = tuple[Integers, np.int64, np.int64, np.int64]
Memory = tuple[Integers, Integers, np.int64]
Arguments = tuple[np.int64, ...]
Reading = tuple[Floats, np.int64, np.int64]  # memory for a time, its address, address of a status
Operation = tuple[np.int64, Arguments, np.int64]  # function, its arguments, communicator or window


def of_all(raw: Raw, times: Floats, bad: int) -> Floats:
    """The times of all ranks (ranks, times) on every rank.

    Raises
    ------
    Failure
        Some rank had calls that failed, `bad` of them here. On every rank.
    """
    each = raw.together(np.append(times, bad))
    if each[:, -1].any():
        raise Failure(f"MPI failed in {each[:, -1].sum():.0f} calls.")
    return np.asarray(each[:, :-1])


def port_of(raw: Raw) -> Port:
    """The port of the ranks that messages pass between."""
    return raw.addresses, Int(raw.comm), Int(raw.byte), Int(raw.rank)


@njit(cache=True)
def ticks(f: Integers, found: Floats) -> None:
    """Fills `found` (n,) with differences of successive readings of the clock [s]: TICK1."""
    before = seconds(f[_WTIME])
    for i in range(found.size):
        now = seconds(f[_WTIME])
        found[i] = now - before
        before = now


@njit(cache=True)
def empty(f: Integers, times: Floats, k: int, cost: float) -> int:
    """The loop itself, with MPI_Wtick, which returns a constant, in place of an operation."""
    for block in range(times.size):
        begin = seconds(f[_WTIME])
        for _ in range(k):
            seconds(f[_WTICK])
        times[block] = (seconds(f[_WTIME]) - begin - cost) / k
    return 0


@njit(cache=True)
def do_work(f: Integers, work: float) -> None:
    """Reads the clock for `work` [s]. It does not call MPI, so it hides only messages that the library or the network moves alone."""
    if work > 0.0:
        end = seconds(f[_WTIME]) + work
        while seconds(f[_WTIME]) < end:
            pass


@njit(cache=True)
def ping_pong(
    port: Port, sizes: tuple[np.int64, np.int64, np.int64], memory: tuple[Integers, np.int64], times: Floats, k: int, cost: float
) -> int:
    """A round trip between ranks 0 and 1, by the number of ways. sizes: bytes there, bytes back, ways."""
    (f, comm, byte, rank), (there, back, ways), (buffers, status), bad = port, sizes, memory, 0
    call(f[_BARRIER], (comm,))
    for block in range(times.size):
        begin = seconds(f[_WTIME])
        for _ in range(k):
            if rank == 0:
                bad += call(f[_SEND], (buffers[0], there, byte, 1, TAG, comm)) != 0
                bad += call(f[_RECV], (buffers[1], back, byte, 1, TAG, comm, status)) != 0
            elif rank == 1:
                bad += call(f[_RECV], (buffers[1], there, byte, 0, TAG, comm, status)) != 0
                bad += call(f[_SEND], (buffers[0], back, byte, 0, TAG, comm)) != 0
        times[block] = (seconds(f[_WTIME]) - begin - cost) / (ways * k)
    return bad


@njit(cache=True)
def window(port: Port, n: np.int64, memory: Memory, times: Floats, k: int, cost: float) -> int:
    """The share of one message of n bytes in `WINDOW` of them one way, from rank 0 to 1, with one acknowledgement."""
    (f, comm, byte, rank), (buffers, requests, statuses), bad = port, memory, 0
    call(f[_BARRIER], (comm,))
    for block in range(times.size):
        begin = seconds(f[_WTIME])
        for _ in range(k):
            for i in range(WINDOW):
                if rank == 0:
                    bad += call(f[_ISEND], (buffers[0], n, byte, 1, TAG, comm, requests[i])) != 0
                elif rank == 1:
                    bad += call(f[_IRECV], (buffers[1], n, byte, 0, TAG, comm, requests[i])) != 0
            if rank < 2:
                bad += call(f[_WAITALL], (np.int64(WINDOW), requests[0], statuses)) != 0
            if rank == 0:
                bad += call(f[_RECV], (buffers[1], np.int64(0), byte, 1, TAG, comm, statuses)) != 0
            elif rank == 1:
                bad += call(f[_SEND], (buffers[0], np.int64(0), byte, 0, TAG, comm)) != 0
        times[block] = (seconds(f[_WTIME]) - begin - cost) / (WINDOW * k)
    return bad


@njit(cache=True)
def window_both(port: Port, n: np.int64, memory: Memory, times: Floats, k: int, cost: float) -> int:
    """The share of one message of n bytes in `WINDOW` each way at once between ranks 0 and 1, with one acknowledgement each way."""
    (f, comm, byte, rank), (buffers, requests, statuses), bad = port, memory, 0
    other = np.int64(1) - rank
    call(f[_BARRIER], (comm,))
    for block in range(times.size):
        begin = seconds(f[_WTIME])
        for _ in range(k):
            if rank < 2:
                for i in range(WINDOW):
                    bad += call(f[_IRECV], (buffers[1], n, byte, other, TAG, comm, requests[i])) != 0
                for i in range(WINDOW):
                    bad += call(f[_ISEND], (buffers[0], n, byte, other, TAG, comm, requests[WINDOW + i])) != 0
                bad += call(f[_WAITALL], (np.int64(2 * WINDOW), requests[0], statuses)) != 0
                bad += call(f[_IRECV], (buffers[1], np.int64(0), byte, other, TAG, comm, requests[0])) != 0
                bad += call(f[_ISEND], (buffers[0], np.int64(0), byte, other, TAG, comm, requests[1])) != 0
                bad += call(f[_WAITALL], (np.int64(2), requests[0], statuses)) != 0
        times[block] = (seconds(f[_WTIME]) - begin - cost) / (2 * WINDOW * k)
    return bad


@njit(cache=True)
def exchange(port: Port, n: np.int64, memory: Memory, work: float, times: Floats, k: int, cost: float) -> int:
    """The time of an exchange of n bytes beyond `work` [s], which ranks 0 and 1 do before they wait for it."""
    (f, comm, byte, rank), (buffers, requests, statuses), bad = port, memory, 0
    other = np.int64(1) - rank
    call(f[_BARRIER], (comm,))
    for block in range(times.size):
        begin = seconds(f[_WTIME])
        for _ in range(k):
            if rank < 2:
                bad += call(f[_IRECV], (buffers[1], n, byte, other, TAG, comm, requests[0])) != 0
                bad += call(f[_ISEND], (buffers[0], n, byte, other, TAG, comm, requests[1])) != 0
                do_work(f, work)
                bad += call(f[_WAITALL], (np.int64(2), requests[0], statuses)) != 0
        times[block] = (seconds(f[_WTIME]) - begin - cost) / k - work
    return bad


@njit(cache=True)
def collective(
    f: Integers, operation: Operation, request: tuple[np.int64, np.int64], work: float, times: Floats, k: int, cost: float
) -> int:
    """A collective operation after a barrier, timed on this rank; one that is started is waited for, beyond `work` [s] in between.

    operation: function, arguments, communicator; request: addresses of it, 0 if the operation is not only started, and of a status.
    """
    (function, arguments, comm), bad = operation, 0
    apart = function != f[_BARRIER]
    call(f[_BARRIER], (comm,))
    for block in range(times.size):
        total = 0.0
        for _ in range(k):
            if apart:
                bad += call(f[_BARRIER], (comm,)) != 0
            begin = seconds(f[_WTIME])
            bad += call(function, arguments) != 0
            if request[0] != 0:
                do_work(f, work)
                bad += call(f[_WAIT], request) != 0
            total += seconds(f[_WTIME]) - begin - cost - work
        times[block] = total / k
    return bad


@njit(cache=True)
def pack(f: Integers, function: np.int64, arguments: Arguments, position: Integers, times: Floats, k: int, cost: float) -> int:
    """The packing of a buffer. position: int64 (1,), which packing moves."""
    bad = 0
    for block in range(times.size):
        begin = seconds(f[_WTIME])
        for _ in range(k):
            position[0] = 0
            bad += call(function, arguments) != 0
        times[block] = (seconds(f[_WTIME]) - begin - cost) / k
    return bad


@njit(cache=True)
def ask(port: Port, other: np.int64, memory: Reading, found: Floats) -> int:
    """Asks another rank for its time, again and again. found (n, 3) [s]: own time, the other's, own time.

    memory: float64 (1,) for the other's time, its address, address of a status.
    """
    (f, comm, byte, _), (theirs, at, status), bad = port, memory, 0
    for i in range(found.shape[0]):
        found[i, 0] = seconds(f[_WTIME])
        bad += call(f[_SEND], (at, np.int64(0), byte, other, TAG, comm)) != 0
        bad += call(f[_RECV], (at, np.int64(READING), byte, other, TAG, comm, status)) != 0
        found[i, 2] = seconds(f[_WTIME])
        found[i, 1] = theirs[0]
    return bad


@njit(cache=True)
def answer(port: Port, other: np.int64, memory: Reading, n: int) -> int:
    """Sends another rank the time, n times; memory as in `ask`."""
    (f, comm, byte, _), (mine, at, status), bad = port, memory, 0
    for _ in range(n):
        bad += call(f[_RECV], (at, np.int64(0), byte, other, TAG, comm, status)) != 0
        mine[0] = seconds(f[_WTIME])
        bad += call(f[_SEND], (at, np.int64(READING), byte, other, TAG, comm)) != 0
    return bad


@njit(cache=True)
def collective_at(
    f: Integers, function: np.int64, arguments: tuple[np.int64, ...], first: float, width: float, begins: Floats, ends: Floats
) -> int:
    """A collective operation, begun at `first`, `first + width` ... of this rank's clock [s].

    begins, ends (n,): when it began and ended on this rank, after the time at which it was due [s].
    """
    bad = 0
    for i in range(begins.size):
        due = first + i * width
        now = seconds(f[_WTIME])
        while now < due:
            now = seconds(f[_WTIME])
        begins[i] = now - due
        bad += call(function, arguments) != 0
        ends[i] = seconds(f[_WTIME]) - due
    return bad
