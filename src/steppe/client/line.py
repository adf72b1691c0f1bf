"""The line to a server: requests that are sent again until they are answered, whoever dies in between.

Written once for both faces of the client: over an `httpx.Client` nothing here ever waits for an event loop, so that `now` may run it.
"""

import asyncio
import random
import time
from collections.abc import Coroutine, Mapping
from inspect import isawaitable
from typing import Any, NamedTuple, TypeVar
from urllib.parse import parse_qs, urlsplit

import httpx
import msgspec

from steppe.client.problems import NoAccessError, UnreachableError, raised
from steppe.errors import Mistake

Result = TypeVar("Result")
BASE = "/api/v1"
PATIENCE = 60.0  # [s] that a server may be away
TIMEOUT = httpx.Timeout(30.0, connect=5.0)
PAUSES = (0.02, 1.0)  # [s] before a request is sent again: the first, and the longest


def now(work: Coroutine[Any, Any, Result]) -> Result:
    """What a coroutine gives that never waits for an event loop."""
    try:
        work.send(None)
    except StopIteration as end:
        result: Result = end.value
        return result
    raise RuntimeError("The coroutine waits for an event loop. This is a defect of Steppe.")


class Address(NamedTuple):
    """Where a server is. socket: the path of a Unix socket, "" for none."""

    url: str
    token: str
    socket: str

    @classmethod
    def of(cls, text: str, token: str | None, otherwise: str = "") -> "Address":
        """From what `steppe serve` printed: http://host:port, https://..., unix:/path, with or without #token=... behind it.

        otherwise: the token when there is none.

        Raises
        ------
        Mistake
            It is no address.
        """
        whole, _, fragment = text.partition("#")
        token = token or (parse_qs(fragment).get("token") or [otherwise])[0]
        if whole.startswith("unix:"):
            return cls("http://localhost", token, whole.removeprefix("unix:"))
        parts = urlsplit(whole if "://" in whole else f"http://{whole}")
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.query:
            raise Mistake(f'"{whole}" is no address of a server. Give one such as http://127.0.0.1:8090 or unix:/run/steppe.sock.')
        return cls(f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/')}", token, "")


class Line:
    """Requests to one server.

    Parameters
    ----------
    http
        Of httpx, with the address and the token in it.
    patience
        Seconds for which a request is sent again while no server answers or it is not ready.
    """

    def __init__(self, http: httpx.Client | httpx.AsyncClient, patience: float) -> None:
        self._http, self._patience = http, patience
        self._headers = httpx.Headers(http.headers)

    @classmethod
    def to(cls, address: Address, asynchronous: bool, patience: float, verify: Any = True) -> "Line":
        """A line to an address. verify: as httpx takes it; the path of a certificate of one's own, for instance."""
        headers = {"authorization": f"Bearer {address.token}"} if address.token else {}
        rest: dict[str, Any] = {"base_url": address.url, "headers": headers, "timeout": TIMEOUT}
        if asynchronous:
            over = httpx.AsyncHTTPTransport(uds=address.socket or None, verify=verify)
            return cls(httpx.AsyncClient(transport=over, **rest), patience)
        return cls(httpx.Client(transport=httpx.HTTPTransport(uds=address.socket or None, verify=verify), **rest), patience)

    @property
    def url(self) -> str:
        """The address."""
        return str(self._http.base_url).rstrip("/")

    async def ask(
        self,
        method: str,
        path: str,
        query: Mapping[str, Any] | None = None,
        content: bytes | None = None,
        media: str = "application/json",
        patience: float | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> httpx.Response:
        """The reply to a request below /api/v1. It is sent again, as it is, after a lost connection and when the server says when to.

        patience: seconds for which it is sent again, when they are not those of the line.

        Raises
        ------
        RefusedError
            The server does not meet it.
        EngineFailedError
            The run has none any more.
        UnreachableError
            Nobody answered for `patience` seconds.
        """
        said = dict(headers or {}) | ({"content-type": media} if content is not None else {})
        request = self._http.build_request(method, BASE + path, params=dict(query or {}), content=content, headers=said)
        patience = self._patience if patience is None else patience
        give_up, pause, last = time.monotonic() + patience, PAUSES[0], ""
        while True:
            try:
                reply = await self._send(request)
            except httpx.TransportError as error:
                last = str(error) or type(error).__name__
                wait = pause
                pause = min(2 * pause, PAUSES[1])
            else:
                if reply.status_code < 400:
                    return reply
                facts = _facts(reply)
                if reply.status_code not in (429, 503) or "retry-after" not in reply.headers:
                    raise _with_advice(raised(facts))
                last = str(facts.get("detail", facts.get("title")))
                wait = min(float(reply.headers["retry-after"]), pause if reply.status_code == 503 else 1.0)
                pause = min(2 * pause, PAUSES[1])
            if time.monotonic() + wait > give_up:
                raise UnreachableError(f"{self.url} did not answer for {patience:g} s: {last.rstrip('.')}. Is steppe serve running there?")
            await self.sleep(wait * random.uniform(0.8, 1.0))  # not all clients at the same moment

    async def _send(self, request: httpx.Request) -> httpx.Response:
        reply = self._http.send(request)
        return await reply if isawaitable(reply) else reply

    async def sleep(self, seconds: float) -> None:
        """Waits in the way of its face."""
        if isinstance(self._http, httpx.AsyncClient):
            await asyncio.sleep(seconds)
        else:
            time.sleep(seconds)

    async def close(self) -> None:
        """Ends all connections."""
        if isinstance(self._http, httpx.AsyncClient):
            await self._http.aclose()
        else:
            self._http.close()


def _facts(reply: httpx.Response) -> dict[str, Any]:
    try:
        facts = msgspec.json.decode(reply.content, type=dict[str, Any])
    except msgspec.DecodeError:  # it came from something between
        return {"status": reply.status_code, "detail": f"{reply.url.host} answered {reply.status_code} {reply.reason_phrase}."}
    return facts | {"status": reply.status_code}


def _with_advice(error: Exception) -> Exception:
    if isinstance(error, NoAccessError) and error.code == "not-authenticated":
        text = f"{error} Give the token that steppe serve printed: steppe.connect(address, token=...)."
        return NoAccessError(text, error.facts)
    return error
