"""How requests travel: over `http.client` for programs that wait, over httpx for those with an event loop.

httpx takes a third of a millisecond of the processor for a request, `http.client` a tenth: a calibration sends thousands.
"""

import asyncio
import os
import socket
import time
from collections.abc import Mapping
from contextlib import suppress
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol
from urllib.parse import urlsplit

if TYPE_CHECKING:
    import ssl

CONNECTING, READING = 5.0, 30.0  # [s]


class LostError(Exception):
    """The connection could not be made, or ended before the reply. Its cause is the error of the network."""


class Reply(NamedTuple):
    """A reply. headers: by name in small letters."""

    status: int
    reason: str
    headers: Mapping[str, str]
    content: bytes


class Connections(Protocol):
    """Connections to one server, which are kept."""

    async def send(self, method: str, target: str, content: bytes | None, headers: Mapping[str, str]) -> Reply:
        """The reply to a request. target: path and query.

        Raises
        ------
        LostError
            There is none.
        """

    async def sleep(self, seconds: float) -> None:
        """Waits for a number of seconds."""

    async def close(self) -> None:
        """Ends all connections."""


class Waiting:
    """For programs that wait: no method ever waits for an event loop. Threads may use it together, and forks of the process.

    url: of the server. path: of its Unix socket, "" for none. verify: whether certificates are, or what verifies them.
    """

    def __init__(self, url: str, path: str, verify: "bool | ssl.SSLContext") -> None:
        self._url, self._path, self._verify = urlsplit(url), path, verify
        self._idle: list[HTTPConnection] = []
        self._process = os.getpid()

    async def send(self, method: str, target: str, content: bytes | None, headers: Mapping[str, str]) -> Reply:
        """See `Connections`."""
        if self._process != os.getpid():  # a fork that shares a connection with its parent gets the replies to the other one
            await self.close()
            self._process = os.getpid()
        try:
            connection = self._idle.pop()
        except IndexError:
            connection = self._new()
        whole = False
        try:
            connection.request(method, self._url.path + target, content, headers)
            answer = connection.getresponse()
            found = Reply(answer.status, answer.reason, {name.lower(): value for name, value in answer.getheaders()}, answer.read())
            whole = not answer.will_close
        except (OSError, HTTPException) as error:
            await self.close()  # the others have the same age
            raise LostError(str(error) or type(error).__name__) from error
        finally:
            if whole:
                self._idle.append(connection)
            else:
                connection.close()
        return found

    def _new(self) -> HTTPConnection:
        if self._path:
            return _Local(self._path)
        port = self._url.port
        if self._url.scheme == "http":
            return _AtOnce(self._url.hostname or "", port, timeout=CONNECTING)
        return _Secure(self._url.hostname or "", port, timeout=CONNECTING, context=_context(self._verify))

    async def sleep(self, seconds: float) -> None:
        """See `Connections`."""
        time.sleep(seconds)

    async def close(self) -> None:
        """See `Connections`."""
        with suppress(IndexError):
            while True:
                self._idle.pop().close()


class _AtOnce(HTTPConnection):
    """Sends head and body together, so that the server wakes up once, and is patient once it is connected."""

    def request(self, *arguments: Any, **more: Any) -> None:
        self._said: list[bytes] = []
        super().request(*arguments, **more)
        with suppress(BrokenPipeError, ConnectionResetError):  # what does not read on has often said why
            super().send(b"".join(self._said))

    def send(self, data: Any) -> None:
        self._said.append(data)

    def connect(self) -> None:
        super().connect()
        self.sock.settimeout(READING)


class _Secure(_AtOnce, HTTPSConnection):
    pass


class _Local(_AtOnce):
    def __init__(self, path: str) -> None:
        super().__init__("localhost")
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(CONNECTING)
        self.sock.connect(self._path)
        self.sock.settimeout(READING)


class Looping:
    """For programs with an event loop; the arguments are those of `Waiting`."""

    def __init__(self, url: str, path: str, verify: "bool | ssl.SSLContext") -> None:
        import httpx

        self._url, self._error = url, httpx.TransportError
        over = httpx.AsyncHTTPTransport(uds=path or None, verify=verify)
        self._http = httpx.AsyncClient(transport=over, timeout=httpx.Timeout(READING, connect=CONNECTING))

    async def send(self, method: str, target: str, content: bytes | None, headers: Mapping[str, str]) -> Reply:
        """See `Connections`."""
        try:
            answer = await self._http.request(method, self._url + target, content=content, headers=dict(headers))
        except self._error as error:
            raise LostError(str(error) or type(error).__name__) from error
        return Reply(answer.status_code, answer.reason_phrase, answer.headers, answer.content)

    async def sleep(self, seconds: float) -> None:
        """See `Connections`."""
        await asyncio.sleep(seconds)

    async def close(self) -> None:
        """See `Connections`."""
        await self._http.aclose()


def _context(verify: "bool | ssl.SSLContext") -> "ssl.SSLContext":
    import httpx

    return httpx.create_ssl_context(verify)  # the same authorities for both
