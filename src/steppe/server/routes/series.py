"""Series: values at some places, or of a region, over time."""

from msgspec.structs import replace

from steppe.api.query import SeriesQuery
from steppe.server.negotiation import form_of
from steppe.server.query import FORMATS, SERIES, SERIES_FORMATS, read_query
from steppe.server.request import Request, Response
from steppe.server.routes.data import ACCEPTED, rounding
from steppe.service.series import series as series_of


async def series(request: Request) -> Response:
    """GET series/{variable}: values at some places, or of a region, over time."""
    query = SeriesQuery(**read_query(request.scope["query_string"], SERIES))
    form = query.format or form_of(request.headers.get(b"accept", b""), SERIES_FORMATS)
    run, name = request.parameters["run"], request.parameters["variable"]
    found = await series_of(request.context, run, name, replace(query, format=form))
    headers = (*(() if query.format else ACCEPTED), *rounding(found.facts))
    return Response(200, found.head, FORMATS[form].encode(), headers)
