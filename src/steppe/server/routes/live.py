"""The live socket as the table of routes has it: who asks for it in the way of HTTP is told how to."""

from steppe.control import Refused
from steppe.server.asked import Request, Response


async def live(asked: Request) -> Response:
    """GET live, without an upgrade."""
    asked.house.run(asked.parameters["run"])
    raise Refused("upgrade-needed", "This address is a WebSocket. Ask with Upgrade: websocket.")
