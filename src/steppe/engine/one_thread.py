"""A class whose methods one thread calls at a time."""

from collections.abc import Callable
from functools import wraps
from threading import RLock
from typing import Any, TypeVar

from steppe.errors import RequestError

Kind = TypeVar("Kind")


def one_thread(*methods: str) -> Callable[[type[Kind]], type[Kind]]:
    """A class of which these methods raise `RequestError` while another thread is in one of them, instead of waiting for it.

    A method may call another one. The attribute `_calls` of an instance is its lock.
    """

    def changed(kind: type[Kind]) -> type[Kind]:
        for name in methods:
            setattr(kind, name, _alone(getattr(kind, name)))
        return kind

    return changed


def _alone(method: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(method)
    def alone(self: Any, /, *arguments: Any, **named: Any) -> Any:
        lock: RLock = self._calls
        if not lock.acquire(blocking=False):
            raise RequestError("Another thread uses this simulation. Wait for it, or make a simulation for each thread.")
        try:
            return method(self, *arguments, **named)
        finally:
            lock.release()

    return alone
