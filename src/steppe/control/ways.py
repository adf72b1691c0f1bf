"""The way between a server and an engine: a Unix socket on one machine, TCP between two."""

from __future__ import annotations

import os
import socket
from contextlib import suppress

from steppe.control.door import Door
from steppe.control.seal import Sealed
from steppe.errors import Mistake

ALIVE = {"TCP_KEEPIDLE": 1, "TCP_KEEPINTVL": 1, "TCP_KEEPCNT": 3, "TCP_USER_TIMEOUT": 4000, "TCP_NODELAY": 1}  # [s], [s], 1, [ms], 1
ROOM = 4 << 20  # [byte] on the way, as far as the system lets: a map goes out at once, or its rest waits for both processes to have turns
PATIENCE = 10.0  # [s] for a server to take the line and to prove itself


def listening_at_path(path: str) -> socket.socket:
    """A socket that only its owner may call."""
    found = socket.socket(socket.AF_UNIX)
    found.bind(path)
    os.chmod(path, 0o600)
    return _listening(found)


def listening_at(address: str) -> socket.socket:
    """A socket of this machine. address: a name or number of it, and perhaps a port: else one that is free.

    Raises
    ------
    Mistake
        It is no address by which others find this machine, or the port is taken.
    """
    try:
        host, port = split(address)
        family, kind, _, _, where = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        if where[0] in ("0.0.0.0", "::"):
            raise OSError("engines elsewhere could not call it")
        found = socket.socket(family, kind)
        try:
            found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            found.bind(where)
        except OSError:
            found.close()
            raise
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise Mistake(
            f'The server cannot listen for engines at "{address}": {why}. Give --engine-bind a name or address of this machine that others '
            "can call, such as node1 or 10.0.0.5:7000."
        ) from None
    return _listening(found)


def _listening(found: socket.socket) -> socket.socket:
    found.setblocking(False)
    found.listen(64)
    return found


def address_of(listening: socket.socket) -> str:
    """Where a socket listens, as the door says it."""
    name = listening.getsockname()
    if listening.family == socket.AF_UNIX:
        return str(name)
    return f"[{name[0]}]:{name[1]}" if ":" in name[0] else f"{name[0]}:{name[1]}"


def split(address: str) -> tuple[str, int]:
    """Host and port of an address; port 0 where it says none. Raises ValueError."""
    host, colon, port = address.rpartition(":")
    if not colon or "]" in port or (":" in host and not host.startswith("[")):
        host, port = address, "0"
    if not port.isdecimal() or int(port) > 65535 or not host:
        raise ValueError("it must be ADDRESS or ADDRESS:PORT")
    return host.strip("[]"), int(port)


def called(door: Door) -> socket.socket | Sealed:
    """A connection to the server of a door, sealed if the door says how.

    Raises
    ------
    OSError
        Nobody is there, or somebody else.
    """
    if door.address.startswith("/"):
        line = socket.socket(socket.AF_UNIX)
        line.settimeout(PATIENCE)
        line.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, ROOM)
        try:
            line.connect(door.address)
        except OSError:
            line.close()
            raise
        return line
    line = socket.create_connection(split(door.address), PATIENCE)
    try:
        keep_alive(line)
        return Sealed(line, door.fingerprint) if door.fingerprint else line
    except BaseException:
        line.close()
        raise


def keep_alive(line: socket.socket) -> None:
    """Has the end of a connection noticed within some seconds, though the other machine cannot say so any more."""
    if line.family == socket.AF_UNIX:
        return
    line.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in ALIVE.items():
        with suppress(AttributeError, OSError):  # a system may lack it
            line.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)


def is_mine(line: socket.socket) -> bool:
    """Whether the other end is a process of this user; of another machine nobody can say."""
    if line.family != socket.AF_UNIX or not hasattr(socket, "SO_PEERCRED"):
        return True
    uid = int.from_bytes(line.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)[4:8], "little")
    return uid == os.getuid()
