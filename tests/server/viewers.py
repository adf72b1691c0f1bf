"""Viewers of the live socket for tests."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from websockets.sync.client import ClientConnection, connect

from steppe.api import DROPPED, PROTOCOL, Frame, read_frame
from tests.server.asking import bearer

WAIT = 60.0  # [s] for what comes: an engine may have to be started first


class Viewer:
    """What is said is read in its order; what is not asked for is kept."""

    def __init__(self, line: ClientConnection) -> None:
        self.line = line
        self.frames: list[Frame] = []
        self.raw: list[bytes] = []
        self.dropped: dict[int, int] = {}
        self.told: list[dict[str, Any]] = []

    def say(self, what: Any) -> None:
        self.line.send(what if isinstance(what, str | bytes) else json.dumps(what))

    def take(self, seconds: float = WAIT) -> dict[str, Any] | Frame | tuple[int, int]:
        """The next thing that comes."""
        came = self.line.recv(timeout=seconds)
        if isinstance(came, str):
            self.told.append(json.loads(came))
            return self.told[-1]
        if came[:4] == b"STPD":
            _, stream, dropped = DROPPED.unpack(came)
            self.dropped[stream] = dropped
            return stream, dropped
        self.raw.append(came)
        self.frames.append(read_frame(came))
        return self.frames[-1]

    def until(self, kind: str) -> dict[str, Any]:
        """The next message of a kind."""
        while True:
            found = self.take()
            if isinstance(found, dict) and found["type"] == kind:
                return found

    def frame(self) -> Frame:
        """The next frame."""
        while True:
            found = self.take()
            if isinstance(found, Frame):
                return found

    def quiet(self, seconds: float = 0.15) -> int:
        """How many frames come in some time."""
        before = len(self.frames)
        try:
            while True:
                self.take(seconds)
        except TimeoutError:
            return len(self.frames) - before

    def watch(self, **stream: Any) -> dict[str, Any]:
        """Watches one stream; what is told of it."""
        self.say({"watch": [{"stream": 1, "variable": "green", **stream}]})
        return dict(self.until("watching")["streams"][0])


@contextmanager
def viewer(port: int, role: str | None = "view", run: str = "toy", greeted: bool = True, **more: Any) -> Iterator[Viewer]:
    """A viewer who has been greeted. more: headers and others of `connect`."""
    shortly = {"open_timeout": WAIT, "close_timeout": 1.0}  # [s]: one whose queue is full reads no end
    more = {"subprotocols": [PROTOCOL], "compression": None, "max_size": None, **shortly, **more}
    headers = {**(bearer(role) if role else {}), **more.pop("headers", {})}
    with connect(f"ws://127.0.0.1:{port}/api/v1/runs/{run}/live", additional_headers=headers, **more) as line:
        found = Viewer(line)
        if greeted:
            found.until("hello")
        yield found


def raw_viewer(port: int, role: str, space: int = 1 << 14) -> socket.socket:
    """A socket that was opened and greeted, and reads what it is made to."""
    line = socket.socket()
    line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, space)
    line.settimeout(WAIT)
    line.connect(("127.0.0.1", port))
    line.sendall(
        f"GET /api/v1/runs/toy/live HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: {bearer(role)['Authorization']}\r\nUpgrade: websocket\r\n"
        f"Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: MDEyMzQ1Njc4OWFiY2RlZg==\r\n"
        f"Sec-WebSocket-Protocol: {PROTOCOL}\r\n\r\n".encode()
    )
    found = b""
    while b"hello" not in found:
        found += line.recv(1024)
    return line


def masked(content: bytes, kind: int = 0x81) -> bytes:
    """A message as a client sends it; the mask hides nothing."""
    size = bytes((0x80 | len(content),)) if len(content) < 126 else b"\xfe" + len(content).to_bytes(2, "big")
    return bytes((kind,)) + size + bytes(4) + content
