"""What the silence of a first run is: half a minute in which the compiler works."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Thread

SECONDS_BETWEEN_LOOKS = 0.1


@contextmanager
def compiling_is_said(model: str, say: Callable[[str], None]) -> Iterator[None]:
    """Says once when the compiler is being loaded: a command does that only for a kernel that is not in the cache.

    A process that has it already, a program that calls commands, hears nothing.
    """
    if "numba" in sys.modules:
        yield
        return
    ended = Event()

    def watch() -> None:
        while not ended.wait(SECONDS_BETWEEN_LOOKS):
            if "numba" in sys.modules:
                say(f"Compiling the {model} kernel for this processor; it is kept for the next run.")
                return

    thread = Thread(target=watch, name="compiling", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
