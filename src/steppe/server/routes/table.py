"""A route: one row of the table from which requests find their way, roles are checked and the contract is made."""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from functools import lru_cache
from typing import NamedTuple

from msgspec import Struct

from steppe.control import Refused
from steppe.server.query import Grammar
from steppe.server.request import Request, Response

JSON = "application/json"
ALWAYS = (400, 401, 403, 404, 405, 408, 413, 414, 415, 421, 429, 431, 500, 503)  # statuses that any address may give
OPEN = (400, 405, 408, 413, 414, 421, 429, 431, 500)  # that those without a role may give


class Route(NamedTuple):
    """One method of one address.

    role: "-" for all, else the least that is needed. codes: the statuses of success and those of problems beyond `ALWAYS`; the first is
    that of `reply`: a struct, a media type, several of them, or None. request: a struct, or "bytes" of an upload.
    steering: needs an Idempotency-Key, and may say for which version it is meant; keyed: needs the key alone.
    """

    method: str
    path: str
    role: str
    handler: Callable[[Request], Awaitable[Response]]
    summary: str
    codes: tuple[int, ...]
    reply: object
    request: type[Struct] | str | None = None
    query: Grammar | None = None
    steering: bool = False
    by_bytes: bool = False  # counted by bytes sent, not by requests
    keyed: bool = False
    needed: tuple[str, ...] = ()  # keys of the query that must be given

    @property
    def name(self) -> str:
        """Its name in the contract: that of the handler."""
        return str(getattr(self.handler, "__name__", "")).rstrip("_")


class RouteTable:
    """All routes. A route without a role is refused when the table is made."""

    def __init__(self, routes: Iterable[Route], roles: Iterable[str]) -> None:
        self.routes = tuple(routes)
        self._fixed: dict[str, dict[str, Route]] = {}
        self._open: dict[int, list[tuple[tuple[str, ...], dict[str, Route]]]] = {}
        known = {"-", *roles}
        for route in self.routes:
            if route.role not in known:
                raise ValueError(f'Route {route.method} {route.path} has the role "{route.role}", which is none of {sorted(known)}.')
            if "{" in route.path:
                parts = tuple(route.path.split("/"))
                ways = self._open.setdefault(len(parts), [])
                methods = next((methods for other, methods in ways if other == parts), None)
                if methods is None:
                    ways.append((parts, methods := {}))
            else:
                methods = self._fixed.setdefault(route.path, {})
            methods[route.method] = route

        self.find = lru_cache(512)(self._find)  # clients use few addresses

    def _find(self, method: str, path: str) -> tuple[Route, Mapping[str, str]]:
        """The route of a request and what stands for the names in its path.

        Raises
        ------
        Refused
            unknown-path; method, with the header Allow.
        """
        found: dict[str, str] = {}
        methods = self._fixed.get(path)
        if methods is None:
            parts = path.split("/")
            for way, there in self._open.get(len(parts), ()):
                found = {}
                for part, given in zip(way, parts, strict=True):
                    if part[:1] == "{":
                        name, _, tail = part[1:].partition("}")
                        if not given.endswith(tail) or len(given) == len(tail):
                            break
                        found[name] = given[: len(given) - len(tail)]
                    elif part != given:
                        break
                else:
                    methods = there
                    break
        if methods is None:
            raise Refused("unknown-path", "There is nothing at this address.")
        route = methods.get("GET" if method == "HEAD" else method)
        if route is None:
            allowed = [*methods, *(["HEAD"] if "GET" in methods else [])]
            raise Refused("method", f"{method} is not taken here.", allowed=allowed)
        return route, found
