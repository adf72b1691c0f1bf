"""What the thread that steps is at and since when, so that another one notices when it does not come back."""

import sys
import threading
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

OTHER = 10  # times as long as a step may take what is no step: to read and write states, to answer
FRAMES = 8  # of the stack that are told


class Work(NamedTuple):
    """What is done, since when on the clock, and how long it may take, in seconds."""

    what: str
    since: float
    limit: float


class Watch:
    """Of one thread, which says what it does. step_limit: seconds that a step of one branch may take."""

    def __init__(self, step_limit: float) -> None:
        self._step_limit = step_limit
        self._work: Work | None = None
        self._thread = threading.get_ident()

    @contextmanager
    def at(self, what: str, times: int = OTHER) -> Iterator[None]:
        """While something is done, which may take so many times as long as a step of a branch."""
        before, self._thread = self._work, threading.get_ident()
        self._work = Work(what, time.monotonic(), times * self._step_limit)
        try:
            yield
        finally:
            self._work = before

    def grant(self, seconds: float) -> None:
        """What is being done may take so long: it compiles."""
        if self._work:
            self._work = self._work._replace(limit=max(self._work.limit, seconds))

    def overdue(self) -> str:
        """What is wrong, when it takes too long; else nothing."""
        work = self._work
        if work is None or time.monotonic() - work.since <= work.limit:
            return ""
        seconds = time.monotonic() - work.since
        advice = "Where that is no fault, raise engine.step_limit of the run file."
        return f"The engine has been at {work.what} for {seconds:.3g} s and is ended. {advice}"

    def stack(self) -> str:
        """Where the thread is."""
        frame = sys._current_frames().get(self._thread)
        return "".join(traceback.format_stack(frame)[-FRAMES:]) if frame else ""
