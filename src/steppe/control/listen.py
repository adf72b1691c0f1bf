"""The server's end of the wire on a real socket: engines call, prove who they are, and become a link of the supervisor."""

from __future__ import annotations

import asyncio
import logging
import socket
import ssl
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

from steppe.control.door import Door, nonce
from steppe.control.seal import new_certificate
from steppe.control.supervisor import Supervisor
from steppe.control.ways import address_of, is_mine, keep_alive, listening_at, listening_at_path
from steppe.control.wire import BODY_LIMIT, PROTOCOL, BadFrame, Buffer, FrameReader, Greet, Hello, Message, Welcome, frame

UNPROVED = 5.0  # [s] that a caller has to say who he is
CALLERS = 16  # that have not, at once
LOG = logging.getLogger("steppe.control")


class Listener:
    """Listens at the door of a run for its engine, until it is closed.

    Parameters
    ----------
    folder, supervisor
        Of the run.
    address
        Of this machine, for engines on others: host or host:port; "": a Unix socket in the run folder.
    sealed
        Whether the link to another machine is sealed by TLS.
    """

    def __init__(self, folder: Path, supervisor: Supervisor, address: str = "", sealed: bool = True) -> None:
        self.folder, self.supervisor, self._address, self._sealed = folder, supervisor, address, sealed
        self.strangers = 0  # callers that have not proved who they are
        self._context: ssl.SSLContext | None = None
        self._arriving: set[asyncio.Task[None]] = set()

    async def open(self) -> None:
        """Writes a new door and listens there.

        Raises
        ------
        Mistake, Failure
            Nobody can listen at the address, or no certificate can be made.
        """
        await asyncio.to_thread(self._make_door, self.supervisor.journal.id)
        self._listen()

    def _make_door(self, journal: str) -> None:
        if self._address:
            self._listening = listening_at(self._address)
            fingerprint = ""
            if self._sealed:
                self._context, fingerprint = new_certificate()
            self.door = Door.make(self.folder, journal, address_of(self._listening), fingerprint)
        else:
            self.door = Door.make(self.folder, journal)
            self._listening = listening_at_path(self.door.address)

    def _listen(self) -> None:
        if self._listening.fileno() >= 0:
            asyncio.get_running_loop().add_reader(self._listening, self._accept)

    def _accept(self) -> None:
        """Lets a caller in who is not one too many, and gives him some seconds from now on."""
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
            self.refuses("too many have not said who they are" if self.strangers >= CALLERS else "another user's process calls")
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
        """Counts a caller who is turned away."""
        self.supervisor.turned_away += 1
        LOG.info("A caller at the door of %s was turned away: %s", self.folder, why)

    async def close(self) -> None:
        """Listens no more; links that there are stay."""
        if self._listening.fileno() >= 0:
            asyncio.get_running_loop().remove_reader(self._listening)
            self._listening.close()
        if not self._address:
            await asyncio.to_thread(Path(self.door.address).unlink, missing_ok=True)


class _Caller(asyncio.BufferedProtocol):
    """One connection: a stranger first, then the link to an engine."""

    def __init__(self, listener: Listener) -> None:
        self._listener = listener
        self._reader = FrameReader(at_engine=False, body_limit=0)
        self._nonce = nonce()
        self._hear: Callable[[Any, bytearray], None] = self._prove
        self._transport: asyncio.Transport | None = None
        self._known, self._stranger = False, True
        self._timer = asyncio.get_running_loop().call_later(UNPROVED, self._refuse, "did not say who he is")
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
        """Bytes go where they stay."""
        return self._reader.space()

    def buffer_updated(self, nbytes: int) -> None:
        """Takes them."""
        try:
            found = self._reader.filled(nbytes)
        except BadFrame as error:
            self._refuse(str(error))
            return
        if found:
            self._hear(*found)

    def _prove(self, message: Any, body: bytearray) -> None:
        door = self._listener.door
        if not isinstance(message, Hello) or not door.is_proof(message.proof, self._nonce, message.epoch):
            self._refuse("he did not prove that he has read the door")
            return
        self.gone()
        self._known, self._reader.body_limit = True, BODY_LIMIT
        self._hear = self._pass_on
        self.send(Welcome(door.prove(message.nonce)))
        self._listener.supervisor.joined(self, message)

    def _pass_on(self, message: Any, body: bytearray) -> None:
        if isinstance(message, Hello):
            self._refuse("an engine said twice who it is")
            return
        self._listener.supervisor.heard(self, message, body)

    def connection_lost(self, exc: Exception | None) -> None:
        """The caller is gone."""
        self.gone()
        if self._known:
            self._listener.supervisor.lost(self)

    def gone(self) -> None:
        """This is no stranger any more: he has proved who he is, or has left."""
        if self._stranger:
            self._stranger = False
            self._timer.cancel()
            self._listener.strangers -= 1

    # ---- a link -----------------------------------------------------------------------------------------------------------------------
    def send(self, message: Message, body: Buffer = b"") -> None:
        """Sends, if the engine is there."""
        if self._transport and not self._transport.is_closing():
            self._transport.writelines(frame(message, body))

    def close(self) -> None:
        """Ends the connection when what was said is out."""
        if self._transport:
            self._transport.close()


class LoopClock:
    """The clock of the event loop."""

    def now(self) -> float:
        """Seconds that only grow."""
        return asyncio.get_running_loop().time()

    def wall(self) -> float:
        """Seconds since 1970."""
        return time.time()

    def later(self, seconds: float, call: Callable[[], None]) -> asyncio.TimerHandle:
        """Calls once, later."""
        return asyncio.get_running_loop().call_later(seconds, call)
