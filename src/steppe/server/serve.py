"""How the application is put on a socket."""

from pathlib import Path
from typing import Any

import uvicorn

from steppe.server.application import Server
from steppe.server.protocol import Protocol

DRAIN = 8  # [s] that answers under way have when the server ends
IDLE = 75  # [s] that a connection may rest between two requests


def configuration(server: Server, **where: Any) -> uvicorn.Config:
    """What `uvicorn.Server` needs.

    where: host and port, or uds (the path of a Unix socket), or fd; ssl_certfile and ssl_keyfile.
    """
    for name in ("ssl_certfile", "ssl_keyfile", "uds"):
        if isinstance(where.get(name), Path):
            where[name] = str(where[name])
    return uvicorn.Config(
        server,
        http=type("LimitedProtocol", (Protocol,), {"limits": server.house.limits}),
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,  # it would write whole addresses; the server has a log of its own
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=IDLE,
        timeout_graceful_shutdown=DRAIN,
        **where,
    )
