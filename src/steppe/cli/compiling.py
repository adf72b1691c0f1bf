"""What the silence of a first run is: half a minute in which the compiler works."""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def compiling_is_said(say: Callable[[str], None]) -> Iterator[None]:
    """Passes on what Steppe's log says, each sentence once: a model often has several kernels."""
    log, handler = logging.getLogger("steppe"), _Once(say)
    level = log.level
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    try:
        yield
    finally:
        log.setLevel(level)
        log.removeHandler(handler)


class _Once(logging.Handler):
    def __init__(self, say: Callable[[str], None]) -> None:
        super().__init__(logging.INFO)
        self._say = say
        self._said: set[str] = set()

    def emit(self, record: logging.LogRecord) -> None:
        """Called under the handler's lock, by whichever thread compiles."""
        text = record.getMessage()
        if text not in self._said:
            self._said.add(text)
            self._say(text)
