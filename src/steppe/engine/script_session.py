"""The session of a run that a script commands: its folder, where it stands, its steps, its checkpoints and the way back.

`Simulation` is its face. A served run is a `Session`, which holds many branches; both step by one driver.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steppe.control import OPEN_END, Leg
from steppe.control.wire import BEGINNING
from steppe.engine.again import redo
from steppe.engine.balance import Balance
from steppe.engine.branch import Branch
from steppe.engine.branches import FIRST
from steppe.engine.cadence import Cadence
from steppe.engine.checkpoint_manager import CheckpointManager, software
from steppe.engine.differences import open_folder
from steppe.engine.driver import Driver
from steppe.engine.plan import Plan
from steppe.engine.rank_state import RankState
from steppe.engine.ranks import Ranks
from steppe.engine.rule_runner import RuleRunner
from steppe.engine.trail import Trail
from steppe.engine.uploads import read_change
from steppe.errors import Failure, NotComputedError
from steppe.io import Checkpoint, Spent, expect_no_ensemble
from steppe.models import Increment

SECONDS_BETWEEN_ORDERS = 0.1  # as long as a person may wait for an answer


@dataclass(frozen=True)
class Event:
    """Something that happened. kind: "started", "resumed", "progress", "checkpoint", "note", "warning", "stopped" or "finished"; of
    rules "event", "message", "pause" or "image".

    Commands that show events add "compiling", which Steppe's log says.
    """

    kind: str
    text: str
    step: int
    steps: int
    date: str


class ScriptSession:
    """Of one run, in its folder.

    Parameters
    ----------
    plan, path
        The run, and its folder.
    fresh
        Begins it anew.
    ranks
        The ranks.
    on_event
        Gets what happens.

    Raises what `Simulation` raises.
    """

    def __init__(self, plan: Plan, path: Path, fresh: bool, ranks: Ranks, on_event: Callable[[Event], None]) -> None:
        self.plan, self.ranks, self.on_event = plan, ranks, on_event
        self.failure: Failure | None = None
        self._sound = True  # no cell was found bad: the state may be kept
        self._closed = False
        self._spent, self._seconds, self._begun = Spent(), 0.0, 0.0
        self._closing = ExitStack()
        with ExitStack() as opening:  # undone when something below fails
            number = ranks.begin(plan)
            self.on = Branch(FIRST, (Leg(FIRST, OPEN_END, OPEN_END),), plan, ranks, number, BEGINNING, Spent())
            opening.callback(self.on.order, "close")
            self.outputs, self.reader = self.state.outputs, self.state.reader
            self.folder = open_folder(plan, path, fresh)
            opening.callback(self.folder.close)
            expect_no_ensemble(self.folder.path)
            self.on.manager = self._manager = CheckpointManager(self.folder, plan, ranks, number)
            self._rule_runner = RuleRunner(self.folder.path, plan, partial(read_change, self.folder.path, plan))
            self._driver = Driver(self._rule_runner)
            checkpoint = Checkpoint.newest(self.folder.checkpoints, plan.identity, partial(self.tell, "warning"))
            self._begin_at(checkpoint)
            if checkpoint:
                self._spent = Spent(**checkpoint.manifest["spent"])
                self._warn_of_software(checkpoint)
            self._trail = Trail(self.on, self.folder, Driver(self._rule_runner, again=True).up_to)
            opening.callback(lambda: self._manager.leave(self.failure))
            opening.callback(lambda: self.outputs.close())  # those there are then: a recut makes others
            opening.callback(self._trail.leave)
            self._closing = opening.pop_all()
        self.resumed = checkpoint is not None
        self.version = self._kept_version = 1  # of what is safe
        self._cadence = Cadence(plan.run.engine.checkpoint, plan.run.time.length)
        self._balance = Balance(plan.grid.n_cells)
        if checkpoint and (even := self._balance.begin(self.state.cut.partition, self.folder)):
            self._cut(even.bounds, checkpoint.path)

    @property
    def state(self) -> RankState:
        """What this process computes itself."""
        return self.ranks.state(self.on.state_id)

    @property
    def date(self) -> str:
        """The begin of the next step."""
        return self.plan.clock.begin(self.on.position.step)

    def tell(self, kind: str, text: str) -> None:
        """Reports an event where the run stands."""
        self.on_event(Event(kind, text, self.on.position.step, self.plan.steps, self.date))

    @property
    def spent(self) -> Spent:
        """What stepping took so far, with the sessions before this one."""
        seconds = self._seconds + (time.perf_counter() - self._begun if self._begun else 0.0)
        stall_in = self.reader.counters.stall_seconds if self.reader else 0.0
        return self._spent + Spent(seconds, stall_in, self.outputs.writer.stall, self.plan.model.compiling)

    # ---- time -----------------------------------------------------------------------------------------------------------------------
    def advance(self, end: int, stop: Callable[[], bool], keep_last_step: bool = False) -> bool:
        """Computes up to a step; whether that was reached, before `stop` said yes or a trigger paused the run.

        looks: diagnostics of the last step will be asked for.
        """
        self._trail.leave()
        with self._timed():
            while (step := self.on.position.step) < end:
                if stop() or self.ranks.said.stop:
                    return False
                until = self._driver.end([self.on], self._cadence.border(step, end), SECONDS_BETWEEN_ORDERS, whole=False)
                if until == end and not keep_last_step and self._cadence.far((step - self._trail.step) * self._driver.pace):
                    self._keep()
                bad = self._driver.step([self.on], until, keep_last_step)
                self.version += 1
                if bad:
                    self._sound = False
                    raise bad[0]
                self.tell("progress", self.date)
                paused = self._tell_fired()
                self._manager.seal_what_is_durable()
                self._manager.tell(self._tell_kept)
                if until < self.plan.steps and self._cadence.due(until, self._manager.seconds):
                    self._keep()
                    if better := self._balance.measured(self.on, self.tell):
                        self.recut(better.bounds)
                if paused:
                    return False
        return True

    def rewind(self, step: int) -> None:
        """Goes back to where the run stood after so many steps, before anything was set then."""
        self._trail.leave()
        self._manager.wait()
        checkpoint, position, actions = self._trail.go_back(step)
        self._renew([])
        self._begin_at(checkpoint)
        self.on.kept = checkpoint.path.name if checkpoint else "", position
        redo(self.on, actions, self._trail.do, self._driver.up_to)
        self._driver.up_to(self.on, step)
        for each in self._rule_runner.taken():  # which were told before
            self._rule_runner.acknowledge(each.branch, each.step, each.source)
        self.version, self._sound = self.version + 1, True

    def add_trigger(self, arguments: Mapping[str, Any]) -> int:
        """Watches for something; gives the number of the trigger."""
        number = 1 + max(self.on.rules.numbers, default=0)
        self._rule_runner.order(self.on, "trigger", {**arguments, "id": number})
        self.version += 1
        return number

    def remove_rule(self, number: int) -> None:
        """Removes an event or a trigger."""
        self._rule_runner.order(self.on, "remove", {"rule": number})
        self.version += 1

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
        """An order that looks at the last step, which is computed again where this session has not made it."""
        try:
            return self.on.order(what, **arguments)
        except NotComputedError:
            then = self._trail.last_step(self.on.position.step)
            if then is None:
                raise
            return then.order(what, **arguments)

    def set(self, name: str, value: float | NDArray[Any], cells: NDArray[np.int64] | None) -> Increment:
        """Sets a variable everywhere or in some packed cells."""
        increment: Increment = self.on.order("set", name=name, value=value, cells=cells)
        self._trail.note(self.on.position.step, name, value, cells)
        self.version += 1
        return increment

    # ---- keeping ----------------------------------------------------------------------------------------------------------------------
    def checkpoint(self) -> Path:
        """A checkpoint, durable when this returns."""
        with self._timed():
            self._keep()
            path = self._manager.finish()
        self._manager.tell(self._tell_kept)
        return path

    def save(self) -> None:
        """Has the state in a checkpoint, unless it is of no use or the session was closed; all of them are durable when this returns."""
        if self._sound and not self._closed and not self.state.torn:
            if self.version != self._kept_version:
                self._keep()
            self._manager.wait()
            self._manager.tell(self._tell_kept)

    def _keep(self) -> None:
        """Begins a checkpoint; the last one, too, is made of copies, so that all runs need the same memory."""
        step = self.on.position.step
        name = self._manager.keep(step, self.spent, more=self.on.told(self._rule_runner.unacknowledged(), self._trail.behind(step)))
        self._trail.keep(step, name)
        self._manager.tell(self._tell_kept)  # of the one before, which may have been waited for
        self._kept_version = self.version
        self._cadence.made()

    def recut(self, bounds: Sequence[int]) -> None:
        """Gives the ranks other shares of the cells: rank r those from bounds[r] to bounds[r + 1]."""
        self._cut(bounds, self.checkpoint())

    def _cut(self, bounds: Sequence[int], checkpoint: Path) -> None:
        self._trail.leave()
        self._renew([int(bound) for bound in bounds])
        self.on.order("open", output=str(self.folder.output), checkpoint=str(checkpoint))

    def close(self) -> None:
        """Ends reading and writing and frees the folder."""
        self._closed = True
        self._closing.close()

    # ---- inside -----------------------------------------------------------------------------------------------------------------------
    def _renew(self, bounds: list[int]) -> None:
        """Has all ranks ready to begin at another state, with other shares where there are bounds."""
        self.on.order("recut", bounds=bounds)
        self.outputs, self.reader = self.state.outputs, self.state.reader

    def _begin_at(self, checkpoint: Checkpoint | None) -> None:
        """Goes on from a checkpoint, or from the initial state."""
        self.on.begin(checkpoint)
        self._rule_runner.again(self.on)
        self._rule_runner.taken()  # they stay unheeded: a server tells them

    def _warn_of_software(self, checkpoint: Checkpoint) -> None:
        then, now = checkpoint.manifest["software"], software()
        if then != now:
            different = [f"{name} {then.get(name)}, now {now[name]}" for name in now if then.get(name) != now[name]]
            self.tell("warning", f"The run was begun with {'; '.join(different)}. Its last bits may differ from those of a run in one go.")

    def _tell_fired(self) -> bool:
        """Tells what events and triggers did; whether the run is to pause."""
        fired = self._rule_runner.taken()
        for each in fired:
            self.tell(each.kind, each.text)
            self._rule_runner.acknowledge(each.branch, each.step, each.source)
        return any(each.kind == "pause" for each in fired)

    def _tell_kept(self, path: Path) -> None:
        self.tell("checkpoint", str(path))
