"""Engines and servers die, machines sleep, proxies stand between: the page goes on with what is so then."""

import os
import signal
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, expect
from tests.page.house import House, Opened, wait_for

from verification.page.proxy import Proxy

CHIPS = """
    globalThis.chips = [];
    addEventListener("DOMContentLoaded", () => {
        const chip = document.querySelector("#chip");
        const note = new MutationObserver(() => chips.push(chip.textContent));
        if (chip) note.observe(chip, {subtree: true, childList: true, characterData: true});
    });
"""


@pytest.fixture
def opened(context: BrowserContext, run: House) -> Opened:
    context.add_init_script(CHIPS)
    opened = Opened(context.new_page(), run)
    run.order("/step", {"steps": 5})
    opened.open()
    opened.expected += ["WebSocket", "ERR_CONNECTION", "503", "401"]
    return opened


def test_engine_killed_map_stays_and_comes_back(opened: Opened) -> None:
    house = opened.house
    before = opened.colours(7, 3)
    assert before[0][3] == 255
    engine = house.info()["engine"]
    os.kill(engine["pid"], signal.SIGKILL)
    for _ in range(20):  # nothing of the map goes while the engine is away
        assert opened.colours(7, 3) == before
        opened.page.wait_for_timeout(50)
    wait_for(lambda: (house.info()["engine"] or {}).get("epoch", 0) > engine["epoch"])
    expect(opened.chip).to_contain_text("Paused at 14 Jan 1990")
    assert any("Engine died" in text for text in opened.page.evaluate("() => chips"))
    assert opened.colours(7, 3) == before
    opened.press(".")
    expect(opened.page.locator("#titles")).to_contain_text("15 Jan 1990")
    assert opened.complaints == []


def test_server_restarted_page_reconnects(opened: Opened) -> None:
    house = opened.house
    before = opened.colours(7, 3)
    house.stop(signal.SIGKILL)
    expect(opened.chip).to_contain_text("Connection lost, trying again")
    assert opened.colours(7, 3) == before
    expect(opened.page.locator("#map.stale")).to_have_count(1)
    expect(opened.page.locator("#map-notice")).to_contain_text("14 Jan 1990, not live")
    opened.press(".")  # what cannot be done is not done, and said
    expect(opened.page.locator("#notices")).to_contain_text("not connected")
    house.start()
    expect(opened.chip).to_contain_text("Paused at 14 Jan 1990")
    expect(opened.page.locator("#map.stale")).to_have_count(0)
    opened.press(".")
    expect(opened.page.locator("#titles")).to_contain_text("15 Jan 1990")
    assert opened.complaints == []


def test_asleep_for_an_hour_catches_up(opened: Opened) -> None:
    """The computer sleeps: its clock jumps, nothing runs, and the network has forgotten the connection."""
    house, page = opened.house, opened.page
    opened.press("0")
    page.context.set_offline(True)
    page.clock.install()
    page.clock.pause_at(page.evaluate("() => Date.now()") / 1000 + 1)
    house.order("/step", {"steps": 20})
    page.context.set_offline(False)
    page.clock.fast_forward("01:00:00")
    page.clock.resume()
    page.evaluate("() => { document.dispatchEvent(new Event('visibilitychange')); dispatchEvent(new Event('online')) }")
    expect(page.locator("#titles")).to_contain_text("3 Feb 1990")
    expect(opened.chip).to_contain_text("Paused at 3 Feb 1990")
    opened.point(7, 3)
    expect(page.locator("#readout")).to_contain_text("3 Feb 1990")


@pytest.mark.parametrize("strips", [True, False], ids=["stripping", "keeping"])
def test_works_under_stripping_and_keeping_prefix(context: BrowserContext, scenario: Path, strips: bool) -> None:
    more = ("--proxy", "127.0.0.1") if strips else ("--root-path", "/gate/steppe")
    with House(scenario, *more) as house, Proxy(house.port, "/gate/steppe", strips) as proxy:
        opened = Opened(context.new_page(), house)
        opened.open(address=f"http://127.0.0.1:{proxy.port}/gate/steppe/")
        opened.press(".")
        expect(opened.page.locator("#titles")).to_contain_text("10 Jan 1990")
        opened.press("r")
        opened.page.keyboard.type("dry")
        opened.press("Enter")
        expect(opened.page.locator("[role=treeitem]")).to_have_count(2)
        opened.press("x")
        with opened.page.expect_download() as download:
            opened.page.get_by_role("button", name="NetCDF").click()
        assert download.value.path().read_bytes()[1:4] == b"HDF"
        (cookie,) = context.cookies()
        assert cookie["path"] == "/gate/steppe"
        outside = [address for address in opened.asked if f":{proxy.port}/gate/steppe/" not in address and not address.startswith("blob:")]
        assert outside == ["about:blank"] or outside == []
        assert opened.complaints == []
