"""Finding a parameter and changing it: in what order they stand, what they are called, and from a region on the map to its change."""

from playwright.sync_api import expect

from tests.page.house import Opened, wait_for

CAPACITY = "Most water that the soil holds (capacity)"  # which the run file sets


def test_enter_in_the_filter_opens_the_first_variable_under_its_one_name(opened: Opened) -> None:
    page = opened.page
    opened.press("s")
    expect(page.locator("#parameters h3").first).to_contain_text("Set by the run file")
    expect(page.locator("#parameters .row-head").first).to_contain_text(CAPACITY)
    page.keyboard.type("most water")
    opened.press("Enter")
    expect(page.locator("#change-capacity-value")).to_be_focused()
    expect(page.get_by_role("form", name=f"Change {CAPACITY}")).to_be_visible()
    expect(page.locator("#parameters .facts dd").first).to_have_text("began with 120")  # not the default, 150
    cut = "(select) => select.scrollWidth > select.clientWidth || select.clientWidth < 60"
    assert not page.locator("#change-capacity-operation").evaluate(cut)
    page.keyboard.type("90")
    opened.press("Enter")
    expect(page.locator(".preview")).to_be_visible()
    opened.press("Enter")
    expect(page.locator("#notices")).to_contain_text(CAPACITY)
    opened.press("Escape")
    page.locator("#tabs").get_by_text("Log").click()
    expect(page.locator(".log-row .name").first).to_contain_text(f"{CAPACITY} set to 90 mm everywhere")


def test_a_box_with_a_changed_rate_takes_four_clicks_from_the_map(opened: Opened) -> None:
    house, page = opened.house, opened.page
    page.evaluate("() => { globalThis.clicks = 0; addEventListener('pointerdown', () => { clicks += 1 }, true) }")
    page.get_by_role("button", name="Box", exact=True).click()
    page.mouse.move(*opened.pixel(8, 4))
    page.mouse.down()
    page.mouse.move(*opened.pixel(11, 7), steps=4)
    page.mouse.up()
    page.get_by_role("button", name="Change here").click()
    page.locator(".row-head[data-variable=leak]").click()
    assert page.evaluate("() => clicks") == 4
    page.keyboard.type("0.05")
    opened.press("Enter")
    expect(page.locator(".preview")).to_contain_text("cells: mean 0.01 → 0.05")
    opened.press("Enter")
    wait_for(lambda: house.value("leak", 9, 5) == 0.05)
    assert house.value("leak", 12, 9) == 0.01
    assert list(house.log()[-1]["arguments"]["region"]) == ["box"]


def test_a_change_that_would_be_refused_is_not_ordered_and_the_next_one_is_not_stale(opened: Opened) -> None:
    house, page = opened.house, opened.page
    opened.press("s")
    page.keyboard.type("most water")
    opened.press("Enter")
    page.locator("#change-capacity-operation").select_option("scale")
    page.locator("#change-capacity-value").fill("-3")
    rows = len(house.log())
    opened.press("Enter", "Enter")
    expect(page.locator("#change-capacity-wrong")).to_contain_text("This would be refused")
    assert len(house.log()) == rows
    page.locator("#change-capacity-value").fill("2")
    opened.press("Enter")
    page.get_by_role("button", name="Set in main").press("Enter")
    wait_for(lambda: house.value("capacity", 9, 5) == 240.0)


def test_corners_off_the_grid_keep_the_region_before_and_are_told_once(opened: Opened) -> None:
    page = opened.page
    opened.expected.append("422")
    opened.house.order("/step", {"steps": 2})
    page.get_by_role("button", name="Corners…").click()
    page.locator("#corners").fill("143.4 -22.1, 144.1 -21.4")
    page.get_by_role("button", name="Follow this region").click()
    opened.wait("steppe.store.now.series.some(({ pin, end }) => pin === 0 && end > 0)")
    page.get_by_role("button", name="Corners…").click()
    page.locator("#corners").fill("10 50, 11 51")
    page.get_by_role("button", name="Follow this region").click()
    expect(page.locator(".notice", has_text="This region cannot be followed")).to_have_count(1)
    opened.rest()
    assert page.evaluate("() => steppe.store.now.selection") == {"box": [143.4, -22.1, 144.1, -21.4]}
    assert page.evaluate("() => steppe.store.now.notices.filter(({ weight }) => weight === 'warn').length") == 1
