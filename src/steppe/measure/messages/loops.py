"""The loops that are timed: compiled, kept on disk, nothing in them but MPI's functions and its clock. Importing this imports Numba.

Each fills `times` (blocks,) with seconds an operation, a block having `k` of them, the cost of the clock taken off, and gives the number
of calls that failed.
"""

# Numba declares types for some of its functions only.
# mypy: disable-error-code="untyped-decorator, no-untyped-call, no-any-return, call-arg, var-annotated, unreachable"

from typing import Any

import numpy as np
from numba import njit

from steppe.comm.raw import ADDRESS, call, seconds
from steppe.measure.messages.plan import WINDOW

TAG = 7
_WTIME, _WTICK, _BARRIER, _SEND, _RECV = (ADDRESS[name] for name in ("Wtime", "Wtick", "Barrier", "Send", "Recv"))
_ISEND, _IRECV, _WAITALL = (ADDRESS[name] for name in ("Isend", "Irecv", "Waitall"))


@njit(cache=True)
def ticks(f: Any, found: Any) -> None:
    """Differences of successive readings of the clock (n,) [s]: TICK1."""
    before = seconds(f[_WTIME])
    for i in range(found.size):
        now = seconds(f[_WTIME])
        found[i] = now - before
        before = now


@njit(cache=True)
def empty(f: Any, times: Any, k: int, cost: float) -> int:
    """The loop of a block with MPI_Wtick, which gives a constant, in the place of the operation."""
    for block in range(times.size):
        begin = seconds(f[_WTIME])
        for _ in range(k):
            seconds(f[_WTICK])
        times[block] = (seconds(f[_WTIME]) - begin - cost) / k
    return 0


@njit(cache=True)
def ping_pong(
    f: Any, comm: Any, byte: Any, rank: Any, there: Any, back: Any, buffers: Any, status: Any, ways: Any, times: Any, k: int, cost: float
) -> int:
    """A round trip between ranks 0 and 1, over `ways`: `there` bytes one way, `back` the other."""
    bad = 0
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
def window(
    f: Any, comm: Any, byte: Any, rank: Any, n: Any, buffers: Any, requests: Any, statuses: Any, times: Any, k: int, cost: float
) -> int:
    """The share of one message of n bytes in `WINDOW` of them one way, from rank 0 to 1, with one acknowledgement."""
    bad = 0
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
def window_both(
    f: Any, comm: Any, byte: Any, rank: Any, n: Any, buffers: Any, requests: Any, statuses: Any, times: Any, k: int, cost: float
) -> int:
    """The share of one message of n bytes in `WINDOW` each way at once between ranks 0 and 1, with one acknowledgement each way."""
    bad = 0
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
def exchange(
    f: Any,
    comm: Any,
    byte: Any,
    rank: Any,
    n: Any,
    buffers: Any,
    requests: Any,
    statuses: Any,
    work: float,
    times: Any,
    k: int,
    cost: float,
) -> int:
    """What ranks 0 and 1 see of an exchange of n bytes, when both work for `work` seconds before they wait for it.

    The work reads the clock and leaves MPI alone, so that only messages that go on by themselves are hidden behind it.
    """
    bad = 0
    other = np.int64(1) - rank
    call(f[_BARRIER], (comm,))
    for block in range(times.size):
        begin = seconds(f[_WTIME])
        for _ in range(k):
            if rank < 2:
                bad += call(f[_IRECV], (buffers[1], n, byte, other, TAG, comm, requests[0])) != 0
                bad += call(f[_ISEND], (buffers[0], n, byte, other, TAG, comm, requests[1])) != 0
                if work > 0.0:
                    end = seconds(f[_WTIME]) + work
                    while seconds(f[_WTIME]) < end:
                        pass
                bad += call(f[_WAITALL], (np.int64(2), requests[0], statuses)) != 0
        times[block] = (seconds(f[_WTIME]) - begin - cost) / k - work
    return bad


@njit(cache=True)
def collective(f: Any, function: Any, arguments: Any, comm: Any, times: Any, k: int, cost: float) -> int:
    """Any collective operation, each after a barrier, timed alone on this rank; a barrier comes after the one before."""
    bad = 0
    apart = function != f[_BARRIER]
    call(f[_BARRIER], (comm,))
    for block in range(times.size):
        total = 0.0
        for _ in range(k):
            if apart:
                bad += call(f[_BARRIER], (comm,)) != 0
            begin = seconds(f[_WTIME])
            bad += call(function, arguments) != 0
            total += seconds(f[_WTIME]) - begin - cost
        times[block] = total / k
    return bad
