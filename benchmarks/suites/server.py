"""Answers over HTTP of a run that is being computed, beside an application that does nothing but send the same bytes; many clients at once.

    a processor for the engine, which steps all the time │ another for the server, the bare application and the clients

Small maps and many clients: Queensland's pastures, from beginning to end again and again. The large map and what is known of the run: a
field on 841 x 681 cells that never comes to an end.
"""

import asyncio
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

import httpx
import msgspec
import numpy as np
import uvloop
import xarray

from benchmarks.figures import Figure, MissingPeer
from benchmarks.peers import ROOT
from benchmarks.programs.server_program import TOKEN
from benchmarks.queensland import FOLDER, STEPPE, run_file
from benchmarks.rounds import QUICK_ROUNDS, ROUNDS, ratio
from steppe.api import RunList

ENGINE, SERVER = 1, 0  # processors
FIELD = f"""\
model = "{ROOT / "benchmarks" / "programs" / "server_model.py"}"
time = {{ start = 1000-01-01, end = 2999-12-31 }}
grid = {{ file = "field.zarr" }}
output = {{ path = "field", variables = ["concentration"], every = "1 year" }}
"""
INFO = "/api/v1/runs/field"
LARGE = "/api/v1/runs/field/data/concentration"
SMALL = "/api/v1/runs/pastures/data/green_leaf"
CELLS, LARGE_CELLS = 186 * 156, 841 * 681
REQUESTS, LARGE_REQUESTS = 200, 40  # of a round; more would meet the limit of bytes a second
CLIENTS, EACH = 20, 200
MANY, FEW = 1000, 5
ORDERS = 1000
LONGEST = re.compile(r'steppe_journal_longest_transaction_seconds\{run="pastures"\} (\S+)')


def figures(quick: bool) -> list[Figure]:
    """Medians of rounds that alternate."""
    allowed = os.sched_getaffinity(0)
    if not {ENGINE, SERVER} <= allowed:
        raise MissingPeer(f"Processors {SERVER} and {ENGINE} are needed; there are {sorted(allowed)}.")
    os.sched_setaffinity(0, {SERVER})
    try:
        with served("field", _field()) as port:
            found = _beside(port, "info", INFO, 0, 1.0, quick)
            found += _beside(port, f"{LARGE_CELLS:,} float32", LARGE, LARGE_CELLS, 3.0, quick)
        with served("pastures", run_file(2 if quick else 20)) as port:
            found += _beside(port, f"{CELLS:,} float32", SMALL, CELLS, 1.0, quick)
            found += _crowds(port, quick)
            found.append(_orders(port, 20 if quick else ORDERS))
    finally:
        os.sched_setaffinity(0, allowed)
    return found


def _beside(port: int, name: str, address: str, cells: int, most: float, quick: bool) -> list[Figure]:
    requests = 20 if quick else LARGE_REQUESTS if cells == LARGE_CELLS else REQUESTS
    with tempfile.TemporaryDirectory() as folder, Line(port) as ours:
        content = ours.ask(request_of(address))
        if cells and not 4 * cells < len(content) < 4 * cells + 2048:
            raise MissingPeer(f"{address} has {len(content):,} bytes, too many or too few for {cells:,} float32.")
        Path(folder, "same").write_bytes(content)
        with program("bare", folder) as line, Line(int(line)) as bare:
            lines = {"server": (ours, request_of(address)), "bare": (bare, request_of("/same"))}
            samples = turns(lines, QUICK_ROUNDS if quick else ROUNDS, requests)
            _see_that_it_steps(ours)
    beside = ratio(samples["server"], samples["bare"])
    return [
        Figure(f"{name}, p50", float(np.median(samples["server"])), "ms", at_most=most, samples=samples),
        Figure(f"{name}, p50 beside a bare application", beside.value, "x", at_most=1.5, note=beside.spread),
    ]


def _crowds(port: int, quick: bool) -> list[Figure]:
    found = []
    for clients, each, address, name, most in (
        (CLIENTS, EACH, SMALL, f"{CLIENTS} clients, {CELLS:,} float32", 20.0),
        (MANY, FEW, SMALL.partition("/data")[0], f"{MANY:,} connections, info", 300.0),
    ):
        times, errors = uvloop.run(crowd(port, clients, each if not quick else 2, address))
        found.append(Figure(f"{name}, p99", float(np.quantile(times, 0.99)), "ms", at_most=most, note=f"p50 {np.median(times):.3g} ms"))
        found.append(Figure(f"{name}, errors", errors, "", at_most=0))
    return found


def _orders(port: int, count: int) -> Figure:
    """The longest time for which the journal has kept the server from all else, with so many orders beside those of the run that steps."""
    change = {"variable": "green_leaf", "operation": "scale", "value": 1.0, "when": "now"}
    with httpx.Client(base_url=f"http://127.0.0.1:{port}", headers={"Authorization": f"Bearer {TOKEN}"}, timeout=60.0) as client:
        taken = tried = 0
        while taken < count:
            tried += 1
            answer = client.post(f"{SMALL.partition('/data')[0]}/set", json=change, headers={"Idempotency-Key": f"order-{tried}"})
            if answer.status_code in (200, 202):
                taken += 1
            elif answer.json()["code"] != "already-finished":  # the run begins again within a moment
                raise MissingPeer(answer.text)
        (longest,) = LONGEST.findall(client.get("/metrics").text)
    return Figure("journal, longest transaction", 1e3 * float(longest), "ms", note=f"{count:,} orders and the steps of the run")


@contextmanager
def served(name: str, run: Path) -> Iterator[int]:
    """A server of its own whose engine computes the run, from beginning to end again and again; gives its port."""
    folder, tokens = FOLDER / name, FOLDER / f"{name}.tokens"
    shutil.rmtree(folder, ignore_errors=True)
    tokens.write_text(f"admin {TOKEN}\n")
    tokens.chmod(0o600)
    command = [STEPPE, "serve", str(run), "--bind", "127.0.0.1:0", "--token-file", str(tokens)]
    more = ["--set", f'output.path="{folder}"', "--launcher", f"taskset -c {ENGINE}"]
    with subprocess.Popen([*command, *more], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            words = process.stdout.readline().split()
            if not words:
                raise MissingPeer("`steppe serve` did not start.")
            with program("steps", words[-1]):
                yield int(words[-1].rstrip("/").rpartition(":")[2])
        finally:
            process.send_signal(signal.SIGINT)


def _field() -> Path:
    """The run file of the field."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    lat, lon = -10.0 - 0.05 * np.arange(681), 112.0 + 0.05 * np.arange(841)
    axes = {"lat": ("lat", lat, {"units": "degrees_north"}), "lon": ("lon", lon, {"units": "degrees_east"})}
    mask = xarray.Dataset({"land_mask": (("lat", "lon"), np.ones((681, 841), "int8"))}, axes)
    mask.to_zarr(FOLDER / "field.zarr", mode="w", consolidated=False)
    path = FOLDER / "field.toml"
    path.write_text(FIELD)
    return path


def _see_that_it_steps(line: "Line") -> None:
    """Raises MissingPeer when the run stands still."""
    found, end = set(), time.monotonic() + 2.0
    while len(found) < 2:
        if time.monotonic() > end:
            raise MissingPeer("The run is not being computed.")
        (info,) = msgspec.json.decode(line.ask(request_of("/api/v1/runs")), type=RunList).runs
        found.add(tuple((each.branch, each.step) for each in info.scenarios))
        time.sleep(0.02)


@contextmanager
def program(*words: str) -> Iterator[str]:
    """`benchmarks.programs.server_program` in a process of its own; gives its first line.

    Raises
    ------
    MissingPeer
        It does not start.
    """
    command = [sys.executable, "-m", "benchmarks.programs.server_program", *words]
    with ExitStack() as stack:
        process = stack.enter_context(subprocess.Popen(command, stdout=subprocess.PIPE, text=True))
        stack.callback(process.kill)
        assert process.stdout is not None
        line = process.stdout.readline()
        if not line:
            raise MissingPeer(f"`{' '.join(command)}` did not start.")
        yield line


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

    def ask(self, request: bytes) -> memoryview:
        """Asks, and reads to the end of the answer; gives its body, which stands until the next question."""
        self._socket.sendall(request)
        have, at, end = 0, -1, -1
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
        return self._buffer[at + 4 : end]


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


class _Asking(asyncio.BufferedProtocol):
    """A connection of a crowd: it asks again as soon as it is answered. What arrives is counted, not kept."""

    space = memoryview(bytearray(1 << 18))

    def __init__(self, request: bytes, each: int, times: list[float], done: asyncio.Future[bool]) -> None:
        self._request, self._left, self._times, self._done = request, each, times, done
        self._head, self._body = b"", -1

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport

    def ask(self) -> None:
        self._begin, self._head, self._body = time.perf_counter(), b"", -1
        self.transport.write(self._request)  # type: ignore[attr-defined]

    def get_buffer(self, sizehint: int) -> memoryview:
        return self.space

    def buffer_updated(self, nbytes: int) -> None:
        if self._body < 0:
            self._head += bytes(self.space[:nbytes])
            at = self._head.find(b"\r\n\r\n")
            if at < 0:
                return
            length = int(self._head[:at].lower().split(b"content-length: ", 1)[1].split(b"\r\n", 1)[0])
            self._body, nbytes = length, len(self._head) - at - 4
        self._body -= nbytes
        if self._body == 0:
            self._times.append(1e3 * (time.perf_counter() - self._begin))
            self._left -= 1
            if not self._head.startswith(b"HTTP/1.1 200"):
                self._finish(False)
            elif self._left:
                self.ask()
            else:
                self._finish(True)

    def connection_lost(self, exc: Exception | None) -> None:
        self._finish(False)

    def _finish(self, well: bool) -> None:
        if not self._done.done():
            self._done.set_result(well)
            self.transport.close()


async def crowd(port: int, clients: int, each: int, address: str) -> tuple[list[float], int]:
    """The milliseconds of each answer when many ask at once on connections that they keep, and on how many an answer was none."""
    loop, times, request = asyncio.get_running_loop(), list[float](), request_of(address)
    ends = [loop.create_future() for _ in range(clients)]
    lines = [(await loop.create_connection(lambda end=end: _Asking(request, each, times, end), "127.0.0.1", port))[1] for end in ends]
    for line in lines:
        line.ask()
    return times, sum(not well for well in await asyncio.gather(*ends))
