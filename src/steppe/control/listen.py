"""The server's end of the wire on a real socket: engines call, prove who they are, and become a link of the supervisor."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

from steppe.control.door import Door, nonce, uid_of
from steppe.control.supervisor import Supervisor
from steppe.control.wire import BODY_LIMIT, PROTOCOL, BadFrame, Buffer, FrameReader, Greet, Hello, Message, Welcome, frame

UNPROVED = 5.0  # [s] that a caller has to say who he is
CALLERS = 16  # that have not, at once


class Listener:
    """Listens at the door of a run for its engine, until it is closed."""

    def __init__(self, folder: Path, supervisor: Supervisor) -> None:
        self.folder, self.supervisor = folder, supervisor
        self.strangers = 0  # callers that have not proved who they are
        self.refused = 0
        self._server: asyncio.Server | None = None

    async def open(self) -> None:
        """Writes a new door and listens there."""
        self.door = Door.make(self.folder, self.supervisor.journal.id)
        loop = asyncio.get_running_loop()
        self._server = await loop.create_unix_server(lambda: _Caller(self), self.door.address)
        os.chmod(self.door.address, 0o600)

    def close(self) -> None:
        """Listens no more; links that there are stay."""
        if self._server:
            self._server.close()
            Path(self.door.address).unlink(missing_ok=True)


class _Caller(asyncio.BufferedProtocol):
    """One connection: a stranger first, then the link to an engine."""

    def __init__(self, listener: Listener) -> None:
        self._listener = listener
        self._reader = FrameReader(at_engine=False, body_limit=0)
        self._nonce = nonce()
        self._hear: Callable[[Any, bytearray], None] = self._prove
        self._transport: asyncio.Transport | None = None
        self._known = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Greets, and gives the caller some seconds."""
        self._transport = transport = cast(asyncio.Transport, transport)  # uvloop's own is of another class
        self._listener.strangers += 1
        uid = uid_of(transport.get_extra_info("socket"))
        if self._listener.strangers > CALLERS or uid not in (None, os.getuid()):
            self._refuse()
            return
        self._timer = asyncio.get_running_loop().call_later(UNPROVED, self._refuse)
        self.send(Greet(PROTOCOL, self._nonce))

    def _refuse(self) -> None:
        self._listener.refused += 1
        if self._transport:
            self._transport.abort()

    def get_buffer(self, sizehint: int) -> memoryview:
        """Bytes go where they stay."""
        return self._reader.space()

    def buffer_updated(self, nbytes: int) -> None:
        """Takes them."""
        try:
            found = self._reader.filled(nbytes)
        except BadFrame:
            self._refuse()
            return
        if found:
            self._hear(*found)

    def _prove(self, message: Any, body: bytearray) -> None:
        door = self._listener.door
        if not isinstance(message, Hello) or not door.is_proof(message.proof, self._nonce, message.epoch):
            self._refuse()
            return
        self._timer.cancel()
        self._known, self._reader.body_limit = True, BODY_LIMIT
        self._listener.strangers -= 1
        self._hear = self._pass_on
        self.send(Welcome(door.prove(message.nonce)))
        self._listener.supervisor.joined(self, message)

    def _pass_on(self, message: Any, body: bytearray) -> None:
        if isinstance(message, Hello):
            self._refuse()
            return
        self._listener.supervisor.heard(self, message, body)

    def connection_lost(self, exc: Exception | None) -> None:
        """The caller is gone."""
        if self._known:
            self._listener.supervisor.lost(self)
        else:
            self._listener.strangers -= 1
            if hasattr(self, "_timer"):
                self._timer.cancel()

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
