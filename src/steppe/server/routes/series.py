"""Series: values at some places, or of a region, over time."""

from msgspec.structs import replace

from steppe.api.query import SeriesQuery
from steppe.server.asked import Request, Response
from steppe.server.negotiation import form_of
from steppe.server.query import FORMATS, SERIES, SERIES_FORMATS, read_query
from steppe.server.routes.data import ACCEPTED, rounding
from steppe.service.series import series as series_of


async def series(asked: Request) -> Response:
    """GET series/{variable}: values at some places, or of a region, over time."""
    query = SeriesQuery(**read_query(asked.scope["query_string"], SERIES))
    form = query.format or form_of(asked.headers.get(b"accept", b""), SERIES_FORMATS)
    run, name = asked.parameters["run"], asked.parameters["variable"]
    found = await series_of(asked.house, run, name, replace(query, format=form))
    headers = (*(() if query.format else ACCEPTED), *rounding(found.facts))
    return Response(200, found.head, FORMATS[form].encode(), headers)
