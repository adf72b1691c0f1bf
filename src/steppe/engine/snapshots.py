"""Copies of the states of branches in the memory of the ranks: which there are, and which are discarded for others.

a copy every 8 steps or more ──> too many bytes ──> of each branch only those that are 16 steps apart, then 32, 64, ...
"""

import time
from collections import deque
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

from steppe.control import Leg, Position
from steppe.engine.branch import FIRST, Branch
from steppe.engine.branch_rules import NONE, Rules

LIMIT = 256 << 20  # bytes of all copies
SPACING = 8  # steps between copies of a branch, at least
BEFORE_ALL = Position(-1, 0)


@dataclass(frozen=True)
class Snapshot:
    """A copy of a state, which every rank has under this number. records: numbers of records of each output at that time.

    since: the position from which on this engine did all that was done on the way to it. rules: those of that time.
    """

    number: int
    branch: int
    position: Position
    records: Mapping[str, int]
    bytes: int
    since: Position
    rules: Rules = NONE


class Snapshots:
    """The snapshots of all branches.

    Parameters
    ----------
    limit
        Bytes of all together.
    release
        Frees the copies with some numbers on all ranks.
    """

    def __init__(self, limit: int = LIMIT, release: Callable[[list[int]], object] = lambda numbers: None) -> None:
        self.limit, self._release = limit, release
        self.spacing = SPACING
        """Steps that a branch should go between snapshots."""
        self.entries: list[Snapshot] = []  # in the order in which they were made
        self._made = 0
        self._copying = deque((0.0,), maxlen=2)  # [s] of the last copies

    @property
    def bytes(self) -> int:
        """Of all copies."""
        return sum(entry.bytes for entry in self.entries)

    @property
    def copying(self) -> float:
        """Seconds that a copy takes: of the faster one of the last two."""
        return min(self._copying)

    def make(self, branch: Branch) -> None:
        """Makes a snapshot of the state of a branch; that of the initial state serves all branches."""
        self._made += 1
        branch.remembered = branch.position.step
        number = branch.number if branch.position > (0, 0) else FIRST
        begin = time.perf_counter()
        size = branch.order("remember", entry=self._made)
        self._copying.append(time.perf_counter() - begin)
        self.add(Snapshot(self._made, number, branch.position, branch.records, size, branch.since, branch.rules))

    def add(self, entry: Snapshot) -> None:
        """Takes a snapshot, and discards others where there are too many bytes."""
        self.entries.append(entry)
        while self.bytes > self.limit and len(self.entries) > 1:
            self._keep(self._thinned())

    def discard(self, branch: int, after: Position = BEFORE_ALL) -> None:
        """Discards the snapshots of a branch, or those after a position."""
        self._keep([entry for entry in self.entries if entry.branch != branch or entry.position <= after])
        while self.spacing > SPACING and 4 * self.bytes < self.limit:
            self.spacing //= 2

    def discard_but(self, branches: Collection[int]) -> None:
        """Discards the snapshots of all branches but some."""
        for branch in {entry.branch for entry in self.entries}.difference(branches):
            self.discard(branch)

    def _keep(self, entries: list[Snapshot]) -> None:
        kept = {entry.number for entry in entries}
        gone = [entry.number for entry in self.entries if entry.number not in kept]
        self.entries = entries
        if gone:
            self._release(gone)

    def within(self, limits: Mapping[int, Position]) -> list[Snapshot]:
        """The snapshots of some branches, up to a position for each of them."""
        return [entry for entry in self.entries if entry.branch in limits and entry.position <= limits[entry.branch]]

    def best(self, path: Sequence[Leg], patience: int = 0, begin: Position = BEFORE_ALL) -> Snapshot | None:
        """The snapshot that is nearest to the end of a path, not beyond the limit of its leg.

        patience: steps that may be computed again, so that a branch comes to its fork by a step and has the diagnostics of that.
        begin: those before it are not used.
        """
        within = [each for each in self.within({leg.branch: Position(leg.step, leg.seq) for leg in path}) if each.position >= begin]
        found = max(within, key=lambda entry: entry.position, default=None)
        if found is None or len(path) < 2 or found.branch == path[-1].branch:
            return found
        fork = path[-2].step
        before = max((entry for entry in within if fork - patience <= entry.position.step < fork), key=lambda e: e.position, default=None)
        return before or found

    def _thinned(self) -> list[Snapshot]:
        """Those that stay: not every other one of each branch; where all are far apart, not the one that was made first."""
        steps = [entry.position.step for entry in self.entries]
        spacing = self.spacing
        while spacing <= max(steps) - min(steps):
            spacing *= 2
            kept = self._apart(spacing)
            if len(kept) < len(self.entries):
                self.spacing = spacing
                return kept
        return self.entries[1:]

    def _apart(self, spacing: int) -> list[Snapshot]:
        """Of each branch the newest snapshot, and of each stretch of steps the first."""
        newest = {entry.branch: entry.number for entry in self.entries}
        seen: set[tuple[int, int]] = set()
        kept = []
        for entry in self.entries:
            stretch = entry.branch, entry.position.step // spacing
            if stretch not in seen or newest[entry.branch] == entry.number:
                kept.append(entry)
            seen.add(stretch)
        return kept
