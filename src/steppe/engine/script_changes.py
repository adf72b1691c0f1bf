"""Changes that scripts made to a run which is served now: no journal holds them, so states before them do not lead to later ones."""

from collections.abc import Sequence
from contextlib import suppress
from typing import Self

from steppe.control import Leg, Position
from steppe.control.wire import BEGINNING
from steppe.engine.branch import FIRST, position_of
from steppe.engine.snapshots import BEFORE_ALL
from steppe.errors import Failure
from steppe.io import Checkpoint, RunFolder, changes_of, held_by, manifests, oldest_with_changes, scripted


class ScriptChanges:
    """The changes of scripts to the first branch. at: the position of each; since: of the oldest checkpoint that holds all."""

    def __init__(self, at: Sequence[tuple[int, int]] = (), since: Position = BEGINNING) -> None:
        self._at, self.since = at, since

    @classmethod
    def of(cls, folder: RunFolder) -> Self:
        """Those of a run folder. The oldest checkpoint that holds all of them is kept from now on; changes that none holds are lost."""
        if changes_of(folder.path):
            there = manifests(folder.path)
            folder.log.go_back(*(held_by(there[-1]) if there else BEGINNING))
        if found := oldest_with_changes(folder.path):
            with suppress(Failure):  # the disk may be full
                Checkpoint.pin(found.path)
        return cls(scripted(folder.path), position_of(found) if found else BEGINNING)

    def last(self, path: Sequence[Leg]) -> tuple[int, int] | None:
        """The last change on a path; None if there is none, as on the way of a restart, which is the initial state."""
        leg = path[0]
        if leg.branch != FIRST or (leg.step, leg.seq) == BEGINNING:
            return None
        return max((at for at in self._at if at[0] <= leg.step), default=None)

    def begin(self, path: Sequence[Leg]) -> Position:
        """The position from which on copies of states lead along a path."""
        last = self.last(path)
        begin = Position(last[0], 0) if last else BEFORE_ALL
        return max(begin, Position(0, 1)) if any(step == 0 for step, _ in self._at) else begin  # that of the initial state may be older

    def are_in(self, checkpoint: Checkpoint, path: Sequence[Leg]) -> bool:
        """True if a checkpoint of the first branch holds the changes on a path, and no others."""
        last = self.last(path)
        return held_by(checkpoint) >= last if last else checkpoint.step > 0 or not checkpoint.manifest.get("changes")
