"""Orders: the body of a request becomes an order of the service, and its receipt a reply."""

import asyncio
import re
from collections.abc import Awaitable, Callable
from typing import TypeVar

import msgspec
from msgspec import Struct

from steppe.api import Checkpoint, NewScenario, Pause, Rename, Restart, Rewind, Set, Skip, Step
from steppe.control import Refused
from steppe.failpoint import reach
from steppe.server.asked import Headers, Request, Response
from steppe.server.strict import decode
from steppe.service import Orders, Receipt

Content = TypeVar("Content", bound=Struct)
LARGE = 1 << 15  # [byte] of a body that is read in a thread, so that other requests do not wait for it


async def request_of(asked: Request, kind: type[Content]) -> Content:
    """The body of a request as a struct; an empty body is one without members."""
    body, limits = await asked.body() or b"{}", asked.house.limits
    if len(body) < LARGE:
        return decode(body, kind, limits)
    return await asyncio.to_thread(decode, body, kind, limits)


def orders_of(asked: Request) -> Orders:
    """What gives the order of a request: its caller, key, version and step, and how long the reply may wait."""
    assert asked.principal is not None, "the route has a role"
    return Orders(asked.house, asked.parameters["run"], asked.principal, asked.key, asked.if_match, asked.if_step, wait_of(asked))


async def accepted(asked: Request, ordering: Awaitable[Receipt]) -> Response:
    """The reply to an order: 202, or 200 when it is over by the time that `Prefer: wait=` gives it."""
    operation, again = receipt = await ordering
    headers: Headers = (
        (b"etag", f'"{operation["version"]}"'.encode()),
        (b"location", f"/api/v1/runs/{asked.parameters['run']}/operations/{operation['id']}".encode()),
        *(((b"idempotent-replayed", b"true"),) if again else ()),
    )
    assert reach("reply.before")
    return Response(200 if receipt.is_over else 202, msgspec.json.encode(operation), headers=headers)


def ordering(kind: type[Struct], order: Callable[..., Awaitable[Receipt]], *names: str) -> Callable[[Request], Awaitable[Response]]:
    """The handler of an order whose body is a `kind`. order: takes the orders, the parts `names` of the path, and the body."""

    async def handler(asked: Request) -> Response:
        request = await request_of(asked, kind)
        return await accepted(asked, order(orders_of(asked), *(asked.parameters[name] for name in names), request))

    handler.__name__ = order.__name__
    return handler


step, pause, set_ = ordering(Step, Orders.step), ordering(Pause, Orders.pause), ordering(Set, Orders.set)
checkpoint, restart, skip = ordering(Checkpoint, Orders.checkpoint), ordering(Restart, Orders.restart), ordering(Skip, Orders.skip)
rewind, rename = ordering(Rewind, Orders.rewind, "scenario"), ordering(Rename, Orders.rename, "scenario")


async def cancel(asked: Request) -> Response:
    """DELETE operations/{operation}: what is not over yet does not happen."""
    return await accepted(asked, orders_of(asked).cancel(number_of(asked.parameters["operation"], "unknown-operation")))


async def add_scenario(asked: Request) -> Response:
    """POST scenarios: a branch, and what is changed in it at once."""
    request = await request_of(asked, NewScenario)
    reply = await accepted(asked, orders_of(asked).branch(request))
    location = (b"location", f"/api/v1/runs/{asked.parameters['run']}/scenarios/{request.name}".encode())
    return reply._replace(status=201, headers=(*(each for each in reply.headers if each[0] != b"location"), location))


async def leave(asked: Request) -> Response:
    """DELETE scenarios/{scenario}."""
    return await accepted(asked, orders_of(asked).leave(asked.parameters["scenario"]))


async def preview(asked: Request) -> Response:
    """POST preview: what a change would do where the scenario stands now."""
    request = await request_of(asked, Set)
    return Response(200, msgspec.json.encode(await orders_of(asked).preview(request)))


def wait_of(asked: Request) -> float:
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
