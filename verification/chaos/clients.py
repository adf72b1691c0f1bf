"""Clients of a run under chaos: they order, read the log, and watch; all through the bad network."""

import json
import random
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from websockets.exceptions import WebSocketException

from verification.kill.served import Client, Served, Steering, Watcher

KINDS = {"step": 72, "set": 80, "pause": 10, "checkpoint": 8, "branch": 12, "leave": 10, "rewind": 4, "restart": 1}  # with their weights
OPEN = 8  # scenarios from which on some are left
LONGEST = 150  # steps of an order: every few seconds a shard of results is full and is written
REGIONS = (
    {"box": [143.0, -22.5, 144.5, -20.5]},
    {"box": [145.0, -24.0, 147.0, -21.0]},
    {"polygon": [[143.5, -24.0], [146.5, -24.0], [145.0, -20.5]]},
)
VALUES = {"water": ("set", 0.0, 200.0), "capacity": ("set", 60.0, 200.0)}  # of what a new scenario begins with
READ = 0.25  # of the orders are followed by a look at a map
WHOLE = 0.05  # of the readings of the log begin at its beginning


@dataclass(frozen=True)
class Sent:
    """An order that has its answer: path and content, and when it was sent first and answered."""

    path: str
    content: Any
    begin: float
    end: float


class Ordering(Steering):
    """A client that orders until `until` [s, monotonic], with a pause of up to `pause` seconds between two orders. sent: key -> order."""

    refusals = (*Steering.refusals, 507)
    kinds = KINDS

    def __init__(self, served: Served, number: int, seed: int, steps: int, address: str, until: float, pause: float = 1.0) -> None:
        super().__init__(served, number, seed, 0, steps, address)
        self.sent: dict[str, Sent] = {}
        self._until, self._pause = until, pause

    def _numbers(self) -> Iterable[int]:
        number = 0
        while time.monotonic() < self._until:
            yield number
            number += 1
            time.sleep(self._chance.uniform(0, self._pause))

    def _send(self, path: str, content: Any, key: str) -> None:
        begin = time.monotonic()
        super()._send(path, content, key)
        self.sent.setdefault(key, Sent(path, content, begin, time.monotonic()))
        if self._chance.random() < READ:
            scenario = content.get("scenario", "main") if content else "main"
            self.client.look(f"/data/{self._chance.choice(['water', 'runoff'])}?scenario={scenario}&packed=1")

    def _command(self, scenarios: list[dict[str, Any]], key: str) -> tuple[str, Any]:
        self._others = [each["name"] for each in scenarios if each["name"] != "main"]
        return super()._command(scenarios, key)

    def _ordered(self, kind: str, on: Mapping[str, Any], key: str) -> tuple[str, Any]:
        chance, name, step = self._chance, on["name"], on["step"]
        if self._others and (kind == "leave" or (kind == "branch" and len(self._others) >= OPEN)):
            return f"/scenarios/{chance.choice(self._others)}", None
        if kind in ("branch", "leave"):
            changes = [self._change() for _ in range(chance.randint(0, 3))]
            return "/scenarios", {"name": f"s{key}", "from": {"scenario": name, "step": chance.randint(step // 2, step)}, "set": changes}
        if kind == "restart":
            return "/restart", {"scenario": name}
        if kind == "step":
            return "/step", {"scenario": name, "steps": chance.randint(1, LONGEST)}
        path, content = super()._ordered(kind, on, key)
        return path, content | ({"region": chance.choice(REGIONS)} if "region" in content else {})

    def _change(self) -> dict[str, Any]:
        name = self._chance.choice([*VALUES])
        operation, low, high = VALUES[name]
        value = self._chance.uniform(low, high)
        return {"variable": name, "operation": operation, "value": value, "region": self._chance.choice(REGIONS)}


class Visitor(Watcher):
    """A viewer that comes, watches a variable of a scenario for some seconds, goes, and comes again. frames: how many it saw in all."""

    def __init__(self, served: Served, address: str, seed: str) -> None:
        self._chance, self._client = random.Random(seed), Client(served, "view", address)
        super().__init__(served, "water", address=address)

    def _watch(self) -> None:
        while not self._over:
            with suppress(OSError, WebSocketException, EOFError, TimeoutError):
                others = [each["name"] for each in self._client.info()["scenarios"]]  # those that were left, too
                scenario = "main" if self._chance.random() < 0.5 else self._chance.choice(others)
                self._stream |= {"scenario": scenario, "variable": self._chance.choice(["water", "runoff"])}
                self._leaves = time.monotonic() + self._chance.uniform(0.2, 15.0)
                self._visit(2.0)
            time.sleep(self._chance.uniform(0.0, 4.0))

    @property
    def _goes(self) -> bool:
        return super()._goes or time.monotonic() > self._leaves


@dataclass
class Observer:
    """A client that reads the log again and again, whole or what is new, and holds it against what it read before."""

    client: Client
    seed: str
    reads: int = 0
    facts: dict[int, Any] = field(default_factory=dict)  # by number of the command: what never changes of it
    outcomes: dict[int, Any] = field(default_factory=dict)
    gaps: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)

    def play(self, until: float) -> None:
        """Reads until then [s, monotonic]."""
        chance = random.Random(self.seed)
        while time.monotonic() < until:
            self._read(0 if chance.random() < WHOLE else len(self.facts))
            time.sleep(chance.uniform(0.2, 3.0))

    def _read(self, after: int) -> None:
        """Reads the log behind a number, page by page."""
        self.reads += 1
        while lines := [json.loads(line) for line in self.client.ask("GET", f"/log?after={after}").text.splitlines()]:
            for row in lines:
                after += 1
                if row["seq"] != after:
                    self.gaps.append(f"command {row['seq']} stands behind {after - 1}")
                    after = row["seq"]
                told = facts_of(row)
                if self.facts.setdefault(row["seq"], told) != told:
                    self.changed.append(f"command {row['seq']} was {self.facts[row['seq']]}, is {told}")
                over = row["outcome"] and (row["outcome"], row["ended_step"])
                if over and self.outcomes.setdefault(row["seq"], over) != over:
                    self.changed.append(f"command {row['seq']} ended as {self.outcomes[row['seq']]}, then as {over}")


def facts_of(row: dict[str, Any]) -> tuple[Any, ...]:
    """What never changes of a command in the log."""
    return tuple(str(row[name]) for name in ("branch", "key", "who", "role", "kind", "arguments", "due", "accepted_at", "target"))
