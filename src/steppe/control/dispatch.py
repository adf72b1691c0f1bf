"""What an engine is handed of the journal, in which order, and what the journal is told of it.

Dispatch is in the order of `seq` within a branch. An action without a step stops it until the engine has named one and the journal holds
it; it is not offered before the branch stands where people have seen it. What already has a step is never overtaken: the target that the
engine is told ends before what it does not know yet.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from steppe.control.journal import Journal
from steppe.control.life import Place
from steppe.control.orders import ACTIONS, CHANGES, FIRST_NAME, FORKS, Branch, Command
from steppe.control.wire import (
    BEGINNING,
    FULL,
    OPEN_END,
    Action,
    Applied,
    Drop,
    Failed,
    Fired,
    Heeded,
    Load,
    Message,
    Noted,
    Pin,
    Position,
    Target,
    Withdraw,
)
from steppe.failpoint import reach

LEFT = 20  # branches that rewinds have left, of which people are told with how things stand


@dataclass
class Course:
    """What this connection's engine knows of a branch."""

    position: Position | None = None  # None: it was told to load it
    sent: int = 0  # commands up to this one have been handed over
    blocked: int | None = None  # an action that has no step yet; the others wait behind it
    target: int = -1
    begin: Position = BEGINNING  # where it was loaded
    known: Position = BEGINNING  # what people had seen of it then
    failed: Failed | None = None


class Dispatch:
    """Between the journal and the engine of one run.

    Parameters
    ----------
    journal
        What was ordered.
    send
        Says something to the engine, if there is one.
    ended
        Is told the number of a command that is over.
    """

    def __init__(self, journal: Journal, send: Callable[[Message], None], ended: Callable[[int], None]) -> None:
        self._journal, self._send, self._ended = journal, send, ended
        self.open: dict[int, Branch] = {}  # those that can go on
        self.left: dict[int, Branch] = {}  # the newest of the others
        for each in journal.branches():
            self._learn(each)
        self.courses: dict[int, Course] = {}
        self.full: dict[int, Failed] = {}  # branches that wait for room on the disk
        self.last = journal.last
        made = (journal.made_by(each.seq) for kind in FORKS for each in journal.waiting(kind))
        self._arriving = {each.id for each in made if each}  # which do not stand yet where they begin
        self._paced = {each.branch for each in journal.waiting("step") if each.arguments.get("speed")}
        self._described = False  # the engine has said all that it knew before it was called

    def _learn(self, branch: Branch) -> Branch:
        """Takes what the journal holds of a branch now."""
        if branch.closed_step == OPEN_END:
            self.open[branch.id] = branch
        else:
            self.open.pop(branch.id, None)
            self.left[branch.id] = branch
            if len(self.left) > LEFT:
                del self.left[min(self.left)]
        return branch

    def branch(self, number: int) -> Branch:
        """A branch as the journal holds it; of very many only those in use are kept in memory.

        Raises
        ------
        Refused
            There is none.
        """
        return self.open.get(number) or self.left.get(number) or self._journal.branch(number)

    def forget(self) -> None:
        """There is no engine, or another one."""
        self.courses, self._described = {}, False

    def described(self) -> None:
        """The engine can be told what to do."""
        self._described = True
        for branch in self._journal.branches():
            if branch.name == FIRST_NAME or self.has_work(branch):
                self.load(branch.id)
            elif branch.closed_step < OPEN_END:
                self._send(Drop(branch.id))  # it may not have heard of it

    def load(self, branch: int) -> None:
        """Has the engine bring a branch into memory, if it is not there."""
        if branch not in self.courses and branch not in self.full and self._described:
            self.courses[branch] = Course()
            self._send(Load(branch, self._journal.path(branch), self._journal.begin(branch)))

    def load_again(self) -> None:
        """Has the engine look whether there is room for the branches that wait for it."""
        for branch in self.full if self._described else ():
            self.courses.setdefault(branch, Course())
            self._send(Load(branch, self._journal.path(branch), self._journal.begin(branch)))

    def drop(self, branch: int) -> None:
        """Nobody goes on with a branch."""
        if self.courses.pop(branch, None):
            self._send(Drop(branch))

    def is_left(self, branch: int) -> bool:
        """True if no client can continue a branch."""
        return self.branch(branch).closed_step < OPEN_END

    def has_work(self, branch: Branch) -> bool:
        """Whether an engine has something to do for a branch."""
        if branch.target > branch.shown_step or branch.shown_step < branch.fork_step:
            return True
        made = self._journal.command(branch.made_by) if branch.made_by else None
        if made is not None and made.outcome is None:
            return True
        return self._journal.has_waiting((*ACTIONS, "cancel"), branch.id)

    def ready(self, branch: int, position: Position) -> None:
        """A branch is in the engine's memory, and stands here."""
        self.full.pop(branch, None)
        course = self.courses[branch] = Course(position, begin=position, known=self._journal.known(branch))
        unplaced = self._journal.first_unplaced(branch)
        course.sent = unplaced.seq - 1 if unplaced else self.last
        for each in self._journal.placed(branch, position):
            if each.branch != branch or each.seq <= course.sent:
                self._send(_action(each, branch))
        for each in self._journal.waiting("cancel", branch):
            if each.seq <= course.sent:
                self._withdraw(each)
        self.stands(branch, position, news=True)

    def stands(self, branch: int, position: Position, news: bool = False) -> bool:
        """A branch stands here; whether that was news."""
        course = self.courses.get(branch)
        if course is None or course.position is None:
            return False
        changed = news or course.position != position
        course.position = position
        if changed:
            if course.failed and position > course.failed.position:
                course.failed = None
            ended = self._journal.stood(branch, position.step)
            if position.step > self.branch(branch).shown_step:
                self._learn(self._journal.branch(branch))
            for seq in ended:
                self._ended(seq)
        self._arrive(branch, position)
        self._pump(branch)
        return changed

    def _arrive(self, branch: int, position: Position) -> None:
        """A new branch that stands where it was to begin."""
        known = self.branch(branch)
        if branch in self._arriving and position.step >= known.fork_step:
            self._arriving.remove(branch)
            command = self._journal.command(known.made_by)
            if command and command.outcome is None:
                self._journal.end(command.seq, "done", known.fork_step, {"branch": branch, "step": known.fork_step})
                self._ended(command.seq)

    def place(self, seq: int, branch: int, step: int) -> None:
        """An action can happen at a step: from now on it does, in every replay."""
        held = self._journal.pin(seq, step)
        assert reach("pin.written")
        command = self._journal.command(seq)
        self._learn(self._journal.branch(branch))
        course = self.courses.get(branch)
        if command and command.kind == "pause" and course:
            self._stop(course, branch, held.step)
        self._send(Pin(seq, branch, *held))
        assert reach("pin.sent")
        if course and course.blocked == seq:
            course.blocked = None
        self._pump(branch)

    def _stop(self, course: Course, branch: int, step: int) -> None:
        """A pause has drawn what waited for the end of steps to its own; but for what the engine was told to forget."""
        gone = {each.arguments["seq"] for each in self._journal.waiting("cancel", branch) if each.seq <= course.sent}
        for each in self._journal.placed(branch, course.position or BEGINNING):
            if each.outcome is None and each.at_step == step and each.seq <= course.sent and each.seq not in gone:
                self._send(_action(each, branch))
        course.target = step

    def fired(self, message: Fired, stop: bool) -> None:
        """The journal holds what a rule did. stop: and a pause at its step."""
        self.last = self._journal.last
        there = self._journal.find(message.branch)
        if there is None:
            self._send(Heeded(message.branch, message.step, message.source, False))
            return
        known = self._learn(there)
        for seq in self._journal.reached(message.branch, known.shown_step):  # an engine that dies now does not come there again
            self._ended(seq)
        course = self.courses.get(message.branch)
        if stop and course:
            self._stop(course, message.branch, message.step)
        self._send(Heeded(message.branch, message.step, message.source, stop))
        self._pump(message.branch)

    def applied(self, message: Applied) -> None:
        """An action has happened.

        Raises
        ------
        ReplayDiffersError
            It did something else the first time.
        """
        self._journal.applied(message.seq, message.step, message.outcome)
        self._send(Noted(message.seq, message.branch))
        self._ended(message.seq)
        command, course = self._journal.command(message.seq), self.courses.get(message.branch)
        if command and command.kind in CHANGES and course and course.position:
            self.stands(message.branch, max(course.position, Position(message.step, command.place)))

    def failed(self, message: Failed) -> None:
        """A branch cannot go on."""
        if message.code == FULL:
            self.full[message.branch] = message
            if message.gone:
                self.courses.pop(message.branch, None)
        elif course := self.courses.get(message.branch):
            course.failed = message

    def accepted(self, seq: int) -> None:
        """A command is in the journal."""
        self.last = seq
        command = self._journal.command(seq)
        assert command is not None, "it was accepted"
        known = self._learn(self._journal.branch(command.branch))
        if made := self._journal.made_by(seq) if command.kind in FORKS else None:
            self._learn(made)
            self._arriving.add(made.id)
            self.load(made.id)
        if self.is_left(known.id):
            self._arriving.discard(known.id)
            self.drop(known.id)
        if command.arguments.get("speed"):
            self._paced.add(known.id)
        if known.id in self.courses:
            self._pump(known.id)
        elif self.has_work(known):
            self.load(known.id)

    def rests(self, branch: int) -> bool:
        """Whether nothing is under way or due where a branch stands."""
        course = self.courses.get(branch)
        if course is None or course.position is None or course.sent < self.last:
            return False
        return course.position.step >= self.branch(branch).target and not self._journal.has_waiting(ACTIONS, branch)

    def was_on_its_way(self) -> bool:
        """Whether a branch was being brought back to where people have seen it, and had moved."""
        return any(each.position and each.begin < each.position < each.known for each in self.courses.values())

    def blame(self) -> Place:
        """Which command that it has reached an engine dies at, or what else it does."""
        loaded = [self.branch(number) for number, course in self.courses.items() if course.position is not None]
        if not loaded:
            return Place(0, "before it had loaded the run.")
        for branch in loaded:
            due = [*self._journal.placed(branch.id, Position(branch.shown_step, 0)), *self._journal.waiting("step", branch.id)]
            for each in due:
                if each.outcome is None and (each.at_step or 0) <= branch.target:  # an engine may go that far between two words
                    at = (each.target or 0) if each.at_step is None else each.at_step
                    where = "at" if at <= branch.shown_step else f"after step {branch.shown_step}, up to"
                    return Place(each.seq, f"{where} command {each.seq} ({each.kind} by {each.who}), step {at}.")
        return Place(0, "without a finished step between.")

    def withdrawn(self, seq: int, gone: bool) -> None:
        """An action that was to be cancelled is gone, or had happened."""
        command = self._journal.command(seq)
        gone = gone and command is not None and command.outcome is None
        for each in self._journal.waiting("cancel"):
            if each.arguments["seq"] == seq:
                step = self.branch(each.branch).shown_step
                if gone:
                    self._journal.end(seq, "cancelled", step, self._journal.reason(each.seq))
                    self._ended(seq)
                late = {"code": "already-finished", "text": f"Command {seq} had happened."}
                self._journal.end(each.seq, "done" if gone else "failed", step, {} if gone else late)
                self._ended(each.seq)

    def _pump(self, branch: int) -> None:
        """Hands an engine what it does not know yet of a branch, in the journal's order."""
        course, known = self.courses.get(branch), self.branch(branch)
        if course is None or course.position is None:
            return
        limit, withheld = known.target, course.blocked is not None
        for each in self._journal.commands(course.sent, branch) if course.sent < self.last else ():
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
            course.sent = self.last
        speed = 0.0
        if course.position < course.known:
            limit = min(limit, course.known.step)  # so that it is known when it gets there
        elif branch in self._paced:
            limit, speed = self._pace(branch, course.position.step, limit)
        if limit > course.target:
            course.target = limit
            self._send(Target(branch, limit, speed))

    def _pace(self, branch: int, step: int, limit: int) -> tuple[int, float]:
        """The end of the steps that are ordered next, and their speed; 0 for as fast as can be."""
        ordered = [each for each in self._journal.waiting("step", branch) if each.target is not None and each.target > step]
        if not any(each.arguments.get("speed") for each in ordered):
            self._paced.discard(branch)
            return limit, 0.0
        return min(limit, ordered[0].target or limit), ordered[0].arguments.get("speed") or 0.0

    def _hand_over(self, course: Course, command: Command) -> None:
        assert reach("dispatch.before")
        if command.kind == "cancel":
            self._withdraw(command)
        elif command.kind in ACTIONS:
            self._send(_action(command, command.branch))
            if command.at_step is None:
                course.blocked = command.seq

    def _withdraw(self, cancel: Command) -> None:
        seq = cancel.arguments["seq"]
        command = self._journal.command(seq)
        if command and command.outcome is None:
            self._send(Withdraw(seq, cancel.branch))
        else:  # it has happened, and an engine that comes back must do it again
            self.withdrawn(seq, False)


def _action(command: Command, branch: int) -> Action:
    earliest = command.at_step if command.at_step is not None else 0 if command.due in ("now", "after") else int(command.due)
    return Action(command.seq, branch, command.place, command.at_step, earliest, command.kind, command.arguments)
