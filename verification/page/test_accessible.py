"""What axe-core finds in every state of the page: light, dark and in forced colours; wide, narrow and at a zoom of 200 %."""

import os
import signal
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect
from tests.client.test_gaussian import written
from tests.page.house import House, Opened

AXE = Path(__file__).parents[2] / "web" / "node_modules" / "axe-core" / "axe.min.js"


def violations(page: Page) -> list[str]:
    """What is wrong with a page, in words."""
    page.evaluate(AXE.read_text())
    result: dict[str, Any] = page.evaluate("async () => await axe.run(document, {resultTypes: ['violations']})")
    return [f"{each['id']}: {node['target']} {node['failureSummary'][:200]}" for each in result["violations"] for node in each["nodes"]]


WINDOWS: dict[str, dict[str, Any]] = {
    "light": {"viewport": {"width": 1440, "height": 900}, "color_scheme": "light"},
    "dark and narrow": {"viewport": {"width": 390, "height": 844}, "color_scheme": "dark"},
    "forced colours": {"viewport": {"width": 1440, "height": 900}, "color_scheme": "dark", "forced_colors": "active"},
    "at 200 %": {"viewport": {"width": 720, "height": 450}, "device_scale_factor": 2, "color_scheme": "light"},
}


@pytest.mark.parametrize("window", WINDOWS)
def test_axe_finds_nothing_in_every_state_and_window(browser: Browser, run: House, window: str) -> None:
    context = browser.new_context(**WINDOWS[window], reduced_motion="reduce")
    wide = WINDOWS[window]["viewport"]["width"] > 1100
    opened, seen = Opened(context.new_page(), run), {}
    page = opened.page

    def look(state: str) -> None:
        page.wait_for_timeout(250)
        seen[state] = violations(page)

    run.order("/step", {"steps": 30})
    opened.open()
    look("paused")
    page.mouse.click(*opened.pixel(7, 3)) if wide else None
    look("a cell pinned")
    opened.press("v")
    look("choosing a variable")
    opened.press("Escape", "c")
    look("choosing colours")
    opened.press("Escape")
    for key, name in (("?", "help"), ("y", "sharing"), ("x", "saving"), ("n", "stepping so far")):
        opened.page.locator("#map").focus()
        opened.press(key)
        look(name)
        opened.press("Escape")
    opened.page.locator("#map").focus()
    opened.press("l")
    look("a fixed range")
    page.click("#tab-steer")
    page.fill("#parameter-filter", "capacity")
    page.click(".row-head[data-variable=capacity]")
    page.fill("#change-capacity-value", "nothing")
    opened.press("Enter")
    look("an error beside its field")
    page.fill("#change-capacity-value", "90")
    opened.press("Enter")
    expect(page.locator(".preview")).to_be_visible()
    look("a change previewed")
    run.order("/set", {"variable": "capacity", "value": 100.0, "when": "now"})
    opened.press("Enter")
    expect(page.locator(".stale-note:not([hidden])")).to_be_visible()
    look("a change that is stale")
    page.get_by_role("button", name="Drop").last.click()
    page.get_by_text("New trigger").click()
    run.order("/triggers", {"expression": "mean(water) < 0", "action": "message"})
    look("triggers")
    page.click("#tab-scenarios")
    run.order("/scenarios", {"name": "dry"})
    expect(page.locator("[role=treeitem]")).to_have_count(2)
    look("scenarios")
    page.locator("[role=treeitem] input").nth(1).click()
    look("three maps")
    page.locator("#map").focus()
    opened.press("4")
    look("two scenarios under a line")
    page.evaluate("() => steppe.store.look({other: 'runoff', maps: 5})")
    look("two variables")
    opened.press("3")
    opened.press(",")
    expect(page.get_by_role("group", name="The date in view")).to_be_visible()
    look("a past date")
    page.get_by_role("button", name="Back to now").click()
    page.click("#tab-log")
    page.locator(".log-row .row-head").first.click()
    look("the log")
    run.order("/step", {"steps": 300, "speed": 10})
    expect(opened.chip).to_contain_text("Running")
    look("running")
    run.order("/pause")
    os.kill(run.info()["engine"]["pid"], signal.SIGKILL)
    look("the engine away")
    run.stop(signal.SIGKILL)
    expect(opened.chip).to_contain_text("Connection lost")
    look("the server away")
    run.start()
    viewing = Opened(context.new_page(), run)
    viewing.open("view")
    viewing.page.click("#tab-steer")
    seen["looking alone"] = violations(viewing.page)
    context.close()
    wrong = {word: [state for state, words in seen.items() if word in words] for words in seen.values() for word in words}
    assert not wrong, "\n".join(f"{word}\n    in: {', '.join(states)}" for word, states in wrong.items())


@pytest.mark.parametrize("window", WINDOWS)
def test_axe_finds_nothing_on_a_globe(browser: Browser, tmp_path: Path, window: str) -> None:
    context = browser.new_context(**WINDOWS[window], reduced_motion="reduce")
    with House(written(tmp_path)) as house:
        opened = Opened(context.new_page(), house)
        opened.open()
        globe = opened.page.get_by_role("switch", name="Globe")
        if not globe.is_visible():  # a narrow page folds its choices
            opened.page.click("#menu")
        globe.click()
        expect(globe).to_have_attribute("aria-checked", "true")
        seen = {"the globe": violations(opened.page)}
        opened.page.locator("#map").focus()
        opened.press("ArrowRight", "Enter", "?")
        seen["its help"] = violations(opened.page)
        wide, shown = opened.page.evaluate("[document.documentElement.scrollWidth, document.documentElement.clientWidth]")
        assert wide <= shown
        assert opened.complaints == []
    context.close()
    assert not any(seen.values()), seen
