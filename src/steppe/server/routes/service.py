"""The server itself: its health, the principal of a request, its counts, its contract."""

import asyncio
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from importlib.resources import files

import msgspec

from steppe.api import Login
from steppe.control import Refused
from steppe.server import problems
from steppe.server.doors.authentication import cookie_name, cookie_of
from steppe.server.request import Request, Response
from steppe.server.routes.steering import content_of

ARRAYS = {"arrays": "in_use", "sent": "sent_bytes", "longest_wait": "longest_wait_seconds"}  # names of Prometheus end in the unit
HELD = ("failed", "paused")  # states of a run that takes no orders


async def healthz(request: Request) -> Response:
    """GET healthz: the process is up."""
    return Response(200, msgspec.json.encode({"status": "ok"}))


async def readyz(request: Request) -> Response:
    """GET readyz: orders are taken: no run has failed, and none waits for room on its disk."""
    ready = not request.context.draining.is_set() and all(run.info()["state"] not in HELD for run in request.context.runs.values())
    return Response(200 if ready else 503, msgspec.json.encode({"status": "ok" if ready else "unavailable"}))


async def metrics(request: Request) -> Response:
    """GET metrics: of the runs that the caller may see."""
    assert request.principal is not None, "the route has a role"
    seen = [(f'run="{name}"', run, run.info()) for name, run in request.context.runs.items() if request.principal.sees(name)]
    states = {f'{name},state="{info["state"]}"': 1 for name, _, info in seen}
    steps = {f'{name},scenario="{each["name"]}"': each["step"] for name, _, info in seen for each in info["scenarios"]}
    deaths = {name: info["deaths"] for name, _, info in seen}
    refused = {name: run.turned_away for name, run, _ in seen}
    longest = {name: run.journal.longest for name, run, _ in seen}
    more: dict[str, tuple[str, str, Mapping[str, float]]] = {
        "steppe_run_state": ("gauge", "1 for the state that a run is in.", states),
        "steppe_step": ("gauge", "Steps that a scenario has finished.", steps),
        "steppe_engine_deaths_total": ("counter", "Engines of a run that died.", deaths),
        "steppe_engine_callers_refused_total": ("counter", "Connections for an engine that were refused.", refused),
        "steppe_journal_longest_transaction_seconds": ("gauge", "Seconds of the longest transaction of a journal.", longest),
    }
    for what in sorted({what for _, _, info in seen for what in info["arrays"]}):
        told = {name: info["arrays"][what] for name, _, info in seen if what in info["arrays"]}
        more[f"steppe_arrays_{ARRAYS.get(what, what)}"] = ("gauge", "Of the global arrays of a run that are in use, over all ranks.", told)
    return Response(200, request.context.metrics.text(more).encode(), b"text/plain; version=0.0.4; charset=utf-8")


async def whoami(request: Request) -> Response:
    """GET whoami."""
    who = request.principal
    assert who is not None
    expires = None if who.expires is None else datetime.fromtimestamp(who.expires, UTC).isoformat(timespec="seconds")
    left = request.context.requests_left(who.token)
    told = {"name": who.name, "role": who.role, "expires": expires, "run": who.run or None, "requests_left": left}
    return Response(200, msgspec.json.encode(told))


async def login(request: Request) -> Response:
    """POST login: a token is changed into a cookie, which the page's scripts cannot read."""
    access, limits = request.context.access, request.context.limits
    wait = access.wait_to_login(request.address, limits.logins)
    if wait > 0:
        raise Refused("too-many", "Too many failures to log in from this address.", retry_after=wait)
    content = await content_of(request, Login)
    await access.look(content.token)
    cookie = access.open_session(content.token)
    if cookie is None:
        access.login_failed(request.address)
        raise Refused("not-authenticated", "The token is not known, or is over.")
    return Response(204, headers=((b"set-cookie", _cookie(request, cookie, 12 * 3600)),))


async def logout(request: Request) -> Response:
    """POST logout."""
    cookie = cookie_of(request)
    if cookie is not None:
        request.context.access.close_session(cookie)
    return Response(204, headers=((b"set-cookie", _cookie(request, "", 0)),))


def _cookie(request: Request, value: str, seconds: int) -> bytes:
    # the browser tells how it called, also behind a proxy that ends TLS
    is_https = request.scope.get("scheme") == "https" or request.headers.get(b"origin", b"").startswith(b"https:")
    secure = "; Secure" if is_https else ""
    name = cookie_name(request)
    path = request.prefix or "/"
    return f"{name}={value}; Max-Age={seconds}; Path={path}; HttpOnly; SameSite=Strict{secure}".encode()


async def contract(request: Request) -> Response:
    """GET openapi.json."""
    return Response(200, await asyncio.to_thread(_contract), cache=b"no-cache")


@cache
def _contract() -> bytes:
    return (files("steppe.server") / "openapi.json").read_bytes()


async def explain(request: Request) -> Response:
    """GET problems/{code}."""
    return problems.page(request.parameters["code"])
