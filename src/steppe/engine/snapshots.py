"""What is remembered of the past of branches, so that any date can be gone back to: which copies there are, not the copies themselves.

entry every 8 steps or more ──> too many bytes ──> of each branch only those that are 16 steps apart, then 32, 64, ...
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from steppe.control import Leg, Position
from steppe.engine.branch_rules import NONE, Rules

LIMIT = 256 << 20  # bytes of all copies
SPACING = 8  # steps between entries of a branch, at least


BEFORE_ALL = Position(-1, 0)


@dataclass(frozen=True)
class Snapshot:
    """A copy of a state that every rank has under this number. records: how many there were then of each output; rules: those then.

    since: the position from which on all that was done on the way to it was done by this engine.
    """

    number: int
    branch: int
    position: Position
    records: Mapping[str, int]
    bytes: int
    since: Position
    rules: Rules = NONE


class Snapshots:
    """The entries of all branches. limit: bytes of all together."""

    def __init__(self, limit: int = LIMIT) -> None:
        self.limit = limit
        self.spacing = SPACING
        """Steps that a branch should go between entries."""
        self.entries: list[Snapshot] = []  # in the order in which they were made

    @property
    def bytes(self) -> int:
        """Of all copies."""
        return sum(entry.bytes for entry in self.entries)

    def add(self, entry: Snapshot) -> list[int]:
        """Takes an entry; gives the numbers of those that are to be forgotten for it."""
        self.entries.append(entry)
        gone: list[int] = []
        while self.bytes > self.limit and len(self.entries) > 1:
            thinned = self._thinned()
            kept = {each.number for each in thinned}
            gone += [each.number for each in self.entries if each.number not in kept]
            self.entries = thinned
        return gone

    def discard(self, branch: int, after: Position = BEFORE_ALL) -> list[int]:
        """Gives up the entries of a branch, or those after a position; their numbers."""
        gone = [entry.number for entry in self.entries if entry.branch == branch and entry.position > after]
        self.entries = [entry for entry in self.entries if entry.number not in gone]
        while self.spacing > SPACING and 4 * self.bytes < self.limit:
            self.spacing //= 2
        return gone

    def best(self, path: Sequence[Leg], patience: int = 0) -> Snapshot | None:
        """The entry that is nearest to the end of a path, not beyond the limit of its leg.

        patience: so many steps may be computed again, to come to where a branch forks by a step: only then there are diagnostics.
        """
        limits = {leg.branch: Position(leg.step, leg.seq) for leg in path}
        within = [entry for entry in self.entries if entry.branch in limits and entry.position <= limits[entry.branch]]
        found = max(within, key=lambda entry: entry.position, default=None)
        if found is None or len(path) < 2 or found.branch == path[-1].branch:
            return found
        fork = path[-2].step
        before = max((entry for entry in within if fork - patience <= entry.position.step < fork), key=lambda e: e.position, default=None)
        return before or found

    def _thinned(self) -> list[Snapshot]:
        """Without every other one of each branch; where all are far apart, without the one that was made first."""
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
        """Of each branch the newest entry, and of each stretch of the steps the first."""
        newest = {entry.branch: entry.number for entry in self.entries}
        seen: set[tuple[int, int]] = set()
        kept = []
        for entry in self.entries:
            stretch = entry.branch, entry.position.step // spacing
            if stretch not in seen or newest[entry.branch] == entry.number:
                kept.append(entry)
            seen.add(stretch)
        return kept
