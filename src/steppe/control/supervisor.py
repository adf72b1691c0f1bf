"""The server's end: keeps an engine alive, hands it the journal's commands in their order, and passes on what people ask.

Nothing here waits: messages, timers and people call, and every call returns at once. So a test can run years of deaths and lost messages in
seconds, from a seed.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing, suppress
from pathlib import Path
from typing import Any

from steppe.api.query import MapQuery
from steppe.control.channels import Channels
from steppe.control.dispatch import Dispatch
from steppe.control.followed import AllFollowed
from steppe.control.journal import Journal
from steppe.control.leaving import Leaving
from steppe.control.life import GOES_ON, STARTING, STOPPED, Clock, Life, Link, Place, Spawner
from steppe.control.orders import FORKS, NAMINGS, Accepted, Branch, Command, Order, Refused, ReplayDiffersError
from steppe.control.questions import Answer, Questions, Tell
from steppe.control.reader import Reader
from steppe.control.wire import (
    FULL,
    OPEN_END,
    Applied,
    Beat,
    Boundary,
    Buffer,
    Busy,
    Data,
    Described,
    Ended,
    Failed,
    Fired,
    Followed,
    Hello,
    Kept,
    Message,
    News,
    Position,
    Ready,
    Same,
    Shown,
    Withdrawn,
)
from steppe.control.wire import Refused as RefusedByEngine
from steppe.errors import NoSpaceError
from steppe.failpoint import reach

Rule = tuple[Command, list[dict[str, Any]]]  # what was ordered, and what it has done
STILL_POSSIBLE = ("cancel", "pause", "rewind", "restart", "skip", *NAMINGS)  # with a run that failed
ROOM = 2.0  # [s] between two looks whether the disk has room again
TOLD = 1000  # branches of which it is remembered what was told
WAITED_FOR = ("starting", "loading", "compiling", "recovering")


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
    starting
        Seconds until an engine must have called; None: a launcher may have it wait in a queue.
    scenarios
        How many there may be at once; those that were left do not count. Default: any number.
    """

    def __init__(
        self,
        name: str,
        folder: Path,
        journal: Journal,
        clock: Clock,
        spawner: Spawner,
        starting: float | None = STARTING,
        scenarios: int = OPEN_END,
    ) -> None:
        self._most = scenarios
        self.name, self.folder, self.journal, self._clock = name, folder, journal, clock
        self.facts = journal.facts
        self.reader = Reader(folder / "journal.sqlite")
        self.turned_away = 0
        """Callers at the engine's door who were not let in."""
        self.life = Life(journal, clock, spawner, self, starting)
        self.questions = Questions(self, clock.now)
        self.channels = Channels(self)
        self.followed = AllFollowed(self)
        self.dispatch = Dispatch(journal, self.send, self._settle)
        self.leaving = Leaving(clock, self.dispatch, self.questions, self.channels, self.followed)
        self._settling: dict[int, list[Callable[[], None]]] = {}
        self._listening: list[Callable[[], None]] = []
        self._over = False
        self._kept: dict[int, int] = {}  # by branch: the first step that can be shown again soon
        self._waiting = ("", 0.0)  # for what people wait, and since when
        self._told: dict[int, tuple[tuple[Any, ...], dict[str, Any]]] = {}  # by branch: what it was made of, what is told

    def start(self) -> None:
        """Waits a moment for an engine that outlived the last server, then starts one."""
        self.life.start()

    def launch(self) -> None:
        """Starts an engine of a run that has none, or failed, now."""
        self.life.launch()

    def close(self, keep: bool = True) -> None:
        """Ends the supervision. keep: the engine makes its state durable and ends; else it goes on and waits for another server."""
        self.leaving.close()
        self.life.close(keep)

    def dismiss(self) -> None:
        """Has nobody wait for anything any more, nor look on: the run ends, and the server goes on."""
        self._over = True
        self.questions.end(Refused("unknown-run", f'The run "{self.name}" has been ended.'))
        for seq in [*self._settling]:
            self._settle(seq)
        self.changed()

    # ---- what an engine says ------------------------------------------------------------------------------------------------------------
    def joined(self, link: Link, hello: Hello) -> None:
        """An engine has called and proved that it is one of ours."""
        if self.life.joined(link, hello):
            self.dispatch.forget()
            self.questions.again()
            self.channels.again()
            self.followed.again()

    def lost(self, link: Link) -> None:
        """A connection has ended."""
        self.life.lost(link)

    def heard(self, link: Link, message: Message, body: Buffer = b"") -> None:
        """Takes a message; of a connection that is not the engine's any more it is ignored."""
        if link is not self.life.link:
            return
        self.life.heard()
        try:
            self._hear(message, body)
        except NoSpaceError as error:  # the journal cannot hold it; what matters is said again on the next connection
            self.life.full = error.fault
            link.close()
            self.changed()

    def _hear(self, message: Message, body: Buffer) -> None:
        match message:
            case Beat(positions, kept):
                self.life.is_busy()
                self._kept = {number: first for number, first in (self._kept | kept).items() if number in self.dispatch.courses}
                for branch, position in positions.items():
                    self._stands(branch, position)
            case Ready(branch, position) if branch in self.dispatch.courses:
                self.life.state, self.life.full = "up", ""
                if branch in self.dispatch.full:
                    self.channels.hide(branch)
                self.dispatch.ready(branch, position)
                self.changed()
            case Boundary(seq, branch, step):
                self.dispatch.place(seq, branch, step)
                self._settle_ended()
            case Applied():
                self._applied(message)
            case Fired():
                news, stop = self.journal.fired(message, self._clock.wall())
                assert reach("fired.written")
                self.dispatch.fired(message, stop)
                self._settle_ended()
                if news:
                    self.changed()
            case Data(id, position, head):
                branch_of_it = self.questions.came(id, position, (head, body))
                if branch_of_it is not None:
                    self._stands(branch_of_it, position)
            case Shown() if isinstance(body, bytearray):
                for number, position in zip(message.branches, message.positions, strict=True):
                    self._stands(number, position)  # what people see is never taken back
                self.channels.came(message, body)
            case Followed(_, branch):
                self._stands(branch, message.position)
                self.followed.came(message, bytes(body))
            case Same(id):
                self.questions.same(id)
            case RefusedByEngine(id, code, text, facts):
                self.questions.refused(id, Refused(code, text, **facts))
            case Kept(branch, saved):
                with suppress(NoSpaceError):  # a note
                    self.journal.saved(branch, saved)
                self.changed()
            case Withdrawn(seq, gone):
                self.dispatch.withdrawn(seq, gone)
            case Failed(branch) if message.code == FULL:
                self._waits_for_room(message)
            case Failed(branch):
                self.dispatch.failed(message)
                self._emit(branch, "failed", message.text, message.position.step)
            case News(branch, kind, text):
                self._emit(branch, kind, text)
            case Ended():
                self.life.ends(message)
            case Busy(what, limit):
                self.life.is_busy(what, limit)
            case Described():
                self.facts = json.loads(bytes(body))
                with suppress(NoSpaceError):  # each engine says it again
                    self.journal.describe(self.facts or {})
                self.dispatch.described()
                self.changed()
        self.questions.ask_on()
        self.channels.ask()
        self.followed.ask()

    def _waits_for_room(self, message: Failed) -> None:
        """A branch is loaded again, from its last durable state, as soon as the disk has room."""
        news = message.branch not in self.dispatch.full
        self.dispatch.failed(message)
        self.life.after("room", ROOM, self._look_for_room)
        if news:
            self._emit(message.branch, "warning", f"{message.text} {GOES_ON}")
            self.questions.give_up(self._waiting_for_room(), message.branch)

    def _look_for_room(self) -> None:
        self.dispatch.load_again()
        if self.dispatch.full:
            self.life.after("room", ROOM, self._look_for_room)

    @property
    def full(self) -> str:
        """What the disk has no room for; "" while it has."""
        return self.life.full or next((each.text for each in self.dispatch.full.values()), "")

    def _waiting_for_room(self) -> Refused:
        return Refused("engine-recovering", f"{self.full} {GOES_ON}")

    def stopped(self) -> None:
        """The engine does not answer for now: questions do not wait for it."""
        self.questions.give_up(self._stopped())

    @staticmethod
    def _stopped() -> Refused:
        return Refused("engine-recovering", f"The engine has said nothing for {STOPPED:g} s, and this step is not kept. Ask again.")

    def _stands(self, branch: int, position: Position) -> None:
        course = self.dispatch.courses.get(branch)
        if course and course.position and position >= course.position and self.dispatch.stands(branch, position):
            self.changed()

    def _applied(self, message: Applied) -> None:
        try:
            self.dispatch.applied(message)
        except ReplayDiffersError as error:
            self.life.fail("replay-differs", str(error))
            self.questions.end(self.life.refusal())
            self.life.kill()
        self.changed()

    # ---- what is ordered ----------------------------------------------------------------------------------------------------------------
    def accept(self, order: Order, *more: Order) -> Accepted:
        """Stores a command and hands it on; it survives whatever dies next. more: orders of the same request; all are stored or none.

        Raises
        ------
        Refused
            With the code of the problem. A refusal that depends on the state is kept under the key of the order; nothing else is stored.
        """
        if refusal := self._refusal(order):
            return self.journal.known_or_refused(order, refusal)
        before = self.journal.last
        accepted = self.journal.accept(order, self.facts["steps"] if self.facts else 0, self._clock.wall(), *more)
        if self.journal.last == before:
            return accepted
        for seq in range(before + 1, self.journal.last + 1):
            self.dispatch.accepted(seq)
        if order.kind in (*FORKS, *NAMINGS, "skip"):
            self._settle_ended()  # what is left ends
            self.leaving.begin()
        if self.life.state == "failed":
            self.life.launch()
        self.channels.ask()  # a name may stand on another branch now
        self.followed.ask()
        self.changed()
        return accepted

    def refuse_without_room(self, who: str, key: str) -> None:
        """Keeps that an order was refused because the disk is full: a duplicate of it gets the same answer later."""
        self.journal.refuse_without_room(who, key)

    def _refusal(self, order: Order) -> Refused | None:
        """Why nothing of the kind is taken now."""
        if self.life.state == "failed" and order.kind not in STILL_POSSIBLE:
            return self.life.refusal()
        if self.full:
            text = f"{self.full} The disk is full, and nothing of this order was stored. Make room; then the run goes on by itself."
            return Refused("disk-full", text)
        if self.facts is None:
            return Refused("engine-recovering", "The engine is being started for the first time; ask again in a second.")
        if order.kind == "skip" and self.life.state != "failed":
            return Refused("engine-busy-conflict", "The engine lives: cancel the command instead.")
        if order.kind == "branch" and (there := len(self.dispatch.open)) >= self._most:
            new = order.arguments["name"]
            text = (
                f'"{new}" would be scenario {there + 1} of "{self.name}", which may have {self._most}. '
                f"Remove one (DELETE /api/v1/runs/{self.name}/scenarios/NAME), or start the server with --scenarios {there + 1}."
            )
            return Refused("too-many-scenarios", text, value=new, allowed=self._most)
        return None

    # ---- for those that work for it -----------------------------------------------------------------------------------------------------
    def send(self, message: Message, body: Buffer = b"") -> None:
        """Says something to the engine, if there is one."""
        if self.life.link:
            self.life.link.send(message, body)

    def position(self, branch: int) -> Position | None:
        """Where a branch stands, if it can be asked; else it is fetched."""
        self.dispatch.load(branch)
        self.leaving.asked(branch)
        course = self.dispatch.courses.get(branch)
        if course is None or course.position is None or course.position < course.known:
            return None  # on its way back to what people have seen
        return course.position

    def named(self, scenario: str) -> int | None:
        """The branch that a name stands on."""
        found = self._named(scenario)
        return found.id if found else None

    def known(self, branch: int) -> Position:
        """The last position of a branch that any client may have heard of."""
        return self.journal.known(branch)

    def shown_step(self, branch: int) -> int:
        """The last step of a branch that people have heard of."""
        return self.dispatch.branch(branch).shown_step

    def rests(self, branch: int) -> bool:
        """Whether nothing is under way or due where a branch stands."""
        return self.dispatch.rests(branch)

    def progress(self) -> int:
        """Grows with every finished step."""
        return self.journal.progress

    def was_on_its_way(self) -> bool:
        """Whether the engine was repeating what had been done before."""
        return self.dispatch.was_on_its_way()

    def blame(self) -> Place:
        """The place where the engine under way dies."""
        return self.dispatch.blame()

    def bereaved(self) -> None:
        """There is no engine any more."""
        self.dispatch.forget()
        self.channels.again()
        self.followed.again()
        self._kept.clear()

    def told(self, kind: str, text: str) -> None:
        """The engine's life has news."""
        self._emit(0, kind, text)
        if self.life.state == "failed":
            self.questions.end(self.life.refusal())
        elif self.life.full:
            self.questions.give_up(self._waiting_for_room())

    def changed(self) -> None:
        """What people see has changed."""
        for call in self._listening:
            call()

    # ---- what people ask and see --------------------------------------------------------------------------------------------------------
    def ask(self, scenario: str, query: MapQuery, tell: Tell) -> None:
        """Asks for values or an image at the last step; what was asked before and has not changed moves no data.

        Raises
        ------
        Refused
            There is no such scenario.
        """
        branch = (self._named(scenario) or self.journal.branch(scenario)).id  # which says what there is
        if self.life.state in ("failed", "absent"):
            tell(self.life.refusal())
        elif self.life.full or (branch in self.dispatch.full and self.dispatch.full[branch].gone):
            self.questions.ask_kept(branch, query, tell, self._waiting_for_room())
        elif self.life.stopped:
            self.questions.ask_kept(branch, query, tell, self._stopped())
        else:
            self.questions.ask(branch, query, tell)

    async def get(self, scenario: str, query: MapQuery) -> Answer:
        """Values or an image at the last step: what is known of it, and its bytes.

        Raises
        ------
        Refused
            It cannot be had, or the engine has failed.
        """
        future: asyncio.Future[Answer | Refused] = asyncio.get_running_loop().create_future()
        self.ask(scenario, query, lambda answer: None if future.done() else future.set_result(answer))
        answer = await future
        if isinstance(answer, Refused):
            raise answer
        return answer

    def info(self) -> dict[str, Any]:
        """How things stand, from memory; of the scenarios that rewinds have left the newest: a calibration leaves thousands."""
        left, open_ = ([self._scenario(branch) for branch in some.values()] for some in (self.dispatch.left, self.dispatch.open))
        states = [each["state"] for each in open_]
        state = self.life.state
        if state == "up":
            rest = "finished" if set(states) == {"finished"} else "ready"
            state = self.life.doing or ("stepping" if "stepping" in states else rest)
        problem = self.life.problem
        if self.full and state != "failed":
            state, problem = "paused", {"code": "disk-full", "text": f"{self.full} {GOES_ON}"}
        hello = self.life.hello
        return {
            "run": self.name,
            "state": state,
            "waited": self._waited(state),
            "silent": self.life.silent,
            "problem": problem,
            "engine": {"epoch": self.life.epoch, "pid": hello.pid, "host": hello.host, "ranks": hello.ranks} if hello else None,
            "deaths": self.life.deaths,
            "steps": self.facts["steps"] if self.facts else None,
            "scenarios": left + open_,
        }

    def _waited(self, state: str) -> float | None:
        """Seconds for which people have been waiting for what a state names; None where they wait for nothing."""
        if state != self._waiting[0]:
            self._waiting = state, self._clock.now()
        return round(self._clock.now() - self._waiting[1], 1) if state in WAITED_FOR else None

    def scenarios(self) -> list[dict[str, Any]]:
        """Each name with its branch and where it stands; to be read only."""
        return [self._scenario(branch) for branch in self.journal.branches()]

    def scenario(self, name: str) -> dict[str, Any] | None:
        """The branch that a name stands on; None when there is none."""
        found = self._named(name)
        return self._scenario(found) if found else None

    def _named(self, name: str) -> Branch | None:
        """After rewinds names stand on what can go on."""
        return next((branch for branch in self.dispatch.open.values() if branch.name == name), None) or self.journal.find(name)

    def _scenario(self, branch: Branch) -> dict[str, Any]:
        """Where a branch stands; the same object as long as nothing has changed."""
        course = self.dispatch.courses.get(branch.id)
        position, failed = (course.position, course.failed) if course else (None, None)
        failed = self.dispatch.full.get(branch.id, failed)
        made_of = (branch, position, failed, self.journal.version(branch.id), self.facts is None, self._kept.get(branch.id))
        kept = self._told.get(branch.id)
        if kept is None or kept[0] != made_of:
            kept = self._told[branch.id] = (made_of, self._scenario_of(branch, position, failed))
            if len(self._told) > TOLD:
                del self._told[next(iter(self._told))]
        return kept[1]

    def _scenario_of(self, branch: Branch, position: Position | None, failed: Failed | None) -> dict[str, Any]:
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
            "seq": position.seq if position else 0,
            "at": position.step if position and position.step < branch.shown_step else None,
            "target": branch.target,
            "kept": min(self._kept.get(branch.id, branch.shown_step), branch.shown_step),
            "state": state,
            "version": self.journal.version(branch.id),
            "problem": _problem(failed) if failed else None,
        }

    def operation(self, seq: int) -> dict[str, Any] | None:
        """What has become of a command."""
        command = self.journal.command(seq)
        if command is None:
            return None
        branch = self.dispatch.branch(command.branch)
        state = command.outcome or ("running" if self.life.link else "queued")
        found: dict[str, Any] = {"id": seq, "run": self.name, "kind": command.kind, "scenario": branch.name, "state": state}
        found |= {"at_step": command.at_step, "target": command.target, "ended_step": command.ended_step}
        if command.target is not None:
            found |= {"done": min(branch.shown_step, command.target), "total": command.target}
        if command.outcome in ("failed", "cancelled"):
            return found | {"problem": command.detail or None}
        course = self.dispatch.courses.get(command.branch)
        failed = self.dispatch.full.get(command.branch, course.failed if course else None)
        if command.outcome is None and failed:
            found |= {"problem": _problem(failed)}
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
        self.changed()

    def _settle_ended(self) -> None:
        for seq in [seq for seq in self._settling if (command := self.journal.command(seq)) and command.outcome]:
            self._settle(seq)

    def rules(self, scenario: str) -> list[Rule]:
        """The events and triggers of a scenario, and what each did.

        Raises
        ------
        Refused
            There is no such scenario.
        """
        branch = self.journal.branch(scenario).id
        return [(each, self.journal.told(branch, f"{each.kind}:{each.seq}")) for each in self.journal.rules(branch)]

    def checkpoints(self, newest: bool = False) -> list[dict[str, Any]]:
        """Durable states that were made. newest: of the scenarios that `info` has, those that may still be there."""
        return self.journal.checkpoints([*self.dispatch.open, *self.dispatch.left] if newest else None)

    async def happenings(self, after: int) -> AsyncIterator[tuple[int, dict[str, Any]]]:
        """What people are told, from a number on, as it comes, until the run ends; number 0: something of `info` has changed."""
        async with aclosing(self.changes()) as changes:
            async for _ in changes:
                for number, what in self.journal.emissions(after):
                    after = number
                    yield number, what
                yield 0, self.info()

    async def changes(self) -> AsyncGenerator[None, None]:
        """Once now, and whenever something of `info` may have changed, until the run ends."""
        changed = asyncio.Event()
        self._listening.append(changed.set)
        try:
            while not self._over:
                yield
                await changed.wait()
                changed.clear()
        finally:
            self._listening.remove(changed.set)

    def _emit(self, branch: int, kind: str, text: str, step: int | None = None) -> None:
        at = max((each.shown_step for each in self.dispatch.open.values()), default=0) if step is None else step
        with suppress(NoSpaceError):  # it is news, and what it tells of is seen
            self.journal.emit(branch, at, f"engine:{self.life.epoch}:{kind}:{self._clock.wall():.3f}", kind, text)
        self.changed()


def _problem(failed: Failed) -> dict[str, str]:
    return {"code": "disk-full", "text": f"{failed.text} {GOES_ON}"} if failed.code == FULL else {"code": failed.code, "text": failed.text}
