"""Serves a run that stands still, or the same bytes and nothing else. Arguments: server or bare, and a grid; prints its port."""

import json
import socket
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import uvicorn

from steppe.api import encode_head
from steppe.grid import Grid, Raster, as_plain, builtin_grid
from steppe.server import Access, Limits, Token, application, configuration

TOKEN = "t" * 43
STEP = 100


def grid_of(name: str) -> Grid:
    """Queensland, or "full": 841 x 681 cells."""
    return Raster(-10.0, -0.05, 112.0, 0.05, np.ones((681, 841), dtype=bool)) if name == "full" else builtin_grid(name)


class Still:
    """What the server asks of a run, from memory: what a supervisor does when its answers are kept."""

    def __init__(self, grid: Grid) -> None:
        self.folder = Path(tempfile.mkdtemp())
        variable = {"name": "green", "dims": ["cell"], "units": "kg ha-1", "dtype": "float32", "role": "state", "long_name": "green"}
        clock = {"start": "2001-01-01T00:00:00", "step": 86400.0, "calendar": "standard"}
        variables = [{**variable, "settable": True}]
        self.facts = {"model": "still", "variables": variables, "grid": as_plain(grid), "clock": clock, "steps": 365}
        values = np.random.default_rng(1).random(grid.n_cells, dtype=np.float32)
        self._values = {True: values.tobytes(), False: grid.unpack(values).astype(np.float32).tobytes()}
        self._shapes = {True: [grid.n_cells], False: list(grid.active.shape)}
        self._answers = {packed: (self.head(packed), self._values[packed]) for packed in (True, False)}
        self._scenarios = [{"name": "main", "branch": 1, "step": STEP, "seq": 0, "target": STEP, "state": "ready", "version": "b1.17"}]

    def scenarios(self) -> list[dict[str, Any]]:
        return self._scenarios

    def scenario(self, name: str) -> dict[str, Any] | None:
        return self._scenarios[0] if name == "main" else None

    def info(self) -> dict[str, Any]:
        return {"run": "still", "state": "ready", "engine": {"epoch": 1, "pid": 1, "host": "here"}, "scenarios": self._scenarios}

    def head(self, packed: bool) -> dict[str, Any]:
        about = {"variable": "green", "units": "kg ha-1", "dtype": "<f4", "shape": self._shapes[packed], "dims": ["cell"]}
        return {**about, "step": STEP, "seq": 0, "date": "2001-04-10", "moved": 0}

    async def get(self, scenario: str, request: Mapping[str, Any]) -> tuple[dict[str, Any], bytes]:
        return self._answers[bool(request.get("packed"))]


def bare_of(run: Still) -> Any:
    """An application that answers the same bytes and looks at nothing but the path."""
    info = json.dumps(run.info()).encode()
    bodies = {
        "/info": (info,),
        **{f"/{packed:d}": (encode_head({**run.head(packed), "scenario": "main"}), run._values[packed]) for packed in (True, False)},
    }

    async def bare(scope: Any, receive: Any, send: Any) -> None:
        pieces = bodies[scope["path"]]
        length = sum(map(len, pieces))
        headers = [(b"content-type", b"application/octet-stream"), (b"content-length", b"%d" % length)]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        for number, piece in enumerate(pieces, 1):
            await send({"type": "http.response.body", "body": piece, "more_body": number < len(pieces)})

    return bare


def main(what: str, grid: str) -> None:
    """Serves until it is killed."""
    run = Still(grid_of(grid))
    plenty = Limits(requests=1e9, requests_burst=1e9, data=1e15, data_burst=1e15)  # a person is slower than a benchmark
    if what == "bare":
        config = uvicorn.Config(bare_of(run), lifespan="off", log_config=None, access_log=False, server_header=False, timeout_keep_alive=75)
    else:
        config = configuration(application({"still": run}, Access([Token.of("me", "view", TOKEN)]), plenty))  # type: ignore[dict-item]
    with socket.create_server(("127.0.0.1", 0), backlog=2048) as door:
        print(door.getsockname()[1], flush=True)
        uvicorn.Server(config).run([door])


if __name__ == "__main__":
    main(*sys.argv[1:])
