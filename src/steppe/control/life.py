"""The life of an engine: it is started, calls, beats, dies or hangs, and is started again; the third death at one place is the last.

absent ── start ──> starting ── calls ──> loading ── a branch is ready ──> up ── end of the connection ──> recovering ──> loading ...
                        └──── died three times at one place, or of what the next one would meet, too: failed ─┘

At the end of its connection an engine has two seconds to exit by itself: so its log holds its last lines, and its exit status tells how it
ended. Its last message says why.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NamedTuple, Protocol

from steppe.control.journal import Journal
from steppe.control.orders import Refused
from steppe.control.wire import FULL, Buffer, Ended, Hello, Leave, Message
from steppe.errors import NoSpaceError

SILENT = 0.5  # [s] without a beat after which people are told
STOPPED = 2.0  # [s] after which it is not asked, nor waited for by those who look, unless it says that it compiles or loads
HANGING = float(os.environ.get("STEPPE_HANGING", "30"))  # [s] without a beat after which an engine is killed
STARTING = 120.0  # [s] until it must have called
REDIAL = 1.0  # [s] that an engine which outlived the last server has to call
ROOM = 5.0  # [s] between two engines of which the first found the disk full
EXIT = 2.0  # [s] that an engine has to exit after the end of its connection
PAUSES = (0.0, 1.0)  # [s] before it is started again after the first and second death at one place
PROGRESS = 10  # steps after which a death is the first again
HEALTHY = 10.0  # [s] of life that do the same
CUTS = 5  # connections that may end in a minute, before an engine that calls again and again is killed
A_MINUTE = 20  # deaths that are too many, wherever they are
MISTAKE = "exit code 2"  # of an engine that was given something wrong: another one would find the same
NO_ROOM = "no room for its log"  # of an engine that was not started: its lines are why
GOES_ON = "The run goes on by itself when the disk has room."
LINES = 20  # of its log that people see


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


class Place(NamedTuple):
    """Where an engine dies. seq: of the command that it has reached, 0 for none; text: the same in words."""

    seq: int
    text: str


class Owner(Protocol):
    """Whose engine it is."""

    def progress(self) -> int:
        """Grows with every finished step."""

    def was_on_its_way(self) -> bool:
        """Whether the engine was repeating what an earlier one had done, and had come further than where it began."""

    def blame(self) -> Place:
        """The place where the engine under way dies: a command that it has reached, or what else it does."""

    def bereaved(self) -> None:
        """There is no engine any more; another one may be started."""

    def told(self, kind: str, text: str) -> None:
        """People may want to know."""

    def stopped(self) -> None:
        """The engine has said nothing for `STOPPED` seconds."""

    def changed(self) -> None:
        """What people see has changed."""


class Life:
    """Of the engines of one run, of which one at a time is heard.

    Parameters
    ----------
    journal
        Which counts them.
    clock, spawner
        Handed in, so that a test can be them.
    owner
        Is told.
    starting
        Seconds until an engine must have called; None: a launcher may have it wait in a queue.
    """

    def __init__(self, journal: Journal, clock: Clock, spawner: Spawner, owner: Owner, starting: float | None = STARTING) -> None:
        self._starting = starting
        self._journal, self._clock, self._spawner, self._owner = journal, clock, spawner, owner
        self.state = "absent"
        self.problem: dict[str, Any] | None = None  # why it failed
        self.full = ""  # what the disk had no room for; "" when an engine has room
        self.deaths = 0
        self.link: Link | None = None
        self.hello: Hello | None = None
        self.silent = False
        self.doing = ""  # what may keep it silent
        self.epoch = self._buried = 0  # of the engine under way, and of the last one that is known to be dead
        self._process: Process | None = None
        self._joined_at = self._heard_at = 0.0
        self._patience = HANGING
        self._deaths_at: dict[Place, int] = {}  # since the last progress; by command, or in words where there is none
        self._progress_then = -PROGRESS
        self._place, self._excused, self._healthy = Place(0, ""), False, False  # of the engine whose connection ended last
        self._left = 0  # the last engine whose connection has ended
        self._last: Ended | None = None  # message of the engine under way
        self._cuts: list[float] = []  # moments of the last minute at which a connection ended
        self._moments: list[float] = []  # of the deaths of the last minute
        self._timers: dict[str, Timer] = {}
        self._log: list[str] = []  # the last lines of the engine that ended last
        self._status = ""
        self._verdict: list[str] = []  # why the one under way was ended
        self._closed = False

    @property
    def has_process(self) -> bool:
        """Whether an engine that was started here is not known to have ended."""
        return self._process is not None

    def start(self) -> None:
        """Waits a moment for an engine that outlived the last server, then starts one."""
        self.state = "starting"
        self.after("launch", REDIAL, self._launch)

    def launch(self) -> None:
        """Starts an engine of a run that has none, or failed, now."""
        if self.link is None and self.state in ("absent", "failed"):
            self.state, self.problem, self._deaths_at, self._moments = "starting", None, {}, []
            self._launch()

    def _launch(self) -> None:
        self._cancel("launch")
        if self.link is None and not self._closed:
            try:
                self.epoch = epoch = self._journal.begin_engine(self._clock.wall())
                self._status, self._last = "", None
                self._process = self._spawner.start(epoch, lambda status, log: self._ended(epoch, status, log))
            except NoSpaceError as error:  # it would die of that, too; there may be room soon
                news, self.full = not self.full, error.fault
                self.after("launch", REDIAL, self._launch)
                if news:
                    self._owner.told("warning", f"{self.full} {GOES_ON}")
                return
            if self._starting is not None:
                self.after("starting", self._starting, lambda: self._give_up(f"did not call within {self._starting:g} s"))

    def joined(self, link: Link, hello: Hello) -> bool:
        """An engine has called and proved that it is one of ours; whether it is the one that is heard from now on."""
        if hello.epoch < self._journal.epoch or self._closed:
            link.send(Leave(False))
            link.close()
            return False
        former, self.link = self.link, link
        if former:
            former.close()
        self.epoch, self.hello, self._joined_at = hello.epoch, hello, self._clock.now()
        self._cancel("launch")
        self._cancel("starting")
        self._cancel("exit")
        with suppress(NoSpaceError):  # a note
            self._journal.engine_says(hello.epoch, hello.host, hello.pid)
        self.state, self.problem, self._status, self._last = "loading", None, "", None
        self.heard()
        self._watch()
        return True

    # ---- beats --------------------------------------------------------------------------------------------------------------------------
    def heard(self) -> None:
        """It has said something."""
        self._heard_at = self._clock.now()
        if self.silent:
            self.silent = False
            self._owner.changed()

    @property
    def stopped(self) -> bool:
        """Whether an engine that has a connection does not answer for now, though nothing is known that keeps it."""
        return self.link is not None and not self.doing and self._clock.now() - self._heard_at > STOPPED

    def is_busy(self, doing: str = "", limit: float = HANGING) -> None:
        """It may be silent for so long from now on, since it does this."""
        if doing != self.doing:
            self.doing = doing
            self._owner.changed()
        self._patience = limit

    def _watch(self) -> None:
        self.after("watch", SILENT / 2, self._watch)
        waited = self._clock.now() - self._heard_at
        if waited > SILENT and not self.silent:
            self.silent = True
            self._owner.changed()
        if self.stopped:
            self._owner.stopped()
        if waited > self._patience:
            self._give_up(f"said nothing for {self._patience:g} s")

    # ---- deaths -------------------------------------------------------------------------------------------------------------------------
    def _give_up(self, why: str) -> None:
        """It lives and is of no use."""
        self._verdict = [f"The engine {why} and was killed."]
        self.kill()
        if self.link:
            link, self.link = self.link, None
            link.close()
            self._leaves()
            self._died()

    def ends(self, last: Ended) -> None:
        """Takes the last message of the engine."""
        self._last = last

    def lost(self, link: Link) -> None:
        """A connection has ended."""
        if link is self.link and not self._closed:
            self.link = None
            self._leaves()
            now = self._clock.now()
            self._cuts = [*(moment for moment in self._cuts if moment > now - 60), now]
            if self._process and (len(self._cuts) <= CUTS or self.full):
                self.after("exit", EXIT, self._ends_it)
            else:
                self._ends_it()

    def _ends_it(self) -> None:
        self.kill()
        self._died()

    def kill(self) -> None:
        """Ends the engine that was started here."""
        if self._process:
            self._process.kill()

    def _ended(self, epoch: int, status: str, log: str) -> None:
        if epoch == self.epoch and status == NO_ROOM:
            self._last = Ended(FULL, log, final=False)
        if epoch == self.epoch and self._last and self._last.text not in log:
            log = f"{log}\nsteppe: {self._last.text}".lstrip()
        with suppress(NoSpaceError):  # a note for people
            self._journal.end_engine(epoch, self._clock.wall(), status, log)
        if epoch != self.epoch:
            return
        self._process = None
        if self._closed:
            return
        self._log, self._verdict, self._status = [*log.splitlines()[-LINES:], *self._verdict], [], status
        if self.problem:
            self.problem |= {"exit_status": status, "log": self._log}
        if self.link is None and self._buried < epoch:
            if self._left < epoch:  # it had not called yet
                self._leaves()
            self._died()

    def _leaves(self) -> None:
        """The engine under way is heard no more: notes where it was, and forgets what it was told."""
        self._left = self.epoch
        lived = self._clock.now() - self._joined_at if self.hello else 0.0
        self._place, self._excused, self._healthy = self._owner.blame(), self._owner.was_on_its_way(), lived > HEALTHY
        for name in ("watch", "starting"):
            self._cancel(name)
        self.hello, self.doing, self._patience = None, "", HANGING
        self.state = "recovering"
        self._owner.bereaved()
        self._owner.changed()

    def _died(self) -> None:
        """The engine under way is dead: starts the next one, unless that would die, too."""
        self._cancel("exit")
        now, progress, key = self._clock.now(), self._owner.progress(), _key(self._place)
        if progress >= self._progress_then + PROGRESS or self._healthy:
            self._deaths_at = {key: 1}
        elif not self._excused:
            self._deaths_at[key] = self._deaths_at.get(key, 0) + 1
        self._progress_then, here = progress, self._deaths_at.get(key, 0)
        self._moments = [*(moment for moment in self._moments if moment > now - 60), now]
        self._buried, full = self.epoch, self._last is not None and self._last.code == FULL
        self.deaths += not full  # one that waits for room on the disk has ended by itself
        why = self._last.text if self._last else ""
        if self._status == MISTAKE or (self._last and self._last.final):
            text = why or next(reversed(self._log), "The run cannot be opened.").removeprefix("steppe: ")
            self.fail("engine-failed", text, exit_status=self._status, cause=self._last.code if self._last else "mistake")
            return
        if self._last and full:
            self.full, self._deaths_at, self._moments = self._last.text, {}, []
            self._owner.told("warning", f"{self.full} {GOES_ON}")
            self.after("launch", ROOM, self._launch)
            return
        if here > len(PAUSES) or len(self._moments) > A_MINUTE:
            times = here if here > len(PAUSES) else len(self._moments)
            text = f"The engine died {times} times {self._place.text}" + (f" Its last error: {why}" if why else "")
            self.fail("engine-failed", text, exit_status=self._status, cause=self._last.code if self._last else None)
            return
        self.problem = {"code": "engine-recovering", "text": why} if why else None
        self._owner.told("warning", f"The engine has died and is started again.{f' Its last error: {why}' if why else ''}")
        self.after("launch", PAUSES[max(here, 1) - 1], self._launch)
        self._owner.changed()

    def fail(self, code: str, text: str, **facts: Any) -> None:
        """Nothing goes on before a person has looked."""
        self.full = ""
        self.state, self.problem = "failed", {"code": code, "text": text, **facts, "log": self._log}
        self._owner.told("failed", text)
        self._owner.changed()

    def refusal(self) -> Refused:
        """What people are told who ask for something of a run that has no engine."""
        facts = self.problem or {"text": "The run has no engine; start it."}
        return Refused("engine-failed", facts["text"], **{name: value for name, value in facts.items() if name not in ("code", "text")})

    def close(self, keep: bool) -> None:
        """Looks after it no longer. keep: it makes what it has durable and ends; else it goes on and waits for another server."""
        begins = self.state != "up" or (self.doing and not self._owner.progress())
        self._closed = True
        for name in [*self._timers]:
            self._cancel(name)
        if self.link:
            if keep:
                self.link.send(Leave(True))
            self.link.close()
        if keep and begins:
            self.kill()  # it would hear of it only when it has read and compiled everything

    def after(self, name: str, seconds: float, call: Callable[[], None]) -> None:
        """Calls once, later, unless the supervision ends before. name: a second call of a name replaces the first."""
        self._cancel(name)
        self._timers[name] = self._clock.later(seconds, call)

    def _cancel(self, name: str) -> None:
        if timer := self._timers.pop(name, None):
            timer.cancel()


def _key(place: Place) -> Place:
    """A command gets its step between two deaths at it."""
    return Place(place.seq, "") if place.seq else place
