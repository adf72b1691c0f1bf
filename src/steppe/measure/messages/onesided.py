"""One-sided operations: the time until an operation of rank 0 on memory of rank 1 is complete. Importing this imports Numba.

rank 0  put, get or accumulate, then flush                          the owner waits in MPI
rank 0  the same, once, while the owner computes outside of MPI     does the library proceed alone, or wait for the owner?
"""

# Numba declares types for some of its functions only.
# mypy: disable-error-code="untyped-decorator, no-untyped-call, no-any-return, call-arg, var-annotated, unreachable"

from collections.abc import Callable

import numpy as np
from numba import njit

from steppe.array_types import Floats
from steppe.comm.raw import ADDRESS, MpiWindow, Raw, call, seconds
from steppe.measure.messages.loops import Operation, Port, do_work, port_of
from steppe.measure.messages.plan import ALLOCATED, COMPUTES, WORK, Task

TAG = 8
ASIDE = 1e-3  # [s] after which rank 0 begins: the owner computes by then
FUNCTIONS = {"put": "Put", "get": "Get", "accumulate": "Accumulate"}
OWNER = np.int64(1)
_WTIME, _BARRIER, _SEND, _RECV, _FLUSH = (ADDRESS[name] for name in ("Wtime", "Barrier", "Send", "Recv", "Win_flush"))


@njit(cache=True)
def one_sided(port: Port, operation: Operation, message: tuple[np.int64, np.int64], work: float, times: Floats, k: int, cost: float) -> int:
    """An operation on memory of rank 1 and its flush, timed on rank 0, k of them a block.

    Rank 1 waits for a message; with `work` > 0 it first reads the clock for so many seconds in each block, and does not call MPI.
    operation: function, its arguments, window; message: addresses of a buffer and of a status.
    """
    (f, comm, byte, rank), (function, arguments, memory), (buffer, status), bad, nothing = port, operation, message, 0, np.int64(0)
    for block in range(times.size):
        if block == 0 or work > 0.0:
            bad += call(f[_BARRIER], (comm,)) != 0
        do_work(f, work if rank == 1 else min(work, ASIDE))
        if rank == 0:
            begin = seconds(f[_WTIME])
            for _ in range(k):
                bad += call(function, arguments) != 0
                bad += call(f[_FLUSH], (np.int64(1), memory)) != 0
            times[block] = (seconds(f[_WTIME]) - begin - cost) / k
        if work > 0.0 or block == times.size - 1:
            if rank == 0:
                bad += call(f[_SEND], (buffer, nothing, byte, np.int64(1), np.int64(TAG), comm)) != 0
            else:
                bad += call(f[_RECV], (buffer, nothing, byte, nothing, np.int64(TAG), comm, status)) != 0
                times[block] = 0.0
    return bad


class OneSided:
    """The windows of two ranks, of `largest` bytes each, made at first use. Both ranks call all methods together."""

    def __init__(self, raw: Raw, largest: int) -> None:
        self._raw, self._largest = raw, largest
        self._windows: dict[bool, MpiWindow] = {}
        self._status = np.zeros(raw.status_size, np.uint8)

    def memory(self, allocated: bool) -> MpiWindow:
        """The window whose memory MPI allocated, or the one with memory of the process."""
        if allocated not in self._windows:
            self._windows[allocated] = self._raw.memory(self._largest, allocated)
        return self._windows[allocated]

    def loop(self, task: Task, buffer: np.int64, cost: float) -> Callable[[Floats, int], int]:
        """The loop of a task. buffer: address from which rank 0 sends, or into which it receives."""
        raw, f = self._raw, self._raw.addresses
        memory = self.memory(task.variant.startswith(ALLOCATED))
        function = f[ADDRESS[FUNCTIONS[task.operation]]]
        n, kind = (task.bytes // 8, raw.double) if task.operation == "accumulate" else (task.bytes, raw.byte)
        ends = (raw.sum, memory.handle) if task.operation == "accumulate" else (memory.handle,)
        arguments = tuple(np.int64(one) for one in (buffer, n, kind, OWNER, 0, n, kind, *ends))
        operation, message = (function, arguments, np.int64(memory.handle)), (buffer, np.int64(self._status.ctypes.data))
        work = WORK if task.variant.endswith(COMPUTES) else 0.0
        return lambda times, k: int(one_sided(port_of(raw), operation, message, work, times, k, cost))

    def close(self) -> None:
        """Frees the windows."""
        for memory in self._windows.values():
            memory.close()
        self._windows.clear()
