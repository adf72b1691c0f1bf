"""Collective operations that are started, and waited for later. Importing this imports Numba."""

# Numba declares types for some of its functions only.
# mypy: disable-error-code="untyped-decorator, no-untyped-call, no-any-return, call-arg, var-annotated, unreachable"

from typing import Any

from numba import njit

from steppe.comm.raw import ADDRESS, call, seconds

_WTIME, _BARRIER, _WAIT = (ADDRESS[name] for name in ("Wtime", "Barrier", "Wait"))


@njit(cache=True)
def started(
    f: Any, function: Any, arguments: Any, request: Any, status: Any, comm: Any, work: float, times: Any, k: int, cost: float
) -> int:
    """What this rank sees of a collective operation that it starts and waits for, after a barrier, timed alone.

    In between it works for `work` seconds, which do not count: it reads the clock and leaves MPI alone, so that only what goes on by
    itself is hidden.
    """
    bad = 0
    call(f[_BARRIER], (comm,))
    for block in range(times.size):
        total = 0.0
        for _ in range(k):
            bad += call(f[_BARRIER], (comm,)) != 0
            begin = seconds(f[_WTIME])
            bad += call(function, arguments) != 0
            if work > 0.0:
                end = seconds(f[_WTIME]) + work
                while seconds(f[_WTIME]) < end:
                    pass
            bad += call(f[_WAIT], (request, status)) != 0
            total += seconds(f[_WTIME]) - begin - cost - work
        times[block] = total / k
    return bad
