"""What a server is measured beside and with. `bare FOLDER`: an application that sends the files of a folder and looks at nothing but the
path; prints its port. `steps ADDRESS`: has the run at an address computed from beginning to end, again and again; prints a line first.
"""

import socket
import sys
from pathlib import Path
from typing import Any

import uvicorn

import steppe
from steppe.client import StaleError

TOKEN = "only-for-this-benchmark"


def bare(folder: str) -> None:
    """Serves until it is killed."""
    bodies = {f"/{path.name}": path.read_bytes() for path in Path(folder).iterdir()}

    async def application(scope: Any, receive: Any, send: Any) -> None:
        body = bodies[scope["path"]]
        headers = [(b"content-type", b"application/octet-stream"), (b"content-length", b"%d" % len(body))]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    config = uvicorn.Config(application, lifespan="off", log_config=None, access_log=False, server_header=False, timeout_keep_alive=75)
    with socket.create_server(("127.0.0.1", 0), backlog=2048) as door:
        print(door.getsockname()[1], flush=True)
        uvicorn.Server(config).run([door])


def steps(address: str) -> None:
    """Steps until it is killed, whatever other clients order meanwhile."""
    run = steppe.connect(address, TOKEN)
    while True:
        try:
            run.info()
            run.restart()
            steps = run.step(end=True, wait=False)
        except StaleError:
            continue
        print("under way", flush=True)
        steps.wait(progress=False)


if __name__ == "__main__":
    {"bare": bare, "steps": steps}[sys.argv[1]](*sys.argv[2:])
