"""Values, images, series and the Zarr group of a scenario. A whole map in its own format goes from the engine to the client untouched."""

import zlib
from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from steppe.api.query import MapQuery, SeriesQuery
from steppe.server.negotiation import form_of
from steppe.server.query import DATA, FIT, FORMATS, IMAGE, SERIES, SERIES_FORMATS, read_query
from steppe.server.request import Headers, Request, Response
from steppe.server.routes.state import ASK_AGAIN, has
from steppe.service import maps, zarr_view
from steppe.service.series import series as series_of

ACCEPTED: Headers = ((b"vary", b"accept"),)  # of an answer whose format the client did not name
GRAMMARS = {"data": DATA, "image": IMAGE}


class MapPlan(NamedTuple):
    """A query, read. digest: names it and the format; headers: of every answer to it."""

    query: MapQuery
    digest: str
    headers: Headers


@lru_cache(512)
def plan(query: bytes, what: str, accept: bytes) -> MapPlan:
    """The query of an address. It depends on the text and the header Accept alone, so it is read once.

    Raises
    ------
    Refused
        bad-query, out-of-range, region-invalid or not-acceptable.
    """
    wanted = MapQuery(**read_query(query, GRAMMARS[what]))
    named = "png" if what == "image" else wanted.format
    form = named or form_of(accept, FORMATS)
    return MapPlan(replace(wanted, format=form), f"{zlib.crc32(query + form.encode()):08x}", () if named else ACCEPTED)


async def data(request: Request) -> Response:
    """GET data/{variable}."""
    return await _answer(request, "data")


async def image(request: Request) -> Response:
    """GET image/{variable}.png."""
    return await _answer(request, "image")


async def _answer(request: Request, what: str) -> Response:
    context, run = request.context, request.parameters["run"]
    context.known(run)
    query, digest, more = plan(request.scope["query_string"], what, request.headers.get(b"accept", b""))
    meant = maps.meant(context, run, request.parameters["variable"], query)
    if b"if-none-match" in request.headers:
        tag = f'"{run}.{meant.version()}.{digest}"'.encode()
        if has(request, tag):
            return Response(304, b"", FORMATS[query.format or "raw"].encode(), ((b"etag", tag), *more), cache=ASK_AGAIN)
    piece = await maps.ask(context, meant)
    head = piece.head
    found = await maps.content(context, meant, piece, digest)
    headers: Headers = ((b"etag", f'"{run}.{meant.version(head)}.{digest}"'.encode()), *more)
    if "moved" in head:
        headers = (*headers, (b"server-timing", b'moved;desc="%d"' % head["moved"]))
    headers = (*headers, *rounding(head), *((f"steppe-{name}".encode(), _header(value)) for name, value in found.facts.items()))
    return Response(200, found.head, FORMATS[query.format or "raw"].encode(), headers, (found.body,), cache=ASK_AGAIN)


def _header(value: object) -> bytes:
    text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    return text.encode("ascii", "backslashreplace").replace(b"\r", b" ").replace(b"\n", b" ")


def rounding(head: Mapping[str, object]) -> Headers:
    """The header of an answer with values of a record that was rounded."""
    return ((b"steppe-rounded", str(head["rounded"]).encode()),) if "rounded" in head else ()


async def fit(request: Request) -> Response:
    """GET fit/{variable}: round ends of colours that fit one map."""
    query = MapQuery(**read_query(request.scope["query_string"], FIT))
    found = await maps.fit(request.context, request.parameters["run"], request.parameters["variable"], query)
    return Response(200, msgspec.json.encode(found))


async def series(request: Request) -> Response:
    """GET series/{variable}: values at some places, or of a region, over time."""
    query = SeriesQuery(**read_query(request.scope["query_string"], SERIES))
    form = query.format or form_of(request.headers.get(b"accept", b""), SERIES_FORMATS)
    run, name = request.parameters["run"], request.parameters["variable"]
    found = await series_of(request.context, run, name, replace(query, format=form))
    headers = (*(() if query.format else ACCEPTED), *rounding(found.facts))
    return Response(200, found.head, FORMATS[form].encode(), headers)


async def zarr_group(request: Request) -> Response:
    """GET zarr/{group}/{part}: the description of the group."""
    names = (request.parameters[key] for key in ("run", "group", "part"))
    return Response(200, msgspec.json.encode(zarr_view.group_part(request.context, *names)))


async def zarr_array(request: Request) -> Response:
    """GET zarr/{group}/{array}/{part}: the description of an array or a chunk of it."""
    names = (request.parameters[key] for key in ("run", "group", "array", "part"))
    found = await zarr_view.array_part(request.context, *names)
    if isinstance(found, dict):
        return Response(200, msgspec.json.encode(found))
    body, head = found
    return Response(200, b"", b"application/octet-stream", rounding(head), (body,))
