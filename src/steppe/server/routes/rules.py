"""Events and triggers: what is to happen by itself in a scenario from now on, until it is removed."""

import asyncio
import re
from contextlib import suppress
from typing import Any

import msgspec

from steppe.api import Event, Remove, Trigger
from steppe.control import Command, Refused
from steppe.control.expression import ExpressionError, parse
from steppe.server.asked import Asked, Reply
from steppe.server.changes import arguments_of
from steppe.server.moments import begin_of, check_yearly, step_before
from steppe.server.query import WHERE, read_query
from steppe.server.routes.steering import cancel_of, found_again, moment, number_of, order, request_of


async def events(asked: Asked) -> Reply:
    """GET events: changes that are still to come, those of one order too."""
    run = asked.run
    names = {each["branch"]: each["name"] for each in run.scenarios()}
    waiting = [(names.get(row.branch, ""), row, row.at_step) for row in run.journal.waiting("set")]
    standing = [(scenario, row, row.arguments.get("step")) for scenario, row, _ in _rules(asked, "event")]
    found = [
        {
            "id": row.seq,
            "scenario": scenario,
            "at_step": step,
            "date": begin_of(step, run.facts) if step is not None and run.facts else None,
            "yearly": row.arguments.get("yearly") or None,
            "arguments": row.arguments.get("change", row.arguments),
            "who": row.who,
        }
        for scenario, row, step in (*waiting, *standing)
    ]
    return Reply(200, msgspec.json.encode({"events": found}))


async def triggers(asked: Asked) -> Reply:
    """GET triggers, and what each has done."""
    found = [
        {
            "id": row.seq,
            "scenario": scenario,
            **{name: row.arguments[name] for name in ("expression", "action", "text")},
            "variable": row.arguments["variable"] or None,
            "who": row.who,
            "fired": [each["step"] for each in told if each["kind"] != "warning"],
            "off": next((each["text"] for each in told if each["kind"] == "warning" and " is off: " in each["text"]), None),
        }
        for scenario, row, told in _rules(asked, "trigger")
    ]
    return Reply(200, msgspec.json.encode({"triggers": found}))


def _rules(asked: Asked, kind: str) -> list[tuple[str, Command, list[dict[str, Any]]]]:
    """Scenario, order and deeds of all of a kind; scenarios that a rewind has left have none any more."""
    names = [each["name"] for each in asked.run.scenarios() if "@" not in each["name"]]
    return [(name, row, told) for name in names for row, told in asked.run.rules(name) if row.kind == kind]


async def add_event(asked: Asked) -> Reply:
    """POST events: a change at a step or date that is still to come, or every year."""
    request = await request_of(asked, Event)
    run = asked.parameters["run"]
    arguments: dict[str, Any] = {"change": await arguments_of(asked.house, run, request)}
    if request.when.yearly is not None:
        arguments["yearly"] = check_yearly(request.when.yearly, asked.house.known(run).facts, "$.when.yearly")
    else:
        arguments["step"] = moment(asked, request.when, "$.when", step_before)
    return await order(asked, "event", request.scenario, arguments, request, when="now")


async def add_trigger(asked: Asked) -> Reply:
    """POST triggers: a pause, a message or an image when something becomes true."""
    request = await request_of(asked, Trigger)
    run = asked.parameters["run"]
    try:
        parse(request.expression, asked.house.known(run).variables)
    except ExpressionError as error:
        value = request.expression[:64]
        raise Refused("expression-invalid", str(error), value=value, position=error.column, nearest=error.nearest) from None
    if (request.variable is not None) != (request.action == "image"):
        text = 'The action "image" needs the variable that is drawn; the others have none.'
        raise Refused("bad-field", text, value=request.variable, position="$.variable")
    if request.variable is not None:
        asked.house.variable(run, request.variable)
        if asked.house.known(run).grid.active.ndim != 2:
            raise Refused("bad-field", "An image is of a raster; these are points.", value="image", position="$.action")
    arguments = {name: getattr(request, name) for name in ("expression", "action", "text")}
    return await order(asked, "trigger", request.scenario, arguments | {"variable": request.variable or ""}, request, when="now")


async def remove_event(asked: Asked) -> Reply:
    """DELETE events/{event}: the change does not happen any more."""
    seq = number_of(asked.parameters["event"], "unknown-event")
    found = asked.run.operation(seq)
    if found is not None and found["kind"] == "set":
        return await cancel_of(asked, seq, found)
    return await _remove(asked, "event", seq)


async def remove_trigger(asked: Asked) -> Reply:
    """DELETE triggers/{trigger}: it is watched for no longer."""
    return await _remove(asked, "trigger", number_of(asked.parameters["trigger"], "unknown-trigger"))


async def _remove(asked: Asked, kind: str, seq: int) -> Reply:
    named = read_query(asked.scope["query_string"], WHERE)["scenario"]
    before = found_again(asked)
    if before is not None and before.kind == "remove":
        scenario = str(before.arguments["scenario"])
    else:
        there = [scenario for scenario, row, _ in _rules(asked, kind) if row.seq == seq]
        if not there or named not in (None, *there):
            known = asked.run.operation(seq)
            if known is not None and known["kind"] == kind and not there:
                raise Refused("already-finished", f"The {kind} {seq} is over.", value=seq)
            raise Refused(
                f"unknown-{kind}", f"There is no {kind} {seq}{f' in {named}' if named else ''}.", value=seq, allowed=there or None
            )
        scenario = named or there[0]
    return await order(asked, "remove", scenario, {"rule": seq, "scenario": scenario}, Remove(seq=seq, scenario=named), when="now")


async def trigger_image(asked: Asked) -> Reply:
    """GET images/{image}.png: what a trigger saved."""
    name = asked.parameters["image"]
    if re.fullmatch("[0-9]{1,18}-[0-9]{1,18}-[0-9]{1,18}", name):
        path = asked.run.folder / "images" / f"{name}.png"
        with suppress(FileNotFoundError):
            content = await asyncio.to_thread(path.read_bytes)
            return Reply(200, content, b"image/png", cache=b"private, max-age=31536000, immutable")
    raise Refused("unknown-image", f'No trigger has saved an image "{name[:64]}".', value=name[:64])
