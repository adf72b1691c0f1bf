"""What adds to a run beside orders: uploads, an engine."""

import msgspec

from steppe.api import Start
from steppe.server.asked import Request, Response
from steppe.server.routes.steering import request_of
from steppe.service import uploads


async def upload(asked: Request) -> Response:
    """PUT uploads/{sha256}: an array for a change, raw and little-endian."""
    name, length = asked.parameters["sha256"], int(asked.headers.get(b"content-length", b"0"))
    uploads.check_name(name)
    asked.house.check_open("uploads")
    size, is_new = await uploads.take(asked.run.folder, name, length, asked.stream(), asked.house.limits)
    return Response(201 if is_new else 200, msgspec.json.encode({"sha256": name, "bytes": size}))


async def start(asked: Request) -> Response:
    """POST start: the engine is started if there is none, also after it has died again and again."""
    await request_of(asked, Start)
    asked.run.launch()
    return Response(202, msgspec.json.encode(asked.house.info(asked.parameters["run"])))
