"""A server behind proxies: the address of a client, and the part of all addresses that a proxy takes off.

Headers of trusted proxies count, others do not.
"""

import re
from collections.abc import Iterable
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

from steppe.control import Refused
from steppe.server.request import Redirection, Request

UNIX = "unix"  # callers at the Unix socket
_PREFIX = re.compile(r"(/[A-Za-z0-9_~-][A-Za-z0-9._~-]{0,63}){1,8}")


class Proxies:
    """Finds the client behind trusted proxies.

    Parameters
    ----------
    addresses
        Addresses or networks, or "unix".

    Raises
    ------
    ValueError
        An address is none.
    """

    def __init__(self, addresses: Iterable[str] = ()) -> None:
        self._unix = UNIX in (addresses := set(addresses))
        self._networks = [ip_network(each, strict=False) for each in addresses - {UNIX}]
        self._believes = lru_cache(1000)(self._is_proxy)

    def __call__(self, request: Request) -> None:
        """Sets `request.proxied`, and `request.address` to the client that X-Forwarded-For names.

        A proxy adds its caller at the end of the header, so the client is the last address there that is no believed proxy.
        """
        request.proxied = self._believes(request.address)
        if not request.proxied:
            return
        lines = [value.decode("latin-1") for name, value in request.scope["headers"] if name == b"x-forwarded-for"]
        for text in reversed(",".join(lines).split(",")):
            if (address := _address(text)) is None:
                return
            request.address = str(address)
            if not self._believes(request.address):
                return

    def _is_proxy(self, address: str) -> bool:
        if not address:
            return self._unix
        found = _address(address)
        return found is not None and any(found in network for network in self._networks)


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
        Redirection
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


def _address(text: str) -> IPv4Address | IPv6Address | None:
    """The address of 10.0.0.7, 10.0.0.7:80, ::1 or [::1]:80; None for other texts."""
    text = text.strip()
    if text.startswith("["):
        text = text[1:].partition("]")[0]
    elif text.count(":") == 1:
        text = text.partition(":")[0]
    try:
        found = ip_address(text)
    except ValueError:
        return None
    return found.ipv4_mapped or found if isinstance(found, IPv6Address) else found
