"""Each place at which a process may die, tried: the first time that it is reached and a later time, in a short session."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.scenario import copied, make_scenario

from steppe.api import decode
from steppe.control.server.journal import Journal
from steppe.failpoint import NAMES
from verification.kill.checker import check_journal, check_states, rest
from verification.kill.served import Client, Served, Watcher

Serve = Callable[..., tuple[Served, Client]]
WEST, EAST = {"box": [143.0, -22.5, 144.5, -20.5]}, {"box": [145.0, -22.5, 146.0, -20.5]}

# A run is compacted while nobody serves it (tests/jobs/test_compact), and has no files in memory (tests/arrays).
SERVED = [name for name in NAMES if not name.startswith(("compact.", "donio."))]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small run file."""
    return make_scenario(tmp_path_factory.mktemp("small"))


@pytest.fixture
def serve(made: Path, tmp_path: Path) -> Iterator[Serve]:
    """Starts a server of a copy of the run."""
    started: list[Served] = []

    def start(*options: str, **environment: str) -> tuple[Served, Client]:
        started.append(Served(copied(made, tmp_path / "run"), *options, environment=environment))
        client = Client(started[-1], "admin")
        client.until(lambda info: info["steps"] is not None, "the first engine")
        return started[-1], client

    yield start
    for each in started:
        each.abandon()


class Session:
    """Somebody who does a little of everything, twice."""

    def __init__(self, served: Served, client: Client) -> None:
        self.accepted: dict[str, int] = {}
        self._served, self._client = served, client

    def order(self, path: str, **content: Any) -> None:
        key = f"key-{len(self.accepted)}"
        self.accepted[key] = self._client.order(path, content, key)

    def look(self, *names: str) -> None:
        for name in names:
            answer = self._client.ask("GET", f"/data/{name}?format=raw&packed=1")
            assert answer.status_code == 200, answer.text

    def is_seen_by(self, watcher: Watcher) -> None:
        """Whoever watched all the time sees where the run came to rest."""
        head, values = decode(self._client.ask("GET", "/data/water?format=raw&packed=1").content)
        watcher.sees(head["step"], values)
        watcher.close()

    def reach(self, step: int) -> None:
        self._client.until(lambda info: self._of(info, "main")["step"] >= step, f"step {step}", 0.01)

    def _of(self, info: dict[str, Any], name: str) -> dict[str, Any]:
        return next(each for each in info["scenarios"] if each["name"] == name)

    def water(self, operation: str, value: float, when: Any = "after", region: Any = "all", scenario: str = "main") -> None:
        self.order("/set", variable="water", operation=operation, value=value, when=when, region=region, scenario=scenario)

    def run(self) -> None:
        self.order("/triggers", expression="max(rain) > 1", text="it rains")
        self.order("/events", variable="water", operation="scale", value=1.1, when={"step": 45})
        self.order("/step", steps=40)
        self.water("add", 5.0, "now", WEST)
        self.water("scale", 0.9, "now", EAST)
        self.reach(40)
        self.look("water", "capacity")
        self.order("/checkpoints")
        self.order("/scenarios", name="dry", **{"from": {"scenario": "main", "step": 30}})
        self.order("/scenarios", name="wet", **{"from": {"scenario": "main", "step": 20}})
        for name, factor in (("dry", 0.5), ("wet", 1.5)):
            self.water("scale", factor, scenario=name)
            self.order("/step", steps=40, scenario=name)
        self.water("set", 20.0, {"step": 60})
        self.order("/step", steps=40)
        self.order("/pause")
        rest(self._client, self._served.folder)
        self.order("/scenarios/main/rewind", step=35)
        self._served.kill()
        self.order("/step", steps=40)
        self.water("add", 1.0, "now")
        self.reach(50)
        self.look("water", "capacity")
        time.sleep(0.7)  # what has changed is made durable
        rest(self._client, self._served.folder)
        self.order("/checkpoints")


@pytest.mark.many
@pytest.mark.parametrize("which", [1, 2])
@pytest.mark.parametrize("name", SERVED)
def test_whoever_dies_there_is_missed_by_nobody(serve: Serve, tmp_path: Path, name: str, which: int) -> None:
    failed = tmp_path / "failed"
    served, client = serve(STEPPE_FAIL=f"{name}:{which}:kill:{failed}")
    session, watcher = Session(served, client), Watcher(served, "water")
    session.run()
    rest(client, served.folder)
    session.is_seen_by(watcher)
    assert failed.exists(), f"{name} was not reached {which} times"
    check_states(client, served.folder, tmp_path / "again")
    check_journal(Journal.snapshot(served.folder / "journal.sqlite"), session.accepted, ())


def test_three_deaths_at_one_command_are_enough_and_start_brings_the_run_back(serve: Serve, tmp_path: Path) -> None:
    ill, launcher = tmp_path / "ill", tmp_path / "launcher"
    ill.touch()
    launcher.write_text(f'[ -e {ill} ] && export STEPPE_FAIL=action.before:1:kill && echo "I feel ill"\nexec "$@"\n')
    served, client = serve("--launcher", f"sh {launcher}")
    client.order("/step", {"steps": 20}, "step-1")
    seq = client.order("/set", {"variable": "water", "operation": "add", "value": 1.0}, "set-1")
    problem = client.until(lambda info: info["state"] == "failed", "the third death")["problem"]
    assert problem["code"] == "engine-failed"
    assert f"command {seq} (set by admin)" in problem["text"]
    assert "step 20" in problem["text"]
    client.until(lambda info: "exit_status" in info["problem"] and bool(info["problem"]["log"]), "its last words")
    problem = client.info()["problem"]
    assert "SIGKILL" in problem["exit_status"]
    assert "I feel ill" in problem["log"]
    refused = client.ask("POST", "/step", {"steps": 1}, "step-2", insist=False)
    assert (refused.status_code, refused.json()["code"]) == (503, "engine-failed")
    ill.unlink()
    assert client.ask("POST", "/start", {}, "start-1").status_code == 202
    rest(client, served.folder)
    client.order("/step", {"steps": 1}, "step-2")
    rest(client, served.folder)
    assert client.info()["scenarios"][0]["step"] == 21
    check_states(client, served.folder, tmp_path / "again")
