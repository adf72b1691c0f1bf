"""The engine's socket to its server: connects, authenticates, receives, and connects again when the server has gone."""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path

from steppe.control.framing import BadFrame, FrameReader, attach_cells, frame
from steppe.control.rendezvous import Rendezvous, nonce
from steppe.control.sockets import connect
from steppe.control.tls import TlsClient
from steppe.control.wire import PROTOCOL, Buffer, Follow, Get, Greet, Hello, Message, Shutdown, Welcome
from steppe.failpoint import reach

SHORTEST, LONGEST = 0.02, 1.0  # [s] between two attempts to connect
LAST = 2.0  # [s] that the last message waits for a server


class ServerConnection:
    """The connection to the server of a run, which may be several processes one after the other.

    Parameters
    ----------
    folder
        The run folder, which holds the rendezvous.
    epoch, ranks
        Of this engine.
    receive
        Called with each message, on the listening thread.
    connected
        Called on that thread when a server has accepted the engine.
    """

    def __init__(self, folder: Path, epoch: int, ranks: int, receive: Callable[[Message], None], connected: Callable[[], None]) -> None:
        self._folder, self._epoch, self._ranks, self._receive, self._connected = folder, epoch, ranks, receive, connected
        self._socket: socket.socket | TlsClient | None = None
        self._lock = threading.Lock()  # one message at a time
        self._closed, self._journal = False, ""
        self.alone_since: float | None = time.monotonic()
        """Time of the loss of the last server; None while one is connected."""

    def send(self, message: Message, body: Buffer = b"") -> None:
        """Sends, if a server is connected. Messages that matter are sent again on the next connection."""
        with self._lock:
            if self._socket is not None:
                try:
                    for part in frame(message, body):
                        self._socket.sendall(part)
                except OSError:
                    self._disconnect()

    def send_last(self, message: Message) -> None:
        """Sends the last message of this engine. Where no server is connected, waits for one for `LAST` seconds."""
        end = time.monotonic() + LAST
        while self.alone_since is not None and time.monotonic() < end:
            time.sleep(SHORTEST)
        self.send(message)

    def listen(self) -> None:
        """Connects and receives until `close`; the body of a thread."""
        wait = SHORTEST
        while not self._closed:
            try:
                self._converse()
                wait = SHORTEST
            except (OSError, ValueError, KeyError, BadFrame):
                pass
            with self._lock:
                self._disconnect()
            self.alone_since = self.alone_since or time.monotonic()
            time.sleep(wait)
            wait = min(2 * wait, LONGEST)

    def _converse(self) -> None:
        rendezvous = Rendezvous.read(self._folder)
        self._journal = self._journal or rendezvous.journal
        if rendezvous.journal != self._journal:  # the folder was removed, and belongs to another run now
            self._receive(Shutdown(False))
            raise BadFrame("The folder belongs to another run.")
        with closing(connect(rendezvous)) as connection:
            reader, mine = FrameReader(at_engine=True), nonce()
            greet = _receive(connection, reader)
            if not isinstance(greet, Greet):
                raise BadFrame("The server did not greet.")
            if greet.protocol != PROTOCOL:  # of another version, which starts an engine of its own once this one has left the folder
                self._receive(Shutdown(True))
                raise BadFrame("The server speaks another protocol.")
            assert reach("hello.before")
            proof = rendezvous.prove(greet.nonce, self._epoch)
            for part in frame(Hello(PROTOCOL, self._epoch, proof, mine, os.getpid(), socket.gethostname(), self._ranks)):
                connection.sendall(part)
            welcome = _receive(connection, reader)
            if not isinstance(welcome, Welcome) or not rendezvous.is_proof(welcome.proof, mine):
                raise BadFrame("The server did not prove that it knows the secret.")
            connection.settimeout(None)
            with self._lock:
                self._socket, self.alone_since = connection, None
            self._connected()
            while True:
                self._receive(_receive(connection, reader))

    def _disconnect(self) -> None:
        if self._socket is not None:
            with suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)
            self._socket = None

    def close(self) -> None:
        """Closes the connection and makes no other."""
        self._closed = True
        with self._lock:
            self._disconnect()


def _receive(connection: socket.socket | TlsClient, reader: FrameReader) -> Message:
    while True:
        count = connection.recv_into(reader.space())
        if not count:
            raise ConnectionError("The server has gone.")
        if found := reader.filled(count):
            message, body = found
            return attach_cells(message, body) if isinstance(message, Get | Follow) else message
