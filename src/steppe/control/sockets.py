"""Sockets between a server and an engine: Unix sockets on one machine, TCP between two."""

from __future__ import annotations

import os
import socket
from contextlib import suppress

from steppe.control.rendezvous import Rendezvous
from steppe.control.tls import TlsClient
from steppe.errors import Mistake

ALIVE = {"TCP_KEEPIDLE": 1, "TCP_KEEPINTVL": 1, "TCP_KEEPCNT": 3, "TCP_USER_TIMEOUT": 4000, "TCP_NODELAY": 1}  # [s], [s], 1, [ms], 1
ROOM = 4 << 20  # [byte] of the send buffer, as far as the system allows: a whole map leaves without a switch of processes
PATIENCE = 10.0  # [s] for a server to accept the connection and to authenticate


def unix_listener(path: str) -> socket.socket:
    """A listening Unix socket; only its owner may connect."""
    found = socket.socket(socket.AF_UNIX)
    found.bind(path)
    os.chmod(path, 0o600)
    return _listening(found)


def tcp_listener(address: str) -> socket.socket:
    """A listening TCP socket. address: a name or number of this machine, with or without a port; default: a free port.

    Raises
    ------
    Mistake
        Other machines cannot reach this one at the address, or the port is in use.
    """
    try:
        found = bound(*split(address))
        if found.getsockname()[0] in ("0.0.0.0", "::"):
            found.close()
            raise OSError("engines on other machines could not connect to it")
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise Mistake(
            f'The server cannot listen for engines at "{address}": {why}. Give --engine-bind a name or address of this machine that others '
            "can call, such as node1 or 10.0.0.5:7000."
        ) from None
    return _listening(found)


def bound(host: str, port: int) -> socket.socket:
    """A TCP socket at an address of this machine; raises OSError for one that is in use, or of another machine."""
    family, kind, _, _, where = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    found = socket.socket(family, kind)
    try:
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind(where)
    except OSError:
        found.close()
        raise
    return found


def _listening(made: socket.socket) -> socket.socket:
    made.setblocking(False)
    made.listen(64)
    return made


def address_of(listening: socket.socket) -> str:
    """The address of a listening socket, as in a rendezvous."""
    name = listening.getsockname()
    if listening.family == socket.AF_UNIX:
        return str(name)
    return f"[{name[0]}]:{name[1]}" if ":" in name[0] else f"{name[0]}:{name[1]}"


def split(address: str) -> tuple[str, int]:
    """Host and port of an address; port 0 where it has none. Raises ValueError for anything else."""
    host, colon, port = address.rpartition(":")
    if not colon or "]" in port or (":" in host and not host.startswith("[")):
        host, port = address, "0"
    if not port.isdecimal() or int(port) > 65535 or not host:
        raise ValueError("it must be ADDRESS or ADDRESS:PORT")
    return host.strip("[]"), int(port)


def connect(rendezvous: Rendezvous) -> socket.socket | TlsClient:
    """A connection to the server of a rendezvous, over TLS if it has a fingerprint.

    Raises
    ------
    OSError
        No server answers there, or another one does.
    """
    unix = rendezvous.address.startswith("/")
    line = socket.socket(socket.AF_UNIX) if unix else socket.create_connection(split(rendezvous.address), PATIENCE)
    try:
        if unix:
            line.settimeout(PATIENCE)
            line.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, ROOM)
            line.connect(rendezvous.address)
            return line
        keep_alive(line)
        return TlsClient(line, rendezvous.fingerprint) if rendezvous.fingerprint else line
    except BaseException:
        line.close()
        raise


def keep_alive(line: socket.socket) -> None:
    """Detects within seconds that the other machine is gone without a word. Does nothing for a Unix socket."""
    if line.family == socket.AF_UNIX:
        return
    line.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in ALIVE.items():
        with suppress(AttributeError, OSError):  # a system may lack it
            line.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)


def is_mine(line: socket.socket) -> bool:
    """True if the other end is a process of this user; always true over TCP, where the user cannot be known."""
    if line.family != socket.AF_UNIX or not hasattr(socket, "SO_PEERCRED"):
        return True
    uid = int.from_bytes(line.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)[4:8], "little")
    return uid == os.getuid()
