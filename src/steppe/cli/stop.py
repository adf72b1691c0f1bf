"""Signals that ask a run to stop."""

import os
import signal
from types import FrameType


class Stop:
    """The first SIGINT, SIGTERM or SIGUSR1 asks for a stop; a second SIGINT interrupts. says: print a message, as one rank does."""

    asked = False

    def __init__(self, says: bool = True) -> None:
        self._says = says

    def __enter__(self) -> "Stop":
        from steppe.comm import kept_stops

        self._before = {number: signal.signal(number, self._ask) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1)}
        for number in kept_stops()[:1]:
            self._ask(number, None)
        return self

    def __exit__(self, *exception: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _ask(self, number: int, frame: FrameType | None) -> None:
        if self.asked and number == signal.SIGINT:
            raise KeyboardInterrupt
        if not self.asked:
            self.asked = True  # first of all: the second signal may come while this one is handled
            # not sys.stderr: a handler must not enter a stream that it may have interrupted
            if self._says:
                os.write(2, b"Stopping after the days in work; a second Ctrl-C ends at once, back to the last checkpoint.\n")

    def __call__(self) -> bool:
        """True if a signal asked for a stop."""
        return self.asked
