"""The state of a run and its parts: lists and single entries, from memory or the journal."""

import zlib

import msgspec

from steppe.server.negotiation import tags_of
from steppe.server.query import LOG, read_query
from steppe.server.request import Request, Response
from steppe.server.routes.steering import number_of, wait_of

ASK_AGAIN = b"private, no-cache"  # a client may keep it, and asks whether it still holds


async def runs(request: Request) -> Response:
    """GET runs."""
    assert request.principal is not None, "the route has a role"
    names = [name for name in request.context.runs if request.principal.sees(name)]
    return Response(200, msgspec.json.encode({"runs": [request.context.info(name) for name in names]}))


async def info(request: Request) -> Response:
    """GET runs/{run}."""
    found = request.context.info(request.parameters["run"])
    return tagged(request, msgspec.json.encode(found), str(found["version"]))


def tagged(request: Request, content: bytes, version: str = "v", media: bytes = b"application/json") -> Response:
    """A reply with an ETag of its content; 304 without it when the client has it."""
    tag = f'"{version}-{zlib.crc32(content):08x}"'.encode()
    headers = ((b"etag", tag),)
    if has(request, tag):
        return Response(304, b"", media, headers, cache=ASK_AGAIN)
    return Response(200, content, media, headers, cache=ASK_AGAIN)


def has(request: Request, tag: bytes) -> bool:
    """Whether the client says that it has what this tag names, or, with *, anything."""
    given = request.headers.get(b"if-none-match")
    return given is not None and (given in (tag, b"*") or tag in tags_of(given))


async def variables(request: Request) -> Response:
    """GET variables."""
    found = request.context.known(request.parameters["run"]).variables
    return tagged(request, msgspec.json.encode({"variables": list(found.values())}))


async def variable(request: Request) -> Response:
    """GET variables/{variable}."""
    return tagged(
        request, msgspec.json.encode(request.context.variable(request.parameters["run"], request.parameters["variable"], every=True))
    )


async def scenarios(request: Request) -> Response:
    """GET scenarios."""
    name = request.parameters["run"]
    return Response(200, msgspec.json.encode({"scenarios": [request.context.told(name, each) for each in request.run.scenarios()]}))


async def log(request: Request) -> Response:
    """GET log: one JSON object a line; the header Link names the rows behind these."""
    asked_for = read_query(request.scope["query_string"], LOG)
    after, limit, reader = asked_for["after"], asked_for["limit"], request.run.reader
    last, more = await reader.page(after, limit)
    following = ((b"link", f'<?after={last}&limit={limit}>; rel="next"'.encode()),) if more else ()
    return Response(200, media=b"application/jsonl", headers=following, stream=reader.lines(after, last))


async def operation(request: Request) -> Response:
    """GET operations/{operation}; `Prefer: wait=5` waits until it is over."""
    seq = number_of(request.parameters["operation"], "unknown-operation")
    found = request.context.operation(request.parameters["run"], seq)
    if seconds := wait_of(request):
        found = await request.run.settled(seq, seconds) or found
    return Response(200, msgspec.json.encode(found))
