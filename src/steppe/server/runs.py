"""The runs of a server: each has a folder, which no other server may have, a journal, and a door for its engine."""

import asyncio
import json
import logging
import os
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from steppe.control.orders import FIRST_BRANCH, JOURNAL
from steppe.control.rendezvous import RUN_FILE
from steppe.control.server.engine_process import MISTAKE, STARTING
from steppe.control.server.journal import Journal
from steppe.control.server.launcher import EngineLauncher
from steppe.control.server.listener import EngineListener, LoopScheduler
from steppe.control.server.supervisor import Supervisor
from steppe.control.wire import OPEN_END
from steppe.errors import FolderError, NoSpaceError, SteppeError
from steppe.files import LockedError, lock, write_whole
from steppe.server.limits import Limits

LOG = logging.getLogger("steppe.server")
LOCK, STATUS = "server.lock", "status.json"  # in the run folder
LAUNCHER = "server.launcher"  # likewise: the name of what starts the engine of a run that was begun by a request
ENDED = "server.ended"  # likewise, of a run that was ended
DRAIN = 8  # [s] that an engine has to make its state durable when its run ends


class Runs:
    """Those that are served.

    Parameters
    ----------
    where
        The address of the server, for a message to a user whose own start it prevents.
    durable
        Whether orders survive the loss of power.
    folder
        Where new runs are made; None: there are none.
    launchers
        What may stand before the command of an engine, by name; "" is that of runs that name none.
    scenarios
        How many each run may have at once.
    """

    def __init__(
        self,
        where: str,
        durable: bool,
        folder: Path | None = None,
        launchers: Mapping[str, str] | None = None,
        scenarios: int = Limits().scenarios,
    ) -> None:
        self.folder, self._scenarios = folder, scenarios
        self.launchers: Mapping[str, str] = {"": "", **(launchers or {})}
        self.open: dict[str, Supervisor] = {}
        self._where, self._durable = where, durable
        self._address = ""  # of the server for clients, once it listens
        self._closing: dict[str, ExitStack] = {}
        self._ending: set[asyncio.Task[None]] = set()
        self._listening: dict[str, EngineListener] = {}
        self._watching: dict[str, asyncio.Task[None]] = {}
        self._writer = ThreadPoolExecutor(1, "status")  # one write after the other, apart from the event loop, since a disk may be slow

    async def begin(self, folder: Path, launcher: str = "", engine_bind: str = "", sealed: bool = True) -> Supervisor:
        """Opens the run of a folder and starts its engine. engine_bind, sealed: of the link to it, as `EngineListener` takes them.

        Raises
        ------
        FolderError
            Another server has the run.
        Mistake, DamagedError
            The journal is of a newer Steppe, or damaged; or the server cannot listen for the engine.
        """
        with ExitStack() as opening:
            journal = await asyncio.to_thread(_opened, folder, self._where, self._durable, launcher, opening)
            words = self.launchers[launcher]
            starting, launcher_of = None if words else STARTING, EngineLauncher(folder, words)
            supervisor = Supervisor(folder.name, folder, journal, LoopScheduler(), launcher_of, starting, self._scenarios)
            opening.callback(supervisor.reader.close)
            listener = EngineListener(folder, supervisor, engine_bind, sealed)
            await listener.open()
            supervisor.process.start()
            self.open[folder.name], self._listening[folder.name] = supervisor, listener
            self._closing[folder.name] = opening.pop_all()
        if self._address:
            self._watch(supervisor)
        return supervisor

    async def begin_all(self) -> None:
        """Opens those that were made before and not ended. One that cannot be opened is named in the log; the others are served."""
        for path in sorted(self.folder.glob(f"*/{RUN_FILE}") if self.folder else ()):
            if path.parent.name not in self.open and not (path.parent / ENDED).exists():
                launcher = path.with_name(LAUNCHER)
                try:
                    name = launcher.read_text(encoding="utf-8") if launcher.exists() else ""
                    await self.begin(path.parent, name if name in self.launchers else "")
                except (SteppeError, OSError) as error:
                    LOG.error("The run %s is not served: %s", path.parent.name, error)

    def listens(self, address: str) -> None:
        """Clients can call the server now."""
        self._address = address
        for supervisor in self.open.values():
            self._watch(supervisor)

    def _watch(self, supervisor: Supervisor) -> None:
        self._watching[supervisor.name] = asyncio.create_task(self._keep_status(supervisor))

    async def _keep_status(self, supervisor: Supervisor) -> None:
        """Keeps a file for batch jobs as things change."""
        async for _ in supervisor.changes():
            await self._write_status(supervisor, self._address)
            await asyncio.sleep(1)

    async def _write_status(self, supervisor: Supervisor, address: str) -> None:
        content = {"address": address, "pid": os.getpid(), **supervisor.info()}
        await asyncio.get_running_loop().run_in_executor(self._writer, _write, supervisor.folder / STATUS, content)

    async def impossible(self, name: str) -> str:
        """Waits until a run turns out to be one that no engine can open; returns what is wrong with it. A run that was opened can fail."""
        process = self.open[name].process
        async for _ in self.open[name].changes():
            problem = process.problem or {}
            if process.state == "up":
                break
            if problem.get("exit_status") == MISTAKE:
                return str(problem["text"])
        await asyncio.Event().wait()  # it was opened or ended; the server goes on
        return ""

    async def _end(self, supervisor: Supervisor, keep_engine: bool = False) -> None:
        """Ends the supervision of a run, whose journal can still be read; its engine has some seconds to make its state durable."""
        if watching := self._watching.pop(supervisor.name, None):
            watching.cancel()
        supervisor.close(keep=not keep_engine)
        for _ in range(100 * DRAIN):
            if keep_engine or not supervisor.process.has_process:
                break
            await asyncio.sleep(0.01)
        await self._write_status(supervisor, "")
        await self._listening.pop(supervisor.name).close()

    async def end_all(self, keep_engine: bool) -> None:
        """Ends the supervision of all runs, whose journals can still be read. keep_engine: engines go on, and wait for the next server."""
        ending = [self._end(each, keep_engine) for each in self.open.values()]
        self.open.clear()
        await asyncio.gather(*ending, *self._ending)

    def archive(self, name: str) -> None:
        """Ends a run for good, in a while: the next server does not open it by itself."""
        self._ending.add(task := asyncio.create_task(self._archive(self.open.pop(name))))
        task.add_done_callback(self._ending.discard)

    async def _archive(self, supervisor: Supervisor) -> None:
        supervisor.dismiss()
        await self._end(supervisor)
        await asyncio.to_thread(_archived, supervisor.folder, self._closing.pop(supervisor.name))

    def close(self) -> None:
        """Releases all folders, after the last request."""
        for each in self._closing.values():
            each.close()
        self._closing.clear()
        self._writer.shutdown()


def _opened(folder: Path, where: str, durable: bool, launcher: str, opening: ExitStack) -> Journal:
    """The journal of a run folder, which this server has from now on until `opening` is closed."""
    opening.enter_context(held(folder, where))
    journal = Journal(folder / JOURNAL, durable)
    opening.callback(journal.close)
    steps = [each.name.partition("-")[0] for each in (folder / "checkpoints").glob("*[0-9]")]
    first, there = journal.find(FIRST_BRANCH), max([int(step) for step in steps if step.isdecimal()], default=0)
    with suppress(NoSpaceError):
        if first and first.shown_step < there and first.closed_step == OPEN_END:
            journal.seen(FIRST_BRANCH, there)  # a script or `steppe run` has continued it: orders count from there
    (folder / ENDED).unlink(missing_ok=True)
    if launcher:
        write_whole(folder / LAUNCHER, launcher.encode())
    return journal


def _archived(folder: Path, closing: ExitStack) -> None:
    """Gives a run folder up and notes that no server opens it by itself."""
    with suppress(OSError):
        write_whole(folder / ENDED, b"")
    closing.close()


def _write(path: Path, content: Mapping[str, object]) -> None:
    with suppress(OSError):  # the disk may be full
        write_whole(path, json.dumps(content).encode())


@contextmanager
def held(folder: Path, where: str) -> Iterator[None]:
    """Locks a folder, so that one server has it."""
    try:
        file = lock(folder / LOCK, f"process {os.getpid()} at {where}")
    except LockedError as holder:
        raise FolderError(f'"{folder}" is served already, by {holder}. Stop that server first.') from None
    try:
        yield
    finally:
        os.close(file)
