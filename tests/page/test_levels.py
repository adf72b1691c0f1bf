"""Levels on the page: one selector, in the link too, and the profile of a cell that is followed."""

from collections.abc import Iterator

import numpy as np
import pytest
from playwright.sync_api import BrowserContext, expect

from tests.engine.test_levels import MODEL
from tests.page.house import House, Opened
from tests.page.test_beside import agrees
from tests.server.test_levels import NO_EVENT


@pytest.fixture(scope="module")
def column(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    """A server of a gas on three levels."""
    folder = tmp_path_factory.mktemp("column")
    (folder / "column.py").write_text(MODEL)
    (folder / "run.toml").write_text(NO_EVENT)
    with House(folder / "run.toml") as house:
        yield house


def test_levels_are_looked_at_one_by_one_and_a_pin_has_a_profile(context: BrowserContext, column: House) -> None:
    opened = Opened(context.new_page(), column)
    opened.open()
    page = opened.page
    column.order("/step", {"steps": 6})
    opened.wait("steppe.store.now.shown[0]?.variable === 'gas[0]' && steppe.store.now.shown[0].step === 6")
    level = page.get_by_label("Level", exact=True)
    expect(level).to_have_value("gas[0]")
    assert level.locator("option").all_inner_texts() == ["1000 hPa", "850 hPa", "500 hPa"]
    assert agrees(opened, "frames[0]", "gas[0]")
    expect(page.locator(".title")).to_contain_text("Gas, 1000 hPa")
    lowest = page.evaluate("() => steppe.store.now.ranges['gas[0]']")
    level.select_option("gas[2]")
    opened.wait("steppe.store.now.shown[0]?.variable === 'gas[2]'")
    assert agrees(opened, "frames[0]", "gas[2]")
    assert page.evaluate("() => steppe.store.now.ranges['gas[2]']") != lowest
    opened.wait("location.hash.includes('gas%5B2%5D')")

    # another variable keeps the level, one without levels hides the choice
    page.evaluate("() => steppe.store.look({variable: 'flow[2]'})")
    expect(level).to_have_value("flow[2]")
    page.evaluate("() => steppe.store.look({variable: 'ground'})")
    expect(level).to_be_hidden()
    page.evaluate("() => steppe.store.look({variable: 'gas[1]'})")
    opened.wait("steppe.store.now.shown[0]?.variable === 'gas[1]'")

    page.locator("#map").focus()
    opened.press("ArrowRight", "Enter")
    opened.wait("steppe.store.now.pins.length === 1")
    place = ",".join(map(str, page.evaluate("() => steppe.store.now.pins[0].place")))
    profile = page.get_by_role("img", name="Profile")
    cell = [np.format_float_positional(np.float32(line[-1]), trim="-") for line in column.get(f"/series/gas?at={place}").json()["values"]]
    said = "; ".join(f"{value} at {label}" for value, label in zip(cell, ("1000 hPa", "850 hPa", "500 hPa"), strict=True))
    expect(profile).to_have_attribute("aria-label", f"Profile of Gas: {said}")
    assert opened.complaints == []

    opened.wait("location.hash.includes('gas%5B1%5D') && location.hash.includes('pins=')")  # it is written twice a second
    page.reload()
    opened.wait("steppe.store?.now.shown[0]?.variable === 'gas[1]'")
    expect(level).to_have_value("gas[1]")
    expect(profile).to_be_visible()
