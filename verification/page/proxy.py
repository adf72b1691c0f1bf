"""A small proxy in front of a server: passes on a part of its own addresses, whole or without that part."""

import re
import socket
from contextlib import suppress
from threading import Thread
from typing import Self


class Proxy:
    """Serves at a port of this machine. strips: whether it takes the prefix off and says so, or leaves it."""

    def __init__(self, upstream: int, prefix: str = "", strips: bool = False) -> None:
        self._upstream, self._prefix, self._strips = upstream, prefix, strips
        self._door = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port: int = self._door.getsockname()[1]

    def __enter__(self) -> Self:
        Thread(target=self._serve, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._door.close()

    def _serve(self) -> None:
        with suppress(OSError):
            while True:
                line, _ = self._door.accept()
                Thread(target=self._answer, args=(line,), daemon=True).start()

    def _answer(self, line: socket.socket) -> None:
        """One request; then, of a socket, whatever is said."""
        with line, suppress(OSError):
            head = b""
            while b"\r\n\r\n" not in head:
                piece = line.recv(65536)
                if not piece:
                    return
                head += piece
            first, _, rest = head.partition(b"\r\n")
            method, path, version = first.split(b" ")
            if not path.startswith(self._prefix.encode() + b"/"):
                line.sendall(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
                return
            if self._strips:
                path = path[len(self._prefix) :]
                rest = b"X-Forwarded-Prefix: " + self._prefix.encode() + b"\r\n" + rest
            if b"upgrade: websocket" not in rest.lower():
                rest = b"Connection: close\r\n" + re.sub(rb"(?im)^connection:.*\r\n", b"", rest, count=1)
            self._forward(line, b" ".join((method, path, version)) + b"\r\n" + rest)

    def _forward(self, line: socket.socket, request: bytes) -> None:
        """Passes on a request, whose body may not have come whole, and its answer."""
        with socket.create_connection(("127.0.0.1", self._upstream)) as server:
            server.sendall(request)
            Thread(target=_pass_on, args=(line, server), daemon=True).start()
            _pass_on(server, line)


def _pass_on(one: socket.socket, other: socket.socket) -> None:
    with suppress(OSError):
        while piece := one.recv(65536):
            other.sendall(piece)
        other.shutdown(socket.SHUT_WR)
