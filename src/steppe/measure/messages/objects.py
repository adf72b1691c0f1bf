"""Arrays as Python objects: sent as buffers, pickled, and pickled out of band; and packing alone.

The times include Python's calls and its memory: the loops are not compiled.
"""

import pickle
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from steppe.comm.objects import PassingMethod
from steppe.comm.raw import Raw
from steppe.measure.laws.family import Floats
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
        return lambda times, k: _round_trips(raw, lambda: send(sent, 1), lambda: receive(1), lambda: send(receive(0), 0), times, k)
    apart: list[pickle.PickleBuffer] = []
    keep = apart.append if task.variant.endswith(OUT_OF_BAND) else None

    def pack() -> bytes:
        apart.clear()
        return pickle.dumps(thing, PROTOCOL, buffer_callback=keep)

    packed = pack()
    buffers = list(apart)
    work = pack if task.variant.startswith(PACKING) else lambda: pickle.loads(packed, buffers=buffers)
    return lambda times, k: _alone(raw, work, times, k)


def _round_trips(raw: Raw, send: Callable[[], Any], receive: Callable[[], Any], answer: Callable[[], Any], times: Floats, k: int) -> int:
    cost = _reading()
    raw.barrier()
    for block in range(times.size):
        begin = time.perf_counter()
        for _ in range(k):
            if raw.rank == 0:
                send()
                receive()
            else:
                answer()
        times[block] = (time.perf_counter() - begin - cost) / (2 * k)
    return 0


def _alone(raw: Raw, work: Callable[[], Any], times: Floats, k: int) -> int:
    """Times of work on rank 0; the other rank waits in MPI."""
    cost = _reading()
    raw.barrier()
    for block in range(times.size if raw.rank == 0 else 0):
        begin = time.perf_counter()
        for _ in range(k):
            work()
        times[block] = (time.perf_counter() - begin - cost) / k
    if raw.rank > 0:
        times[:] = 0.0
    return 0


def _reading() -> float:
    """The cost of reading Python's clock [s]."""
    return float(np.median(np.diff([time.perf_counter() for _ in range(READINGS)])))
