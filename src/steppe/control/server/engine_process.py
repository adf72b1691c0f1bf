"""The engine process of a run: starts it, watches its heartbeat, and starts the next one after a death, at most three times at one place.

absent ── start ──> starting ── connects ──> loading ── a branch is ready ──> up ── connection lost ──> recovering ──> loading ...
                        └──── three deaths at one place, or an error that the next engine would meet, too: failed ─┘

After the end of its connection an engine has two seconds to exit by itself, so that its log is complete. Its exit status tells how it
ended, its last message why.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple, Protocol

from steppe.control.orders import Refused
from steppe.control.server.journal import Journal
from steppe.control.wire import FULL, Buffer, EngineExit, Hello, Message, Shutdown
from steppe.errors import NoSpaceError

if TYPE_CHECKING:
    from steppe.control.server.supervisor import Supervisor

SILENT = 0.5  # [s] without a heartbeat after which clients see the engine as silent
STOPPED = 2.0  # [s] after which questions do not wait for the engine, unless it has announced that it compiles or loads
HANGING = float(os.environ.get("STEPPE_HANGING", "30"))  # [s] without a heartbeat after which an engine is killed
STARTING = 120.0  # [s] until an engine must have connected
REDIAL = 1.0  # [s] for an engine that outlived the last server to connect
ROOM = 5.0  # [s] before the next engine after one that found the disk full
EXIT = 2.0  # [s] for an engine to exit after the end of its connection
PAUSES = (0.0, 1.0)  # [s] before the next engine, after the first and second death at one place
PROGRESS = 10  # steps after which deaths are counted from one again
HEALTHY = 10.0  # [s] of life with the same effect
CUTS = 5  # connections that may end in a minute, before an engine that connects again and again is killed
A_MINUTE = 20  # deaths in a minute, at any places, after which the run has failed
MISTAKE = "exit code 2"  # status of an engine with wrong input: the next one would end the same way
NO_ROOM = "no room for its log"  # status of an engine that was not started; its log has the reason
GOES_ON = "The run continues by itself when the disk has room."
LINES = 20  # of its log that clients see


class Timer(Protocol):
    """A scheduled call."""

    def cancel(self) -> None:
        """Cancels the call."""


class Scheduler(Protocol):
    """The time: `LoopScheduler`, or a simulated one in tests."""

    def now(self) -> float:
        """Monotonic seconds."""

    def wall(self) -> float:
        """Seconds since 1970."""

    def later(self, seconds: float, call: Callable[[], None]) -> Timer:
        """Calls a function once, after some seconds."""


class Link(Protocol):
    """A connection to an authenticated engine."""

    def send(self, message: Message, body: Buffer = b"") -> None:
        """Sends, if the connection is open."""

    def close(self) -> None:
        """Ends the connection."""


class ProcessHandle(Protocol):
    """An engine process that this server started."""

    def kill(self) -> None:
        """Kills it, with all processes that it started."""


class Launcher(Protocol):
    """Starts engines: `EngineLauncher`, or a simulated one in tests."""

    def start(self, epoch: int, ended: Callable[[str, str], None]) -> ProcessHandle:
        """Starts an engine; `ended` is called with its status and the last lines of its log."""


class DeathSite(NamedTuple):
    """The work at which an engine dies. seq: of the command that it has reached, 0 for none; text: the same in words."""

    seq: int
    text: str


class EngineProcess:
    """The engine of one run: one process at a time, and the history of its deaths.

    Parameters
    ----------
    journal
        Counts the starts.
    scheduler, launcher
        The time and the start of engines.
    supervisor
        Is called when the engine is lost, changes or has a message for clients.
    starting
        Seconds until an engine must have connected; None: a launcher may hold it in a queue.
    """

    def __init__(
        self, journal: Journal, scheduler: Scheduler, launcher: Launcher, supervisor: Supervisor, starting: float | None = STARTING
    ) -> None:
        self._starting = starting
        self._journal, self._scheduler, self._launcher, self._supervisor = journal, scheduler, launcher, supervisor
        self.state = "absent"
        self.problem: dict[str, object] | None = None  # the reason of a failure
        self.full = ""  # the error of a full disk; "" when the engine has room
        self.deaths = 0
        self.link: Link | None = None
        self.hello: Hello | None = None
        self.silent = False
        self.doing = ""  # announced work during which it may be silent
        self.epoch = self._buried = 0  # of the current engine, and of the last one that is known to be dead
        self._process: ProcessHandle | None = None
        self._joined_at = self._heard_at = 0.0
        self._patience = HANGING
        self._deaths_at: dict[DeathSite, int] = {}  # since the last progress, by command, or by text where there is none
        self._progress_then = -PROGRESS
        self._place, self._excused, self._healthy = DeathSite(0, ""), False, False  # of the engine whose connection ended last
        self._left = 0  # epoch of the last engine whose connection has ended
        self._last: EngineExit | None = None  # last message of the current engine
        self._cuts: list[float] = []  # times of ended connections in the last minute
        self._moments: list[float] = []  # times of deaths in the last minute
        self._timers: dict[str, Timer] = {}
        self._log: list[str] = []  # the last lines of the last engine
        self._status = ""
        self._verdict: list[str] = []  # the reason for which this server killed the engine
        self._closed = False

    @property
    def has_process(self) -> bool:
        """True if an engine that this server started may still run."""
        return self._process is not None

    def start(self) -> None:
        """Waits a moment for an engine that outlived the last server, then starts a new one."""
        self.state = "starting"
        self.after("launch", REDIAL, self._launch)

    def launch(self) -> None:
        """Starts an engine now, if the run has none or has failed."""
        if self.link is None and self.state in ("absent", "failed"):
            self.state, self.problem, self._deaths_at, self._moments = "starting", None, {}, []
            self._launch()

    def _launch(self) -> None:
        self._cancel("launch")
        if self.link is None and not self._closed:
            try:
                self.epoch = epoch = self._journal.begin_engine(self._scheduler.wall())
                self._status, self._last = "", None
                self._process = self._launcher.start(epoch, lambda status, log: self._ended(epoch, status, log))
            except NoSpaceError as error:  # the engine would die of that, too; there may be room soon
                news, self.full = not self.full, error.fault
                self.after("launch", REDIAL, self._launch)
                if news:
                    self._supervisor.report("warning", f"{self.full} {GOES_ON}")
                return
            if self._starting is not None:
                self.after("starting", self._starting, lambda: self._give_up(f"did not connect within {self._starting:g} s"))

    def connected(self, link: Link, hello: Hello) -> bool:
        """Takes the connection of an authenticated engine; returns True if it is the current engine from now on."""
        if hello.epoch < self._journal.epoch or self._closed:
            link.send(Shutdown(False))
            link.close()
            return False
        former, self.link = self.link, link
        if former:
            former.close()
        self.epoch, self.hello, self._joined_at = hello.epoch, hello, self._scheduler.now()
        self._cancel("launch")
        self._cancel("starting")
        self._cancel("exit")
        with suppress(NoSpaceError):  # not needed for recovery
            self._journal.engine_joined(hello.epoch, hello.host, hello.pid)
        self.state, self.problem, self._status, self._last = "loading", None, "", None
        self.heard()
        self._watch()
        return True

    # ---- heartbeats ---------------------------------------------------------------------------------------------------------------------
    def heard(self) -> None:
        """Notes a message of the engine."""
        self._heard_at = self._scheduler.now()
        if self.silent:
            self.silent = False
            self._supervisor.changed()

    @property
    def stopped(self) -> bool:
        """True if a connected engine does not respond, and has announced nothing that would explain it."""
        return self.link is not None and not self.doing and self._scheduler.now() - self._heard_at > STOPPED

    def is_busy(self, doing: str = "", limit: float = HANGING) -> None:
        """Extends the heartbeat timeout to `limit` while the engine is `doing`."""
        if doing != self.doing:
            self.doing = doing
            self._supervisor.changed()
        self._patience = limit

    def _watch(self) -> None:
        self.after("watch", SILENT / 2, self._watch)
        waited = self._scheduler.now() - self._heard_at
        if waited > SILENT and not self.silent:
            self.silent = True
            self._supervisor.changed()
        if self.stopped:
            self._supervisor.engine_stopped()
        if waited > self._patience:
            self._give_up(f"was silent for {self._patience:g} s")

    # ---- deaths -------------------------------------------------------------------------------------------------------------------------
    def _give_up(self, why: str) -> None:
        """Kills an engine that is alive but unresponsive."""
        self._verdict = [f"The engine {why} and was killed."]
        self.kill()
        if self.link:
            link, self.link = self.link, None
            link.close()
            self._leaves()
            self._died()

    def give_up_for_good(self, code: str, text: str) -> None:
        """Kills the engine and starts no other until a client steers the run again: each would end in the same way."""
        self.kill()
        if self.link:
            link, self.link = self.link, None
            link.send(Shutdown(False))
            link.close()
            self._leaves()
        self._buried = self.epoch
        self.fail(code, text)

    def ends(self, last: EngineExit) -> None:
        """Stores the last message of the engine."""
        self._last = last

    def connection_lost(self, link: Link) -> None:
        """Notes the end of a connection."""
        if link is self.link and not self._closed:
            self.link = None
            self._leaves()
            now = self._scheduler.now()
            self._cuts = [*(moment for moment in self._cuts if moment > now - 60), now]
            if self._process and (len(self._cuts) <= CUTS or self.full):
                self.after("exit", EXIT, self._bury)
            else:
                self._bury()

    def _bury(self) -> None:
        self.kill()
        self._died()

    def kill(self) -> None:
        """Kills the engine, if this server started it."""
        if self._process:
            self._process.kill()

    def _ended(self, epoch: int, status: str, log: str) -> None:
        if epoch == self.epoch and status == NO_ROOM:
            self._last = EngineExit(FULL, log, final=False)
        if epoch == self.epoch and self._last and self._last.text not in log:
            log = f"{log}\nsteppe: {self._last.text}".lstrip()
        with suppress(NoSpaceError):  # not needed for recovery
            self._journal.end_engine(epoch, self._scheduler.wall(), status, log)
        if epoch != self.epoch:
            return
        self._process = None
        if self._closed:
            return
        self._log, self._verdict, self._status = [*log.splitlines()[-LINES:], *self._verdict], [], status
        if self.problem:
            self.problem |= {"exit_status": status, "log": self._log}
        if self.link is None and self._buried < epoch:
            if self._left < epoch:  # it had not connected yet
                self._leaves()
            self._died()

    def _leaves(self) -> None:
        """Notes where the current engine was when its connection ended, and resets the rest."""
        self._left = self.epoch
        lived = self._scheduler.now() - self._joined_at if self.hello else 0.0
        dispatch = self._supervisor.dispatch
        self._place, self._excused, self._healthy = dispatch.death_site(), dispatch.was_repeating(), lived > HEALTHY
        for name in ("watch", "starting"):
            self._cancel(name)
        self.hello, self.doing, self._patience = None, "", HANGING
        self.state = "recovering"
        self._supervisor.engine_lost()
        self._supervisor.changed()

    def _died(self) -> None:
        """Starts the next engine after a death, unless it would die, too."""
        self._cancel("exit")
        now, progress, key = self._scheduler.now(), self._journal.progress, _key(self._place)
        if progress >= self._progress_then + PROGRESS or self._healthy:
            self._deaths_at = {key: 1}
        elif not self._excused:
            self._deaths_at[key] = self._deaths_at.get(key, 0) + 1
        self._progress_then, here = progress, self._deaths_at.get(key, 0)
        self._moments = [*(moment for moment in self._moments if moment > now - 60), now]
        self._buried, full = self.epoch, self._last is not None and self._last.code == FULL
        self.deaths += not full  # on a full disk an engine ends by itself
        why = self._last.text if self._last else ""
        if self._status == MISTAKE or (self._last and self._last.final):
            text = why or next(reversed(self._log), "The run cannot be opened.").removeprefix("steppe: ")
            self.fail("engine-failed", text, exit_status=self._status, cause=self._last.code if self._last else "mistake")
            return
        if self._last and full:
            self.full, self._deaths_at, self._moments = self._last.text, {}, []
            self._supervisor.report("warning", f"{self.full} {GOES_ON}")
            self.after("launch", ROOM, self._launch)
            return
        if here > len(PAUSES) or len(self._moments) > A_MINUTE:
            times = here if here > len(PAUSES) else len(self._moments)
            text = f"The engine died {times} times {self._place.text}" + (f" Its last error: {why}" if why else "")
            self.fail("engine-failed", text, exit_status=self._status, cause=self._last.code if self._last else None)
            return
        self.problem = {"code": "engine-recovering", "text": why} if why else None
        self._supervisor.report("warning", f"The engine has died and is started again.{f' Its last error: {why}' if why else ''}")
        self.after("launch", PAUSES[max(here, 1) - 1], self._launch)
        self._supervisor.changed()

    def fail(self, code: str, text: str, **facts: object) -> None:
        """Stops the run until a client steers it again."""
        self.full = ""
        self.state, self.problem = "failed", {"code": code, "text": text, **facts, "log": self._log}
        self._supervisor.report("failed", text)
        self._supervisor.changed()

    def refusal(self) -> Refused:
        """The refusal of orders and questions for a run without an engine."""
        facts = self.problem or {"text": "The run has no engine; start it."}
        return Refused(
            "engine-failed", str(facts["text"]), **{name: value for name, value in facts.items() if name not in ("code", "text")}
        )

    def close(self, keep: bool) -> None:
        """Stops supervising. keep: the engine saves its state and ends; otherwise it goes on and waits for another server."""
        begins = self.state != "up" or (self.doing and not self._journal.progress)
        self._closed = True
        for name in [*self._timers]:
            self._cancel(name)
        if self.link:
            if keep:
                self.link.send(Shutdown(True))
            self.link.close()
        if keep and begins:
            self.kill()  # it would read the message only after it has loaded and compiled everything

    def after(self, name: str, seconds: float, call: Callable[[], None]) -> None:
        """Calls a function after some seconds, unless the supervision ends before. A second call with a name replaces the first."""
        self._cancel(name)
        self._timers[name] = self._scheduler.later(seconds, call)

    def _cancel(self, name: str) -> None:
        if timer := self._timers.pop(name, None):
            timer.cancel()


def _key(place: DeathSite) -> DeathSite:
    """The key under which deaths are counted: a command alone, since it may get its step between two deaths."""
    return DeathSite(place.seq, "") if place.seq else place
