"""Answers over HTTP beside an application that does nothing but send the same bytes; many clients at once."""

import asyncio
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager

import numpy as np
import uvloop

from benchmarks.figures import Figure, MissingPeer
from benchmarks.rounds import QUICK_ROUNDS, ROUNDS, ratio
from benchmarks.server_program import TOKEN

REQUESTS = 200  # of a round
INFO, PACKED, MAP = "/api/v1/runs/still", "/api/v1/runs/still/data/green?packed=1", "/api/v1/runs/still/data/green"
CLIENTS, EACH = 20, 100
MANY, FEW = 1000, 5


def figures(quick: bool) -> list[Figure]:
    """Medians of rounds that alternate; the clients and the servers share this machine."""
    rounds, requests = (QUICK_ROUNDS, 20) if quick else (ROUNDS, REQUESTS)
    found = []
    for name, grid, address, same, most in (
        ("info", "queensland", INFO, "/info", 1.0),
        ("29,016 float32", "queensland", PACKED, "/1", 1.0),
        ("841 x 681 float32", "full", MAP, "/0", 3.0),
    ):
        with serving("server", grid) as ours, serving("bare", grid) as bare, Line(ours) as our_line, Line(bare) as bare_line:
            samples = turns({"server": (our_line, request_of(address)), "bare": (bare_line, request_of(same))}, rounds, requests)
        found.append(Figure(f"{name}, p50", float(np.median(samples["server"])), "ms", at_most=most, samples=samples))
        beside = ratio(samples["server"], samples["bare"])
        found.append(Figure(f"{name}, p50 beside a bare application", beside.value, "x", at_most=1.5, note=beside.spread))
    with serving("server", "queensland") as port:
        for clients, each, address, name, most in (
            (CLIENTS, EACH, PACKED, f"{CLIENTS} clients, 29,016 float32, p99", 20.0),
            (MANY, FEW, INFO, f"{MANY:,} connections, info, p99", 300.0),
        ):
            times, errors = uvloop.run(crowd(port, clients, each if not quick else 2, address))
            found.append(Figure(name, float(np.quantile(times, 0.99)), "ms", at_most=most, note=f"p50 {np.median(times):.3g} ms"))
            found.append(Figure(f"{name.rpartition(',')[0]}, errors", errors, "", at_most=0))
    return found


@contextmanager
def serving(what: str, grid: str) -> Iterator[int]:
    """A server in a process of its own; gives its port.

    Raises
    ------
    MissingPeer
        It does not start.
    """
    command = [sys.executable, "-m", "benchmarks.server_program", what, grid]
    with ExitStack() as stack:
        process = stack.enter_context(subprocess.Popen(command, stdout=subprocess.PIPE, text=True))
        stack.callback(process.kill)
        assert process.stdout is not None
        port = process.stdout.readline()
        if not port:
            raise MissingPeer(f"`{' '.join(command)}` did not start.")
        yield int(port)


def request_of(address: str) -> bytes:
    """A request as curl sends it."""
    return f"GET {address} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {TOKEN}\r\nAccept: */*\r\n\r\n".encode()


class Line:
    """A connection that is kept, with a reader that copies nothing twice."""

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port))
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._buffer = memoryview(bytearray(4 << 20))

    def __enter__(self) -> "Line":
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def ask(self, request: bytes) -> int:
        """Asks, and reads to the end of the answer; gives the length of its body."""
        self._socket.sendall(request)
        have, end = 0, -1
        while end < 0 or have < end:
            count = self._socket.recv_into(self._buffer[have:])
            if not count:
                raise MissingPeer("The server has closed the connection.")
            have += count
            if end < 0:
                head = bytes(self._buffer[: min(have, 8192)])
                at = head.find(b"\r\n\r\n")
                if at >= 0:
                    if not head.startswith(b"HTTP/1.1 200"):
                        raise MissingPeer(head[:300].decode())
                    length = int(head.lower().split(b"content-length: ", 1)[1].split(b"\r\n", 1)[0])
                    end = at + 4 + length
        return end


def turns(lines: Mapping[str, tuple[Line, bytes]], rounds: int, requests: int) -> dict[str, list[float]]:
    """The median milliseconds of an answer in each round, of lines that are asked in turn: a slow moment of the machine meets all alike."""
    samples: dict[str, list[float]] = {name: [] for name in lines}
    for number in range(rounds + 1):
        times: dict[str, list[float]] = {name: [] for name in lines}
        for _ in range(requests):
            for name, (line, request) in lines.items():
                begin = time.perf_counter()
                line.ask(request)
                times[name].append(1e3 * (time.perf_counter() - begin))
        for name in lines if number else ():  # the first round warms
            samples[name].append(float(np.median(times[name])))
    return samples


async def crowd(port: int, clients: int, each: int, address: str) -> tuple[list[float], int]:
    """The milliseconds of each answer when many ask at once on connections that they keep, and how many failed."""
    request, times, errors = request_of(address), [], 0
    lines = [await asyncio.open_connection("127.0.0.1", port, limit=4 << 20) for _ in range(clients)]

    async def ask_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal errors
        for _ in range(each):
            begin = time.perf_counter()
            writer.write(request)
            head = await reader.readuntil(b"\r\n\r\n")
            await reader.readexactly(int(head.lower().split(b"content-length: ", 1)[1].split(b"\r\n", 1)[0]))
            times.append(1e3 * (time.perf_counter() - begin))
            errors += not head.startswith(b"HTTP/1.1 200")

    done = await asyncio.gather(*(ask_on(*line) for line in lines), return_exceptions=True)
    for _, writer in lines:
        writer.close()
    return times, errors + sum(isinstance(each, BaseException) for each in done)
