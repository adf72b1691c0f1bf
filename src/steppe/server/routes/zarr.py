"""The parts of a scenario's Zarr group."""

import msgspec

from steppe.server.request import Request, Response
from steppe.server.routes.data import rounding
from steppe.service import zarr_view


async def zarr_group(request: Request) -> Response:
    """GET zarr/{scenario}/{part}: the description of the group."""
    names = (request.parameters[key] for key in ("run", "scenario", "part"))
    return Response(200, msgspec.json.encode(zarr_view.group_part(request.context, *names)))


async def zarr_array(request: Request) -> Response:
    """GET zarr/{scenario}/{array}/{part}: the description of an array or a chunk of it."""
    names = (request.parameters[key] for key in ("run", "scenario", "array", "part"))
    found = await zarr_view.array_part(request.context, *names)
    if isinstance(found, dict):
        return Response(200, msgspec.json.encode(found))
    body, head = found
    return Response(200, b"", b"application/octet-stream", rounding(head), (body,))
