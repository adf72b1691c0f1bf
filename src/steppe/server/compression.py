"""Text of replies by gzip. Arrays, images, archives and streams that clients read at once stay as they are."""

import asyncio
import gzip
import zlib
from collections.abc import AsyncGenerator
from contextlib import aclosing

from steppe.server.negotiation import takes_gzip
from steppe.server.query import FORMATS
from steppe.server.request import JSON_PROBLEM, Headers, Request, Response

NOT_MODIFIED = 304
LINES = b"application/jsonl"
TEXT = frozenset((b"application/json", JSON_PROBLEM, LINES, FORMATS["csv"].encode(), FORMATS["coverage-json"].encode()))
SHORT = 1400  # [byte] one packet: a shorter reply would not arrive sooner
LARGE = 16 * 1024  # [byte] a longer text is compressed in a thread
FAST = 1  # level of gzip


async def compressed(request: Request, reply: Response) -> Response:
    """Compresses a reply of a media type of `TEXT`, if it is long enough and the client accepts gzip."""
    if reply.status == NOT_MODIFIED:  # it varies as the reply with the text does
        return reply._replace(headers=(*reply.headers, (b"vary", b"accept-encoding")))
    content = reply.body if not reply.parts else b"".join((reply.body, *reply.parts))
    if reply.stream is None and len(content) <= SHORT:
        return reply
    headers: Headers = (*reply.headers, (b"vary", b"accept-encoding"))
    if (reply.stream is not None and request.scope["method"] == "HEAD") or not takes_gzip(request.headers.get(b"accept-encoding", b"")):
        return reply._replace(headers=headers)
    # a strong tag names bytes, a weak one their meaning
    headers = tuple((name, b"W/" + value if name == b"etag" and value[:1] == b'"' else value) for name, value in headers)
    headers = (*headers, (b"content-encoding", b"gzip"))
    if reply.stream is not None:
        return reply._replace(headers=headers, stream=_packed(reply.stream))
    packed = await asyncio.to_thread(_pack, content) if len(content) > LARGE else _pack(content)
    return reply._replace(body=packed, parts=(), headers=headers)


def _pack(content: bytes) -> bytes:
    return gzip.compress(content, FAST, mtime=0)


async def _packed(stream: AsyncGenerator[bytes]) -> AsyncGenerator[bytes]:
    packer = zlib.compressobj(FAST, wbits=31)
    async with aclosing(stream):
        async for piece in stream:
            if content := await asyncio.to_thread(packer.compress, piece):
                yield content
    yield packer.flush()
