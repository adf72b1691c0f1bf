"""Server-sent events: the events of a run as they happen; a client that returns with Last-Event-ID misses none.

The live socket is elsewhere (`server.live`); `live` here refuses a request without an upgrade.
"""

import asyncio
import re
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing, suppress

import msgspec

from steppe.control import Refused
from steppe.server.doors.authentication import still_valid
from steppe.server.request import Request, Response
from steppe.server.routes.steering import number_of
from steppe.service.orders import OVER

QUIET = 5.0  # [s] without news until the token is checked again and a comment says that the line is up


async def events_stream(request: Request) -> Response:
    """GET events-stream."""
    after = request.headers.get(b"last-event-id", b"0")
    if not re.fullmatch(rb"[0-9]{1,18}", after):
        raise Refused("bad-header", "Last-Event-ID must be the id of an event.", position="Last-Event-ID")
    return _stream(_lines(request, request.run.happenings(int(after))))


async def operation_stream(request: Request) -> Response:
    """GET operations/{operation}/stream: the operation each time that it changes, until it is over."""
    seq = number_of(request.parameters["operation"], "unknown-operation")
    request.context.operation(request.parameters["run"], seq)
    return _stream(_lines(request, _changes(request, seq), "operation"))


def _stream(lines: AsyncGenerator[bytes]) -> Response:
    return Response(200, media=b"text/event-stream", headers=((b"x-accel-buffering", b"no"),), stream=lines)


async def _changes(request: Request, seq: int) -> AsyncGenerator[tuple[int, Mapping[str, object]]]:
    """The states of an operation; two of the same content are sent once."""
    last: dict[str, object] = {}
    async with aclosing(request.run.changes()) as changes:
        async for _ in changes:
            if (found := dict(request.run.operation(seq) or last)) != last:
                yield 0, (last := found)
            if last["state"] in OVER:
                return


async def _lines(
    request: Request, happenings: AsyncGenerator[tuple[int, Mapping[str, object]]], unnumbered: str = "info"
) -> AsyncGenerator[bytes]:
    """The lines of a stream, until its happenings, the server or the token of the request end."""
    yield b"retry: 1000\n\n"
    draining = asyncio.ensure_future(request.context.draining.wait())
    following: asyncio.Future[tuple[int, Mapping[str, object]]] = asyncio.ensure_future(anext(happenings))
    try:
        while True:
            await asyncio.wait((following, draining), timeout=QUIET, return_when=asyncio.FIRST_COMPLETED)
            if not await still_valid(request):
                return
            if following.done():
                try:
                    number, what = following.result()
                except StopAsyncIteration:
                    return
                name = f"id: {number}\nevent: {what.get('kind', 'message')}\n" if number else f"event: {unnumbered}\n"
                yield name.encode() + b"data: " + msgspec.json.encode(what) + b"\n\n"
                following = asyncio.ensure_future(anext(happenings))
            elif draining.done():
                return
            else:
                yield b": still here\n\n"
    finally:
        draining.cancel()
        following.cancel()
        with suppress(asyncio.CancelledError, StopAsyncIteration):
            await following
        await happenings.aclose()


async def live(request: Request) -> Response:
    """GET live, without an upgrade."""
    request.context.run(request.parameters["run"])
    raise Refused("upgrade-needed", "This address is a WebSocket. Ask with Upgrade: websocket.")
