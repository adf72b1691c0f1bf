"""A server of a small run in a process of its own, and its page in a browser."""

import json
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Self

import httpx
import numpy as np
from playwright.sync_api import ConsoleMessage, Locator, Page, expect

from steppe.api import decode
from tests.server.asking import TOKENS

WEST, NORTH, SIZE, ROWS, COLUMNS = 142.875, -19.875, 0.25, 14, 11  # of the grid of `tests.scenario`
PATIENCE = 60.0  # [s]


class House:
    """`steppe serve`, which may be killed and started again at the same port."""

    def __init__(self, run_file: Path, *more: str, port: int = 0) -> None:
        self._run_file, self._more, self.port = run_file, more, port
        self._keys = 0
        self.process: subprocess.Popen[str] | None = None
        self.address = ""

    @property
    def folder(self) -> Path:
        """That holds the run's."""
        return self._run_file.parent

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self, known: bool = True) -> None:
        """Starts the server and, unless nothing is to be `known`, waits until its engine has said what the run is."""
        tokens = self._run_file.parent / "tokens"
        tokens.write_text("".join(f"{role} {text}\n" for role, text in TOKENS.items()))
        tokens.chmod(0o600)
        words = ["serve", str(self._run_file), "--bind", f"127.0.0.1:{self.port}", "--token-file", str(tokens), *self._more]
        self.process = subprocess.Popen([sys.executable, "-m", "steppe", *words], stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        self.address = self.process.stdout.readline().split()[-1]
        self.port = int(re.findall(r":([0-9]+)/", self.address)[0])
        if known:
            wait_for(lambda: self.get("/variables").status_code == 200)

    def stop(self, how: int = signal.SIGTERM) -> None:
        """Ends the server."""
        if self.process is None:
            return
        with self.process as process:  # closes its pipe
            self.process = None
            process.send_signal(how)
            try:
                process.wait(PATIENCE)
            finally:
                process.kill()

    # ---- what others do to the run while somebody looks at the page
    def _ask(self, method: str, path: str, **more: Any) -> httpx.Response:
        self._keys += 1
        headers = {"Authorization": f"Bearer {TOKENS['admin']}", "Prefer": "wait=5", "Idempotency-Key": f"{time.time_ns()}-{self._keys}"}
        return httpx.request(method, f"{self.address}api/v1/runs/out{path}", headers=headers, timeout=PATIENCE, **more)

    def get(self, path: str) -> httpx.Response:
        """GET of something of the run."""
        return self._ask("GET", path)

    def order(self, path: str, content: dict[str, Any] | None = None, method: str = "POST") -> dict[str, Any]:
        """An order of another person, carried out; one with a speed or on a date is on its way."""
        answer = self._ask(method, path, json=content or {}) if method == "POST" else self._ask(method, path)
        assert answer.status_code < 300, answer.text
        found: dict[str, Any] = answer.json()
        if "speed" not in (content or {}) and not isinstance((content or {}).get("when"), dict):
            wait_for(lambda: self._over(found))
        return found

    def _over(self, order: dict[str, Any]) -> bool:
        """Whether an order is not waited for any more: the server answers after some seconds, come what may."""
        if order.get("state") in ("queued", "running"):
            order |= self.get(f"/operations/{order['id']}").json()
        return order.get("state") not in ("queued", "running")

    def info(self) -> dict[str, Any]:
        """The run as it stands."""
        found: dict[str, Any] = self.get("").json()
        return found

    def main(self) -> dict[str, Any]:
        """Where main stands."""
        found: list[dict[str, Any]] = self.info()["scenarios"]
        return next(each for each in found if each["name"] == "main")

    def log(self) -> list[dict[str, Any]]:
        """The journal."""
        return [json.loads(line) for line in self.get("/log").text.splitlines()]

    def value(self, variable: str, row: int, column: int, scenario: str = "main") -> float:
        """The value of a cell."""
        content = self.get(f"/data/{variable}?scenario={scenario}&format=raw").content
        return float(np.asarray(decode(content)[1])[row, column])

    def begin_anew(self) -> None:
        """Main at its initial state, and no other scenario that goes on."""
        for each in self.info()["scenarios"]:
            if each["name"] != "main" and "@" not in each["name"]:
                self.order(f"/scenarios/{each['name']}", method="DELETE")
        for kind in ("triggers", "events"):
            for each in self.get(f"/{kind}").json()[kind]:
                self.order(f"/{kind}/{each['id']}", method="DELETE")
        self.order("/restart")
        wait_for(lambda: self.main()["step"] == 0)


def wait_for(condition: Callable[[], object], seconds: float = PATIENCE) -> None:
    """Waits until something is so."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "It did not become so."
        time.sleep(0.02)


class Opened:
    """A page of a house. complaints: what went wrong in it; asked: the addresses that it asked for."""

    def __init__(self, page: Page, house: House) -> None:
        self.page, self.house = page, house
        self.complaints: list[str] = []
        self.asked: list[str] = []
        self.frames = 0  # maps that came
        self.expected: list[str] = []  # parts of complaints that a test provokes
        page.on("pageerror", lambda error: self._complain(f"{error}"))
        page.on("console", self._heard)
        page.on("request", lambda request: self.asked.append(request.url))
        page.on("websocket", lambda socket: socket.on("framereceived", self._received))

    def _received(self, content: str | bytes) -> None:
        self.frames += isinstance(content, bytes)

    def _heard(self, message: ConsoleMessage) -> None:
        if message.type == "error":
            self._complain(message.text)

    def _complain(self, text: str) -> None:
        if not any(part in text for part in self.expected):
            self.complaints.append(text)

    def rest(self) -> None:
        """Waits until nothing has been asked for a second."""
        known, until = -1, time.monotonic() + PATIENCE
        while known != len(self.asked):
            assert time.monotonic() < until, f"the page asks without end: {self.asked[-3:]}"
            known = len(self.asked)
            self.page.wait_for_timeout(1000)

    def open(self, role: str = "steer", fragment: str = "", address: str = "") -> None:
        """Opens it with a token and waits for the first map."""
        self.page.goto("about:blank")  # another fragment alone would open nothing anew
        self.page.goto(f"{address or self.house.address}#token={TOKENS[role]}{fragment}")
        self.wait("performance.getEntriesByName('first-map').length > 0")
        expect(self.chip).to_contain_text("Paused")

    def wait(self, expression: str, seconds: float = PATIENCE) -> None:
        """Waits until an expression of JavaScript is true."""
        wait_for(lambda: self.page.evaluate(f"() => {expression}"), seconds)  # the page lets nobody else compile a text

    @property
    def chip(self) -> Locator:
        """The state of the run in words."""
        return self.page.locator("#chip")

    def press(self, *keys: str) -> None:
        """Presses keys one after the other."""
        for key in keys:
            self.page.keyboard.press(key)

    def pixel(self, row: float, column: float, map_number: int = 0, maps: int = 1) -> tuple[float, float]:
        """Where the middle of a cell is in the window while the whole grid is in view, with a margin."""
        box = self.page.locator("#map").bounding_box()
        assert box is not None
        width, height = box["width"] / maps, box["height"]
        narrowing = np.cos(np.deg2rad(NORTH - ROWS * SIZE / 2))
        zoom = 0.93 * min(width / (COLUMNS * SIZE * narrowing), height / (ROWS * SIZE))
        x = box["x"] + width * (map_number + 0.5) + (column + 0.5 - COLUMNS / 2) * SIZE * narrowing * zoom
        y = box["y"] + height / 2 + (row + 0.5 - ROWS / 2) * SIZE * zoom
        return float(x), float(y)

    def point(self, row: int, column: int, map_number: int = 0, maps: int = 1) -> None:
        """Points at a cell."""
        self.page.mouse.move(*self.pixel(row, column, map_number, maps))

    def colours(self, row: int, column: int, spread: int = 0) -> list[tuple[int, int, int, int]]:
        """What is drawn in the middle of a cell, red green blue opacity; with `spread`, of a square of so many pixels around it."""
        box = self.page.locator("#map").bounding_box()
        assert box is not None
        x, y = self.pixel(row, column)
        side = 2 * spread + 1
        found = self.page.evaluate(
            """([x, y, side, height]) => {
                steppe.map.timed(); // what is drawn is gone with the next picture of the browser
                const gl = document.querySelector("#field").getContext("webgl2");
                const bytes = new Uint8Array(4 * side * side);
                gl.readPixels(x, height - 1 - y - side + 1, side, side, gl.RGBA, gl.UNSIGNED_BYTE, bytes);
                return [...bytes];
            }""",
            [round(x - box["x"]) - spread, round(y - box["y"]) - spread, side, round(box["height"])],
        )
        return [(found[k], found[k + 1], found[k + 2], found[k + 3]) for k in range(0, len(found), 4)]

    def variable(self, name: str) -> None:
        """Chooses the variable that is shown, by the keyboard."""
        self.press("v")
        self.page.keyboard.type(name)
        self.press("Enter")

    def readout(self) -> dict[str, str]:
        """What is told of the cell under the pointer."""
        terms: Sequence[str] = self.page.locator("#readout dt").all_inner_texts()
        return dict(zip(terms, self.page.locator("#readout dd").all_inner_texts(), strict=True))
