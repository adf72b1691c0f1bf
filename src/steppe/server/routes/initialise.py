"""Models, and runs that begin and end."""

import msgspec

from steppe.api import NewRun
from steppe.control import Refused
from steppe.server.query import KEEP, read_query
from steppe.server.request import Headers, Request, Response
from steppe.server.routes.state import tagged
from steppe.server.routes.steering import content_of
from steppe.service import admission


async def models(request: Request) -> Response:
    """GET models: those that are installed."""
    found = await admission.models(request.context)
    listed = [{"model": name, "version": each.get("version"), "problem": each.get("problem")} for name, each in found.items()]
    return tagged(request, msgspec.json.encode({"models": listed}))


async def model(request: Request) -> Response:
    """GET models/{model}: what it is made of."""
    found, name = await admission.models(request.context), request.parameters["model"]
    if name not in found:
        raise Refused("unknown-model", f'There is no model "{name[:64]}".', value=name[:64], allowed=list(found))
    return tagged(request, msgspec.json.encode({"model": name, **found[name]}))


async def begin_run(request: Request) -> Response:
    """POST runs: a new run, of a run file."""
    assert request.principal is not None, "the route has a role"
    admission.check_may_begin(request.principal)
    content = await content_of(request, NewRun)
    answer, again = await admission.begin(request.context, request.principal, request.key, content)
    headers: Headers = ((b"location", f"/api/v1/runs/{content.name}".encode()), *(((b"idempotent-replayed", b"true"),) if again else ()))
    return Response(201, answer, headers=headers)


async def end_run(request: Request) -> Response:
    """DELETE run: its engine makes its state durable and ends; what was written stays."""
    assert request.principal is not None, "the route has a role"
    read_query(request.scope["query_string"], KEEP)
    name = request.parameters["run"]
    admission.end(request.context, request.principal, name)
    return Response(202, msgspec.json.encode({"run": name, "state": "archived"}))
