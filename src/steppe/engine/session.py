"""A run that is steered: its branches, where they stand, what is done to them. The engine's process talks to this alone.

stepper   load, advance, apply, save, get ──> shown at boundaries of steps ──> answer   speaker
          one thread                                                           never waits for a step
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from steppe.api.query import MapQuery
from steppe.control import Leg, Outcome, Position, SavedCheckpoint
from steppe.control.orders import CHANGES
from steppe.control.wire import BEGINNING, RuleFiring
from steppe.engine.balance import Balance
from steppe.engine.branch import Branch
from steppe.engine.branches import Branches
from steppe.engine.checkpoint_manager import has_room
from steppe.engine.driver import Driver
from steppe.engine.facts import facts_of
from steppe.engine.frames import Frames
from steppe.engine.open_branches import OpenBranches
from steppe.engine.plan import Plan
from steppe.engine.query_cache import Answer, QueryCache
from steppe.engine.ranks import Ranks
from steppe.engine.recomputation import Recomputation
from steppe.engine.rule_runner import RuleRunner
from steppe.engine.series_answer import series_of
from steppe.engine.uploads import read_change
from steppe.engine.watch import Watch
from steppe.errors import Failure, Mistake, NotComputedError
from steppe.failpoint import reach
from steppe.io import Checkpoint

PIECE = 0.1  # [s] that a piece of steps takes, about, while nobody looks: so long may the stepper keep the first who does waiting
BESIDE = 0.025  # [s] more for each branch that goes along: short pieces cost more a step
LONGEST = 0.4  # [s] that a piece may take
REMEMBER = 0.1  # [s] of steps, at least, between copies of a branch
COPYING = 0.01  # of the time of the steps, that copies may take at most
PATIENCE = 0.1  # [s] of steps that may be computed again for a branch to know its diagnostics
AGAIN = 1.0  # [s] of steps that may be computed again for somebody who looks at the past
HERE = 60.0  # [s] of steps that may be for the step at which a branch stands: no record replaces its diagnostics
AT_FIRST = 400  # steps that may be, while nobody knows how long one takes
LONG = 0.2  # [s] a step that takes longer has all states shown


class _Lost(NamedTuple):
    """Where a branch stood before the step in which it was lost, and from where on it is known how it came there."""

    position: Position
    since: Position


class Session:
    """Fulfils what `control` asks of an engine.

    Parameters
    ----------
    folder
        The run folder.
    plan
        The run.
    ranks
        The ranks that compute it; default: this process alone.
    say
        Is told what a person may want to know: kind ("note", "warning") and text.

    Raises
    ------
    Mistake
        The weather does not fit the run, or the folder belongs to another one.
    """

    def __init__(
        self, folder: Path, plan: Plan, ranks: Ranks | None = None, say: Callable[[str, str], None] = lambda kind, text: None
    ) -> None:
        self.plan, self.ranks, self._path, self._say = plan, ranks or Ranks(), folder, say
        self.watch = Watch(plan.run.engine.step_limit)
        self._cache = QueryCache(plan, self.ranks.world.size)
        self._frames = Frames(plan)
        self._read_change = partial(read_change, folder, plan)
        self._rule_runner = RuleRunner(folder, plan, self._read_change)
        self._driver = Driver(self._rule_runner)
        self._root = self.ranks.begin(plan)  # which holds the weather, and computes nothing
        try:
            self._branches = Branches(folder, plan, self.ranks, self._root, say)
        except BaseException:
            self.ranks.order(self._root, "close")
            raise
        self.open_branches = OpenBranches(self._branches, self._keep)
        self._recomputation = Recomputation(self._branches, self._do, Driver(self._rule_runner, again=True).up_to)
        self._lost: dict[int, _Lost] = {}
        self._balance = Balance(plan.grid.n_cells)
        if even := self._balance.begin(self.ranks.state(self._root).cut.partition, self._branches.folder):
            self._branches.recut(even.bounds)
        for note in self.ranks.state(self._root).notes:
            say("note", note)

    def describe(self) -> dict[str, Any]:
        """What the run is; JSON can hold it."""
        return facts_of(self.plan)

    @property
    def remembered(self) -> int:
        """Bytes of the copies of the past."""
        return self._branches.snapshots.bytes

    # ---- positions ------------------------------------------------------------------------------------------------------------------
    def load(self, branch: int, path: Sequence[Leg], begin: Position = BEGINNING) -> Position:
        """Makes a branch stand as near as possible before the end of its path, not before `begin`; gives where.

        One that is in memory stays where it is, if that is not beyond. What there is beyond the end of its path is forgotten. One that was
        lost in a step stands where that began.

        Raises
        ------
        DamagedError
            There are checkpoints, and none is whole, or none from `begin` on.
        Failure
            It cannot be brought back to where it was.
        """
        self._recomputation.leave()
        before, end = self._branches.live.get(branch), Position(path[-1][1], path[-1][2])
        with self.watch.at(f"loading branch {branch}"):
            patience = int(PATIENCE / self._driver.pace) if self._driver.pace else 0
            on = self.open_branches.load(branch, [Leg(*leg) for leg in path], patience, Position(*begin))
            if on is not before:
                self._recomputation.discard(branch, end)
                self._rule_runner.again(on)
                if lost := self._lost.pop(branch, None):
                    self._recomputation.bring_back(on, min(lost.position, end), lost.since, self._go)
                self._show(on)
        return on.position

    def position(self, branch: int) -> Position:
        """Where a branch stands."""
        return self.open_branches.find(branch).position

    def has(self, branch: int) -> bool:
        """Whether a branch is loaded; one that has met a bad cell is not any more."""
        return branch in self.open_branches

    def dirty(self, branch: int) -> bool:
        """Whether a branch has gone on since its last checkpoint, or since it left its parent."""
        on = self.open_branches.find(branch)
        begin = Position(*on.path[-2][1:]) if len(on.path) > 1 else Position(0, 0)
        return isinstance(on, Branch) and on.saved is None and on.position > begin

    def unload(self, branch: int, keep: bool = True) -> None:
        """Forgets a branch that nobody needs for now; `load` brings it back, without `keep` from its last durable state.

        Raises
        ------
        NoSpaceError, Failure
            It cannot be saved, and stays.
        """
        self._recomputation.leave()
        self._lost.pop(branch, None)
        if branch in self.open_branches:
            self._cache.discard(branch)
            self.open_branches.unload(branch, keep)
            self._recomputation.keep_only(self.open_branches.ways)

    def has_room(self) -> bool:
        """Whether the disk has room to go on."""
        return has_room(self._path)

    def kept(self, branch: int) -> int:
        """The first step from which on a branch can be shown again within about a second."""
        return self._recomputation.first(self.open_branches.find(branch), AGAIN / self._driver.pace if self._driver.pace else 0.0)

    def _branch(self, number: int) -> Branch:
        return self.open_branches.use(number)[0]

    def _keep(self, on: Branch) -> SavedCheckpoint:
        """Saves a branch that is closed next, of which nothing is shown any more."""
        found = on.save(self._rule_runner.unacknowledged(on.number), partial(self._recomputation.since, on))
        self._cache.discard(on.number)
        return found

    # ---- time -----------------------------------------------------------------------------------------------------------------------
    def advance(self, branches: Sequence[int], until: int, looked: float) -> None:
        """Computes one piece of steps, about 100 ms, of branches that stand at the same step, not beyond `until`.

        looked: seconds after which somebody wants to see the next, 0 for nobody.

        Raises
        ------
        BadCellError
            A cell of a branch is bad: that branch is not in memory any more, and `load` takes it back to before.
        Failure
            The forcing is damaged, or results cannot be written: so it is with all of them.
        """
        self._recomputation.leave()
        group = self.open_branches.use(*branches)
        with self.watch.at(f"step {group[0].position.step + 1}", len(group)):
            self._advance(group, until, looked)

    def _advance(self, group: Sequence[Branch], until: int, looked: float) -> None:
        begin_at = {each.number: each.position for each in group}
        stop = self._driver.end(group, until, looked or min(PIECE + BESIDE * (len(group) - 1), LONGEST))
        if stop <= group[0].position.step:
            return
        for each in group:
            if each.manager is None and stop >= self.ranks.state(each.state_id).outputs.quiet_until:
                self._branches.settle(each)
        assert reach("step.before")
        bad = self._driver.step(group, stop, discard=lambda each: self._discard(each, begin_at[each.number]))
        between = max(REMEMBER, self._branches.copying / COPYING)
        for each in group:
            if each.number in self._branches.live:
                if stop - each.remembered >= max(self._branches.snapshots.spacing, between / self._driver.pace):
                    self._branches.remember(each)
                self._show(each)
        if bad:
            raise bad[0]

    def _show(self, on: Branch) -> None:
        self._cache.show(on, self._driver.least > LONG)

    def _go(self, on: Branch, step: int) -> None:
        while on.position.step < step:
            self._advance([on], step, 0.0)

    def _discard(self, branch: Branch, position: Position) -> None:
        self._lost[branch.number] = _Lost(position, branch.since)
        self._cache.discard(branch.number)
        self._branches.discard(branch.number)

    # ---- changes --------------------------------------------------------------------------------------------------------------------
    def apply(self, branch: int, seq: int, kind: str, arguments: Mapping[str, Any]) -> Outcome:
        """Does an action where a branch stands. What it cannot do changes nothing but the position, and is told in the outcome.

        kind "set": variable, operation ("set", "scale", "add"), value or upload (digest of one number for each cell), cells (digest of a
        list of packed ones). "event": the same, with id and step or yearly (month-day). "trigger": id, expression, action, text, variable.
        "remove": rule, the id of either. Other kinds do nothing to a state.

        Raises
        ------
        Failure
            The action came late, or what was uploaded cannot be read.
        """
        self._recomputation.leave()
        with self.watch.at(f"command {seq}"):
            return self._applied(self._branch(branch), seq, kind, arguments)

    def _applied(self, on: Branch, seq: int, kind: str, arguments: Mapping[str, Any]) -> Outcome:
        if seq <= on.position.seq:
            raise Failure(f"Action {seq} came after {on.position.seq} was applied at step {on.position.step}. This is a defect of Steppe.")
        ok, detail = self._do(on, kind, arguments)
        on.position, on.saved = Position(on.position.step, seq), None
        self._recomputation.note(on, kind, arguments)
        outcome = Outcome(ok, detail, on.digest)
        self._show(on)
        return outcome

    def _do(self, on: Branch, kind: str, arguments: Mapping[str, Any]) -> tuple[bool, dict[str, Any]]:
        """Whether an action could be done, and what it did."""
        try:
            if kind == "set":
                return True, on.change(self._read_change(arguments))
            if kind in CHANGES:
                return True, self._rule_runner.order(on, kind, arguments)
        except Mistake as mistake:
            return False, {"code": mistake.code, "text": str(mistake)}
        return True, {}

    def fired(self) -> Sequence[RuleFiring]:
        """What events and triggers did since this was asked last, in their order; or had done when what was loaded was saved."""
        return self._rule_runner.taken()

    def unacknowledged(self) -> Sequence[RuleFiring]:
        """What events and triggers did that is not heeded; it is saved with the states behind it."""
        return self._rule_runner.unacknowledged()

    def acknowledge(self, branch: int, step: int, source: str) -> None:
        """Somebody knows what a rule did."""
        self._rule_runner.acknowledge(branch, step, source)

    def digest(self, branch: int) -> int:
        """The digest of the state of a branch, as outcomes have it; the same for any number of ranks."""
        return self._branch(branch).digest

    def save(self, branch: int, pin: bool = False) -> SavedCheckpoint:
        """A checkpoint of where a branch stands, durable when this returns; the same position has the same name. pin: it stays for ever.

        Raises
        ------
        NoSpaceError, Failure
            It cannot be written; the one before is safe.
        """
        self._recomputation.leave()
        on = self._branch(branch)
        with self.watch.at(f"a checkpoint of branch {branch}"):
            self._branches.settle(on)
            found = on.save(self._rule_runner.unacknowledged(branch), partial(self._recomputation.since, on))
            if pin:
                Checkpoint.pin(on.settled.folder.checkpoints / found.name)
            better = self._balance.measured(on, self._say)
        if better:
            with self.watch.at("cutting shares anew", len(self._branches.live)):
                self._recut(better.bounds)
        return found

    def _recut(self, bounds: Sequence[int]) -> None:
        """Gives the ranks other shares, unless a branch lives in memory alone. All are closed, and come back as they were saved."""
        if all(each.manager for each in self._branches.live.values()):
            try:
                self.open_branches.close_all()
            except Failure as failure:
                self._say("warning", f"Shares stay as they are: {failure}")
                return
            self._branches.recut(bounds)

    # ---- what people see ------------------------------------------------------------------------------------------------------------
    def get(self, branch: int, query: MapQuery) -> Answer:
        """An answer, computed now; by the stepper. `moved` in the head: bytes that had to come for it.

        A step that is over, and diagnostics that are not at hand, are computed again from an earlier state: within a second for a step
        that is over, within a minute for the step at which the branch stands.

        Raises
        ------
        Mistake
            What is asked for does not exist, or not yet.
        """
        on = self._branch(branch)
        with self.watch.at("an answer"):
            if along := query.along:
                get = self._get if along.again else self._cache.get
                return series_of(on, query, along, partial(get, on), self.plan.grid.cell_area)
            return self._get(on, query)

    def _get(self, on: Branch, query: MapQuery) -> Answer:
        try:
            return self._cache.get(on, query)
        except NotComputedError:
            step = on.position.step if query.step is None else query.step
            if step > on.position.step:
                raise
            with self._recomputation.at(on, step, self._patience(on, step)) as then:
                if then is None and step < on.position.step:
                    return self._cache.rounded(on, query)
                if then is None:
                    raise
                if step == on.position.step:
                    then.position = on.position  # which the step itself does not know of
                return self._cache.once(then, query)

    def _patience(self, on: Branch, step: int) -> int:
        """How many steps may be computed again for an answer about a step."""
        if step < on.position.step:
            return int(AGAIN / self._driver.pace) if self._driver.pace else AT_FIRST
        pace = self._driver.pace or on.spent.seconds / max(step, 1)
        return int(HERE / pace) if pace else AT_FIRST

    def answer(self, branch: int, query: MapQuery) -> Answer | None:
        """An answer from what is shown; by the speaker, at any moment. None: only the stepper can give it.

        Raises
        ------
        Mistake
            What is asked for does not exist.
        """
        return self._cache.answer(branch, query)

    def frames(
        self, branches: Sequence[int], query: MapQuery, bits: int, span: Sequence[Any] | None
    ) -> tuple[list[Any], Callable[[], memoryview]]:
        """A frame of each branch where it stands: the span that they have, and what makes the bytes of all. See `Frames.make`.

        Diagnostics of a single branch that are not at hand are computed again, as for `get`.
        """
        shown = self.open_branches.use(*branches)
        with self.watch.at("a frame"):
            try:
                return self._frames.make(shown, query, bits, span)
            except NotComputedError:
                on = shown[0]
                if len(shown) > 1 or not on.position.step:
                    raise
                with self._recomputation.at(on, on.position.step, self._patience(on, on.position.step)) as then:
                    if then is None:
                        raise
                    then.position = on.position  # which the step itself does not know of
                    return self._frames.make([then], query, bits, span)

    @property
    def moved(self) -> Mapping[str, int]:
        """Bytes of each variable that were computed or gathered for answers."""
        return self._cache.moved

    def close(self) -> None:
        """Ends all branches; what is not saved is lost."""
        self._recomputation.leave()
        self._branches.close()
        self.ranks.order(self._root, "close")
