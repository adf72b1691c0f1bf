"""The page in a real browser on a run that goes on: the maps that it draws, and what that costs the run.

Its browser runs where the server does, beside the engine's processor, and draws by software where there is no other way.
"""

import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from playwright.sync_api import Error, Page, sync_playwright

from benchmarks.figures import Figure, MissingPeer
from benchmarks.programs.server_program import TOKEN
from benchmarks.rounds import alternate, measured, ratio

if TYPE_CHECKING:
    from benchmarks.suites.live import Served

RATE = 60  # steps of the run, and maps of the page, a second at most
SHOWN = "variable=green_leaf"
WINDOW = {"width": 1280, "height": 800}
PACED, QUICK_PACED = 300, 120  # steps of a round
UNPACED, QUICK_UNPACED = 6000, 600
SECONDS = 3.0  # of a round of maps
COUNTED = """
    globalThis.maps = 0;
    for (const name of ["texImage2D", "texSubImage2D"]) {
        const put = WebGL2RenderingContext.prototype[name];
        WebGL2RenderingContext.prototype[name] = function (...given) {
            maps += given.includes(this.UNSIGNED_SHORT); // a map that was not drawn before
            return put.apply(this, given);
        };
    }
"""
BARE = """(seconds) => new Promise((tell) => {
    const begin = performance.now();
    let frames = 0;
    const next = () => {
        frames += 1;
        if (performance.now() - begin < 1000 * seconds) requestAnimationFrame(next);
        else tell(1000 * frames / (performance.now() - begin));
    };
    requestAnimationFrame(next);
})"""
RENDERER = """() => {
    const gl = document.createElement("canvas").getContext("webgl2");
    const named = gl?.getExtension("WEBGL_debug_renderer_info");
    return gl ? String(gl.getParameter(named ? named.UNMASKED_RENDERER_WEBGL : gl.RENDERER)) : "";
}"""


def figures(run: "Served", rounds: int, quick: bool) -> list[Figure]:
    """Medians of rounds that alternate."""
    with _page() as page:
        ways = (("at 60/s", QUICK_PACED if quick else PACED, RATE), ("at full speed", QUICK_UNPACED if quick else UNPACED, None))
        slowed = [each for way in ways for each in _slowing(run, page, rounds, *way)]
        return [*_maps(run, page, rounds), *slowed]


def _maps(run: "Served", page: Page, rounds: int) -> list[Figure]:
    name = f"the page on a run at {RATE} steps/s"
    _close(page)
    renderer = page.evaluate(RENDERER)
    samples: dict[str, list[float]] = {"page": [], "bare": []}
    taken = []
    for number in range(rounds + 1):
        _open(run, page)
        run.start(speed=RATE)
        page.wait_for_timeout(1000)
        before, begin, used = page.evaluate("() => maps"), time.perf_counter(), _used(run.server.pid)
        page.wait_for_timeout(1000 * SECONDS)
        drawn, seconds = page.evaluate("() => maps") - before, time.perf_counter() - begin
        cost = (_used(run.server.pid) - used) / seconds
        run.stop()
        _close(page)
        bare = page.evaluate(BARE, SECONDS)
        if number:  # the first round warms
            samples["page"].append(drawn / seconds)
            samples["bare"].append(bare)
            taken.append(cost)
    beside = ratio(samples["page"], samples["bare"])
    software = any(word in renderer for word in ("SwiftShader", "llvmpipe", "Software"))
    how = f"drawn by software ({renderer}), no target" if software else renderer
    note = f"{beside.spread}; the browser takes {100 * np.median(taken):.0f} % of a processor; {how}"
    drawn, bare = (float(np.median(samples[which])) for which in ("page", "bare"))
    return [
        Figure(f"{name}, maps drawn", drawn, "/s", note=f"a bare loop of the same browser {bare:.3g}/s"),
        Figure(f"{name}, beside a bare loop", beside.value, "x", at_least=None if software else 0.95, note=note, samples=samples),
    ]


def _slowing(run: "Served", page: Page, rounds: int, how_fast: str, steps: int, speed: float | None) -> list[Figure]:
    used: dict[str, list[float]] = {"open": [], "alone": []}

    def stepped(which: str) -> float:
        _open(run, page) if which == "open" else _close(page)
        wall, cpu = run.step(steps, speed)
        used[which].append(cpu)
        return wall

    samples = alternate({which: measured(stepped, which) for which in used}, rounds)
    beside, cost = ratio(samples["open"], samples["alone"]), ratio(used["open"][1:], used["alone"][1:])  # the first round warms
    rates = [steps / float(np.median(samples[which])) for which in ("open", "alone")]
    note = f"{rates[0]:.4g} steps/s, alone {rates[1]:.4g}; {beside.spread}"
    name = f"the page open on a run {how_fast}"
    more = {f"cpu {which}": each[1:] for which, each in used.items()}
    return [
        # of a thread that rests most of the time the clock alone says whether it was slowed
        Figure(f"{name}, CPU of the run's thread", 100 * (cost.value - 1), "%", at_most=None if speed else 5.0, note=cost.spread),
        Figure(f"{name}, the clock of the run", 100 * (beside.value - 1), "%", at_most=5.0, note=note, samples=samples | more),
    ]


# ---- the browser -------------------------------------------------------------------------------------------------------------------------
@contextmanager
def _page() -> Iterator[Page]:
    program = os.environ.get("STEPPE_CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    if program is None:
        raise MissingPeer("There is no chromium on the PATH.")
    try:
        with sync_playwright() as playwright:
            arguments = ["--no-sandbox", "--enable-unsafe-swiftshader", "--ignore-gpu-blocklist"]
            browser = playwright.chromium.launch(executable_path=program, args=arguments)
            page = browser.new_page(viewport=WINDOW)
            page.add_init_script(COUNTED)
            yield page
            browser.close()
    except Error as error:
        raise MissingPeer(f"The browser failed: {error}") from None


def _open(run: "Served", page: Page) -> None:
    """Opens the page, and waits for its first map and the coastline behind it."""
    page.goto("about:blank")  # another fragment alone would open nothing anew
    page.goto(f"{run.address}/#token={TOKEN}&{SHOWN}")
    for condition in ("performance.getEntriesByName('first-map').length > 0", "steppe.map.coast.length > 0"):
        while not page.evaluate(f"() => {condition}"):
            page.wait_for_timeout(50)
    page.wait_for_timeout(500)


def _close(page: Page) -> None:
    page.goto("about:blank")
    page.wait_for_timeout(500)


def _used(server: int) -> float:
    """CPU seconds of the browser and of what drives it: of all processes that began with this one, but for the server's."""
    parents: dict[int, int] = {}
    seconds: dict[int, float] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # it has ended
            words = path.read_text().rpartition(")")[2].split()
            process = int(path.parent.name)
            parents[process], seconds[process] = int(words[1]), (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")
    mine, found = os.getpid(), set[int]()
    for process in parents:
        line = [process]
        while line[-1] in parents and line[-1] != mine:
            line.append(parents[line[-1]])
        if line[-1] == mine and server not in line:
            found |= {*line[:-1]}
    return sum(seconds[process] for process in found)
