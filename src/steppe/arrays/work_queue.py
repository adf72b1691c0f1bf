"""A queue of numbered tasks from which ranks take chunks, so that uneven tasks are shared out evenly."""

from collections.abc import Iterator

import numpy as np

from steppe.arrays.global_array import GlobalArray
from steppe.arrays.site import site_of
from steppe.comm import World
from steppe.errors import ArrayError

ELEMENTS = 8  # of a page: a line of the cache
SHARE = 3  # a chunk is the part 1 / (SHARE x ranks) of the tasks that are left


class WorkQueue:
    """Tasks 0 .. n - 1; each is given to one rank. Making and resetting are collective, taking is not.

    Chunks are large at first and then become smaller (guided self-scheduling, Polychronopoulos and Kuck 1987), with `least` tasks at least.
    within_host: the ranks of each host have n tasks of their own, which they take without a message.

    Raises
    ------
    ArrayError
        n is negative, or differs between ranks.

    Examples
    --------
    >>> from steppe.arrays import WorkQueue, open_world
    >>> with open_world() as world:
    ...     queue = WorkQueue(world, 10, least=4)
    ...     print([list(chunk) for chunk in queue])
    [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]
    """

    def __init__(self, world: World, n: int, least: int = 1, within_host: bool = False) -> None:
        if not all(isinstance(each, int | np.integer) for each in (n, least)) or n < 0 or least < 1:
            raise ArrayError(f"A queue has {n} tasks in chunks of at least {least}. Expected whole numbers, 0 or more and 1 or more.")
        site = site_of(world)
        self.n, self._least = n, min(least, max(n, 1))
        self._ranks = len(site.mates) if within_host else world.size
        self._leads = (site.row if within_host else world.rank) == 0
        self._at = ELEMENTS * site.mates[0] if within_host else 0  # of the counter: each rank has a page, which only a host's first uses
        self._next = GlobalArray(
            world, ELEMENTS * world.size, "int64", layout="wrapped", page=8 * ELEMENTS, name=f"queue of {n} tasks{' a host' * within_host}"
        )
        self._seen = 0  # the first task of the last chunk: never too large

    def take(self) -> range:
        """The next chunk of tasks; empty when none is left."""
        seen = self._seen  # another thread may take a chunk, too
        if seen >= self.n:
            return range(self.n, self.n)
        chunk = max(self._least, (self.n - seen) // (SHARE * self._ranks))
        found = self._next.update([self._at], [chunk], fetch=True)
        assert found is not None
        self._seen = first = min(int(found[0]), self.n)
        return range(first, min(first + chunk, self.n))

    def __iter__(self) -> Iterator[range]:
        """The chunks of this rank, until no task is left; none in a second loop without `reset`."""
        while chunk := self.take():
            yield chunk

    def reset(self) -> None:
        """Puts all tasks back, when every rank has called it."""
        self._next.sync()
        if self._leads:
            self._next.scatter([self._at], [0])
        self._next.sync()
        self._seen = 0
