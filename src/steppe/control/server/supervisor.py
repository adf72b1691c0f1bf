"""Supervises one run: keeps an engine alive, sends it the commands of the journal in order, and passes on questions and viewers.

Nothing here waits: messages, timers and clients call, and every call returns at once. So a test can simulate years of deaths and lost
messages in seconds, from a seed.
"""

from __future__ import annotations

import asyncio
import json
import logging
from contextlib import suppress
from pathlib import Path
from typing import cast

from steppe.api.documents import ArrayHead
from steppe.api.query import MapQuery
from steppe.control.orders import FORKS, JOURNAL, NAMINGS, CommandReceipt, Order, Refused, ReplayDiffersError
from steppe.control.server.branch_closer import BranchCloser
from steppe.control.server.channels import Channels
from steppe.control.server.dispatch import Dispatch
from steppe.control.server.engine_process import GOES_ON, MISTAKE, STARTING, STOPPED, EngineProcess, Launcher, Link, Scheduler
from steppe.control.server.journal import Journal
from steppe.control.server.live_series import AllSeries
from steppe.control.server.questions import Answer, Questions, Tell
from steppe.control.server.reader import JournalReader
from steppe.control.server.status import RunStatus
from steppe.control.wire import (
    FULL,
    OPEN_END,
    ActionOutcome,
    Boundary,
    BranchFailure,
    Buffer,
    Busy,
    ChannelFrames,
    CheckpointReport,
    Data,
    Description,
    EngineExit,
    Heartbeat,
    Hello,
    Message,
    News,
    Position,
    QueryRefusal,
    Ready,
    RuleFiring,
    Same,
    SeriesRows,
    Withdrawal,
)
from steppe.errors import NoSpaceError
from steppe.failpoint import reach

LOG = logging.getLogger("steppe.control")
LEVELS = {"failed": logging.ERROR, "warning": logging.WARNING}  # in the log of the server
STILL_POSSIBLE = ("cancel", "pause", "rewind", "restart", "skip", *NAMINGS)  # orders for a run that failed
ROOM = 2.0  # [s] between two tests whether the disk has room again


class Supervisor(RunStatus):
    """The supervision of one run.

    Parameters
    ----------
    name, folder
        Of the run.
    journal
        The commands.
    scheduler, launcher
        The time and the start of engines; tests pass simulated ones.
    starting
        Seconds until an engine must have connected; None: a launcher may hold it in a queue.
    scenarios
        Most scenarios at once, without those that were left. Default: any number.
    """

    def __init__(
        self,
        name: str,
        folder: Path,
        journal: Journal,
        scheduler: Scheduler,
        launcher: Launcher,
        starting: float | None = STARTING,
        scenarios: int = OPEN_END,
    ) -> None:
        super().__init__(name, journal, scheduler)
        self.folder, self._most = folder, scenarios
        self.reader = JournalReader(folder / JOURNAL)
        self._logged = ""
        self.turned_away = 0
        """Connections that were refused because they did not authenticate."""
        self.process = EngineProcess(journal, scheduler, launcher, self, starting)
        self.questions = Questions(self, scheduler.now)
        self.channels = Channels(self)
        self.followed = AllSeries(self)
        self.dispatch = Dispatch(journal, self.send, self._settle)
        self.leaving = BranchCloser(scheduler, self.dispatch, self.questions, self.channels, self.followed)

    def close(self, keep: bool = True) -> None:
        """Ends the supervision. keep: the engine saves its state and ends; otherwise it goes on and waits for another server."""
        self.leaving.close()
        self.process.close(keep)
        self.questions.close(Refused("draining", "The server is ending and answers no more."))

    def dismiss(self) -> None:
        """Cancels all waiters and watchers: the run ends, the server goes on."""
        self._over = True
        self.questions.close(Refused("unknown-run", f'The run "{self.name}" has been ended.'))
        for seq in [*self._waiters]:
            self._settle(seq)
        self.changed()

    # ---- messages of an engine ----------------------------------------------------------------------------------------------------------
    def engine_connected(self, link: Link, hello: Hello) -> None:
        """Takes the connection of an authenticated engine."""
        if self.process.connected(link, hello):
            self.dispatch.reset()
            self.questions.reset()
            self.channels.reset()
            self.followed.reset()

    def connection_lost(self, link: Link) -> None:
        """Notes the end of a connection."""
        self.process.connection_lost(link)

    def receive(self, link: Link, message: Message, body: Buffer = b"") -> None:
        """Takes a message. A message of an earlier engine's connection is ignored."""
        if link is not self.process.link:
            return
        self.process.heard()
        try:
            self._receive_state(message)
            self._receive_answer(message, body)
        except NoSpaceError as error:  # the journal has no room; messages that matter come again on the next connection
            self.process.full = error.fault
            link.close()
            self.changed()

    def _receive_state(self, message: Message) -> None:
        """Takes a message about branches and commands."""
        match message:
            case Ready(branch, position) if branch in self.dispatch.courses:
                self.process.state, self.process.full = "up", ""
                if branch in self.dispatch.full:
                    self.channels.hide(branch)
                self.dispatch.ready(branch, position)
                self.changed()
            case Boundary(seq, branch, step):
                self.dispatch.place(seq, branch, step)
                self._settle_ended()
            case ActionOutcome():
                self._applied(message)
            case RuleFiring():
                is_new, stop = self.journal.fired(message, self._scheduler.wall())
                assert reach("fired.written")
                self.dispatch.fired(message, stop)
                self._settle_ended()
                if is_new:
                    self.changed()
            case CheckpointReport(branch, saved):
                with suppress(NoSpaceError):  # not needed for recovery
                    self.journal.saved(branch, saved)
                self.changed()
            case Withdrawal(seq, gone):
                self.dispatch.withdrawn(seq, gone)
            case BranchFailure(branch):
                if message.code == FULL:
                    self._waits_for_room(message)
                else:
                    self.dispatch.failed(message)
                    self._emit(branch, "failed", message.text, message.position.step)
            case Heartbeat(positions, kept, arrays):
                self.process.is_busy()
                self.arrays = arrays or self.arrays
                self._kept = {number: first for number, first in (self._kept | kept).items() if number in self.dispatch.courses}
                for branch, position in positions.items():
                    self._stands(branch, position)

    def _receive_answer(self, message: Message, body: Buffer) -> None:
        """Takes a message for clients, or about the engine itself; then asks the engine what waits."""
        match message:
            case Data(id, position, head):
                asked = self.questions.came(id, position, (cast(ArrayHead, head), body))
                if asked is not None:
                    self._stands(asked, position)
            case Same(id):
                self.questions.same(id)
            case QueryRefusal(id, code, text, facts):
                self.questions.refused(id, Refused(code, text, **facts))
            case ChannelFrames() if isinstance(body, bytearray):
                for number, position in zip(message.branches, message.positions, strict=True):
                    self._stands(number, position)  # clients may have seen it from now on
                self.channels.came(message, body)
            case SeriesRows(_, branch):
                self._stands(branch, message.position)
                self.followed.came(message, bytes(body))
            case News(branch, kind, text):
                self._emit(branch, kind, text)
            case EngineExit():
                self.process.ends(message)
            case Busy(what, limit):
                self.process.is_busy(what, limit)
            case Description():
                self.facts = json.loads(bytes(body))
                with suppress(NoSpaceError):  # each engine sends it again
                    self.journal.describe(self.facts or {})
                self.dispatch.described()
                self.changed()
        self.questions.ask_on()
        self.channels.ask()
        self.followed.ask()

    def _waits_for_room(self, message: BranchFailure) -> None:
        """Loads a branch again, from its last durable state, as soon as the disk has room."""
        news = message.branch not in self.dispatch.full
        self.dispatch.failed(message)
        self.process.after("room", ROOM, self._look_for_room)
        if news:
            self._emit(message.branch, "warning", f"{message.text} {GOES_ON}")
            self.questions.give_up(self._no_room(), message.branch)

    def _look_for_room(self) -> None:
        self.dispatch.load_again()
        if self.dispatch.full:
            self.process.after("room", ROOM, self._look_for_room)

    def _no_room(self) -> Refused:
        return Refused("engine-recovering", f"{self.full} {GOES_ON}")

    def engine_stopped(self) -> None:
        """Answers questions without the engine, which does not respond."""
        self.questions.give_up(self._unresponsive())

    @staticmethod
    def _unresponsive() -> Refused:
        return Refused("engine-recovering", f"The engine has said nothing for {STOPPED:g} s, and this step is not kept. Ask again.")

    def _stands(self, branch: int, position: Position) -> None:
        course = self.dispatch.courses.get(branch)
        if course and course.position and position >= course.position and self.dispatch.stands(branch, position):
            self.changed()

    def _applied(self, message: ActionOutcome) -> None:
        try:
            self.dispatch.applied(message)
        except ReplayDiffersError as error:
            self.process.give_up_for_good("replay-differs", str(error))
        self.changed()

    # ---- orders -------------------------------------------------------------------------------------------------------------------------
    def accept(self, order: Order, *more: Order) -> CommandReceipt:
        """Stores a command and passes it on; it survives any death from now on. more: orders of the same request; all are stored or none.

        Raises
        ------
        Refused
            With the code of the problem. A refusal that depends on the state is stored under the key of the order, and nothing else.
        """
        if refusal := self._refusal(order):
            return self.journal.known_or_refused(order, refusal)
        before = self.journal.last
        accepted = self.journal.accept(order, self.facts["steps"] if self.facts else 0, self._scheduler.wall(), *more)
        if self.journal.last == before:
            return accepted
        for seq in range(before + 1, self.journal.last + 1):
            self.dispatch.accepted(seq)
        if order.kind in (*FORKS, *NAMINGS, "skip"):
            self._settle_ended()  # commands of a branch that was left are over
            self.leaving.begin()
        if self.process.state == "failed":
            self.process.launch()
        self.channels.ask()  # the scenario may have another branch now
        self.followed.ask()
        self.changed()
        return accepted

    def _refusal(self, order: Order) -> Refused | None:
        """The reason for which an order cannot be accepted now; None if it can."""
        if self.process.state == "failed" and order.kind not in STILL_POSSIBLE:
            return self.process.refusal()
        if self.full:
            text = f"{self.full} The disk is full, and nothing of this order was stored. Make room; then the run continues by itself."
            return Refused("disk-full", text)
        if self.facts is None:
            return Refused("engine-recovering", "The engine is being started for the first time; ask again in a second.")
        if order.kind == "skip" and self.process.state != "failed":
            return Refused("engine-busy-conflict", "The engine lives: cancel the command instead.")
        if order.kind == "branch" and (there := len(self.dispatch.open)) >= self._most:
            new = order.arguments["name"]
            text = (
                f'"{new}" would be scenario {there + 1} of "{self.name}", which may have {self._most}. '
                f"Remove one (DELETE /api/v1/runs/{self.name}/scenarios/NAME), or start the server with --scenarios {there + 1}."
            )
            return Refused("too-many-scenarios", text, value=new, allowed=self._most)
        return None

    # ---- for its parts ------------------------------------------------------------------------------------------------------------------
    def send(self, message: Message, body: Buffer = b"") -> None:
        """Sends a message to the engine, if one is connected."""
        if self.process.link:
            self.process.link.send(message, body)

    def position(self, branch: int) -> Position | None:
        """The position of a loaded branch that has caught up with what clients have seen; None otherwise, and the branch is loaded."""
        self.dispatch.load(branch)
        self.leaving.asked(branch)
        course = self.dispatch.courses.get(branch)
        if course is None or course.position is None or course.position < course.known:
            return None
        return course.position

    def named(self, scenario: str) -> int | None:
        """The branch of a scenario."""
        found = self._named(scenario)
        return found.id if found else None

    def engine_lost(self) -> None:
        """Resets everything that only the lost engine knew."""
        self.dispatch.reset()
        self.channels.reset()
        self.followed.reset()
        self._kept.clear()

    def report(self, kind: str, text: str) -> None:
        """Passes a message about the engine to clients."""
        self._emit(0, kind, text)
        if self.process.state == "failed":
            self.questions.end(self.process.refusal())
        elif self.process.full:
            self.questions.give_up(self._no_room())

    # ---- questions ---------------------------------------------------------------------------------------------------------------------
    def ask(self, scenario: str | int, query: MapQuery, tell: Tell) -> None:
        """Asks for values or an image of the last step. An unchanged answer moves no data. scenario: its name, or the number of a branch.

        Raises
        ------
        Refused
            There is no such scenario.
        """
        found = self.dispatch.branch(scenario) if isinstance(scenario, int) else self._named(scenario)
        branch = (found or self.journal.branch(scenario)).id  # raises, and names the scenarios that exist
        if self.process.state in ("failed", "absent"):
            tell(self.process.refusal())
        elif self.process.full or (branch in self.dispatch.full and self.dispatch.full[branch].gone):
            self.questions.ask_kept(branch, query, tell, self._no_room())
        elif self.process.stopped:
            self.questions.ask_kept(branch, query, tell, self._unresponsive())
        else:
            self.questions.ask(branch, query, tell)

    async def get(self, scenario: str | int, query: MapQuery) -> Answer:
        """Values or an image of the last step, as for `ask`: the header, and the bytes.

        Raises
        ------
        Refused
            There is no answer, or the engine has failed.
        """
        future: asyncio.Future[Answer | Refused] = asyncio.get_running_loop().create_future()
        self.ask(scenario, query, lambda answer: None if future.done() else future.set_result(answer))
        answer = await future
        if isinstance(answer, Refused):
            raise answer
        return answer

    def _emit(self, branch: int, kind: str, text: str, step: int | None = None) -> None:
        at = max((each.shown_step for each in self.dispatch.open.values()), default=0) if step is None else step
        with suppress(NoSpaceError):  # the state shows the same
            self.journal.emit(branch, at, f"engine:{self.process.epoch}:{kind}:{self._scheduler.wall():.3f}", kind, text)
        known = text == self._logged and self.full  # a full disk is reported again and again
        if not known and (self.facts or (self.process.problem or {}).get("exit_status") != MISTAKE):  # else the command ends with it
            LOG.log(LEVELS.get(kind, logging.INFO), "%s: %s", self.name, text)
        self._logged = text
        self.changed()
