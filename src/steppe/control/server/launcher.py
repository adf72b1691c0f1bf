"""Starts and kills engines, directly or by a command such as `mpiexec -n 4` or `srun -n 64`."""

from __future__ import annotations

import asyncio
import os
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from steppe.control.server.engine_process import MISTAKE, NO_ROOM
from steppe.errors import Mistake, NoSpaceError
from steppe.files import private

LOG = "engine.log"  # in the run folder: the output of all its engines
LOOK = 0.5  # [s] between two looks at a process of whose end the system does not tell
LINES = 20  # of the log in the report of an ended engine


def check_launcher(prefix: str) -> None:
    """Raises Mistake if these words cannot stand before the command of an engine."""
    try:
        words = shlex.split(prefix)
    except ValueError as error:
        raise Mistake(f'The launcher "{prefix}" is no command: {error}. Write it as a shell takes it, such as "mpiexec -n 4".') from None
    if words and shutil.which(words[0]) is None:
        raise Mistake(
            f'The launcher "{prefix}" begins with "{words[0]}", which is no program on the PATH. Install it, or give its whole path.'
        )


class ProcessGroup:
    """An engine with all processes that it starts. A thread starts it, since its program is read from a disk."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None  # None: not started yet, or it cannot start
        self._unwanted = False

    def begun(self, process: subprocess.Popen[bytes]) -> None:
        """Takes the process that has begun."""
        self._process = process
        if self._unwanted:
            self.kill()

    def kill(self) -> None:
        """Kills all processes, now or as soon as the first begins."""
        self._unwanted = True
        if self._process is not None:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)


class EngineLauncher:
    """Starts the engines of a run. A server that ends leaves its engine running.

    Parameters
    ----------
    folder
        The run folder.
    prefix
        The words before the command, quoted as for a shell; no shell runs them.
    """

    def __init__(self, folder: Path, prefix: str = "") -> None:
        self._folder, self._prefix = folder, shlex.split(prefix)
        self._living: set[asyncio.Task[None]] = set()

    def command(self, epoch: int) -> Sequence[str]:
        """The command line of an engine."""
        return [*self._prefix, sys.executable, "-m", "steppe", "engine", str(self._folder), "--epoch", str(epoch)]

    def start(self, epoch: int, ended: Callable[[str, str], None]) -> ProcessGroup:
        """Starts an engine; `ended` is called on the event loop with its status and the last lines of its log."""
        started = ProcessGroup()
        task = asyncio.get_running_loop().create_task(self._live(epoch, started, ended))
        self._living.add(task)
        task.add_done_callback(self._living.discard)
        return started

    async def _live(self, epoch: int, started: ProcessGroup, ended: Callable[[str, str], None]) -> None:
        command = self.command(epoch)
        try:
            process, begin = await asyncio.to_thread(self._begin, command)
        except NoSpaceError as error:
            ended(NO_ROOM, error.fault)
            return
        except OSError as error:  # the program was there when the server began
            ended(MISTAKE, f'"{command[0]}" cannot be started: {error.strerror}. Start the server again.')
            return
        started.begun(process)
        await _end_of(process)
        ended(_status(process.wait()), await asyncio.to_thread(self._last_lines, begin))

    def _begin(self, command: Sequence[str]) -> tuple[subprocess.Popen[bytes], int]:
        """The process, and the offset of its first line in the log."""
        try:
            file = open(self._folder / LOG, "ab", opener=private)  # noqa: SIM115
        except OSError as error:
            raise NoSpaceError(f'"{self._folder / LOG}" cannot be written: {error.strerror}.') from None
        with file as log:
            begin = log.tell()
            return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True), begin

    def _last_lines(self, begin: int) -> str:
        try:
            with open(self._folder / LOG, "rb") as log:
                log.seek(begin)
                return "\n".join(log.read().decode(errors="replace").splitlines()[-LINES:])
        except OSError as error:
            return f'"{self._folder / LOG}" cannot be read: {error.strerror}.'


async def _end_of(process: subprocess.Popen[bytes]) -> None:
    """Waits for the end of a process."""
    loop, over = asyncio.get_running_loop(), asyncio.Event()
    with suppress(OSError):  # no more files can be open
        watched = os.pidfd_open(process.pid)
        try:
            loop.add_reader(watched, over.set)
            await over.wait()
        finally:
            loop.remove_reader(watched)
            os.close(watched)
    while process.poll() is None:
        await asyncio.sleep(LOOK)


def _status(code: int) -> str:
    if code >= 0:
        return f"exit code {code}"
    return f"signal {-code} ({signal.Signals(-code).name})"
