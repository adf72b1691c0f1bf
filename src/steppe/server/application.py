"""The server as one ASGI application. It connects the parts; no other file knows all of them."""

from __future__ import annotations

import asyncio
import errno
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping, Sequence
from pathlib import Path
from time import perf_counter

from steppe.control import Refused
from steppe.errors import DamagedError, NoSpaceError
from steppe.server.access import Access
from steppe.server.compression import TEXT, compressed
from steppe.server.context import ServerContext
from steppe.server.doors import (
    Hosts,
    Origins,
    Prefix,
    Proxies,
    RequestRates,
    authenticate,
    check_key,
    check_role,
    check_size,
    check_type,
    identify,
    payer,
)
from steppe.server.doors.authentication import tokens_of
from steppe.server.doors.origin import LOCAL
from steppe.server.limits import Limits
from steppe.server.live import check_protocol, serve_viewer
from steppe.server.problems import problem
from steppe.server.request import Disconnection, Headers, Receive, Redirection, Request, Response, Scope, Send
from steppe.server.routes import TABLE, Route, RouteTable
from steppe.server.tokens import TokenFile
from steppe.service import Opener, Supervisor

LOG = logging.getLogger("steppe.server")
ONCE = tuple(  # headers that may come once
    b"host content-length authorization origin cookie idempotency-key content-type if-match if-step x-forwarded-prefix".split()
)
CONTENT_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; connect-src 'self'; "
    "frame-ancestors 'self'; base-uri 'none'; form-action 'none'"
)
NOSNIFF = (b"x-content-type-options", b"nosniff")
SAFE: Headers = ((b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"), NOSNIFF)  # of replies that are no page
SAFE_PAGE: Headers = (
    (b"content-security-policy", CONTENT_POLICY.encode()),
    NOSNIFF,
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
)
ENGINES_WORDS = {
    "grid": "region-invalid",
    "model": "bad-field",
    "mistake": "bad-field",
    "no-space": "disk-full",
    "bad-cell": "engine-failed",
}
Door = Callable[[Request], None]
Handle = Callable[[Route], Awaitable[Response]]
BARE = (204, 304)  # statuses without a body


class Server:
    """The application. Hand it to uvicorn with `configuration`."""

    def __init__(self, context: ServerContext, before: tuple[Door, ...], origins: Origins, rates: RequestRates, table: RouteTable) -> None:
        self.context, self._origins, self._rates, self._table = context, origins, rates, table
        self._before: tuple[Door, ...] = (*before, origins.drop_cookie)
        # before the files of tokens are read, so that a request without a token is charged for that
        self._of_all: tuple[Door, ...] = (identify, rates)
        self._of_sockets: tuple[Door, ...] = (authenticate, origins, check_protocol)
        self._behind: tuple[Door, ...] = (check_size, authenticate, origins, check_type, check_role, check_key)

    def drain(self) -> None:
        """Refuses further orders and ends streams. Requests in work are answered."""
        self.context.draining.set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Speaks ASGI 3."""
        if scope["type"] == "http":
            await self._answer(scope, receive, send)
        elif scope["type"] == "lifespan":
            await _lifespan(receive, send)
        else:
            await self._meet(scope, receive, send)

    async def _meet(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serves a live socket, or refuses it with a reply of HTTP."""
        begin = perf_counter()
        request = Request(self.context, {**scope, "method": "GET"}, receive, _joined(scope["headers"]))
        await receive()
        try:
            reply = await self._replied(request, self._of_sockets, None)
            if reply is None:
                request.status = 101
                await serve_viewer(request, receive, send)
            else:
                await self._send(request, reply, send, "websocket.http")
        finally:
            self._note(request, perf_counter() - begin)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        begin = perf_counter()
        request = Request(self.context, scope, receive, _joined(scope["headers"]))
        try:
            reply = await self._replied(request, self._behind, lambda route: route.handler(request))
            assert reply is not None
            await self._send(request, reply, send)
        except Disconnection:
            return
        finally:
            self._note(request, perf_counter() - begin)

    async def _replied(self, request: Request, doors: tuple[Door, ...], handle: Handle | None) -> Response | None:
        """The reply of the handler, or of the door that refused; None if all doors passed the request and there is no handler."""
        try:
            if len(request.headers) < len(request.scope["headers"]):
                _check_once(request)
            for door in self._before:
                door(request)
            if request.scope["method"] == "OPTIONS" and (reply := self._origins.preflight(request)):
                return reply
            request.route, request.parameters = self._table.find(request.scope["method"], request.path)
            for door in self._of_all:
                door(request)
            if await request.context.access.look(*tokens_of(request)):
                identify(request)  # again: a file may have brought or taken the token
            for door in doors:
                door(request)
            if handle is None:
                request.context.run(request.parameters["run"])
                return None
            return await handle(request.route)
        except Redirection:
            query = request.scope["query_string"]
            return Response(308, media=b"text/plain", headers=((b"location", b"/?" + query if query else b"/"),))  # `_send` adds the prefix
        except Refused as refused:
            return _problem(request, ENGINES_WORDS.get(refused.code, refused.code), refused.detail, refused.facts)
        except (NoSpaceError, OSError) as error:
            if isinstance(error, OSError) and error.errno not in (errno.ENOSPC, errno.EDQUOT):
                return self._defect(request)
            text = "The disk is full. Nothing of this request was stored. Make room."
            if request.route is not None and request.route.steering and request.principal is not None:
                text += " Then send the order with a new key."
                request.run.journal.refuse_without_room(request.principal.name, request.key)
            return _problem(request, "disk-full", text)
        except DamagedError as error:
            return _problem(request, "engine-failed", str(error))
        except Disconnection:
            raise
        except Exception:
            return self._defect(request)

    async def _send(self, request: Request, reply: Response, send: Send, kind: str = "http") -> None:
        if reply.media in TEXT:
            reply = await compressed(request, reply)
        await _send(request, reply, send, self._origins.headers(request), kind)

    def _defect(self, request: Request) -> Response:
        LOG.exception("%s %r failed", request.scope["method"], request.scope["path"])
        return _problem(request, "defect", "The server has a defect. Its log tells more.")

    def _note(self, request: Request, seconds: float) -> None:
        route = request.route
        self.context.metrics.count(request.scope["method"], route.path if route else "-", request.status, request.sent, seconds)
        if route is not None and route.by_bytes:
            self._rates.spend(payer(request), request.sent)
        if LOG.isEnabledFor(logging.INFO):
            who = request.principal.name if request.principal else "-"
            path = request.scope["path"][:200]
            said = request.address or "-", who, request.scope["method"], path, request.status, request.sent, 1e3 * seconds
            LOG.info("%s %s %s %r %d %d bytes %.1f ms", *said)


def application(
    runs: Mapping[str, Supervisor],
    access: Access,
    limits: Limits | None = None,
    hosts: Iterable[str] = LOCAL,
    prefix: str = "",
    proxies: Iterable[str] = (),
    read_only: bool = False,
    opener: Opener | None = None,
    readable: Sequence[Path] = (),
    origins: Iterable[str] = (),
) -> Server:
    """The server of some runs.

    Parameters
    ----------
    runs
        Name -> run; more may be put into `server.context.runs` later.
    access
        The tokens that open the server; those that were made for one of the runs open that one, too.
    limits
        How much may be asked.
    hosts
        Names by which the server may be called, without ports.
    prefix
        What stands before all addresses, such as "/steppe", where a proxy passes on a part of its own.
    proxies
        Addresses of proxies whose headers X-Forwarded-Prefix and X-Forwarded-For are believed.
    read_only
        Whether clients may read only, and order nothing.
    opener
        Begins and ends runs; None: there are only those that are handed in.
    readable
        Folders that new runs may name, beside that of the opener.
    origins
        Other sites whose scripts may call, with a token in a header.
    """
    limits = limits or Limits()
    access.take_from({name: TokenFile(run.folder) for name, run in runs.items()})
    rates = RequestRates(limits)
    context = ServerContext(runs, access, limits, rates.requests_left, read_only, opener, readable)
    return Server(context, (Hosts(hosts), Proxies(proxies), Prefix(prefix)), Origins(origins), rates, TABLE)


def _problem(request: Request, code: str, detail: str, facts: Mapping[str, object] | None = None) -> Response:
    instance = request.prefix + request.path if request.path else request.scope["path"]
    return problem(code, detail, instance, facts or {}, request.prefix)


def _joined(headers: Iterable[tuple[bytes, bytes]]) -> dict[bytes, bytes]:
    """Headers by name; lines of one name are one list (RFC 9110, 2022, section 5.3)."""
    found: dict[bytes, bytes] = {}
    for name, value in headers:
        found[name] = found[name] + b", " + value if name in found else value
    return found


def _check_once(request: Request) -> None:
    names = [name for name, _ in request.scope["headers"]]
    for name in ONCE:
        if names.count(name) > 1:
            raise Refused("bad-header", f"The header {name.decode()} comes more than once.", position=name.decode())


async def _send(request: Request, reply: Response, send: Send, more: Headers, kind: str) -> None:
    """Sends a reply. Pieces are neither joined nor copied. more: headers; kind: of the ASGI messages."""
    request.status = reply.status
    pieces = [piece for piece in (reply.body, *reply.parts) if len(piece)]
    length = sum(map(len, pieces))  # they are bytes, or views of bytes
    headers = [*more, *(SAFE_PAGE if reply.media.startswith(b"text/html") else SAFE), (b"cache-control", reply.cache)]
    before = request.prefix.encode()
    headers += [(name, before + value) if name == b"location" else (name, value) for name, value in reply.headers]
    if reply.status not in BARE:
        headers.append((b"content-type", reply.media))
        if reply.stream is None:
            headers.append((b"content-length", b"%d" % length))
    await send({"type": f"{kind}.response.start", "status": reply.status, "headers": headers})
    if reply.stream is not None and request.scope["method"] != "HEAD":
        await _send_stream(request, reply.stream, send)
        return
    if reply.stream is not None:
        await reply.stream.aclose()
    request.sent = length
    last = pieces.pop() if pieces else b""
    for piece in pieces:
        await send({"type": f"{kind}.response.body", "body": piece, "more_body": True})
    await send({"type": f"{kind}.response.body", "body": last, "more_body": False})


async def _send_stream(request: Request, stream: AsyncGenerator[bytes], send: Send) -> None:
    """Sends the pieces of a stream until it ends or the client has gone."""
    left = asyncio.ensure_future(_left(request))
    following = asyncio.ensure_future(anext(stream))
    try:
        while True:
            await asyncio.wait((left, following), return_when=asyncio.FIRST_COMPLETED)
            if left.done():
                return
            try:
                piece = following.result()
            except StopAsyncIteration:
                await send({"type": "http.response.body", "body": b"", "more_body": False})
                return
            await send({"type": "http.response.body", "body": piece, "more_body": True})
            request.sent += len(piece)
            following = asyncio.ensure_future(anext(stream))
    finally:
        left.cancel()
        following.cancel()
        await asyncio.gather(left, following, return_exceptions=True)
        await stream.aclose()


async def _left(request: Request) -> None:
    """Returns when the client has gone."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


async def _lifespan(receive: Receive, send: Send) -> None:
    while True:
        message = await receive()
        await send({"type": f"{message['type']}.complete"})
        if message["type"] == "lifespan.shutdown":
            return
