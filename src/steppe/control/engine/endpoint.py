"""The engine's end of the wire: receives orders, decides when each happens, reports results. Its session does the steps.

`receive` takes a message, `poll` does the next piece of work; both run on one thread and never wait. A message that is sent may be lost:
everything that matters is sent again after the next `Hello`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from steppe.control.engine.answers import Answers
from steppe.control.engine.durability import Durability
from steppe.control.engine.frame_source import Behind, FrameSource, at_once
from steppe.control.engine.series_source import SeriesSource
from steppe.control.engine.session_protocol import SessionProtocol
from steppe.control.orders import CHANGES, numbered
from steppe.control.wire import (
    BEGINNING,
    FULL,
    OPEN_END,
    AcknowledgeFrames,
    AcknowledgeOutcome,
    AcknowledgeRule,
    ActionOutcome,
    Boundary,
    BranchAction,
    BranchFailure,
    Buffer,
    CheckpointReport,
    Description,
    Follow,
    Get,
    Heartbeat,
    Hide,
    Leg,
    Load,
    Message,
    Outcome,
    Pin,
    Position,
    Ready,
    Show,
    Target,
    Unfollow,
    Unload,
    Withdraw,
    Withdrawal,
)
from steppe.errors import BadCellError, NoSpaceError, SteppeError
from steppe.failpoint import reach

UNACKNOWLEDGED = 1000  # effects of rules without an acknowledgement, after which no step is made
BEHIND = 0.1  # [s] that a branch with a speed may catch up at once
KEPT_INTERVAL = 1.0  # [s] between two reports of the steps that can be shown again
ASKED = 0.02  # [s] of a piece of steps while a client asks for each step


@dataclass
class _Course:
    """The target of a branch, and the actions on the way to it."""

    target: int = 0
    pending: dict[int, BranchAction] = field(default_factory=dict)  # by seq
    promised: dict[int, int] = field(default_factory=dict)  # seq -> step that is not passed before its pin
    speed: float = 0.0  # [1/s] steps at most; 0: no limit
    due: float = 0.0  # time of the next step
    held: dict[str, int] = field(default_factory=dict)  # trigger -> step at which it has stopped the branch
    failed: BranchFailure | None = None
    path: list[Leg] = field(default_factory=list)
    begin: Position = BEGINNING


class LateError(Exception):
    """An action belongs to a step that has passed: a defect of the protocol, which ends the engine."""


class EngineEndpoint:
    """An engine's end of the wire.

    Parameters
    ----------
    session
        The branches that it steps.
    send
        Sends a message, if a server is connected.
    clock
        Monotonic seconds.
    behind, spent
        Runs work beside the stepping thread; processor seconds of that thread. See `FrameSource`.
    """

    def __init__(
        self,
        session: SessionProtocol,
        send: Callable[[Message, Buffer], None],
        clock: Callable[[], float],
        behind: Behind = at_once,
        spent: Callable[[], float] | None = None,
    ) -> None:
        self._session, self._send_bytes, self._clock = session, send, clock
        self._answers = Answers(session, send, clock)
        self._frames = FrameSource(session, send, clock, behind, spent)
        self._series = SeriesSource(session, send, clock)
        self._durability = Durability(session, send, clock, self._wait_for_room)
        self._courses: dict[int, _Course] = {}
        self._full: dict[int, BranchFailure] = {}  # branches that wait for room on the disk
        self._outcomes: dict[tuple[int, int], ActionOutcome] = {}  # by branch and seq, until acknowledged: a server may die, too
        self._stepped = False  # since the last heartbeat: the server does not know the positions yet
        self._kept: dict[int, int] = {}  # by branch, the first step that can be shown again soon, as reported
        self._arrays: dict[str, float] = {}  # numbers of global arrays, as reported
        self._kept_at = -OPEN_END * 1.0

    def positions(self) -> dict[int, Position]:
        """The position of each loaded branch."""
        return {branch: self._session.position(branch) for branch in self._courses}

    def greet(self) -> None:
        """Sends everything that a new server, or one that lost messages, must know."""
        self._answers.clear()
        self._frames.clear()
        self._series.clear()
        self._kept, self._arrays = {}, {}
        for outcome in self._outcomes.values():
            self._send(outcome)
        for fired in self._session.unacknowledged():
            self._send(fired)
        for branch, course in self._courses.items():
            for seq, step in course.promised.items():
                self._send(Boundary(seq, branch, step))
            if course.failed and branch not in self._full:
                self._send(course.failed)
        for full in self._full.values():
            self._send(full)
        self._send(Description(), json.dumps(self._session.describe()).encode())

    def receive(self, message: Message) -> None:
        """Takes a message of the server. A repeated message does no harm."""
        match message:
            case Load():
                self._load(message)
            case Target(branch, step, speed) if found := self._courses.get(branch):
                found.target, found.speed = max(found.target, step), speed
            case BranchAction() if found := self._courses.get(message.branch):
                self._take(found, message)
            case Pin() if found := self._courses.get(message.branch):
                self._pinned(found, message)
            case Withdraw(seq, branch) if found := self._courses.get(branch):
                found.pending.pop(seq, None)
                found.promised.pop(seq, None)
                self._send(Withdrawal(seq, (branch, seq) not in self._outcomes))
            case AcknowledgeOutcome(seq, branch):
                self._outcomes.pop((branch, seq), None)
            case AcknowledgeRule():
                self._acknowledged(message)
            case Get():
                self._answers.receive(message)
            case Show() | Hide() | AcknowledgeFrames():
                self._frames.receive(message)
            case Follow() | Unfollow():
                self._series.receive(message)
            case Unload(branch):
                self._unload(branch)

    def _load(self, load: Load) -> None:
        branch, path, begin = load.branch, load.path, load.begin
        if full := self._full.get(branch):
            if not self._session.has_room():
                self._send(full)
                return
            raise NoSpaceError(full.text)  # there is room again: the next engine starts from durable states, as after a death
        before = self._session.position(branch) if branch in self._courses else None
        try:
            position = self._session.load(branch, path, begin)
        except NoSpaceError as error:
            self._wait_for_room(branch, error)
            return
        course, end = self._courses.setdefault(branch, _Course()), path[-1]
        course.path, course.begin = path, begin
        course.target = min(course.target, end.step)  # a rewind may have left the branch
        if position != before:
            course.target = position.step  # the actions on the way to the old position come first
        self._send_firings()
        self._send(Ready(branch, position))

    def _unload(self, branch: int) -> None:
        """Takes a branch out of memory; its state is saved if the disk has room."""
        known, full = self._courses.pop(branch, None), self._full.pop(branch, None)
        if known is None and full is None:
            return
        self._outcomes = {key: each for key, each in self._outcomes.items() if key[0] != branch}
        try:
            self._session.unload(branch, keep=full is None)
        except NoSpaceError:  # lost steps are computed again when the branch is loaded
            self._session.unload(branch, keep=False)

    def _wait_for_room(self, branch: int, error: NoSpaceError) -> None:
        """Stops a branch until the disk has room. A state that is in memory answers questions meanwhile."""
        gone = branch not in self._courses or not self._session.has(branch)
        position = BEGINNING if gone else self._session.position(branch)
        full = self._full[branch] = BranchFailure(branch, position, FULL, error.fault, gone)
        if gone:
            self._courses.pop(branch, None)
        else:
            self._courses[branch].failed = full
        self._send(full)

    def _take(self, course: _Course, action: BranchAction) -> None:
        if outcome := self._outcomes.get((action.branch, action.seq)):  # it happened, and its outcome is not acknowledged
            self._send(outcome)
        elif action.at_step is not None:
            if (action.at_step, action.place) > self._session.position(action.branch) or action.kind not in CHANGES:
                course.pending[action.seq] = action
                course.promised.pop(action.seq, None)
        else:
            course.pending.setdefault(action.seq, action)
            step = max(action.earliest, self._session.position(action.branch).step)
            self._send(Boundary(action.seq, action.branch, course.promised.setdefault(action.seq, step)))
            assert reach("boundary.sent")

    def _pinned(self, course: _Course, pin: Pin) -> None:
        promised, action = course.promised.pop(pin.seq, None), course.pending.get(pin.seq)
        if action is None or promised is None:
            return
        if pin.step < 0 or action.kind == "pause":
            del course.pending[pin.seq]
            course.target = course.target if pin.step < 0 else pin.step
        else:
            course.pending[pin.seq] = BranchAction(pin.seq, pin.branch, pin.place, pin.step, pin.step, action.kind, action.arguments)

    # ---- work ---------------------------------------------------------------------------------------------------------------------------
    def poll(self) -> bool:
        """Answers questions, performs due actions and steps one piece; False when there is nothing to do."""
        waiting = self._answers.poll(self._courses)
        busy = self._act() or self._advance()
        self._frames.poll(self._courses, busy)
        self._series.poll(busy)
        self._report_kept()
        rest = not busy and self.seconds_to_wait() == OPEN_END
        if self._durability.begins(rest) and self._stepped:
            self._stepped = False
            self._send(Heartbeat(self.positions()))
        if rest:
            busy = self._durability.save_at_rest(self._saveable())
        if busy and self._durability.due:
            self.save_all()
        return busy or waiting

    def save_all(self) -> None:
        """Makes all branches durable: now and then, and before the end."""
        self._durability.save(self._saveable())

    def _saveable(self) -> list[int]:
        return [branch for branch in self._courses if branch not in self._full]

    def seconds_to_wait(self) -> float:
        """Seconds until a branch with a speed limit may step; `OPEN_END` when no branch waits for that."""
        now = self._clock()
        waiting = [branch for branch, each in self._courses.items() if each.speed and each.due > now]
        behind = [self._courses[branch].due - now for branch in waiting if self._session.position(branch).step < self._bound(branch)]
        return min(behind, default=OPEN_END)

    def _act(self) -> bool:
        """Performs the actions that are due at the steps of the branches; True if there were any."""
        found = False
        for branch, course in self._courses.items():
            step, place = self._session.position(branch)
            due = [each for each in course.pending.values() if each.at_step is not None and each.at_step <= step]
            late = [each.seq for each in due if each.kind in CHANGES and (each.at_step, each.place) <= (step, place)]
            if late:
                raise LateError(f"Commands {late} belong before step {step}, place {place} of branch {branch}.")
            for action in sorted(due, key=lambda each: each.place):
                del course.pending[action.seq]
                self._happen(branch, action, step)
                found = True
        return found

    def _happen(self, branch: int, action: BranchAction, step: int) -> None:
        if action.kind == "checkpoint":
            try:
                saved = self._session.save(branch, bool(action.arguments.get("pin")))
            except NoSpaceError as error:
                outcome = Outcome(False, {"code": error.code, "text": error.fault}, 0)
                self._wait_for_room(branch, error)
            except SteppeError as error:
                outcome = Outcome(False, {"code": error.code, "text": str(error)}, 0)
            else:
                self._send(CheckpointReport(branch, saved))
                outcome = Outcome(True, {"checkpoint": saved.name, "bytes": saved.bytes}, 0)
        else:
            assert reach("action.before")
            outcome = self._session.apply(branch, action.place, action.kind, numbered(action.kind, action.seq, action.arguments))
            if branch not in self._full:
                self._courses[branch].failed = None  # the action may make the next step possible
            assert reach("action.after")
        self._outcomes[branch, action.seq] = ActionOutcome(action.seq, branch, step, outcome)
        self._send(self._outcomes[branch, action.seq])
        assert reach("applied.sent")

    def _limit(self, branch: int) -> int:
        """The step up to which a branch may step now."""
        course, bound = self._courses[branch], self._bound(branch)
        if not course.speed:
            return bound
        late = min(self._clock() - course.due, BEHIND)
        return min(bound, self._session.position(branch).step + (1 + int(late * course.speed) if late >= 0 else 0))

    def _bound(self, branch: int) -> int:
        """The step of the next action, pin, pause or target."""
        course = self._courses[branch]
        if course.failed:
            return self._session.position(branch).step
        pinned = (each.at_step for each in course.pending.values() if each.at_step is not None)
        return min(course.target, *pinned, *course.promised.values(), *course.held.values(), OPEN_END)

    def _advance(self) -> bool:
        limits = {branch: self._limit(branch) for branch in self._courses}
        steps = {branch: self._session.position(branch).step for branch in self._courses}
        behind = [branch for branch in steps if steps[branch] < limits[branch]]
        if not behind or len(self._session.unacknowledged()) > UNACKNOWLEDGED:
            return False
        first = min(steps[branch] for branch in behind)
        together = [branch for branch in behind if steps[branch] == first]
        self._stepped = True
        begin = self._clock()
        try:
            stop = min(limits[branch] for branch in together)
            stop = min(stop, first + 1) if self._series.any_of(together) else stop
            self._session.advance(together, stop, ASKED if self._answers.recent else self._frames.piece)
        except SteppeError as error:
            self._failed(together, error)
        for branch in together:
            if (course := self._courses.get(branch)) and course.speed:
                course.due = max(course.due, begin - BEHIND) + (self._session.position(branch).step - first) / course.speed
        self._series.take([branch for branch in together if self._session.has(branch)])
        self._send_firings()
        return True

    def _send_firings(self) -> None:
        for each in self._session.fired():
            if each.kind == "pause" and each.branch in self._courses:
                self._courses[each.branch].held[each.source] = each.step
            self._send(each)
            assert reach("fired.sent")

    def _acknowledged(self, message: AcknowledgeRule) -> None:
        """Releases a branch, or holds it at a pause. message.stop is False for a pause of a past that is being repeated."""
        self._session.acknowledge(message.branch, message.step, message.source)
        if course := self._courses.get(message.branch):
            course.held.pop(message.source, None)
            course.target = min(course.target, message.step) if message.stop else course.target

    def _failed(self, branches: Sequence[int], error: SteppeError) -> None:
        """Reports a failed step. Branches whose state was lost are loaded again, so that clients can still ask about them."""
        if isinstance(error, NoSpaceError):
            for branch in branches:
                self._wait_for_room(branch, error)
            return
        lost = [branch for branch in branches if not self._session.has(branch)]
        for branch in lost or branches:
            course = self._courses[branch]
            if branch in lost:  # actions since the last load stay
                self._session.load(branch, [*course.path[:-1], Leg(branch, OPEN_END, OPEN_END)], course.begin)
            position = self._session.position(branch)
            own = error.of.get(branch, error) if isinstance(error, BadCellError) else error
            failed = BranchFailure(branch, position, error.code, str(own))
            course.failed = failed
            self._send(failed)

    def _report_kept(self) -> None:
        """Reports now and then which past steps can be shown again soon, and the numbers of global arrays."""
        if self._clock() - self._kept_at > KEPT_INTERVAL:
            self._kept_at = self._clock()
            found = {branch: self._session.kept(branch) for branch in self._courses}
            changed = {branch: first for branch, first in found.items() if self._kept.get(branch) != first}
            arrays = self._session.array_counts
            if changed or arrays != self._arrays:
                self._send(Heartbeat(self.positions(), changed, arrays))
            self._kept, self._arrays = found, arrays

    def _send(self, message: Message, body: Buffer = b"") -> None:
        self._send_bytes(message, body)
