"""The status of a run for clients: its state, its scenarios, its operations, and the changes of all of them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing

from steppe.api.documents import CheckpointStatus, OperationStatus, RuleEffect, RunOverview, ScenarioStatus
from steppe.control.orders import RULES, BranchRecord, Command
from steppe.control.server.dispatch import Dispatch
from steppe.control.server.engine_process import GOES_ON, EngineProcess, Scheduler
from steppe.control.server.journal import Journal
from steppe.control.wire import FULL, OPEN_END, BranchFailure, Position

Rule = tuple[Command, list[RuleEffect]]  # an event or trigger, and its effects
CACHED = 1000  # branches whose status is cached
WAITED_FOR = ("starting", "loading", "compiling", "recovering")


class RunStatus:
    """The status of a run; `Supervisor` changes it.

    Parameters
    ----------
    name
        Of the run.
    journal, scheduler
        The commands; the time.
    """

    dispatch: Dispatch
    process: EngineProcess

    def __init__(self, name: str, journal: Journal, scheduler: Scheduler) -> None:
        self.name, self.journal, self._scheduler = name, journal, scheduler
        self.facts = journal.facts
        self._waiters: dict[int, list[Callable[[], None]]] = {}  # by command, called when it is over
        self._watchers: list[Callable[[], None]] = []  # called when something of `info` may have changed
        self._over = False
        self._kept: dict[int, int] = {}  # by branch, the first step that can be shown again soon
        self.arrays: dict[str, float] = {}  # numbers of the models' global arrays
        self._waiting = ("", 0.0)  # the state for which clients wait, and since when
        self._cache: dict[int, tuple[tuple[object, ...], ScenarioStatus]] = {}  # by branch: all on which its status depends; the status

    @property
    def full(self) -> str:
        """The reason for which the run waits for room on the disk; "" if it does not."""
        return self.process.full or next((each.text for each in self.dispatch.full.values()), "")

    def info(self) -> RunOverview:
        """The state of the run, from memory, with the newest of the scenarios that rewinds have left: a calibration leaves thousands."""
        left, open_ = ([self._scenario(branch) for branch in some.values()] for some in (self.dispatch.left, self.dispatch.open))
        states = [each["state"] for each in open_]
        state = self.process.state
        if state == "up":
            rest = "finished" if set(states) == {"finished"} else "ready"
            state = self.process.doing or ("stepping" if "stepping" in states else rest)
        problem = self.process.problem
        if self.full and state != "failed":
            state, problem = "paused", {"code": "disk-full", "text": f"{self.full} {GOES_ON}"}
        hello = self.process.hello
        return {
            "run": self.name,
            "state": state,
            "waited": self._waited(state),
            "silent": self.process.silent,
            "problem": problem,
            "engine": {"epoch": self.process.epoch, "pid": hello.pid, "host": hello.host, "ranks": hello.ranks} if hello else None,
            "deaths": self.process.deaths,
            "arrays": self.arrays,
            "steps": self.facts["steps"] if self.facts else None,
            "scenarios": left + open_,
        }

    def _waited(self, state: str) -> float | None:
        """Seconds for which clients have waited for the end of a state; None for a state that needs no waiting."""
        if state != self._waiting[0]:
            self._waiting = state, self._scheduler.now()
        return round(self._scheduler.now() - self._waiting[1], 1) if state in WAITED_FOR else None

    def scenarios(self) -> list[ScenarioStatus]:
        """The status of each scenario; read only."""
        return [self._scenario(branch) for branch in self.journal.branches()]

    def scenario(self, name: str) -> ScenarioStatus | None:
        """The status of a scenario; None if there is none."""
        found = self._named(name)
        return self._scenario(found) if found else None

    def _named(self, name: str) -> BranchRecord | None:
        """The branch of a scenario: after a rewind, the one that can be continued."""
        return next((branch for branch in self.dispatch.open.values() if branch.name == name), None) or self.journal.find(name)

    def _scenario(self, branch: BranchRecord) -> ScenarioStatus:
        """The status of a branch; the same object as long as nothing has changed."""
        course = self.dispatch.courses.get(branch.id)
        position, failed = (course.position, course.failed) if course else (None, None)
        failed = self.dispatch.full.get(branch.id, failed)
        depends = (branch, position, failed, self.journal.version(branch.id), self.facts is None, self._kept.get(branch.id))
        kept = self._cache.get(branch.id)
        if kept is None or kept[0] != depends:
            kept = self._cache[branch.id] = (depends, self._scenario_of(branch, position, failed))
            if len(self._cache) > CACHED:
                del self._cache[next(iter(self._cache))]
        return kept[1]

    def _scenario_of(self, branch: BranchRecord, position: Position | None, failed: BranchFailure | None) -> ScenarioStatus:
        course = self.dispatch.courses.get(branch.id)
        seen = max(position, course.known) if course and position else self.journal.known(branch.id)  # an engine may be repeating steps
        steps = self.facts["steps"] if self.facts else OPEN_END
        state = ("paused" if failed.code == FULL else "failed") if failed else "finished" if branch.shown_step >= steps else "ready"
        if state == "ready" and branch.target > branch.shown_step:
            state = "stepping"
        return {
            "name": branch.name,
            "branch": branch.id,
            "parent": branch.parent,
            "fork_step": branch.fork_step,
            "step": branch.shown_step,
            "seq": seen.seq,
            "at": position.step if position and position.step < branch.shown_step else None,
            "target": branch.target,
            "kept": min(self._kept.get(branch.id, branch.shown_step), branch.shown_step),
            "state": state,
            "version": self.journal.version(branch.id),
            "problem": _problem(failed) if failed else None,
        }

    def operation(self, seq: int) -> OperationStatus | None:
        """The status of a command; None if there is none of this number."""
        command = self.journal.command(seq)
        if command is None:
            return None
        branch = self.dispatch.branch(command.branch)
        state = command.outcome or ("running" if self.process.link else "queued")
        found: OperationStatus = {"id": seq, "run": self.name, "kind": command.kind, "scenario": branch.name, "state": state}
        found |= {"at_step": command.at_step, "target": command.target, "ended_step": command.ended_step}
        if command.target is not None:
            found |= {"done": min(branch.shown_step, command.target), "total": command.target}
        if command.outcome in ("failed", "cancelled"):
            found["problem"] = command.detail or None
            return found
        course = self.dispatch.courses.get(command.branch)
        failed = self.dispatch.full.get(command.branch, course.failed if course else None)
        if command.outcome is None and failed:
            found["problem"] = _problem(failed)
        found["result"] = command.detail
        if command.kind in RULES and (effects := self.journal.effects(command.branch, f"{command.kind}:{seq}")):
            found["result"] = {**command.detail, "effects": effects}
        return found

    def rules(self, scenario: str) -> list[Rule]:
        """The events and triggers of a scenario, and the effects of each.

        Raises
        ------
        Refused
            There is no such scenario.
        """
        branch = self.journal.branch(scenario).id
        return [(each, self.journal.effects(branch, f"{each.kind}:{each.seq}")) for each in self.journal.rules(branch)]

    def checkpoints(self, newest: bool = False) -> list[CheckpointStatus]:
        """Durable checkpoints. newest: only of the scenarios in `info`, those that may still exist."""
        return self.journal.checkpoints([*self.dispatch.open, *self.dispatch.left] if newest else None)

    # ---- waiting and watching ------------------------------------------------------------------------------------------------------------
    def changed(self) -> None:
        """Wakes the watchers: something of `info` may have changed."""
        for call in self._watchers:
            call()

    async def settled(self, seq: int, seconds: float) -> OperationStatus | None:
        """The status of an operation once it is over, or after some seconds."""
        command = self.journal.command(seq)
        if command is not None and command.outcome is None and seconds > 0:
            over = asyncio.Event()
            self._waiters.setdefault(seq, []).append(over.set)
            try:
                async with asyncio.timeout(seconds):
                    await over.wait()
            except TimeoutError:
                self._waiters.get(seq, []).remove(over.set) if over.set in self._waiters.get(seq, []) else None
        return self.operation(seq)

    def _settle(self, seq: int) -> None:
        for call in self._waiters.pop(seq, []):
            call()
        self.changed()

    def _settle_ended(self) -> None:
        for seq in [seq for seq in self._waiters if (command := self.journal.command(seq)) and command.outcome]:
            self._settle(seq)

    async def happenings(self, after: int) -> AsyncGenerator[tuple[int, Mapping[str, object]]]:
        """Messages to clients after a number, until the run ends; number 0: something of `info` has changed."""
        async with aclosing(self.changes()) as changes:
            async for _ in changes:
                for number, what in self.journal.emissions(after):
                    after = number
                    yield number, what
                yield 0, self.info()

    async def changes(self) -> AsyncGenerator[None]:
        """Yields now, and whenever something of `info` may have changed, until the run ends."""
        changed = asyncio.Event()
        self._watchers.append(changed.set)
        try:
            while not self._over:
                yield
                await changed.wait()
                changed.clear()
        finally:
            self._watchers.remove(changed.set)


def _problem(failed: BranchFailure) -> dict[str, str]:
    return {"code": "disk-full", "text": f"{failed.text} {GOES_ON}"} if failed.code == FULL else {"code": failed.code, "text": failed.text}
