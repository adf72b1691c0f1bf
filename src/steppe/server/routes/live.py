"""The live socket as the table of routes has it: who asks for it in the way of HTTP is told how to."""

from steppe.server.asked import Asked, Reply
from steppe.server.problems import Wrong


async def live(asked: Asked) -> Reply:
    """GET live, without an upgrade."""
    asked.house.run(asked.parameters["run"])
    raise Wrong("upgrade-needed", "This address is a WebSocket. Ask with Upgrade: websocket.", ((b"upgrade", b"websocket"),))
