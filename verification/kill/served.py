"""A run behind a real `steppe serve`, which is started again whenever it dies, and clients that insist until they have an answer."""

import json
import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx
import numpy as np
from numpy.typing import NDArray
from websockets.exceptions import WebSocketException
from websockets.sync.client import connect

from steppe.api import PROTOCOL, Frame, read_frame

TOKENS = {"view": "v" * 43, "steer": "s" * 43, "admin": "a" * 43}
AGAIN = ("engine-recovering", "engine-failed", "draining", "too-many", "too-costly")  # sent once more
CHANGES = [  # variable, operation, from, to; the last two are refused, by the engine and by the server
    ("capacity", "set", 60.0, 200.0),
    ("water", "scale", 0.5, 1.2),
    ("water", "add", 0.0, 2.0),
    ("irrigation", "set", 0.0, 20.0),
    ("water", "add", -500.0, -400.0),
    ("runoff", "set", 0.0, 1.0),
]
KINDS = {"step": 34, "set": 44, "pause": 6, "checkpoint": 6, "branch": 2, "rewind": 2, "trigger": 2, "event": 2}  # with their weights
EXPRESSIONS = ("max(runoff) > 20", "mean(water / capacity) < 0.3", "sum(rain) > 0 and min(water) < 10")
PATIENCE = 60.0  # [s] for anything that has to happen, once nobody is killed any more


class Served:
    """A server of a run file at a port of its own. Whoever kills it finds it again a moment later.

    options: more words of its command line; environment: more of its variables.
    """

    def __init__(self, run_file: Path, *options: str, environment: Mapping[str, str] | None = None) -> None:
        self.folder, self._home = run_file.parent / "out", run_file.parent
        tokens = self._home / "tokens"
        tokens.write_text("".join(f"{role} {token}\n" for role, token in TOKENS.items()))
        tokens.chmod(0o600)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.port, self.address = port, f"http://127.0.0.1:{port}/api/v1/runs/out"
        command = [sys.executable, "-m", "steppe", "serve", str(run_file), "--bind", f"127.0.0.1:{port}", "--token-file", str(tokens)]
        self._command, self._environment = [*command, *options], {**os.environ, **(environment or {})}
        self._ending, self.starts = False, 0
        self.under_fire = False  # engines may be killed again and again before they have loaded the run
        self.clients: list[httpx.Client] = []
        self.process = self._start()
        self._keeper = threading.Thread(target=self._keep, daemon=True)
        self._keeper.start()

    def _start(self) -> subprocess.Popen[bytes]:
        self.starts += 1
        with open(self._home / "server.log", "ab") as log:
            return subprocess.Popen(self._command, stdout=log, stderr=log, stdin=subprocess.DEVNULL, env=self._environment)

    def _keep(self) -> None:
        while not self._ending:
            if self.process.poll() is not None:
                self.process = self._start()
            time.sleep(0.02)

    def kill(self) -> None:
        """As SIGKILL of the server does."""
        self.process.kill()
        self.process.wait()

    def close(self, by: signal.Signals = signal.SIGINT) -> None:
        """Ends the server by a signal, as Ctrl-C does, and waits for it."""
        self._ending = True
        self._keeper.join()
        self.process.send_signal(by)
        try:
            self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise

    def abandon(self) -> None:
        """Ends all of it at once, engine included."""
        self._ending = True
        self._keeper.join()
        for each in self.clients:
            each.close()
        self.process.kill()
        self.process.wait()
        with suppress(OSError, ValueError):
            os.kill(int((self.folder / "engine.lock").read_text().split()[1]), signal.SIGKILL)

    def log(self) -> str:
        """What the server and its engines said."""
        said = [self._home / "server.log", self.folder / "engine.log"]
        return "\n".join(path.read_text(errors="replace") for path in said if path.exists())


class Watcher:
    """Somebody who watches a variable of a scenario all the time, and connects again whenever the line is lost."""

    def __init__(self, served: Served, variable: str, scenario: str = "main", address: str = "") -> None:
        self._address = (address or served.address).replace("http", "ws", 1) + "/live"
        self._stream = {"stream": 1, "variable": variable, "scenario": scenario, "bits": 16, "rate": 60}
        self.newest: Frame | None = None
        self.count, self._over = 0, False
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def _watch(self) -> None:
        while not self._over:
            with suppress(OSError, WebSocketException, EOFError, TimeoutError):
                self._visit(PATIENCE)
            time.sleep(0.05)

    def _visit(self, longest: float) -> None:
        """Watches until the line is lost, or nothing comes for `longest` seconds."""
        headers = {"Authorization": f"Bearer {TOKENS['view']}"}
        with connect(self._address, additional_headers=headers, subprotocols=[PROTOCOL], compression=None) as line:
            while json.loads(line.recv(timeout=longest))["type"] != "hello":
                pass
            line.send(json.dumps({"watch": [self._stream]}))
            while not self._goes:
                came = line.recv(timeout=longest)
                if isinstance(came, bytes) and came[:4] == b"STPF":
                    self.newest, self.count = read_frame(came), self.count + 1

    @property
    def _goes(self) -> bool:
        return self._over

    def sees(self, step: int, values: NDArray[Any]) -> None:
        """Waits until the newest frame is of a step, and looks whether it shows these values (cells,)."""
        end = time.monotonic() + PATIENCE
        while True:
            frame = self.newest
            if frame is not None and frame.step == step:
                shown = frame.values[frame.levels < frame.top - 1]
                if np.abs(np.sort(shown) - np.sort(values)).max() <= frame.scale / 2 * (1 + 1e-9):
                    return
            assert time.monotonic() < end, f"step {step} is not shown; the newest frame is {frame}"
            time.sleep(0.05)

    def close(self) -> None:
        """Goes away."""
        self._over = True

    def join(self) -> None:
        """Waits until it has gone."""
        self._thread.join()


class Client:
    """Somebody with a token, on a connection of his own. address: of the run behind a proxy."""

    def __init__(self, served: Served, role: str, address: str = "") -> None:
        self._served, self._address, self.retries = served, address or served.address, 0
        headers = {"Authorization": f"Bearer {TOKENS[role]}"}
        self._http = httpx.Client(headers=headers, timeout=20, trust_env=False)
        served.clients.append(self._http)

    def ask(self, method: str, path: str = "", content: Any = None, key: str = "", insist: bool = True) -> httpx.Response:
        """The answer, however often it takes; a command keeps its key, so this is safe."""
        end = time.monotonic() + PATIENCE
        while True:
            try:
                headers = {"Idempotency-Key": key} if key else {}
                answer = self._http.request(method, self._address + path, json=content, headers=headers)
                if answer.status_code not in (409, 429, 503) or not insist or answer.json()["code"] not in AGAIN:
                    return answer
                wait = 0.2 if answer.status_code == 429 else 0.05
            except httpx.TransportError:
                wait = 0.03
            self.retries += 1
            if self._served.under_fire:
                end = time.monotonic() + PATIENCE
            assert time.monotonic() < end, f"{method} {path} has no answer\n{self._served.log()[-4000:]}"
            time.sleep(wait)

    def look(self, path: str) -> None:
        """Tries once to read something, and goes on when no answer comes."""
        with suppress(httpx.TransportError):
            self._http.get(self._address + path, timeout=5)

    def info(self) -> dict[str, Any]:
        """How the run stands."""
        found: dict[str, Any] = self.ask("GET").json()
        return found

    def order(self, path: str, content: Any, key: str) -> int:
        """The number of an order that is accepted."""
        answer = self.ask("POST", path, content, key)
        assert answer.status_code in (200, 201, 202), answer.text
        return int(answer.json()["id"])

    def until(self, holds: Callable[[dict[str, Any]], bool], what: str, pause: float = 0.03) -> dict[str, Any]:
        """Waits until something holds of how the run stands."""
        end = time.monotonic() + PATIENCE
        while not holds(info := self.info()):
            assert time.monotonic() < end, f"{what} does not happen: {info}\n{self._served.log()[-4000:]}"
            time.sleep(pause)
        return info


class Steering:
    """A client that sends commands of all kinds, one after the other. accepted: key -> number; refused: keys."""

    refusals: tuple[int, ...] = (404, 409, 412, 416, 422)
    kinds: Mapping[str, int] = KINDS

    def __init__(self, served: Served, number: int, seed: int, commands: int, steps: int, address: str = "") -> None:
        self.client = Client(served, ("steer", "admin")[number % 2], address)
        self.accepted: dict[str, int] = {}
        self.refused: dict[str, str] = {}
        self._chance, self._number, self._commands, self._steps = random.Random(seed * 1000 + number), number, commands, steps
        self._seen: dict[int, int] = {}
        self.error: BaseException | None = None

    def run(self) -> None:
        """Sends them all; the body of a thread."""
        try:
            for number in self._numbers():
                key = f"{self._number}-{number}"
                path, content = self._command(self._look(), key)
                self._send(path, content, key)
                if self._chance.random() < 0.1:
                    self._send(path, content, key)
        except BaseException as error:
            self.error = error

    def _numbers(self) -> Iterable[int]:
        return range(self._commands)

    def _send(self, path: str, content: Any, key: str) -> None:
        answer = self.client.ask("POST" if content is not None else "DELETE", path, content, key)
        if answer.status_code in (200, 201, 202):
            seq = answer.json()["id"]
            assert key not in self.refused, f"{key} was refused ({self.refused[key]}), then accepted"
            assert self.accepted.setdefault(key, seq) == seq, f"{key} was accepted as {self.accepted[key]} and {seq}"
        else:
            assert answer.status_code in self.refusals, answer.text
            assert key not in self.accepted, f"{key} was accepted, then refused: {answer.text}"
            self.refused[key] = answer.json()["code"]

    def _look(self) -> list[dict[str, Any]]:
        """All scenarios; nobody has gone back."""
        scenarios: list[dict[str, Any]] = self.client.info()["scenarios"]
        for each in scenarios:
            assert each["step"] >= self._seen.get(each["branch"], 0), f"{each} went back from step {self._seen[each['branch']]}"
            self._seen[each["branch"]] = each["step"]
        return [each for each in scenarios if "@" not in each["name"]]

    def _command(self, scenarios: list[dict[str, Any]], key: str) -> tuple[str, Any]:
        chance = self._chance
        on = scenarios[0] if chance.random() < 0.6 else chance.choice(scenarios)
        kind = chance.choices([*self.kinds], [*self.kinds.values()])[0]
        return self._ordered(kind, on, key)

    def _ordered(self, kind: str, on: Mapping[str, Any], key: str) -> tuple[str, Any]:
        """The path and content of an order of a kind for a scenario; content None: it is a DELETE."""
        chance, name, step = self._chance, on["name"], on["step"]
        if kind == "step":
            return "/step", {"scenario": name, "steps": chance.randint(1, 30)}
        if kind == "set":
            variable, operation, low, high = chance.choice(CHANGES)
            when = chance.choice(["after", "after", "now", "now", {"step": min(step + chance.randint(1, 60), self._steps - 1)}])
            content = {"scenario": name, "variable": variable, "operation": operation, "value": chance.uniform(low, high), "when": when}
            return "/set", content | ({"region": {"box": [143.0, -22.5, 144.5, -20.5]}} if chance.random() < 0.5 else {})
        if kind == "trigger":
            action = chance.choice(["pause", "message", "message"])
            return "/triggers", {"scenario": name, "expression": chance.choice(EXPRESSIONS), "action": action}
        if kind == "event":
            when = chance.choice([{"step": min(step + chance.randint(1, 60), self._steps - 1)}, {"yearly": "03-01"}])
            return "/events", {"scenario": name, "variable": "water", "operation": "scale", "value": chance.uniform(0.9, 1.1), "when": when}
        if kind == "branch":
            return "/scenarios", {"name": f"s{key}", "from": {"scenario": name, "step": chance.randint(step // 2, step)}}
        if kind == "rewind":
            return f"/scenarios/{name}/rewind", {"step": chance.randint(step // 2, step)}
        return {"pause": "/pause", "checkpoint": "/checkpoints"}[kind], {"scenario": name}
