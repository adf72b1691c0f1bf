"""The engine's end of the wire: what it is told, when it happens, what it says. It steps nothing itself (`Stage`) and waits for nothing.

`hear` takes a message, `turn` does the next piece of work; both on one thread. What goes out goes through `tell`, which may lose it: all
that matters is said again after the next `Hello`.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from steppe.control.following import Following
from steppe.control.orders import CHANGES, numbered
from steppe.control.showing import Behind, Showing, at_once
from steppe.control.stage import Stage
from steppe.control.wire import (
    BEGINNING,
    FULL,
    OPEN_END,
    Action,
    Applied,
    Beat,
    Boundary,
    Buffer,
    Data,
    Described,
    Drop,
    Failed,
    Follow,
    Get,
    Heeded,
    Hide,
    Kept,
    Leg,
    Load,
    Message,
    News,
    Noted,
    Outcome,
    Pin,
    Position,
    Ready,
    Refused,
    Same,
    Show,
    Taken,
    Target,
    Unfollow,
    Withdraw,
    Withdrawn,
)
from steppe.errors import NoSpaceError, SteppeError
from steppe.failpoint import reach

KEEP = 10.0  # [s] between durable states of a run that is stepped, at least
UNHEARD = 1000  # things that rules did and nobody has noted, after which no step is made
BEHIND = 0.1  # [s] that a branch with a speed may catch up at once
KEPT_TOLD = 1.0  # [s] between two times that people are told what is kept, at least
LOOKED = 0.02  # [s] that a piece of steps takes while somebody asks for each
ANSWERING = 0.05  # [s] of answers at a turn, but for one that takes longer
REST = 0.5  # [s] with nothing to do after which what has changed is made durable


@dataclass
class _Course:
    """How far a branch shall go, and what is to happen on the way."""

    target: int = 0
    pending: dict[int, Action] = field(default_factory=dict)  # by seq
    promised: dict[int, int] = field(default_factory=dict)  # seq -> step that will not be passed before its pin
    speed: float = 0.0  # [1/s] of steps at most; 0: as fast as can be
    due: float = 0.0  # when the next of them may be made
    held: dict[str, int] = field(default_factory=dict)  # trigger -> step at which it has stopped the branch
    failed: Failed | None = None
    path: list[Leg] = field(default_factory=list)
    begin: Position = BEGINNING


class LateError(Exception):
    """An action belongs to a step that has passed: a defect of the protocol, after which nothing may go on."""


class Actor:
    """An engine's side of the conversation.

    Parameters
    ----------
    stage
        What it steps.
    tell
        Sends a message, if anybody listens.
    clock
        Seconds that only grow.
    behind, spent
        Does what need not keep the stepper; seconds of a processor that it has had. See `Showing`.
    """

    def __init__(
        self,
        stage: Stage,
        tell: Callable[[Message, Buffer], None],
        clock: Callable[[], float],
        behind: Behind = at_once,
        spent: Callable[[], float] | None = None,
    ) -> None:
        self._stage, self._send, self._clock = stage, tell, clock
        self._showing = Showing(stage, tell, clock, behind, spent)
        self._following = Following(stage, tell, clock)
        self._courses: dict[int, _Course] = {}
        self._full: dict[int, Failed] = {}  # branches that wait for room on the disk
        self._outcomes: dict[tuple[int, int], Applied] = {}  # by branch and seq, until they are noted: a server may die, too
        self._gets: deque[Get] = deque()
        self._rested: float | None = None  # since when nothing is due
        self._stepped = False  # since the last beat: where a branch stands was told by nothing else
        self._looked = -OPEN_END * 1.0
        self._kept_at, self._keeping_took = clock(), 0.0
        self._kept_told: dict[int, int] = {}  # the first step of each branch that can be shown again soon
        self._kept_told_at = -OPEN_END * 1.0

    def positions(self) -> dict[int, Position]:
        """Where each branch stands."""
        return {branch: self._stage.position(branch) for branch in self._courses}

    def greet(self) -> None:
        """Says all that a new server, or one that has missed something, must know."""
        self._showing.clear()
        self._following.clear()
        self._kept_told = {}
        for outcome in self._outcomes.values():
            self._tell(outcome)
        for fired in self._stage.unheeded():
            self._tell(fired)
        for branch, course in self._courses.items():
            for seq, step in course.promised.items():
                self._tell(Boundary(seq, branch, step))
            if course.failed and branch not in self._full:
                self._tell(course.failed)
        for full in self._full.values():
            self._tell(full)
        self._tell(Described(), json.dumps(self._stage.describe()).encode())

    def hear(self, message: Message) -> None:
        """Takes a message of the server. Said twice it does no harm."""
        match message:
            case Load():
                self._load(message)
            case Target(branch, step, speed) if found := self._courses.get(branch):
                found.target, found.speed = max(found.target, step), speed
            case Action() if found := self._courses.get(message.branch):
                self._take(found, message)
            case Pin() if found := self._courses.get(message.branch):
                self._pinned(found, message)
            case Withdraw(seq, branch) if found := self._courses.get(branch):
                found.pending.pop(seq, None)
                found.promised.pop(seq, None)
                self._tell(Withdrawn(seq, (branch, seq) not in self._outcomes))
            case Noted(seq, branch):
                self._outcomes.pop((branch, seq), None)
            case Heeded():
                self._heeded(message)
            case Get():
                self._gets.append(message)
            case Show() | Hide() | Taken():
                self._showing.hear(message)
            case Follow() | Unfollow():
                self._following.hear(message)
            case Drop(branch):
                self._forget(branch)

    def _load(self, load: Load) -> None:
        branch, path, begin = load.branch, load.path, load.begin
        if full := self._full.get(branch):
            if not self._stage.has_room():
                self._tell(full)
                return
            raise NoSpaceError(full.text)  # there is room again: the next engine begins at durable states, as after a death
        before = self._stage.position(branch) if branch in self._courses else None
        try:
            position = self._stage.load(branch, path, begin)
        except NoSpaceError as error:
            self._wait_for_room(branch, error)
            return
        course, end = self._courses.setdefault(branch, _Course()), path[-1]
        course.path, course.begin = path, begin
        course.target = min(course.target, end.step)  # it may have been left by a rewind
        if position != before:
            course.target = position.step  # what happened on the way to the old one is to be said again before
        self._tell_fired()
        self._tell(Ready(branch, position))

    def _forget(self, branch: int) -> None:
        """Takes a branch out of memory, durably if the disk has room."""
        known, full = self._courses.pop(branch, None), self._full.pop(branch, None)
        if known is None and full is None:
            return
        self._outcomes = {key: each for key, each in self._outcomes.items() if key[0] != branch}
        try:
            self._stage.drop(branch, keep=full is None)
        except NoSpaceError:  # what is lost is computed again when the branch is needed
            self._stage.drop(branch, keep=False)

    def _wait_for_room(self, branch: int, error: NoSpaceError) -> None:
        """Stops a branch until the disk has room. Its state answers questions meanwhile, if it is whole."""
        gone = branch not in self._courses or not self._stage.has(branch)
        position = BEGINNING if gone else self._stage.position(branch)
        full = self._full[branch] = Failed(branch, position, FULL, error.fault, gone)
        if gone:
            self._courses.pop(branch, None)
        else:
            self._courses[branch].failed = full
        self._tell(full)

    def _take(self, course: _Course, action: Action) -> None:
        if outcome := self._outcomes.get((action.branch, action.seq)):  # it happened, and nobody has noted it
            self._tell(outcome)
        elif action.at_step is not None:
            if (action.at_step, action.place) > self._stage.position(action.branch) or action.kind not in CHANGES:
                course.pending[action.seq] = action
                course.promised.pop(action.seq, None)
        else:
            course.pending.setdefault(action.seq, action)
            step = max(action.earliest, self._stage.position(action.branch).step)
            self._tell(Boundary(action.seq, action.branch, course.promised.setdefault(action.seq, step)))
            assert reach("boundary.sent")

    def _pinned(self, course: _Course, pin: Pin) -> None:
        promised, action = course.promised.pop(pin.seq, None), course.pending.get(pin.seq)
        if action is None or promised is None:
            return
        if pin.step < 0 or action.kind == "pause":
            del course.pending[pin.seq]
            course.target = course.target if pin.step < 0 else pin.step
        else:
            course.pending[pin.seq] = Action(pin.seq, pin.branch, pin.place, pin.step, pin.step, action.kind, action.arguments)

    # ---- work ---------------------------------------------------------------------------------------------------------------------------
    def turn(self) -> bool:
        """Answers what was asked, does what is due, and one piece of stepping; False when there is nothing to do.

        Questions about the past may take long: the others wait for the next turn, so that the branches go on, too.
        """
        self._answer_all()
        busy = self._act() or self._advance()
        self._showing.turn(self._courses, busy)
        self._following.turn(busy)
        self._tell_kept()
        if busy or self.seconds_to_wait() < OPEN_END:
            self._rested = None
        else:
            busy = self._keep()
        if busy and self._clock() - self._kept_at > max(KEEP, 50 * self._keeping_took):
            self.save_all()
        return busy or bool(self._gets)

    def seconds_to_wait(self) -> float:
        """Seconds until a branch with a speed may go on; endless when none has one and waits."""
        now = self._clock()
        waiting = [branch for branch, each in self._courses.items() if each.speed and each.due > now]
        behind = [self._courses[branch].due - now for branch in waiting if self._stage.position(branch).step < self._bound(branch)]
        return min(behind, default=OPEN_END)

    def _act(self) -> bool:
        """The actions of the steps at which branches stand."""
        found = False
        for branch, course in self._courses.items():
            step, place = self._stage.position(branch)
            due = [each for each in course.pending.values() if each.at_step is not None and each.at_step <= step]
            late = [each.seq for each in due if each.kind in CHANGES and (each.at_step, each.place) <= (step, place)]
            if late:
                raise LateError(f"Commands {late} belong before step {step}, place {place} of branch {branch}.")
            for action in sorted(due, key=lambda each: each.place):
                del course.pending[action.seq]
                self._happen(branch, action, step)
                found = True
        return found

    def _happen(self, branch: int, action: Action, step: int) -> None:
        if action.kind == "checkpoint":
            try:
                saved = self._stage.save(branch, bool(action.arguments.get("pin")))
            except NoSpaceError as error:
                outcome = Outcome(False, {"code": error.code, "text": error.fault}, 0)
                self._wait_for_room(branch, error)
            except SteppeError as error:
                outcome = Outcome(False, {"code": error.code, "text": str(error)}, 0)
            else:
                self._tell(Kept(branch, saved))
                outcome = Outcome(True, {"checkpoint": saved.name, "bytes": saved.bytes}, 0)
        else:
            assert reach("action.before")
            outcome = self._stage.apply(branch, action.place, action.kind, numbered(action.kind, action.seq, action.arguments))
            if branch not in self._full:
                self._courses[branch].failed = None  # it may be what makes the next step possible
            assert reach("action.after")
        self._outcomes[branch, action.seq] = Applied(action.seq, branch, step, outcome)
        self._tell(self._outcomes[branch, action.seq])
        assert reach("applied.sent")

    def _limit(self, branch: int) -> int:
        """The step up to which a branch may go now."""
        course, bound = self._courses[branch], self._bound(branch)
        if not course.speed:
            return bound
        late = min(self._clock() - course.due, BEHIND)
        return min(bound, self._stage.position(branch).step + (1 + int(late * course.speed) if late >= 0 else 0))

    def _bound(self, branch: int) -> int:
        """The step up to which nothing else has to happen."""
        course = self._courses[branch]
        if course.failed:
            return self._stage.position(branch).step
        pinned = (each.at_step for each in course.pending.values() if each.at_step is not None)
        return min(course.target, *pinned, *course.promised.values(), *course.held.values(), OPEN_END)

    def _advance(self) -> bool:
        limits = {branch: self._limit(branch) for branch in self._courses}
        steps = {branch: self._stage.position(branch).step for branch in self._courses}
        behind = [branch for branch in steps if steps[branch] < limits[branch]]
        if not behind or len(self._stage.unheeded()) > UNHEARD:
            return False
        first = min(steps[branch] for branch in behind)
        together = [branch for branch in behind if steps[branch] == first]
        self._stepped = True
        begin = self._clock()
        try:
            stop = min(limits[branch] for branch in together)
            self._stage.advance(together, min(stop, first + 1) if self._following.any_of(together) else stop, self._looks())
        except SteppeError as error:
            self._failed(together, first, error)
        for course, branch in ((self._courses[branch], branch) for branch in together if branch in self._courses):
            if course.speed:
                course.due = max(course.due, begin - BEHIND) + (self._stage.position(branch).step - first) / course.speed
        self._following.take([branch for branch in together if self._stage.has(branch)])
        self._tell_fired()
        return True

    def _looks(self) -> float:
        """Seconds after which somebody wants to see the next steps, 0 for nobody."""
        return LOOKED if self._clock() - self._looked < 2 else self._showing.looks

    def _tell_fired(self) -> None:
        for each in self._stage.fired():
            if each.kind == "pause" and each.branch in self._courses:
                self._courses[each.branch].held[each.source] = each.step
            self._tell(each)
            assert reach("fired.sent")

    def _heeded(self, message: Heeded) -> None:
        """The journal says whether a pause holds here, or was one of a past that is being repeated."""
        self._stage.heeded(message.branch, message.step, message.source)
        if course := self._courses.get(message.branch):
            course.held.pop(message.source, None)
            course.target = min(course.target, message.step) if message.stop else course.target

    def _failed(self, branches: Sequence[int], step: int, error: SteppeError) -> None:
        """Those whose state was of no use any more were given up and are brought back; else nobody could go on."""
        if isinstance(error, NoSpaceError):
            for branch in branches:
                self._wait_for_room(branch, error)
            return
        lost = [branch for branch in branches if not self._stage.has(branch)]
        for branch in lost or branches:
            course = self._courses[branch]
            if branch in lost:  # all that has happened since it was loaded stays
                self._stage.load(branch, [*course.path[:-1], Leg(branch, OPEN_END, OPEN_END)], course.begin)
            position = self._stage.position(branch)
            failed = Failed(branch, position, error.code, str(error))
            course.failed = failed
            self._tell(failed)

    def _keep(self) -> bool:
        """Makes durable what has changed, once nothing has been due for a moment."""
        now = self._clock()
        if self._rested is None:
            self._rested = now
            if self._stepped:
                self.beat()
        if now - self._rested < REST:
            return False
        for branch in [*self._courses]:
            if branch not in self._full and self._stage.dirty(branch):
                self._save(branch)
                return True
        return False

    def _tell_kept(self) -> None:
        """Says now and then what of the past can be shown again soon."""
        if self._clock() - self._kept_told_at > KEPT_TOLD:
            self._kept_told_at = self._clock()
            found = {branch: self._stage.kept(branch) for branch in self._courses}
            if news := {branch: first for branch, first in found.items() if self._kept_told.get(branch) != first}:
                self._tell(Beat(self.positions(), news))
            self._kept_told = found

    def save_all(self) -> None:
        """Makes all branches durable: now and then, and before the end."""
        begin = self._clock()
        for branch in [*self._courses]:
            if branch not in self._full and self._stage.dirty(branch):
                self._save(branch)
        self._kept_at = self._clock()
        self._keeping_took = self._kept_at - begin

    def _save(self, branch: int) -> None:
        try:
            self._tell(Kept(branch, self._stage.save(branch)))
            assert reach("checkpoint.told")
        except NoSpaceError as error:
            self._wait_for_room(branch, error)
        except SteppeError as error:
            self._tell(News(branch, "warning", str(error)))
            self._rested = self._clock() + 10  # the disk may have room again then

    def beat(self) -> None:
        """Says where each branch stands."""
        self._stepped = False
        self._tell(Beat(self.positions()))

    def _answer_all(self) -> None:
        begin = self._clock()
        while self._gets and self._clock() - begin < ANSWERING:
            each = self._gets.popleft()
            self._looked = self._clock()
            if each.branch not in self._courses:
                self._tell(Refused(each.id, "engine-recovering", f"Branch {each.branch} is not loaded yet.", {}))
                continue
            position = self._stage.position(each.branch)
            if each.have == position:
                self._tell(Same(each.id))
                continue
            try:
                head, body = self._stage.get(each.branch, each.query)
            except SteppeError as error:
                self._tell(Refused(each.id, error.code, str(error), getattr(error, "facts", {})))
            else:
                assert reach("data.before")
                self._tell(Data(each.id, position, head), body)

    def _tell(self, message: Message, body: Buffer = b"") -> None:
        self._send(message, body)
