"""One branch of a run that is steered, where it stands: its states on all ranks, and what of it is on the disk."""

import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from msgspec.structs import astuple
from numpy.typing import NDArray

from steppe.control import Leg, Position, SavedCheckpoint
from steppe.control.wire import BEGINNING, RuleFiring
from steppe.engine.bad_cell import bad_cell
from steppe.engine.branch_rules import Rules
from steppe.engine.checkpoint_manager import CheckpointManager
from steppe.engine.plan import Plan
from steppe.engine.ranks import Ranks
from steppe.errors import BadCellError, Failure
from steppe.failpoint import reach
from steppe.io import Checkpoint, Spent, StoredRecords
from steppe.levels import parted

Actions = Mapping[Position, tuple[str, Mapping[str, Any]]]
"""Kind and arguments of what was done, by where a branch stood then."""

MOST = 1000  # actions that a checkpoint tells
BLOCK = 384  # records that are read at once


class EarlierState(NamedTuple):
    """A state from which another one can be come to again. name: of its checkpoint in the same folder, "" for the initial state."""

    name: str
    position: Position
    actions: Actions

    def plain(self) -> list[Any]:
        """As JSON has it."""
        return [self.name, self.position, [[*position, *action] for position, action in self.actions.items()]]

    @classmethod
    def of(cls, plain: Sequence[Any]) -> "EarlierState":
        """From `plain`."""
        name, position, actions = plain
        return cls(name, Position(*position), {Position(step, seq): (kind, done) for step, seq, kind, done in actions})


class ClosedBranch(NamedTuple):
    """A branch that is closed and stands where it stood. name: of its checkpoint there. The rest as in `Branch`."""

    number: int
    path: tuple[Leg, ...]
    position: Position
    since: Position
    name: str


@dataclass
class Branch:
    """A branch that is in memory.

    path: the way to it. state_id: the number of its rank states. keeper: of its run folder, None before it is settled; until then
    `origin` is the branch whose results it shares, 0 for none, and `first` how many records those are. saved: the checkpoint of its
    position. since: the position from which on this engine did all that was done on its path. kept: name and position of its newest
    checkpoint, or of the initial state. behind: the state before that one, of an earlier step, from which diagnostics are computed again.
    stepped: it has made a step since it came into memory, and so has the diagnostics of its last step.
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
    stranded: Failure | None = None  # why the results that it shares were lost before it had a folder: it can be looked at, not saved
    unsynced: bool = False  # its folder is not durable yet
    rules: Rules = field(default_factory=Rules)
    unacknowledged: Sequence[RuleFiring] = ()  # in the checkpoint that it was made from
    remembered: int = 0  # the step of its newest copy
    since: Position = BEGINNING
    kept: tuple[str, Position] | None = None
    behind: EarlierState | None = None
    stepped: bool = False

    @property
    def settled(self) -> CheckpointManager:
        """The keeper of a branch that has a run folder."""
        assert self.manager is not None, "it is settled before it is written"
        return self.manager

    @property
    def records(self) -> dict[str, int]:
        """How many records there are of each output."""
        return self.ranks.state(self.state_id).outputs.writer.records

    @cached_property
    def bytes(self) -> int:
        """What it takes in memory, on all ranks together, about; as many on each."""
        return self.ranks.world.size * (sum(self.plan.model.memory()) + self.ranks.state(self.state_id).outputs.memory)

    def order(self, what: str, /, **arguments: Any) -> Any:
        """Has every rank do something for this branch."""
        return self.ranks.order(self.state_id, what, **arguments)

    def begin(self, checkpoint: Checkpoint | None) -> None:
        """Has all ranks begin in its folder: at a checkpoint of it, or at the initial state."""
        if checkpoint is None:
            self.settled.create()
            self.position, self.rules, self.kept, self.behind = BEGINNING, Rules(), ("", BEGINNING), None
            return
        self.settled.go_on_from(checkpoint)
        self.take(checkpoint)
        self.kept = checkpoint.path.name, self.position
        self.behind = EarlierState.of(checkpoint.manifest["behind"]) if checkpoint.behind is not None else None

    def take(self, checkpoint: Checkpoint) -> None:
        """Takes position and rules of a checkpoint, with what these did that is not acknowledged."""
        self.position, self.rules = position_of(checkpoint), Rules.of(checkpoint.manifest.get("rules", {}))
        self.unacknowledged = [RuleFiring(*each) for each in checkpoint.manifest.get("unheeded", ())]

    def step(self, stop: int, beside: Sequence["Branch"] = (), keep_last_step: bool = True) -> None:
        """Computes up to a step, with other branches that stand at the same one; the forcing is decoded once.

        looks: diagnostics of the last step will be asked for.

        Raises
        ------
        Failure
            The forcing is damaged, or results cannot be written. No state is of any use any more.
        """
        begin, every, model = time.perf_counter(), (self, *beside), self.ranks.state(self.state_id).model
        waited = model.compiling
        self.order("step", start=self.position.step, stop=stop, keep_last_step=keep_last_step, beside=[each.state_id for each in beside])
        assert reach("step.middle")
        spent = Spent((time.perf_counter() - begin) / len(every), compiling=(model.compiling - waited) / len(every))
        for each in every:
            each.position, each.saved, each.stepped = Position(stop, 0), None, True
            each.spent += spent

    @property
    def bad(self) -> BadCellError | None:
        """What is wrong with a cell, if one is bad and the run is to stop then."""
        if self.plan.run.engine.on_bad_cell != "stop":
            return None
        status = self.order("tell_status")
        return bad_cell(status, self.plan) if status.count else None

    def recorded(self, name: str, step: int, rounded: bool = False) -> NDArray[Any] | None:
        """What a variable was after so many steps, ([levels,] cells), from records that are on the disk; None when none holds it.

        rounded: of a record that was rounded to float32.
        """
        found = self.records_from(name, step, step, None, rounded)
        return None if found is None else found[0]

    def records_from(self, name: str, step: int, last: int, cells: NDArray[Any] | None, rounded: bool = False) -> NDArray[Any] | None:
        """The same of a step and of those behind it whose records lie side by side, up to `last`, (steps, ...); of all cells, or some."""
        outputs, whole = self.ranks.state(self.state_id).outputs, parted(name)[0]
        found = outputs.record_of(whole, step, rounded)
        if found is None or self.manager is None or found[1] >= self.manager.progress.records.get(found[0], 0):
            return None
        key, record = found
        most = min(last - step + 1, self.manager.progress.records[key] - record, BLOCK)
        stop = next((n for n in range(1, most) if outputs.record_of(whole, step + n, rounded) != (key, record + n)), most)
        group = key.rpartition("/")[0].removeprefix("maps/")
        records = StoredRecords.open(self.manager.folder.path, group)
        return records.read(name, slice(record, record + stop), None if cells is None else cells.astype(np.int64))

    def change(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """Sets, scales or adds to a variable; tells what that did.

        Raises
        ------
        Mistake
            It cannot be done; nothing has changed.
        """
        increment = self.order("set", **arguments)
        return {"variable": increment.name, "cells": increment.cells, "before": increment.before, "after": increment.after}

    @property
    def digest(self) -> int:
        """Of its state and its rules, as outcomes have it; the same for any number of ranks."""
        return int(self.order("digest")) ^ self.rules.digest

    def save(self, unacknowledged: Sequence[RuleFiring] = (), done: Callable[[Position], Actions] = lambda position: {}) -> SavedCheckpoint:
        """A checkpoint of where it stands, durable when this returns.

        unheeded: what its rules did that nobody has noted. done: what was done on the way from a position.
        """
        if self.saved is None:
            if self.unsynced:
                os.sync()  # links live in many folders; all at once is quicker than each
                self.unsynced = False
            behind = behind_next(self.kept or ("", self.position), self.position, self.behind, self._known(done))
            self.settled.keep(self.position.step, self.spent, self.position.seq, self.told(unacknowledged, behind))
            self.saved = saved(self.settled.finish(), self.position)
            self.kept, self.behind = (self.saved.name, self.position), behind
        return self.saved

    def _known(self, done: Callable[[Position], Actions]) -> Callable[[Position], Actions | None]:
        """What was done from a position on; None where an earlier engine did some of it."""
        return lambda position: done(position) if position >= self.since else None

    def told(self, unacknowledged: Sequence[RuleFiring], behind: EarlierState | None) -> dict[str, Any]:
        """What the manifest of a checkpoint has of it. behind: the state behind it."""
        rules = ({"rules": self.rules.plain()} if self.rules else {}) | ({"behind": behind.plain()} if behind else {})
        return rules | ({"unheeded": [astuple(each) for each in unacknowledged]} if unacknowledged else {})

    def flush(self) -> None:
        """Writes all records, so that others can read them; not a checkpoint."""
        self.order("flush")
        self.order("wait")

    def close(self) -> None:
        """Forgets it; what is not in a checkpoint is lost."""
        if self.manager:
            self.manager.leave()
        self.order("close")


def behind_next(
    kept: tuple[str, Position], position: Position, behind: EarlierState | None, done: Callable[[Position], Actions | None]
) -> EarlierState | None:
    """The state behind the checkpoint that is made at a position now: of an earlier step. None where it is not known.

    kept: name and position of the newest checkpoint, or of the initial state. behind: the state behind that one. done: what was done from
    a position on, None where that is not known.
    """
    name, before = kept
    if before.step == position.step:  # what was done at this step makes no difference to the diagnostics of the step before it
        return behind
    actions = done(before)
    return EarlierState(name, before, actions) if actions is not None and len(actions) <= MOST else None


def position_of(checkpoint: Checkpoint) -> Position:
    """Where the state of a checkpoint stands."""
    return Position(checkpoint.step, int(checkpoint.manifest.get("applied", 0)))


def saved(path: Path, position: Sequence[int]) -> SavedCheckpoint:
    """What there is to say of a checkpoint."""
    return SavedCheckpoint(path.name, Position(*position), sum(file.stat().st_size for file in path.iterdir()))
