"""Server-sent events: what happens, as it happens; a client that comes again with Last-Event-ID misses nothing."""

import asyncio
import re
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import suppress
from typing import Any

import msgspec

from steppe.server.asked import Asked, Reply
from steppe.server.problems import Wrong

QUIET = 15.0  # [s] without news until a comment says that the line is up


async def events_stream(asked: Asked) -> Reply:
    """GET events-stream."""
    after = asked.headers.get(b"last-event-id", b"0")
    if not re.fullmatch(rb"[0-9]{1,18}", after):
        raise Wrong("bad-header", "Last-Event-ID must be the id of an event.", position="Last-Event-ID")
    happenings = asked.run.happenings(int(after))
    return Reply(200, media=b"text/event-stream", headers=((b"x-accel-buffering", b"no"),), stream=_lines(asked, happenings))


async def _lines(asked: Asked, happenings: AsyncIterator[tuple[int, dict[str, Any]]]) -> AsyncGenerator[bytes]:
    yield b"retry: 1000\n\n"
    draining = asyncio.ensure_future(asked.house.draining.wait())
    following: asyncio.Future[tuple[int, dict[str, Any]]] = asyncio.ensure_future(anext(happenings))
    try:
        while True:
            await asyncio.wait((following, draining), timeout=QUIET, return_when=asyncio.FIRST_COMPLETED)
            if following.done():
                try:
                    number, what = following.result()
                except StopAsyncIteration:
                    return
                name = b"event: info\n" if number == 0 else f"id: {number}\nevent: {what.get('kind', 'message')}\n".encode()
                yield name + b"data: " + msgspec.json.encode(what) + b"\n\n"
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
        close = getattr(happenings, "aclose", None)
        if close is not None:
            await close()
