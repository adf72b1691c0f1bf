"""A queue of numbered tasks from which ranks take chunks, so that uneven tasks are shared out evenly."""

from collections.abc import Iterator

from steppe.arrays.global_array import GlobalArray
from steppe.comm import World
from steppe.errors import ArrayError

SHARE = 3  # a chunk is the part 1 / (SHARE x ranks) of the tasks that are left


class WorkQueue:
    """Tasks 0 .. n - 1; each is given to one rank. Making and resetting are collective, taking is not.

    Chunks are large at first and then become smaller (guided self-scheduling, Polychronopoulos and Kuck 1987), with `least` tasks at least.

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

    def __init__(self, world: World, n: int, least: int = 1) -> None:
        if n < 0 or least < 1:
            raise ArrayError(f"A queue has {n} tasks in chunks of at least {least}. Expected 0 or more, and 1 or more.")
        self.n, self._least, self._ranks = n, least, world.size
        self._next = GlobalArray(world, 1, "int64", name=f"queue of {n} tasks")
        self._seen = 0  # the first task of the last chunk: never too large

    def take(self) -> range:
        """The next chunk of tasks; empty when none is left."""
        chunk = max(self._least, (self.n - self._seen) // (SHARE * self._ranks))
        found = self._next.update([0], [chunk], fetch=True)
        assert found is not None
        self._seen = min(int(found[0]), self.n)
        return range(self._seen, min(self._seen + chunk, self.n))

    def __iter__(self) -> Iterator[range]:
        """The chunks of this rank, until no task is left."""
        while chunk := self.take():
            yield chunk

    def reset(self) -> None:
        """Puts all tasks back, when every rank has called it."""
        self._next.sync()
        self._next.scatter([0], [0])
        self._next.sync()
        self._seen = 0
