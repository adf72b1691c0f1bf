"""Models, and runs that begin and end."""

import msgspec

from steppe.api import NewRun
from steppe.control import Refused
from steppe.server.asked import Headers, Request, Response
from steppe.server.query import KEEP, read_query
from steppe.server.routes.state import tagged
from steppe.server.routes.steering import request_of
from steppe.service import admission


async def models(asked: Request) -> Response:
    """GET models: those that are installed."""
    found = await admission.models(asked.house)
    listed = [{"model": name, "version": each.get("version"), "problem": each.get("problem")} for name, each in found.items()]
    return tagged(asked, msgspec.json.encode({"models": listed}))


async def model(asked: Request) -> Response:
    """GET models/{model}: what it is made of."""
    found, name = await admission.models(asked.house), asked.parameters["model"]
    if name not in found:
        raise Refused("unknown-model", f'There is no model "{name[:64]}".', value=name[:64], allowed=list(found))
    return tagged(asked, msgspec.json.encode({"model": name, **found[name]}))


async def begin_run(asked: Request) -> Response:
    """POST runs: a new run, of a run file."""
    assert asked.principal is not None, "the route has a role"
    admission.check_may_begin(asked.principal)
    request = await request_of(asked, NewRun)
    answer, again = await admission.begin(asked.house, asked.principal, asked.key, request)
    headers: Headers = ((b"location", f"/api/v1/runs/{request.name}".encode()), *(((b"idempotent-replayed", b"true"),) if again else ()))
    return Response(201, answer, headers=headers)


async def end_run(asked: Request) -> Response:
    """DELETE run: its engine makes its state durable and ends; what was written stays."""
    assert asked.principal is not None, "the route has a role"
    read_query(asked.scope["query_string"], KEEP)
    name = asked.parameters["run"]
    admission.end(asked.house, asked.principal, name)
    return Response(202, msgspec.json.encode({"run": name, "state": "archived"}))
