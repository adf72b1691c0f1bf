"""What a run and its parts are: lists and single things, from memory or the journal."""

import zlib

import msgspec

from steppe.server.asked import Request, Response
from steppe.server.query import LOG, read_query
from steppe.server.routes.steering import number_of, wait_of

ASK_AGAIN = b"private, no-cache"  # a client may keep it, and asks whether it still holds


async def runs(asked: Request) -> Response:
    """GET runs."""
    assert asked.principal is not None, "the route has a role"
    names = [name for name in asked.house.runs if asked.principal.sees(name)]
    return Response(200, msgspec.json.encode({"runs": [asked.house.info(name) for name in names]}))


async def info(asked: Request) -> Response:
    """GET runs/{run}."""
    found = asked.house.info(asked.parameters["run"])
    return tagged(asked, msgspec.json.encode(found), found["version"])


def tagged(asked: Request, content: bytes, version: str = "v") -> Response:
    """A reply with an ETag of its content; 304 without it when the client has it."""
    tag = f'"{version}-{zlib.crc32(content):08x}"'.encode()
    headers = ((b"etag", tag),)
    if has(asked, tag):
        return Response(304, b"", b"", headers, cache=ASK_AGAIN)
    return Response(200, content, headers=headers, cache=ASK_AGAIN)


def has(asked: Request, tag: bytes) -> bool:
    """Whether the client says that it has what this tag names."""
    given = asked.headers.get(b"if-none-match")
    return given is not None and (given == tag or tag in [each.strip().removeprefix(b"W/") for each in given.split(b",")])


async def variables(asked: Request) -> Response:
    """GET variables."""
    found = asked.house.known(asked.parameters["run"]).variables
    return tagged(asked, msgspec.json.encode({"variables": list(found.values())}))


async def variable(asked: Request) -> Response:
    """GET variables/{variable}."""
    return tagged(asked, msgspec.json.encode(asked.house.variable(asked.parameters["run"], asked.parameters["variable"], every=True)))


async def scenarios(asked: Request) -> Response:
    """GET scenarios."""
    name = asked.parameters["run"]
    return Response(200, msgspec.json.encode({"scenarios": [asked.house.told(name, each) for each in asked.run.scenarios()]}))


async def checkpoints(asked: Request) -> Response:
    """GET checkpoints."""
    return Response(200, msgspec.json.encode({"checkpoints": asked.run.checkpoints()}))


async def log(asked: Request) -> Response:
    """GET log: one JSON object a line; the header Link names the rows behind these."""
    asked_for = read_query(asked.scope["query_string"], LOG)
    after, limit, reader = asked_for["after"], asked_for["limit"], asked.run.reader
    last, more = await reader.page(after, limit)
    following = ((b"link", f'<?after={last}&limit={limit}>; rel="next"'.encode()),) if more else ()
    return Response(200, media=b"application/jsonl", headers=following, stream=reader.lines(after, last))


async def operation(asked: Request) -> Response:
    """GET operations/{operation}; `Prefer: wait=5` waits until it is over."""
    seq = number_of(asked.parameters["operation"], "unknown-operation")
    found = asked.house.operation(asked.parameters["run"], seq)
    if seconds := wait_of(asked):
        found = await asked.run.settled(seq, seconds) or found
    return Response(200, msgspec.json.encode(found))
