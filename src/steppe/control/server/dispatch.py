"""Sends the commands of the journal to the engine in order, and stores its reports in the journal.

Commands of a branch are sent in the order of `seq`. An action without a step blocks the later ones until the engine has named a step and
the journal holds it. Such an action is not sent before the branch has caught up with what clients have seen. The target of the engine ends
before any action that it does not know, so no action with a step is ever passed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from steppe.control.orders import ACTIONS, CHANGES, FIRST_NAME, FORKS, BranchRecord, Command
from steppe.control.server.engine_process import DeathSite
from steppe.control.server.journal import Journal
from steppe.control.wire import (
    BEGINNING,
    FULL,
    OPEN_END,
    AcknowledgeOutcome,
    AcknowledgeRule,
    ActionOutcome,
    BranchAction,
    BranchFailure,
    Load,
    Message,
    Pin,
    Position,
    RuleFiring,
    Target,
    Unload,
    Withdraw,
)
from steppe.failpoint import reach

LEFT = 20  # branches that rewinds have left, which the status of a run lists


@dataclass
class Course:
    """A branch, as the connected engine knows it."""

    position: Position | None = None  # None: it is being loaded
    sent: int = 0  # commands up to this one have been sent
    blocked: int | None = None  # an action without a step, behind which the others wait
    target: int = -1
    begin: Position = BEGINNING  # at which it was loaded
    known: Position = BEGINNING  # the last position that clients had seen then
    failed: BranchFailure | None = None


class Dispatch:
    """The link between the journal and the engine of one run.

    Parameters
    ----------
    journal
        The commands.
    send
        Sends a message to the engine, if one is connected.
    ended
        Called with the number of a command that is over.
    """

    def __init__(self, journal: Journal, send: Callable[[Message], None], ended: Callable[[int], None]) -> None:
        self._journal, self._send, self._ended = journal, send, ended
        self.open: dict[int, BranchRecord] = {}  # branches that can go on
        self.left: dict[int, BranchRecord] = {}  # the newest of the others
        for each in journal.branches():
            self._learn(each)
        self.courses: dict[int, Course] = {}
        self.full: dict[int, BranchFailure] = {}  # branches that wait for room on the disk
        self.last = journal.last
        made = (journal.made_by(each.seq) for kind in FORKS for each in journal.waiting(kind))
        self._arriving = {each.id for each in made if each}  # branches that have not reached their fork
        self._paced = {each.branch for each in journal.waiting("step") if each.arguments.get("speed")}
        self._described = False  # the engine has sent its whole greeting

    def _learn(self, branch: BranchRecord) -> BranchRecord:
        """Stores the current record of a branch in memory."""
        if branch.closed_step == OPEN_END:
            self.open[branch.id] = branch
        else:
            self.open.pop(branch.id, None)
            self.left[branch.id] = branch
            if len(self.left) > LEFT:
                del self.left[min(self.left)]
        return branch

    def branch(self, number: int) -> BranchRecord:
        """The record of a branch; only branches in use are in memory.

        Raises
        ------
        Refused
            There is no such branch.
        """
        return self.open.get(number) or self.left.get(number) or self._journal.branch(number)

    def reset(self) -> None:
        """Discards what the engine knew: it is gone, or another one has connected."""
        self.courses, self._described = {}, False

    def described(self) -> None:
        """Loads the branches that have work: the engine has sent its whole greeting."""
        self._described = True
        for branch in self._journal.branches():
            if branch.name == FIRST_NAME or self.has_work(branch):
                self.load(branch.id)
            elif branch.closed_step < OPEN_END:
                self._send(Unload(branch.id))  # the engine may have missed an earlier one

    def load(self, branch: int) -> None:
        """Loads a branch into the engine's memory, if it is not there."""
        if branch not in self.courses and branch not in self.full and self._described:
            self.courses[branch] = Course()
            self._send(Load(branch, self._journal.path(branch), self._journal.begin(branch)))

    def load_again(self) -> None:
        """Loads the branches again that wait for room on the disk."""
        for branch in self.full if self._described else ():
            self.courses.setdefault(branch, Course())
            self._send(Load(branch, self._journal.path(branch), self._journal.begin(branch)))

    def unload(self, branch: int) -> None:
        """Takes a branch out of the engine's memory."""
        if self.courses.pop(branch, None):
            self._send(Unload(branch))

    def is_left(self, branch: int) -> bool:
        """True if no client can continue a branch."""
        return self.branch(branch).closed_step < OPEN_END

    def has_work(self, branch: BranchRecord) -> bool:
        """True if an engine has to work on a branch."""
        if branch.target > branch.shown_step or branch.shown_step < branch.fork_step:
            return True
        made = self._journal.command(branch.made_by) if branch.made_by else None
        if made is not None and made.outcome is None:
            return True
        return self._journal.has_waiting((*ACTIONS, "cancel"), branch.id)

    def ready(self, branch: int, position: Position) -> None:
        """Sends the commands of a branch that is loaded now, at this position."""
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
        """Stores the position of a branch; returns True if it is new."""
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
        """Ends the command of a new branch that has reached its fork."""
        known = self.branch(branch)
        if branch in self._arriving and position.step >= known.fork_step:
            self._arriving.remove(branch)
            command = self._journal.command(known.made_by)
            if command and command.outcome is None:
                self._journal.end(command.seq, "done", known.fork_step, {"branch": branch, "step": known.fork_step})
                self._ended(command.seq)

    def place(self, seq: int, branch: int, step: int) -> None:
        """Fixes the step of an action; it happens there in every replay from now on."""
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
        """Sends the actions that a pause has moved to its step, without those that were withdrawn."""
        gone = {each.arguments["seq"] for each in self._journal.waiting("cancel", branch) if each.seq <= course.sent}
        for each in self._journal.placed(branch, course.position or BEGINNING):
            if each.outcome is None and each.at_step == step and each.seq <= course.sent and each.seq not in gone:
                self._send(_action(each, branch))
        course.target = step

    def fired(self, message: RuleFiring, stop: bool) -> None:
        """Acknowledges the effect of a rule, which the journal holds. stop: with a pause at its step."""
        self.last = self._journal.last
        there = self._journal.find(message.branch)
        if there is None:
            self._send(AcknowledgeRule(message.branch, message.step, message.source, False))
            return
        known = self._learn(there)
        for seq in self._journal.reached(message.branch, known.shown_step):  # an engine that dies now does not report these steps again
            self._ended(seq)
        course = self.courses.get(message.branch)
        if stop and course:
            self._stop(course, message.branch, message.step)
        self._send(AcknowledgeRule(message.branch, message.step, message.source, stop))
        self._pump(message.branch)

    def applied(self, message: ActionOutcome) -> None:
        """Stores the outcome of an action.

        Raises
        ------
        ReplayDiffersError
            The outcome differs from the one of the first time.
        """
        self._journal.applied(message.seq, message.step, message.outcome)
        self._send(AcknowledgeOutcome(message.seq, message.branch))
        self._ended(message.seq)
        command, course = self._journal.command(message.seq), self.courses.get(message.branch)
        if command and command.kind in CHANGES and course and course.position:
            self.stands(message.branch, max(course.position, Position(message.step, command.place)))

    def failed(self, message: BranchFailure) -> None:
        """Notes that a branch cannot go on."""
        if message.code == FULL:
            self.full[message.branch] = message
            if message.gone:
                self.courses.pop(message.branch, None)
        elif course := self.courses.get(message.branch):
            course.failed = message

    def accepted(self, seq: int) -> None:
        """Sends a command that the journal has accepted, or begins its effect."""
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
            self.unload(known.id)
        if command.arguments.get("speed"):
            self._paced.add(known.id)
        if known.id in self.courses:
            self._pump(known.id)
        elif self.has_work(known):
            self.load(known.id)

    def rests(self, branch: int) -> bool:
        """True if the branch is idle: no step and no action is due at its position."""
        course = self.courses.get(branch)
        if course is None or course.position is None or course.sent < self.last:
            return False
        return course.position.step >= self.branch(branch).target and not self._journal.has_waiting(ACTIONS, branch)

    def was_repeating(self) -> bool:
        """True if a branch was repeating steps that clients have seen, and had advanced."""
        return any(each.position and each.begin < each.position < each.known for each in self.courses.values())

    def death_site(self) -> DeathSite:
        """The command at which the engine would die now, or its other work."""
        loaded = [self.branch(number) for number, course in self.courses.items() if course.position is not None]
        if not loaded:
            return DeathSite(0, "before it had loaded the run.")
        for branch in loaded:
            due = [*self._journal.placed(branch.id, Position(branch.shown_step, 0)), *self._journal.waiting("step", branch.id)]
            for each in due:
                if each.outcome is None and (each.at_step or 0) <= branch.target:  # an engine may get that far between two messages
                    at = (each.target or 0) if each.at_step is None else each.at_step
                    where = "at" if at <= branch.shown_step else f"after step {branch.shown_step}, up to"
                    return DeathSite(each.seq, f"{where} command {each.seq} ({each.kind} by {each.who}), step {at}.")
        return DeathSite(0, "without a finished step between.")

    def withdrawn(self, seq: int, gone: bool) -> None:
        """Ends the commands that cancel an action. gone: the action has not happened and never will."""
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
        """Sends the engine the commands of a branch that it does not know, in order, and the target."""
        course, known = self.courses.get(branch), self.branch(branch)
        if course is None or course.position is None:
            return
        limit, withheld = known.target, course.blocked is not None
        for each in self._journal.commands(course.sent, branch) if course.sent < self.last else ():
            due = each.outcome is None and each.kind in ACTIONS
            if due and each.at_step is None and course.position.step < known.shown_step:
                withheld = True  # it must not happen before a step that clients have already seen
            if not withheld:
                course.sent = each.seq
                if each.outcome is None:
                    self._hand_over(course, each)
                withheld = course.blocked is not None
            elif due and each.at_step is not None:
                limit = min(limit, each.at_step)  # it must not be passed
            elif due and each.kind == "pause":
                limit = min(limit, known.shown_step)
        if not withheld:
            course.sent = self.last
        speed = 0.0
        if course.position < course.known:
            limit = min(limit, course.known.step)  # the engine reports when it has caught up
        elif branch in self._paced:
            limit, speed = self._pace(branch, course.position.step, limit)
        if limit > course.target:
            course.target = limit
            self._send(Target(branch, limit, speed))

    def _pace(self, branch: int, step: int, limit: int) -> tuple[int, float]:
        """The end of the next ordered steps, and their speed; 0: no limit."""
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
        else:  # it has happened; a restored engine must repeat it
            self.withdrawn(seq, False)


def _action(command: Command, branch: int) -> BranchAction:
    earliest = command.at_step if command.at_step is not None else 0 if command.due in ("now", "after") else int(command.due)
    return BranchAction(command.seq, branch, command.place, command.at_step, earliest, command.kind, command.arguments)
