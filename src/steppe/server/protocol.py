"""HTTP on a connection: uvicorn's, with deadlines and sizes for incomplete requests, which no application sees.

What Steppe uses of uvicorn's private parts is here; that of its WebSockets in `live.line`. `pyproject.toml` bounds the versions.
"""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum
from typing import Any

import uvicorn
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle

from steppe.server.limits import Limits
from steppe.server.problems import problem
from steppe.service.limits import MIB


class HttpServer(uvicorn.Server):
    """uvicorn without its own signals."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leaves signals to the caller."""
        yield


class Phase(Enum):
    """The part of a request that arrives now."""

    NOTHING = "nothing"
    HEAD = "head"
    BODY = "body"


class _HeadError(Exception):
    """Stops the parser."""


class Protocol(HttpToolsProtocol):
    """One connection. A request that arrives in one piece needs no timer."""

    limits = Limits()
    last_seconds = 7.0  # for requests in work when the server ends

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """A client has connected."""
        super().connection_made(transport)
        self._phase, self._timer, self._stuck, self._last = Phase.NOTHING, None, None, None
        self._answered: RequestResponseCycle | None = None
        self._head_bytes = self._body_bytes = 0
        self._body_since = 0.0
        self._unfit = ("bad-http", "What arrived is no request of HTTP/1.1.")
        if len(self.connections) > self.limits.connections:
            self._refuse("too-busy", "The server has as many connections as it takes.")
            return
        self._arm(self.limits.header_seconds)

    def connection_lost(self, exc: Exception | None) -> None:
        """The client has gone."""
        self._disarm()
        for timer in (self._stuck, self._last):
            if timer is not None:
                timer.cancel()
        if self._answered is not None:  # uvicorn tells the request that arrived last, which may wait behind this one
            self._answered.disconnected = True
            self._answered.message_event.set()
        super().connection_lost(exc)

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        self._answered = cycle
        super()._start_asgi_task(cycle, app)

    def shutdown(self) -> None:
        """The server ends: requests in work have `last_seconds`, then the connection closes."""
        super().shutdown()
        self._last = self.loop.call_later(self.last_seconds, self.transport.abort)

    # ---- input -------------------------------------------------------------------------------------------------------------------
    def data_received(self, data: bytes) -> None:
        """Feeds the parser; an incomplete request gets a deadline."""
        if self._phase is not Phase.BODY:
            self._head_bytes += len(data)
        super().data_received(data)
        if self.transport.is_closing():
            return
        if self._phase is Phase.HEAD:
            if self._head_bytes > self.limits.headers + self.limits.address:
                self._refuse("headers-too-large", f"The headers have more than {self.limits.headers:,} bytes.")
            elif self._timer is None:
                self._arm(self.limits.header_seconds)
        elif self._phase is Phase.BODY:
            if self._timer is None:
                self._body_since = self.loop.time()
                self._arm(self.limits.body_seconds)
        elif self._timer is not None:
            self._disarm()

    def on_message_begin(self) -> None:
        """The first byte of a request."""
        self._phase = Phase.HEAD
        super().on_message_begin()

    def on_url(self, url: bytes) -> None:
        """A part of the address."""
        super().on_url(url)
        if len(self.url) > self.limits.address:
            self._unfit = ("address-too-long", f"The address has more than {self.limits.address:,} bytes.")
            raise _HeadError

    def on_headers_complete(self) -> None:
        """The application is called."""
        if self._head_bytes > self.limits.headers and sum(len(name) + len(value) + 4 for name, value in self.headers) > self.limits.headers:
            self._unfit = ("headers-too-large", f"The headers have more than {self.limits.headers:,} bytes.")
            raise _HeadError
        self._phase, self._head_bytes, self._body_bytes = Phase.BODY, 0, 0
        self._disarm()
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """A part of the body."""
        self._body_bytes += len(body)
        super().on_body(body)

    def on_message_complete(self) -> None:
        """The request is complete."""
        self._phase = Phase.NOTHING
        super().on_message_complete()

    def _should_upgrade(self) -> bool:
        """Accepts WebSockets at one address only."""
        return self.url.partition(b"?")[0].endswith(b"/live") and super()._should_upgrade()

    def handle_websocket_upgrade(self) -> None:
        """Hands the connection to another protocol."""
        self._phase = Phase.NOTHING
        self._disarm()
        super().handle_websocket_upgrade()

    # ---- deadlines ----------------------------------------------------------------------------------------------------------------------
    def _arm(self, seconds: float) -> None:
        self._timer = self.loop.call_later(seconds, self._late)

    def _disarm(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _late(self) -> None:
        self._timer = None
        if self._phase is Phase.BODY:
            left = self._body_since + self.limits.body_seconds + self._body_bytes / MIB - self.loop.time()
            if left > 0.01:
                self._arm(left)
                return
        self._refuse("too-slow", "The request did not arrive in time.")

    def pause_writing(self) -> None:
        """The client does not read."""
        super().pause_writing()
        if self._stuck is None:
            self._stuck = self.loop.call_later(self.limits.write_seconds, self.transport.abort)

    def resume_writing(self) -> None:
        """The client reads again."""
        super().resume_writing()
        if self._stuck is not None:
            self._stuck.cancel()
            self._stuck = None

    # ---- answers without the application ------------------------------------------------------------------------------------------------
    def send_400_response(self, msg: str) -> None:
        """Answers an error of the parser."""
        self._refuse(*self._unfit)

    def _refuse(self, code: str, detail: str) -> None:
        """Answers with a problem and closes. Closes only, within an answer or before any request."""
        self._disarm()
        begun = self.cycle is not None and self.cycle.response_started and not self.cycle.response_complete
        if not begun and not (code == "too-slow" and self._phase is Phase.NOTHING):
            reply = problem(code, detail, "", {})
            more = ((b"content-type", reply.media), (b"content-length", b"%d" % len(reply.body)), (b"connection", b"close"))
            lines = [name + b": " + value + b"\r\n" for name, value in (*reply.headers, *more)]
            self.transport.write(b"".join([STATUS_LINE[reply.status], *lines, b"\r\n", reply.body]))
        self.transport.close()

    _timer: asyncio.TimerHandle | None
    _stuck: asyncio.TimerHandle | None
    _last: asyncio.TimerHandle | None
