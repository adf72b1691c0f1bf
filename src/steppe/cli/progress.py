"""Progress of a run: a bar on a terminal, a line every ten seconds elsewhere. The supervisor shows that of its ranks."""

import sys
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING

from steppe.cli.control import Told, supervised

if TYPE_CHECKING:
    from rich.progress import TaskID

    from steppe.engine import Event

Tell = Callable[["Event"], None]
SECONDS_BETWEEN_LINES = 10.0
SHOWN = ("note", "compiling", "event", "message", "pause", "image")  # kinds of events


class ProgressLines:
    """One line every ten seconds: date, rate, time left."""

    def __init__(self, n_cells: int, unit: str = "day") -> None:
        self._rate = StepRate(n_cells, unit)
        self._said = time.monotonic()

    def __call__(self, event: "Event") -> None:
        """Shows what happened."""
        _warn(event)
        self._rate.note(event)
        if event.kind == "resumed" and event.step < event.steps:
            sys.stderr.write(f"The run continues at {event.date}.\n")
        if event.kind in SHOWN:
            sys.stderr.write(event.text + "\n")
        if event.kind == "progress" and time.monotonic() - self._said > SECONDS_BETWEEN_LINES:
            self._said = time.monotonic()
            sys.stderr.write(f"{event.date}  {100 * event.step / event.steps:3.0f} %  {self._rate}\n")


class Shares:
    """Prints the finished share and the remaining time, every ten seconds."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._begin: tuple[float, float] | None = None
        self._said = time.monotonic()

    def __call__(self, part: float, now: str = "") -> None:
        """Notes that `part` is done. Time counts from the first call: compiling may come before it. now: the work in progress."""
        clock = time.monotonic()
        if self._begin is None:
            self._begin = clock, part
        begin, before = self._begin
        if part > before and clock - self._said > SECONDS_BETWEEN_LINES:
            self._said = clock
            left = (1.0 - part) * (clock - begin) / (part - before)
            sys.stderr.write(f"{self._what}  {100 * part:3.0f} %  {as_clock(left)} left  {now}".rstrip() + "\n")


class StepRate:
    """Cell-days a second (or cell-steps) and the remaining time. The first piece, which loads the kernel, does not count."""

    def __init__(self, n_cells: int, unit: str = "day") -> None:
        self._cells, self._unit = n_cells, unit
        self._begin: tuple[float, int] | None = None
        self.per_second = 0.0
        self.left = 0.0

    def note(self, event: "Event") -> None:
        """Takes the step and the time of a piece that is done."""
        if event.kind != "progress":
            return
        now = time.monotonic()
        if self._begin is None:
            self._begin = now, event.step
            return
        seconds, steps = now - self._begin[0], event.step - self._begin[1]
        if steps > 0 and seconds > 0:
            self.per_second = steps * self._cells / seconds
            self.left = (event.steps - event.step) * seconds / steps

    def __str__(self) -> str:
        from steppe.engine import in_cell_days

        return f"{in_cell_days(self.per_second, self._unit)}, {as_clock(self.left)} left" if self.per_second else "starting"


class RunBar(AbstractContextManager[Tell]):
    """A progress bar with date, rate and time left."""

    def __init__(self, n_cells: int, unit: str = "day") -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

        columns = (TextColumn("{task.fields[date]}"), BarColumn(), TaskProgressColumn(), TextColumn("{task.fields[rate]}"))
        self._progress = Progress(*columns, console=Console(stderr=True, markup=False, emoji=False))
        self._rate = StepRate(n_cells, unit)
        self._task: TaskID | None = None

    def __enter__(self) -> Tell:
        self._progress.start()
        return self._tell

    def __exit__(self, *exception: object) -> None:
        self._progress.stop()

    def _tell(self, event: "Event") -> None:
        self._rate.note(event)
        if event.kind in (*SHOWN, "warning"):
            self._progress.console.print(event.text)
        if event.kind == "resumed" and event.step < event.steps:
            self._progress.console.print(f"The run continues at {event.date}.")
        if self._task is None:
            self._task = self._progress.add_task("", total=event.steps, date=event.date, rate="starting")
        self._progress.update(self._task, completed=event.step, date=event.date, rate=str(self._rate))


def progress(n_cells: int, unit: str = "day", quiet: bool = False) -> AbstractContextManager[Tell]:
    """Returns the display for the standard error stream, or for the supervisor of these ranks.

    unit: the name of a step; quiet: warnings only.
    """
    if supervised():
        return Told(n_cells, unit, quiet)
    if quiet:
        return nullcontext(_warn)
    return RunBar(n_cells, unit) if sys.stderr.isatty() else nullcontext(ProgressLines(n_cells, unit))


def _warn(event: "Event") -> None:
    if event.kind == "warning":
        sys.stderr.write(event.text + "\n")


def as_clock(seconds: float) -> str:
    """Minutes and seconds as 2:05, from an hour on as 1:02:05."""
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{seconds:02d}" if hours else f"{minutes}:{seconds:02d}"
