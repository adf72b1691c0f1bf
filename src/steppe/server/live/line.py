"""A WebSocket as viewers use it: whether all that was written is out, and bytes that are written as they are, encoded once for all.

What Steppe uses of the private parts of uvicorn's WebSockets, and of websockets behind them, is here.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Protocol, cast

from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.frames import Frame

from steppe.server.limits import Limits

EXTENSION = "steppe.line"  # of the scope
TEXT, BINARY = 0x81, 0x82  # whole messages
UNSENT = 1 << 16  # [byte] that the kernel may hold and has not sent: what lies there grows old
BORNE = 20.0  # [1/s] of pings, pongs and pieces of messages
LAST_WORD = 2.0  # [s] in which a client that did not read may read the reason of the end
LOG = logging.getLogger("steppe.server.live")


def message_of(content: bytes | bytearray, kind: int) -> bytes:
    """A message as it goes over the line (RFC 6455, 5.2); from a server it is not masked."""
    size = len(content)
    if size < 126:
        head = bytes((kind, size))
    elif size < 1 << 16:
        head = bytes((kind, 126)) + size.to_bytes(2, "big")
    else:
        head = bytes((kind, 127)) + size.to_bytes(8, "big")
    return head + content


class ViewerLink(Protocol):
    """The part of a connection that a viewer uses."""

    when_free: Callable[[], None]
    """Called when the line becomes free: all written bytes are sent."""

    free: bool
    """Whether the line is free: all written bytes are sent, and it is open."""
    packed: bool
    """Whether the client takes a packed `hello`."""
    write: Callable[[bytes], None]
    """Sends what `message_of` gave."""

    async def drained(self) -> None:
        """Returns when all written bytes are sent, or the connection is gone."""

    def end(self, code: int, reason: str) -> None:
        """Closes; unsent bytes are lost."""


class SocketProtocol(WebSocketsSansIOProtocol):
    """uvicorn's, which pauses as soon as anything waits here, and ends a client that reads nothing."""

    limits = Limits()

    def __init__(self, *arguments: Any, **more: Any) -> None:
        super().__init__(*arguments, **more)
        self.logger = LOG  # uvicorn's would write whole addresses
        self.when_free: Callable[[], None] = lambda: None
        self.free, self.packed = True, False
        self.write: Callable[[bytes], None] = lambda message: None
        self._stuck: asyncio.TimerHandle | None = None
        self._borne, self._borne_at = 0.0, 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """A client has connected."""
        super().connection_made(transport)
        self.transport.set_write_buffer_limits(high=1, low=0)  # under TLS a high of 0 would pause when nothing waits, too
        self.write = self.transport.write
        line = self.transport.get_extra_info("socket")
        if line is not None and line.family in (socket.AF_INET, socket.AF_INET6) and hasattr(socket, "TCP_NOTSENT_LOWAT"):
            with suppress(OSError):
                line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT, UNSENT)

    def handle_connect(self, event: Any) -> None:
        """A request; the application finds the line in its scope."""
        super().handle_connect(event)
        if self.response.status_code == 101:
            cast(dict[str, object], self.scope["extensions"])[EXTENSION] = self

    async def send(self, message: Any) -> None:
        """Passes on what the application says."""
        await super().send(message)
        if message["type"] == "websocket.http.response.body" and not message.get("more_body"):
            self.handshake_complete = True  # uvicorn would call the refusal an error of the application

    def handle_ping(self) -> None:
        """Answers, unless the client does not read answers."""
        if not self._bears():
            return
        if self.writable.is_set():
            super().handle_ping()
        else:
            self.conn.data_to_send()

    def handle_pong(self, event: Frame) -> None:
        """It is there."""
        if self._bears():
            super().handle_pong(event)

    def handle_cont(self, event: Frame) -> None:
        """A message in pieces."""
        if self._bears():
            super().handle_cont(event)

    def _bears(self) -> bool:
        """Whether pings and pieces, which no viewer needs to send, are still few enough; empty ones are in no other limit."""
        now = self.loop.time()
        self._borne = max(0.0, self._borne - (now - self._borne_at) * BORNE) + 1.0
        self._borne_at = now
        if self._borne > 2 * BORNE:
            self.end(1008, "too many pings or pieces")
        return not self.close_sent

    def connection_lost(self, exc: Exception | None) -> None:
        """The client has gone."""
        self._rest()
        self.free = False
        super().connection_lost(exc)
        # the collector would find what holds itself only much later, and viewers come and go
        self.when_free, self.write = lambda: None, lambda message: None
        cast(dict[str, object], getattr(self, "scope", {}).get("extensions", {})).pop(EXTENSION, None)

    def pause_writing(self) -> None:
        """The client does not read."""
        super().pause_writing()
        self.free = False
        if self._stuck is None:
            self._stuck = self.loop.call_later(self.limits.write_seconds, self.end, 1013, "nothing was read for long")

    def resume_writing(self) -> None:
        """The client reads again."""
        super().resume_writing()
        self._rest()
        if not self.close_sent:
            self.free = True
            self.when_free()

    def _rest(self) -> None:
        if self._stuck is not None:
            self._stuck.cancel()
            self._stuck = None

    # ---- a line -------------------------------------------------------------------------------------------------------------------------
    async def drained(self) -> None:
        """Returns when all written bytes are sent, or the connection is gone."""
        await self.writable.wait()

    def end(self, code: int, reason: str) -> None:
        """Closes, at once if the client does not read, and reports it to the application."""
        self._rest()
        if self.close_sent or self.transport.is_closing():
            return
        stuck, self.free = not self.writable.is_set(), False
        self.queue.put_nowait({"type": "websocket.disconnect", "code": code})
        self.conn.send_close(code, reason)
        self.transport.write(b"".join(self.conn.data_to_send()))
        self.close_sent, self.write = True, lambda message: None  # a frame after the close is an error of the protocol
        if self.read_paused:  # the client's answer is to be read
            self.read_paused = False
            self.transport.resume_reading()
        self.close_timer = self.loop.call_later(LAST_WORD if stuck else self.close_timeout, self.transport.abort)
