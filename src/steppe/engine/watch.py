"""The work of the stepping thread and its begin, by which another thread detects that it hangs."""

import sys
import threading
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

OTHER = 10  # times the limit of a step, for other work: reading and writing states, answers
FRAMES = 8  # of the stack that are reported


class Work(NamedTuple):
    """A work, its begin on the clock [s], and its limit [s]."""

    what: str
    since: float
    limit: float


class Watch:
    """The work of one thread. step_limit: seconds that a step of one branch may take."""

    def __init__(self, step_limit: float) -> None:
        self._step_limit = step_limit
        self._work: Work | None = None
        self._thread = threading.get_ident()

    @contextmanager
    def at(self, what: str, times: int = OTHER) -> Iterator[None]:
        """A context for a work that may take so many times as long as a step of a branch."""
        before, self._thread = self._work, threading.get_ident()
        self._work = Work(what, time.monotonic(), times * self._step_limit)
        try:
            yield
        finally:
            self._work = before

    def grant(self, seconds: float) -> None:
        """Extends the limit of the present work: it compiles."""
        if self._work:
            self._work = self._work._replace(limit=max(self._work.limit, seconds))

    def overdue(self) -> str:
        """A sentence if the present work takes too long; otherwise ""."""
        work = self._work
        if work is None or time.monotonic() - work.since <= work.limit:
            return ""
        seconds = time.monotonic() - work.since
        advice = "Where that is no fault, raise engine.step_limit of the run file."
        return f"The engine has been at {work.what} for {seconds:.3g} s and is ended. {advice}"

    def stack(self) -> str:
        """The stack of the thread."""
        frame = sys._current_frames().get(self._thread)
        return "".join(traceback.format_stack(frame)[-FRAMES:]) if frame else ""
