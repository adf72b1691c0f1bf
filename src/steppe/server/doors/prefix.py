"""The part of all addresses before those of the routes, where a proxy passes on a part of its own."""

import re
from collections.abc import Iterable
from functools import lru_cache
from ipaddress import IPv6Address, ip_address, ip_network

from steppe.server.asked import Asked, Moved
from steppe.server.problems import Wrong

UNIX = "unix"  # whoever calls at the Unix socket
_PREFIX = re.compile(r"(/[A-Za-z0-9_~-][A-Za-z0-9._~-]{0,63}){1,8}")


class Prefix:
    """Takes the prefix off a path, or learns what a proxy has taken off it.

    Parameters
    ----------
    prefix
        "" or begins with a slash and ends without one.
    proxies
        Addresses or networks, or "unix", whose header X-Forwarded-Prefix is believed; that of others is not.

    Raises
    ------
    ValueError
        The prefix or an address is none.
    """

    def __init__(self, prefix: str = "", proxies: Iterable[str] = ()) -> None:
        if prefix and not _PREFIX.fullmatch(prefix):
            raise ValueError(f'The prefix "{prefix}" must be like /steppe: begin with a slash, not end with one, of A-Z a-z 0-9 . _ ~ -.')
        self._prefix, proxies = prefix, set(proxies)
        self._unix = UNIX in proxies
        self._networks = [ip_network(each, strict=False) for each in proxies - {UNIX}]
        self._believes = lru_cache(1000)(self._is_proxy)

    def __call__(self, asked: Asked) -> None:
        """Learns `asked.prefix` and `asked.path`.

        Raises
        ------
        Wrong
            unknown-path, when the path does not begin with the prefix; bad-header, when a proxy tells none.
        Moved
            It is the prefix without the slash behind it, from which the addresses in the page would lead astray.
        """
        path = asked.scope["path"]
        told = asked.headers.get(b"x-forwarded-prefix")
        if told is not None and self._believes(asked.address):
            before = told.decode("latin-1").rstrip("/")
            if before and not _PREFIX.fullmatch(before):
                raise Wrong("bad-header", "X-Forwarded-Prefix must be like /steppe.", position="X-Forwarded-Prefix")
            asked.prefix = before
            if before and path in ("", before):  # not all proxies that take a prefix off take it off when nothing is behind it
                raise Moved
        elif self._prefix:
            asked.prefix = self._prefix
            if path == self._prefix:
                raise Moved
            if not path.startswith(self._prefix + "/"):
                raise Wrong("unknown-path", "There is nothing at this address.")
            path = path[len(self._prefix) :]
        asked.path = path

    def _is_proxy(self, address: str) -> bool:
        if not address:
            return self._unix
        try:
            found = ip_address(address)
        except ValueError:
            return False
        if isinstance(found, IPv6Address) and found.ipv4_mapped:
            found = found.ipv4_mapped
        return any(found in network for network in self._networks)
