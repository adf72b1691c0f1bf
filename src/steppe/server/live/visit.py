"""A visit at the live socket: identifies the client, then passes on its messages, until one side ends it."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING

from steppe.api import PACKED, PROTOCOL, Said
from steppe.control import Refused
from steppe.server.doors.authentication import principal_of, still_valid
from steppe.server.live.feed import feed_of
from steppe.server.live.line import EXTENSION, LOG, ViewerLink
from steppe.server.live.viewer import Viewer
from steppe.server.request import Message, Receive, Request, Send
from steppe.server.strict import decode

if TYPE_CHECKING:
    from steppe.server.access import Visitor

A_SECOND = 20  # messages
UNKNOWN = 5.0  # [s] for the token
STILL = 5.0  # [s] between two checks of a token
DRAINING, POLICY, NOT_TEXT = 1012, 1008, 1003
NO_TOKEN, NO_OBJECT = "no good token", "no JSON object"


class _End(Exception):
    """Closes the socket."""

    def __init__(self, code: int, reason: str) -> None:
        super().__init__(reason)
        self.code, self.reason = code, reason


def check_protocol(request: Request) -> None:
    """Raises Refused: unknown-path, when no socket is there; bad-header, when the subprotocol was not offered; too-many, too-busy."""
    if request.route is None or request.route.name != "live":
        raise Refused("unknown-path", "There is no WebSocket at this address.")
    if PROTOCOL not in request.scope["subprotocols"]:
        raise Refused("bad-header", f"Offer the subprotocol {PROTOCOL}.", position="Sec-WebSocket-Protocol", allowed=PROTOCOL)
    context, limits = request.context, request.context.limits
    who = request.principal
    if context.sockets.total() >= limits.sockets:
        raise Refused("too-busy", f"The server has {limits.sockets:,} sockets, as many as it takes.")
    if (who is None and context.sockets[""] >= limits.strangers_sockets) or (who and context.sockets[who.token] >= limits.sockets_of_token):
        most = limits.sockets_of_token if who else limits.strangers_sockets
        raise Refused("too-many", f"This token has {most:,} sockets already. Close one, or start the server with --many.", allowed=most)


async def serve_viewer(request: Request, receive: Receive, send: Send) -> None:
    """Serves one client until the end; the doors have let him in."""
    context, run = request.context, request.parameters["run"]
    line: ViewerLink = request.scope["extensions"][EXTENSION]
    line.packed = PACKED in request.scope["subprotocols"]
    await send({"type": "websocket.accept", "subprotocol": PROTOCOL})
    who, counted = request.principal, request.principal.token if request.principal else ""
    context.sockets[counted] += 1
    try:
        if who is None:
            who = await _introduced(request, receive)
            if context.sockets[who.token] >= context.limits.sockets_of_token:
                raise _End(1013, "this token has too many sockets")
            context.sockets[counted] -= 1
            counted = who.token
            context.sockets[counted] += 1
        viewer = Viewer(context, run, line, await feed_of(context, run), who.name, who.role)
        watching = asyncio.create_task(_watch_over(request, line))
        try:
            await _listen(request, viewer, line, receive)
        finally:
            watching.cancel()
            viewer.close()
    except _End as end:
        line.end(end.code, end.reason)
    except Exception:
        LOG.exception("A visit at the live socket failed")
        line.end(1011, "the server has a defect")
    finally:
        context.sockets[counted] -= 1
        if not context.sockets[counted]:
            del context.sockets[counted]


async def _introduced(request: Request, receive: Receive) -> Visitor:
    """The holder of the token in the first message, which counts from now on as if it stood in the header."""
    try:
        async with asyncio.timeout(UNKNOWN):
            token = (_read(request, await receive()).token or "").encode()
    except (TimeoutError, Refused):
        raise _End(POLICY, NO_TOKEN) from None
    await request.context.access.look(token)
    request.headers[b"authorization"] = b"Bearer " + token
    who = principal_of(request)
    if who is None or not who.sees(request.parameters["run"]):
        raise _End(POLICY, NO_TOKEN)
    return who


async def _listen(request: Request, viewer: Viewer, line: ViewerLink, receive: Receive) -> None:
    """Takes messages no faster than the client reads the answers."""
    loop = asyncio.get_running_loop()
    left, since = float(A_SECOND), loop.time()
    while True:
        message = await receive()
        if message["type"] == "websocket.disconnect":
            return
        now = loop.time()
        left, since = min(float(A_SECOND), left + (now - since) * A_SECOND) - 1.0, now
        if left < 0:
            raise _End(POLICY, f"more than {A_SECOND} messages a second")
        try:
            said = _read(request, message)
        except Refused as wrong:
            if wrong.code == "bad-json":
                raise _End(POLICY, NO_OBJECT) from None
            viewer.refuse(wrong)
        else:
            await viewer.hear(said)
        await line.drained()  # a client that does not read gets no further answers


def _read(request: Request, message: Message) -> Said:
    """A message of a client.

    Raises
    ------
    Refused
        It is none.
    _End
        It is no text.
    """
    text = message.get("text")
    if message["type"] == "websocket.disconnect":
        raise _End(1000, "")
    if text is None:
        raise _End(NOT_TEXT, "binary messages are not taken")
    if not text.lstrip().startswith("{"):
        raise _End(POLICY, NO_OBJECT)
    said = decode(text.encode(), Said, request.context.limits)
    if said.faults:
        raise Refused("bad-field", said.faults)
    return said


async def _watch_over(request: Request, line: ViewerLink) -> None:
    """Ends the visit when the server ends, or the token is no longer good."""
    while True:
        with suppress(TimeoutError):
            async with asyncio.timeout(STILL):
                await request.context.draining.wait()
                line.end(DRAINING, "the server ends")
                return
        if not await still_valid(request):
            line.end(POLICY, "the token or session is over")
            return
