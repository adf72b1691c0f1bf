"""Asking the application as a client does, without a socket."""

import asyncio
from typing import Any

import httpx
import jsonschema

from steppe.control import Refused
from steppe.server import Access, Server, Token
from steppe.server.contract import contract
from steppe.server.routes import TABLE
from tests.server.toy import Toy

TOKENS = {"view": "v" * 43, "steer": "s" * 43, "admin": "a" * 43}
HOST = "http://127.0.0.1:8090"
CONTRACT = contract()
PATHS = CONTRACT["paths"]
KEYS = iter(range(10**9))


def access_of_all() -> Access:
    """One token of each role."""
    return Access([Token.of(role, role, text) for role, text in TOKENS.items()])


def bearer(role: str) -> dict[str, str]:
    """The header of a token."""
    return {"Authorization": f"Bearer {TOKENS[role]}"}


class Client:
    """Sends one request at a time."""

    def __init__(self, server: Server, toy: Toy) -> None:
        self.server, self.toy = server, toy

    def ask(self, method: str, path: str, *, role: str | None = "admin", key: str | None = "", **more: Any) -> httpx.Response:
        """The answer. key: the Idempotency-Key, a new one for "", none for None; path: behind /api/v1 unless it is whole."""
        headers = {**(bearer(role) if role else {}), **more.pop("headers", {})}
        if key is not None and method != "GET":
            headers.setdefault("Idempotency-Key", key or f"k{next(KEYS)}")
        whole = path == "/" or path.startswith(("/assets", "/problems", "/healthz", "/readyz", "/metrics", "/api"))
        address = path if whole else f"/api/v1{path}"

        async def one() -> httpx.Response:
            transport = httpx.ASGITransport(self.server, raise_app_exceptions=True)
            async with httpx.AsyncClient(transport=transport, base_url=HOST) as client:
                return await client.request(method, address, headers=headers, **more)

        answer = asyncio.run(one())
        documented(method, address, answer)
        return answer

    def get(self, path: str, **more: Any) -> httpx.Response:
        """GET of something of the run."""
        return self.ask("GET", f"/runs/toy{path}", **more)

    def post(self, path: str, content: Any = None, **more: Any) -> httpx.Response:
        """POST of JSON to something of the run."""
        return self.ask("POST", f"/runs/toy{path}", json={} if content is None else content, **more)

    def standing(self) -> tuple[str, int, list[tuple[str, int]]]:
        """What no refused request may change: digest of the states, last number of the journal, targets."""
        branches = self.toy.journal.branches()
        last = max((command.seq for command in self.toy.journal.commands()), default=0)
        return self.toy.digest(), last, [(branch.name, branch.target) for branch in branches]


def documented(method: str, address: str, answer: httpx.Response) -> None:
    """The contract knows of this status, and of its content."""
    try:
        route, _ = TABLE.find(method, httpx.URL(address).path)
    except Refused:
        return
    said = PATHS[route.path][route.method.lower()]["responses"].get(str(answer.status_code))
    assert said, f"{method} {address} answered {answer.status_code}: {answer.text[:300]}"
    if answer.headers.get("content-type") == "application/json":
        jsonschema.validate(answer.json(), {**said["content"]["application/json"]["schema"], "components": CONTRACT["components"]})


def problem(response: httpx.Response) -> dict[str, Any]:
    """A problem, whose parts agree."""
    assert response.headers["content-type"] == "application/problem+json"
    found: dict[str, Any] = response.json()
    assert found["status"] == response.status_code
    assert found["type"] == f"/problems/{found['code']}"
    return found
