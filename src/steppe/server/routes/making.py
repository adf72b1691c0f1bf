"""What adds to a run or ends it: uploads, scenarios, the end."""

import asyncio
import os
import re
import secrets
from hashlib import sha256

import msgspec

from steppe.api import NewScenario, Origin, Start
from steppe.server.asked import Asked, Reply
from steppe.server.changes import arguments_of
from steppe.server.moments import step_behind
from steppe.server.problems import Wrong
from steppe.server.regions import settle
from steppe.server.routes.state import info_of
from steppe.server.routes.steering import accept, order, request_of


async def upload(asked: Asked) -> Reply:
    """PUT uploads/{sha256}: an array for a change, raw and little-endian."""
    name = asked.parameters["sha256"]
    if not re.fullmatch("[0-9a-f]{64}", name):
        raise Wrong("digest-wrong", "The name of an upload is the SHA-256 of its bytes in 64 hexadecimal digits.", value=name[:64])
    if asked.house.draining.is_set():
        raise Wrong("draining", "The server is ending and takes no more uploads.")
    folder = asked.run.folder / "uploads"
    folder.mkdir(mode=0o700, exist_ok=True)
    path, aside = folder / name, folder / f".{secrets.token_hex(8)}"
    digest, size = sha256(), 0
    try:
        with aside.open("xb") as file:
            async for piece in asked.stream():
                digest.update(piece)
                size += len(piece)
                file.write(piece)
            if digest.hexdigest() != name:
                raise Wrong(
                    "digest-wrong", f"{size:,} bytes came whose SHA-256 is {digest.hexdigest()}.", value=digest.hexdigest(), allowed=name
                )
            there = path.exists()
            if not there:
                file.flush()
                await asyncio.to_thread(os.fsync, file.fileno())
                await asyncio.to_thread(settle, aside, path)
    finally:
        aside.unlink(missing_ok=True)
    return Reply(200 if there else 201, msgspec.json.encode({"sha256": name, "bytes": size}))


async def add_scenario(asked: Asked) -> Reply:
    """POST scenarios: a branch, and what is changed in it at once."""
    request = await request_of(asked, NewScenario)
    run, origin = asked.parameters["run"], request.origin or Origin()
    if origin.step is not None and origin.date is not None:
        raise Wrong("bad-field", "Give step or date, not both.", allowed=["step", "date"], position="$.from")
    step = origin.step if origin.date is None else step_behind(origin.date, asked.house.known(run).facts, "$.from.date")
    changes = [await arguments_of(asked.house, run, change) for change in request.set]
    reply = await order(asked, "branch", origin.scenario, {"name": request.name, "step": step}, request)
    for number, (change, arguments) in enumerate(zip(request.set, changes, strict=True), 1):
        accept(asked, "set", request.name, arguments, change, "after", f"/{number}")
    location = (b"location", f"/api/v1/runs/{run}/scenarios/{request.name}".encode())
    return reply._replace(status=201, headers=(*(each for each in reply.headers if each[0] != b"location"), location))


async def start(asked: Asked) -> Reply:
    """POST start: the engine is started if there is none, also after it has died again and again."""
    await request_of(asked, Start)
    asked.run.launch()
    return Reply(202, msgspec.json.encode(info_of(asked.house, asked.parameters["run"])))
