"""How engines are started and ended, here or by a launcher such as `mpiexec -n 4` or `srun -n 64`."""

from __future__ import annotations

import asyncio
import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

LOG, RUN_FILE = "engine.log", "engine.toml"  # in the run folder: what it says, and the run as it is to be read
LINES = 20  # of the log that are told when an engine has ended


def put_run_file(folder: Path, text: str) -> None:
    """Makes a run folder, with the run in it as its engines are to read it: the text of a run file."""
    folder.mkdir(parents=True, exist_ok=True)
    aside = folder / f"{RUN_FILE}.tmp"
    aside.write_text(text)
    aside.replace(folder / RUN_FILE)


class Started:
    """An engine that was started here, with all that it started."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process

    def kill(self) -> None:
        """Ends all of it at once."""
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)


class Launcher:
    """Starts the engines of a run. It outlives none of them: a server that ends leaves its engine running.

    Parameters
    ----------
    folder
        The run folder.
    prefix
        What stands before the command, in the words of a shell; no shell reads it.
    """

    def __init__(self, folder: Path, prefix: str = "") -> None:
        self._folder, self._prefix = folder, shlex.split(prefix)

    def command(self, epoch: int) -> Sequence[str]:
        """The command line of an engine."""
        return [*self._prefix, sys.executable, "-m", "steppe", "engine", str(self._folder), "--epoch", str(epoch)]

    def start(self, epoch: int, ended: Callable[[str, str], None]) -> Started:
        """Starts one; `ended` is called on the event loop with its status and its last lines."""
        begin = 0
        with open(self._folder / LOG, "ab") as log:
            begin = log.tell()
            process = subprocess.Popen(self.command(epoch), stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
        loop = asyncio.get_running_loop()
        watched = os.pidfd_open(process.pid)

        def over() -> None:
            loop.remove_reader(watched)
            os.close(watched)
            ended(_status(process.wait()), self._last_lines(begin))

        loop.add_reader(watched, over)
        return Started(process)

    def _last_lines(self, begin: int) -> str:
        with open(self._folder / LOG, "rb") as log:
            log.seek(begin)
            return "\n".join(log.read().decode(errors="replace").splitlines()[-LINES:])


def _status(code: int) -> str:
    if code >= 0:
        return f"exit code {code}"
    return f"signal {-code} ({signal.Signals(-code).name})"
