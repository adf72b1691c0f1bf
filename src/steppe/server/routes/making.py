"""What adds to a run beside orders: uploads, an engine."""

import msgspec

from steppe.api import Start
from steppe.server.request import Request, Response
from steppe.server.routes.steering import content_of
from steppe.service import uploads


async def upload(request: Request) -> Response:
    """PUT uploads/{sha256}: an array for a change, raw and little-endian."""
    name, length = request.parameters["sha256"], int(request.headers.get(b"content-length", b"0"))
    uploads.check_name(name)
    request.context.check_open("uploads")
    size, is_new = await uploads.take(request.run.folder, name, length, request.stream(), request.context.limits)
    return Response(201 if is_new else 200, msgspec.json.encode({"sha256": name, "bytes": size}))


async def start(request: Request) -> Response:
    """POST start: the engine is started if there is none, also after it has died again and again."""
    await content_of(request, Start)
    request.run.launch()
    return Response(202, msgspec.json.encode(request.context.info(request.parameters["run"])))
