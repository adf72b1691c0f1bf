"""When a supervisor ends ranks that do not end by themselves.

    SIGTERM to the supervisor --+
                                +-- a checkpoint is asked for -- 10 s -- the launcher is terminated -- 5 s -- all are killed
    a rank stopped for 30 s ----+

A rank is stopped if its state in /proc is T, as after SIGSTOP. A rank without messages may still work: it may compile or read.
$STEPPE_STOPPED replaces the 30 s, $STEPPE_ENDING the 10 s.
"""

import os
import time
from contextlib import suppress
from enum import Enum, auto
from pathlib import Path

from steppe.cli.control import VARIABLE
from steppe.comm import find_launch, process_state
from steppe.errors import Mistake

KILL = 5.0  # [s] for the launcher to end its ranks
PACE = 0.5  # [s] between two checks


class EndingStep(Enum):
    """The next action of the supervisor."""

    NOTHING = auto()
    ASK = auto()
    TERMINATE = auto()
    KILL = auto()


class Ending:
    """Watches the ranks of one job. `control` marks its processes.

    Raises
    ------
    Mistake
        STEPPE_STOPPED or STEPPE_ENDING is no number of seconds.
    """

    def __init__(self, control: Path) -> None:
        self._patience = _seconds("STEPPE_STOPPED", "30")  # [s] that a rank may be stopped before the run must end
        self._checkpoint = _seconds("STEPPE_ENDING", "10")  # [s] for the checkpoint, once the run must end
        self._control = control
        self._processes: list[int] = []
        self._are_all = False
        self._looked = time.monotonic()
        self._stopped: dict[int, float] = {}  # process -> for how long [s]
        self._waited: float | None = None  # [s] since the run must end
        self._cause = self._why = ""
        self._left = [(0.0, EndingStep.ASK), (self._checkpoint, EndingStep.TERMINATE), (self._checkpoint + KILL, EndingStep.KILL)]

    @property
    def forced(self) -> bool:
        """True if the supervisor terminated the ranks."""
        return bool(self._why)

    def begin(self) -> None:
        """Starts the ending, after SIGTERM."""
        if self._waited is None:
            self._waited = 0.0

    def due(self, are_all: bool) -> EndingStep:
        """Returns the action that is due. are_all: all ranks have started."""
        passed = time.monotonic() - self._looked
        if passed < PACE:
            return EndingStep.NOTHING
        self._looked += passed
        passed = min(passed, 2 * PACE)  # more: the supervisor was stopped too, as when a machine or a whole job is suspended
        self._look(passed, are_all)
        if self._waited is not None:
            self._waited += passed
        elif max(self._stopped.values(), default=0.0) >= self._patience:
            self._waited, self._cause = 0.0, self._longest()
        if self._waited is None or not self._left or self._waited < self._left[0][0]:
            return EndingStep.NOTHING
        _, step = self._left.pop(0)
        if step is EndingStep.TERMINATE:
            self._why = self._reason()
        return step

    def words(self) -> str:
        """Returns the supervisor's report at the end; "" if it ended nothing."""
        if self.forced:
            return f"{self._why}: all ranks were ended. The same command continues from the last checkpoint."
        return f"The run was stopped because {self._cause} had been stopped by a signal for {self._patience:g} s." if self._cause else ""

    def _look(self, passed: float, are_all: bool) -> None:
        if not self._are_all:
            self._processes, self._are_all = processes_of(self._control), are_all
        self._stopped = {pid: self._stopped.get(pid, 0.0) + passed for pid in self._processes if process_state(pid) == "T"}

    def _reason(self) -> str:
        if self._cause:
            since = f"{self._patience:g} s, and no checkpoint was written in {self._checkpoint:g} s more"
            return f"{_capital(self._cause)} was stopped by a signal for {since}"
        nothing = f"no checkpoint was written within {self._checkpoint:g} s of SIGTERM"
        if now := self._longest():
            return f"{_capital(now)} is stopped by a signal, and {nothing}"
        return f"{_capital(nothing)} (STEPPE_ENDING sets this time)"

    def _longest(self) -> str:
        """The name of the process that is stopped for longest, "" if there is none."""
        if not self._stopped:
            return ""
        pid = max(self._stopped, key=lambda one: self._stopped[one])
        launch = None
        with suppress(OSError):
            launch = find_launch(_environment(pid))
        return f"rank {launch.rank} (process {pid})" if launch else f"the launcher's process {pid}"


def _seconds(variable: str, default: str) -> float:
    text = os.environ.get(variable, default)
    with suppress(ValueError):
        if float(text) >= 0.0:
            return float(text)
    raise Mistake(f'{variable} is "{text}", expected a number of seconds, such as {default}. Correct it, or unset it.')


def processes_of(control: Path) -> list[int]:
    """The launcher and the ranks of a job, found by their environment: launchers begin sessions of their own."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if _environment(int(path.name)).get(VARIABLE) == str(control):
                found.append(int(path.name))
    return found


def _environment(pid: int) -> dict[str, str]:
    text = Path(f"/proc/{pid}/environ").read_bytes().decode(errors="surrogateescape")
    return dict(line.split("=", 1) for line in text.split("\0") if "=" in line)


def _capital(text: str) -> str:
    return text[0].upper() + text[1:]
