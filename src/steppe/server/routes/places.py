"""The grid of a run: its axes, and where the cells of a region lie. It never changes, so a client asks once."""

import msgspec
import numpy as np

from steppe.api import GridInfo, encode_head
from steppe.api.query import MapQuery
from steppe.server.query import CELLS, FORMATS, read_query
from steppe.server.request import Request, Response
from steppe.server.routes.state import tagged
from steppe.service import regions

ROWS = ("cell", "place", "lon", "lat")  # of the answer about cells: packed number, row-major place on the map, centre in degrees


async def grid(request: Request) -> Response:
    """GET grid."""
    known = request.context.known(request.parameters["run"])
    told, coordinates = known.facts["grid"], known.grid.coordinates()
    dims = list(known.grid.shape)
    found = GridInfo(
        kind=told["kind"],
        dims=dims,
        shape=list(known.grid.shape.values()),
        cells=known.grid.n_cells,
        digest=known.grid.digest,
        bounds=told["bounds"],
        axes={name: coordinates[name].tolist() for name in dims if name in coordinates},
        ids=told.get("ids"),
        crs=told.get("crs"),
    )
    return tagged(request, msgspec.json.encode(found))


async def cells(request: Request) -> Response:
    """GET cells: an array of float64, a row for each of `ROWS`, a column for each cell of the region in its order."""
    query = MapQuery(**read_query(request.scope["query_string"], CELLS))
    regions.named(query)
    known = request.context.known(request.parameters["run"])
    found = await request.context.in_thread(regions.asked, known.grid, query)
    chosen = np.arange(known.grid.n_cells) if found is None else found
    rows = [chosen, known.grid.order[chosen], known.grid.cell_lon[chosen], known.grid.cell_lat[chosen]]
    values = np.array(rows, "<f8")
    head = {"variable": "cells", "units": "", "dtype": "<f8", "shape": list(values.shape), "dims": ["row", "cell"], "rows": ROWS}
    headers = ((b"cache-control", b"private, max-age=3600"),)
    return Response(200, encode_head(head), FORMATS["raw"].encode(), headers, (values.tobytes(),))
