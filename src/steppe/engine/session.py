"""A session of a run: its branches, their positions, and the actions on them. The engine process and `Simulation` use it alone.

stepping thread   load, advance, apply, save, get ──> answers shown at boundaries of steps ──> answer   listening thread
                                                                                                        never waits for a step
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from steppe.api.documents import RunFacts
from steppe.api.query import MapQuery
from steppe.control import Leg, Outcome, Position, SavedCheckpoint
from steppe.control.orders import CHANGES
from steppe.control.wire import BEGINNING, RuleFiring
from steppe.engine.balance import Balance
from steppe.engine.branch import Arguments, Branch, LostBranch
from steppe.engine.branches import Branches, Say
from steppe.engine.checkpoint_manager import has_room
from steppe.engine.driver import Driver
from steppe.engine.facts import facts_of
from steppe.engine.frames import frames_of
from steppe.engine.open_branches import OpenBranches
from steppe.engine.plan import Plan
from steppe.engine.query_cache import Answer, QueryCache
from steppe.engine.ranks import Ranks
from steppe.engine.recomputation import Recomputation, lost
from steppe.engine.rule_runner import RuleRunner
from steppe.engine.series_answer import series_of
from steppe.engine.watch import Watch
from steppe.errors import Failure, Mistake, NotComputedError
from steppe.failpoint import reach
from steppe.io import Checkpoint

PIECE = 0.1  # [s] that a piece of steps takes, about, while no client asks: the first that does waits so long
BESIDE = 0.025  # [s] more for each further branch of the piece: short pieces cost more a step
LONGEST = 0.4  # [s] that a piece may take
REMEMBER = 0.1  # [s] of steps, at least, between snapshots of a branch
COPYING = 0.01  # part of the time of the steps that snapshots may take at most
PATIENCE = 0.1  # [s] of steps that may be computed again so that a loaded branch has its diagnostics
AGAIN = 1.0  # [s] of steps that may be computed again for a question about a past step
HERE = 60.0  # [s] of steps that may be computed again for the present step: no record replaces its diagnostics
AT_FIRST = 400  # steps that may be computed again before the first step was timed
LONG = 0.2  # [s] of a step, above which all states are shown after each step


class Session:
    """The branches of one run, which an engine steps; see `SessionProtocol`.

    Parameters
    ----------
    folder
        The run folder.
    plan
        The run.
    ranks
        The ranks that compute it; default: this process alone.
    say
        Gets news for the user; default: news are dropped.
    fresh
        Remove the results that the folder holds.
    steered
        Clients steer the branches; otherwise a script computes the first one alone.

    Raises
    ------
    Mistake
        The weather does not fit the run, or the folder belongs to another one.
    """

    def __init__(
        self, folder: Path, plan: Plan, ranks: Ranks | None = None, say: Say | None = None, fresh: bool = False, steered: bool = True
    ) -> None:
        self.plan, self.ranks, self._path, self._say = plan, ranks or Ranks(), folder, say or (lambda kind, text: None)
        self.watch = Watch(plan.run.engine.step_limit)
        self._cache = QueryCache(plan, self.ranks.world.size)
        self._rule_runner = RuleRunner()
        self._driver = Driver(self._rule_runner)
        self._root = self.ranks.begin(plan, folder=folder)  # holds the weather, and computes nothing
        try:
            self._branches = Branches(folder, plan, self.ranks, self._root, self._say, fresh, steered)
        except BaseException:
            self.ranks.order(self._root, "close")
            raise
        self.open_branches = OpenBranches(self._branches, self._keep)
        self._recomputation = Recomputation(self._branches, self._do, Driver(self._rule_runner, again=True).up_to)
        self._lost: dict[int, LostBranch] = {}
        self._balance = Balance(plan.grid.n_cells)
        if even := self._balance.begin(self.ranks.state(self._root).cut.partition, self._branches.folder):
            self._branches.recut(even.bounds)

    @property
    def notes(self) -> Sequence[str]:
        """Notes on the plan for the user."""
        return self.ranks.state(self._root).notes

    @property
    def site_note(self) -> str:
        """The sites of the run for the user; "" without the bridge."""
        return self.ranks.state(self._root).sites.note

    @property
    def array_counts(self) -> dict[str, float]:
        """Numbers of the global arrays of the models over all ranks, see `steppe.arrays.ModelArrays.counts`; empty without any."""
        return dict(self.ranks.order(self._root, "array_counts")) if self.ranks.state(self._root).arrays.in_use else {}

    def describe(self) -> RunFacts:
        """Describes the run in types of JSON."""
        return facts_of(self.plan, self._branches.scripts.since)

    # ---- positions ------------------------------------------------------------------------------------------------------------------
    def load(self, branch: int, path: Sequence[Leg], begin: Position = BEGINNING) -> Position:
        """Brings a branch to the nearest known position before the end of its path, from `begin` on; returns that position.

        A branch in memory stays where it is, if that is not beyond the end. States beyond the end are discarded. A branch that was lost in
        a step returns to the begin of that step.

        Raises
        ------
        DamagedError
            No checkpoint is whole, or none from `begin` on.
        Failure
            The branch cannot be brought back to its position.
        """
        self._recomputation.leave()
        before, end = self._branches.live.get(branch), Position(path[-1][1], path[-1][2])
        with self.watch.at(f"loading branch {branch}"):
            patience = int(PATIENCE / self._driver.pace) if self._driver.pace else 0
            on = self.open_branches.load(branch, [Leg(*leg) for leg in path], patience, Position(*begin))
            if on is not before:
                self._recomputation.discard(branch, end)
                self._recomputation.remember(on)
                self._rule_runner.again(on)
                if lost := self._lost.pop(branch, None):
                    self._recomputation.bring_back(on, min(lost.position, end), lost.since, self._go)
                self._cache.show(on, self._driver.least > LONG)
        return on.position

    def position(self, branch: int) -> Position:
        """The position of a branch."""
        return self.open_branches.find(branch).position

    def has(self, branch: int) -> bool:
        """True if a branch is loaded; a bad cell unloads it."""
        return branch in self.open_branches

    def dirty(self, branch: int) -> bool:
        """True if a branch has changed since its last checkpoint or its fork, or stands there in a folder that has no checkpoint yet."""
        on = self.open_branches.find(branch)
        begin = Position(*on.path[-2][1:]) if len(on.path) > 1 else Position(0, 0)
        return isinstance(on, Branch) and on.saved is None and (on.position >= begin if on.unsynced else on.position > begin)

    def unload(self, branch: int, keep: bool = True) -> None:
        """Takes a branch out of memory; `load` brings it back, without `keep` from its last durable state.

        Raises
        ------
        NoSpaceError, Failure
            It cannot be saved, and stays in memory.
        """
        self._recomputation.leave()
        self._lost.pop(branch, None)
        if branch in self.open_branches:
            self._cache.discard(branch)
            self.open_branches.unload(branch, keep)
            self._recomputation.keep_only(self.open_branches.ways)

    def has_room(self) -> bool:
        """True if the disk has room for the next writes."""
        return has_room(self._path)

    def kept(self, branch: int) -> int:
        """The first step of a branch that can be shown again within about a second."""
        return self._recomputation.first(self.open_branches.find(branch), AGAIN / self._driver.pace if self._driver.pace else 0.0)

    def _branch(self, number: int) -> Branch:
        return self.open_branches.use(number)[0]

    def _keep(self, on: Branch) -> SavedCheckpoint:
        """Saves a branch that is closed next, and discards its cached answers."""
        found = on.save(self._rule_runner.unacknowledged(on.number), partial(self._recomputation.since, on))
        self._cache.discard(on.number)
        return found

    # ---- time -----------------------------------------------------------------------------------------------------------------------
    def advance(self, branches: Sequence[int], until: int, looked: float) -> None:
        """Computes one piece of steps, about 100 ms, of branches that stand at the same step, at most up to `until`.

        looked: seconds after which a client wants the next step; 0: no client does.

        Raises
        ------
        BadCellError
            A cell of a branch is bad: that branch is out of memory, and `load` takes it back to the begin of the step.
        Failure
            The forcing is damaged, or results cannot be written: all of the branches are out of memory.
        """
        self._recomputation.leave()
        group = self.open_branches.use(*branches)
        with self.watch.at(f"step {group[0].position.step + 1}", len(group)):
            self._advance(group, until, looked)

    def _advance(self, group: Sequence[Branch], until: int, looked: float) -> None:
        begin_at = {each.number: each.position for each in group}
        longest = min(PIECE + BESIDE * (len(group) - 1), LONGEST)
        stop = self._driver.end(group, until, min(looked or longest, longest))
        if stop <= group[0].position.step:
            return
        for each in group:
            if each.manager is None and stop >= each.state.outputs.quiet_until:
                self._branches.settle(each)
        assert reach("step.before")
        bad = self._driver.step(group, stop, discard=lambda each: self._discard(each, begin_at[each.number]))
        between = max(REMEMBER, self._branches.snapshots.copying / COPYING)
        for each in group:
            if each.number in self._branches.live:
                if stop - each.remembered >= max(self._branches.snapshots.spacing, between / self._driver.pace):
                    self._branches.snapshots.make(each)
                self._cache.show(each, self._driver.least > LONG)
        if bad:
            raise next(iter(bad.values())).among(bad)

    def _go(self, on: Branch, step: int) -> None:
        while on.position.step < step:
            self._advance([on], step, 0.0)

    def _discard(self, branch: Branch, position: Position) -> None:
        self._lost[branch.number] = LostBranch(position, branch.since)
        self._rule_runner.discard(branch.number, position.step)
        self._cache.discard(branch.number)
        self._branches.discard(branch.number)

    # ---- changes --------------------------------------------------------------------------------------------------------------------
    def apply(self, branch: int, seq: int, kind: str, arguments: Arguments) -> Outcome:
        """Performs an action at the position of a branch. An impossible action changes the position alone; its outcome has the reason.

        kind "set": variable, operation ("set", "scale", "add"), value or upload (digest of one number for each cell), cells (digest of a
        list of packed ones). "event": the same, with id and step or yearly (month-day). "trigger": id, expression, action, text, variable.
        "remove": rule, the id of either. "begin", before the first step: values, in place of those of the run file. Others change no state.

        Raises
        ------
        Failure
            The action came late, or its upload cannot be read.
        """
        self._recomputation.leave()
        with self.watch.at(f"command {seq}"):
            return self._applied(self._branch(branch), seq, kind, arguments)

    def _applied(self, on: Branch, seq: int, kind: str, arguments: Arguments) -> Outcome:
        if seq <= on.position.seq:
            raise Failure(f"Action {seq} came after {on.position.seq} was applied at step {on.position.step}. This is a defect of Steppe.")
        ok, detail = self._do(on, kind, arguments)
        on.position, on.saved = Position(on.position.step, seq), None
        self._recomputation.note(on, kind, arguments)
        self._cache.show(on, self._driver.least > LONG)
        return Outcome(ok, detail, on.digest)

    def _do(self, on: Branch, kind: str, arguments: Arguments) -> tuple[bool, dict[str, object]]:
        """True if an action was possible, and its effect."""
        try:
            if kind == "set":
                return True, on.change(arguments)
            if kind == "begin":
                on.order("begin", values=arguments["values"])
            if kind in CHANGES:
                return True, self._rule_runner.order(on, kind, arguments)
        except Mistake as mistake:
            if arguments.get("done"):  # the first time
                raise Failure(f'The change of "{arguments["variable"]}" at {on.position} cannot be made again: {mistake}') from mistake
            return False, {"code": mistake.code, "text": str(mistake)}
        return True, {}

    def fired(self) -> Sequence[RuleFiring]:
        """Effects of rules since the last call, in their order; after a load also those without an acknowledgement in that state."""
        return self._rule_runner.taken()

    def unacknowledged(self) -> Sequence[RuleFiring]:
        """Effects of rules without an acknowledgement; they are saved with later states."""
        return self._rule_runner.unacknowledged()

    def acknowledge(self, branch: int, step: int, source: str) -> None:
        """Acknowledges the effect of a rule; it is not reported again."""
        self._rule_runner.acknowledge(branch, step, source)

    def digest(self, branch: int) -> int:
        """The digest of the state of a branch, the same for any number of ranks."""
        return self._branch(branch).digest

    def save(self, branch: int, pin: bool = False) -> SavedCheckpoint:
        """Writes a checkpoint of a branch, durable when this returns; the same position has the same name. pin: never remove it.

        Raises
        ------
        NoSpaceError, Failure
            It cannot be written; the one before is safe.
        """
        self._recomputation.leave()
        with self.watch.at(f"a checkpoint of branch {branch}"):
            self._branches.settle(on := self._branch(branch))
            found = on.save(self._rule_runner.unacknowledged(branch), partial(self._recomputation.since, on))
            if pin:
                Checkpoint.pin(on.settled.folder.checkpoints / found.name)
            better = self._balance.measured(on, self._say)
        if better:
            with self.watch.at("cutting shares anew", len(self._branches.live)):
                self._recut(better.bounds)
        return found

    def _recut(self, bounds: Sequence[int]) -> None:
        """Gives the ranks other shares, unless a branch has no folder. Closes all branches; each is reopened when it is used."""
        if all(each.manager for each in self._branches.live.values()):
            try:
                self.open_branches.close_all()
            except Failure as failure:
                self._say("warning", f"Shares stay as they are: {failure}")
                return
            self._branches.recut(bounds)

    # ---- answers --------------------------------------------------------------------------------------------------------------------
    def get(self, branch: int, query: MapQuery) -> Answer:
        """Computes an answer; on the stepping thread. `moved` in the head: bytes that were computed or gathered for it.

        Past steps and missing diagnostics are computed again from an earlier state: within a second for a past step, within a minute for
        the present one.

        Raises
        ------
        Mistake
            The variable or the step does not exist, or not yet.
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
            if step > on.position.step or not on.position.step:
                raise
            with self._recomputation.at(on, step, self._patience(on, step)) as then:
                if then is None and step < on.position.step:
                    return self._cache.rounded(on, query, self.kept(on.number))
                if then is None:
                    raise lost(on, query.name) from None
                return self._cache.once(then, query)

    def _patience(self, on: Branch, step: int) -> int:
        """The number of steps that may be computed again for an answer about a step."""
        if step < on.position.step:
            return int(AGAIN / self._driver.pace) if self._driver.pace else AT_FIRST
        pace = self._driver.pace or on.spent.seconds / max(step, 1)
        return int(HERE / pace) if pace else AT_FIRST

    def answer(self, branch: int, query: MapQuery) -> Answer | None:
        """A cached answer, on the listening thread at any moment. None: only the stepping thread has it.

        Raises
        ------
        Mistake
            The variable does not exist.
        """
        return self._cache.answer(branch, query)

    def frames(
        self, branches: Sequence[int], query: MapQuery, bits: int, span: Sequence[object] | None
    ) -> tuple[list[object], Callable[[], memoryview]]:
        """A frame of each branch at its position: the common span, and a function that makes the bytes of all. See `frames_of`.

        Missing diagnostics are computed again, as for `get`.
        """
        shown = self.open_branches.use(*branches)
        with self.watch.at("a frame"):
            try:
                return frames_of(shown, query, bits, span)
            except NotComputedError:
                with ExitStack() as stack:
                    again = (self._recomputation.whole(on, query.name, self._patience(on, on.position.step)) for on in shown)
                    return frames_of([*map(stack.enter_context, again)], query, bits, span)

    @property
    def moved(self) -> Mapping[str, int]:
        """Bytes of each variable that were computed or gathered for answers."""
        return self._cache.moved

    def close(self, failure: Failure | None = None) -> None:
        """Closes all branches; states that are not saved are lost. failure: why the run ends."""
        try:
            self._recomputation.leave()
            self._branches.close(failure)
        finally:
            self.ranks.order(self._root, "close")
