"""Makes a value in a background thread. The program waits for it where it needs the value, and never at its end.

The thread is no daemon, since LLVM must not run while the interpreter shuts down. So the maker calls `go_on` now and then, which stops it
when the program has ended and no thread waits for the value.
"""

import logging
from collections.abc import Callable
from concurrent.futures import Future, wait
from contextvars import ContextVar
from threading import Thread, main_thread
from typing import Generic, TypeVar

LOG = logging.getLogger("steppe")
SHORT = 0.2  # [s] of waiting that is not worth a message
T = TypeVar("T")
_WANTED: ContextVar[Callable[[], bool]] = ContextVar("wanted", default=lambda: True)


class AbandonedError(Exception):
    """The value is not needed any more."""


def go_on() -> None:
    """Returns while the value of this thread may be needed.

    Raises
    ------
    AbandonedError
        The program has ended, and no thread waits.
    """
    if not _WANTED.get()():
        raise AbandonedError


class Background(Generic[T]):
    """A value that a thread makes by `make`, from now on; `result` waits for it."""

    def __init__(self, make: Callable[[], T]) -> None:
        self._make, self._found, self._awaited = make, Future[T](), False
        Thread(target=self._run, name="loading").start()

    def _run(self) -> None:
        _WANTED.set(lambda: self._awaited or main_thread().is_alive())
        try:
            self._found.set_result(self._make())
        except BaseException as error:  # else `result` would wait for ever
            self._found.set_exception(error)

    def result(self) -> T:
        """The value; raises the exception of `make`, if there was one."""
        self._awaited = True
        if wait([self._found], SHORT).not_done:
            LOG.debug("Waiting for a kernel that is compiled or read.")  # an engine announces that it may be silent
        try:
            return self._found.result()
        except AbandonedError:
            return self._make()
