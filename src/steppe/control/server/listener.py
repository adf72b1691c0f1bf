"""The server's listening socket: engines connect, authenticate, and become links of the supervisor."""

from __future__ import annotations

import asyncio
import logging
import socket
import ssl
import time
from collections.abc import Callable
from pathlib import Path
from typing import cast

from steppe.control.framing import BODY_LIMIT, BadFrame, FrameReader, frame
from steppe.control.rendezvous import Rendezvous, nonce
from steppe.control.server.supervisor import Supervisor
from steppe.control.sockets import address_of, is_mine, keep_alive, tcp_listener, unix_listener
from steppe.control.tls import new_certificate
from steppe.control.wire import PROTOCOL, Buffer, Greet, Hello, Message, Welcome

UNPROVED = 5.0  # [s] for a caller to authenticate
CALLERS = 16  # unauthenticated callers at once
LOG = logging.getLogger("steppe.control")


class EngineListener:
    """Listens for the engine of a run, until it is closed.

    Parameters
    ----------
    folder, supervisor
        Of the run.
    address
        Of this machine, for engines on other machines: host or host:port; "": a Unix socket in the run folder.
    sealed
        Use TLS between two machines.
    """

    def __init__(self, folder: Path, supervisor: Supervisor, address: str = "", sealed: bool = True) -> None:
        self.folder, self.supervisor, self._address, self._sealed = folder, supervisor, address, sealed
        self.strangers = 0  # callers that have not authenticated
        self._context: ssl.SSLContext | None = None
        self._arriving: set[asyncio.Task[None]] = set()

    async def open(self) -> None:
        """Writes a new rendezvous and listens there.

        Raises
        ------
        Mistake, Failure
            No socket can listen at the address, or no certificate can be made.
        """
        await asyncio.to_thread(self._make_rendezvous, self.supervisor.journal.id)
        self._listen()

    def _make_rendezvous(self, journal: str) -> None:
        if self._address:
            self._listening = tcp_listener(self._address)
            fingerprint = ""
            if self._sealed:
                self._context, fingerprint = new_certificate()
            self.rendezvous = Rendezvous.make(self.folder, journal, address_of(self._listening), fingerprint)
        else:
            self.rendezvous = Rendezvous.make(self.folder, journal)
            self._listening = unix_listener(self.rendezvous.address)

    def _listen(self) -> None:
        if self._listening.fileno() >= 0:
            asyncio.get_running_loop().add_reader(self._listening, self._accept)

    def _accept(self) -> None:
        """Accepts a caller, unless there are too many, and starts its time limit."""
        loop = asyncio.get_running_loop()
        try:
            line, _ = self._listening.accept()
        except BlockingIOError:
            return
        except OSError:  # no more files can be open
            loop.remove_reader(self._listening)
            loop.call_later(1.0, self._listen)
            return
        if self.strangers >= CALLERS or not is_mine(line):
            self.refuses("too many callers have not authenticated" if self.strangers >= CALLERS else "it is a process of another user")
            line.close()
            return
        keep_alive(line)
        line.setblocking(False)
        caller = _Caller(self)
        task = loop.create_task(self._greet(caller, line))
        self._arriving.add(task)
        task.add_done_callback(self._arriving.discard)

    async def _greet(self, caller: _Caller, line: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        try:
            await loop.connect_accepted_socket(
                lambda: caller, line, ssl=self._context, ssl_handshake_timeout=UNPROVED if self._context else None
            )
        except OSError as error:  # no TLS, or not in time
            caller.gone()
            self.refuses(f"no TLS: {error}")

    def refuses(self, why: str) -> None:
        """Counts and logs a caller that is turned away."""
        self.supervisor.turned_away += 1
        LOG.info("A connection for the engine of %s was refused: %s", self.folder, why)

    async def close(self) -> None:
        """Closes the listening socket; open links stay."""
        if self._listening.fileno() >= 0:
            asyncio.get_running_loop().remove_reader(self._listening)
            self._listening.close()
        if not self._address:
            await asyncio.to_thread(Path(self.rendezvous.address).unlink, missing_ok=True)


class _Caller(asyncio.BufferedProtocol):
    """One connection: an unauthenticated caller first, then the link to an engine."""

    def __init__(self, listener: EngineListener) -> None:
        self._listener = listener
        self._reader = FrameReader(at_engine=False, body_limit=0)
        self._nonce = nonce()
        self._receive: Callable[[Message, bytearray], None] = self._prove
        self._transport: asyncio.Transport | None = None
        self._known, self._stranger = False, True
        self._timer = asyncio.get_running_loop().call_later(UNPROVED, self._refuse, "it did not authenticate in time")
        listener.strangers += 1

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Greets."""
        self._transport = cast(asyncio.Transport, transport)  # uvloop's own is of another class
        self.send(Greet(PROTOCOL, self._nonce))

    def _refuse(self, why: str) -> None:
        if self._transport and not self._transport.is_closing():
            self._listener.refuses(why)
            self._transport.abort()

    def get_buffer(self, sizehint: int) -> memoryview:
        """The buffer for the next bytes."""
        return self._reader.space()

    def buffer_updated(self, nbytes: int) -> None:
        """Passes on a message once it is complete."""
        try:
            found = self._reader.filled(nbytes)
        except BadFrame as error:
            self._refuse(str(error))
            return
        if found:
            self._receive(*found)

    def _prove(self, message: Message, body: bytearray) -> None:
        rendezvous = self._listener.rendezvous
        if not isinstance(message, Hello) or not rendezvous.is_proof(message.proof, self._nonce, message.epoch):
            self._refuse("it did not prove that it knows the secret of door.json")
            return
        self.gone()
        self._known, self._reader.body_limit = True, BODY_LIMIT
        self._receive = self._pass_on
        self.send(Welcome(rendezvous.prove(message.nonce)))
        self._listener.supervisor.engine_connected(self, message)

    def _pass_on(self, message: Message, body: bytearray) -> None:
        if isinstance(message, Hello):
            self._refuse("an engine sent a second Hello")
            return
        self._listener.supervisor.receive(self, message, body)

    def connection_lost(self, exc: Exception | None) -> None:
        """Reports the end of the connection."""
        self.gone()
        if self._known:
            self._listener.supervisor.connection_lost(self)

    def gone(self) -> None:
        """Removes this caller from the unauthenticated ones: it has authenticated, or has left."""
        if self._stranger:
            self._stranger = False
            self._timer.cancel()
            self._listener.strangers -= 1

    # ---- a link -----------------------------------------------------------------------------------------------------------------------
    def send(self, message: Message, body: Buffer = b"") -> None:
        """Sends, if the connection is open."""
        if self._transport and not self._transport.is_closing():
            self._transport.writelines(frame(message, body))

    def close(self) -> None:
        """Ends the connection after all messages have left."""
        if self._transport:
            self._transport.close()


class LoopScheduler:
    """The time of the event loop."""

    def now(self) -> float:
        """Monotonic seconds."""
        return asyncio.get_running_loop().time()

    def wall(self) -> float:
        """Seconds since 1970."""
        return time.time()

    def later(self, seconds: float, call: Callable[[], None]) -> asyncio.TimerHandle:
        """Calls a function once, after some seconds."""
        return asyncio.get_running_loop().call_later(seconds, call)
