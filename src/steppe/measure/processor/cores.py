"""Threads that are bound to one core each and begin together."""

import os
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from steppe.measure.processor.streams import wait_until
from steppe.measure.timing.system import addresses

LEAD = 300e-6  # [s] until all threads are awake


class Cores:
    """A thread on each of `cores`; the end of the context ends them."""

    def __init__(self, cores: Sequence[int]) -> None:
        self._f = addresses()
        gate = threading.Barrier(len(cores))
        waiting = list(cores)

        def stand() -> None:
            os.sched_setaffinity(0, {waiting.pop()})  # 0: this thread
            gate.wait()

        self._pool = ThreadPoolExecutor(len(cores), initializer=stand)
        self._moments = [np.zeros(2, np.int64) for _ in cores]
        self.size = len(cores)
        self.time([lambda: None] * self.size)  # each has its thread

    def __enter__(self) -> "Cores":
        return self

    def __exit__(self, *exception: object) -> None:
        self._pool.shutdown()

    def time(self, work: Sequence[Callable[[], object]]) -> float:
        """Seconds from the common beginning to the end of the last thread. work: a function for each thread."""
        gate = threading.Barrier(self.size)  # no thread takes two works
        begin: list[float] = []

        def do(number: int) -> float:
            if gate.wait() == 0:
                begin.append(time.monotonic() + LEAD)
            gate.wait()
            moment = self._moments[number]
            wait_until(self._f, moment, np.int64(moment.ctypes.data), begin[0])
            work[number]()
            return time.monotonic()

        return max(self._pool.map(do, range(self.size))) - begin[0]
