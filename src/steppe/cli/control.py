"""What ranks tell the process that started them: lines of JSON over a Unix socket, named by an environment variable.

    {"ready": 8}         all ranks are there and listen to requests to stop
    {"cells": 15195}     how many cells a step has: the measure of the progress that follows
    {"event": {...}}     a `steppe.engine.Event`
    {"told": true}       no more events: what is written next finds the screen free
    {"outcome": 1}       the exit code with which a rank ends all, from that rank; the rest is told by rank 0

No side waits for an answer. When the other side is gone, the run stops, as by the signal: no supervisor is left.
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
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from steppe.engine import Event

VARIABLE = "STEPPE_CONTROL"
PAUSE = 0.1  # [s] at least between two events of progress


def supervised() -> bool:
    """Whether another process started this rank and shows what it tells."""
    return VARIABLE in os.environ


class Speaker:
    """One line to the supervisor; without one it says nothing."""

    def __init__(self) -> None:
        self._socket: socket.socket | None = None
        if supervised():
            self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            self._try(lambda line: line.connect(os.environ[VARIABLE]))

    def say(self, message: dict[str, Any]) -> None:
        """Sends `message`."""
        data = json.dumps(message).encode() + b"\n"
        self._try(lambda line: line.sendall(data))

    def close(self) -> None:
        """Hangs up."""
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


def tell(message: dict[str, Any]) -> None:
    """Sends one message."""
    speaker = Speaker()
    speaker.say(message)
    speaker.close()


class Told(AbstractContextManager[Callable[["Event"], None]]):
    """Events of a run, passed on to the supervisor."""

    def __init__(self, n_cells: int, unit: str = "day") -> None:
        self._facts = {"cells": n_cells, "unit": unit}
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
    """The supervisor's end."""

    def __init__(self, path: Path) -> None:
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listener.bind(str(path))
        self._listener.listen()
        self._rests: dict[socket.socket, bytes] = {}
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._listener, selectors.EVENT_READ)

    def fileno(self) -> int:
        """What can be waited for: it is readable when something is."""
        return self._selector.fileno()

    def messages(self) -> list[dict[str, Any]]:
        """What has come since the last time."""
        found: list[dict[str, Any]] = []
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
        """Hangs up."""
        for one in (self._listener, *self._rests):
            one.close()
        self._selector.close()

    def _read(self, connection: socket.socket) -> list[dict[str, Any]]:
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
