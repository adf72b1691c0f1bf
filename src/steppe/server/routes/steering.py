"""Orders: the body of a request becomes an order of the service, and its receipt a reply.

Also uploads, which orders name, and the start of an engine.
"""

import asyncio
import re
from collections.abc import Awaitable, Callable
from typing import TypeVar

import msgspec
from msgspec import Struct

from steppe.api import CheckpointRequest, NewScenario, Pause, Rename, Restart, Rewind, Set, Skip, Start, Step
from steppe.control import Refused
from steppe.failpoint import reach
from steppe.server.request import Headers, Request, Response
from steppe.server.strict import decode
from steppe.service import Orders, Receipt, uploads

Content = TypeVar("Content", bound=Struct)
LARGE = 1 << 15  # [byte] of a body that is read in a thread, so that other requests do not wait for it


async def content_of(request: Request, kind: type[Content]) -> Content:
    """The body of a request as a struct; an empty body is one without members."""
    body, limits = await request.body() or b"{}", request.context.limits
    if len(body) < LARGE:
        return decode(body, kind, limits)
    return await asyncio.to_thread(decode, body, kind, limits)


def orders_of(request: Request) -> Orders:
    """The orders of a request: with its caller, key, version and step, and the longest wait of the reply."""
    assert request.principal is not None, "the route has a role"
    return Orders(
        request.context, request.parameters["run"], request.principal, request.key, request.if_match, request.if_step, wait_of(request)
    )


async def accepted(request: Request, ordering: Awaitable[Receipt]) -> Response:
    """The reply to an order: 202, or 200 when it is over by the time that `Prefer: wait=` gives it."""
    operation, again = receipt = await ordering
    headers: Headers = (
        (b"etag", f'"{operation["version"]}"'.encode()),
        (b"location", f"/api/v1/runs/{request.parameters['run']}/operations/{operation['id']}".encode()),
        *(((b"idempotent-replayed", b"true"),) if again else ()),
    )
    assert reach("reply.before")
    return Response(200 if receipt.is_over else 202, msgspec.json.encode(operation), headers=headers)


def ordering(kind: type[Struct], order: Callable[..., Awaitable[Receipt]], *names: str) -> Callable[[Request], Awaitable[Response]]:
    """The handler of an order whose body is a `kind`. order: takes the orders, the parts `names` of the path, and the body."""

    async def handler(request: Request) -> Response:
        content = await content_of(request, kind)
        return await accepted(request, order(orders_of(request), *(request.parameters[name] for name in names), content))

    handler.__name__ = order.__name__
    return handler


step, pause, set_ = ordering(Step, Orders.step), ordering(Pause, Orders.pause), ordering(Set, Orders.set)
checkpoint, restart, skip = ordering(CheckpointRequest, Orders.checkpoint), ordering(Restart, Orders.restart), ordering(Skip, Orders.skip)
rewind, rename = ordering(Rewind, Orders.rewind, "scenario"), ordering(Rename, Orders.rename, "scenario")


async def cancel(request: Request) -> Response:
    """DELETE operations/{operation}: what is not over yet does not happen."""
    return await accepted(request, orders_of(request).cancel(number_of(request.parameters["operation"], "unknown-operation")))


async def add_scenario(request: Request) -> Response:
    """POST scenarios: a branch, and what is changed in it at once."""
    content = await content_of(request, NewScenario)
    reply = await accepted(request, orders_of(request).branch(content))
    location = (b"location", f"/api/v1/runs/{request.parameters['run']}/scenarios/{content.name}".encode())
    return reply._replace(status=201, headers=(*(each for each in reply.headers if each[0] != b"location"), location))


async def leave(request: Request) -> Response:
    """DELETE scenarios/{scenario}."""
    return await accepted(request, orders_of(request).leave(request.parameters["scenario"]))


async def preview(request: Request) -> Response:
    """POST preview: what a change would do where the scenario stands now."""
    content = await content_of(request, Set)
    return Response(200, msgspec.json.encode(await orders_of(request).preview(content)))


def wait_of(request: Request) -> float:
    """Seconds of `Prefer: wait=`, at most 5; other preferences are passed over, as RFC 7240 wants."""
    for preference in request.headers.get(b"prefer", b"").split(b","):
        found = re.fullmatch(rb"\s*wait\s*=\s*\"?([0-9]{1,5})\"?\s*", preference.partition(b";")[0])
        if found:
            return min(float(found[1]), request.context.limits.wait_seconds)
    return 0.0


def number_of(text: str, code: str) -> int:
    """A number of a path; raises Refused with `code`."""
    if not re.fullmatch("[0-9]{1,18}", text):
        raise Refused(code, f'"{text[:64]}" is no number of a command.', value=text[:64])
    return int(text)


async def upload(request: Request) -> Response:
    """PUT uploads/{sha256}: an array for a change, raw and little-endian."""
    name, length = request.parameters["sha256"], int(request.headers.get(b"content-length", b"0"))
    uploads.check_name(name)
    request.context.check_open("uploads")
    size, is_new = await uploads.take(request.run.folder, name, length, request.stream(), request.context.limits)
    return Response(201 if is_new else 200, msgspec.json.encode({"sha256": name, "bytes": size}))


async def start(request: Request) -> Response:
    """POST start: the engine is started if there is none, also after it has died again and again."""
    await content_of(request, Start)
    request.run.process.launch()
    return Response(202, msgspec.json.encode(request.context.info(request.parameters["run"])))
