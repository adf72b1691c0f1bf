"""Reports that kernels are being compiled, which takes half a minute of a first run."""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def compiling_is_said(say: Callable[[str], None]) -> Iterator[None]:
    """Passes messages of Steppe's log to `say`, each sentence once: a model often has several kernels."""
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
        """Passes a new sentence on. The thread that compiles calls it, under the handler's lock."""
        text = record.getMessage()
        if text not in self._said:
            self._said.add(text)
            self._say(text)
