"""Past steps of branches, computed again for diagnostics that are not kept: from a copy in memory, or from the state behind a checkpoint.

    earlier state ── steps, actions, events ──> a branch that stands where the run stood, with the diagnostics of that step

That branch records nothing and uses the weather of the run. The run itself does not change.
"""

from collections import defaultdict
from collections.abc import Callable, Container, Iterator, Mapping
from contextlib import contextmanager

from steppe.control import OPEN_END, Position
from steppe.control.wire import BEGINNING
from steppe.engine.branch import Actions, Arguments, Branch, ClosedBranch, EarlierState
from steppe.engine.branches import Branches
from steppe.engine.snapshots import Snapshot
from steppe.errors import Failure, NotComputedError

Do = Callable[[Branch, str, Arguments], object]
"""Performs an action, by kind and arguments, on a branch."""

Go = Callable[[Branch, int], object]
"""Computes a branch up to a step."""


class Recomputation:
    """Knows the actions on the branches of one run since this session began, and earlier ones of which their checkpoints know all.

    Parameters
    ----------
    branches
        The branches of the run.
    do, go
        Perform an action, and compute a branch up to a step, without a report.
    """

    def __init__(self, branches: Branches, do: Do, go: Go) -> None:
        self._branches, self._do, self._go = branches, do, go
        self._actions: dict[int, dict[Position, tuple[str, Arguments | Callable[[], Arguments]]]] = defaultdict(dict)  # of each branch
        self._there: tuple[int, Branch] | None = None  # number of the branch that was recomputed last, and its recomputed twin

    def note(self, branch: Branch, kind: str, arguments: Arguments | Callable[[], Arguments]) -> None:
        """Remembers an action that was performed at the position of a branch. arguments: or a function that returns them."""
        self._actions[branch.number][branch.position] = kind, arguments

    def remember(self, on: Branch) -> None:
        """Remembers the actions of earlier sessions on the path of a branch, which its checkpoint had."""
        if on.early:
            self._actions[on.number] |= on.early

    def since(self, on: Branch, position: Position) -> Actions:
        """The actions on the path of a branch from a position to its own, in order."""
        return self.between(position, _limits(on, on.position))

    def discard(self, branch: int, after: Position) -> None:
        """Forgets the actions on a branch after a position: others may come in their place."""
        for position in [position for position in self._actions.get(branch, ()) if position > after]:
            del self._actions[branch][position]

    def keep_only(self, branches: Container[int]) -> None:
        """Forgets the actions on all branches but some, and but those with snapshots: no other state is computed from them."""
        copied = {snapshot.branch for snapshot in self._branches.snapshots.entries}
        for branch in [branch for branch in self._actions if branch not in branches and branch not in copied]:
            del self._actions[branch]

    def first(self, on: Branch | ClosedBranch, most: float) -> int:
        """The first step from which on each step of a branch can be shown again by computing `most` steps at most."""
        known = self._branches.snapshots.within(_limits(on, on.position))
        found = on.position.step
        for step in sorted({each.position.step for each in known if each.position >= on.since}, reverse=True):
            if found - step > most + 1:
                break
            found = step
        return found

    @contextmanager
    def at(self, on: Branch, step: int, most: int) -> Iterator[Branch | None]:
        """A branch that stands where another one stood when a step was done, before any action at that step.

        It has the diagnostics of that step; step 0 has none. None: more than `most` steps had to be computed, or the actions on the way
        are not known. It stays in memory until `leave`: a client that asks for a series asks for the next step next.
        """
        limit = Position(step - 1, OPEN_END) if step else Position(0, 0)
        source = self._source(on, step, limit)
        then = None
        if source is not None and source.position.step < max(step, 1) <= source.position.step + most:
            then = self._on_the_way(on, source.position, Position(step, 0)) or self._branches.aside(on, source)
        if source is None or then is None:
            yield None
            return
        actions = source.actions if isinstance(source, EarlierState) else self.between(source.position, _limits(on, limit))
        try:
            self.redo(then, {at: done for at, done in actions.items() if then.position < at <= limit})
            self._go(then, step)
            stands = then.position
            then.position = on.position if step == on.position.step else stands  # with the actions at that step
            yield then
        except BaseException:
            then.close()
            raise
        then.position = stands
        self.leave()  # the twin of another branch, if both were asked for at once
        self._there = on.number, then

    @contextmanager
    def whole(self, on: Branch, name: str, most: int) -> Iterator[Branch]:
        """A branch at its position with the values of a variable: itself, or a twin that has computed the last step again. most: see `at`.

        Raises
        ------
        NotComputedError
            The last step cannot be computed again.
        """
        try:
            on.order("export", name=name)
        except NotComputedError:
            if not on.position.step:  # none was made
                raise
            with self.at(on, on.position.step, most) as then:
                if then is None:
                    raise lost(on, name) from None
                yield then
        else:
            yield on

    def _source(self, on: Branch, step: int, limit: Position) -> Snapshot | EarlierState | None:
        """The nearest state from which a step is computed again: a copy, the newest checkpoint, what is behind that, the initial one."""
        within = [each for each in self._branches.snapshots.within(_limits(on, limit)) if each.position >= on.since]
        if within:
            return max(within, key=lambda each: each.position)
        if on.kept and on.since <= on.kept[1] and on.kept[1].step < step:
            return EarlierState(*on.kept, self.since(on, on.kept[1]))
        if on.behind and on.behind.position.step < max(step, 1) and (on.kept is None or step <= on.kept[1].step):
            return on.behind if on.kept else on.behind.with_more(self.since(on, on.since))
        return EarlierState("", BEGINNING, self.since(on, BEGINNING)) if on.since == BEGINNING else None

    def _on_the_way(self, on: Branch, after: Position, before: Position) -> Branch | None:
        """The branch that was recomputed last, if it stands between two positions of the same branch; otherwise it is closed.

        At `after` itself the earlier state may hold changes of a script, which that branch lacks.
        """
        if self._there and self._there[0] == on.number and after < self._there[1].position <= before:
            (_, then), self._there = self._there, None
            return then
        self.leave()
        return None

    def leave(self) -> None:
        """Closes the recomputed branch: no client asks for it any more, or the past may change."""
        if self._there:
            self._there[1].close()
            self._there = None

    def bring_back(self, on: Branch, to: Position, since: Position, go: Go) -> None:
        """Performs the actions on a lost branch again, up to a position.

        since: from where on they are known. go: computes a branch up to a step, with its reports.

        Raises
        ------
        Failure
            They are not known, or one fails again.
        """
        if on.position < since:
            raise Failure(
                f"Branch {on.number} cannot be brought back to step {to.step}: its last state on the disk is from before {since}."
            )
        self.redo(on, self.between(on.position, _limits(on, to)), go)
        go(on, to.step)

    def redo(self, on: Branch, actions: Actions, go: Go | None = None) -> None:
        """Performs actions, each at its step. go: computes the steps between; default: without a report."""
        for position in sorted(actions):
            (go or self._go)(on, position.step)
            self._do(on, *actions[position])
            on.position, on.saved = position, None

    def between(self, position: Position, limits: Mapping[int, Position]) -> Actions:
        """The actions on some branches behind a position, up to a limit for each branch, in order."""
        found: dict[Position, tuple[str, Arguments]] = {}
        for number, last in limits.items():
            actions = self._actions.get(number, {})
            for at in [at for at in actions if position < at <= last]:
                kind, arguments = actions[at]
                arguments = arguments() if callable(arguments) else arguments
                actions[at] = found[at] = kind, arguments
        return dict(sorted(found.items()))


def lost(on: Branch, name: str) -> NotComputedError:
    """The error of a variable of the present step, not the initial state, that can neither be read nor be computed again."""
    step = on.position.step
    advice = "Look at an earlier step." if step >= on.plan.steps else "The next step has it."
    told = f'"{name}" of step {step} is not in memory, and computing it again takes too long or is not possible.'
    return NotComputedError(f"{told} {advice}")


def _limits(on: Branch | ClosedBranch, limit: Position) -> dict[int, Position]:
    """The position up to which each branch on a path counts, none beyond `limit`."""
    return {leg.branch: min(limit, Position(leg.step, leg.seq)) for leg in on.path} | {on.number: limit}
