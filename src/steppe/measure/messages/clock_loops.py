"""Compiled loops that compare clocks and begin by them; they call MPI alone. Importing this imports Numba."""

# Numba declares types for some of its functions only.
# mypy: disable-error-code="untyped-decorator, no-untyped-call, no-any-return, call-arg, var-annotated, unreachable"

import numpy as np
from numba import njit

from steppe.array_types import Floats, Integers
from steppe.comm.raw import ADDRESS, call, seconds
from steppe.measure.messages.loops import Port

TAG = 8
READING = 8  # [bytes] of a time
Reading = tuple[Floats, np.int64, np.int64]  # memory for a time, its address, address of a status
_WTIME, _SEND, _RECV = (ADDRESS[name] for name in ("Wtime", "Send", "Recv"))


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
