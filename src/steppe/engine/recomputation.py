"""The past of branches, computed once more: from a copy in the ring, with what was done since, beside the branches that go on.

entry ── steps, actions ──> the step that somebody asks for: looked at, and forgotten
"""

from collections import defaultdict
from collections.abc import Container, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from steppe.control import OPEN_END, Position
from steppe.engine.again import NOBODY, Do, Go, redo, up_to
from steppe.engine.branch import Actions, Branch, ClosedBranch, EarlierState
from steppe.engine.branches import Branches
from steppe.errors import Failure


class Recomputation:
    """What was done to the branches of one run since this engine began."""

    def __init__(self, branches: Branches, do: Do, go: Go) -> None:
        self._branches, self._do, self._go = branches, do, go
        self._actions: dict[int, dict[Position, tuple[str, Mapping[str, Any]]]] = defaultdict(dict)  # of each branch
        self._there: tuple[int, Branch] | None = None  # of which branch a past was looked at last, and what stands there

    def note(self, branch: Branch, kind: str, arguments: Mapping[str, Any]) -> None:
        """An action was done where a branch stands."""
        self._actions[branch.number][branch.position] = kind, arguments

    def since(self, on: Branch, position: Position) -> Actions:
        """What was done on the way of a branch from a position to where it stands, in order."""
        limits = {leg.branch: Position(leg.step, leg.seq) for leg in on.path} | {on.number: on.position}
        return dict(sorted(self._between(position, limits).items()))

    def discard(self, branch: int, after: Position) -> None:
        """What was done to a branch after a position may come to be something else."""
        for position in [position for position in self._actions.get(branch, ()) if position > after]:
            del self._actions[branch][position]

    def keep_only(self, branches: Container[int]) -> None:
        """Gives up what was done to branches but to some, and to those of which there are copies: no other can be come to again from it."""
        copied = {entry.branch for entry in self._branches.snapshots.entries}
        for branch in [branch for branch in self._actions if branch not in branches and branch not in copied]:
            del self._actions[branch]

    def first(self, on: Branch | ClosedBranch, most: float) -> int:
        """The first step from which on each step of a branch can be shown again by computing `most` steps at most."""
        limits = {leg.branch: Position(leg.step, leg.seq) for leg in on.path} | {on.number: on.position}
        known = (each for each in self._branches.snapshots.entries if each.branch in limits and each.position <= limits[each.branch])
        found = on.position.step
        for step in sorted({each.position.step for each in known if each.position >= on.since}, reverse=True):
            if found - step > most + 1:
                break
            found = step
        return found

    @contextmanager
    def at(self, on: Branch, step: int, most: float) -> Iterator[Branch | None]:
        """A branch that stands where another one stood when a step was done, before anything that was ordered for then.

        It knows the diagnostics of that step; of step 0 there are none. None where more than `most` steps had to be computed, or what was
        done on the way is not known. It stays until `leave`: who asks for a series asks for the next step next.
        """
        limit = Position(step - 1, OPEN_END) if step else Position(0, 0)
        limits = {leg.branch: min(limit, Position(leg.step, leg.seq)) for leg in on.path} | {on.number: limit}
        within = (each for each in self._branches.snapshots.entries if each.branch in limits and each.position <= limits[each.branch])
        entry = max((each for each in within if each.position >= on.since), key=lambda each: each.position, default=None)
        source = entry or (on.behind if step <= on.since.step else None)
        if source is None or not source.position.step < max(step, 1) <= source.position.step + most:
            yield None
            return
        then = self._on_the_way(on, source.position, limit) if entry else None
        if then is not None:
            actions = self._between(then.position, limits)
        elif isinstance(source, EarlierState):
            actions = up_to(source.actions, limit)
            then = self._branches.aside_of(on, source)
        else:
            actions = self._between(source.position, limits)
            then = self._branches.aside(NOBODY, on.path, source)
        if then is None:
            yield None
            return
        try:
            redo(then, actions, self._do, self._go)
            self._go(then, step)
            stands = then.position
            yield then
        except BaseException:
            then.close()
            raise
        then.position = stands
        self._there = on.number, then

    def _on_the_way(self, on: Branch, after: Position, before: Position) -> Branch | None:
        """What stands where a past was looked at last, if that is on the way; else it is given up."""
        if self._there and self._there[0] == on.number and after <= self._there[1].position <= before:
            (_, then), self._there = self._there, None
            return then
        self.leave()
        return None

    def leave(self) -> None:
        """Nobody looks at the past any more, or it may come to be another."""
        if self._there:
            self._there[1].close()
            self._there = None

    def bring_back(self, on: Branch, to: Position, since: Position, go: Go) -> None:
        """Does once more what a branch had done when it was lost, up to a position.

        since: from where on it is known what that was. go: computes a branch up to a step, as it is usually done.

        Raises
        ------
        Failure
            It is not known, or it fails again.
        """
        if on.position < since:
            raise Failure(
                f"Branch {on.number} cannot be brought back to step {to.step}: its last state on the disk is from before {since}."
            )
        limits = {leg.branch: min(to, Position(leg.step, leg.seq)) for leg in on.path} | {on.number: to}
        redo(on, self._between(on.position, limits), self._do, go)
        go(on, to.step)

    def _between(self, position: Position, limits: Mapping[int, Position]) -> Actions:
        """The actions of some branches behind a position, up to one for each."""
        done_to = ((last, self._actions.get(number, {})) for number, last in limits.items())
        return {at: done for last, actions in done_to for at, done in actions.items() if position < at <= last}
