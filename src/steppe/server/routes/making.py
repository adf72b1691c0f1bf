"""What adds to a run or ends it: uploads, scenarios, the end."""

import asyncio
import re

import msgspec

from steppe.api import NewScenario, Origin, Start
from steppe.control import Refused
from steppe.server import uploads
from steppe.server.asked import Asked, Reply
from steppe.server.changes import arguments_of
from steppe.server.moments import step_behind
from steppe.server.routes.state import info_of
from steppe.server.routes.steering import made, order, request_of


async def upload(asked: Asked) -> Reply:
    """PUT uploads/{sha256}: an array for a change, raw and little-endian."""
    name = asked.parameters["sha256"]
    if not re.fullmatch("[0-9a-f]{64}", name):
        raise Refused("digest-wrong", "The name of an upload is the SHA-256 of its bytes in 64 hexadecimal digits.", value=name[:64])
    if asked.house.draining.is_set():
        raise Refused("draining", "The server is ending and takes no more uploads.")
    folder, limits = asked.run.folder, asked.house.limits
    await asyncio.to_thread(uploads.check_room, folder, int(asked.headers.get(b"content-length", b"0")), limits)
    draft = await asyncio.to_thread(uploads.Draft, folder)
    try:
        async for piece in asked.stream():
            await asyncio.to_thread(draft.write, piece)
        if draft.name != name:
            raise Refused("digest-wrong", f"{draft.size:,} bytes came whose SHA-256 is {draft.name}.", value=draft.name, allowed=name)
        there = await asyncio.to_thread(uploads.find, folder, name)
        if there is None:
            await asyncio.to_thread(uploads.check_room, folder, 0, limits)
            await asyncio.to_thread(draft.place)
    finally:
        await asyncio.to_thread(draft.close)
    return Reply(201 if there is None else 200, msgspec.json.encode({"sha256": name, "bytes": draft.size}))


async def add_scenario(asked: Asked) -> Reply:
    """POST scenarios: a branch, and what is changed in it at once."""
    request = await request_of(asked, NewScenario)
    run, origin = asked.parameters["run"], request.origin or Origin()
    if origin.step is not None and origin.date is not None:
        raise Refused("bad-field", "Give step or date, not both.", allowed=["step", "date"], position="$.from")
    step = origin.step if origin.date is None else step_behind(origin.date, asked.house.known(run).facts, "$.from.date")
    changes = [
        made(asked, "set", request.name, await arguments_of(asked.house, run, change), change, part=f"/{number}")
        for number, change in enumerate(request.set, 1)
    ]
    reply = await order(asked, "branch", origin.scenario, {"name": request.name, "step": step}, request, more=changes)
    location = (b"location", f"/api/v1/runs/{run}/scenarios/{request.name}".encode())
    return reply._replace(status=201, headers=(*(each for each in reply.headers if each[0] != b"location"), location))


async def start(asked: Asked) -> Reply:
    """POST start: the engine is started if there is none, also after it has died again and again."""
    await request_of(asked, Start)
    asked.run.launch()
    return Reply(202, msgspec.json.encode(info_of(asked.house, asked.parameters["run"])))
