"""Ranks as threads that do what a test tells them, one after the other or all together."""

from collections.abc import Callable
from queue import Queue
from threading import Thread
from typing import Any

from steppe.comm import World
from steppe.testing import run_threads

Work = Callable[[World], Any]


class Crew:
    """Ranks on pretended hosts, each waiting for work. hosts: the name of the host of each rank."""

    def __init__(self, hosts: list[str]) -> None:
        self.ranks = range(len(hosts))
        self._work: list[Queue[Work | None]] = [Queue() for _ in self.ranks]
        self._done: list[Queue[Any]] = [Queue() for _ in self.ranks]
        self._thread = Thread(target=run_threads, args=(len(hosts), self._rank, 60.0, hosts))
        self._thread.start()

    def _rank(self, world: World) -> None:
        while (work := self._work[world.rank].get()) is not None:
            try:
                self._done[world.rank].put(work(world))
            except Exception as error:
                self._done[world.rank].put(error)

    def one(self, rank: int, work: Work) -> Any:
        """The result of the work of one rank, or its exception."""
        self._work[rank].put(work)
        return self._done[rank].get(timeout=60.0)

    def all(self, work: Work) -> list[Any]:
        """The results of work that all ranks do at once, by rank."""
        for queue in self._work:
            queue.put(work)
        return [queue.get(timeout=60.0) for queue in self._done]

    def close(self) -> None:
        """Ends the ranks."""
        for queue in self._work:
            queue.put(None)
        self._thread.join()
