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
    logarithm = page.get_by_role("switch", name="Logarithm")
    logarithm.click()
    level.select_option("gas[2]")
    opened.wait("steppe.store.now.shown[0]?.variable === 'gas[2]'")
    assert agrees(opened, "frames[0]", "gas[2]")
    assert page.evaluate("() => steppe.store.now.ranges['gas[2]']") != lowest
    opened.wait("location.hash.includes('gas%5B2%5D')")
    expect(logarithm).to_have_attribute("aria-checked", "true")  # it is the variable's

    # another variable keeps the level, one without levels hides the choice
    page.evaluate("() => steppe.store.look({variable: 'flow[2]'})")
    expect(level).to_have_value("flow[2]")
    page.evaluate("() => steppe.store.look({variable: 'ground'})")
    expect(level).to_be_hidden()
    page.evaluate("() => steppe.store.look({variable: 'ground', other: 'flow[2]', maps: 5})")
    expect(page.get_by_label("Beside it")).to_have_value("flow[2]")  # what is beside keeps its level and is named
    page.get_by_label("Beside it").select_option("")
    page.evaluate("() => steppe.store.look({variable: 'gas[1]'})")
    opened.wait("steppe.store.now.shown[0]?.variable === 'gas[1]'")

    # two levels of one variable side by side: another level of the first map leaves the second as it is
    page.get_by_label("Beside it").select_option(label="Gas (gas) at 500 hPa")
    opened.wait("steppe.store.now.shown[1]?.variable === 'gas[2]'")
    level.select_option("gas[0]")
    opened.wait("steppe.store.now.shown[0]?.variable === 'gas[0]' && steppe.store.now.shown[1]?.variable === 'gas[2]'")
    assert agrees(opened, "frames[0]", "gas[0]")
    assert agrees(opened, "frames[1]", "gas[2]")
    expect(page.locator(".title")).to_contain_text(["Gas, 1000 hPa", "Gas, 500 hPa"])
    page.get_by_label("Beside it").select_option("")
    level.select_option("gas[1]")
    opened.wait("steppe.store.now.shown[0]?.variable === 'gas[1]' && steppe.store.now.shown.length === 1")

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


def test_a_change_in_a_box_of_a_level_changes_that_level_alone(context: BrowserContext, column: House) -> None:
    column.begin_anew()
    opened = Opened(context.new_page(), column)
    opened.open(fragment="&run=out&variable=gas%5B1%5D")
    page = opened.page
    before = [column.value(f"gas[{level}]", 4, 30) for level in range(3)]
    page.evaluate("() => steppe.store.change({selection: {box: [130, -13, 140, -11]}})")
    page.get_by_role("button", name="Change here at 850 hPa in main").click()
    page.get_by_label("Filter variables").press_sequentially("gas[1]")
    page.keyboard.press("Enter")
    expect(page.get_by_label("Levels")).to_have_value("[1]")
    page.get_by_label("Value", exact=True).fill("3")
    page.keyboard.press("Enter")
    expect(page.locator(".preview")).to_have_text(f"80 cells at 850 hPa: mean {before[1]:g} → 3 kg m⁻²")
    page.get_by_role("button", name="Set at 850 hPa in main").press("Enter")
    expect(page.locator("#notices")).to_contain_text("Gas (gas) at 850 hPa: set in main")
    assert [column.value(f"gas[{level}]", 4, 30) for level in range(3)] == [before[0], 3.0, before[2]]
    page.get_by_label("Filter variables").fill("")
    expect(page.locator("[data-variable=gas] small")).to_contain_text("at 850 hPa in the box")
    page.click("#tab-log")
    expect(page.locator(".log")).to_contain_text("Gas (gas) at 850 hPa set to 3 kg m⁻² in the box")
    assert opened.complaints == []
