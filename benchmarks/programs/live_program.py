"""Viewers of the live socket in a process of their own, and a bare loop of sends for them to look at.

`viewers ADDRESS COUNT PATH VARIABLE`: opens them, then does what lines of the standard input say, and answers each with a line of JSON:
`watch RATE BITS COUNT`, `rest`, `stop COUNT`, `go`, `measure SECONDS`. `bare RATE BITS CELLS`: a server that sends each of its clients a
frame, so often a second, by one call each, and looks at nothing; prints its port.
"""

import asyncio
import base64
import json
import os
import resource
import struct
import sys
import time
from hashlib import sha1

import numpy as np
import uvloop

from benchmarks.programs.live_model import ROUND, moment
from benchmarks.programs.server_program import TOKEN
from steppe.api import empty_frame
from steppe.server.live.line import BINARY, message_of

KEY = base64.b64encode(b"0123456789abcdef").decode()
ACCEPT = base64.b64encode(sha1(KEY.encode() + b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11").digest()).decode()
PING, PONG = 0x89, 0x8A
MASK = bytes(4)  # a client must mask; this one hides nothing


class Viewer(asyncio.BufferedProtocol):
    """A client that reads, and notes of each frame how old it is."""

    space = memoryview(bytearray(1 << 18))

    def __init__(self, crowd: "Crowd", request: bytes) -> None:
        self._crowd, self._request = crowd, request
        self._kept, self._skip = b"", 0
        self.opened = asyncio.get_running_loop().create_future()
        self.dropped = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport
        transport.write(self._request)  # type: ignore[attr-defined]

    def say(self, message: object) -> None:
        content = json.dumps(message).encode()
        size = bytes((0x80 | len(content),)) if len(content) < 126 else b"\xfe" + len(content).to_bytes(2, "big")
        self.transport.write(b"\x81" + size + MASK + content)  # type: ignore[attr-defined]

    def get_buffer(self, sizehint: int) -> memoryview:
        return self.space

    def buffer_updated(self, nbytes: int) -> None:
        at = min(self._skip, nbytes)
        self._skip -= at
        if at == nbytes:
            return
        data = self._kept + self.space[at:nbytes]
        self._kept, at = b"", 0
        if not self.opened.done():
            end = data.find(b"\r\n\r\n")
            if end < 0:
                self._kept = data
                return
            self.opened.set_result(data.startswith(b"HTTP/1.1 101"))
            at = end + 4
        while at < len(data):
            size, head = _size(data, at)
            if size < 0 or len(data) < at + head + min(size, 66):
                self._kept = data[at:]
                return
            if data[at] == BINARY:
                self._take(data, at + head, size)
            elif data[at] == PING:  # a server ends a client that answers none
                self.transport.write(bytes((PONG, 0x80 | size)) + MASK + data[at + head : at + head + size])  # type: ignore[attr-defined]
            at += head + size
        self._skip = at - len(data)

    def _take(self, data: bytes, at: int, size: int) -> None:
        if size > 64:
            self._crowd.frames += 1
            if data[at + 4] == 16:
                level = struct.unpack_from("<H", data, at + 64)[0]
                self._crowd.ages.append((moment() - level) % ROUND / 10)
        else:
            self.dropped = struct.unpack_from("<I", data, at + 8)[0]

    def connection_lost(self, exc: Exception | None) -> None:
        self._crowd.lost += 1
        if not self.opened.done():
            self.opened.set_result(False)


def _size(data: bytes, at: int) -> tuple[int, int]:
    """Bytes of a message and of its head; -1 when that is not here yet."""
    more = {126: 2, 127: 8}.get(data[at + 1], 0) if at + 1 < len(data) else 99
    if len(data) < at + 2 + more:
        return -1, 0
    return int.from_bytes(data[at + 2 : at + 2 + more], "big") if more else data[at + 1], 2 + more


class Crowd:
    """All viewers, and what they have seen since it was asked last."""

    def __init__(self, variable: str) -> None:
        self._variable = variable
        self.viewers: list[Viewer] = []
        self.frames, self.lost, self.ages = 0, 0, list[float]()  # [ms]

    async def open(self, address: str, count: int, path: str) -> None:
        host, _, port = address.partition("//")[2].strip("/").partition(":")
        request = (
            f"GET {path} HTTP/1.1\r\nHost: {host}:{port}\r\nAuthorization: Bearer {TOKEN}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            f"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {KEY}\r\nSec-WebSocket-Protocol: steppe.live.1\r\n\r\n"
        ).encode()
        for _ in range(count):
            _, viewer = await asyncio.get_running_loop().create_connection(lambda: Viewer(self, request), host, int(port))
            self.viewers.append(viewer)
            if not await viewer.opened:
                raise SystemExit("The server refused a viewer.")

    async def do(self, words: list[str]) -> dict[str, float]:
        match words:
            case ["watch", rate, bits, count]:
                stream = {"stream": 1, "variable": self._variable, "rate": float(rate), "bits": int(bits)}
                stream |= {"range": [0, (1 << 16) - 3]} if bits == "16" else {}
                for viewer in self.viewers[: int(count)]:
                    viewer.say({"watch": [stream]})
            case ["rest"]:
                for viewer in self.viewers:
                    viewer.say({"watch": []})
            case ["stop", count]:
                for viewer in self.viewers[: int(count)]:
                    viewer.transport.pause_reading()  # type: ignore[attr-defined]
            case ["go"]:
                for viewer in self.viewers:
                    viewer.transport.resume_reading()  # type: ignore[attr-defined]
            case ["measure", seconds]:
                return await self._measured(float(seconds))
        return {}

    async def _measured(self, seconds: float) -> dict[str, float]:
        self.frames, self.ages = 0, []
        dropped, used = sum(each.dropped for each in self.viewers), time.process_time()
        await asyncio.sleep(seconds)
        ages = np.array(self.ages or [0])
        found = {"frames": self.frames / seconds, "lost": self.lost, "cpu": (time.process_time() - used) / seconds}
        found |= {"dropped": sum(each.dropped for each in self.viewers) - dropped}
        return found | {"p50": float(np.median(ages)), "p99": float(np.quantile(ages, 0.99)), "aged": len(self.ages)}


async def viewers(address: str, count: str, path: str, variable: str) -> None:
    """Until the standard input ends."""
    crowd = Crowd(variable)
    await crowd.open(address, int(count), path)
    print(json.dumps({"open": len(crowd.viewers)}), flush=True)
    reader = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    while line := await reader.readline():
        print(json.dumps(await crowd.do(line.decode().split())), flush=True)


class _Bare(asyncio.Protocol):
    """A client of the bare loop."""

    def __init__(self, clients: set[asyncio.WriteTransport]) -> None:
        self._clients = clients

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport: asyncio.WriteTransport = transport  # type: ignore[assignment]

    def data_received(self, data: bytes) -> None:
        if data.startswith(b"GET"):
            head = (
                f"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: {ACCEPT}\r\n\r\n"
            )
            self._transport.write(head.encode())
        elif b"[]" in data:
            self._clients.discard(self._transport)
        else:
            self._clients.add(self._transport)

    def connection_lost(self, exc: Exception | None) -> None:
        self._clients.discard(self._transport)


async def bare(rate: str, bits: str, cells: str) -> None:
    """Serves until it is killed."""
    clients: set[asyncio.WriteTransport] = set()
    server = await asyncio.get_running_loop().create_server(lambda: _Bare(clients), "127.0.0.1", 0, backlog=2048)
    print(server.sockets[0].getsockname()[1], flush=True)
    content, levels = empty_frame(int(bits), 1, int(cells), (0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0))
    due = time.monotonic()
    while True:
        due += 1 / float(rate)
        await asyncio.sleep(due - time.monotonic())
        levels[:] = moment() if bits == "16" else 1
        message = message_of(content.tobytes(), BINARY)
        for client in clients:
            client.write(message)


if __name__ == "__main__":
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 8192), hard))
    os.sched_setaffinity(0, {0})
    uvloop.run({"viewers": viewers, "bare": bare}[sys.argv[1]](*sys.argv[2:]))
