"""Messages of the ranks to the supervisor, the process that started them: lines of JSON over a Unix socket.

An environment variable names the socket. Rank 0 sends the messages, except "outcome".

    {"ready": 8}                        all 8 ranks have started and accept requests to stop
    {"cells": 15195, "unit": "day", "quiet": false}
                                        the cells, the name of a step, and whether warnings alone are shown; progress follows
    {"event": {...}}                    a `steppe.engine.Event`
    {"told": true}                      no more events follow: the supervisor ends its progress bar
    {"outcome": 1}                      the exit code with which the sending rank ends all ranks

No side waits for an answer. A rank that cannot reach the supervisor stops the run with a checkpoint, as after SIGUSR1.
"""

import json
import os
import selectors
import signal
import socket
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

if TYPE_CHECKING:
    from steppe.engine import Event

VARIABLE = "STEPPE_CONTROL"
PAUSE = 0.1  # [s] at least between two events of progress


class RankMessage(TypedDict, total=False):
    """One message; the docstring of this file explains its keys."""

    ready: int
    cells: int
    unit: str
    quiet: bool
    event: dict[str, str | int]
    told: bool
    outcome: int


def supervised() -> bool:
    """True if a supervisor started this rank and shows its messages."""
    return VARIABLE in os.environ


class Speaker:
    """A connection to the supervisor; without a supervisor it sends nothing."""

    def __init__(self) -> None:
        self._socket: socket.socket | None = None
        if supervised():
            self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            self._try(lambda line: line.connect(os.environ[VARIABLE]))

    def say(self, message: RankMessage) -> None:
        """Sends `message`."""
        data = json.dumps(message).encode() + b"\n"
        self._try(lambda line: line.sendall(data))

    def close(self) -> None:
        """Closes the connection."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def _try(self, use: Callable[[socket.socket], None]) -> None:
        if self._socket is None:
            return
        try:
            use(self._socket)
        except OSError:
            self.close()
            os.kill(os.getpid(), signal.SIGUSR1)


def tell(message: RankMessage) -> None:
    """Sends one message over a connection of its own."""
    speaker = Speaker()
    speaker.say(message)
    speaker.close()


class Told(AbstractContextManager[Callable[["Event"], None]]):
    """Passes the events of a run on to the supervisor."""

    def __init__(self, n_cells: int, unit: str, quiet: bool) -> None:
        self._facts: RankMessage = {"cells": n_cells, "unit": unit, "quiet": quiet}
        self._said = -PAUSE

    def __enter__(self) -> Callable[["Event"], None]:
        self._speaker = Speaker()
        self._speaker.say(self._facts)
        return self._tell

    def __exit__(self, *exception: object) -> None:
        self._speaker.say({"told": True})
        self._speaker.close()

    def _tell(self, event: "Event") -> None:
        if event.kind == "progress" and event.step < event.steps and time.monotonic() - self._said < PAUSE:
            return
        self._said = time.monotonic()
        self._speaker.say({"event": asdict(event)})


class Listener:
    """The supervisor's end of the connections."""

    def __init__(self, path: Path) -> None:
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listener.bind(str(path))
        self._listener.listen()
        self._rests: dict[socket.socket, bytes] = {}
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._listener, selectors.EVENT_READ)

    def fileno(self) -> int:
        """Returns the descriptor to wait for; it is readable when a message has come."""
        return self._selector.fileno()

    def messages(self) -> list[RankMessage]:
        """Returns the messages that have come since the last call."""
        found: list[RankMessage] = []
        while ready := self._selector.select(0):
            for key, _ in ready:
                one = key.fileobj
                assert isinstance(one, socket.socket)
                if one is self._listener:
                    connection, _ = one.accept()
                    self._rests[connection] = b""
                    self._selector.register(connection, selectors.EVENT_READ)
                else:
                    found += self._read(one)
        return found

    def close(self) -> None:
        """Closes all connections."""
        for one in (self._listener, *self._rests):
            one.close()
        self._selector.close()

    def _read(self, connection: socket.socket) -> list[RankMessage]:
        try:
            data = connection.recv(1 << 16)
        except ConnectionError:
            data = b""
        if not data:
            self._selector.unregister(connection)
            del self._rests[connection]
            connection.close()
            return []
        *lines, self._rests[connection] = (self._rests[connection] + data).split(b"\n")
        return [json.loads(line) for line in lines]
