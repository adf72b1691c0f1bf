"""A refusal as `application/problem+json`."""

from collections.abc import Mapping
from html import escape
from typing import Any

import msgspec

from steppe.api import KINDS
from steppe.control import Refused
from steppe.errors import closest
from steppe.server.request import JSON_PROBLEM, Headers, Response

RETRY = {"engine-recovering": 1, "too-busy": 1, "draining": 5}  # [s]
HEADERS: Mapping[str, Headers] = {
    "not-authenticated": ((b"www-authenticate", b"Bearer"),),
    "upgrade-needed": ((b"upgrade", b"websocket"),),
}
OF_TIME = ("date-outside-forcing", "not-computed", "out-of-range")  # dates that look alike are not near
PAGE = (
    "<!doctype html><html lang=en><meta charset=utf-8><title>{title} - Steppe</title>"
    "<h1>{title}</h1><p>{advice}</p><p><code>{code}</code> {status}</p>"
)


def problem(code: str, detail: str, instance: str, facts: Mapping[str, object], prefix: str = "") -> Response:
    """The reply to a refused request. prefix: the part before all addresses, as the client sees them."""
    kind = KINDS.get(code, KINDS["defect"])
    said: dict[str, Any] = {key: value for key, value in facts.items() if value is not None}
    value, allowed = said.get("value"), said.get("allowed")
    if isinstance(value, str) and isinstance(allowed, list | tuple) and "nearest" not in said and code not in OF_TIME:
        close = closest(value, [name for name in allowed if isinstance(name, str)])
        said |= {"nearest": close} if close else {}
    headers = HEADERS.get(code, ())
    if code == "method" and allowed:
        headers = ((b"allow", ", ".join(allowed).encode()),)
    retry = said.pop("retry_after", RETRY.get(code))
    if retry is not None:
        headers = (*headers, (b"retry-after", str(max(1, round(retry))).encode()))
    content = {
        "type": f"{prefix}/problems/{code}",
        "title": kind.title,
        "status": kind.status,
        "detail": detail,
        "instance": instance,
        "code": code,
    }
    return Response(kind.status, msgspec.json.encode(said | content), JSON_PROBLEM, headers)


def page(code: str) -> Response:
    """The page of a kind of problem."""
    if code not in KINDS:
        raise Refused("unknown-problem", f'There is no problem "{code[:64]}".', value=code[:64], allowed=list(KINDS))
    kind = KINDS[code]
    text = PAGE.format(title=escape(kind.title), advice=escape(kind.advice), code=code, status=kind.status)
    return Response(200, text.encode(), b"text/html; charset=utf-8", cache=b"public, max-age=3600")
