"""The page for a browser, or a text in its place if it was not built."""

import asyncio

from steppe.control import Refused
from steppe.server.negotiation import takes_gzip
from steppe.server.page import File, built_page
from steppe.server.request import Request, Response
from steppe.server.routes.state import has

FOR_EVER = b"public, max-age=31536000, immutable"  # the name of an asset holds a digest of what is in it
NOT_BUILT = (
    "<!doctype html><html lang=en><meta charset=utf-8><title>Steppe</title><h1>The page was not built</h1>"
    "<p>This is a checkout of Steppe in which nobody has built the page from <code>web/</code> yet. "
    "<code>make page</code> builds it; then start the server again.</p>"
    "<p>All else of the server works: Python, <code>curl</code> and "
    '<a href="api/v1/openapi.json">the contract</a>.</p>'
)


async def page(request: Request) -> Response:
    """GET /: the page."""
    index = (await asyncio.to_thread(built_page)).index
    if index is None:
        return Response(503, NOT_BUILT.encode(), b"text/html; charset=utf-8")
    return _file(request, index, b"no-cache")


async def asset(request: Request) -> Response:
    """GET assets/{asset}: a part of the page."""
    found = (await asyncio.to_thread(built_page)).assets.get(request.parameters["asset"])
    if found is None:
        raise Refused("unknown-path", "There is nothing at this address.")
    return _file(request, found, FOR_EVER)


def _file(request: Request, file: File, cache: bytes) -> Response:
    headers = ((b"etag", file.tag), (b"vary", b"accept-encoding"))
    if has(request, file.tag):
        return Response(304, b"", file.media, headers, cache=cache)  # a browser takes the policy of this reply, too
    if file.packed is not None and takes_gzip(request.headers.get(b"accept-encoding", b"")):
        return Response(200, file.packed, file.media, (*headers, (b"content-encoding", b"gzip")), cache=cache)
    return Response(200, file.whole, file.media, headers, cache=cache)
