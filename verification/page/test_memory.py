"""The page holds no more memory after ten minutes of play than after a minute. A minute of play; with `--long` ten."""

import time
from collections.abc import Callable

import pytest
from playwright.sync_api import BrowserContext, CDPSession
from tests.page.house import House, Opened

from verification.growth import growth

Measured = Callable[[str, str, float, str], None]
SHORT, LONG = 60.0, 600.0  # [s] of play
SAMPLES = 40
GROWTH = {SHORT: 10.0, LONG: 5.0}  # [%] caches fill in the first minutes


def held(session: CDPSession) -> float:
    """Bytes of the page's objects and buffers, of which it still has need."""
    session.send("HeapProfiler.collectGarbage")
    found = session.send("Runtime.getHeapUsage")
    return float(found["usedSize"] + found["backingStorageSize"])


def test_play_leaves_no_memory_behind(context: BrowserContext, run: House, measured: Measured, request: pytest.FixtureRequest) -> None:
    seconds = LONG if request.config.getoption("--long") else SHORT
    opened = Opened(context.new_page(), run)
    page = opened.page
    opened.open()
    run.order("/scenarios", {"name": "dry"})
    page.evaluate("() => steppe.store.look({scenarios: ['main', 'dry'], maps: 3})")
    for row, column in ((8, 2), (9, 5), (5, 8)):
        page.mouse.click(*opened.pixel(row, column, 0, 3))
    session = page.context.new_cdp_session(page)
    samples, frames = list[tuple[float, float]](), opened.frames
    begin = time.monotonic()
    while (now := time.monotonic() - begin) < seconds:
        if "Running" not in opened.chip.inner_text():  # at the end of the run once more from its beginning
            for name in ("main", "dry"):
                run.order("/restart", {"scenario": name})
                run.order("/step", {"scenario": name, "end": True, "speed": 60})
        page.wait_for_timeout(1000 * seconds / SAMPLES)
        if now > seconds / 5:
            samples.append((now, held(session)))
    grown = growth(samples)
    case = f"{seconds / 60:.0f} min of play, {opened.frames - frames:,} maps"
    measured(case, "memory of the page at the end [MB]", samples[-1][1] / 1e6, "")
    measured(case, "memory that the page adds after the first fifth [%]", grown, f"< {GROWTH[seconds]:g}")
    assert grown < GROWTH[seconds], samples
