"""The whole server: `steppe serve`, its engine and its journal, asked over HTTP."""

import io
import json
import os
import shlex
import signal
import socket
import stat
import subprocess
import sys
import tarfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import httpx
import jsonschema
import numpy as np
import pytest

import steppe
from steppe.api import decode
from steppe.server.role_tokens import RoleFile
from tests.server.asking import CONTRACT, TOKENS, bearer, documented
from tests.server.listening import wait_for

RUN = "/runs/out"
WAIT = {"Prefer": "wait=5"}
COMPACT = (sys.executable, "-m", "steppe", "compact")


@contextmanager
def served(run_file: Path, *more: str) -> Iterator[httpx.Client]:
    """A client of a server in a process of its own, which is asked to end."""
    tokens = run_file.parent / "tokens"
    tokens.write_text("".join(f"{role} {text}\n" for role, text in TOKENS.items()))
    tokens.chmod(0o600)
    where = () if "--bind" in more else ("--bind", "127.0.0.1:0")
    command = [sys.executable, "-m", "steppe", "serve", str(run_file), *where, "--token-file", str(tokens), *more]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            address = process.stdout.readline().split()[-1]
            with httpx.Client(base_url=f"{address}api/v1", headers=bearer("admin") | WAIT, timeout=60.0) as client:
                yield client
            process.send_signal(signal.SIGTERM)
            assert process.wait(60) == 0
        finally:
            process.kill()


def test_a_missing_run_file_is_reported_before_a_port_in_use(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        bind = "{}:{}".format(*taken.getsockname())
        command = [sys.executable, "-m", "steppe", "serve", "nope.toml", "--bind", bind]
        ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr.startswith('steppe: Run file "nope.toml" cannot be read: No such file or directory.')


@pytest.mark.parametrize(("host", "called"), [((), "localhost"), (("--host", "field.example", "--host", "other.example"), "field.example")])
def test_a_server_that_listens_everywhere_tells_an_address_that_can_be_called(scenario: Path, host: tuple[str, ...], called: str) -> None:
    with served(scenario, "--bind", "0.0.0.0:0", *host) as client:
        assert client.base_url.host == called
        port = client.base_url.port
        answer = httpx.get(f"http://127.0.0.1:{port}/api/v1{RUN}", headers=bearer("view") | {"Host": f"{called}:{port}"}, timeout=60.0)
        assert answer.status_code == 200


def test_a_browser_is_led_to_the_page_and_no_list_of_processes_has_the_token(scenario: Path) -> None:
    folder = scenario.parent
    (folder / "browser").write_text(
        f'#!/bin/sh\necho "$@" > {folder}/words\ncp "${{1#file://}}" {folder}/lead.tmp\nmv {folder}/lead.tmp {folder}/lead\n'
    )
    (folder / "browser").chmod(0o700)
    command = [sys.executable, "-m", "steppe", "serve", str(scenario), "--bind", "127.0.0.1:0", "--open"]
    surroundings = os.environ | {"BROWSER": f"{folder}/browser %s"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=surroundings) as process:
        try:
            assert process.stdout is not None
            address = process.stdout.readline().split()[-1]
            link = f"{address}#token={RoleFile(folder / 'out').texts()['steer']}"
            wait_for((folder / "lead").exists)
            assert f'url={link}"' in (folder / "lead").read_text()
            (name,) = (folder / "words").read_text().split()
            place = Path(name.removeprefix("file://"))
            assert stat.S_IMODE(place.parent.stat().st_mode) == 0o700
            process.send_signal(signal.SIGTERM)
            assert process.wait(60) == 0
            assert not place.parent.exists()
        finally:
            process.kill()


@pytest.mark.parametrize("ignored", [False, True])
def test_a_closed_terminal_ends_a_server_as_ctrl_c_does_unless_nohup_ignores_it(scenario: Path, ignored: bool) -> None:
    background = ["sh", "-c", 'trap "" INT; exec nohup "$@"', "sh"]  # shells of scripts have those ignore Ctrl-C that they start with `&`
    serve = [sys.executable, "-m", "steppe", "serve", str(scenario), "--bind", "127.0.0.1:0", "--access-log"]
    command = [*background, *serve] if ignored else serve
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            address = process.stdout.readline().split()[-1]
            if ignored:
                process.send_signal(signal.SIGHUP)
                time.sleep(0.5)
            assert httpx.get(f"{address}healthz?hidden=words").status_code == 200
            process.send_signal(signal.SIGINT if ignored else signal.SIGHUP)
            _, said = process.communicate(timeout=60)
            assert process.returncode == 0
        finally:
            process.kill()
    (line,) = (line for line in said.splitlines() if "healthz" in line)
    assert " INFO 127.0.0.1 - GET '/healthz' 200 15 bytes " in line
    assert "hidden" not in said


def test_a_server_ends_without_a_word_though_clients_are_in_the_midst_of_something(scenario: Path) -> None:
    tokens = scenario.parent / "tokens"
    tokens.write_text("".join(f"{role} {text}\n" for role, text in TOKENS.items()))
    tokens.chmod(0o600)
    command = [sys.executable, "-m", "steppe", "serve", str(scenario), "--bind", "127.0.0.1:0", "--token-file", str(tokens)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process, ExitStack() as clients:
        try:
            assert process.stdout is not None
            address = process.stdout.readline().split()[-1]
            host, port = address.removeprefix("http://").rstrip("/").split(":")

            def says(path: str, more: str = "", times: int = 1) -> socket.socket:
                client = clients.enter_context(socket.create_connection((host, int(port))))
                head = f"{path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {TOKENS['admin']}\r\n{more}\r\n"
                client.sendall(times * head.encode())
                return client

            wait_for(lambda: httpx.get(f"{address}api/v1{RUN}/variables", headers=bearer("view"), timeout=60.0).status_code == 200)
            says(f"PUT /api/v1{RUN}/uploads/{64 * '0'}", "Content-Type: application/octet-stream\r\nContent-Length: 60000\r\n")  # and stops
            says("GET /api/v1/openapi.json", times=300)  # whose answers nobody reads
            says(f"GET /api/v1{RUN}/events-stream")
            time.sleep(0.5)
            ends_without_a_word(process)
        finally:
            process.kill()


@pytest.mark.parametrize("output", [">/dev/full", ">&-", "<&- >&- 2>&-"])
def test_a_server_needs_no_output_that_takes_its_greeting(scenario: Path, output: str) -> None:
    door = scenario.with_name("door")  # short enough for the path of a socket
    words = shlex.join([sys.executable, "-m", "steppe", "serve", scenario.name, "--uds", door.name])
    with subprocess.Popen(["sh", "-c", f"exec {words} {output}"], cwd=scenario.parent, stderr=subprocess.PIPE, text=True) as process:
        try:
            wait_for(door.exists)
            for _ in range(3):  # the number of a connection must be none of 0, 1 and 2
                with httpx.Client(transport=httpx.HTTPTransport(uds=str(door)), timeout=60.0) as client:
                    assert client.get("http://localhost/healthz").status_code == 200
            ends_without_a_word(process)
        finally:
            process.kill()


def ends_without_a_word(process: "subprocess.Popen[str]") -> None:
    process.send_signal(signal.SIGTERM)
    assert process.wait(60) == 0
    assert process.stderr is not None
    assert process.stderr.read() == ""


def ordered(client: httpx.Client, path: str, key: str, content: dict[str, Any]) -> dict[str, Any]:
    """The reply to an order that is over; it may have to wait for the first engine."""
    for _ in range(100):
        answer = client.post(RUN + path, json=content, headers={"Idempotency-Key": key})
        if answer.status_code != 503 and answer.json().get("state") not in ("queued", "running"):
            break
        time.sleep(0.2)
    documented("POST", str(answer.request.url), answer)
    found: dict[str, Any] = answer.json()
    assert found["state"] == "done", found
    return found


def values(client: httpx.Client, query: str) -> np.ndarray:
    return decode(client.get(f"{RUN}/data/water?{query}").content)[1]


def test_a_run_is_steered_ended_and_found_again(scenario: Path) -> None:
    apart = steppe.Simulation(steppe.read_run_file(scenario, {"output.path": "apart"}))
    apart.step(10)
    with served(scenario) as client:
        assert ordered(client, "/step", "a", {"steps": 10})["target"] == 10
        assert values(client, "").tobytes() == np.asarray(apart["water"]).tobytes()
        info = client.get(RUN)
        documented("GET", "/api/v1/runs/out", info)
        assert info.json()["scenarios"][0]["date"] == "1990-01-19"
        box = {"box": [143.0, -21.0, 144.0, -20.0]}
        change = ordered(client, "/set", "b", {"variable": "water", "value": 5.0, "region": box})
        assert change["result"]["after"] == 5.0 * change["result"]["cells"]
        assert (values(client, "packed=1&box=143,-21,144,-20") == 5.0).all()
        state = values(client, "packed=1")
        schema = {"$ref": "#/components/schemas/VariableList", "components": CONTRACT["components"]}
        jsonschema.validate(client.get(f"{RUN}/variables").json(), schema)
    with served(scenario, "--root-path", "/steppe") as client:
        assert client.base_url.path == "/steppe/api/v1/"
        again = client.post(f"{RUN}/step", json={"steps": 10}, headers={"Idempotency-Key": "a"})
        assert again.headers["idempotent-replayed"] == "true"
        assert again.headers["location"].startswith("/steppe/api/v1/runs/out/operations/")
        assert ordered(client, "/step", "c", {"steps": 1})["target"] == 11
        assert client.get(RUN).json()["scenarios"][0]["step"] == 11
        ordered(client, "/scenarios/main/rewind", "d", {"step": 10})
        assert values(client, "packed=1").tobytes() == state.tobytes()
        rows = [json.loads(line) for line in client.get(f"{RUN}/log").text.splitlines()]
        assert [row["kind"] for row in rows] == ["step", "set", "step", "rewind"]


def test_a_run_whose_journal_was_compacted_is_served_on(scenario: Path) -> None:
    with served(scenario) as client:
        ordered(client, "/step", "a", {"steps": 10})
        ordered(client, "/set", "b", {"variable": "water", "value": 5.0})
        ordered(client, "/step", "c", {"steps": 10})
        state = values(client, "packed=1")
        busy = subprocess.run([*COMPACT, str(scenario.parent / "out")], capture_output=True, text=True, check=False)
        assert (busy.returncode, "is served already" in busy.stderr) == (2, True)
    assert subprocess.run([*COMPACT, str(scenario.parent / "out")], check=False).returncode == 0
    with served(scenario) as client:
        for key, target in (("a", 10), ("c", 20)):
            again = client.post(f"{RUN}/step", json={"steps": 10}, headers={"Idempotency-Key": key})
            documented("POST", str(again.request.url), again)
            assert (again.headers["idempotent-replayed"], again.json()["target"], again.json()["state"]) == ("true", target, "done")
        assert ordered(client, "/step", "d", {"steps": 1})["target"] == 21
        refused = client.post(f"{RUN}/scenarios/main/rewind", json={"step": 19}, headers={"Idempotency-Key": "e"})
        assert (refused.status_code, refused.json()["code"], refused.json()["allowed"]) == (422, "out-of-range", [20, 21])
        ordered(client, "/scenarios/main/rewind", "f", {"step": 20})
        assert values(client, "packed=1").tobytes() == state.tobytes()
        ordered(client, "/restart", "g", {})
        assert client.get(RUN).json()["scenarios"][-1]["step"] == 0
        for path in ("", "/log", "/checkpoints", "/operations/1"):
            assert client.get(RUN + path).status_code == 200


def test_a_checkpoint_that_is_pinned_stays_whatever_follows(scenario: Path) -> None:
    with served(scenario) as client:
        for number in range(1, 6):
            ordered(client, "/step", f"s{number}", {"steps": 10})
            ordered(client, "/checkpoints", f"c{number}", {"pin": number == 1})
        answer = client.get(f"{RUN}/checkpoints")
        documented("GET", f"/api/v1{RUN}/checkpoints", answer)
        assert {each["step"]: each["pinned"] for each in answer.json()["checkpoints"]} == {step: step == 10 for step in (10, 40, 50)}
        kept = sorted(path.name for path in (scenario.parent / "out" / "checkpoints").iterdir())
        assert [int(name[:10]) for name in kept] == [10, 40, 50]


def test_a_checkpoint_is_downloaded_and_another_run_begins_with_it(scenario: Path) -> None:
    with served(scenario) as client:
        ordered(client, "/step", "a", {"steps": 10})
        ordered(client, "/checkpoints", "b", {"pin": True})
        state = values(client, "")
        listed = client.get(f"{RUN}/checkpoints").json()["checkpoints"]
        name = next(each["name"] for each in listed if each["step"] == 10)
        with tarfile.open(fileobj=io.BytesIO(client.get(f"{RUN}/checkpoints/{name}").content)) as archive:
            archive.extractall(scenario.parent / "taken", filter="data")
    changes = {"output.path": "second", "initial.state": str(scenario.parent / "taken" / name)}
    second = steppe.Simulation(steppe.read_run_file(scenario, changes))
    assert np.asarray(second["water"]).tobytes() == state.tobytes()


def test_a_run_that_a_script_changed_is_served_and_steered_on(scenario: Path) -> None:
    with steppe.Simulation(scenario) as simulation:
        simulation.step(20)
        simulation.set("water", 5.0)
        simulation.set("water", 6.0)
    with served(scenario) as client:
        ordered(client, "/set", "a", {"variable": "water", "value": 77.0})
        assert (values(client, "packed=1") == 77.0).all()
        ordered(client, "/step", "b", {"steps": 1})
        stepped = values(client, "packed=1")
    with steppe.Simulation(scenario) as simulation:
        assert simulation.step_index == 21
        np.testing.assert_array_equal(simulation.get("water"), stepped)
        simulation.step(10)
    with served(scenario) as client:  # an order that comes before the engine has loaded the run counts from there, too
        assert ordered(client, "/step", "c", {"steps": 2})["target"] == 33
