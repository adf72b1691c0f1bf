"""Events and triggers: what is to happen by itself in a scenario from now on, until it is removed."""

import asyncio
import re
from contextlib import suppress

import msgspec

from steppe.api import EventRequest, Trigger
from steppe.control import Refused
from steppe.server.query import WHERE, read_query
from steppe.server.request import Request, Response
from steppe.server.routes.state import tagged
from steppe.server.routes.steering import accepted, number_of, ordering, orders_of
from steppe.service import rules


async def events(request: Request) -> Response:
    """GET events: changes that are still to come, those of one order too."""
    return Response(200, msgspec.json.encode({"events": rules.events(request.run)}))


async def triggers(request: Request) -> Response:
    """GET triggers, and what each has done."""
    return Response(200, msgspec.json.encode({"triggers": rules.triggers(request.run)}))


add_event, add_trigger = ordering(EventRequest, rules.add_event), ordering(Trigger, rules.add_trigger)


async def remove_event(request: Request) -> Response:
    """DELETE events/{event}: the change does not happen any more."""
    return await _remove(request, "event")


async def remove_trigger(request: Request) -> Response:
    """DELETE triggers/{trigger}: it is watched for no longer."""
    return await _remove(request, "trigger")


async def _remove(request: Request, kind: str) -> Response:
    seq = number_of(request.parameters[kind], f"unknown-{kind}")
    named = read_query(request.scope["query_string"], WHERE)["scenario"]
    return await accepted(request, rules.remove(orders_of(request), kind, seq, named))


async def trigger_image(request: Request) -> Response:
    """GET images/{image}.png: what a trigger saved."""
    name = request.parameters["image"]
    if re.fullmatch("[0-9]{1,18}-[0-9]{1,18}-[0-9]{1,18}", name):
        path = request.run.folder / "images" / f"{name}.png"
        with suppress(FileNotFoundError):
            return tagged(request, await asyncio.to_thread(path.read_bytes), media=b"image/png")  # a later run may have one of this name
    raise Refused("unknown-image", f'No trigger has saved an image "{name[:64]}".', value=name[:64])
