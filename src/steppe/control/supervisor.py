"""The server's end: keeps an engine alive, hands it the journal's commands in their order, and passes on what people ask.

Nothing here waits: messages, timers and people call, and every call returns at once. So a test can run years of deaths and lost messages in
seconds, from a seed. An engine is alive while its connection is; death is the end of a connection, and a hanging one misses its beats.
"""

from __future__ import annotations

import asyncio
import json
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from steppe.control.journal import ACTIONS, FIRST_NAME, Accepted, Branch, Command, Journal, Order, Refused, ReplayDiffersError
from steppe.control.wire import (
    OPEN_END,
    Action,
    Applied,
    Beat,
    Boundary,
    Buffer,
    Busy,
    Data,
    Described,
    Drop,
    Failed,
    Get,
    Hello,
    Kept,
    Leave,
    Load,
    Message,
    News,
    Noted,
    Pin,
    Position,
    Ready,
    Same,
    Target,
    Withdraw,
    Withdrawn,
)
from steppe.control.wire import Refused as RefusedByEngine

SILENT = 0.5  # [s] without a beat after which people are told
HANGING = 30.0  # [s] without a beat after which an engine is killed
STARTING = 120.0  # [s] until it must have called
REDIAL = 1.0  # [s] that an engine which outlived the last server has to call
HEALTHY = 10.0  # [s] after which a death is a new one
PAUSES = (0.0, 1.0)  # [s] before it is started again after the first and second death at one place; the third is the last
KEPT_BYTES = 256 << 20  # answers that are kept
QUESTIONS = 64  # that an engine may have before it at once
OVER = ("done", "failed", "cancelled")
BEGINNING = Position(0, 0)


class Timer(Protocol):
    """Something that will be called."""

    def cancel(self) -> None:
        """It will not."""


class Clock(Protocol):
    """Time, handed in."""

    def now(self) -> float:
        """Seconds that only grow."""

    def wall(self) -> float:
        """Seconds since 1970."""

    def later(self, seconds: float, call: Callable[[], None]) -> Timer:
        """Calls once, later."""


class Link(Protocol):
    """A connection with an engine that has proved who it is."""

    def send(self, message: Message, body: Buffer = b"") -> None:
        """Sends, if the other end is there."""

    def close(self) -> None:
        """Ends it."""


class Process(Protocol):
    """An engine that was started here."""

    def kill(self) -> None:
        """Ends it, with all that it started."""


class Spawner(Protocol):
    """Starts engines."""

    def start(self, epoch: int, ended: Callable[[str, str], None]) -> Process:
        """Starts one; `ended` is called with its status and its last lines."""


Answer = tuple[dict[str, Any], Buffer]
Tell = Callable[[Answer | Refused], None]


@dataclass
class _Course:
    """What this connection's engine knows of a branch."""

    position: Position | None = None  # None: it was told to load it
    sent: int = 0  # commands up to this one have been handed over
    blocked: int | None = None  # an action that has no step yet; the others wait behind it
    target: int = -1
    known: Position = BEGINNING  # what people had seen of it when it was loaded
    failed: Failed | None = None


@dataclass
class _Question:
    branch: int
    request: dict[str, Any]
    key: tuple[int, str]
    tell: list[Tell] = field(default_factory=list)


class Supervisor:
    """One run: its journal, its engine, and who waits for what.

    Parameters
    ----------
    name, folder
        Of the run.
    journal
        What was ordered.
    clock, spawner
        Handed in, so that a test can be them.
    """

    def __init__(self, name: str, folder: Path, journal: Journal, clock: Clock, spawner: Spawner) -> None:
        self.name, self.folder, self.journal, self._clock, self._spawner = name, folder, journal, clock, spawner
        self.facts = journal.facts
        self.state = "absent"
        self.problem: dict[str, Any] | None = None  # why it failed
        self.moved_bytes = self.gathers = self.deaths = 0
        self._link: Link | None = None
        self._hello: Hello | None = None
        self._process: Process | None = None
        self._epoch = self._buried = 0  # of the engine under way, and of the last one that is known to be dead
        self._joined_at = self._heard_at = 0.0
        self._patience, self._silent = HANGING, False
        self._deaths_here, self._steps_then = 0, -1
        self._courses: dict[int, _Course] = {}
        self._described = False  # an engine has said all that it knew before it was called
        self._branches = {each.id: each for each in journal.branches()}
        self._last = max((each.seq for each in journal.commands()), default=0)
        self._questions: dict[int, _Question] = {}
        self._waiting: OrderedDict[tuple[int, str], _Question] = OrderedDict()  # not sent yet
        self._asked = 0
        self._kept: OrderedDict[tuple[int, str], tuple[Position, Answer]] = OrderedDict()
        self._kept_bytes = 0
        self._settling: dict[int, list[Callable[[], None]]] = {}
        self._listening: list[Callable[[], None]] = []
        self._timers: dict[str, Timer] = {}
        self._log: list[str] = []
        self._closed = False

    # ---- the engine's life --------------------------------------------------------------------------------------------------------------
    def start(self) -> None:
        """Waits a moment for an engine that outlived the last server, then starts one."""
        self.state = "starting"
        self._after("launch", REDIAL, self._launch)

    def _after(self, name: str, seconds: float, call: Callable[[], None]) -> None:
        self._cancel(name)
        self._timers[name] = self._clock.later(seconds, call)

    def _cancel(self, name: str) -> None:
        if timer := self._timers.pop(name, None):
            timer.cancel()

    def launch(self) -> None:
        """Starts an engine now, whatever happened before; of a run that failed, too."""
        if self._link is None and self.state in ("absent", "failed"):
            self.problem, self._deaths_here = None, 0
            self.state = "starting"
            self._launch()

    def _launch(self) -> None:
        self._cancel("launch")
        if self._link is not None or self._closed:
            return
        self._epoch = epoch = self.journal.begin_engine(self._clock.wall())
        self._process = self._spawner.start(epoch, lambda status, log: self._ended(epoch, status, log))
        self._after("starting", STARTING, lambda: self._give_up_on(f"did not call within {STARTING:g} s"))

    def joined(self, link: Link, hello: Hello) -> None:
        """An engine has called and proved that it is one of ours."""
        if hello.epoch < self.journal.epoch or self._closed:
            link.send(Leave(False))
            link.close()
            return
        former, self._link = self._link, link
        if former:
            former.close()
        self._epoch, self._hello, self._joined_at = hello.epoch, hello, self._clock.now()
        self._cancel("launch")
        self._cancel("starting")
        self.journal.engine_says(hello.epoch, hello.host, hello.pid)
        self._heard()
        self.state, self.problem = "loading", None
        self._courses, self._described = {}, False
        for question in [*self._questions.values()]:
            self._waiting.setdefault(question.key, question)
        self._questions.clear()
        self._ask_on()
        self._watch()

    def _load_all(self) -> None:
        for branch in self._branches.values():
            if branch.name == FIRST_NAME or self._has_work(branch):
                self._load(branch.id)
            elif branch.closed_step < OPEN_END:
                self._send(Drop(branch.id))  # the engine may not have heard of it

    def _watch(self) -> None:
        self._after("watch", SILENT / 2, self._watch)
        waited = self._clock.now() - self._heard_at
        if waited > SILENT and not self._silent:
            self._silent = True
            self._changed()
        if waited > self._patience:
            self._give_up_on(f"said nothing for {self._patience:g} s")

    def _heard(self) -> None:
        self._heard_at = self._clock.now()
        if self._silent:
            self._silent = False
            self._changed()

    def _give_up_on(self, why: str) -> None:
        """The engine lives and is of no use."""
        self._log.append(f"The engine {why} and was killed.")
        if self._process:
            self._process.kill()
        if self._link:
            link, self._link = self._link, None
            link.close()
            self._died()
        elif not self._process:
            self._died()

    def lost(self, link: Link) -> None:
        """A connection has ended."""
        if link is not self._link or self._closed:
            return
        self._link = None
        if self._process:
            self._process.kill()  # it may hang; when it is dead already this does nothing
        self._died()

    def _ended(self, epoch: int, status: str, log: str) -> None:
        self.journal.end_engine(epoch, self._clock.wall(), status, log)
        if self._closed:
            self._process = None
            return
        if epoch == self._epoch:
            self._log = [*log.splitlines()[-20:]]
            self._process = None
            if self.problem:
                self.problem |= {"exit_status": status, "log": self._log}
            if self._link is None and self._buried < epoch:  # it had not called yet
                self._died(status)

    def _died(self, status: str = "") -> None:
        for name in ("watch", "starting"):
            self._cancel(name)
        progress = sum(each.shown_step for each in self._branches.values())
        lived = self._clock.now() - self._joined_at if self._hello else 0.0
        self._deaths_here = 1 if progress >= self._steps_then + 10 or lived > HEALTHY else self._deaths_here + 1
        self.deaths += 1
        self._buried = self._epoch
        self._hello, self._courses, self._patience = None, {}, HANGING
        self._steps_then = progress
        if self._deaths_here > len(PAUSES):
            self._fail("engine-failed", self._blame(), exit_status=status)
            return
        self.state = "recovering"
        self._emit(0, "engine", "warning", "The engine has died and is started again.")
        self._after("launch", PAUSES[self._deaths_here - 1], self._launch)
        self._changed()

    def _blame(self) -> str:
        """Which command an engine died at, again and again."""
        for branch in self._branches.values():
            due = [*self.journal.placed(branch.id, Position(branch.shown_step, 0)), *self.journal.waiting("step", branch.id)]
            for each in due:
                if each.outcome is None:
                    place = f"step {each.at_step}" if each.at_step is not None else f"a step after {branch.shown_step}"
                    return f"The engine died {self._deaths_here} times at command {each.seq} ({each.kind} by {each.who}), {place}."
        return f"The engine died {self._deaths_here} times without a finished step between."

    def _fail(self, code: str, text: str, **facts: Any) -> None:
        self.state, self.problem = "failed", {"code": code, "text": text, **facts, "log": self._log}
        self._emit(0, "engine", "failed", text)
        for question in [*self._questions.values(), *self._waiting.values()]:
            self._answer(question, self._refusal())
        self._questions.clear()
        self._waiting.clear()
        self._changed()

    def _refusal(self) -> Refused:
        facts = self.problem or {"text": "The run has no engine; start it."}
        return Refused("engine-failed", facts["text"], **{name: value for name, value in facts.items() if name not in ("code", "text")})

    def close(self, keep: bool = True) -> None:
        """Ends the supervision. keep: the engine makes its state durable and ends; else it goes on and waits for another server."""
        self._closed = True
        for name in [*self._timers]:
            self._cancel(name)
        if self._link:
            if keep:
                self._link.send(Leave(True))
            self._link.close()

    @property
    def has_process(self) -> bool:
        """Whether an engine that was started here is not known to have ended."""
        return self._process is not None

    # ---- what an engine says ------------------------------------------------------------------------------------------------------------
    def heard(self, link: Link, message: Message, body: Buffer = b"") -> None:
        """Takes a message; of a connection that is not the engine's any more it is ignored."""
        if link is not self._link:
            return
        self._heard()
        match message:
            case Beat(positions):
                self._patience = HANGING
                for branch, position in positions.items():
                    self._stands(branch, position)
            case Ready(branch, position) if branch in self._courses:
                self._ready(branch, position)
            case Boundary(seq, branch, step):
                self._place(seq, branch, step)
            case Applied():
                self._applied(message)
            case Data(id, position, head):
                self._came(id, position, (head, body))
            case Same(id):
                if question := self._questions.pop(id, None):
                    self._answer(question, self._kept[question.key][1])
            case RefusedByEngine(id, code, text, facts):
                if question := self._questions.pop(id, None):
                    self._answer(question, Refused(code, text, **facts))
            case Kept(branch, saved):
                self.journal.saved(branch, saved)
            case Withdrawn(seq, gone):
                self._withdrawn(seq, gone)
            case Failed(branch):
                self._courses.setdefault(branch, _Course()).failed = message
                self._emit(branch, "engine", "failed", message.text, message.position.step)
            case News(branch, kind, text):
                self._emit(branch, "engine", kind, text)
            case Busy(_, limit):
                self._patience = limit
            case Described():
                self.facts = json.loads(bytes(body))
                self.journal.describe(self.facts or {})
                self._described = True
                self._load_all()
        self._ask_on()

    def _stands(self, branch: int, position: Position, news: bool = False) -> None:
        course = self._courses.get(branch)
        if course is None or course.position is None:
            return
        changed = news or course.position != position
        course.position = position
        known = self._branches[branch]
        if position.step > known.shown_step:
            self.journal.seen(branch, position.step)
            self._branches[branch] = self.journal.branch(branch)
        if changed:
            if course.failed and position > course.failed.position:
                course.failed = None
            for seq in self.journal.reached(branch, position.step):
                self._settle(seq)
            self._changed()
        self._arrive(branch, position)
        self._pump(branch)

    def _arrive(self, branch: int, position: Position) -> None:
        """A new branch that stands where it was to begin."""
        known = self._branches[branch]
        if known.made_by and position.step >= known.fork_step:
            command = self.journal.command(known.made_by)
            if command and command.outcome is None:
                self.journal.end(command.seq, "done", known.fork_step, {"branch": branch, "step": known.fork_step})
                self._settle(command.seq)

    def _ready(self, branch: int, position: Position) -> None:
        course = self._courses[branch] = _Course(position, known=self.journal.known(branch))
        self.state = "up"
        unplaced = self.journal.first_unplaced(branch)
        course.sent = unplaced.seq - 1 if unplaced else self._last
        for each in self.journal.placed(branch, position):
            if each.branch != branch or each.seq <= course.sent:
                self._send(_action(each, branch))
        for each in self.journal.waiting("cancel", branch):
            if each.seq <= course.sent:
                self._send(Withdraw(each.arguments["seq"], branch))
        self._stands(branch, position, news=True)

    def _place(self, seq: int, branch: int, step: int) -> None:
        held = self.journal.pin(seq, step)
        command = self.journal.command(seq)
        self._branches[branch] = self.journal.branch(branch)
        course = self._courses.get(branch)
        if command and command.kind == "pause" and course:
            for each in self.journal.placed(branch, course.position or Position(0, 0)):  # those that it has drawn to its step
                if each.outcome is None and each.at_step == held.step and each.seq <= course.sent:
                    self._send(_action(each, branch))
            course.target = held.step
        self._send(Pin(seq, branch, *held))
        if course and course.blocked == seq:
            course.blocked = None
        if command and command.outcome in OVER:
            self._settle(seq)
            for each in self.journal.commands(0, branch) if command.kind == "pause" else ():
                if each.kind == "step" and each.outcome == "cancelled" and each.ended_step == held.step:
                    self._settle(each.seq)
        self._pump(branch)

    def _applied(self, message: Applied) -> None:
        try:
            self.journal.applied(message.seq, message.step, message.outcome)
        except ReplayDiffersError as error:
            self._fail("replay-differs", str(error))
            if self._process:
                self._process.kill()
            return
        self._send(Noted(message.seq, message.branch))
        self._settle(message.seq)
        command, course = self.journal.command(message.seq), self._courses.get(message.branch)
        if command and command.kind == "set" and course and course.position:
            self._stands(message.branch, max(course.position, Position(message.step, command.place)))

    def _withdrawn(self, seq: int, gone: bool) -> None:
        command = self.journal.command(seq)
        gone = gone and command is not None and command.outcome is None
        for each in self.journal.waiting("cancel"):
            if each.arguments["seq"] == seq:
                step = self._branches[each.branch].shown_step
                if gone:
                    self.journal.end(seq, "cancelled", step, {})
                    self._settle(seq)
                late = {"code": "already-finished", "text": f"Command {seq} had happened."}
                self.journal.end(each.seq, "done" if gone else "failed", step, {} if gone else late)
                self._settle(each.seq)

    # ---- what is ordered ----------------------------------------------------------------------------------------------------------------
    def accept(self, order: Order) -> Accepted:
        """Stores a command and hands it on; it survives whatever dies next.

        Raises
        ------
        Refused
            With the code of the problem; nothing is stored.
        """
        if self.facts is None or self._closed:
            raise Refused("engine-recovering", "The engine is being started for the first time; ask again in a second.")
        if self.state == "failed" and order.kind not in ("cancel", "pause", "rewind", "restart"):
            raise self._refusal()
        accepted = self.journal.accept(order, self.facts["steps"], self._clock.wall())
        if accepted.again:
            return accepted
        self._last = accepted.seq
        before = set(self._branches)
        self._branches = {each.id: each for each in self.journal.branches()}
        for seq in [seq for seq in self._settling if (ended := self.journal.command(seq)) and ended.outcome]:
            self._settle(seq)  # a rewind ends what it leaves
        if self.state == "failed":
            self.launch()
        if self._link is None:
            return accepted
        for branch in set(self._branches) - before:
            self._load(branch)
            parent = self._branches[branch].parent
            if order.kind in ("rewind", "restart") and parent in self._courses:
                self._send(Drop(parent))
                del self._courses[parent]
        command = self.journal.command(accepted.seq)
        if command and command.branch in self._courses:
            self._pump(command.branch)
        elif command and command.branch in self._branches and self._has_work(self._branches[command.branch]):
            self._load(command.branch)
        self._changed()
        return accepted

    def _has_work(self, branch: Branch) -> bool:
        if branch.target > branch.shown_step or branch.shown_step < branch.fork_step:
            return True
        made = self.journal.command(branch.made_by) if branch.made_by else None
        if made is not None and made.outcome is None:
            return True
        return any(each.outcome is None for kind in (*ACTIONS, "cancel") for each in self.journal.waiting(kind, branch.id))

    def _load(self, branch: int) -> None:
        if branch not in self._courses and self._described:
            self._courses[branch] = _Course()
            self._send(Load(branch, self.journal.path(branch)))

    def _pump(self, branch: int) -> None:
        """Hands an engine what it does not know yet of a branch, in the journal's order."""
        course, known = self._courses.get(branch), self._branches[branch]
        if course is None or course.position is None or self._link is None:
            return
        limit, withheld = known.target, course.blocked is not None
        for each in self.journal.commands(course.sent, branch) if course.sent < self._last else ():
            due = each.outcome is None and each.kind in ACTIONS
            if due and each.at_step is None and course.position.step < known.shown_step:
                withheld = True  # else it would happen in a past that people have seen without it
            if not withheld:
                course.sent = each.seq
                if each.outcome is None:
                    self._hand_over(course, each)
                withheld = course.blocked is not None
            elif due and each.at_step is not None:
                limit = min(limit, each.at_step)  # it must not be overtaken
            elif due and each.kind == "pause":
                limit = min(limit, known.shown_step)
        if not withheld:
            course.sent = self._last
        if limit > course.target:
            course.target = limit
            self._send(Target(branch, limit))

    def _hand_over(self, course: _Course, command: Command) -> None:
        if command.kind == "cancel":
            self._send(Withdraw(command.arguments["seq"], command.branch))
        elif command.kind in ACTIONS:
            self._send(_action(command, command.branch))
            if command.at_step is None:
                course.blocked = command.seq

    def _send(self, message: Message) -> None:
        if self._link:
            self._link.send(message)

    # ---- what is asked ------------------------------------------------------------------------------------------------------------------
    def ask(self, scenario: str, request: dict[str, Any], tell: Tell) -> None:
        """Asks for values or an image at the last step; what was asked before and has not changed moves no data."""
        branch = self.journal.branch(scenario).id
        key = (branch, json.dumps(request, sort_keys=True))
        course = self._courses.get(branch)
        kept = self._kept.get(key)
        if kept and course and course.position == kept[0] and self._at_rest(branch, course):
            self._kept.move_to_end(key)
            tell(kept[1])
            return
        if self.state in ("failed", "absent"):
            tell(self._refusal())
            return
        for each in (*self._waiting.values(), *self._questions.values()):
            if each.key == key and (each.key in self._waiting or self._at_rest(branch, course)):
                each.tell.append(tell)
                return
        question = _Question(branch, request, key, [tell])
        self._waiting[key] = question
        self._ask_on()

    def _at_rest(self, branch: int, course: _Course | None) -> bool:
        if course is None or course.position is None:
            return False
        return course.position.step >= self._branches[branch].target and course.sent >= self._last and not self._settling_in(branch)

    def _settling_in(self, branch: int) -> bool:
        return any(self.journal.waiting(kind, branch) for kind in ACTIONS)

    def _ask_on(self) -> None:
        if self._link is None:
            return
        for key, question in [*self._waiting.items()]:
            if len(self._questions) >= QUESTIONS:
                return
            self._load(question.branch)
            course = self._courses.get(question.branch)
            if course is None or course.position is None or course.position < course.known:
                continue  # on its way back to what people have seen
            del self._waiting[key]
            self._asked += 1
            self._questions[self._asked] = question
            kept = self._kept.get(key)
            self._send(Get(self._asked, question.branch, question.request, kept[0] if kept else None))

    def _came(self, id: int, position: Position, answer: Answer) -> None:
        question = self._questions.pop(id, None)
        if question is None:
            return
        self.gathers += 1
        self.moved_bytes += memoryview(answer[1]).nbytes
        former = self._kept.pop(question.key, None)
        self._kept_bytes += memoryview(answer[1]).nbytes - (memoryview(former[1][1]).nbytes if former else 0)
        self._kept[question.key] = (position, answer)
        while self._kept_bytes > KEPT_BYTES:
            _, (_, (_, body)) = self._kept.popitem(last=False)
            self._kept_bytes -= memoryview(body).nbytes
        self._stands(question.branch, max(position, self._courses[question.branch].position or position))
        self._answer(question, answer)

    def _answer(self, question: _Question, answer: Answer | Refused) -> None:
        for tell in question.tell:
            tell(answer)

    async def get(self, scenario: str, request: dict[str, Any]) -> Answer:
        """Values or an image at the last step: what is known of it, and its bytes.

        Raises
        ------
        Refused
            It cannot be had, or the engine has failed.
        """
        future: asyncio.Future[Answer | Refused] = asyncio.get_running_loop().create_future()
        self.ask(scenario, request, lambda answer: None if future.done() else future.set_result(answer))
        answer = await future
        if isinstance(answer, Refused):
            raise answer
        return answer

    # ---- what people see ----------------------------------------------------------------------------------------------------------------
    def info(self) -> dict[str, Any]:
        """How things stand, from memory."""
        scenarios = self.scenarios()
        states = [each["state"] for each in scenarios]
        state = self.state
        if state == "up":
            state = "stepping" if "stepping" in states else "finished" if set(states) == {"finished"} else "ready"
        hello = self._hello
        return {
            "run": self.name,
            "state": state,
            "silent": self._silent,
            "problem": self.problem,
            "engine": {"epoch": self._epoch, "pid": hello.pid, "host": hello.host, "ranks": hello.ranks} if hello else None,
            "deaths": self.deaths,
            "steps": self.facts["steps"] if self.facts else None,
            "scenarios": scenarios,
        }

    def scenarios(self) -> list[dict[str, Any]]:
        """Each name with its branch and where it stands."""
        return [self._scenario(branch) for branch in self._branches.values()]

    def _scenario(self, branch: Branch) -> dict[str, Any]:
        course = self._courses.get(branch.id)
        position = (course.position if course else None) or Position(branch.shown_step, 0)
        steps = self.facts["steps"] if self.facts else OPEN_END
        state = "failed" if course and course.failed else "finished" if branch.shown_step >= steps else "ready"
        if state == "ready" and branch.target > branch.shown_step:
            state = "stepping"
        return {
            "name": branch.name,
            "branch": branch.id,
            "parent": branch.parent,
            "fork_step": branch.fork_step,
            "step": branch.shown_step,
            "seq": position.seq,
            "target": branch.target,
            "state": state,
            "version": self.journal.version(branch.id),
            "problem": {"code": course.failed.code, "text": course.failed.text} if course and course.failed else None,
        }

    def operation(self, seq: int) -> dict[str, Any] | None:
        """What has become of a command."""
        command = self.journal.command(seq)
        if command is None:
            return None
        branch = self._branches[command.branch]
        state = command.outcome or ("running" if self._link else "queued")
        found: dict[str, Any] = {"id": seq, "run": self.name, "kind": command.kind, "scenario": branch.name, "state": state}
        found |= {"at_step": command.at_step, "target": command.target, "ended_step": command.ended_step}
        if command.target is not None:
            found |= {"done": min(branch.shown_step, command.target), "total": command.target}
        if command.outcome == "failed":
            return found | {"problem": command.detail}
        course = self._courses.get(command.branch)
        if command.outcome is None and course and course.failed:
            found |= {"problem": {"code": course.failed.code, "text": course.failed.text}}
        return found | {"result": command.detail}

    async def settled(self, seq: int, seconds: float) -> dict[str, Any] | None:
        """An operation when it is over, or as it is after some seconds."""
        command = self.journal.command(seq)
        if command is not None and command.outcome is None and seconds > 0:
            over = asyncio.Event()
            self._settling.setdefault(seq, []).append(over.set)
            try:
                async with asyncio.timeout(seconds):
                    await over.wait()
            except TimeoutError:
                self._settling.get(seq, []).remove(over.set) if over.set in self._settling.get(seq, []) else None
        return self.operation(seq)

    def _settle(self, seq: int) -> None:
        for call in self._settling.pop(seq, []):
            call()
        self._changed()

    def log(self, after: int = 0) -> Iterator[Command]:
        """The journal's commands."""
        return self.journal.commands(after)

    def checkpoints(self) -> list[dict[str, Any]]:
        """Durable states that were made."""
        return self.journal.checkpoints()

    async def happenings(self, after: int) -> AsyncIterator[tuple[int, dict[str, Any]]]:
        """What people are told, from a number on, as it comes; number 0: something of `info` has changed."""
        changed = asyncio.Event()
        self._listening.append(changed.set)
        try:
            while True:
                for number, what in self.journal.emissions(after):
                    after = number
                    yield number, what
                yield 0, self.info()
                await changed.wait()
                changed.clear()
        finally:
            self._listening.remove(changed.set)

    def _emit(self, branch: int, source: str, kind: str, text: str, step: int | None = None) -> None:
        at = step if step is not None else max((each.shown_step for each in self._branches.values()), default=0)
        self.journal.emit(branch, at, f"{source}:{self._epoch}:{kind}:{self._clock.wall():.3f}", kind, text)
        self._changed()

    def _changed(self) -> None:
        for call in self._listening:
            call()


def _action(command: Command, branch: int) -> Action:
    earliest = command.at_step if command.at_step is not None else 0 if command.due in ("now", "after") else int(command.due)
    return Action(command.seq, branch, command.place, command.at_step, earliest, command.kind, command.arguments)
