"""Real processes under kill -9: people steer a run while its engine and its server die, and nothing is lost, repeated or misplaced."""

import os
import random
import signal
import statistics
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from tests.scenario import copied, make_years

from steppe.control.server.journal import Journal
from verification.kill.checker import check_journal, check_states, gathered, rest, store, waiting
from verification.kill.served import Client, Served, Steering

Measured = Callable[[str, str, float, str], None]
YEARS = 8
STEPS = 365 * YEARS + 2  # two leap days


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run file of some hundreds of cells and eight years, whose kernel is compiled."""
    return make_years(tmp_path_factory.mktemp("steered"), YEARS)


@pytest.fixture
def serve(made: Path, tmp_path: Path) -> Iterator[Callable[..., tuple[Served, Client]]]:
    """Starts a server of a copy of the run, and waits for its engine."""
    started: list[Served] = []

    def start(*options: str, **environment: str) -> tuple[Served, Client]:
        served = Served(copied(made, tmp_path / "run"), *options, environment=environment)
        started.append(served)
        client = Client(served, "view")
        client.until(lambda info: info["steps"] is not None, "the first engine")
        return served, Client(served, "admin")

    yield start
    for each in started:
        each.abandon()


def killings(served: Served, seed: int, engines: int, servers: int) -> None:
    """Kills one after the other at random moments."""
    chance, client = random.Random(seed), Client(served, "view")
    plan = ["engine"] * engines + ["server"] * servers
    chance.shuffle(plan)
    served.under_fire = True
    try:
        for victim in plan:
            time.sleep(chance.uniform(0.1, 1.0))
            if victim == "server":
                served.kill()
                continue
            info = client.until(lambda info: bool(info["engine"]) or info["state"] == "failed", "an engine")
            if info["engine"]:
                with suppress(ProcessLookupError):
                    os.kill(info["engine"]["pid"], signal.SIGKILL)
            else:
                Client(served, "admin").ask("POST", "/start", {}, "start", insist=False)
    finally:
        served.under_fire = False


def steer(served: Served, seed: int, clients: int, commands: int, engines: int, servers: int) -> list[Steering]:
    """Clients steer while processes die."""
    people = [Steering(served, number, seed, commands // clients, STEPS) for number in range(clients)]
    threads = [threading.Thread(target=each.run) for each in people]
    for each in threads:
        each.start()
    killings(served, seed, engines, servers)
    admin = Client(served, "admin")
    while any(each.is_alive() for each in threads):
        if admin.info()["state"] == "failed":
            admin.ask("POST", "/start", {}, "start", insist=False)
        time.sleep(0.3)
    return people


def play(served: Served, client: Client, aside: Path, seed: int, clients: int, commands: int, engines: int, servers: int) -> dict[str, Any]:
    """One session from its beginning to the checks; what happened in it."""
    begin = time.perf_counter()
    people = steer(served, seed, clients, commands, engines, servers)
    accepted, refused = gathered(people)
    rest(client, served.folder)  # no steps are taken while a pause waits for an engine
    accepted["last"] = client.order("/step", {"steps": 1}, "last")  # a branch that stands where it began has nothing on the disk
    rest(client, served.folder)
    steered = time.perf_counter() - begin
    made = check_states(client, served.folder, aside)
    served.close()
    assert not waiting(served.folder), waiting(served.folder)
    journal = Journal.snapshot(served.folder / "journal.sqlite")
    check_journal(journal, accepted, refused)
    main = journal.branch("main").id
    assert store(served.folder if main == 1 else served.folder / "branches" / str(main)) == store(made["main"])
    return {
        "accepted": len(accepted),
        "refused": len(refused),
        "retries": sum(each.client.retries for each in people),
        "branches": len(journal.branches()),
        "seconds": steered,
        "seconds of the checks": time.perf_counter() - begin - steered,
    }


@pytest.mark.parametrize("seed", [1])
def test_a_short_session(serve: Any, tmp_path: Path, measured: Measured, seed: int) -> None:
    served, client = serve()
    found = play(served, client, tmp_path / "again", seed, clients=8, commands=240, engines=5, servers=2)
    for what, value in found.items():
        measured("short session", what, value, "")


@pytest.mark.many
@pytest.mark.parametrize("seed", range(5))
def test_two_thousand_commands_by_twenty_clients(serve: Any, tmp_path: Path, measured: Measured, seed: int) -> None:
    served, client = serve()
    found = play(served, client, tmp_path / "again", seed, clients=20, commands=2000, engines=20, servers=5)
    assert found["accepted"] + found["refused"] == 2001
    for what, value in found.items():
        measured(f"2,000 commands, seed {seed}", what, value, "")


def test_a_death_is_told_at_once_and_the_run_goes_on(serve: Any, measured: Measured) -> None:
    _, client = serve()
    told, on = [], []
    for number in range(1, 8):
        pid = client.until(lambda info: bool(info["engine"]), "an engine")["engine"]["pid"]
        client.order("/step", {"steps": 400}, f"step-{number}")
        begin = time.perf_counter()
        os.kill(pid, signal.SIGKILL)
        client.until(lambda info, pid=pid: not info["engine"] or info["engine"]["pid"] != pid, "a notice of the death", 0.005)
        told.append(time.perf_counter() - begin)
        client.until(lambda info, at=400 * number: info["scenarios"][0]["step"] == at, "the target", 0.02)
        on.append(time.perf_counter() - begin)
    measured("engine killed", "seconds until clients are told, worst of 7", max(told), "< 0.5")
    measured("engine killed", "seconds until 400 steps are done, median of 7", statistics.median(on), "< 5")
    measured("engine killed", "seconds until 400 steps are done, worst of 7", max(on), "< 5")
    assert max(told) < 1.0
    assert statistics.median(on) < 5.0


def test_an_engine_that_is_stopped_is_silent_then_killed(serve: Any, measured: Measured) -> None:
    served, client = serve(STEPPE_HANGING="2")
    client.order("/step", {"steps": 100}, "step-1")
    pid = client.until(lambda info: info["scenarios"][0]["step"] == 100, "the target")["engine"]["pid"]
    begin = time.perf_counter()
    os.kill(pid, signal.SIGSTOP)
    client.until(lambda info: info["silent"], "silence", 0.01)
    measured("engine stopped", "seconds until clients are told that it is silent", time.perf_counter() - begin, "< 1")
    client.order("/step", {"steps": 100}, "step-2")
    client.until(lambda info: not info["engine"] or info["engine"]["pid"] != pid, "its end", 0.01)
    measured("engine stopped", "seconds until it is killed, of a limit of 2 s", time.perf_counter() - begin, "< 3")
    client.until(lambda info: info["scenarios"][0]["step"] == 200, "the target")
    assert pid not in engine_pids(served)


def test_an_engine_that_hangs_in_a_step_is_ended_and_says_where(serve: Any, tmp_path: Path, measured: Measured) -> None:
    """Its other threads are well, so it is not silent; nobody but itself could know."""
    hung = tmp_path / "hung"
    served, client = serve("--set", "engine.step_limit=2", STEPPE_FAIL=f"step.before:8:hang:{hung}")
    pid = client.info()["engine"]["pid"]
    client.order("/step", {"steps": 2000}, "step-1")
    while not hung.exists():
        time.sleep(0.01)
    begin = time.perf_counter()
    client.until(lambda info: info["engine"] and info["engine"]["pid"] != pid, "another engine", 0.01)
    measured("engine hangs in a step", "seconds until there is another one, of a limit of 2 s", time.perf_counter() - begin, "< 7")
    rest(client, served.folder)
    assert client.info()["scenarios"][0]["step"] == 2000
    told = [text for _, each in Journal.snapshot(served.folder / "journal.sqlite").emissions(0) if (text := each["text"])]
    assert any("The engine has been at step" in text and "engine.step_limit" in text for text in told), told
    assert "in reach" in served.log(), "the stack of the thread"
    check_states(client, served.folder, tmp_path / "again")


def test_a_step_that_hangs_again_and_again_ends_the_run_with_its_number(serve: Any) -> None:
    _, client = serve("--set", "engine.step_limit=1", STEPPE_FAIL="step.middle:1:hang")
    client.order("/step", {"steps": 1}, "step-1")
    problem = client.until(lambda info: info["state"] == "failed", "the third end")["problem"]
    problem = client.until(lambda info: "exit_status" in info["problem"], "its status")["problem"]
    assert "3 times" in problem["text"]
    assert any("at step 1 for" in line for line in problem["log"]), problem


def engine_pids(served: Served) -> list[int]:
    """All processes that compute the run."""
    found = subprocess.run(["pgrep", "-f", f"^[^ ]*python[^ ]* -m steppe engine {served.folder} "], capture_output=True, check=False)
    return [int(pid) for pid in found.stdout.split()]


def until_started(served: Served) -> list[int]:
    """The engines, as soon as there is one."""
    end = time.monotonic() + 30
    while not (found := engine_pids(served)):
        assert time.monotonic() < end, served.log()
        time.sleep(0.01)
    return found


def test_an_engine_and_a_server_that_die_while_the_engine_starts(serve: Any, tmp_path: Path) -> None:
    served, client = serve()
    for number, (delay, victim) in enumerate([(0.0, "engine"), (0.1, "server"), (0.3, "engine"), (0.3, "server"), (0.6, "server")]):
        pid = client.until(lambda info: bool(info["engine"]), "an engine")["engine"]["pid"]
        os.kill(pid, signal.SIGKILL)
        client.until(lambda info, pid=pid: not info["engine"] or info["engine"]["pid"] != pid, "a notice of the death", 0.005)
        time.sleep(delay)
        if victim == "server":
            served.kill()
        else:
            for each in until_started(served):
                with suppress(ProcessLookupError):
                    os.kill(each, signal.SIGKILL)
        client.order("/step", {"steps": 40}, f"step-{number}")
        client.order("/set", {"variable": "water", "operation": "scale", "value": 0.9, "when": "now"}, f"set-{number}")
        rest(client, served.folder)
        assert client.info()["scenarios"][0]["step"] == 40 * (number + 1)
    check_states(client, served.folder, tmp_path / "again")
    assert len(engine_pids(served)) == 1


def test_an_engine_of_two_ranks_one_of_which_is_killed(serve: Any, tmp_path: Path, measured: Measured) -> None:
    from steppe.comm import find_library, find_mpiexec

    served, client = serve("--launcher", " ".join(map(str, [*find_mpiexec(find_library()), "-n", "2"])))
    assert client.info()["engine"]["ranks"] == 2
    on = []
    for number in range(3):
        client.order("/step", {"steps": 300}, f"step-{number}")
        client.order("/set", {"variable": "water", "operation": "scale", "value": 0.9, "when": "now"}, f"set-{number}")
        at = 300 * number + 10
        first = client.until(lambda info, at=at: bool(info["engine"]) and info["scenarios"][0]["step"] > at, "a step")["engine"]["pid"]
        (other,) = (pid for pid in engine_pids(served) if pid != first)
        begin = time.perf_counter()
        os.kill(other, signal.SIGKILL)
        client.until(lambda info, first=first: bool(info["engine"]) and info["engine"]["pid"] != first, "another engine")
        on.append(time.perf_counter() - begin)
        rest(client, served.folder)
    measured("rank 1 of 2 killed", "seconds until there is another engine, worst of 3", max(on), "< 5")
    check_states(client, served.folder, tmp_path / "again")
    assert len(engine_pids(served)) == 2
