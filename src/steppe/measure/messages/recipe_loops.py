"""Packing, timed: compiled, kept on disk. Importing this imports Numba."""

# Numba declares types for some of its functions only.
# mypy: disable-error-code="untyped-decorator, no-untyped-call, no-any-return, call-arg, var-annotated, unreachable"

from typing import Any

from numba import njit

from steppe.comm.raw import ADDRESS, call, seconds

_WTIME = ADDRESS["Wtime"]


@njit(cache=True)
def pack(f: Any, function: Any, arguments: Any, position: Any, times: Any, k: int, cost: float) -> int:
    """Seconds in which something is packed, k of them a block (blocks,). position: int64 (1,), which packing moves."""
    bad = 0
    for block in range(times.size):
        begin = seconds(f[_WTIME])
        for _ in range(k):
            position[0] = 0
            bad += call(function, arguments) != 0
        times[block] = (seconds(f[_WTIME]) - begin - cost) / k
    return bad
