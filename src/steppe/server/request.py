"""A request on its way through the server, and the reply to it."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping, MutableMapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from steppe.control.server.supervisor import Supervisor
    from steppe.server.access import Visitor
    from steppe.server.context import ServerContext
    from steppe.server.routes.table import Route

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]
Headers = tuple[tuple[bytes, bytes], ...]
JSON_PROBLEM = b"application/problem+json"
Buffer = bytes | bytearray | memoryview


class Response(NamedTuple):
    """The reply to a request. body: in one piece; parts: further pieces, sent behind it without copying; stream: pieces that are
    made while it is sent; cache: the header Cache-Control."""

    status: int
    body: bytes = b""
    media: bytes = b"application/json"
    headers: Headers = ()
    parts: tuple[Buffer, ...] = ()
    stream: AsyncGenerator[bytes] | None = None
    cache: bytes = b"no-store"


@dataclass(slots=True)
class Request:
    """One request. headers: by name in small letters; the doors fill in the rest as they learn it."""

    context: ServerContext
    scope: Scope
    receive: Receive
    headers: dict[bytes, bytes]
    route: Route | None = None
    path: str = ""
    prefix: str = ""  # the part of the address before the path, as the client sees it
    parameters: Mapping[str, str] = field(default_factory=dict)
    principal: Visitor | None = None
    key: str = ""
    if_match: str | None = None
    if_step: int | None = None
    status: int = 0
    sent: int = 0
    address: str = ""  # where it came from, behind trusted proxies; "" for callers at a Unix socket
    proxied: bool = False  # whether it came by such a proxy

    def __post_init__(self) -> None:
        client = self.scope.get("client")
        self.address = client[0] if client else ""

    @property
    def run(self) -> Supervisor:
        """The run that is meant; raises Refused, unknown-run."""
        return self.context.run(self.parameters["run"])

    async def body(self) -> bytes:
        """The whole body; `check_size` limits it."""
        pieces = [piece async for piece in self.stream()]
        return b"".join(pieces)

    async def stream(self) -> AsyncIterator[bytes]:
        """The pieces of the body as they arrive. Raises Disconnection when the client has gone."""
        more = True
        while more:
            message = await self.receive()
            if message["type"] == "http.disconnect":
                raise Disconnection
            more = message.get("more_body", False)
            yield message.get("body", b"")


class Disconnection(Exception):
    """The client has closed the connection."""


class Redirection(Exception):
    """The client must go to the root of the addresses."""
