"""The branches of a run: how each comes into memory, and when it goes to the disk.

    load ──> a branch in memory │ a snapshot │ a checkpoint on the disk │ the initial state      the nearest to the end of its path
             its own or an ancestor's

A branch that forks from a snapshot lives in memory alone until it is saved or a shard of its results is full. Then it is *settled*: it gets
a run folder, whose store shares the whole shards before the fork with its origin. Records before the fork that fill no shard are read from
the store of the origin, so a branch never sees results of its origin from after the fork.
"""

from collections.abc import Callable, Sequence
from contextlib import ExitStack, nullcontext
from functools import partial
from pathlib import Path

from steppe.control import Leg, Position, SavedCheckpoint
from steppe.control.orders import folder_of
from steppe.control.wire import BEGINNING
from steppe.engine.branch import FIRST, Branch, ClosedBranch, EarlierState, position_of, saved
from steppe.engine.branch_folders import id_of, is_foreign
from steppe.engine.branch_rules import Rules
from steppe.engine.checkpoint_manager import CheckpointManager
from steppe.engine.differences import open_folder
from steppe.engine.plan import Plan
from steppe.engine.ranks import Ranks
from steppe.engine.script_changes import ScriptChanges
from steppe.engine.snapshots import BEFORE_ALL, LIMIT, Snapshot, Snapshots
from steppe.errors import DamagedError, Failure, NoSpaceError
from steppe.failpoint import reach
from steppe.io import Checkpoint, Progress, RunFolder, Spent, create_store

RECOMPUTED = -1  # the number of a branch that is computed again for an answer

Say = Callable[[str, str], object]
"""Gets news for the user: kind ("note", "warning") and text."""


class Branches:
    """The branches of one run.

    Parameters
    ----------
    path
        The run folder.
    plan
        The run.
    ranks, root
        The ranks, and the number of their states that hold the weather for those of all branches.
    say
        Gets news for the user.
    fresh
        Remove the results that the folder holds.
    steered
        Clients steer the branches; otherwise a script computes the first one alone.
    """

    def __init__(self, path: Path, plan: Plan, ranks: Ranks, root: int, say: Say, fresh: bool = False, steered: bool = True) -> None:
        self._path, self._plan, self._ranks, self._root, self._say = path, plan, ranks, root, say
        self._steered = steered
        self.live: dict[int, Branch] = {}
        self.snapshots = Snapshots(LIMIT, lambda numbers: self._ranks.order(self._root, "discard", entries=numbers))
        self.folder = open_folder(plan, path, fresh)  # held to the end; that of another branch while the branch is open
        self.scripts = ScriptChanges.of(self.folder) if steered else ScriptChanges()
        self._settled = {FIRST}  # branches whose folder belongs to the same life as their snapshots

    # ---- into memory ----------------------------------------------------------------------------------------------------------------
    def load(self, number: int, path: Sequence[Leg], patience: int, begin: Position) -> Branch:
        """A branch at the nearest known position before the end of its path. In memory it stays, if it is not beyond the end.

        Its states beyond the end are discarded, on the disk, too: the actions before them may change.

        patience: steps that may be computed again to have diagnostics. begin: states before it are not used.

        Raises
        ------
        DamagedError
            A file is not what was written, or there is no state from `begin` on.
        """
        end = Position(path[-1].step, path[-1].seq)
        if number in self.live and self.live[number].position > end:
            self.discard(number)
        if number not in self.live:
            self._settle_those_from(number)  # its own results may be cut back
            self.snapshots.discard(number, end)
            self._discard_beyond(path)
            entry = self.snapshots.best(path, patience, max(begin, self.scripts.begin(path)))
            before = Position(begin.step, begin.seq - 1) if begin > BEGINNING else BEFORE_ALL
            known = entry.position if entry else before
            ancestor = self._ancestor(path, known)
            if durable := self._durable(path, ancestor.position if ancestor else known):
                branch = self._from_checkpoint(number, path, *durable)
            elif ancestor:
                branch = self._from_ancestor(number, path, ancestor)
            elif entry and (number != FIRST or entry.position > (0, 0)):  # which may have been made by others
                branch = self._from_entry(number, path, entry)
            elif begin > (0, 0):
                raise DamagedError(
                    f'"{self._path}" has no whole checkpoint from step {begin.step} on, with which its journal begins since it was '
                    "compacted, or since a script changed the run. Put the folder of the checkpoint back, or the journal of before."
                )
            elif changed := self.scripts.last(path):
                raise DamagedError(
                    f'"{self._path}" was changed by a script at step {changed[0]}, and no whole checkpoint between that and step '
                    f"{path[0].step} is left. Begin at a later step."
                )
            else:
                branch = self._from_the_beginning(number, path)
            assert reach("load.middle")
            self.live[number] = branch
            if entry is None or entry.position != branch.position:
                self.snapshots.make(branch)
        return self.live[number]

    def begin_at(self, number: int, path: Sequence[Leg], checkpoint: Checkpoint | None) -> Branch:
        """A branch at a checkpoint of its own, None: at the initial state. A branch of that number in memory is closed before."""
        if number in self.live:
            self._close(number)
        branch = self._from_checkpoint(number, path, number, checkpoint) if checkpoint else self._from_the_beginning(number, path)
        self.live[number] = branch
        return branch

    def _ancestor(self, path: Sequence[Leg], known: Position) -> Branch | None:
        """The ancestor in memory that is nearest to the end of a path; None where the `known` position is nearer."""
        found = None
        for leg in path[:-1]:
            ancestor = self.live.get(leg.branch)
            if ancestor and ancestor.stepped and known <= ancestor.position <= (leg.step, leg.seq):
                found, known = ancestor, ancestor.position
        return found

    def _durable(self, path: Sequence[Leg], known: Position) -> tuple[int, Checkpoint] | None:
        """The checkpoint that is nearest to the end of a path, with the number of its branch; None where `known` is as near."""
        for at, leg in reversed([*enumerate(path, 1)]):
            folder, limit = self._folder_of(leg.branch) / "checkpoints", Position(leg.step, leg.seq)
            if limit <= known:
                return None
            if folder.is_dir() and not is_foreign(self._path, path[:at]):
                try:
                    steps = range(max(known.step, 0), limit.step + 1)
                    leads = partial(self._leads, path, leg.branch, known, limit)
                    found = Checkpoint.newest(folder, self._plan.identity, self.warn, leads, steps)
                except DamagedError as error:
                    self.warn(f"{error} An earlier state is taken.")
                    continue
                if found:
                    return leg.branch, found
        return None

    def _leads(self, path: Sequence[Leg], of: int, known: Position, limit: Position, checkpoint: Checkpoint) -> bool:
        """True if a checkpoint of a branch on a path is within two positions, and holds what scripts changed before."""
        return known < position_of(checkpoint) <= limit and (of != FIRST or self.scripts.are_in(checkpoint, path))

    def _discard_beyond(self, path: Sequence[Leg]) -> None:
        """Removes the checkpoints of a branch after the end of its path."""
        folder, end = self._folder_of(path[-1].branch) / "checkpoints", Position(path[-1].step, path[-1].seq)
        if folder.is_dir() and not is_foreign(self._path, path):
            Checkpoint.remove(folder, self._plan.identity, lambda each: position_of(each) > end)

    def _from_checkpoint(self, number: int, path: Sequence[Leg], of: int, checkpoint: Checkpoint) -> Branch:
        position, ancestor = position_of(checkpoint), self.live.get(of)
        since = ancestor.since if ancestor and ancestor.since <= position else None
        branch = self._begun(number, path, position, Spent(**checkpoint.manifest["spent"]), since)
        branch.take(checkpoint)
        if of == number:
            self._or_close(branch, lambda: self._keep_in(branch, self._folder(number)).begin(checkpoint))
            branch.saved = saved(checkpoint.path, position_of(checkpoint))
        else:
            branch.origin, branch.first = of, checkpoint.manifest["records"]
            branch.behind = branch.behind and branch.behind.from_branch(of)
            self._or_close(branch, lambda: branch.order("open", output="", checkpoint=str(checkpoint.path)))
        return branch

    def _from_entry(self, number: int, path: Sequence[Leg], entry: Snapshot) -> Branch:
        branch = self._begun(number, path, entry.position, since=entry.since)
        branch.rules = entry.rules

        def recall() -> None:
            output = ""
            if entry.branch == number and number in self._settled:
                self._keep_in(branch, self._folder(number)).settled.go_on(entry.position.step, entry.records)
                output = str(branch.settled.folder.output)
            else:
                branch.origin, branch.first = entry.branch, entry.records
            branch.order("recall", entry=entry.number, output=output)

        self._or_close(branch, recall)
        branch.kept = ("", BEGINNING) if entry.position == BEGINNING else None
        return branch

    def _from_ancestor(self, number: int, path: Sequence[Leg], ancestor: Branch) -> Branch:
        branch = self._begun(number, path, ancestor.position, since=ancestor.since)
        branch.rules, branch.stepped = ancestor.rules, True
        branch.origin, branch.first = ancestor.number, ancestor.records
        self._or_close(branch, lambda: branch.order("split", beside=[ancestor.state_id]))
        return branch

    def _from_the_beginning(self, number: int, path: Sequence[Leg]) -> Branch:
        branch = self._begun(number, path, Position(0, 0))
        if number == FIRST:
            self._or_close(branch, lambda: self._keep_in(branch, self.folder).begin(None))
        else:
            self._or_close(branch, lambda: branch.order("open", output="", checkpoint=""))
            branch.first = branch.records
        branch.kept = "", BEGINNING
        return branch

    def aside(self, on: Branch, source: Snapshot | EarlierState) -> Branch | None:
        """A branch that records nothing, at an earlier state of another one; the caller closes it. None: no such checkpoint is whole."""
        checkpoint = None
        if isinstance(source, EarlierState) and source.name:
            try:
                checkpoint = Checkpoint.open(self._folder_of(source.branch or on.number) / "checkpoints" / source.name, self._plan.identity)
                checkpoint.verify()
            except DamagedError:
                return None
        branch = self._begun(RECOMPUTED, on.path, source.position)
        if isinstance(source, Snapshot):
            branch.rules, number = source.rules, source.number
            self._or_close(branch, lambda: branch.order("recall", entry=number, output="", muted=True))
        else:
            branch.rules = Rules.of(checkpoint.manifest.get("rules", {})) if checkpoint else Rules()
            there = str(checkpoint.path) if checkpoint else ""
            self._or_close(branch, lambda: branch.order("open", output="", checkpoint=there, muted=True))
        return branch

    def _begun(
        self, number: int, path: Sequence[Leg], position: Position, spent: Spent | None = None, since: Position | None = None
    ) -> Branch:
        plan = self._plan.again()
        state_id = self._ranks.begin(plan, like=self._root, in_pieces=self._steered)
        since = position if since is None else since
        found = Branch(number, tuple(path), plan, self._ranks, state_id, position, spent or Spent(), since=since, steered=self._steered)
        found.remembered, found.live, found.home = position.step, self.live, self._path
        return found

    def _or_close(self, branch: Branch, work: Callable[[], object]) -> None:
        try:
            work()
        except BaseException:
            branch.order("close")
            self._let_go(branch)
            raise

    # ---- the past ------------------------------------------------------------------------------------------------------------------
    def recut(self, bounds: Sequence[int]) -> None:
        """Gives the ranks other shares while no branch is open; snapshots, which belong to the old shares, are discarded."""
        assert not self.live, "all are closed before"
        self.snapshots.discard_but(())
        self._ranks.order(self._root, "recut", bounds=list(bounds))

    # ---- to the disk ----------------------------------------------------------------------------------------------------------------
    def settle(self, branch: Branch) -> None:
        """Gives a branch its run folder, if it has none yet.

        Raises
        ------
        NoSpaceError, Failure
            The folder cannot be written.
        """
        if branch.manager:
            return
        if branch.stranded:
            raise branch.stranded
        origin = self.live.get(branch.origin)
        if origin:
            self.settle(origin)
            origin.flush()
        held = origin.settled.folder if origin else self.folder if branch.origin in (0, FIRST) else None
        with nullcontext(held) if held else self._folder(branch.origin) as source:
            self._settle_from(source, branch)

    def _settle_from(self, source: RunFolder, branch: Branch) -> None:
        """Settles a branch from the folder of its origin."""
        state, fork = branch.state, branch.path[-2]
        if not source.output.exists():
            create_store(source.output, state.outputs.groups, self._plan.provenance | {"steppe_run": source.id})
        rows, readable = state.outputs.writer.whole_rows(branch.first)
        progress = Progress("running", fork.step, self._plan.clock.begin(fork.step), readable)
        path = self._folder_of(branch.number)
        if is_foreign(self._path, branch.path):
            raise Failure(
                f'"{path}" is a branch that a script made; scenario {branch.number} would lie there. Move that folder out of "branches".'
            )
        parent = self._folder_of(fork.branch), id_of(self.folder, self._plan.identity, branch.path[:-1])
        if branch.number in self._settled:  # an earlier life of it, to which no path leads any more
            self.snapshots.discard(branch.number)
        source.fork(path, *parent, progress, rows)
        assert reach("fork.middle")
        folder = self._folder(branch.number)
        try:
            branch.order("settle", output=str(folder.output), source=str(source.output), records=dict(branch.first))
        except BaseException:
            folder.close()
            raise
        self._keep_in(branch, folder).settled.progress = progress
        branch.unsynced = True

    # ---- out of memory --------------------------------------------------------------------------------------------------------------
    def unload(self, number: int, keep: Callable[[Branch], object]) -> None:
        """Takes a branch out of memory. `keep` saves it if it is settled; otherwise it is computed again when it is needed."""
        self._settle_those_from(number)
        if self.live[number].manager:
            keep(self.live[number])
        self.discard(number)

    def close_saved(self, branch: Branch, keep: Callable[[Branch], SavedCheckpoint]) -> ClosedBranch:
        """Saves a branch by `keep` and closes it; `reopen` brings it back.

        Raises
        ------
        NoSpaceError, Failure
            It cannot be saved; it stays open.
        """
        self.settle(branch)
        name = keep(branch).name
        self._close(branch.number)
        return ClosedBranch(branch.number, branch.path, branch.position, branch.since, name)

    def reopen(self, closed: ClosedBranch) -> None:
        """Opens a closed branch at its position.

        Raises
        ------
        DamagedError
            Its checkpoint is not what was written.
        """
        checkpoint = Checkpoint.open(self._folder_of(closed.number) / "checkpoints" / closed.name, self._plan.identity)
        checkpoint.verify()
        branch = self._from_checkpoint(closed.number, closed.path, closed.number, checkpoint)
        branch.position, branch.kept = closed.position, (closed.name, closed.position)
        branch.since, branch.unacknowledged = closed.since, ()  # which were reported before it was closed
        self.live[closed.number] = branch

    def discard(self, number: int) -> None:
        """Takes a branch with an unusable state out of memory. Its snapshots stay as long as its results can be read."""
        branch = self.live[number]
        try:
            self._settle_those_from(number)
            if branch.manager:
                branch.flush()
        except Failure as failure:  # durable states stay
            if not isinstance(failure, NoSpaceError) and not branch.state.torn:  # else the cause is reported
                self.warn(str(failure))
            self.snapshots.discard(number)
            for other in self._sharing(number):
                other.stranded = failure
        if branch.manager is None:
            self.snapshots.discard(number)
        self._close(number)

    def close(self, failure: Failure | None = None) -> None:
        """Closes all branches; states that are not saved are lost. failure: why the run ends."""
        with ExitStack() as every:  # also those after one that cannot be closed
            every.callback(self.folder.close)
            for number in reversed(self.live):
                every.callback(self._close, number, failure)

    def _close(self, number: int, failure: Failure | None = None) -> None:
        """Takes a branch out of memory, and closes its folder."""
        branch = self.live.pop(number)
        try:
            branch.close(failure)
        finally:
            self._let_go(branch)

    def _settle_those_from(self, number: int) -> None:
        """Settles the branches that share results with a branch, while these can be read."""
        for other in self._sharing(number):
            self.settle(other)

    def _sharing(self, number: int) -> list[Branch]:
        """The branches without a folder whose results begin with those of a branch."""
        return [each for each in self.live.values() if each.manager is None and each.origin == number and any(each.first.values())]

    # ---- folders --------------------------------------------------------------------------------------------------------------------
    def _folder_of(self, number: int) -> Path:
        return folder_of(self._path, number)

    def _folder(self, number: int) -> RunFolder:
        """The folder of a branch, locked for writing until `_let_go`."""
        return self.folder if number == FIRST else open_folder(self._plan, self._folder_of(number))

    def _keep_in(self, branch: Branch, folder: RunFolder) -> Branch:
        """Gives a branch its folder."""
        self._settled.add(branch.number)
        branch.manager = CheckpointManager(folder, branch.plan, self._ranks, branch.state_id)
        return branch

    def _let_go(self, branch: Branch) -> None:
        """Closes the folder of a closed branch, and forgets folders without snapshots."""
        if branch.manager and branch.manager.folder is not self.folder:
            branch.manager.folder.close()
        branch.manager = None
        self._settled &= {FIRST, *self.live, *(entry.branch for entry in self.snapshots.entries)}

    def warn(self, text: str) -> None:
        """Reports a failure that ends nothing."""
        self._say("warning", text)
