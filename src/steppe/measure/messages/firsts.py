"""A first message beside a later one, on touched and untouched buffers: the cost of paging. Importing this imports Numba.

Each block has new buffers from the system on both ranks. A touched buffer was written once; the pages of the others come into memory when
the message is read and written.
"""

# Numba declares types for some of its functions only.
# mypy: disable-error-code="untyped-decorator, no-untyped-call, no-any-return, call-arg, var-annotated, unreachable"

from collections.abc import Callable

import numpy as np
from numba import njit

from steppe.array_types import Floats
from steppe.comm.raw import ADDRESS, Raw, call, page_buffer, pointers, seconds
from steppe.measure.messages.loops import Port, port_of
from steppe.measure.messages.plan import FIRST, TOUCHED, Task

TAG = 9
BEFORE = 3  # messages before the later one
_WTIME, _BARRIER, _SEND, _RECV = (ADDRESS[name] for name in ("Wtime", "Barrier", "Send", "Recv"))


@njit(cache=True)
def message(port: Port, n: np.int64, buffer: np.int64, status: np.int64, before: int, times: Floats) -> int:
    """n bytes from rank 0 to 1 and an empty answer, after `before` others on the same buffer. times (1,) [s]: of the last one."""
    (f, comm, byte, rank), bad, nothing = port, 0, np.int64(0)
    bad += call(f[_BARRIER], (comm,)) != 0
    for _ in range(before + 1):
        begin = seconds(f[_WTIME])
        if rank == 0:
            bad += call(f[_SEND], (buffer, n, byte, np.int64(1), np.int64(TAG), comm)) != 0
            bad += call(f[_RECV], (buffer, nothing, byte, np.int64(1), np.int64(TAG), comm, status)) != 0
        elif rank == 1:
            bad += call(f[_RECV], (buffer, n, byte, nothing, np.int64(TAG), comm, status)) != 0
            bad += call(f[_SEND], (buffer, nothing, byte, nothing, np.int64(TAG), comm)) != 0
        times[0] = seconds(f[_WTIME]) - begin
    return bad


def first_messages(raw: Raw, task: Task, cost: float) -> Callable[[Floats, int], int]:
    """The loop of a task; a block has one message, whatever its length."""
    status = np.zeros(raw.status_size, np.uint8)
    port = port_of(raw)
    before = 0 if task.variant.startswith(FIRST) else BEFORE

    def loop(times: Floats, _k: int) -> int:
        bad = 0
        for block in range(times.size):
            buffer = page_buffer(task.bytes, TOUCHED in task.variant)
            place = np.int64(pointers([buffer])[0])
            bad += int(message(port, np.int64(task.bytes), place, np.int64(status.ctypes.data), before, times[block : block + 1]))
        times -= cost
        return bad

    return loop
