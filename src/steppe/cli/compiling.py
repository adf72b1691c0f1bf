"""Reports that kernels are being compiled, which takes half a minute of a first run."""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def compiling_is_said(say: Callable[[str], None], each: Callable[[], None] | None = None) -> Iterator[None]:
    """Passes messages of Steppe's log to `say`, each sentence once: a model often has several kernels.

    each: is called before every kernel that is compiled, those of field models too, which `say` does not name.
    """
    log, handler = logging.getLogger("steppe"), _Once(say, each)
    level = log.level
    log.addHandler(handler)
    log.setLevel(handler.level)
    try:
        yield
    finally:
        log.setLevel(level)
        log.removeHandler(handler)


class _Once(logging.Handler):
    def __init__(self, say: Callable[[str], None], each: Callable[[], None] | None) -> None:
        super().__init__(logging.DEBUG if each else logging.INFO)
        self._say, self._each = say, each
        self._said: set[str] = set()

    def emit(self, record: logging.LogRecord) -> None:
        """Passes a new sentence on. The thread that compiles calls it, under the handler's lock."""
        text = record.getMessage()
        if self._each:
            self._each()
        if record.levelno >= logging.INFO and text not in self._said:
            self._said.add(text)
            self._say(text)
