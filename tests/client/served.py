"""A real `steppe serve` on a small run, which tests may kill and start again."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import steppe
from steppe.client import Run

ROOT = Path(__file__).parents[2]
TOKENS = {role: role * 8 for role in ("view", "steer", "admin")}


class Served:
    """One server on a run folder. `start` gives the same address and tokens each time. options: more of `steppe serve`."""

    def __init__(self, run_file: Path, *options: str) -> None:
        self.folder, self._options = run_file.parent, options
        self._tokens = self.folder / "tokens"
        self._tokens.write_text("".join(f"{role} {text}\n" for role, text in TOKENS.items()))
        self._tokens.chmod(0o600)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.bind = "{}:{}".format(*free.getsockname())
        self.address = f"{'https' if '--tls-cert' in options else 'http'}://{self.bind}"
        self._lines: list[Run] = []
        self.process: subprocess.Popen[bytes] | None = None
        self.start()

    def start(self) -> None:
        command = [sys.executable, "-m", "steppe", "serve", "run.toml", "--bind", self.bind, "--token-file", "tokens", *self._options]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])}
        with (self.folder / "serve.log").open("ab") as log:
            self.process = subprocess.Popen(command, cwd=self.folder, env=environment, stdout=log, stderr=log)

    def kill(self) -> None:
        """kill -9 of the server; its engine goes on."""
        assert self.process
        self.process.kill()
        self.process.wait()

    def stop(self) -> None:
        """As Ctrl-C does."""
        for line in self._lines:
            line.close()
        assert self.process
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
        self.process.wait(60)

    def connect(self, role: str = "admin", **more: object) -> Run:
        self._lines.append(steppe.connect(self.address, TOKENS[role], **more))  # type: ignore[arg-type]
        return self._lines[-1]


def kill_engine(run: Run) -> int:
    """kill -9 of the engine; gives its pid."""
    engine = run.info().engine
    assert engine is not None
    os.kill(engine.pid, signal.SIGKILL)
    return engine.pid


def until_stepping(run: Run, beyond: int = 0) -> None:
    """Waits until a run has been seen beyond a step."""
    until(lambda: any(each.step > beyond for each in run.info().scenarios))


def until(true: Callable[[], bool]) -> None:
    """Waits for what is told a little later than what led to it."""
    end = time.monotonic() + 60
    while not true():
        assert time.monotonic() < end, "It did not come true."
        time.sleep(0.02)
