"""Ranks that sleep while they wait, so that their CPU time is work: for machines with fewer cores than ranks."""

import time
from collections.abc import Callable
from typing import Any

import numpy as np

NAP = 1e-4  # [s]


class Napping:
    """A world whose ranks sleep in reductions, barriers and messages that are sent again and again. waited [s]: CPU time of waiting."""

    def __init__(self, world: Any) -> None:
        self._world, self.waited = world, 0.0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._world, name)

    def counted(self, wait: Callable[[], Any]) -> Any:
        """Waits, and adds the CPU time of that."""
        begin = time.thread_time()
        found = wait()
        self.waited += time.thread_time() - begin
        return found

    def reduce(self, array: Any, operation: Any, asleep: bool = False, watch: Any = None) -> Any:
        return self.counted(lambda: self._world.reduce(array, operation, True, watch))

    def barrier(self) -> None:
        self.reduce(np.zeros(1, np.int64), "max")

    def persistent(self, receives: Any, sends: Any, tag: int = 0) -> "NappingMessages":
        return NappingMessages(self._world.persistent(receives, sends, tag), self)


class NappingMessages:
    """Messages for whose end a rank sleeps."""

    def __init__(self, messages: Any, world: Napping) -> None:
        self._messages, self._world = messages, world

    def __getattr__(self, name: str) -> Any:
        return getattr(self._messages, name)

    def wait(self) -> None:
        self._world.counted(self._nap)
        self._messages.wait()

    def _nap(self) -> None:
        while not self._messages.test():
            time.sleep(NAP)
