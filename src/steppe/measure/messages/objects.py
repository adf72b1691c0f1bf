"""Arrays as Python objects: sent as buffers, pickled, and pickled out of band; and packing alone.

The times include Python's calls and its memory: the loops are not compiled.
"""

import pickle
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from steppe.array_types import Floats
from steppe.comm.objects import PassingMethod
from steppe.comm.raw import Raw
from steppe.measure.messages.plan import BUFFERS, DICT, OUT_OF_BAND, PACKING, PARTS, PICKLED, Task

READINGS = 1_000
PROTOCOL = 5
WAYS: dict[str, PassingMethod] = {BUFFERS: "buffers", PICKLED: "pickled", OUT_OF_BAND: "out of band"}


def made(task: Task) -> Any:
    """The object that is sent: an array of float64 of `bytes`, or a dict of `PARTS` arrays with as many bytes together."""
    whole = np.arange(task.bytes // 8, dtype=np.float64)
    return {f"part {i}": part.copy() for i, part in enumerate(np.split(whole, PARTS))} if task.operation == DICT else whole


def object_loop(raw: Raw, task: Task) -> Callable[[Floats, int], int]:
    """The loop of a task: seconds one way (blocks,), of a round trip, or of packing or unpacking on rank 0."""
    thing = made(task)
    arrays = list(thing.values()) if task.operation == DICT else [thing]
    if task.variant in WAYS:
        send, receive = raw.objects(WAYS[task.variant], [np.empty_like(array) for array in arrays])
        sent = arrays if task.variant == BUFFERS else thing

        def round_trip() -> None:
            if raw.rank == 0:
                send(sent, 1)
                receive(1)
            else:
                send(receive(0), 0)

        return partial(_timed, raw, round_trip, 2)
    apart: list[pickle.PickleBuffer] = []
    keep = apart.append if task.variant.endswith(OUT_OF_BAND) else None

    def pack() -> bytes:
        apart.clear()
        return pickle.dumps(thing, PROTOCOL, buffer_callback=keep)

    packed = pack()
    buffers = list(apart)
    work = pack if task.variant.startswith(PACKING) else lambda: pickle.loads(packed, buffers=buffers)
    return partial(_timed, raw, work if raw.rank == 0 else None, 1)


def _timed(raw: Raw, work: Callable[[], object] | None, ways: int, times: Floats, k: int) -> int:
    """Fills `times` (blocks,) with seconds of a work by the number of ways; 0 on a rank without work, which waits in MPI."""
    cost = float(np.median(np.diff([time.perf_counter() for _ in range(READINGS)])))  # of reading Python's clock [s]
    raw.barrier()
    if work is None:
        times[:] = 0.0
        return 0
    for block in range(times.size):
        begin = time.perf_counter()
        for _ in range(k):
            work()
        times[block] = (time.perf_counter() - begin - cost) / (ways * k)
    return 0
