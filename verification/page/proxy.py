"""What stands between a browser and a server: a proxy that passes on a part of its own addresses, or a slow line."""

import re
import socket
import time
from contextlib import suppress
from queue import SimpleQueue
from threading import Lock, Thread
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


class SlowLine:
    """A line between a browser and a server. delay: each way [s]. rate: to the browser, of all connections together [byte/s]."""

    def __init__(self, upstream: int, delay: float, rate: float) -> None:
        self._upstream, self._delay, self._rate = upstream, delay, rate
        self._door = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port: int = self._door.getsockname()[1]
        self._free, self._turn = 0.0, Lock()  # when the line has passed on all that it was given

    def __enter__(self) -> Self:
        Thread(target=self._serve, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._door.close()

    def _serve(self) -> None:
        with suppress(OSError):
            while True:
                Thread(target=self._connect, args=(self._door.accept()[0],), daemon=True).start()

    def _connect(self, browser: socket.socket) -> None:
        time.sleep(2 * self._delay)  # the handshake of TCP
        with browser, socket.create_connection(("127.0.0.1", self._upstream)) as server:
            up = Thread(target=self._carry, args=(browser, server, False), daemon=True)
            up.start()
            self._carry(server, browser, True)
            up.join()

    def _carry(self, one: socket.socket, other: socket.socket, narrow: bool) -> None:
        under_way: SimpleQueue[tuple[float, bytes]] = SimpleQueue()
        Thread(target=self._deliver, args=(under_way, other), daemon=True).start()
        with suppress(OSError):
            while piece := one.recv(4096):
                if narrow:
                    with self._turn:
                        self._free = max(self._free, time.monotonic()) + len(piece) / self._rate
                        passed = self._free
                    time.sleep(max(0.0, passed - time.monotonic()))
                under_way.put((time.monotonic() + self._delay, piece))
        under_way.put((time.monotonic() + self._delay, b""))

    @staticmethod
    def _deliver(under_way: "SimpleQueue[tuple[float, bytes]]", other: socket.socket) -> None:
        with suppress(OSError):
            while True:
                due, piece = under_way.get()
                time.sleep(max(0.0, due - time.monotonic()))
                if not piece:
                    return other.shutdown(socket.SHUT_WR)
                other.sendall(piece)
