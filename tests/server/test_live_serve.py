"""The live socket of a real run: its engine is killed in the midst of it, and viewers see nothing twice and nothing missing at the end."""

import json
import os
import re
import signal
import time
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

import steppe
from tests.server.test_serve import RUN, ordered, served, values
from tests.server.viewers import Viewer, viewer


def port_of(client: httpx.Client) -> int:
    port = client.base_url.port
    assert port is not None
    return port


def engine_of(client: httpx.Client) -> dict[str, Any] | None:
    found: dict[str, Any] | None = client.get(RUN).json()["engine"]
    return found


def until(one: Viewer, step: int) -> None:
    """Takes frames until one of a step has come."""
    while one.frame().step < step:
        pass


def test_an_engine_that_is_killed_comes_back_and_no_frame_is_seen_twice(scenario: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with served(scenario) as client, viewer(port_of(client), run="out") as one:
        one.watch(variable="water", bits=16, rate=60)
        client.post(f"{RUN}/step", json={"steps": 120, "speed": 30}, headers={"Idempotency-Key": "a", "Prefer": "wait=0"})
        until(one, 30)
        engine = engine_of(client)
        assert engine is not None
        os.kill(engine["pid"], signal.SIGKILL)
        until(one, 120)
        steps, numbers = [each.step for each in one.frames], [each.number for each in one.frames]
        assert steps == sorted(set(steps))
        assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))
        assert len(steps) > 60
        assert [each["deaths"] for each in one.told if each["type"] == "info"][-1] == 1
        assert any(each["type"] == "event" and "died" in each["text"] for each in one.told)
        logged = capfd.readouterr().err
        assert re.fullmatch(r"[-0-9]{10} [:,0-9]{12} WARNING out: The engine has died and is started again[.]\n", logged), logged
        told, exact = one.frames[-1], values(client, "")
        assert np.nanmax(np.abs(told.values - exact)) <= told.scale / 2 * (1 + 1e-9)
    apart = steppe.Simulation(steppe.read_run_file(scenario, {"output.path": "apart"}))
    apart.step(120)
    assert exact.tobytes() == np.asarray(apart["water"]).tobytes()


def test_who_begins_to_watch_while_the_engine_is_away_sees_the_last_frame_marked(scenario: Path) -> None:
    with served(scenario) as client, viewer(port_of(client), run="out") as one:
        one.watch(variable="water", rate=60)
        ordered(client, "/step", "a", {"steps": 40})
        until(one, 40)
        engine = engine_of(client)
        assert engine is not None
        os.kill(engine["pid"], signal.SIGKILL)
        while engine_of(client) is not None:
            time.sleep(0.005)
        with viewer(port_of(client), "steer", run="out") as late:
            late.watch(variable="water", rate=60)
            first = late.frame()
            assert (first.step, bool(first.flags & 4)) == (40, True)
            ordered(client, "/step", "b", {"steps": 1})
            until(late, 41)
            assert not late.frames[-1].flags & 4
            until(one, 41)
            assert [each.step for each in one.frames].count(40) == 1


def test_a_rewind_and_a_change_are_seen(scenario: Path) -> None:
    with served(scenario) as client, viewer(port_of(client), run="out") as one:
        one.watch(variable="water", bits=16)
        ordered(client, "/step", "a", {"steps": 30})
        until(one, 30)
        ordered(client, "/set", "b", {"variable": "water", "value": 33.0})
        changed = one.frame()
        assert changed.step == 30
        assert np.nanmax(np.abs(changed.values - 33.0)) <= changed.scale / 2 * (1 + 1e-9)
        ordered(client, "/scenarios/main/rewind", "c", {"step": 12})
        while one.frame().step != 12:
            pass
        exact = values(client, "")
        assert np.nanmax(np.abs(one.frames[-1].values - exact)) <= one.frames[-1].scale / 2 * (1 + 1e-9)


def test_a_pair_of_scenarios_goes_on_together(scenario: Path) -> None:
    with served(scenario) as client, viewer(port_of(client), run="out") as one:
        ordered(client, "/step", "a", {"steps": 10})
        ordered(client, "/scenarios", "b", {"name": "wet"})
        ordered(client, "/set", "c", {"variable": "water", "value": 90.0, "scenario": "wet"})
        one.say({"watch": [{"stream": 1, "variable": "water"}, {"stream": 2, "variable": "water", "scenario": "wet"}]})
        one.until("watching")
        for scenario_, key in (("main", "d"), ("wet", "e")):
            content = {"steps": 40, "scenario": scenario_}
            client.post(f"{RUN}/step", json=content, headers={"Idempotency-Key": key, "Prefer": "wait=0"})
        while not (len(one.frames) % 2 == 0 and {each.step for each in one.frames[-2:]} == {50}):
            one.frame()
        pairs = [*zip(one.frames[::2], one.frames[1::2], strict=True)]
        assert all((first.stream, second.stream) == (1, 2) for first, second in pairs)
        assert all((first.scale, first.offset) == (second.scale, second.offset) for first, second in pairs)
        assert all(first.number == second.number for first, second in pairs)


def test_the_latest_value_of_a_place_is_answered_while_the_run_goes_on(scenario: Path) -> None:
    with served(scenario) as client:
        ordered(client, "/step", "a", {"steps": 1})
        content = {"steps": 200, "speed": 100.0}
        client.post(f"{RUN}/step", json=content, headers={"Idempotency-Key": "b", "Prefer": "wait=0"})
        found = [1]
        while found[-1] < 201:
            answer = client.get(f"{RUN}/series/runoff?at=143.5,-20.5&time=latest")
            assert answer.status_code == 200, answer.text
            (step,) = answer.json()["steps"]
            found.append(step)
        assert found == sorted(found)
        assert len(set(found)) > 4


def test_what_is_told_can_be_read_again_by_http(scenario: Path) -> None:
    with served(scenario) as client, viewer(port_of(client), "steer", run="out") as one:
        ordered(client, "/step", "a", {"steps": 20})
        done = one.until("command")
        done.pop("type"), done.pop("who")
        assert done == client.get(f"{RUN}/operations/{done['id']}").json()
        ordered(client, "/checkpoints", "b", {})
        found = one.until("checkpoints")["checkpoints"]
        assert found == json.loads(client.get(f"{RUN}/checkpoints").text)["checkpoints"]
        with viewer(port_of(client), run="out") as late:
            (hello,) = [each for each in late.told if each["type"] == "hello"]
            first, last = hello["kept"]["main"]
            assert 0 <= first <= last == 20
            assert client.get(f"{RUN}/data/water?time=step:{first}").status_code == 200
            assert hello["checkpoints"] == found
            assert hello["steers"]["kind"] == "checkpoint"
