"""The session of a run that a script commands: it computes the first branch alone, and makes its checkpoints behind the run.

`Simulation` is its face. A server steers the branches of a `Session` by the methods of that class.
"""

import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from steppe.array_types import Array, Integers
from steppe.comm import delayed_interrupt
from steppe.control import OPEN_END, Leg, Position
from steppe.control.wire import BEGINNING
from steppe.engine.bad_cell import frozen
from steppe.engine.branch import FIRST, MOST, Arguments, Branch, saved
from steppe.engine.cadence import Cadence
from steppe.engine.check import remarks
from steppe.engine.checkpoint_manager import CheckpointManager, software
from steppe.engine.outputs import Outputs
from steppe.engine.plan import Plan
from steppe.engine.rank_state import Reader
from steppe.engine.ranks import Ranks
from steppe.engine.session import Session
from steppe.engine.snapshots import BEFORE_ALL
from steppe.engine.uploads import write_upload
from steppe.errors import Failure, NotComputedError, RequestError
from steppe.io import Checkpoint, RunFolder, Spent, expect_checkpoint, expect_no_ensemble, held_by
from steppe.models import Increment

SECONDS_BETWEEN_ORDERS = 0.1  # as long as a user may wait for an answer
SHOWN = 5  # changes that a warning names
MOST_BYTES = 64 << 20  # of arrays that were set since the last checkpoint; beyond them the way to the present state is not known


@dataclass(frozen=True)
class Event:
    """An event of a run. kind: "started", "resumed", "progress", "checkpoint", "note", "warning", "stopped" or "finished"; of rules
    "event", "message", "pause" or "image".

    Commands that show events add "compiling", which Steppe logs.
    """

    kind: str
    text: str
    step: int
    steps: int
    date: str


class ScriptSession(Session):
    """The session of one run in its folder.

    Parameters
    ----------
    plan, path
        The run, and its folder.
    fresh
        Remove the results that the folder holds.
    ranks
        The ranks.
    on_event
        Gets the events.

    Raises what `Simulation` raises.
    """

    def __init__(self, plan: Plan, path: Path, fresh: bool, ranks: Ranks, on_event: Callable[[Event], None]) -> None:
        self.on_event = on_event
        self.failure: Failure | None = None
        self._first: Branch | None = None
        self._sound = True  # no cell was found bad: the state may be saved
        self._ended = False
        self._spent, self._seconds, self._begun = Spent(), 0.0, 0.0
        self._array_counts: dict[str, float] = {}
        self._unwritten, self._bytes = 0, 0  # changes since the last checkpoint, and the bytes of their arrays
        made = not path.exists()
        super().__init__(path, plan, ranks, self.tell, fresh, steered=False)
        with ExitStack() as opening:  # undone when something below fails
            if made:
                opening.callback(shutil.rmtree, path, ignore_errors=True)
            opening.callback(super().close)
            expect_no_ensemble(path)
            expect_checkpoint(path)
            checkpoint = Checkpoint.newest(self.folder.checkpoints, plan.identity, partial(self.tell, "warning"))
            self._begin_at(checkpoint)
            if checkpoint:
                self._spent = Spent(**checkpoint.manifest["spent"])
                self._warn_of_software(checkpoint)
            opening.pop_all()
        self.resumed = checkpoint is not None
        if lost := self.folder.log.go_back(*(held_by(checkpoint) if checkpoint else BEGINNING)):
            told = ", ".join(f"{row['name']} at step {row['step']}" for row in lost[:SHOWN]) + (", ..." if len(lost) > SHOWN else "")
            self.tell("warning", f"Changes after the last checkpoint are lost: {told}. Make them again.")
        self.version = self._saved_version = 1  # of the state, and of its newest checkpoint
        step, seq = self.on.position
        self._begin = self.on.position = Position(step, max(seq, int(checkpoint.manifest.get("changes", 0)) if checkpoint else 0))
        self._states = {self._begin: checkpoint.path.name if checkpoint else ""}  # of this session, and their checkpoints
        self._cadence = Cadence(plan.run.engine.checkpoint, plan.run.time.length)

    @property
    def on(self) -> Branch:
        """The branch."""
        assert self._first is not None, "it is in memory"
        return self._first

    @property
    def folder(self) -> RunFolder:
        """The run folder."""
        return self._branches.folder

    @property
    def date(self) -> str:
        """The begin of the next step."""
        return self.plan.clock.begin(self._first.position.step if self._first else 0)

    def tell(self, kind: str, text: str) -> None:
        """Reports an event at the present step."""
        step = self._first.position.step if self._first else 0
        self.on_event(Event(kind, text, step, self.plan.steps, self.date))

    def tell_begin(self) -> None:
        """Reports where the session begins; of a new run also what there is to remark."""
        self.tell("resumed" if self.resumed else "started", f"at {self.date}")
        if self.site_note:
            self.tell("note", self.site_note)
        if not self.resumed:
            for kind, text in remarks(self.plan, self.folder.path, self.outputs, self.notes, self.on.plan.model):
                self.tell(kind, text)

    def tell_end(self) -> None:
        """Reports the end of a computation, and the cells that are frozen if there are some."""
        if told := frozen(self.plan, self.values):
            self.tell("warning", told)
        done = self.on.position.step >= self.plan.steps
        self.tell("finished" if done else "stopped", f"at {self.plan.clock.name(self.plan.steps - 1) if done else self.date}")

    @property
    def spent(self) -> Spent:
        """The cost of stepping so far, with the sessions before this one."""
        seconds = self._seconds + (time.perf_counter() - self._begun if self._begun else 0.0)
        stall_in = self.reader.counters.stall_seconds if self.reader else 0.0
        return self._spent + Spent(seconds, stall_in, self.outputs.writer.stall, self.on.plan.model.compiling)

    @property
    def array_counts(self) -> dict[str, float]:
        """Numbers of the model's global arrays over all ranks, also after the end; empty for a model without."""
        return self._array_counts if self._ended else super().array_counts

    # ---- time -----------------------------------------------------------------------------------------------------------------------
    def compute(self, end: int, stop: Callable[[], bool], keep_last_step: bool = False) -> bool:
        """Computes up to a step; True if it was reached, before `stop` returned True or a trigger paused the run.

        keep_last_step: keep what diagnostics of the last step need.
        """
        self._recomputation.leave()
        with self._timed(), self._whole() as interrupted:
            while (step := self.on.position.step) < end:
                if stop() or interrupted() or self.ranks.consensus.stop:
                    return False
                until = self._driver.end([self.on], self._cadence.border(step, end), SECONDS_BETWEEN_ORDERS, whole=False)
                if until == end and not keep_last_step and self._cadence.far((step - self._kept[1].step) * self._driver.pace):
                    self._begin_checkpoint()
                bad = self._driver.step([self.on], until, keep_last_step)
                self.version += 1
                if bad:
                    self._sound = False
                    raise bad[FIRST]
                self.tell("progress", self.date)
                paused = self._report_firings()
                self._manager.seal_what_is_durable()
                self._report_checkpoint()
                if until < self.plan.steps and self._cadence.due(until, self._manager.seconds):
                    self._begin_checkpoint()
                    if better := self._balance.measured(self.on, self.tell):
                        self.recut(better.bounds)
                if paused:
                    return False
        return True

    def rewind(self, step: int) -> None:
        """Returns to the state after so many steps, before any change at that step; later states and changes are discarded.

        Raises
        ------
        NotComputedError
            This session has no state of that step or before it.
        """
        end, folder = Position(step, 0), self.folder.checkpoints
        with self._whole():
            with suppress(Failure):  # of the disk, which may have room again: later records are removed
                self._manager.wait()  # for a checkpoint on its way, which replaces older ones
            kept = [at for at, name in self._states.items() if at >= self.on.since and (not name or (folder / name).is_dir())]
            there = [at for at in kept if at <= end or (at == self._begin and at.step == step)]
            if not there:
                earliest = f"; its earliest is of step {min(kept).step}" if kept else ""
                told = f"This session has no state of the run from before step {step}{earliest}."
                raise NotComputedError(f"{told} Begin the run again to go back further.")
            self._go_back(max(there), end)

    def rule(self, kind: str, arguments: Arguments) -> None:
        """Adds a trigger, or removes an event or a trigger, as `RuleRunner.order` does."""
        with self._whole():
            self._rule_runner.order(self.on, kind, arguments)
            self._note(kind, arguments)

    def _go_back(self, at: Position, end: Position) -> None:
        """Begins again at a position of which there is a state, and computes up to the begin of another one."""
        self._recomputation.leave()
        name, since = self._states[at], self.on.since
        checkpoint = Checkpoint.open(self.folder.checkpoints / name, self.plan.identity) if name else None
        actions = self._recomputation.between(at, {FIRST: end})
        self._manager.go_back(checkpoint)
        self._sound = False  # until it is there
        self._cache.discard(FIRST)
        self._recomputation.discard(FIRST, end)
        beyond = {name for position, name in self._states.items() if position > at}
        Checkpoint.remove(self.folder.checkpoints, self.plan.identity, lambda each: each.path.name in beyond)
        self._states = {position: name for position, name in self._states.items() if position <= at}
        self._begin_at(checkpoint)
        self.on.position, self.on.kept, self.on.since = at, (name, at), since
        self._recomputation.redo(self.on, actions, self._driver.up_to)
        self._driver.up_to(self.on, end.step)
        for each in self._rule_runner.taken():  # which were reported before
            self._rule_runner.acknowledge(each.branch, each.step, each.source)
        self.folder.log.go_back(*self.on.position)
        self.version, self._sound = self.version + 1, True

    @contextmanager
    def _whole(self) -> Iterator[Callable[[], bool]]:
        """A context whose work is done whole: `delayed_interrupt`. The state is unusable after a second interrupt."""
        with delayed_interrupt() as interrupted:
            try:
                yield interrupted
            except KeyboardInterrupt:
                self._sound = False
                raise

    @contextmanager
    def _timed(self) -> Iterator[None]:
        self._begun = time.perf_counter()
        try:
            yield
        finally:
            self._seconds += time.perf_counter() - self._begun
            self._begun = 0.0

    # ---- looking and changing ---------------------------------------------------------------------------------------------------------
    def look(self, what: str, /, **arguments: Any) -> Any:
        """The result of an order about the last step, which is computed again if this session has not computed it."""
        try:
            return self.on.order(what, **arguments)
        except NotComputedError:
            with self._recomputation.at(self.on, self.on.position.step, OPEN_END) as then:
                if then is None:
                    raise
                return then.order(what, **arguments)

    def values(self, name: str) -> Array:
        """A variable at the last step, ([levels,] cells); kept for the next caller."""
        return self._cache.values(self.on, name, lambda: self.look("export", name=name))

    def set(self, name: str, value: float | Array, cells: Integers | None, operation: str = "set") -> Increment:
        """Sets, scales or adds to a variable, everywhere or in some packed cells."""
        with self._whole():
            increment: Increment = self.on.order("set", name=name, value=value, cells=cells, operation=operation)
            kept = np.array(value) if isinstance(value, np.ndarray) else value
            self._bytes += sum(values.nbytes for values in (value, cells) if isinstance(values, np.ndarray))
            self._note("set", cache(partial(self._arguments, {"variable": name, "operation": operation}, kept, cells)))
        return increment

    def _note(self, kind: str, arguments: Arguments | Callable[[], Arguments]) -> None:
        """Notes an action that was performed at the present position."""
        self.on.position, self.on.saved = Position(self.on.position.step, self.on.position.seq + 1), None
        self._unwritten += 1
        if self._unwritten > MOST or self._bytes > MOST_BYTES:  # no earlier state leads here any more
            self.on.since = self.on.position
            self._recomputation.discard(FIRST, BEFORE_ALL)
        else:
            self._recomputation.note(self.on, kind, arguments)
        self.version += 1

    def _arguments(self, change: Arguments, value: float | Array, cells: Integers | None) -> Arguments:
        """A change as a journal has it; its arrays are written to the uploads."""
        write = partial(write_upload, self.folder.path)
        given = {"upload": write(np.asarray(value, "<f8"))} if isinstance(value, np.ndarray) else {"value": value}
        return {**change, "done": True, **given} | ({} if cells is None else {"cells": write(np.asarray(cells, "<u4"))})

    # ---- checkpoints ----------------------------------------------------------------------------------------------------------------
    def checkpoint(self) -> Path:
        """Writes a checkpoint, durable when this returns."""
        if not self._sound:
            raise RequestError("The state is not whole, so no checkpoint can be made. Go back with `rewind`, or open the run again.")
        with self._timed(), self._whole():
            self._begin_checkpoint()
            path = self._manager.finish()
        self.on.saved = saved(path, self.on.position)
        self._report_checkpoint()
        return path

    def save_last(self) -> None:
        """Saves the present state, unless it is unusable or the session has ended; all checkpoints are durable when this returns."""
        if not self._sound or self._ended or self.on.state.torn:
            return
        with self._whole():
            if self.version != self._saved_version:
                self._begin_checkpoint()
            self._manager.wait()
            self._report_checkpoint()

    def _begin_checkpoint(self) -> None:
        """Begins a checkpoint; the last one, too, is made of copies, so that all runs need the same memory."""
        self.folder.log.write()
        self.on.spent = self.spent
        self.on.begin_checkpoint(self._rule_runner.unacknowledged(), partial(self._recomputation.since, self.on))
        self._states[self.on.position] = self._kept[0]
        self._unwritten, self._bytes = 0, 0
        self._report_checkpoint()  # of the one before, for which the manager may have waited
        self._saved_version = self.version
        self._cadence.made()

    def recut(self, bounds: Sequence[int]) -> None:
        """Gives the ranks other shares of the cells: rank r those from bounds[r] to bounds[r + 1]."""
        with self._whole():
            self.checkpoint()
            self._recomputation.leave()
            self._recut([int(bound) for bound in bounds])
            self._turn_to(self._branch(FIRST))

    def close(self, failure: Failure | None = None) -> None:
        """Ends reading and writing and frees the folder."""
        if not self._ended:
            if FIRST in self._branches.live and not (failure or self.failure or self.on.state.torn):
                self._array_counts = self.array_counts
            self._ended = True
            super().close(failure or self.failure)

    # ---- inside -----------------------------------------------------------------------------------------------------------------------
    @property
    def _manager(self) -> CheckpointManager:
        return self.on.settled

    @property
    def _kept(self) -> tuple[str, Position]:
        """Name and position of the newest checkpoint, or of the initial state."""
        assert self.on.kept is not None, "it begins at one"
        return self.on.kept

    def _begin_at(self, checkpoint: Checkpoint | None) -> None:
        """Continues at a checkpoint, or at the initial state."""
        self._turn_to(self._branches.begin_at(FIRST, [Leg(FIRST, OPEN_END, OPEN_END)], checkpoint))
        self._rule_runner.again(self.on)
        self._rule_runner.taken()  # they stay without an acknowledgement: a server reports them

    def _turn_to(self, branch: Branch) -> None:
        if self._first:
            self._spent += Spent(0.0, 0.0, self.outputs.writer.stall, self._first.plan.model.compiling)
        self._first = branch
        self.outputs: Outputs = self.on.state.outputs  # both answer after the end of the session, too
        self.reader: Reader | None = self.on.state.reader

    def _warn_of_software(self, checkpoint: Checkpoint) -> None:
        then, now = checkpoint.manifest["software"], software()
        if then != now:
            different = [f"{name} {then.get(name)}, now {now[name]}" for name in now if then.get(name) != now[name]]
            self.tell("warning", f"The run was begun with {'; '.join(different)}. Its last bits may differ from those of a run in one go.")

    def _report_firings(self) -> bool:
        """Reports the effects of rules; True if the run is to pause."""
        fired = self._rule_runner.taken()
        for each in fired:
            self.tell(each.kind, each.text)
            self._rule_runner.acknowledge(each.branch, each.step, each.source)
        return any(each.kind == "pause" for each in fired)

    def _report_checkpoint(self) -> None:
        self._manager.tell(lambda path: self.tell("checkpoint", str(path)))
