"""Mixed use of a served run for as long as wanted, and what its server and its engine hold meanwhile.

clients   branch, rewind, restart, leave, set, step, checkpoint, look at the present, at the past and at what was left
viewers   come, watch a scenario for some seconds, go
"""

import json
import os
import random
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from websockets.exceptions import WebSocketException
from websockets.sync.client import connect

from steppe.api import PROTOCOL
from verification.kill.served import TOKENS, Client, Served

CLIENTS, VIEWERS = 5, 12
AT_ONCE = 12  # scenarios beside main, above which clients leave more than they make
PATIENCE = 30.0  # [s]
ACTS = {  # weights
    "step": 24,
    "set": 16,
    "look": 22,
    "past": 5,
    "image": 5,
    "left": 5,
    "branch": 7,
    "delete": 6,
    "rewind": 5,
    "restart": 2,
    "checkpoint": 3,
}
DONE = (200, 201, 202, 400, 404, 409, 410, 412, 416, 422, 429, 503)  # 503: a look that takes longer than a reply may


class Held(NamedTuple):
    """What a process holds: bytes that are resident, open files."""

    resident: int
    files: int


def held(pid: int) -> Held:
    """What a process holds now."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return Held(pages * os.sysconf("SC_PAGE_SIZE"), len(os.listdir(f"/proc/{pid}/fd")))


def locks(pid: int) -> list[str]:
    """The locks of run folders that a process has open."""
    found = []
    for each in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(OSError):
            name = os.readlink(each)
            if name.endswith("/lock"):
                found.append(name)
    return sorted(found)


class Sample(NamedTuple):
    """What the two processes hold some seconds after the beginning, and after how many requests."""

    seconds: float
    server: Held
    engine: Held
    requests: int


def warmed(client: Client) -> None:
    """Has the engine load the kernels of all changes that clients make."""
    region = {"region": {"box": [143.0, -22.5, 144.5, -20.5]}}
    for number, more in enumerate(({}, region)):
        client.order("/set", {"variable": "capacity", "operation": "set", "value": 100.0, **more}, f"warm-{number}")
        client.order("/step", {"steps": 3}, f"step-{number}")
        at = 3 * number + 3
        client.until(lambda info, at=at: info["scenarios"][-1]["step"] == at, "steps")
        for moment in ("latest", f"step:{at - 1}"):
            client.until(lambda info, moment=moment: client.ask("GET", f"/data/runoff?time={moment}").status_code == 200, "a look")
    client.order("/restart", {}, "restart")


class Soak:
    """Clients and viewers of a served run."""

    def __init__(self, served: Served, seed: int, pause: float) -> None:
        self._served, self._seed, self._pause = served, seed, pause
        self._over = threading.Event()
        self._lock = threading.Lock()
        self.requests, self.errors = 0, list[str]()
        self._threads = [threading.Thread(target=self._guarded, args=(self._steer, number)) for number in range(CLIENTS)]
        self._threads += [threading.Thread(target=self._guarded, args=(self._watch, number)) for number in range(VIEWERS)]

    def go(self, seconds: float, every: float, rest: float = 0.0) -> list[Sample]:
        """Uses the run for some seconds, and gives a sample now and then, then lets it rest."""
        begin, samples, before = time.monotonic(), list[Sample](), len(self._served.clients)
        client = Client(self._served, "view")
        engine = client.until(lambda info: bool(info["engine"]), "an engine")["engine"]["pid"]
        for each in self._threads:
            each.start()
        while time.monotonic() < begin + seconds and not self.errors:
            self._over.wait(every)
            samples.append(self._sample(begin, engine))
        self._over.set()
        for each in self._threads:
            each.join(PATIENCE)
        for each in self._served.clients[before:]:
            each.close()
        assert not self.errors, self.errors[0]
        time.sleep(rest)
        return samples

    def _sample(self, begin: float, engine: int) -> Sample:
        assert Path(f"/proc/{engine}").exists(), f"The engine has died.\n{self._served.log()[-4000:]}"
        return Sample(time.monotonic() - begin, held(self._served.process.pid), held(engine), self.requests)

    def _guarded(self, work: Any, number: int) -> None:
        try:
            work(number)
        except Exception as error:  # of a thread; the soak raises it
            self.errors.append(f"{work.__name__} {number}: {error!r}")

    # ---- clients ----------------------------------------------------------------------------------------------------------------------
    def _steer(self, number: int) -> None:
        chance, client, made = random.Random(self._seed * 100 + number), Client(self._served, "steer"), 0
        kinds, weights = [*ACTS], [*ACTS.values()]
        while not self._over.is_set():
            scenarios = client.info()["scenarios"]
            there = [each for each in scenarios if "@" not in each["name"]]
            left = [each for each in scenarios if "@" in each["name"]]
            kind = chance.choices(kinds, weights)[0]
            on = there[0] if chance.random() < 0.3 else chance.choice(there)
            if len(there) > AT_ONCE and kind == "branch":
                kind = "delete"
            if kind == "left" and left:
                on, kind = chance.choice(left), chance.choice(["look", "past", "branch"])
            made += 1
            method, path, content = self._act(kind, on, f"{number}-{made}", chance)
            if method:
                answer = client.ask(method, path, content, f"{number}-{made}" if method != "GET" else "", insist=False)
                assert answer.status_code in DONE, f"{method} {path}: {answer.status_code} {answer.text[:500]}"
            with self._lock:
                self.requests += 2
            self._over.wait(chance.uniform(0, 2 * self._pause))

    def _act(self, kind: str, on: dict[str, Any], name: str, chance: random.Random) -> tuple[str, str, Any]:
        scenario, step = on["name"], on["step"]
        variable = chance.choice(["water", "runoff", "rain"])
        match kind:
            case "step":
                return "POST", "/step", {"scenario": scenario, "steps": chance.choice([1, 5, 30, 90])}
            case "set":
                change = chance.choice([("water", "scale", 0.9), ("capacity", "set", chance.uniform(60, 200)), ("irrigation", "set", 5.0)])
                when = chance.choice(["after", "after", "now", {"step": step + 5}])
                content = dict(zip(("variable", "operation", "value"), change, strict=True)) | {"scenario": scenario, "when": when}
                return "POST", "/set", content | ({"region": {"box": [143.0, -22.5, 144.5, -20.5]}} if chance.random() < 0.5 else {})
            case "look":
                return "GET", f"/data/{variable}?scenario={scenario}&format=raw", None
            case "past":
                return "GET", f"/data/{variable}?scenario={scenario}&time=step:{chance.randint(1, max(step, 1))}", None
            case "image":
                return "GET", f"/image/{variable}.png?scenario={scenario}", None
            case "branch":
                content = {"name": f"s{name}", "from": {"scenario": scenario, "step": chance.randint(0, step)}}
                return "POST", "/scenarios", content | {"set": [{"variable": "capacity", "value": chance.uniform(60, 200)}]}
            case "delete" if scenario != "main" and "@" not in scenario:
                return "DELETE", f"/scenarios/{scenario}", None
            case "rewind" if "@" not in scenario:
                return "POST", f"/scenarios/{scenario}/rewind", {"step": chance.randint(0, step)}
            case "restart" if "@" not in scenario:
                return "POST", "/restart", {"scenario": scenario}
            case "checkpoint":
                return "POST", "/checkpoints", {"scenario": scenario}
        return "", "", None

    # ---- viewers ----------------------------------------------------------------------------------------------------------------------
    def _watch(self, number: int) -> None:
        chance = random.Random(self._seed * 1000 + number)
        address = self._served.address.replace("http", "ws", 1) + "/live"
        headers = {"Authorization": f"Bearer {TOKENS[chance.choice(['view', 'steer'])]}"}
        client = Client(self._served, "view")
        while not self._over.is_set():
            there = client.info()["scenarios"]
            scenario = "main" if chance.random() < 0.5 else chance.choice(there)["name"]
            stream = {"stream": 1, "variable": chance.choice(["water", "runoff"]), "scenario": scenario, "bits": 8, "rate": 10}
            with (
                suppress(OSError, WebSocketException, EOFError, TimeoutError),
                connect(address, additional_headers=headers, subprotocols=[PROTOCOL], compression=None) as line,
            ):
                line.send(json.dumps({"watch": [stream]}))
                end = time.monotonic() + chance.uniform(0.5, 8.0)
                while time.monotonic() < end and not self._over.is_set():
                    with suppress(TimeoutError):
                        line.recv(timeout=0.3)
            self._over.wait(chance.uniform(0, 1.0))
