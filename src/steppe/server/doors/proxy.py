"""The address of a client behind proxies: headers of trusted proxies count, others do not."""

from collections.abc import Iterable
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

from steppe.server.request import Request

UNIX = "unix"  # callers at the Unix socket


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
