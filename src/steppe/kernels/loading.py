"""Something long in the making, made by a thread behind the program, which waits where it needs it, and at its end for nothing.

The thread is no daemon: LLVM must not be at work while the interpreter is taken down. The maker asks now and then whether the kernel is
still wanted, and stops when the program has ended and no thread waits.
"""

from collections.abc import Callable
from contextvars import ContextVar
from threading import Thread, main_thread
from typing import Generic, TypeVar

T = TypeVar("T")
_WANTED: ContextVar[Callable[[], bool]] = ContextVar("wanted", default=lambda: True)


class Abandoned(Exception):
    """The kernel is no longer wanted."""


def go_on() -> None:
    """Returns while the kernel of this thread is wanted.

    Raises
    ------
    Abandoned
        The program has ended, and no thread waits.
    """
    if not _WANTED.get()():
        raise Abandoned


class Loading(Generic[T]):
    """What `make` returns, begun at once; `result` waits for it."""

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._found: list[T] = []
        self._error: Exception | None = None
        self._awaited = False
        self._thread = Thread(target=self._run, name="loading")
        self._thread.start()

    def _run(self) -> None:
        _WANTED.set(lambda: self._awaited or main_thread().is_alive())
        try:
            self._found.append(self._make())
        except Exception as error:
            self._error = error

    def result(self) -> T:
        """What was made; raises what `make` raised."""
        self._awaited = True
        self._thread.join()
        if isinstance(self._error, Abandoned):
            return self._make()
        if self._error:
            raise self._error
        return self._found[0]
