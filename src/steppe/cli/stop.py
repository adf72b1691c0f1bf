"""Signals that ask a run to stop."""

import os
import signal
import stat
from types import FrameType


def stop_signals() -> tuple[signal.Signals, ...]:
    """The signals that ask for a stop. SIGHUP, of a closed terminal, is one unless `nohup` ignores it."""
    hangup = () if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN else (signal.SIGHUP,)
    return (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1, *hangup)


def leave_terminal() -> None:
    """Drops what is still written to a terminal that was closed: an error of writing would end the run before its checkpoint."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for file in (1, 2):
        if stat.S_ISCHR(os.fstat(file).st_mode):
            os.dup2(nowhere, file)
    os.close(nowhere)


class Stop:
    """The first of `stop_signals` asks for a stop; a second SIGINT interrupts. says: print a message, as one rank does."""

    asked = False

    def __init__(self, says: bool = True) -> None:
        self._says = says

    def __enter__(self) -> "Stop":
        from steppe.comm import kept_stops

        self._before = {number: signal.signal(number, self._ask) for number in stop_signals()}
        for number in kept_stops()[:1]:
            self._ask(number, None)
        return self

    def __exit__(self, *exception: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _ask(self, number: int, frame: FrameType | None) -> None:
        if number == signal.SIGHUP:
            leave_terminal()
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
