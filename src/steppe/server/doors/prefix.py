"""The part of all addresses before those of the routes, where a proxy passes on a part of its own."""

import re

from steppe.control import Refused
from steppe.server.request import Redirection, Request

_PREFIX = re.compile(r"(/[A-Za-z0-9_~-][A-Za-z0-9._~-]{0,63}){1,8}")


class Prefix:
    """Takes the prefix off a path, or learns what a proxy has taken off it.

    Parameters
    ----------
    prefix
        "" or begins with a slash and ends without one.

    Raises
    ------
    ValueError
        The prefix is none.
    """

    def __init__(self, prefix: str = "") -> None:
        if prefix and not _PREFIX.fullmatch(prefix):
            raise ValueError(f'The prefix "{prefix}" must be like /steppe: begin with a slash, not end with one, of A-Z a-z 0-9 . _ ~ -.')
        self._prefix = prefix

    def __call__(self, request: Request) -> None:
        """Learns `request.prefix` and `request.path`.

        Raises
        ------
        Refused
            unknown-path, when the path does not begin with the prefix; bad-header, when a proxy tells none.
        Moved
            It is the prefix without the slash behind it, from which the addresses in the page would lead astray.
        """
        path = request.scope["path"]
        told = request.headers.get(b"x-forwarded-prefix")
        if told is not None and request.proxied:
            before = told.decode("latin-1").rstrip("/")
            if before and not _PREFIX.fullmatch(before):
                raise Refused("bad-header", "X-Forwarded-Prefix must be like /steppe.", position="X-Forwarded-Prefix")
            request.prefix = before
            if before and path in ("", before):  # not all proxies that take a prefix off take it off when nothing is behind it
                raise Redirection
        elif self._prefix:
            request.prefix = self._prefix
            if path == self._prefix:
                raise Redirection
            if not path.startswith(self._prefix + "/"):
                raise Refused("unknown-path", "There is nothing at this address.")
            path = path[len(self._prefix) :]
        request.path = path
