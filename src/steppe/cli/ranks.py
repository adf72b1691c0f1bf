"""`steppe run --ranks N`: the supervisor starts the ranks, shows their progress, passes on requests to stop, and clears up.

supervisor -- mpiexec -n N -- python -m steppe run ...   (N times, in a session of their own)
    <------ events ----------- rank 0                    (a Unix socket)
    <------ lines ------------ all ranks                 (lines of the launcher are shown only if no rank explains an end)
    ------- SIGUSR1 ---------> all ranks                 (the only signal that every launcher passes on and waits for)
    ------- SIGTERM, SIGKILL > launcher, then all        (`ending` says when)
"""

import contextlib
import os
import re
import selectors
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from types import FrameType, SimpleNamespace
from typing import IO, TYPE_CHECKING, TextIO, cast

from steppe.cli.control import VARIABLE, Listener
from steppe.cli.ending import Ending, EndingStep, processes_of
from steppe.cli.stop import leave_terminal, stop_signals
from steppe.errors import Exit, Mistake

if TYPE_CHECKING:
    from steppe.cli.progress import Tell
    from steppe.engine import Event

SEGMENTS = ("mpich_shm_", "mpich_shar_", "sm_segment.")  # shared memory that MPICH and Open MPI leave when they end uncleanly
YOUNG = 60.0  # [s] of a folder whose supervisor may not listen yet
LAST = 3.0  # [s] for a launcher whose ranks are gone
ALONE = re.compile(  # lines of a launcher about an end
    r"Abort\(\d+\) on node|\[(proxy|mpiexec)\S*\] |YOUR APPLICATION TERMINATED|This typically refers|Please see the FAQ page"
)
RULE = re.compile(r"\s*(-{60,}|={60,})$")  # around messages of a launcher of several lines


def start_ranks(arguments: list[str], ranks: int) -> Exit | None:
    """Runs `steppe` with `arguments` on `ranks` ranks. Returns None if this process must run it: as one of the ranks, or as the only one.

    Raises
    ------
    Mistake
        `ranks` is below 1, or not the number that the launcher started; or there is no MPI.
    """
    from steppe.comm import check_ranks, find_launch, find_library, find_mpiexec

    if ranks < 1:
        raise Mistake(f"--ranks {ranks} must be at least 1.")
    launch = find_launch()
    if launch is not None:
        check_ranks(ranks, launch)
        return None
    if ranks == 1:
        return None
    return run_job([*find_mpiexec(find_library()), "-n", str(ranks), sys.executable, "-m", "steppe", *arguments])


def run_job(command: list[str]) -> Exit:
    """Runs ranks to their end; returns their exit code.

    Raises
    ------
    Mistake
        The launcher cannot be started.
    """
    before = _segments()
    remove_dead_folders()
    with tempfile.TemporaryDirectory(prefix="steppe-") as folder:
        job = _Job(command, Path(folder) / "control")
        try:
            with job.hears_signals():
                job.start()
                job.watch()
        finally:
            job.clear(before)
    return job.outcome()


class _Job:
    def __init__(self, command: list[str], control: Path) -> None:
        self._path = control
        self._control = Listener(control)
        self._ending = Ending(control)
        self._screen = contextlib.ExitStack()
        self._tell: Tell | None = None
        self._ready = self._asked = self._interrupted = self._explained = False
        self._outcome: Exit | None = None
        self._noise: list[str] = []
        self._command = command
        self._process: subprocess.Popen[bytes] | None = None
        self._streams: list[_Stream] = []

    def start(self) -> None:
        """Starts the launcher in a session of its own: Ctrl-C reaches this process alone."""
        environment, pipe = {**os.environ, VARIABLE: str(self._path)}, subprocess.PIPE
        try:
            self._process = subprocess.Popen(
                self._command, stdin=subprocess.DEVNULL, stdout=pipe, stderr=pipe, env=environment, start_new_session=True
            )
        except OSError as error:
            name = self._command[0]
            raise Mistake(f'"{name}" cannot be started: {error.strerror}. STEPPE_MPIEXEC names the mpiexec to use.') from None
        self._streams = [_Stream(self._process.stdout, sys.stdout), _Stream(self._process.stderr, sys.stderr)]

    @contextlib.contextmanager
    def hears_signals(self) -> Iterator[None]:
        before = {number: signal.signal(number, self._ask) for number in stop_signals()}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _ask(self, number: int, frame: FrameType | None) -> None:
        if number == signal.SIGHUP:
            leave_terminal()
        if number in (signal.SIGTERM, signal.SIGHUP):
            self._ending.begin()
        if self._asked and number == signal.SIGINT:
            self._interrupted = True
            self._kill()
        elif not self._asked:
            self._asked = True
            os.write(2, b"Stopping after the days in work; a second Ctrl-C ends at once, back to the last checkpoint.\n")
            self._pass_on()

    def _pass_on(self) -> None:
        """Asks the ranks to stop, once all of them handle the signal: before, it would kill them."""
        if self._asked and self._ready and self._process and self._process.poll() is None:
            self._process.send_signal(signal.SIGUSR1)

    def _kill(self) -> None:
        """Ends the ranks; the launcher then clears up by itself."""
        for pid in processes_of(self._path):
            if self._process is None or pid != self._process.pid:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)

    def _press(self) -> None:
        """Takes the due action to end ranks that do not end by themselves."""
        assert self._process is not None
        step = self._ending.due(self._ready)
        if step is EndingStep.ASK and not self._asked:
            self._asked = True
            self._pass_on()
        if step is EndingStep.TERMINATE and self._process.poll() is None:
            self._process.terminate()  # the launcher ends its ranks on other machines, too
        if step is EndingStep.KILL:
            self._kill()
            self._process.kill()

    def watch(self) -> None:
        """Returns when the launcher has ended and all its output is shown."""
        assert self._process is not None
        with selectors.DefaultSelector() as selector, self._screen:
            selector.register(self._control, selectors.EVENT_READ)
            for stream in self._streams:
                selector.register(stream.source, selectors.EVENT_READ, stream)
            end = None
            while len(selector.get_map()) > 1 and (end is None or time.monotonic() < end):
                ready = selector.select(0.2)
                self._hear()  # first: a rank sends its events before it writes lines
                self._press()
                for key, _ in ready:
                    if isinstance(key.data, _Stream) and not self._show(key.data):
                        selector.unregister(key.fileobj)
                if end is None and self._process.poll() is not None:
                    self._kill()
                    end = time.monotonic() + LAST  # no process is left to write
            self._process.wait()
            self._hear()

    def _hear(self) -> None:
        for message in self._control.messages():
            if "ready" in message:
                self._ready = True
                self._pass_on()
            if "outcome" in message:
                self._outcome = Exit(message["outcome"])
            if "cells" in message:
                from steppe.cli.progress import progress

                self._tell = self._screen.enter_context(progress(message["cells"], message["unit"], message["quiet"]))
            if "event" in message and self._tell is not None:
                self._tell(cast("Event", SimpleNamespace(**message["event"])))  # the engine's own class takes long to import
            if "told" in message:
                self._screen.close()
                self._tell = None

    def _show(self, stream: "_Stream") -> bool:
        """Writes the lines that have come. Returns False at the end of the stream."""
        lines = stream.lines()
        if lines is None:
            return False
        over = self._is_over()
        for line in lines:
            if stream.is_noise(line) or (over and not line.startswith("[rank ")):
                self._noise.append(line)
            else:
                self._explained |= line.startswith("steppe: ")
                over = self._is_over()
                stream.target.write(line + "\n")
        stream.target.flush()
        return True

    def _is_over(self) -> bool:
        """True if a rank or this process has ended all ranks: later lines are complaints of libraries."""
        return self._ending.forced or (self._explained and self._outcome is not None)

    def clear(self, before: set[Path]) -> None:
        """Closes all streams, and removes the shared memory that this job left and no process uses."""
        self._control.close()
        for stream in self._streams:
            stream.source.close()
        remove_segments(before)

    def outcome(self) -> Exit:
        """Returns the exit code of the ranks. Reports an end that no rank explained."""
        if self._interrupted:
            return Exit.INTERRUPTED
        assert self._process is not None
        code = self._process.returncode
        if words := self._ending.words():
            sys.stderr.write(f"steppe: {words}\n")
            return Exit(code) if code in (Exit.DONE, Exit.STOPPED) else Exit.FAILURE
        if self._outcome is not None:
            return self._outcome
        if code in set(Exit) - {Exit.FAILURE}:
            return Exit(code)
        if self._explained:
            return Exit.FAILURE
        sys.stderr.write("".join(line + "\n" for line in self._noise))
        number = abs(code) - 128 if code > 128 else abs(code)
        name = next((f"signal {number} ({one.name})" for one in signal.Signals if one == number and number > 1), f"code {code}")
        memory = " Often the system sends it when memory runs out." if number == signal.SIGKILL else ""
        sys.stderr.write(
            f"steppe: The ranks ended by {name}, without a message.{memory} The same command continues from the last checkpoint.\n"
        )
        return Exit.FAILURE


class _Stream:
    """A stream that the ranks write, line by line."""

    def __init__(self, source: IO[bytes] | None, target: TextIO) -> None:
        assert source is not None
        self.source = source
        self.target = target
        self._rest = b""
        self._within = False

    def lines(self) -> list[str] | None:
        """Returns the whole lines that have come; None at the end of the stream."""
        data = os.read(self.source.fileno(), 1 << 16)
        *lines, self._rest = (self._rest + data).split(b"\n")
        if not data and self._rest:
            lines, self._rest = [self._rest], b""
        return [line.decode(errors="replace") for line in lines] if data or lines else None

    def is_noise(self, line: str) -> bool:
        """True for a line of the launcher about an end: a rank explains it better."""
        if RULE.match(line):
            self._within = not self._within
            return True
        return self._within or ALONE.match(line) is not None or line == "\0"


def remove_dead_folders() -> None:
    """Removes folders of this user with the socket of a supervisor that was killed: nothing listens on it any more."""
    for socket_file in Path(tempfile.gettempdir()).glob("steppe-*/control"):
        with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as probe:
            folder = socket_file.parent
            age = time.time() - folder.stat().st_mtime
            if age > YOUNG and folder.stat().st_uid == os.getuid() and os.listdir(folder) == ["control"]:
                probe.settimeout(LAST)
                try:
                    probe.connect(str(socket_file))
                except ConnectionRefusedError:
                    shutil.rmtree(folder)


def remove_segments(before: set[Path]) -> None:
    """Removes shared memory of MPI that is not in `before` and that no process uses."""
    left = _segments() - before
    used = _mapped() if left else set()
    for path in left:
        if str(path) not in used:
            with contextlib.suppress(OSError):
                path.unlink()


def _segments() -> set[Path]:
    """Shared memory of MPI that belongs to this user."""
    found = set()
    for path in Path("/dev/shm").glob("*"):
        with contextlib.suppress(OSError):
            if path.name.startswith(SEGMENTS) and path.stat().st_uid == os.getuid():
                found.add(path)
    return found


def _mapped() -> set[str]:
    """The shared memory that living processes use."""
    found = set()
    for path in Path("/proc").glob("[0-9]*/maps"):
        with contextlib.suppress(OSError):
            found |= {line.split()[5] for line in path.read_text(encoding="utf-8", errors="replace").splitlines() if "/dev/shm/" in line}
    return found
