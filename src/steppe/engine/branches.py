"""The branches of a run that is steered: how each comes into memory, what is remembered of it, and when it goes to the disk.

    load ──> in memory already? │ a copy in the ring │ a checkpoint on the disk │ the initial state      the nearest to the end of its path
               its own, or an     its own or an ancestor's
               ancestor

A branch that forks from a copy lives in memory alone until somebody saves it or a shard of its results is full. Then it is *settled*: it
gets a run folder, whose store shares the whole shards of the time before with the branch that the copy is of. The records before the fork
that fill no shard are read from there, so nothing that happened after the fork is ever seen in it.
"""

import os
import time
from collections import deque
from collections.abc import Callable, Collection, Sequence
from contextlib import nullcontext
from functools import partial
from pathlib import Path

from steppe.control import Leg, Position, SavedCheckpoint
from steppe.control.orders import folder_of
from steppe.control.wire import BEGINNING
from steppe.engine.again import stand_behind
from steppe.engine.branch import Branch, ClosedBranch, EarlierState, position_of, saved
from steppe.engine.checkpoint_manager import CheckpointManager
from steppe.engine.differences import open_folder
from steppe.engine.plan import Plan
from steppe.engine.ranks import Ranks
from steppe.engine.snapshots import BEFORE_ALL, Snapshot, Snapshots
from steppe.errors import DamagedError, Failure, NoSpaceError
from steppe.failpoint import reach
from steppe.io import Checkpoint, Progress, RunFolder, Spent, create_store, run_id

FIRST = 1  # the branch that lies in the run folder itself


class Branches:
    """Of one run.

    Parameters
    ----------
    path
        The run folder.
    plan
        The run.
    ranks, root
        The ranks, and the number of their states that hold the weather for those of all branches.
    say
        Is told what a person may want to know: kind and text.
    """

    def __init__(self, path: Path, plan: Plan, ranks: Ranks, root: int, say: Callable[[str, str], None]) -> None:
        self._path, self._plan, self._ranks, self._root, self._say = path, plan, ranks, root, say
        self.live: dict[int, Branch] = {}
        self.snapshots = Snapshots()
        self._copying = deque((0.0,), maxlen=2)  # [s] that the last copies for the ring took
        self._entries = 0  # made so far
        self.folder = open_folder(plan, path)  # held as long as there is an engine; that of another branch as long as the branch is open
        self._settled = {FIRST}  # those whose folder is of the life that the entries are of

    @property
    def copying(self) -> float:
        """Seconds that a copy for the ring takes; one that was disturbed says nothing."""
        return min(self._copying)

    # ---- into memory ----------------------------------------------------------------------------------------------------------------
    def load(self, number: int, path: Sequence[Leg], patience: int, begin: Position) -> Branch:
        """A branch, standing as near as possible before the end of its path; one in memory stays where it is, if that is not beyond.

        What there is of it beyond the end of its path is forgotten, on the disk, too: what led to it may change.

        patience: steps that may be computed again where that makes diagnostics known. begin: states before it are of no use.

        Raises
        ------
        DamagedError
            What is needed to go on is not what was written, or there is no state from `begin` on.
        """
        end = Position(path[-1].step, path[-1].seq)
        if number in self.live and self.live[number].position > end:
            self.discard(number)
        if number not in self.live:
            self._settle_those_from(number)  # its own results may be cut back
            self._discard_copies(self.snapshots.discard(number, end))
            self._discard_beyond(number, end)
            entry = self.snapshots.best(path, patience)
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
                    "compacted. Put the folder of the checkpoint back, or the journal of before."
                )
            else:
                branch = self._from_the_beginning(number, path)
            assert reach("load.middle")
            self.live[number] = branch
            if entry is None or entry.position != branch.position:
                self.remember(branch)
        return self.live[number]

    def _ancestor(self, path: Sequence[Leg], known: Position) -> Branch | None:
        """The branch in memory that stands nearest before the end of a path; None where what is `known` is nearer."""
        found = None
        for leg in path[:-1]:
            ancestor = self.live.get(leg.branch)
            if ancestor and ancestor.stepped and known <= ancestor.position <= (leg.step, leg.seq):
                found, known = ancestor, ancestor.position
        return found

    def _durable(self, path: Sequence[Leg], known: Position) -> tuple[int, Checkpoint] | None:
        """The nearest checkpoint on the disk before the end of a path, and the branch that it is of; None when `known` is as near."""
        for leg in reversed(path):
            folder, limit = self._folder_of(leg.branch) / "checkpoints", Position(leg.step, leg.seq)
            if limit <= known:
                return None
            if folder.is_dir():
                try:
                    steps = range(max(known.step, 0), limit.step + 1)
                    found = Checkpoint.newest(folder, self._plan.identity, self.warn, partial(_is_within, known, limit), steps)
                except DamagedError as error:
                    self.warn(f"{error} An earlier state is taken.")
                    continue
                if found:
                    return leg.branch, found
        return None

    def _discard_beyond(self, number: int, end: Position) -> None:
        """Removes the checkpoints of a branch after a position."""
        folder = self._folder_of(number) / "checkpoints"
        if folder.is_dir():
            Checkpoint.remove(folder, self._plan.identity, lambda each: position_of(each) > end)

    def _from_checkpoint(self, number: int, path: Sequence[Leg], of: int, checkpoint: Checkpoint) -> Branch:
        branch = self._begun(number, path, position_of(checkpoint), Spent(**checkpoint.manifest["spent"]))
        branch.take(checkpoint)
        if of == number:
            self._or_close(branch, lambda: self._keep_in(branch, self._folder(number)).begin(checkpoint))
            branch.saved = saved(checkpoint.path, position_of(checkpoint))
        else:
            branch.origin, branch.first = of, checkpoint.manifest["records"]
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

    def aside(self, number: int, path: Sequence[Leg], entry: Snapshot) -> Branch:
        """A branch that stands at a copy and records nothing; whoever asks for it closes it."""
        branch = self._begun(number, path, entry.position, since=entry.since)
        branch.rules = entry.rules
        self._or_close(branch, lambda: branch.order("recall", entry=entry.number, output="", muted=True))
        return branch

    def aside_of(self, on: Branch, behind: EarlierState) -> Branch | None:
        """The same at the state behind the checkpoint that a branch was loaded from. None: it is removed or damaged."""
        checkpoints = self._folder_of(on.number) / "checkpoints"
        return stand_behind(behind, checkpoints, self._plan, self._ranks, self._root, on.path)

    def _begun(
        self, number: int, path: Sequence[Leg], position: Position, spent: Spent | None = None, since: Position | None = None
    ) -> Branch:
        plan = self._plan.again()
        state_id = self._ranks.begin(plan, like=self._root)
        spent, since = spent or Spent(), position if since is None else since
        return Branch(number, tuple(path), plan, self._ranks, state_id, position, spent, remembered=position.step, since=since)

    def _or_close(self, branch: Branch, work: Callable[[], object]) -> None:
        try:
            work()
        except BaseException:
            branch.order("close")
            self._let_go(branch)
            raise

    # ---- the past ------------------------------------------------------------------------------------------------------------------
    def remember(self, branch: Branch) -> None:
        """Makes an entry of the ring of where a branch stands; the initial state is everybody's."""
        self._entries += 1
        branch.remembered = branch.position.step
        number = branch.number if branch.position > (0, 0) else FIRST
        begin = time.perf_counter()
        size = branch.order("remember", entry=self._entries)
        self._copying.append(time.perf_counter() - begin)
        self._discard_copies(
            self.snapshots.add(Snapshot(self._entries, number, branch.position, branch.records, size, branch.since, branch.rules))
        )

    def discard_copies_but(self, branches: Collection[int]) -> None:
        """Gives up the entries of all branches but some."""
        for branch in {entry.branch for entry in self.snapshots.entries}.difference(branches):
            self._discard_copies(self.snapshots.discard(branch))

    def recut(self, bounds: Sequence[int]) -> None:
        """Gives the ranks other shares, while no branch is open; copies, which are of the old ones, are given up."""
        assert not self.live, "all are closed before"
        self.discard_copies_but(())
        self._ranks.order(self._root, "recut", bounds=list(bounds))

    def _discard_copies(self, entries: Sequence[int]) -> None:
        if entries:
            self._ranks.order(self._root, "discard", entries=list(entries))

    # ---- to the disk ----------------------------------------------------------------------------------------------------------------
    def settle(self, branch: Branch) -> None:
        """Gives a branch its run folder, if it has none yet.

        Raises
        ------
        NoSpaceError, Failure
            The system refused.
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
        """The same, from the folder of the branch whose results it shares."""
        state, fork = self._ranks.state(branch.state_id), branch.path[-2]
        if not source.output.exists():
            create_store(source.output, state.outputs.groups, self._plan.provenance | {"steppe_run": source.id})
        rows, readable = state.outputs.writer.whole_rows(branch.first)
        progress = Progress("running", fork.step, self._plan.clock.begin(fork.step), readable)
        path = self._folder_of(branch.number)
        parent = self._folder_of(fork.branch), self._id_of(branch.path[:-1])
        if branch.number in self._settled:  # a life of it that cannot be gone back to
            self._discard_copies(self.snapshots.discard(branch.number))
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

    def _id_of(self, path: Sequence[Leg]) -> str:
        """The run id of the branch at the end of a path: that of its folder, were it settled."""
        *before, leg = path
        if not before:
            return self.folder.id
        parent = {
            "run": os.path.relpath(self._folder_of(before[-1].branch), self._folder_of(leg.branch)),
            "id": self._id_of(before),
            "step": before[-1].step,
        }
        return run_id({**self._plan.identity, "parent": parent, "name": str(leg.branch)})

    # ---- out of memory --------------------------------------------------------------------------------------------------------------
    def unload(self, number: int, keep: Callable[[Branch], object]) -> None:
        """Forgets a branch that nobody needs for now; `keep` saves one that is settled, another one is computed again when it is needed."""
        self._settle_those_from(number)
        if self.live[number].manager:
            keep(self.live[number])
        self.discard(number)

    def close_saved(self, branch: Branch, keep: Callable[[Branch], SavedCheckpoint]) -> ClosedBranch:
        """Closes a branch, which `keep` saves first; `reopen` brings it back.

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
        """Brings a branch back as it was closed.

        Raises
        ------
        DamagedError
            Its checkpoint is not what was written.
        """
        checkpoint = Checkpoint.open(self._folder_of(closed.number) / "checkpoints" / closed.name, self._plan.identity)
        checkpoint.verify()
        branch = self._from_checkpoint(closed.number, closed.path, closed.number, checkpoint)
        branch.since, branch.unacknowledged = closed.since, ()  # which were told before it was closed
        self.live[closed.number] = branch

    def discard(self, number: int) -> None:
        """Forgets a branch whose state is of no use; what is remembered of it stays as long as its results can be had."""
        branch = self.live[number]
        try:
            self._settle_those_from(number)
            if branch.manager:
                branch.flush()
        except Failure as failure:  # it is what ends it, or comes on top; what is durable stays
            if not isinstance(failure, NoSpaceError):  # of which the server tells
                self.warn(str(failure))
            self._discard_copies(self.snapshots.discard(number))
            for other in self._sharing(number):
                other.stranded = failure
        if branch.manager is None:
            self._discard_copies(self.snapshots.discard(number))
        self._close(number)

    def close(self) -> None:
        """Forgets all; what is not saved is lost."""
        for number in list(self.live):
            self._close(number)
        self.folder.close()

    def _close(self, number: int) -> None:
        """Takes a branch out of memory, and gives its folder up."""
        branch = self.live.pop(number)
        try:
            branch.close()
        finally:
            self._let_go(branch)

    def _settle_those_from(self, number: int) -> None:
        """Those that share results with a branch get theirs while they can be had."""
        for other in self._sharing(number):
            self.settle(other)

    def _sharing(self, number: int) -> list[Branch]:
        """The branches without a folder whose results begin with those of another one."""
        return [each for each in self.live.values() if each.manager is None and each.origin == number and any(each.first.values())]

    # ---- folders --------------------------------------------------------------------------------------------------------------------
    def _folder_of(self, number: int) -> Path:
        return folder_of(self._path, number)

    def _folder(self, number: int) -> RunFolder:
        """The folder of a branch, held for writing; `_let_go` gives it up."""
        return self.folder if number == FIRST else open_folder(self._plan, self._folder_of(number))

    def _keep_in(self, branch: Branch, folder: RunFolder) -> Branch:
        """Gives a branch its folder."""
        self._settled.add(branch.number)
        branch.manager = CheckpointManager(folder, branch.plan, self._ranks, branch.state_id)
        return branch

    def _let_go(self, branch: Branch) -> None:
        """Gives up the folder of a branch that is closed, and what is known of folders to which no entry belongs any more."""
        if branch.manager and branch.manager.folder is not self.folder:
            branch.manager.folder.close()
        branch.manager = None
        self._settled &= {FIRST, *self.live, *(entry.branch for entry in self.snapshots.entries)}

    def warn(self, text: str) -> None:
        """Says what went wrong and ended nothing."""
        self._say("warning", text)


def _is_within(known: Position, limit: Position, checkpoint: Checkpoint) -> bool:
    return known < position_of(checkpoint) <= limit
