"""The line to a server: requests that are sent again until they are answered, through crashes of the server.

Written once for both faces of the client: over `Waiting` nothing here ever waits for an event loop, so that `now` may run it.
"""

import math
import random
import time
from collections.abc import Coroutine, Mapping
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar
from urllib.parse import parse_qs, quote, urlencode, urlsplit

import msgspec

from steppe.client.refusals import NoAccessError, UnreachableError, lasting, raised
from steppe.client.transport import Connections, Looping, LostError, Reply, Waiting
from steppe.errors import Mistake

if TYPE_CHECKING:
    import ssl

Result = TypeVar("Result")
BASE = "/api/v1"
PATIENCE = 60.0  # [s] that a server may be away
PAUSES = (0.02, 1.0)  # [s] before a request is sent again: the first, and the longest


def now(work: Coroutine[Any, Any, Result]) -> Result:
    """The result of a coroutine that never waits for an event loop."""
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
            It is no address, or it is a file.
        """
        whole, _, fragment = str(text).partition("#")
        token = token or (parse_qs(fragment).get("token") or [otherwise])[0]
        if whole.startswith("unix:"):
            return cls("http://localhost", token, whole.removeprefix("unix:"))
        if "://" not in whole and (whole.endswith(".toml") or Path(whole).is_file()):
            text = f'"{whole}" names a file; connect takes the address of a server, such as http://127.0.0.1:8090.'
            raise Mistake(f'{text} Open a run file with steppe.Simulation("{whole}"), or serve it: steppe serve {whole}.')
        try:
            parts = urlsplit(whole if "://" in whole else f"http://{whole}")
            fits = parts.scheme in ("http", "https") and parts.hostname and not parts.query and parts.port != 0
        except ValueError:  # a bracket that is not closed, or a port that is no number up to 65535
            fits = False
        if not fits:
            raise Mistake(f'"{whole}" is no address of a server. Give one such as http://127.0.0.1:8090 or unix:/run/steppe.sock.')
        return cls(f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/')}", token, "")


class HttpClient:
    """Requests to one server.

    Parameters
    ----------
    url
        Of the server.
    transport
        How they travel.
    headers
        Of all of them.
    patience
        Seconds for which a request is sent again while no server answers or it is not ready.
    """

    address = Address("", "", "")  # of a line that `to` made
    verify: "bool | ssl.SSLContext" = True  # whether certificates are, or what verifies them

    def __init__(self, url: str, transport: Connections, headers: Mapping[str, str], patience: float) -> None:
        self.url, self._transport, self.headers, self.patience = url, transport, dict(headers), patience
        self._met = False  # whether a server has answered

    @classmethod
    def to(cls, address: Address, asynchronous: bool, patience: float, verify: "bool | ssl.SSLContext" = True) -> "HttpClient":
        """A line to an address. verify: False, or an `ssl.SSLContext` that knows a certificate of one's own."""
        transport = (Looping if asynchronous else Waiting)(address.url, address.socket, verify)
        line = cls(address.url, transport, {"authorization": f"Bearer {address.token}"} if address.token else {}, patience)
        line.address, line.verify = address, verify
        return line

    async def ask(
        self,
        method: str,
        path: str,
        query: Mapping[str, object] | None = None,
        content: bytes | None = None,
        media: str = "application/json",
        patience: float | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Reply:
        """The reply to a request below /api/v1. It is sent again, as it is, after a lost connection and when the server says when to.

        patience: seconds for which it is sent again, when they are not those of the line.

        Raises
        ------
        RefusedError
            The server refuses it.
        EngineFailedError
            The run has none any more.
        UnreachableError
            The server did not answer for `patience` seconds, or it cannot: its name is unknown, or its certificate is not accepted.
        """
        said = {**self.headers, **(headers or {}), **({"content-type": media} if content is not None else {})}
        target = BASE + quote(path) + (f"?{urlencode(query, doseq=True, safe=',')}" if query else "")
        patience = self.patience if patience is None else patience
        give_up, pause, last = time.monotonic() + patience, PAUSES[0], ""
        while True:
            try:
                reply = await self._transport.send(method, target, content, said)
            except LostError as error:
                if text := lasting(error, self.url, self._met):
                    raise UnreachableError(text) from None
                last = str(error)
                wait = pause
                pause = min(2 * pause, PAUSES[1])
            else:
                self._met = True
                if reply.status < 400:
                    return reply
                facts = problem_of(reply.status, reply.content, f"{urlsplit(self.url).hostname} answered {reply.status} {reply.reason}.")
                if reply.status not in (429, 503) or "retry-after" not in reply.headers:
                    raise _with_advice(raised(facts))
                last = str(facts.get("detail", facts.get("title")))
                wait = min(_seconds(reply.headers["retry-after"]), pause if reply.status == 503 else 1.0)
                pause = min(2 * pause, PAUSES[1])
            if time.monotonic() + wait > give_up:
                where = f"unix:{self.address.socket}" if self.address.socket else self.url
                there = "there, without TLS (https)" if where.startswith("http:") and not self._met else "there"
                raise UnreachableError(f"{where} did not answer for {patience:g} s: {last.rstrip('.')}. Is steppe serve running {there}?")
            await self._transport.sleep(wait * random.uniform(0.8, 1.0))  # not all clients at the same moment

    async def pass_on(self, method: str, target: str, content: bytes | None, headers: Mapping[str, str]) -> Reply:
        """The reply to a request of another client, sent once; any status. target: path and query; raises LostError."""
        return await self._transport.send(method, target, content, {**headers, **self.headers})

    async def close(self) -> None:
        """Ends all connections."""
        await self._transport.close()


def _seconds(retry_after: str) -> float:
    """Seconds until the time that a server or a proxy gives, as a number or as a date; infinite if it is neither."""
    if retry_after.strip().isdecimal():
        return float(retry_after)
    try:
        return max(parsedate_to_datetime(retry_after).timestamp() - time.time(), 0.0)
    except (ValueError, OverflowError):
        return math.inf


def problem_of(status: int, content: bytes | bytearray, otherwise: str) -> dict[str, object]:
    """The members of a problem. otherwise: the detail of what came from something between, such as a proxy."""
    try:
        return msgspec.json.decode(content, type=dict[str, Any]) | {"status": status}
    except msgspec.DecodeError:
        return {"status": status, "detail": otherwise}


def _with_advice(error: Exception) -> Exception:
    if isinstance(error, NoAccessError) and error.code == "not-authenticated":
        text = f"{error} Give a token of the server: steppe.connect(address, token=...)."
        return NoAccessError(text, error.facts)
    return error
