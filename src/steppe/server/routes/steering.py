"""Orders: what is checked before an order goes into the journal, and the reply that says it is there."""

import asyncio
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, TypeVar

import msgspec
import numpy as np
from msgspec import Struct

from steppe.api import Checkpoint as CheckpointRequest
from steppe.api import Leave, Operation, Pause, Rename, Restart, Rewind, Set, Skip, Step, canonical
from steppe.control import Command, Order, Refused
from steppe.control.named import digests_of
from steppe.control.orders import FORKS
from steppe.failpoint import reach
from steppe.server import uploads
from steppe.server.asked import Asked, Reply
from steppe.server.changes import arguments_of, checked, previewed
from steppe.server.moments import date_of, step_before, step_behind
from steppe.server.strict import decode

Request = TypeVar("Request", bound=Struct)
LARGE = 1 << 15  # [byte] of a body that is read in a thread, so that nobody waits for it
OVER = ("done", "failed", "cancelled")


async def request_of(asked: Asked, kind: type[Request]) -> Request:
    """The body of a request as a struct; an empty body is one without members."""
    body, limits = await asked.body() or b"{}", asked.house.limits
    if len(body) < LARGE:
        return decode(body, kind, limits)
    return await asyncio.to_thread(decode, body, kind, limits)


async def step(asked: Asked) -> Reply:
    """POST step."""
    request = await request_of(asked, Step)
    arguments: dict[str, Any] = {}
    if request.until is not None:
        facts = asked.house.known(asked.parameters["run"]).facts
        arguments["until"] = step_behind(request.until, facts, "$.until")
    elif request.end:
        arguments["end"] = True
    else:
        arguments["steps"] = request.steps
    if request.speed is not None:
        arguments["speed"] = request.speed
    try:
        return await order(asked, "step", request.scenario, arguments, request)
    except Refused as refused:
        if refused.code == "out-of-range" and request.until is not None:  # the journal speaks of steps, the request of dates
            span = [date_of(number, facts) for number in refused.facts.get("allowed", ())]
            text = f"The run cannot be stepped to {request.until}, only to a date from {' to '.join(map(str, span))}."
            raise Refused("out-of-range", text, value=request.until, allowed=span, position="$.until") from None
        raise


async def pause(asked: Asked) -> Reply:
    """POST pause."""
    request = await request_of(asked, Pause)
    return await order(asked, "pause", request.scenario, {}, request, when="now")


async def set_(asked: Asked) -> Reply:
    """POST set."""
    request = await request_of(asked, Set)
    arguments = await arguments_of(asked.house, asked.parameters["run"], request)
    when: str | int
    if isinstance(request.when, str):
        when = request.when
    else:
        when = moment(asked, request.when, "$.when", step_before)
    return await order(asked, "set", request.scenario, arguments, request, when)


async def cancel(asked: Asked) -> Reply:
    """DELETE operations/{operation}: what is not over yet does not happen."""
    seq = number_of(asked.parameters["operation"], "unknown-operation")
    found = asked.run.operation(seq)
    if found is None:
        raise Refused("unknown-operation", f"There is no command {seq}.", value=seq)
    return await cancel_of(asked, seq, found)


async def cancel_of(asked: Asked, seq: int, found: Mapping[str, Any]) -> Reply:
    """Takes an order back."""
    if found["state"] in OVER and found_again(asked) is None:
        raise Refused("already-finished", f"Command {seq} ({found['kind']}) is {found['state']}.", value=seq)
    if found["kind"] == "step":  # what computes is stopped at the end of the present step
        return await order(asked, "pause", found["scenario"], {}, Skip(seq=seq), when="now")
    return await order(asked, "cancel", found["scenario"], {"seq": seq}, Skip(seq=seq))


async def checkpoint(asked: Asked) -> Reply:
    """POST checkpoints."""
    request = await request_of(asked, CheckpointRequest)
    return await order(asked, "checkpoint", request.scenario, {"pin": request.pin}, request)


async def rewind(asked: Asked) -> Reply:
    """POST scenarios/{scenario}/rewind; with `left` it undoes one: what that cancelled on later dates is ordered again."""
    request, scenario = await request_of(asked, Rewind), asked.parameters["scenario"]
    if request.left is None:
        return await order(asked, "rewind", scenario, {"step": moment(asked, request, "$", step_behind)}, request)
    journal = asked.run.journal
    dated = [
        each for each in journal.commands(branch=journal.branch(request.left).id) if each.outcome == "cancelled" and each.due.isdecimal()
    ]
    more = [
        made(asked, each.kind, scenario, each.arguments, request, int(each.due), f"-{each.seq}")
        for each in dated
        if each.detail.get("kind") in FORKS
    ]
    return await order(asked, "rewind", scenario, {"left": request.left}, request, more=more)


async def rename(asked: Asked) -> Reply:
    """POST scenarios/{scenario}/rename."""
    request = await request_of(asked, Rename)
    return await order(asked, "rename", asked.parameters["scenario"], {"name": request.name}, request)


async def leave(asked: Asked) -> Reply:
    """DELETE scenarios/{scenario}: its name is given up; what was done in it can still be looked at and branched off."""
    scenario = asked.parameters["scenario"]
    return await order(asked, "leave", scenario, {}, Leave(scenario=scenario))


async def preview(asked: Asked) -> Reply:
    """POST preview: what a change would do where the scenario stands now."""
    request = await request_of(asked, Set)
    run = asked.parameters["run"]
    asked.house.scenario(run, request.scenario)
    change, cells = await checked(asked.house, run, request)
    head, body = await asked.run.get(request.scenario, {"name": request.variable, "packed": True})
    before = np.frombuffer(body, np.dtype(head["dtype"]).newbyteorder("<")).astype(np.float64)
    found = await asyncio.to_thread(previewed, asked.house, run, change, cells, before)
    return Reply(200, msgspec.json.encode({"variable": request.variable, "units": head["units"], "step": head["step"], **found}))


async def restart(asked: Asked) -> Reply:
    """POST restart: a rewind to the initial state."""
    request = await request_of(asked, Restart)
    return await order(asked, "restart", request.scenario, {}, request)


async def skip(asked: Asked) -> Reply:
    """POST skip: go on without a command that brings the engine down."""
    request = await request_of(asked, Skip)
    found = asked.run.operation(request.seq)
    if found is None:
        raise Refused("unknown-operation", f"There is no command {request.seq}.", value=request.seq)
    return await order(asked, "skip", found["scenario"], {"seq": request.seq}, request)


# ---- what all orders have in common -----------------------------------------------------------------------------------------------------
async def order(
    asked: Asked,
    kind: str,
    scenario: str,
    arguments: Mapping[str, Any],
    request: Struct,
    when: str | int = "after",
    more: Sequence[Order] = (),
) -> Reply:
    """Puts an order into the journal and says so: 202, or 200 when it is over by the time that `Prefer: wait=` gives it.

    more: orders of the same request, which are stored with it.

    Raises
    ------
    Refused
        By the journal; nothing is stored.
    """
    if asked.house.draining.is_set():
        raise Refused("draining", "The server is ending and takes no more orders.")
    accepted = asked.run.accept(made(asked, kind, scenario, arguments, request, when), *more)
    for each in (arguments, *(one.arguments for one in more)):
        await settle(asked, each)
    run = asked.run
    found = await run.settled(accepted.seq, wait_of(asked)) or {}
    said = {name: found[name] for name in Operation.__struct_fields__ if name in found}
    content = msgspec.json.encode(
        said | {"version": accepted.version, "target": accepted.target, "at_step": found.get("at_step", accepted.at_step)}
    )
    name = asked.parameters["run"]
    headers = (
        (b"etag", f'"{accepted.version}"'.encode()),
        (b"location", f"/api/v1/runs/{name}/operations/{accepted.seq}".encode()),
        *(((b"idempotent-replayed", b"true"),) if accepted.again else ()),
    )
    assert reach("reply.before")
    return Reply(200 if found.get("state") in OVER else 202, content, headers=headers)


def made(
    asked: Asked, kind: str, scenario: str, arguments: Mapping[str, Any], request: Struct, when: str | int = "after", part: str = ""
) -> Order:
    """An order as the journal takes it. part: tells the orders of one request apart."""
    assert asked.principal is not None
    return Order(
        kind=kind,
        scenario=scenario,
        arguments=dict(arguments),
        when=when,
        key=asked.key + part,
        who=asked.principal.name,
        role=asked.principal.role,
        request=f"{kind} {scenario} ".encode() + canonical(request),
        if_match=None if part else asked.if_match,
        if_step=None if part else asked.if_step,
    )


async def settle(asked: Asked, arguments: Mapping[str, Any]) -> None:
    """Keeps what an accepted order names."""
    if names := [*digests_of(arguments)]:
        with suppress(OSError):  # the engine finds it all the same, and the sweep keeps it
            await asyncio.to_thread(uploads.settle, asked.run.folder, names)


def found_again(asked: Asked) -> Command | None:
    """This very order, if it is in the journal already: then it is answered as it was."""
    assert asked.principal is not None
    return asked.run.journal.ordered_by(asked.principal.name, asked.key)


def wait_of(asked: Asked) -> float:
    """Seconds of `Prefer: wait=`, at most 5; other preferences are passed over, as RFC 7240 wants."""
    for preference in asked.headers.get(b"prefer", b"").split(b","):
        found = re.fullmatch(rb"\s*wait\s*=\s*\"?([0-9]{1,5})\"?\s*", preference)
        if found:
            return min(float(found[1]), asked.house.limits.wait_seconds)
    return 0.0


def number_of(text: str, code: str) -> int:
    """A number of a path; raises Refused with `code`."""
    if not re.fullmatch("[0-9]{1,18}", text):
        raise Refused(code, f'"{text[:64]}" is no number of a command.', value=text[:64])
    return int(text)


def moment(asked: Asked, at: Any, position: str, step_at: Callable[[str, Mapping[str, Any], str], int]) -> int:
    """The step of a {step | date}. step_at: what a date means."""
    if at.date is not None:
        return step_at(at.date, asked.house.known(asked.parameters["run"]).facts, f"{position}.date")
    return int(at.step)
