"""The name by which a server is called: another one is that of a site which had its name point here (DNS rebinding)."""

import re
from collections.abc import Iterable

from steppe.control import Refused
from steppe.server.request import Request

LOCAL = ("localhost", "127.0.0.1", "[::1]")
_HOST = re.compile(rb"(\[[0-9a-fA-F:.]{2,45}\]|[A-Za-z0-9._-]{1,253})(:[0-9]{1,5})?")


class Hosts:
    """Lets pass what calls the server by one of its names, with any port."""

    def __init__(self, names: Iterable[str] = LOCAL) -> None:
        self._names = {name.lower().encode() for name in names}
        self._known: set[bytes] = set()  # whole headers that were good; few, for there are few ports

    def __call__(self, request: Request) -> None:
        """Raises Refused, unknown-host."""
        given = request.headers.get(b"host", b"")
        if given in self._known:
            return
        found = _HOST.fullmatch(given)
        if found is None or found[1].lower() not in self._names:
            text = f'This server is not called "{given[:64].decode("ascii", "replace")}".'
            raise Refused("unknown-host", text, allowed=sorted(name.decode() for name in self._names))
        if len(self._known) < 100:
            self._known.add(given)
