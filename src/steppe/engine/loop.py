"""The engine's process. One thread steps and performs orders, one listens and answers from kept values, one sends frames to viewers. One
sends heartbeats, and ends the process when the stepping thread hangs.

server ──> listening thread ── questions ──> Session.answer ── values of the last boundary ──> server
                   │ orders, other questions
                   v
                a queue ──> stepping thread: EngineEndpoint.receive, poll ──> Session
"""

from __future__ import annotations

import os
import queue
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager, suppress
from math import inf
from pathlib import Path

from steppe.control import Position
from steppe.control.engine.connection import ServerConnection
from steppe.control.engine.endpoint import EngineEndpoint
from steppe.control.rendezvous import RUN_FILE
from steppe.control.wire import Busy, Data, EngineExit, Get, Heartbeat, Load, Message, News, QueryRefusal, Same, Shutdown
from steppe.engine.plan import Plan
from steppe.engine.ranks import Ranks
from steppe.engine.run_file import read_run_file
from steppe.engine.session import Session
from steppe.errors import DamagedError, Exit, Mistake, NoSpaceError, SteppeError, unexpected
from steppe.failpoint import reach
from steppe.files import LockedError, lock

BEAT = 0.1  # [s]
NAP = 0.1  # [s] at most between two polls of an idle engine
LOADING = 300.0  # [s] that reading and compiling may keep an engine silent
ORPHAN = 600.0  # [s] without a server after which an idle engine ends
STUBBORN = 5.0  # [s] that another engine of the run has to release the run folder
LOCK = "engine.lock"  # in the run folder


class EngineLoop:
    """The engine of a run.

    Parameters
    ----------
    folder
        The run folder, with the run file and the rendezvous.
    epoch
        The number of this start.
    ranks
        The ranks.
    stop
        True if the process was asked to stop.
    """

    def __init__(self, folder: Path, epoch: int, ranks: Ranks, stop: Callable[[], bool]) -> None:
        self._folder, self._ranks, self._stop = folder, ranks, stop
        self._orders: queue.SimpleQueue[Message | None] = queue.SimpleQueue()
        self._line = ServerConnection(folder, epoch, ranks.world.size, self._hear, lambda: self._orders.put(None))
        self._behind: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._positions: Mapping[int, Position] = {}  # replaced whole
        self._beating = threading.Lock()
        self._doing = "loading"  # work during which there are no heartbeats
        self._session: Session | None = None
        self._left: Shutdown | None = None
        self._listening = threading.Thread(target=self._line.listen, daemon=True)

    def run(self, cores: int | None = None) -> Exit:
        """Serves until the server sends a shutdown, `stop` is True, or there was no server for long. cores: to use; default: all.

        Raises
        ------
        SteppeError
            The run file, the data or the folder are wrong. The server gets the error, too.
        """
        with ExitStack() as rest:
            try:
                return self._run(cores, rest)
            except Exception as error:
                self._begin_to_listen()
                self._line.send_last(ended_by(error))
                raise
            finally:
                self._line.close()

    def _run(self, cores: int | None, rest: ExitStack) -> Exit:
        """Serves. rest: gets what is closed after the server has received the end."""
        plan = Plan.of(read_run_file(self._folder / RUN_FILE), cores=cores)
        rest.enter_context(held(self._folder / LOCK))
        self._begin_to_listen()
        for work in (self._beat, self._work_behind):
            threading.Thread(target=work, daemon=True).start()
        self._session = session = Session(self._folder, plan, self._ranks, lambda kind, text: self._line.send(News(0, kind, text)))
        rest.enter_context(closing(session))
        for note in session.notes:
            self._line.send(News(0, "note", note))
        endpoint = EngineEndpoint(session, self._line.send, time.monotonic, self._behind.put, time.thread_time)
        wait = 0.0
        while True:
            busy = self._take_all(endpoint, wait)
            busy = endpoint.poll() or busy
            self._positions, self._doing = endpoint.positions(), ""
            if self._is_over(busy):
                return self._leave(endpoint)
            wait = 0.0 if busy else min(NAP, endpoint.seconds_to_wait())

    def _begin_to_listen(self) -> None:
        if self._listening.ident is None:
            self._listening.start()

    def _take_all(self, endpoint: EngineEndpoint, wait: float) -> bool:
        """Takes all messages; True if there were any. wait: seconds that the first one may take to come."""
        found = False
        with suppress(queue.Empty):
            while True:
                self._take(endpoint, self._orders.get(timeout=0.0 if found else wait))
                found = True
        return found

    def _take(self, endpoint: EngineEndpoint, message: Message | None) -> None:
        if message is None:
            endpoint.greet()
        elif isinstance(message, Shutdown):
            self._left = message
        else:
            if isinstance(message, Load):  # a branch may be taken back: no heartbeat with its old position may follow its `Ready`
                with self._beating:
                    self._positions = {}
            endpoint.receive(message)

    def _is_over(self, busy: bool) -> bool:
        alone = self._line.alone_since
        orphan = alone is not None and not busy and time.monotonic() - alone > ORPHAN
        return self._left is not None or self._stop() or orphan

    def _leave(self, endpoint: EngineEndpoint) -> Exit:
        if self._left is None or self._left.keep:
            endpoint.save_all()
        self._line.send(Shutdown(True))
        return Exit.DONE if self._left else Exit.STOPPED

    # ---- other threads --------------------------------------------------------------------------------------------------------------
    def _hear(self, message: Message) -> None:
        if not (isinstance(message, Get) and self._answered(message)):
            self._orders.put(message)

    def _answered(self, get: Get) -> bool:
        """Answers from kept values, if there are any; the stepping thread does not notice."""
        if self._session is None:
            return False
        try:
            found = self._session.answer(get.branch, get.query)
        except Mistake as mistake:
            self._line.send(QueryRefusal(get.id, mistake.code, str(mistake), {}))
            return True
        if found is None:
            return False
        head, body = found
        position = Position(head["step"], head["seq"])
        if position == get.have:
            self._line.send(Same(get.id))
        else:
            assert reach("data.before")
            self._line.send(Data(get.id, position, head), body)
        return True

    def compiles(self) -> None:
        """Announces that the stepping thread compiles: no heartbeat may come while it holds the interpreter."""
        self._doing = "compiling"
        if self._session:
            self._session.watch.grant(LOADING)
        self._line.send(Busy("compiling", LOADING))

    def note(self, text: str) -> None:
        """Passes a sentence to the clients."""
        self._line.send(News(0, "note", text))

    def _beat(self) -> None:
        while True:
            with self._beating:
                self._line.send(Busy(self._doing, LOADING) if self._doing else Heartbeat(dict(self._positions)))
            self._end_if_it_hangs()
            time.sleep(BEAT)

    def _work_behind(self) -> None:
        """Joins and sends frames; each channel has at most one under way, so there are never many."""
        while True:
            self._behind.get()()

    def _end_if_it_hangs(self) -> None:
        """Kills this process, with which all ranks end; the server starts others at the last durable state."""
        wrong = self._session.watch.overdue() if self._session else ""
        if wrong:
            sys.stderr.write(f"{self._session.watch.stack() if self._session else ''}steppe: {wrong}\n")
            sys.stderr.flush()
            self._line.send(News(0, "warning", wrong))
            os.kill(os.getpid(), signal.SIGKILL)


def ended_by(error: Exception) -> EngineExit:
    """The message to the server about the error that ends an engine. A mistake or a damaged file would end every other engine, too."""
    if isinstance(error, NoSpaceError):
        return EngineExit(error.code, error.fault, False)
    if isinstance(error, SteppeError):
        return EngineExit(error.code, str(error), isinstance(error, Mistake | DamagedError))
    return EngineExit("defect", unexpected(error), False)


@contextmanager
def held(path: Path) -> Iterator[None]:
    """The lock on a run folder. A process that does not release it within some seconds hangs, and is killed."""
    begin, host, file = time.monotonic(), os.uname().nodename, None
    while file is None:
        try:
            file = lock(path, f"{host} {os.getpid()}\n")
        except LockedError as holder:
            where, _, pid = str(holder).partition(" ")
            if time.monotonic() - begin > STUBBORN and where == host and pid.isdecimal():
                begin = inf  # once
                with suppress(ProcessLookupError):
                    os.kill(int(pid), signal.SIGKILL)
            time.sleep(0.02)
    try:
        yield
    finally:
        os.close(file)
