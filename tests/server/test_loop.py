"""The event loop of a served run touches no disk for a request, whichever it is: only the journal's own file, and that briefly."""

import hashlib
import json
import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import numpy as np

from steppe.server.routes import TABLE
from tests import on_disk
from tests.errors.scenario import RUN as PASTURE
from tests.server.asking import TOKENS
from tests.server.loop_watch import paths_of, watched
from tests.server.test_live_serve import engine_of, port_of
from tests.server.test_serve import RUN, served
from tests.server.viewers import viewer

tmp_path = on_disk.tmp_path  # it is found out what waits for a disk

JOURNAL = ("journal.sqlite", "journal.sqlite-wal", "journal.sqlite-shm", "journal.sqlite-journal", "journal.sqlite-refused")
BINARY = {"Content-Type": "application/octet-stream"}
CHANGE = {"variable": "water", "value": 5.0, "region": {"cells": [3, 7]}}


class Walk:
    """Asks each address of a server of the run "out"; notes by which rows of the table it was."""

    def __init__(self, client: httpx.Client, folder: Path) -> None:
        self.client, self.folder, self.walked = client, folder, set[tuple[str, str]]()

    def ask(self, method: str, path: str, *good: int, **more: Any) -> httpx.Response:
        """good: statuses that are right, a success of any kind when there are none."""
        headers = {"Idempotency-Key": uuid.uuid4().hex, **more.pop("headers", {})}
        answer = self.client.request(method, path, headers=headers, **more)
        assert answer.status_code in good or (not good and answer.is_success), f"{method} {path}: {answer.status_code} {answer.text[:500]}"
        route, _ = TABLE.find(method, answer.request.url.path)
        self.walked.add((route.method, route.path))
        return answer

    def get(self, path: str, *good: int, **more: Any) -> httpx.Response:
        return self.ask("GET", path, *good, **more)

    def post(self, path: str, content: Any = None, *good: int) -> dict[str, Any]:
        found: dict[str, Any] = self.ask("POST", path, *good, json=content or {}).json()
        return found

    def until(self, condition: Callable[[], Any]) -> Any:
        end = time.monotonic() + 120
        while not (found := condition()):
            assert time.monotonic() < end
            time.sleep(0.05)
        return found

    def ready(self) -> bool:
        return self.client.get(RUN).json()["state"] in ("ready", "finished")

    # ---- the addresses ------------------------------------------------------------------------------------------------------------------
    def server(self) -> None:
        """What is not of a run."""
        root = str(self.client.base_url).removesuffix("/api/v1/")
        for path in ("/healthz", "/readyz", "/metrics", "/problems/bad-run", "/api/v1/openapi.json", "/api/v1/whoami", "/api/v1/runs"):
            self.get(root + path)
        page = self.get(f"{root}/", 200, 503).text
        asset = page.partition('src="assets/')[2].partition('"')[0] or "none"
        self.get(f"{root}/assets/{asset}", 200, 404)
        assert self.get("/models").json()["models"]
        self.get("/models/pasture")
        cookie = self.ask("POST", "/login", json={"token": TOKENS["view"]}, headers={"Authorization": ""}).headers["set-cookie"]
        inside = {"Authorization": "", "Cookie": cookie.partition(";")[0]}
        del inside["Authorization"]
        with httpx.Client(base_url=self.client.base_url) as page_client:
            assert page_client.get(RUN, headers=inside).status_code == 200
        self.ask("POST", "/logout", json={})

    def tokens(self) -> None:
        """A token that is not known, one that was made this moment, and one in an address."""
        assert self.client.get("/whoami", headers={"Authorization": f"Bearer {'x' * 43}"}).status_code == 401
        command = [sys.executable, "-m", "steppe", "token", "new", str(self.folder), "--role", "view"]
        made = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split("\n\n")[1].strip().rpartition("token=")[2]
        new = {"Authorization": f"Bearer {made.split()[-1]}"}
        assert self.client.get(RUN, headers=new).status_code == 200
        assert self.client.get(f"{RUN}?token={made.split()[-1]}").status_code == 400
        assert self.client.get(RUN, headers=new).status_code == 401

    def looks(self) -> None:
        """What only looks."""
        for path in ("", "/variables", "/variables/water", "/grid", "/cells?box=143,-22,145,-20", "/scenarios", "/checkpoints", "/log"):
            self.get(RUN + path)
        for query in ("", "?format=npy", "?format=csv", "?format=json", "?format=netcdf", "?format=coverage-json", "?dtype=float64"):
            self.get(f"{RUN}/data/water{query}")
        for query in ("cells=3,7", "box=143,-22,145,-20", "polygon=143,-22,145,-22,145,-20", "time=step:4", "time=1990-01-11/1990-01-13"):
            self.get(f"{RUN}/data/water?{query}")
            self.get(f"{RUN}/data/water?{query}&format=csv")
        self.get(f"{RUN}/image/water.png?width=20")
        for form in ("json", "csv", "coverage-json"):
            self.get(f"{RUN}/series/water?at=143.5,-20.5&time=1990-01-11/1990-01-13&format={form}")
        self.get(f"{RUN}/fit/water")
        while self.get(f"{RUN}/film/water.mp4", 200, 202, 416).status_code == 202:
            pass
        self.get(f"{RUN}/zarr/main/zarr.json")
        for part in ("zarr.json", "c.2.0.0"):
            self.get(f"{RUN}/zarr/main/water/{part}")
        self.post(f"{RUN}/preview", CHANGE)

    def orders(self) -> None:
        """Orders of all kinds, also refused ones, and what becomes of them."""
        self.post(f"{RUN}/step", {"steps": 5})
        array = np.ones(144, "<f4").tobytes()
        name = hashlib.sha256(array).hexdigest()
        for content in (array, array, array * 10_000):
            self.ask("PUT", f"{RUN}/uploads/{hashlib.sha256(content).hexdigest()}", content=content, headers=BINARY)
        self.ask("PUT", f"{RUN}/uploads/{'0' * 64}", 422, content=array, headers=BINARY)
        self.post(f"{RUN}/set", {"variable": "water", "upload": name})
        done = self.post(f"{RUN}/set", CHANGE)["id"]
        self.post(f"{RUN}/set", {"variable": "water", "value": -1.0}, 422)
        self.ask("POST", f"{RUN}/set", 412, json=CHANGE, headers={"If-Match": '"b1.999"'})
        self.get(f"{RUN}/operations/{done}")
        with self.client.stream("GET", f"{RUN}/operations/{done}/stream") as news:
            assert any("done" in line for line in news.iter_lines())
        self.ask("DELETE", f"{RUN}/operations/{done}", 409)
        self.walked |= {("GET", f"/api/v1{RUN}/operations/{{operation}}/stream".replace(RUN, "/runs/{run}"))}
        event = self.post(f"{RUN}/events", {**CHANGE, "when": {"yearly": "07-01"}})["id"]
        trigger = self.post(f"{RUN}/triggers", {"expression": "mean(water) > -1", "action": "image", "variable": "water"})["id"]
        self.post(f"{RUN}/step", {"steps": 5})
        image = self.until(lambda: [*(self.folder / "images").glob("*.png")])[0]
        self.get(f"{RUN}/images/{image.name}")
        for kind, number in (("events", event), ("triggers", trigger)):
            assert self.get(f"{RUN}/{kind}").json()[kind]
            self.ask("DELETE", f"{RUN}/{kind}/{number}")
        self.post(f"{RUN}/checkpoints", {"pin": True})
        saved = self.until(lambda: self.get(f"{RUN}/checkpoints").json()["checkpoints"])[-1]["name"]
        self.get(f"{RUN}/checkpoints/{saved}")
        self.post(f"{RUN}/scenarios", {"name": "dry", "set": [CHANGE]})
        self.post(f"{RUN}/scenarios/dry/rewind", {"step": 3})
        self.post(f"{RUN}/scenarios/dry/rename", {"name": "wet"})
        self.ask("DELETE", f"{RUN}/scenarios/wet")
        self.post(f"{RUN}/step", {"steps": 100, "speed": 50})
        self.post(f"{RUN}/pause")
        self.post(f"{RUN}/skip", {"seq": done}, 409)

    def lines(self) -> None:
        """What stays open, and an engine that dies meanwhile and comes back."""
        with self.client.stream("GET", f"{RUN}/events-stream") as news, viewer(port_of(self.client), run="out") as one:
            assert "event: info" in news.iter_lines()
            one.watch(variable="water", bits=16, rate=60)
            one.frame()
            engine = engine_of(self.client)
            assert engine is not None
            os.kill(engine["pid"], signal.SIGKILL)
            self.until(lambda: (engine_of(self.client) or engine)["pid"] != engine["pid"])
            self.until(self.ready)
        self.walked |= {("GET", f"/api/v1/runs/{{run}}/{name}") for name in ("events-stream", "live")}
        self.ask("POST", f"{RUN}/start", json={})
        self.post(f"{RUN}/restart")

    def runs(self, data: Path) -> None:
        """Another run begins and ends; others are refused."""
        pasture = PASTURE.replace('"mask.zarr"', f'"{data}/mask.zarr"').replace('"weather.zarr"', f'"{data}/weather.zarr"')
        key = {"Idempotency-Key": "a"}
        for _ in range(2):
            self.ask("POST", "/runs", json={"name": "new", "toml": pasture}, headers=key, timeout=120)
        self.ask("POST", "/runs", 422, json={"name": "other", "toml": pasture.replace("grid", "gird")}, timeout=120)
        self.ask("POST", "/runs", 422, json={"name": "other", "run": {"x": [f"a/{number}" for number in range(50_000)]}}, timeout=120)
        self.ask("DELETE", "/runs/new?keep=data")


def test_no_request_of_any_route_touches_a_disk_on_the_loop_but_the_journal(scenario: Path, tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    runs.mkdir()
    with served(scenario, "--runs", str(runs), "--data", str(scenario.parent)) as client:
        folder = scenario.parent / "out"
        server = int((folder / "server.lock").read_text().split()[1])
        walk = Walk(client, folder)
        with watched(server) as calls:
            walk.until(walk.ready)
            walk.server()
            walk.orders()
            walk.looks()
            walk.tokens()
            walk.lines()
            walk.runs(scenario.parent)
            time.sleep(1.0)  # of what a request leaves behind
    assert walk.walked == {(route.method, route.path) for route in TABLE.routes}
    touched = [line for line in calls if any(path.name not in JOURNAL for path in paths_of(line))]
    assert touched == [], json.dumps(touched[:200], indent=1)
    assert calls, "the journal is written on the loop"
