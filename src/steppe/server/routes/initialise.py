"""Models, and runs that begin and end."""

import asyncio
import json
import shutil
from contextlib import suppress
from typing import Any

import msgspec

from steppe.api import NewRun
from steppe.control import Refused
from steppe.errors import SteppeError
from steppe.server.admission import answer_of, prepare
from steppe.server.asked import Asked, Reply
from steppe.server.begun import Begun
from steppe.server.query import KEEP, read_query
from steppe.server.routes.state import info_of, tagged
from steppe.server.routes.steering import request_of
from steppe.server.tokens import TokenFile


async def models(asked: Asked) -> Reply:
    """GET models: those that are installed."""
    found = await _catalogue(asked)
    listed = [{"model": name, "version": each.get("version"), "problem": each.get("problem")} for name, each in found.items()]
    return tagged(asked, msgspec.json.encode({"models": listed}))


async def model(asked: Asked) -> Reply:
    """GET models/{model}: what it is made of."""
    found, name = await _catalogue(asked), asked.parameters["model"]
    if name not in found:
        raise Refused("unknown-model", f'There is no model "{name[:64]}".', value=name[:64], allowed=list(found))
    return tagged(asked, msgspec.json.encode({"model": name, **found[name]}))


async def _catalogue(asked: Asked) -> dict[str, Any]:
    """What the models say of themselves, in a process that may load them."""
    house = asked.house
    if house.catalogue is None:
        house.catalogue = json.loads(await answer_of("steppe.jobs.catalogue"))
    return house.catalogue


async def begin_run(asked: Asked) -> Reply:
    """POST runs: a new run, of a run file."""
    who = asked.principal
    assert who is not None, "the route has a role"
    if who.run:
        raise Refused("role-too-low", f'The token was made for the run "{who.run}" alone.', value=who.run)
    request = await request_of(asked, NewRun)
    house = asked.house
    opener = house.opener
    if house.draining.is_set():
        raise Refused("draining", "The server is ending and takes no more runs.")
    if opener is None or opener.folder is None:
        raise Refused("runs-closed", "This server makes no new runs. Start it with --runs DIR.")
    if request.launcher not in opener.launchers:
        names = [name for name in opener.launchers if name]
        raise Refused("unknown-launcher", f'There is no launcher "{request.launcher}".', value=request.launcher, allowed=names)
    folder, location = opener.folder / request.name, (b"location", f"/api/v1/runs/{request.name}".encode())
    async with house.opening:
        begun = await asyncio.to_thread(Begun.of, opener.folder, who.name, asked.key, request)
        answer = await asyncio.to_thread(begun.answer)
        if answer is not None:
            answer = answer or msgspec.json.encode(info_of(asked.house, request.name))
            return Reply(201, answer, headers=(location, (b"idempotent-replayed", b"true")))
        if request.name in house.runs or await asyncio.to_thread(begun.is_taken):
            raise Refused("name-taken", f'There is a run "{request.name}" already.', value=request.name)
        if len(house.runs) >= house.limits.runs:
            raise Refused("too-many-runs", f"This server has {len(house.runs)} runs. End one.", allowed=house.limits.runs)
        try:
            await asyncio.to_thread(begun.note)
            await prepare(request, folder, [opener.folder, *house.readable])
            if house.draining.is_set():
                raise Refused("draining", "The server is ending and takes no more runs.")
            house.runs[request.name] = await opener.begin(folder, request.launcher)
            await house.access.take_also({request.name: TokenFile(folder)})
        except (SteppeError, OSError, Refused, asyncio.CancelledError):
            await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)
            raise
        answer = msgspec.json.encode(info_of(asked.house, request.name))
        with suppress(OSError):  # the disk may be full; then it is answered as it is
            await asyncio.to_thread(begun.note, answer)
    return Reply(201, answer, headers=(location,))


async def end_run(asked: Asked) -> Reply:
    """DELETE run: its engine makes its state durable and ends; what was written stays."""
    name, house = asked.parameters["run"], asked.house
    read_query(asked.scope["query_string"], KEEP)
    run = asked.run
    del house.runs[name]
    if house.opener is None:
        run.close(True)
    else:
        house.opener.archive(name)
    return Reply(202, msgspec.json.encode({"run": name, "state": "archived"}))
