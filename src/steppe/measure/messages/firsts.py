"""A first message beside a later one, on touched and untouched buffers: the cost of paging.

Each block has new buffers from the system on both ranks. A touched buffer was written once; the pages of the others come into memory when
the message is read and written.
"""

from collections.abc import Callable

import numpy as np

from steppe.array_types import Floats
from steppe.comm.raw import Raw, page_buffer, pointers
from steppe.measure.messages.loops import ping_pong, port_of
from steppe.measure.messages.plan import FIRST, TOUCHED, Task

BEFORE = 3  # messages before the later one


def new_messages(raw: Raw, size: int, touched: bool, count: int, cost: float) -> tuple[Floats, int]:
    """Times of messages of `size` bytes with empty answers (count,) [s], on buffers fresh from the system; and the calls that failed."""
    buffers, status, times = [page_buffer(size, touched) for _ in range(2)], np.zeros(raw.status_size, np.uint8), np.empty(count)
    where = np.array(pointers(buffers), np.int64)
    sizes = np.int64(size), np.int64(0), np.int64(1)
    return times, int(ping_pong(port_of(raw), sizes, (where, np.int64(status.ctypes.data)), times, 1, cost))


def first_messages(raw: Raw, task: Task, cost: float) -> Callable[[Floats, int], int]:
    """The loop of a task; a block has one message, whatever its length."""
    count = 1 if task.variant.startswith(FIRST) else BEFORE + 1

    def loop(times: Floats, _k: int) -> int:
        bad = 0
        for block in range(times.size):
            each, failed = new_messages(raw, task.bytes, TOUCHED in task.variant, count, cost)
            times[block] = each[-1]
            bad += failed
        return bad

    return loop
