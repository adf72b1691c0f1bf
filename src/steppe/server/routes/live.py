"""The live socket as the table of routes has it: who asks for it in the way of HTTP is told how to."""

from steppe.control import Refused
from steppe.server.request import Request, Response


async def live(request: Request) -> Response:
    """GET live, without an upgrade."""
    request.context.run(request.parameters["run"])
    raise Refused("upgrade-needed", "This address is a WebSocket. Ask with Upgrade: websocket.")
