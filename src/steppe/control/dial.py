"""The engine's end of the wire on a real socket: it dials, proves itself, listens, and dials again when the server has gone."""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from steppe.control.door import Door, nonce
from steppe.control.seal import Sealed
from steppe.control.ways import called
from steppe.control.wire import PROTOCOL, BadFrame, Buffer, Follow, FrameReader, Get, Greet, Hello, Leave, Message, Welcome, asked, frame
from steppe.failpoint import reach

SHORTEST, LONGEST = 0.02, 1.0  # [s] between two calls
LAST = 2.0  # [s] that the last message waits for a server


class Line:
    """The line to the server, whichever process that is.

    Parameters
    ----------
    folder
        The run folder, in which the door is.
    epoch, ranks
        Of this engine.
    hear
        Takes each message, on the thread that listens.
    joined
        Called on that thread when a server has taken the line.
    """

    def __init__(self, folder: Path, epoch: int, ranks: int, hear: Callable[[Any], None], joined: Callable[[], None]) -> None:
        self._folder, self._epoch, self._ranks, self._hear, self._joined = folder, epoch, ranks, hear, joined
        self._socket: socket.socket | Sealed | None = None
        self._lock = threading.Lock()  # one message at a time
        self._closed, self._journal = False, ""
        self.alone_since: float | None = time.monotonic()
        """Since when there is no server; None while there is one."""

    def say(self, message: Message, body: Buffer = b"") -> None:
        """Sends, if anybody listens; what matters is said again on the next line."""
        with self._lock:
            if self._socket is not None:
                try:
                    for part in frame(message, body):
                        self._socket.sendall(part)
                except OSError:
                    self._hang_up()

    def say_last(self, message: Message) -> None:
        """Sends the last message of this engine. Where no server is connected, waits for one for `LAST` seconds."""
        end = time.monotonic() + LAST
        while self.alone_since is not None and time.monotonic() < end:
            time.sleep(SHORTEST)
        self.say(message)

    def listen(self) -> None:
        """Dials and listens until `close`; the body of a thread."""
        wait = SHORTEST
        while not self._closed:
            try:
                self._talk()
                wait = SHORTEST
            except (OSError, ValueError, KeyError, BadFrame):
                pass
            with self._lock:
                self._hang_up()
            self.alone_since = self.alone_since or time.monotonic()
            time.sleep(wait)
            wait = min(2 * wait, LONGEST)

    def _talk(self) -> None:
        door = Door.read(self._folder)
        self._journal = self._journal or door.journal
        if door.journal != self._journal:  # the folder was removed, and is another run's now
            self._hear(Leave(False))
            raise BadFrame("Another run has this folder.")
        with closing(called(door)) as line:
            reader, mine = FrameReader(at_engine=True), nonce()
            greet = _receive(line, reader)
            if not isinstance(greet, Greet) or greet.protocol != PROTOCOL:
                raise BadFrame("The server speaks another protocol.")
            assert reach("hello.before")
            proof = door.prove(greet.nonce, self._epoch)
            for part in frame(Hello(PROTOCOL, self._epoch, proof, mine, os.getpid(), socket.gethostname(), self._ranks)):
                line.sendall(part)
            welcome = _receive(line, reader)
            if not isinstance(welcome, Welcome) or not door.is_proof(welcome.proof, mine):
                raise BadFrame("The server did not prove that it is ours.")
            line.settimeout(None)
            with self._lock:
                self._socket, self.alone_since = line, None
            self._joined()
            while True:
                self._hear(_receive(line, reader))

    def _hang_up(self) -> None:
        if self._socket is not None:
            with suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)
            self._socket = None

    def close(self) -> None:
        """Hangs up for good."""
        self._closed = True
        with self._lock:
            self._hang_up()


def _receive(line: socket.socket | Sealed, reader: FrameReader) -> Any:
    while True:
        count = line.recv_into(reader.space())
        if not count:
            raise ConnectionError("The server has gone.")
        if found := reader.filled(count):
            message, body = found
            return asked(message, body) if isinstance(message, Get | Follow) else message
