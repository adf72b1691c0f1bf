"""Runs that people begin and end: what a request may name, and a server of several."""

import asyncio
import json
import os
import shutil
import subprocess
import sys
import time
import tomllib
import uuid
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx
import pytest

from steppe.api import NewRun
from steppe.control.rendezvous import RUN_FILE
from steppe.control.server.journal import Journal
from steppe.jobs.admit import LONGEST, TEXTS, FaultError, check_paths, table_of
from steppe.server.runs import Runs, held
from steppe.service.begun import Begun
from tests.errors.scenario import RUN
from tests.server.asking import TOKENS, Client, bearer, documented, problem
from tests.server.listening import wait_for


@pytest.mark.parametrize(
    ("table", "good"),
    [
        ({"grid": {"file": "mask.zarr"}}, True),
        ({"grid": {"file": "in/mask.zarr"}}, True),
        ({"grid": {"file": "/etc/passwd"}}, False),
        ({"grid": {"file": "../secret"}}, False),
        ({"grid": {"file": "in/../../secret"}}, False),
        ({"grid": {"points": "~/places.csv"}}, False),
        ({"grid": {"points": "https://example.org/places.csv"}}, True),  # a name below the folder, where there is nothing
        ({"grid": {"file": "link"}}, False),
        ({"grid": {"file": "link/passwd"}}, False),
        ({"forcing": {"store": "device"}}, False),
        ({"parameters": {"capacity": {"store": "/etc/hostname", "variable": "x"}}}, False),
        ({"initial": {"state": "../run"}}, False),
        ({"event": [{"region": {"file": "/dev/zero"}}]}, False),
        ({"output": {"path": "/anywhere", "variables": ["water"]}}, True),  # where it writes is not the request's to say
        ({"output": {"path": "x", "series": [{"name": "../../x"}]}}, False),
        ({"model": "pasture"}, True),
        ({"model": "model.py"}, False),
        ({"model": "in/model.py"}, False),
        ({"model": "../model"}, False),
        ({"grid": {"file": "a\0b"}}, False),
    ],
)
def test_a_request_names_only_what_lies_in_the_folders_of_the_server(tmp_path: Path, table: dict[str, Any], good: bool) -> None:
    base = tmp_path / "runs"
    (base / "in").mkdir(parents=True)
    (base / "link").symlink_to("/etc")
    (base / "device").symlink_to("/dev/zero")
    (tmp_path / "secret").touch()
    if good:
        check_paths(table, base, [base])
        return
    with pytest.raises(FaultError) as wrong:
        check_paths(table, base, [base])
    assert wrong.value.code == "path-foreign"


def test_a_run_that_is_asked_for_twice_is_begun_once(scenario: Path, tmp_path: Path) -> None:
    pasture = pasture_of(scenario)
    with serving(scenario, tmp_path) as client:
        assert client.post("/runs", json={"name": "a", "toml": pasture}).json()["code"] == "key-missing"
        assert begun(client, name="a", toml=pasture.replace("grid", "gird"), key="k").json()["code"] == "bad-run"
        table = 'output = { path = "out" }\n[output.series]\n'
        assert begun(client, name="a", toml=table, key="k").json()["detail"].endswith("write [output], and its keys below it.")
        first = begun(client, name="a", toml=pasture, key="k")  # what was refused is not kept
        assert first.status_code == 201, first.text
        again = begun(client, name="a", toml=pasture, key="k")
        assert (again.status_code, again.content, again.headers["location"]) == (201, first.content, first.headers["location"])
        assert (again.headers["idempotent-replayed"], "idempotent-replayed" in first.headers) == ("true", False)
        for other in ({"name": "b", "toml": pasture}, {"name": "a", "toml": f"{pasture}\n"}):
            answer = begun(client, **other, key="k")
            assert (answer.status_code, answer.json()["code"]) == (422, "key-reused")
        assert begun(client, name="a", toml=pasture, key="l").json()["code"] == "name-taken"
    with serving(scenario, tmp_path) as client:
        assert begun(client, name="a", toml=pasture, key="k").content == first.content
        assert begun(client, name="b", toml=pasture, key="k").json()["code"] == "key-reused"
        assert client.delete("/runs/a?keep=data").status_code == 202
        assert begun(client, name="a", toml=pasture, key="k").content == first.content
        assert client.get("/runs").json()["runs"] == []


def test_a_server_that_died_while_it_began_a_run_begins_it_when_it_is_asked_again(tmp_path: Path) -> None:
    begins = Begun(tmp_path, "a", "anna", "k", b"{}")
    begins.note()
    (begins.folder / "rest").touch()
    assert begins.answer() is None  # no run is there yet
    other = Begun(tmp_path, "a", "anna", "l", b"{}")
    assert not other.is_taken()
    assert not begins.folder.exists()
    begins.note()
    (begins.folder / RUN_FILE).touch()
    assert begins.answer() == b""
    assert other.is_taken()
    assert begins.folder.exists()
    assert (other.answer(), Begun(tmp_path, "a", "bob", "k", b"{}").answer()) == (None, None)
    begins.note(b'{"run": "a"}')
    assert begins.answer() == b'{"run": "a"}'


def test_a_server_without_a_folder_for_runs_makes_none(client: Client) -> None:
    answer = client.ask("POST", "/runs", json={"name": "new", "run": {"model": "pasture"}}, headers={"Idempotency-Key": "a"})
    assert problem(answer)["code"] == "runs-closed"


def test_models_are_listed_and_declared(client: Client) -> None:
    listed = {each["model"]: each for each in client.ask("GET", "/models").json()["models"]}
    assert listed["pasture"]["problem"] is None
    found = client.ask("GET", "/models/pasture").json()
    assert found["version"] == listed["pasture"]["version"]
    assert {each["role"] for each in found["variables"]} >= {"state", "forcing", "parameter"}
    assert problem(client.ask("GET", "/models/pastur"))["nearest"] == "pasture"


@pytest.mark.parametrize(
    "said",
    [
        {"toml": "x = ["},
        {"toml": "x = " + 90_000 * "["},
        {"toml": "x = " + 5_000 * "9"},
        {"toml": "a" + 20 * ".a" + " = 1"},
        {"run": {"model": None}},
        {"run": {"a": [[[None]]]}},
    ],
)
def test_what_no_run_file_can_hold_is_refused(said: dict[str, Any]) -> None:
    with pytest.raises(FaultError) as wrong:
        table_of(NewRun(name="a", **said))
    assert wrong.value.code == "bad-field"


def test_a_text_that_is_too_long_for_a_name_is_no_path(tmp_path: Path) -> None:
    check_paths({"title": LONGEST * "a"}, tmp_path, [tmp_path])


@pytest.mark.parametrize("table", [{"x": [f"a/{number}" for number in range(TEXTS)]}, {"title": (LONGEST + 1) * "a"}])
def test_a_request_may_have_so_many_texts_and_each_may_be_so_long(tmp_path: Path, table: dict[str, Any]) -> None:
    with pytest.raises(FaultError) as wrong:
        check_paths(table, tmp_path, [tmp_path])
    assert wrong.value.code == "bad-field"
    assert wrong.value.facts["allowed"] in (TEXTS, LONGEST)


def test_a_run_file_of_very_many_paths_costs_the_loop_of_the_server_nothing(scenario: Path, tmp_path: Path) -> None:
    with serving(scenario, tmp_path) as client:
        pid = int((tmp_path / "runs" / "server.lock").read_text().split()[1])

        def spent() -> float:
            """Seconds of a processor that the thread of the loop has had."""
            times = Path(f"/proc/{pid}/task/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]
            return sum(map(int, times)) / os.sysconf("SC_CLK_TCK")

        begun(client, name="x", run={"x": []})
        before = spent()
        answer = begun(client, name="x", run={"x": [f"a/{number}" for number in range(100_000)]})
        assert (answer.status_code, answer.json()["code"]) == (422, "bad-field"), answer.text
        assert "texts" in answer.json()["detail"]
        assert spent() - before < 0.5


@contextmanager
def serving(scenario: Path, tmp_path: Path) -> Iterator[httpx.Client]:
    """A server of the runs of a folder. The data lie in another one, which requests may name."""
    tokens = tmp_path / "tokens"
    tokens.write_text("".join(f"{role} {text}\n" for role, text in TOKENS.items()))
    tokens.chmod(0o600)
    command = [sys.executable, "-m", "steppe", "serve", "--runs", str(tmp_path / "runs"), "--data", str(scenario.parent)]
    command += [
        "--launchers",
        "nice=nice -n 5",
        "--launchers",
        "late=sh -c 'sleep 100; exit'",
        "--bind",
        "127.0.0.1:0",
        "--token-file",
        str(tokens),
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            address = process.stdout.readline().split()[-1]
            with httpx.Client(base_url=f"{address}api/v1", headers=bearer("admin") | {"Prefer": "wait=5"}, timeout=60.0) as client:
                yield client
            process.terminate()
            assert process.wait(60) == 0
        finally:
            process.kill()


def test_a_damaged_journal_keeps_no_other_run_from_being_served(scenario: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with serving(scenario, tmp_path) as client:
        assert begun(client, name="a", toml=pasture_of(scenario)).status_code == 201
    for name in ("b", "broken"):
        shutil.copytree(tmp_path / "runs/a", tmp_path / "runs" / name)
    journal = tmp_path / "runs/broken/journal.sqlite"
    journal.write_bytes(b"no journal" + journal.read_bytes()[10:])
    with serving(scenario, tmp_path) as client:
        assert [each["run"] for each in client.get("/runs").json()["runs"]] == ["a", "b"]
    assert f'The run broken is not served: "{journal}" is no journal of a run, or is damaged' in capfd.readouterr().err


def test_a_run_that_cannot_be_opened_is_named_and_stops_no_server(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    for name in ("held", "newer", "closed"):
        (tmp_path / name).mkdir()
        (tmp_path / name / RUN_FILE).touch()
    with closing(Journal(tmp_path / "newer/journal.sqlite")) as journal:
        journal._base.execute("UPDATE run SET schema = 99")
    (tmp_path / "closed/server.lock").mkdir()  # as a folder whose files are not to be written
    runs = Runs("here", durable=False, folder=tmp_path)
    with held(tmp_path / "held", "another address"):
        asyncio.run(runs.begin_all())
    runs.close()
    assert not runs.open
    told = {record.args[0]: str(record.args[1]) for record in caplog.records if isinstance(record.args, tuple)}
    assert "is served already, by process" in told["held"]
    assert "has version 99" in told["newer"]
    assert "Is a directory" in told["closed"]


def pasture_of(scenario: Path) -> str:
    """A run file whose data lie beside that of the scenario."""
    return RUN.replace('"mask.zarr"', f'"{scenario.parent}/mask.zarr"').replace('"weather.zarr"', f'"{scenario.parent}/weather.zarr"')


def begun(client: httpx.Client, **content: Any) -> httpx.Response:
    answer = client.post("/runs", json=content, headers={"Idempotency-Key": content.pop("key", uuid.uuid4().hex)})
    documented("POST", str(answer.request.url), answer)
    return answer


def stepped(client: httpx.Client, run: str, steps: int) -> dict[str, Any]:
    for _ in range(1200):  # the kernel may have to be compiled
        answer = client.post(f"/runs/{run}/step", json={"steps": steps}, headers={"Idempotency-Key": f"k{steps}"})
        assert answer.status_code in (200, 202) or answer.json()["code"] == "engine-recovering", answer.text
        if answer.status_code == 200:
            found: dict[str, Any] = answer.json()
            return found
        time.sleep(0.1)
    raise AssertionError(answer.text)


def test_people_begin_runs_and_end_them(scenario: Path, tmp_path: Path) -> None:
    code, folder = scenario.read_text(), tmp_path / "runs"
    assert "bucket.py" in code
    pasture = pasture_of(scenario)
    with serving(scenario, tmp_path) as client:
        assert begun(client, name="a", toml=code).json()["code"] == "path-foreign"
        for name, launcher in (("a", ""), ("b", "nice")):
            said = {"toml": pasture} if name == "a" else {"run": json.loads(json.dumps(tomllib.loads(pasture), default=str))}
            answer = begun(client, name=name, launcher=launcher, **said)
            assert answer.status_code == 201, answer.text
            assert answer.headers["location"] == f"/api/v1/runs/{name}"
        assert begun(client, name="a", toml=pasture).json()["code"] == "name-taken"
        assert begun(client, name="c", toml=pasture, launcher="rm").json()["allowed"] == ["nice", "late"]
        assert begun(client, name="c", toml=pasture.replace("1990-06-05", "2090-06-05")).json()["code"] == "bad-run"
        assert begun(client, name="c", toml=pasture.replace("grid", "gird")).json()["code"] == "bad-run"
        assert begun(client, name="c").json()["code"] == "bad-field"
        assert begun(client, name="../c", toml=pasture).json()["code"] == "bad-field"
        for own in ("server.tokens", "server.sessions", "Server.lock"):
            assert begun(client, name=own, toml=pasture).json()["detail"].startswith(f'The name "{own}" begins with "server."')
        assert sorted(path.name for path in folder.iterdir() if path.name != "server.lock") == ["a", "b"]
        assert [each["run"] for each in client.get("/runs").json()["runs"]] == ["a", "b"]
        assert (stepped(client, "a", 3)["target"], stepped(client, "b", 5)["target"]) == (3, 5)
        with client.stream("GET", "/runs/a/events-stream") as news:
            lines = news.iter_lines()
            assert "event: info" in lines
            assert client.delete("/runs/a?keep=data").json()["state"] == "archived"
            for _ in lines:  # it ends with the run
                pass
        assert client.get("/runs/a").status_code == 404
        assert client.get("/runs/b").json()["scenarios"][0]["step"] == 5
        again = [sys.executable, "-m", "steppe", "serve", "--runs", str(folder)]
        other = subprocess.run(again, capture_output=True, text=True, check=False)
        assert (other.returncode, "is served already" in other.stderr) == (2, True), other.stderr
    assert json.loads((folder / "a" / "status.json").read_text())["scenarios"][0]["step"] == 3
    with serving(scenario, tmp_path) as client:
        assert [each["run"] for each in client.get("/runs").json()["runs"]] == ["b"]
        taken = begun(client, name="a", toml=pasture).json()  # what it wrote is there
        assert (taken["code"], taken["detail"].partition(":")[0]) == ("name-taken", 'A run "a" is not served but its folder is there')
        assert stepped(client, "b", 1)["target"] == 6


def test_a_run_that_still_starts_is_ended_at_once(scenario: Path, tmp_path: Path) -> None:
    pasture = pasture_of(scenario)
    folder = tmp_path / "runs" / "a"

    def engines() -> list[str]:
        return [path.parent.name for path in Path("/proc").glob("[0-9]*/cmdline") if f"engine\0{folder}\0".encode() in _read(path)]

    with serving(scenario, tmp_path) as client:
        assert begun(client, name="a", toml=pasture, launcher="late").status_code == 201
        wait_for(engines, 20.0)
        assert client.get("/runs/a").json()["state"] == "starting"
        assert client.delete("/runs/a?keep=data").status_code == 202
        wait_for(lambda: not engines(), 4.0)
        wait_for((folder / "server.ended").exists, 4.0)
        assert client.get("/runs").json()["runs"] == []


def _read(path: Path) -> bytes:
    with suppress(OSError):  # it has ended
        return path.read_bytes()
    return b""
