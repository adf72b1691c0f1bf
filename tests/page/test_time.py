"""The time line: it is for looking, its buttons act, a rewind is undone everywhere, and what was computed is played."""

import json
import re

from playwright.sync_api import Browser, expect

from tests.page.house import House, Opened, wait_for


def drag(opened: Opened, *steps: int) -> None:
    """Drags on the time line from one step to others, once it stays where it is, and lets go."""
    page, box = opened.page, None
    while (there := page.locator(".line").bounding_box()) is None or there != box:
        box = there
        page.wait_for_timeout(300)
    total = opened.house.info()["steps"]
    for index, step in enumerate(steps):
        page.mouse.move(box["x"] + box["width"] * step / total, box["y"] + box["height"] / 2, steps=4)
        if index == 0:
            page.mouse.down()
    page.mouse.up()


def standing(house: House) -> list[tuple[str, int, int]]:
    """Where each scenario stands, on which branch."""
    return [(each["name"], each["branch"], each["step"]) for each in house.info()["scenarios"]]


def looks_at(opened: Opened, low: int, high: int) -> None:
    shown = "steppe.store.now.shown[0]"
    opened.wait(f"{shown} && !{shown}.live && {shown}.step >= {low} && {shown}.step <= {high}")


def test_looking_back_and_coming_forward_moves_nobodys_run(opened: Opened) -> None:
    house, page = opened.house, opened.page
    house.order("/step", {"steps": 40})
    expect(opened.chip).to_contain_text("18 Feb 1990")
    before, rows = standing(house), len(house.log())
    drag(opened, 40, 30, 20)
    looks_at(opened, 18, 22)
    strip = page.get_by_role("group", name="The date in view")
    expect(strip).to_contain_text("Jan 1990, past")
    expect(strip.get_by_role("button")).to_have_text(["Go on from here in main", "Branch from here off main", "Back to now"])
    opened.press(",", ".", ".", "<", ">")
    strip.get_by_role("button", name="Back to now").click()
    expect(strip).to_be_hidden()
    opened.wait("steppe.store.now.shown[0].live && steppe.store.now.shown[0].step === 40")
    drag(opened, 60)  # still to come: offered, not ordered
    expect(strip).to_contain_text("still to come")
    page.wait_for_timeout(500)
    assert (standing(house), len(house.log())) == (before, rows)
    strip.get_by_role("button", name="Compute main to here").click()
    wait_for(lambda: 58 <= house.main()["step"] <= 62)
    assert len(house.log()) == rows + 1
    expect(strip).to_be_hidden()


def test_enter_on_the_time_line_leads_to_the_buttons_and_presses_none(opened: Opened) -> None:
    house, page = opened.house, opened.page
    house.order("/step", {"steps": 40})
    expect(opened.chip).to_contain_text("18 Feb 1990")
    rows = len(house.log())
    page.get_by_role("slider", name="Date", exact=True).focus()
    opened.press("PageDown", "Enter")
    expect(page.get_by_role("button", name="Go on from here in main")).to_be_focused()
    page.wait_for_timeout(500)
    assert (house.main()["step"], len(house.log())) == (40, rows)
    opened.press("Enter")
    wait_for(lambda: house.main()["step"] < 40)


def test_a_rewind_is_told_in_every_page_and_undone_in_any_to_the_same_bits(opened: Opened, browser: Browser) -> None:
    house, page = opened.house, opened.page
    house.order("/step", {"steps": 30})
    house.order("/set", {"variable": "water", "value": 33.0, "when": "now"})
    house.order("/step", {"steps": 10})
    house.order("/set", {"variable": "capacity", "value": 99.0, "when": {"step": 50}})
    expect(opened.chip).to_contain_text("18 Feb 1990")
    context = browser.new_context(viewport={"width": 1280, "height": 800}, reduced_motion="reduce")
    other, viewer = Opened(context.new_page(), house), Opened(browser.new_context().new_page(), house)
    other.open("admin")
    viewer.open("view")
    expect(page.locator("#steers")).to_contain_text("admin steers; 3 viewers")
    before = house.get("/data/water?format=npy").content, house.get("/data/drainage?format=npy").content
    drag(opened, 40, 20)
    page.get_by_role("button", name="Go on from here in main").click()
    wait_for(lambda: house.main()["step"] <= 22)
    assert house.get("/data/water?format=npy").content != before[0]
    for each in (opened, other):
        expect(each.page.locator(".notice", has_text="steer: back to")).to_contain_text("1990 in main")
        expect(each.page.get_by_role("button", name="Undo")).to_be_visible()
    expect(viewer.page.locator(".notice", has_text="steer: back to")).to_be_visible()
    expect(viewer.page.get_by_role("button", name="Undo")).to_have_count(0)
    other.page.get_by_role("button", name="Undo").click()
    wait_for(lambda: house.main()["step"] == 40)
    assert (house.get("/data/water?format=npy").content, house.get("/data/drainage?format=npy").content) == before
    expect(page.locator(".notice", has_text="admin: back to where main@")).to_be_visible()
    expect(page.locator(".notice", has_text="steer: back to")).to_have_count(0)
    house.order("/step", {"until": "1990-03-10"})
    assert house.value("capacity", 7, 3) == 99.0  # what was planned is made
    assert other.complaints == viewer.complaints == []
    viewer.page.context.close()
    context.close()


def test_the_past_is_played_in_a_loop_and_nothing_is_ordered(opened: Opened) -> None:
    house, page = opened.house, opened.page
    house.order("/step", {"steps": 40})
    expect(opened.chip).to_contain_text("18 Feb 1990")
    before, rows = standing(house), len(house.log())
    drag(opened, 40, 20)
    looks_at(opened, 18, 22)
    for name, until, key in (("First date of the loop", "20", "ArrowRight"), ("Last date of the loop", "26", "ArrowLeft")):
        handle = page.get_by_role("slider", name=name)
        while handle.get_attribute("aria-valuenow") != until:
            handle.press(key)
    page.evaluate(
        """() => {
            window.seen = [];
            steppe.store.subscribe((state) => state.shown[0]?.step, (step) => window.seen.push(step));
            window.asked = performance.getEntriesByType("resource").length;
        }"""
    )
    page.click("#map")
    opened.press("]", "]", " ")
    expect(page.get_by_role("button", name="Pause the past")).to_be_visible()
    opened.wait("window.seen.filter((step) => step === 26).length >= 3")
    seen = page.evaluate("() => window.seen")
    turns = json.dumps(seen[seen.index(26) + 1 :])
    assert "20, 21, 22, 23, 24, 25, 26" in turns
    assert min(seen[seen.index(26) + 1 :]) == 20
    assert max(seen) == 26
    page.get_by_role("button", name="Back to now").click()
    opened.wait("steppe.store.now.shown[0].live && !steppe.store.now.playing")
    assert (standing(house), len(house.log())) == (before, rows)


def test_a_past_date_stays_in_view_whichever_variable_is_chosen(opened: Opened) -> None:
    opened.house.order("/step", {"steps": 40})
    drag(opened, 30)
    looks_at(opened, 28, 32)
    for name in ("runoff", "drainage", "water"):
        opened.variable(name)
        opened.wait(f"steppe.store.now.shown[0]?.variable === '{name}'")
        opened.page.wait_for_timeout(900)  # what is of another variable goes after 0.6 s
        assert opened.page.evaluate("() => [steppe.store.now.shown[0]?.variable, steppe.screen.frames.length]") == [name, 1]
    opened.page.evaluate(
        "() => { steppe.store.look({variable: 'drainage'}); steppe.store.look({variable: 'runoff'}); }"
    )  # before the first comes
    opened.wait("steppe.store.now.shown[0]?.variable === 'runoff' && !steppe.store.now.shown[0].live")


def test_a_finished_run_is_played_again(opened: Opened) -> None:
    house, page = opened.house, opened.page
    house.order("/step", {"end": True})
    wait_for(lambda: house.main()["step"] == house.info()["steps"])
    expect(opened.chip).to_contain_text("Ended")
    rows = len(house.log())
    page.get_by_role("button", name="Play the past").click()
    opened.wait("steppe.store.now.preview !== null && !steppe.store.now.shown[0].live")
    page.get_by_role("button", name="Pause the past").click()
    assert len(house.log()) == rows


def test_space_plays_unless_tab_led_to_what_it_presses(opened: Opened) -> None:
    house, page = opened.house, opened.page
    opened.variable("water")
    expect(page.locator("#map")).to_be_focused()
    page.click("#tab-log")
    opened.press("]", "[", "[", "[", "[", " ")
    expect(opened.chip).to_contain_text("Running")
    expect(page.locator("#tab-log")).to_have_attribute("aria-selected", "true")
    opened.press(" ")
    wait_for(lambda: house.main()["target"] == house.main()["step"])
    rows = len(house.log())
    page.click("#run-name")
    for _ in range(60):
        opened.press("Tab")
        if page.evaluate("() => document.activeElement.textContent === 'Smooth'"):
            break
    opened.press(" ")
    expect(page.get_by_role("switch", name="Smooth")).to_have_attribute("aria-checked", "true")
    assert len(house.log()) == rows


def test_two_scenarios_of_different_dates_are_brought_to_one_and_each_is_named(opened: Opened) -> None:
    house, page = opened.house, opened.page
    house.order("/step", {"steps": 20})
    house.order("/scenarios", {"name": "dry", "from": {"scenario": "main", "step": 10}})
    opened.wait("steppe.store.now.info.scenarios.some(({ name }) => name === 'dry')")  # it shows no scenario that it has not heard of
    page.evaluate("() => { steppe.store.change({ steered: 'dry' }); steppe.store.look({ scenarios: ['main', 'dry'], maps: 2 }); }")
    strip = page.get_by_role("group", name="The date in view")
    expect(strip).to_contain_text("dry is behind, at 19 Jan 1990")
    expect(page.get_by_label("Date", exact=True).locator("small")).to_have_text("main")  # of whom the date is
    drag(opened, 15)
    expect(strip.get_by_role("button", name="Compute dry to here")).to_be_visible()
    drag(opened, 30)
    strip.get_by_role("button", name="Compute main and dry to here").click()
    wait_for(lambda: len({step for name, _, step in standing(house) if "@" not in name}) == 1)
    at = house.main()["step"]
    assert 28 <= at <= 32
    house.order("/scenarios/main/rewind", {"step": 25})
    expect(strip.get_by_role("button", name=re.compile("Compute main to"))).to_be_visible()
    drag(opened, 12)  # before main went back: the server goes there, too
    expect(strip.get_by_role("button", name="Go on from here in main and dry")).to_be_enabled()
    assert opened.complaints == []


def test_the_past_of_another_scenario_than_the_steered_one_is_for_looking_only(opened: Opened) -> None:
    house, page = opened.house, opened.page
    house.order("/step", {"steps": 20})
    opened.press("r")
    page.keyboard.type("alt")
    opened.press("Enter")
    house.order("/step", {"scenario": "alt", "steps": 20})
    page.click("#map")
    opened.press("1")
    date = page.get_by_label("Date", exact=True).locator("small")
    expect(date).to_have_text("alt")
    page.get_by_label("Scenario A").select_option("main")
    expect(date).to_have_text(["steering alt", "looking at main"])
    expect(page.get_by_role("button", name="Play alt (Space)")).to_be_visible()
    expect(opened.chip).to_contain_text("main: Paused")
    drag(opened, 10)
    strip = page.get_by_role("group", name="The date in view")
    expect(strip).to_contain_text("past of main; orders go to alt")
    expect(strip.get_by_role("button", name="from here")).to_have_count(0)
    page.get_by_label("Orders go to").select_option("main")
    expect(strip.get_by_role("button", name="Go on from here in main")).to_be_visible()
    expect(date).to_have_text("main")


def test_a_scenario_keeps_its_origin_through_a_rewind_and_its_undoing(opened: Opened) -> None:
    house, page = opened.house, opened.page
    house.order("/step", {"steps": 20})
    house.order("/scenarios", {"name": "more", "from": {"scenario": "main", "step": 10}})
    house.order("/step", {"scenario": "more", "steps": 20})
    page.click("#tab-scenarios")
    card = page.get_by_role("treeitem", name=re.compile("^more,"))
    before = "from 19 Jan 1990 of main, 20 days, at 8 Feb 1990"
    expect(card).to_contain_text(before)
    house.order("/scenarios/more/rewind", {"step": 15})
    expect(card).to_contain_text("from 19 Jan 1990 of main, 5 days, at 24 Jan 1990")
    house.order("/scenarios/more/rewind", {"left": "more@1"})
    expect(card).to_contain_text(before)


def test_a_date_that_is_not_at_hand_is_named_and_the_map_of_another_one_is_grey(opened: Opened) -> None:
    house, page = opened.house, opened.page
    house.order("/step", {"steps": 40})
    expect(opened.chip).to_contain_text("18 Feb 1990")
    opened.expected.append("410")
    page.route("**/data/**time=step**", lambda route: route.fulfill(status=410, json={"code": "not-computed", "title": "No"}))
    page.evaluate("() => steppe.store.change({ preview: 20 })")
    expect(page.locator("#titles")).to_contain_text("29 Jan 1990 is not at hand")
    expect(page.locator("#map.stale")).to_be_visible()
    page.get_by_role("button", name="Back to now").click()
    expect(page.locator("#map.stale")).to_have_count(0)
    page.goto("about:blank")  # and of another viewer, whose page has no map yet
    page.goto(f"{house.address}#date=1990-01-29")
    expect(page.locator("#titles")).to_contain_text("29 Jan 1990 is not at hand")


def test_a_past_that_a_rewind_takes_away_is_no_longer_in_view(opened: Opened) -> None:
    house, page = opened.house, opened.page
    house.order("/step", {"steps": 40})
    drag(opened, 30)
    looks_at(opened, 28, 32)
    house.order("/scenarios/main/rewind", {"step": 10})
    opened.wait("steppe.store.now.preview === null && steppe.store.now.shown[0].live && steppe.store.now.shown[0].step === 10")
    expect(page.get_by_role("group", name="The date in view")).to_be_hidden()
    assert opened.complaints == []
