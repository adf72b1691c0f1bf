"""Gateways as real processes, and ranks that speak wire.h to them."""

import json
import os
import select
import signal
import socket
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import steppe_bridge.rank

FAILED = 75
MISTAKE = 2


class Rank(steppe_bridge.rank.Rank):
    """A rank whose connection a test may leave open."""

    opened: ClassVar[list[socket.socket]] = []

    def __init__(self, path: Path, local: int, ranks: int, **more: Any):
        super().__init__(path, local, ranks, **more)
        self.opened.append(self.socket)


class Gateway:
    """A process `steppe-bridge-gateway`."""

    def __init__(self, program: Path, folder: Path, name: str, ranks: int, *options: object, key: Path | None = None):
        self.name, self.ranks = name, ranks
        self.path = folder / f"{name}-{time.monotonic_ns()}.socket"
        command = [program, "--name", name, "--ranks", ranks, "--socket", self.path, "--key", key or folder / "key", *options]
        self.process = subprocess.Popen([*map(str, command)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.events: list[dict] = []

    def event(self, name: str) -> dict:
        """The next event of this name."""
        assert self.process.stdout
        for line in self.process.stdout:
            self.events.append(json.loads(line))
            if self.events[-1]["event"] == name:
                return self.events[-1]
        raise AssertionError(f"no event {name} of site {self.name}, but {self.events}: {self.process.stderr.read()}")

    def join(self) -> list[Rank]:
        """All ranks of this site, when they have said HELLO."""
        if not any(event["event"] == "listening" for event in self.events):
            self.event("listening")
        return [Rank(self.path, local, self.ranks) for local in range(self.ranks)]

    def ended(self, seconds: float = 12.0) -> tuple[int, str]:
        """Exit code and what it says on stderr."""
        out, errors = self.process.communicate(timeout=seconds)
        self.events += [json.loads(line) for line in out.splitlines()]
        return self.process.returncode, errors.strip()

    def files(self) -> list[Path]:
        """The open files of its process."""
        return list(Path(f"/proc/{self.process.pid}/fd").iterdir())

    def memory(self) -> int:
        """Bytes of memory that it has held at most; 0 with sanitizers, which take much themselves."""
        if "STEPPE_BRIDGE_GATEWAY" in os.environ:
            return 0
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM")) * 1024

    def stop(self, number: int = signal.SIGTERM) -> None:
        self.process.send_signal(number)


class Sites:
    """Gateways that a test starts; all are gone when it ends."""

    def __init__(self, program: Path, folder: Path):
        self.program, self.folder, self.started = program, folder, list[Gateway]()
        self.key()

    def key(self, name: str = "key", mode: int = 0o600) -> Path:
        path = self.folder / name
        path.write_bytes(os.urandom(32))
        path.chmod(mode)
        return path

    def first(self, name: str, ranks: int, expect: str, *options: object, port: int = 0, key: Path | None = None) -> Gateway:
        return self._start(name, ranks, "--listen", f"127.0.0.1:{port}", "--expect", expect, *options, key=key)

    def other(self, name: str, ranks: int, port: int, *options: object, key: Path | None = None) -> Gateway:
        return self._start(name, ranks, "--join", f"127.0.0.1:{port}", *options, key=key)

    def _start(self, name: str, ranks: int, *options: object, key: Path | None) -> Gateway:
        self.started.append(Gateway(self.program, self.folder, name, ranks, *options, key=key))
        return self.started[-1]

    def world(self, layout: Sequence[int], *options: object) -> tuple[list[Gateway], list[Rank]]:
        """Sites a, b, ... of so many ranks each, and all ranks by world rank."""
        names = "abcdefgh"[: len(layout)]
        gateways = [self.first("a", layout[0], ",".join(names), *options)]
        port = gateways[0].event("listening")["port"]
        gateways += [self.other(name, n, port, *options) for name, n in zip(names[1:], layout[1:], strict=True)]
        ranks = [rank for gateway in gateways for rank in gateway.join()]
        return gateways, sorted((rank.enter() for rank in ranks), key=lambda rank: rank.rank)

    def close(self) -> None:
        while Rank.opened:
            Rank.opened.pop().close()
        for gateway in self.started:
            gateway.process.kill()
            if gateway.process.stdout and not gateway.process.stdout.closed:
                gateway.process.communicate()


def part(gateways: Sequence[Gateway], ranks: Sequence[Rank]) -> None:
    """All ranks say BYE; every gateway ends well and says nothing."""
    for rank in ranks:
        rank.leave()
    assert [gateway.ended() for gateway in gateways] == [(0, "")] * len(gateways)


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


def can_read(rank: Rank, seconds: float) -> bool:
    return bool(select.select([rank.socket], [], [], seconds)[0])
