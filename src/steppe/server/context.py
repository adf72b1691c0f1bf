"""The objects that all routes of a server share: the service, the access of clients, the counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from steppe.server.access import Access
from steppe.server.limits import Limits
from steppe.server.metrics import Metrics
from steppe.server.tokens import TokenFile
from steppe.service import Opener, Service, Supervisor

if TYPE_CHECKING:
    from steppe.server.live.feed import Feed
    from steppe.server.routes.films import FilmProcess


class ServerContext(Service):
    """The parts of a server that its routes use."""

    limits: Limits

    def __init__(
        self,
        runs: Mapping[str, Supervisor],
        access: Access,
        limits: Limits,
        requests_left: Callable[[str], int],
        read_only: bool = False,
        opener: Opener | None = None,
        readable: Sequence[Path] = (),
    ) -> None:
        super().__init__(runs, limits, read_only, opener, readable)
        self.access, self.requests_left = access, requests_left
        self.metrics = Metrics()
        self.sockets: Counter[str] = Counter()  # open sockets by the digest of their token; "": without a token yet
        self.feeds: dict[str, Feed] = {}  # of runs with viewers
        self.film: FilmProcess | None = None  # the film in work

    async def begun(self, name: str) -> None:
        """Takes the tokens of a new run, too."""
        await self.access.take_also({name: TokenFile(self.run(name).folder)})
