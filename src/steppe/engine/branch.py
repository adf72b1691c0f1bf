"""One branch of a run at its position: its states on all ranks, and its run folder."""

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from msgspec.structs import astuple

from steppe.array_types import Array
from steppe.control import Leg, Position, SavedCheckpoint
from steppe.control.orders import folder_of
from steppe.control.wire import BEGINNING, RuleFiring
from steppe.engine.bad_cell import bad_cell
from steppe.engine.branch_folders import is_foreign
from steppe.engine.branch_rules import Rules
from steppe.engine.checkpoint_manager import CheckpointManager
from steppe.engine.plan import Plan
from steppe.engine.rank_state import RankState
from steppe.engine.ranks import Ranks
from steppe.engine.uploads import read_change
from steppe.errors import BadCellError, Failure
from steppe.failpoint import reach
from steppe.io import Checkpoint, Progress, Spent, StoredRecords
from steppe.levels import parted

Arguments = Mapping[str, Any]
"""Of an action, in types of JSON."""

Actions = Mapping[Position, tuple[str, Arguments]]
"""Kind and arguments of actions, by the position of the branch."""

FIRST = 1  # the branch that lies in the run folder itself
MOST = 1000  # actions in the manifest of a checkpoint, at most
BLOCK = 384  # records that are read at once


class EarlierState(NamedTuple):
    """A state from which another one is computed again.

    name: of its checkpoint, "" for the initial state. actions: from there on. branch: in whose folder the checkpoint lies, 0 for the branch
    itself.
    """

    name: str
    position: Position
    actions: Actions
    branch: int = 0

    def from_branch(self, number: int) -> "EarlierState":
        """The same for another branch: with the number of the one in whose folder its checkpoint lies."""
        return self if self.branch or not self.name else self._replace(branch=number)

    def with_more(self, actions: Actions) -> "EarlierState | None":
        """The same with what was done later; None where that is too much for a checkpoint."""
        both = {**self.actions, **actions}
        return self._replace(actions=both) if len(both) <= MOST else None

    def plain(self) -> list[object]:
        """In types of JSON."""
        return [self.name, self.position, plain_actions(self.actions), *([self.branch] if self.branch else [])]

    @classmethod
    def of(cls, plain: Sequence[Any]) -> "EarlierState":
        """From `plain`."""
        name, position, actions, *branch = plain
        return cls(name, Position(*position), actions_of(actions), *branch)


def plain_actions(actions: Actions) -> list[list[object]]:
    """Actions in types of JSON."""
    return [[*position, *action] for position, action in actions.items()]


def actions_of(plain: Sequence[Any]) -> Actions:
    """From `plain_actions`."""
    return {Position(step, seq): (kind, done) for step, seq, kind, done in plain}


class LostBranch(NamedTuple):
    """The position of a branch before the step in which it was lost. since: from where on the actions on it are known."""

    position: Position
    since: Position


class ClosedBranch(NamedTuple):
    """A branch that is closed and saved at its position. name: of its checkpoint. The other fields are those of `Branch`."""

    number: int
    path: tuple[Leg, ...]
    position: Position
    since: Position
    name: str


@dataclass
class Branch:
    """A branch that is in memory.

    path: the way to it. state_id: the number of its rank states. manager: of its run folder, None before it is settled; until then
    `origin` is the branch whose results it shares, 0 for none, and `first` how many records those are. saved: the checkpoint of its
    position. since: the position from which on all actions on its path are known. early: all actions before its checkpoint, if that has
    them. kept: name and position of its newest checkpoint, or of the initial state. behind: the state before that one, of an earlier
    step, from which diagnostics are computed again. stepped: it has made a step since it came into memory, and so has the diagnostics of
    its last step. steered: its checkpoints are named by step and action, for a journal; those of a script by step alone.
    """

    number: int
    path: tuple[Leg, ...]
    plan: Plan
    ranks: Ranks
    state_id: int
    position: Position
    spent: Spent
    manager: CheckpointManager | None = None
    origin: int = 0
    first: Mapping[str, int] = field(default_factory=dict)
    saved: SavedCheckpoint | None = None
    stranded: Failure | None = None  # why the results that it shares were lost before it had a folder: it answers, but cannot be saved
    unsynced: bool = False  # its folder is not durable yet
    rules: Rules = field(default_factory=Rules)
    unacknowledged: Sequence[RuleFiring] = ()  # in the checkpoint that it was made from
    remembered: int = 0  # the step of its newest copy
    since: Position = BEGINNING
    early: Actions | None = None
    kept: tuple[str, Position] | None = None
    behind: EarlierState | None = None
    stepped: bool = False
    steered: bool = True
    live: Mapping[int, "Branch"] = field(default_factory=dict, repr=False)
    home: Path = Path()

    @property
    def state(self) -> RankState:
        """Its state on this rank, the first."""
        return self.ranks.state(self.state_id)

    @property
    def settled(self) -> CheckpointManager:
        """The manager of the run folder of a settled branch."""
        assert self.manager is not None, "it is settled before it is written"
        return self.manager

    @property
    def records(self) -> dict[str, int]:
        """The number of records of each output."""
        return self.state.outputs.writer.records

    @cached_property
    def bytes(self) -> int:
        """Its memory on all ranks together, about."""
        return self.ranks.world.size * (sum(self.plan.model.memory()) + self.state.outputs.memory)

    def order(self, what: str, /, **arguments: Any) -> Any:
        """Gives all ranks an order for this branch; returns the result of rank 0."""
        return self.ranks.order(self.state_id, what, **arguments)

    def begin(self, checkpoint: Checkpoint | None) -> None:
        """Begins on all ranks in its folder: at a checkpoint of that, which was taken, or at the initial state."""
        if checkpoint is None:
            self.settled.create()
            self.position, self.rules, self.kept, self.behind = BEGINNING, Rules(), ("", BEGINNING), None
        else:
            self.settled.go_on_from(checkpoint)
            self.kept = checkpoint.path.name, self.position

    def take(self, checkpoint: Checkpoint) -> None:
        """Takes position and rules of a checkpoint, with the effects of these that have no acknowledgement, and the state behind it."""
        self.position, self.rules = position_of(checkpoint), Rules.of(checkpoint.manifest.get("rules", {}))
        self.behind = EarlierState.of(behind) if (behind := checkpoint.manifest.get("behind")) else None
        self.unacknowledged = [RuleFiring(*each) for each in checkpoint.manifest.get("unheeded", ())]
        if self.steered and "early" in checkpoint.manifest:
            self.early, self.since = actions_of(checkpoint.manifest["early"]), BEGINNING

    def step(self, stop: int, beside: Sequence["Branch"] = (), keep_last_step: bool = True) -> None:
        """Computes up to a step, with other branches that stand at the same one; the forcing is decoded once.

        keep_last_step: keep what diagnostics of the last step need.

        Raises
        ------
        Failure
            The forcing is damaged, or results cannot be written, or a run folder was moved. The states of all these branches are unusable.
        """
        begin, every, model = time.perf_counter(), (self, *beside), self.state.model
        for each in every:
            each._expect_in_place()
        waited = model.compiling
        self.order("step", start=self.position.step, stop=stop, keep_last_step=keep_last_step, beside=[each.state_id for each in beside])
        assert reach("step.middle")
        spent = Spent((time.perf_counter() - begin) / len(every), compiling=(model.compiling - waited) / len(every))
        for each in every:
            each.position, each.saved, each.stepped = Position(stop, 0), None, True
            each.spent += spent

    @property
    def bad(self) -> BadCellError | None:
        """The error of a bad cell, if there is one and the run is to stop then."""
        if self.plan.run.engine.on_bad_cell != "stop":
            return None
        status = self.order("tell_status")
        return bad_cell(status, self.plan, self.position.step) if status.count else None

    def recorded(self, name: str, step: int, rounded: bool = False) -> Array | None:
        """A variable after so many steps, ([levels,] cells), from the records on the disk; None if no record has it.

        rounded: from a record that was rounded to float32.
        """
        found = self.records_from(name, step, step, None, rounded)
        return None if found is None else found[0]

    def records_from(self, name: str, step: int, last: int, cells: Array | None, rounded: bool = False) -> Array | None:
        """A variable after a step and those behind it whose records lie side by side, up to `last`, (steps, ...); all cells, or some."""
        outputs, whole = self.state.outputs, parted(name)[0]
        found = outputs.record_of(whole, step, rounded)
        if found is None:
            return None
        key, record = found
        held = ((path, records.get(key, 0), until) for path, records, until in self._folders(step))
        path, count, until = next((each for each in held if record < each[1]), (None, 0, 0))
        if path is None:
            return None
        most = min(min(last, until) - step + 1, count - record, BLOCK)
        stop = next((n for n in range(1, most) if outputs.record_of(whole, step + n, rounded) != (key, record + n)), most)
        group = key.rpartition("/")[0].removeprefix("maps/")
        stored = StoredRecords.open(path, group)
        return stored.read(name, slice(record, record + stop), None if cells is None else cells.astype(np.int64))

    def _folders(self, step: int) -> Iterator[tuple[Path, Mapping[str, int], int]]:
        """The folders that may hold its record of a step, the records in each, and the last step that it shares: those of its path, too."""
        if self.manager:
            yield self.manager.folder.path, self.manager.progress.records, self.plan.steps
        until = self.position.step - 1  # actions after the fork may have changed the state of this step
        for at, leg in reversed([*enumerate(self.path[:-1], 1)]):
            if step > (until := min(until, leg.step)):
                return
            other, path = self.live.get(leg.branch), folder_of(self.home, leg.branch)
            if other and other.manager:
                yield other.manager.folder.path, other.manager.progress.records, until
            elif not other and not is_foreign(self.home, self.path[:at]) and (progress := Progress.read(path)):
                yield path, progress.records, until

    def change(self, arguments: Arguments) -> dict[str, object]:
        """Sets, scales or adds to a variable; returns the effect. arguments: of an action of kind "set", see `Session.apply`.

        Raises
        ------
        Mistake
            The change is not possible; nothing has changed.
        DamagedError
            An upload cannot be read.
        """
        increment = self.order("set", **read_change(self.home, self.plan, arguments))
        return {"variable": increment.name, "cells": increment.cells, "before": increment.before, "after": increment.after}

    @property
    def digest(self) -> int:
        """The digest of its state and its rules, the same for any number of ranks."""
        return int(self.order("digest")) ^ self.rules.digest

    def save(self, unacknowledged: Sequence[RuleFiring] = (), done: Callable[[Position], Actions] = lambda position: {}) -> SavedCheckpoint:
        """Writes a checkpoint of its position, durable when this returns.

        unacknowledged: effects of its rules without an acknowledgement. done: the actions on its path from a position.
        """
        if self.saved is None:
            if self.unsynced:
                os.sync()  # links live in many folders; all at once is quicker than each
                self.unsynced = False
            before = self.kept, self.behind
            self.begin_checkpoint(unacknowledged, done)
            try:
                self.saved = saved(self.settled.finish(), self.position)
            except BaseException:
                self.kept, self.behind = before
                raise
        return self.saved

    def begin_checkpoint(self, unacknowledged: Sequence[RuleFiring], done: Callable[[Position], Actions]) -> None:
        """Begins a checkpoint at the present position, which is written behind the run. The arguments are those of `save`."""
        self._expect_in_place()
        behind = self._behind_next(done)
        more: dict[str, object] = ({"rules": self.rules.plain()} if self.rules else {}) | ({"behind": behind.plain()} if behind else {})
        more |= {"unheeded": [astuple(each) for each in unacknowledged]} if unacknowledged else {}
        more |= {"changes": self.position.seq} if self.position.seq and not self.steered else {}  # of a script, at this step
        if self.steered and self.since == BEGINNING and len(early := done(BEGINNING)) <= MOST:
            more |= {"early": plain_actions(early)}
        name = self.settled.keep(self.position.step, self.spent, self.position.seq if self.steered else None, more)
        self.kept, self.behind = (name, self.position), behind

    def _behind_next(self, done: Callable[[Position], Actions]) -> EarlierState | None:
        """The state behind the checkpoint that is made now: one of an earlier step. None where it is not known."""
        if self.kept is None and (self.behind or self.since != BEGINNING):  # it began at the checkpoint of another branch
            return self.behind and self.behind.with_more(done(self.since))
        name, before = self.kept or ("", BEGINNING)
        if before.step == self.position.step:  # an action at this step does not change the diagnostics of the step before it
            return self.behind
        return EarlierState(name, before, {}).with_more(done(before)) if before >= self.since else None

    def _expect_in_place(self) -> None:
        if self.manager:
            self.manager.folder.expect_in_place()

    def flush(self) -> None:
        """Writes all records, so that other branches can read them; makes no checkpoint."""
        self.order("flush")
        self.order("wait")

    def close(self, failure: Failure | None = None) -> None:
        """Takes it out of memory; what is not in a checkpoint is lost. failure: why its run ends."""
        try:
            if self.manager:
                self.state.outputs.close()  # nothing is written any more when its folder is left
                self.manager.leave(failure)
        finally:
            self.order("close")


def position_of(checkpoint: Checkpoint) -> Position:
    """The position of a checkpoint."""
    return Position(checkpoint.step, int(checkpoint.manifest.get("applied", 0)))


def saved(path: Path, position: Sequence[int]) -> SavedCheckpoint:
    """The report of a checkpoint."""
    return SavedCheckpoint(path.name, Position(*position), sum(file.stat().st_size for file in path.iterdir()))
