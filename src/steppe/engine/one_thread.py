"""A class whose methods one thread of one process calls at a time."""

import os
from collections.abc import Callable
from functools import wraps
from threading import RLock
from typing import Any, NoReturn, TypeVar

from steppe.errors import RequestError

Kind = TypeVar("Kind")


class Calls:
    """Which thread calls an instance, of the process that made it."""

    def __init__(self) -> None:
        self.lock, self.process = RLock(), os.getpid()

    def __reduce__(self) -> NoReturn:
        raise TypeError("A simulation cannot be pickled or copied: it computes in its process. Make one where it is used, or branch it.")


def one_thread(*methods: str) -> Callable[[type[Kind]], type[Kind]]:
    """A class of which these methods raise `RequestError` in a fork, and while another thread is in one of them, instead of waiting for it.

    A method may call another one. The attribute `_calls` of an instance is a `Calls`.
    """

    def changed(kind: type[Kind]) -> type[Kind]:
        for name in methods:
            setattr(kind, name, _alone(getattr(kind, name)))
        return kind

    return changed


def _alone(method: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(method)
    def alone(self: Any, /, *arguments: Any, **named: Any) -> Any:
        calls: Calls = self._calls
        if calls.process != os.getpid():  # a fork would write into the same run folder, and has no threads to compute
            raise RequestError(f"This simulation belongs to process {calls.process}, and this is a fork of it. Make a simulation here.")
        if not calls.lock.acquire(blocking=False):
            raise RequestError("Another thread uses this simulation. Wait for it, or make a simulation for each thread.")
        try:
            return method(self, *arguments, **named)
        finally:
            calls.lock.release()

    return alone
