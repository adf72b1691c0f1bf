"""The open branches of a run: those that were used last, within a budget of files and bytes. The others are closed, on the disk.

open ── least recently used, and the budget is exceeded ──> saved and closed ── used again ──> open, at the same position
"""

import os
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import NamedTuple

from steppe.control import Leg, Position, SavedCheckpoint
from steppe.engine.branch import Branch, ClosedBranch
from steppe.engine.branches import Branches
from steppe.errors import DamagedError, Failure

FILES = 64  # open branches: each has a lock, and a thread that writes
GONE = 20  # unloaded branches whose snapshots are kept
SHARE = 0.5  # of the memory of this machine for open branches
AGAIN = 10.0  # [s] after a failed save until the next one: the disk may have room then


class Budget(NamedTuple):
    """The number of open branches and their bytes, at most. Branches that are used at once are open beyond that, too."""

    files: int = FILES
    bytes: int = int(SHARE * os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))


class OpenBranches:
    """Opens and closes the branches of a run.

    Parameters
    ----------
    branches
        The branches in memory.
    keep
        Saves a branch before it is closed.
    """

    def __init__(self, branches: Branches, keep: Callable[[Branch], SavedCheckpoint]) -> None:
        self.budget = Budget()
        self._branches, self._keep = branches, keep
        self._closed: dict[int, ClosedBranch] = {}
        self._gone: list[int] = []  # those that were unloaded last
        self._not_before = 0.0

    def __contains__(self, number: int) -> bool:
        """True if a branch is open or closed; a bad cell takes it out of memory."""
        return number in self._branches.live or number in self._closed

    @property
    def ways(self) -> set[int]:
        """The branches on the paths of all open and closed ones."""
        return {leg.branch for some in (self._branches.live, self._closed) for each in some.values() for leg in each.path}

    def find(self, number: int) -> Branch | ClosedBranch:
        """A branch, open or closed.

        Raises
        ------
        Failure
            It was not loaded.
        """
        found = self._branches.live.get(number) or self._closed.get(number)
        if found is None:
            raise Failure(f"Branch {number} is not loaded. This is a defect of Steppe.")
        return found

    def load(self, number: int, path: Sequence[Leg], patience: int, begin: Position) -> Branch:
        """See `Branches.load`: a closed branch is at the position where it was closed."""
        closed = self._closed.pop(number, None)
        if closed and closed.position <= Position(path[-1].step, path[-1].seq):
            with suppress(DamagedError):  # `load` takes an earlier state, and names this one
                self._branches.reopen(closed)
        self._branches.load(number, path, patience, begin)
        return self.use(number)[0]

    def use(self, *numbers: int) -> list[Branch]:
        """Opens some branches; others are closed if the budget is exceeded.

        Raises
        ------
        Failure
            One was not loaded, or its checkpoint is damaged.
        """
        live = self._branches.live
        for number in numbers:
            found = self.find(number)
            if isinstance(found, ClosedBranch):
                self._branches.reopen(found)
                del self._closed[number]
            live[number] = live.pop(number)  # the last is the one that was used last
        if len(live) > len(numbers):
            self._make_room(len(numbers))
        return [live[number] for number in numbers]

    def close_all(self) -> None:
        """Saves and closes all branches; each is opened when it is used next.

        Raises
        ------
        NoSpaceError, Failure
            One cannot be saved, and stays open.
        """
        for each in [*self._branches.live.values()]:
            self._closed[each.number] = self._branches.close_saved(each, self._keep)

    def unload(self, number: int, keep: bool) -> None:
        """Takes a branch out of memory, and the snapshots of those that were unloaded long ago. keep: save its state if it has a folder."""
        if self._closed.pop(number, None) is None:
            if keep:
                self._branches.unload(number, self._keep)
            else:
                self._branches.discard(number)
        self._gone = [*[each for each in self._gone if each != number][1 - GONE :], number]
        self._branches.snapshots.discard_but(self.ways.union(self._gone))

    def _make_room(self, used: int) -> None:
        """Closes the least recently used branches; not the last ones, which are used now."""
        live = self._branches.live
        if time.monotonic() < self._not_before:
            return
        files, size = len(live), sum(each.bytes for each in live.values())
        for each in [*live.values()][: len(live) - used]:
            if files <= self.budget.files and size <= self.budget.bytes:
                return
            files, size = files - 1, size - each.bytes
            try:
                self._closed[each.number] = self._branches.close_saved(each, self._keep)
            except Failure as failure:  # it stays open, and nothing is lost
                self._not_before = time.monotonic() + AGAIN
                self._branches.warn(f"Branch {each.number} could not be closed: {failure}")
                return
