"""How the engine of a served run ends: it says why, the server shows it, and what each other engine would meet is not tried again."""

import hashlib
import os
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import numpy as np

from tests.server.asking import documented
from tests.server.test_serve import RUN, ordered, served


def failed(client: httpx.Client, seconds: float = 60.0) -> dict[str, Any]:
    """The run, once it has failed."""
    return state_of(client, "failed", seconds)


def state_of(client: httpx.Client, state: str, seconds: float = 60.0) -> dict[str, Any]:
    """The run, once it is in a state."""
    end = time.monotonic() + seconds
    while (found := client.get(RUN).json())["state"] != state:
        assert time.monotonic() < end, found
        time.sleep(0.05)
    return dict(found)


def ready(client: httpx.Client) -> int:
    """The status of /readyz."""
    return httpx.get(f"{str(client.base_url).partition('/api')[0]}/readyz", timeout=60.0).status_code


def engines(folder: Path) -> list[tuple[str, str]]:
    """Status and last lines of each engine of a run, as its journal has them."""
    with closing(sqlite3.connect(folder / "journal.sqlite")) as base:
        return base.execute("SELECT status, log FROM engine ORDER BY epoch").fetchall()


def flip(path: Path, at: int) -> None:
    content = bytearray(path.read_bytes())
    content[at] ^= 0x10
    path.write_bytes(content)


def newest(folder: Path) -> Path:
    return max(each for each in (folder / "checkpoints").iterdir() if each.is_dir())


def test_a_flipped_byte_in_a_shard_is_named_at_once_and_not_tried_again(scenario: Path) -> None:
    folder = scenario.parent / "out"
    with served(scenario) as client:
        ordered(client, "/step", "a", {"steps": 40})
    shard = folder / "output.zarr" / "water" / "c" / "0" / "0"
    flip(shard, shard.stat().st_size // 2)
    with served(scenario) as client:
        problem = failed(client)["problem"]
        assert (problem["code"], problem["cause"], problem["exit_status"]) == ("engine-failed", "damaged", "exit code 1")
        assert 'water/c/0/0" is damaged' in problem["text"]
        assert "died" not in problem["text"]
        assert problem["text"] in problem["log"][-1]
        refused = client.post(f"{RUN}/step", json={"steps": 1}, headers={"Idempotency-Key": "b"})
        assert (refused.status_code, refused.json()["detail"]) == (503, problem["text"])
        assert ready(client) == 503
        (_, (status, log)) = engines(folder)
        assert (status, problem["text"] in log) == ("exit code 1", True)
        flip(shard, shard.stat().st_size // 2)  # the file is put back
        started = client.post(f"{RUN}/start", json={}, headers={"Idempotency-Key": "c"})
        assert started.status_code == 202, started.text
        state_of(client, "ready")
        assert ordered(client, "/step", "d", {"steps": 1})["target"] == 41


def test_weather_that_moved_away_fails_a_run_that_was_served_and_leaves_its_server(scenario: Path) -> None:
    weather = scenario.parent / "weather.zarr"
    with served(scenario) as client:
        ordered(client, "/step", "a", {"steps": 40})
        weather.rename(scenario.parent / "away.zarr")
        os.kill(client.get(RUN).json()["engine"]["pid"], signal.SIGKILL)
        assert "weather.zarr" in failed(client)["problem"]["text"]
        time.sleep(0.5)
        (scenario.parent / "away.zarr").rename(weather)
        assert client.post(f"{RUN}/start", json={}, headers={"Idempotency-Key": "b"}).status_code < 300
        state_of(client, "ready")
        assert ordered(client, "/step", "c", {"steps": 2})["state"] == "done"


def test_a_missing_upload_is_named_at_once(scenario: Path) -> None:
    folder = scenario.parent / "out"
    with served(scenario) as client:
        ordered(client, "/step", "a", {"steps": 3})
        cells = len(client.get(f"{RUN}/data/water?packed=1&format=csv").text.splitlines()) - 1
        content = np.full(cells, 7.0, "<f4").tobytes()
        digest = hashlib.sha256(content).hexdigest()
        put = client.put(f"{RUN}/uploads/{digest}", content=content, headers={"Content-Type": "application/octet-stream"})
        assert put.status_code < 300, put.text
        answer = client.post(
            f"{RUN}/set", json={"variable": "water", "upload": digest, "when": {"step": 8}}, headers={"Idempotency-Key": "b"}
        )
        assert answer.status_code == 202, answer.text
        (folder / "uploads" / digest).unlink()
        client.post(f"{RUN}/step", json={"steps": 10}, headers={"Idempotency-Key": "c"})
        problem = failed(client)["problem"]
        assert (problem["cause"], digest in problem["text"]) == ("damaged", True)
        assert len(engines(folder)) == 1
        ordered(client, "/scenarios/main/rewind", "d", {"step": 3})
        state_of(client, "ready")


def test_a_flipped_byte_in_the_newest_checkpoint_costs_an_earlier_state_and_says_so(scenario: Path) -> None:
    with served(scenario) as client:
        for number in range(3):
            ordered(client, "/step", f"s{number}", {"steps": 10})
            ordered(client, "/checkpoints", f"c{number}", {})
    arrays = newest(scenario.parent / "out") / "arrays.bin"
    flip(arrays, arrays.stat().st_size // 2)
    with served(scenario) as client:
        assert ordered(client, "/step", "e", {"steps": 1})["target"] == 31
        assert client.get(RUN).json()["deaths"] == 0


def test_a_damaged_journal_is_no_defect_and_the_advice_says_what_goes_with_it(scenario: Path) -> None:
    folder = scenario.parent / "out"
    with served(scenario) as client:
        ordered(client, "/step", "a", {"steps": 3})
        ordered(client, "/set", "b", {"variable": "water", "value": 5.0})
    path = folder / "journal.sqlite"
    with closing(sqlite3.connect(path)) as base:
        base.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    flip(path, path.read_bytes().index(b'"operation"'))
    command = [sys.executable, "-m", "steppe", "serve", str(scenario), "--bind", "127.0.0.1:0"]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (ended.returncode, ended.stderr.count("\n")) == (1, 1), ended.stderr
    assert f'"{path}" is no journal of a run, or is damaged' in ended.stderr
    assert "defect" not in ended.stderr
    assert "all orders and all other scenarios are gone with it" in ended.stderr
    path.unlink()  # as the advice says
    with served(scenario) as client:
        while client.get(RUN).json()["scenarios"][0]["step"] != 3:
            time.sleep(0.1)
        assert ordered(client, "/step", "c", {"steps": 1})["target"] == 4


def test_a_stopped_engine_is_not_waited_for_by_who_looks(scenario: Path) -> None:
    with served(scenario) as client:
        ordered(client, "/step", "a", {"steps": 10})
        kept = client.get(f"{RUN}/data/water")
        pid = client.get(RUN).json()["engine"]["pid"]
        os.kill(pid, signal.SIGSTOP)
        try:
            begin = time.monotonic()
            assert client.get(f"{RUN}/data/water?packed=1").status_code == 503  # asked before anybody knows
            assert time.monotonic() - begin < 6
            begin = time.monotonic()
            refused = client.get(f"{RUN}/data/water?packed=1")
            assert time.monotonic() - begin < 1
            assert (refused.status_code, refused.json()["code"], refused.headers["retry-after"]) == (503, "engine-recovering", "1")
            documented("GET", str(refused.request.url), refused)
            assert client.get(f"{RUN}/data/water").content == kept.content
            assert client.get(RUN).json()["silent"] is True
        finally:
            os.kill(pid, signal.SIGCONT)
        while client.get(RUN).json()["silent"]:
            time.sleep(0.05)
        assert client.get(f"{RUN}/data/water?packed=1").status_code == 200
        assert client.get(RUN).json()["deaths"] == 0
