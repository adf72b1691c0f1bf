"""Steering from the page: what is pressed becomes orders in the journal, once, and what others ordered is not overwritten unseen."""

import re
import shutil
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, Route, expect

from tests.page.house import House, Opened, wait_for
from tests.server.asking import TOKENS


def kinds(house: House, since: int = 0) -> list[str]:
    return [row["kind"] for row in house.log() if row["seq"] > since]


def last(house: House) -> int:
    return max((row["seq"] for row in house.log()), default=0)


def focus_by_tab(opened: Opened, selector: str, most: int = 80) -> None:
    """Presses Tab until an element has the focus, as who has no mouse does."""
    for _ in range(most):
        opened.press("Tab")
        if opened.page.evaluate("(selector) => document.activeElement.matches(selector)", selector):
            return
    raise AssertionError(f"No Tab leads to {selector}.")


def draft(opened: Opened, value: str, variable: str = "capacity") -> None:
    """Opens the form of a variable by keys and types a value."""
    opened.press("s")
    opened.page.keyboard.type(variable)
    focus_by_tab(opened, f".row-head[data-variable={variable}]")
    opened.press("Enter")
    expect(opened.page.locator(f"#change-{variable}-value")).to_be_focused()
    opened.page.keyboard.type(value)


def test_keyboard_alone_plays_pins_and_sets(opened: Opened) -> None:
    house, page = opened.house, opened.page
    since = last(house)
    focus_by_tab(opened, "#map")
    opened.press("ArrowRight", "ArrowDown")
    expect(page.locator("#map-said")).to_have_text(re.compile(r"E, [0-9.]+ mm$"))  # the value, once it has come
    opened.press("Enter")
    expect(page.locator("#map-said")).to_contain_text("pinned")
    opened.press(".")
    expect(opened.chip).to_contain_text("Paused at 10 Jan 1990")
    opened.press("]", "[", "[", "[", "[")  # slow enough to be seen running
    opened.press(" ")
    expect(opened.chip).to_contain_text("Running")
    opened.press(" ")
    expect(opened.chip).to_contain_text("Paused")
    draft(opened, "90")
    opened.press("Enter")
    expect(page.locator(".preview")).to_have_text("144 cells: mean 120 → 90 mm")
    assert "set" not in kinds(house, since)  # what was looked at is not ordered yet
    opened.press("Enter")
    wait_for(lambda: "set" in kinds(house, since))
    expect(page.locator(".row-head[data-variable=capacity] .value")).to_have_text("90")
    expect(page.locator(".row-head[data-variable=capacity] small")).to_contain_text("steer")
    (row,) = [row for row in house.log() if row["seq"] > since and row["kind"] == "set"]
    assert (row["who"], row["arguments"]["value"], row["arguments"]["variable"]) == ("steer", 90.0, "capacity")
    assert house.value("capacity", 7, 3) == 90.0


def test_stale_set_keeps_the_draft(opened: Opened) -> None:
    house, page = opened.house, opened.page
    opened.expected.append("412")
    draft(opened, "70")
    opened.press("Enter")
    expect(page.locator(".preview")).to_be_visible()
    house.order("/set", {"variable": "capacity", "value": 100.0, "when": "now"})
    opened.press("Enter")
    note = page.locator(".stale-note:not([hidden])")
    expect(note).to_contain_text("While you typed 70")
    expect(note).to_contain_text("admin: ")
    expect(note).to_contain_text("set to 100 mm everywhere")
    expect(page.locator("#change-capacity-value")).to_have_value("70")
    assert house.value("capacity", 7, 3) == 100.0
    page.get_by_role("button", name="Apply anyway").click()
    wait_for(lambda: house.value("capacity", 7, 3) == 70.0)
    expect(page.locator("#change-capacity-value")).to_have_value("")  # the page has heard of it, too
    # and once more, to drop it
    page.locator("#change-capacity-value").fill("60")
    page.keyboard.press("Enter")
    expect(page.locator(".preview")).to_be_visible()
    house.order("/set", {"variable": "capacity", "value": 110.0, "when": "now"})
    page.keyboard.press("Enter")
    page.locator(".stale-note").get_by_role("button", name="Drop").click()
    expect(page.locator("#change-capacity-value")).to_have_value("")
    assert house.value("capacity", 7, 3) == 110.0


def test_what_is_typed_while_a_change_is_on_its_way_is_another_draft(opened: Opened) -> None:
    house, page, held = opened.house, opened.page, list[Route]()
    value = page.locator("#change-capacity-value")
    draft(opened, "70")
    opened.press("Enter")
    expect(page.locator(".preview")).to_be_visible()
    page.route("**/runs/out/set", lambda route: held.append(route))
    opened.press("Enter")
    while not held:
        page.wait_for_timeout(20)
    opened.press("Enter", "Enter")
    page.wait_for_timeout(300)
    assert len(held) == 1  # a second one would be in conflict with it
    value.fill("60")
    held[0].continue_()
    page.unroute("**/runs/out/set")
    expect(page.locator(".notice", has_text=": set")).to_be_visible()
    assert house.value("capacity", 7, 3) == 70.0
    expect(value).to_have_value("60")
    value.press("Enter")
    expect(page.locator(".preview")).to_be_visible()
    value.press("Enter")
    wait_for(lambda: house.value("capacity", 7, 3) == 60.0)


def test_a_step_of_somebody_else_makes_no_draft_stale(opened: Opened) -> None:
    opened.expected.append("412")
    draft(opened, "70")
    opened.press("Enter")
    expect(opened.page.locator(".preview")).to_be_visible()
    opened.house.order("/step", {"steps": 2})
    opened.press("Enter")
    wait_for(lambda: opened.house.value("capacity", 7, 3) == 70.0)


@pytest.mark.parametrize(
    ("typed", "field", "says"),
    [
        ("many", "value", "Give a number, such as 1000.5."),
        ("-5", "value", "is -5 mm; it must be a number from 1 to 1000 mm."),
        ("70 kilograms", "units", "does not convert"),
        ("70 @nowhere", "region", "Known: cape-york, central-west, east, gulf, south-east, south-west, west, wet-tropics."),
    ],
)
def test_what_is_wrong_is_said_beside_its_field_and_changes_nothing(opened: Opened, typed: str, field: str, says: str) -> None:
    house, page = opened.house, opened.page
    opened.expected.append("422")
    since = last(house)
    draft(opened, typed.split()[0])
    if "@" in typed:
        page.locator("#change-capacity-where").select_option("name")
        page.locator("#change-capacity-region").fill("nowhere")
    elif " " in typed:
        page.locator("#change-capacity-units").fill("kg")
    page.locator("#change-capacity-value").press("Enter")
    expect(page.locator("#change-capacity-wrong")).to_contain_text(says)
    wrong = page.locator("[aria-invalid=true]")
    assert wrong.get_attribute("id") == f"change-capacity-{'where' if field == 'region' else field}"
    assert wrong.get_attribute("aria-describedby") == "change-capacity-wrong"
    assert last(house) == since


def test_view_token_cannot_set(context: BrowserContext, run: House) -> None:
    run.order("/scenarios", {"name": "dry"})
    opened = Opened(context.new_page(), run)
    opened.open("view")
    page, since = opened.page, last(run)
    expect(page.locator("#steers")).to_contain_text("Viewing")
    expect(page.locator("#titles .title")).to_have_count(1)
    expect(page.locator("#titles .steered")).to_have_count(0)
    draft(opened, "70")
    button = page.get_by_role("button", name="Preview")
    assert button.get_attribute("aria-disabled") == "true"
    assert button.get_attribute("aria-description") == "needs a steer token"
    opened.press("Enter")
    expect(page.locator("#change-capacity-wrong")).to_contain_text("needs a steer token")
    page.click("#map")  # away from the form
    opened.press(".", " ", ">", ",", "<")
    page.wait_for_timeout(500)
    assert last(run) == since
    # nor can a script in the page, with the cookie that it has
    refused = page.evaluate(
        """async () => (await fetch("api/v1/runs/out/set", {method: "POST", body: '{"variable": "capacity", "value": 1}',
            headers: {"Content-Type": "application/json", "Idempotency-Key": "sly"}})).status"""
    )
    assert refused == 403
    assert last(run) == since


def test_branch_then_difference(opened: Opened) -> None:
    house, page = opened.house, opened.page
    house.order("/step", {"steps": 3})
    expect(opened.chip).to_contain_text("12 Jan 1990")
    opened.press("r")
    page.keyboard.type("dry")
    opened.press("Enter")
    expect(page.locator("[role=treeitem]")).to_have_count(2)
    expect(page.locator("#titles")).to_contain_text("dry − main")
    draft(opened, "40", "water")
    opened.press("Enter")
    page.get_by_role("button", name="Set in dry").press("Enter")
    page.click("#tab-scenarios")
    expect(page.locator("[role=treeitem]").nth(1)).to_contain_text("Soil water (water) set to 40 mm")
    opened.point(7, 3, map_number=2, maps=3)
    main, dry = house.value("water", 7, 3), house.value("water", 7, 3, "dry")
    assert dry == 40.0
    expect(page.locator("#readout")).to_contain_text(f"{dry - main:+.4g}"[:5].replace("-", "−"))
    expect(page.locator("#legend-difference")).to_be_hidden()  # another tab is open
    page.click("#tab-look")
    expect(page.locator("#legend-difference")).to_be_visible()
    opened.press("1")
    expect(page.locator("#titles b")).to_have_text(["dry"])  # to which orders go
    opened.press("3")
    expect(page.locator("#titles b")).to_have_text(["main", "dry", "dry − main"])
    opened.press("x")
    with page.expect_download() as saved:
        page.get_by_role("button", name="As seen").click()
    assert saved.value.suggested_filename == "out-water-dry-1990-01-12.png"


def test_the_notice_of_a_planned_change_has_its_date_whatever_is_typed_meanwhile(opened: Opened) -> None:
    page = opened.page
    draft(opened, "90")
    page.locator("#change-capacity-when").select_option("date")
    page.locator("#change-capacity-date").fill("1990-02-01")
    opened.press("Enter")
    with page.expect_request(re.compile("/set$")) as sent:
        page.get_by_role("button", name="Set in main").press("Enter")
    assert "prefer" not in sent.value.headers  # nothing to wait for before its date
    opened.press("Escape")
    expect(page.locator("#notices")).to_contain_text("planned in main for 1 Feb 1990")


def test_space_twice_in_a_moment_plays_and_pauses(opened: Opened) -> None:
    since = last(opened.house)
    opened.press(" ", " ")
    wait_for(lambda: [row["kind"] for row in opened.house.log() if row["seq"] > since] == ["step", "pause"])
    expect(opened.chip).to_contain_text("Paused")


def test_after_branching_the_branch_alone_is_changed_and_both_are_played(opened: Opened) -> None:
    house, page, since = opened.house, opened.page, last(opened.house)
    opened.press("r")
    page.keyboard.type("laden")
    opened.press("Enter")
    expect(page.get_by_label("Orders go to")).to_have_value("laden")
    expect(page.locator("#titles .steered")).to_have_count(1)
    draft(opened, "90")
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Set in laden").press("Enter")
    expect(page.locator(".notice", has_text="set in laden")).to_be_visible()
    play = page.get_by_role("button", name="Play main and laden")
    page.click("#map")
    opened.press("]", "[", "[", "[", "[", " ")
    wait_for(lambda: min(each["step"] for each in house.info()["scenarios"] if "@" not in each["name"]) > 0)
    page.get_by_role("button", name="Pause main and laden").click()
    expect(play).to_be_visible()
    assert house.value("capacity", 7, 3, "main") == 120.0
    assert house.value("capacity", 7, 3, "laden") == 90.0
    opened.press("g")
    rows = [row for row in house.log() if row["seq"] > since]
    expect(page.locator(".log-row small", has_text="laden")).to_have_count(sum(row["branch"] != house.main()["branch"] for row in rows))
    expect(page.locator(".log-row small", has_text=", main, ").first).to_be_visible()
    # a link keeps it, and the header gives the orders to the other one
    page.reload()
    expect(page.get_by_label("Orders go to")).to_have_value("laden")
    page.get_by_label("Orders go to").select_option("main")
    draft(opened, "80")
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Set in main").press("Enter")
    wait_for(lambda: house.value("capacity", 7, 3, "main") == 80.0)
    assert house.value("capacity", 7, 3, "laden") == 90.0


def test_a_name_that_is_too_long_is_not_cut(opened: Opened) -> None:
    page = opened.page
    page.keyboard.press("r")
    page.keyboard.type(65 * "a")
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert").filter(has_text="A name has 1 to 64 of A-Z a-z 0-9 . _ -")).to_be_visible()
    assert page.input_value("#branch-name") == 65 * "a"
    page.keyboard.press("Escape")


def test_a_scenario_is_renamed_and_deleted_unless_somebody_undoes_it(opened: Opened) -> None:
    house, page = opened.house, opened.page
    house.order("/scenarios", {"name": "dry"})
    page.click("#tab-scenarios")
    page.locator("[role=treeitem]").nth(1).focus()
    opened.press("ArrowDown", "F2")
    page.keyboard.type("wet")
    opened.press("Enter")
    wait_for(lambda: "wet" in [each["name"] for each in house.info()["scenarios"]])
    expect(page.locator("[role=treeitem]").nth(1)).to_contain_text("wet")
    opened.press("Delete")
    page.get_by_role("alertdialog").get_by_role("button", name="Delete").click()
    expect(page.locator("[role=treeitem]")).to_have_count(1)
    page.get_by_role("button", name="Undo").click()
    expect(page.locator("[role=treeitem]")).to_have_count(2)
    page.wait_for_timeout(500)
    assert "wet" in [each["name"] for each in house.info()["scenarios"]]


def test_f2_renames_the_steered_scenario_from_anywhere_and_says_why_main_keeps_its_name(opened: Opened) -> None:
    house, page = opened.house, opened.page
    opened.press("F2")
    expect(page.locator("#notices")).to_contain_text("main cannot be renamed: the run begins with it.")
    house.order("/scenarios", {"name": "dry"})
    opened.wait("steppe.store.now.info.scenarios.length > 1")
    page.evaluate("() => steppe.store.change({steered: 'dry'})")
    page.locator("#map").focus()
    opened.press("F2")
    page.keyboard.type("wet")
    opened.press("Enter")
    opened.wait("steppe.store.now.steered === 'wet'")
    wait_for(lambda: "wet" in [each["name"] for each in house.info()["scenarios"]])


def test_escape_leaves_a_field_so_that_keys_are_heard_again(opened: Opened) -> None:
    opened.press("g", "Escape")
    expect(opened.page.locator("#map")).to_be_focused()
    opened.press("s")
    opened.page.keyboard.type("leak")
    opened.press("Enter")
    opened.page.keyboard.type("0.5")
    opened.press("Escape", ".")
    wait_for(lambda: opened.house.main()["step"] == 1)
    assert opened.page.locator("#change-leak-value").input_value() == ""


def test_a_box_that_is_drawn_beyond_the_edge_of_the_map_ends_there(opened: Opened) -> None:
    page = opened.page
    opened.house.order("/step", {"steps": 2})
    box = page.locator("#map").bounding_box()
    assert box is not None
    opened.press("b")
    page.mouse.move(*opened.pixel(5.5, 4.5))
    page.mouse.down()
    page.mouse.move(*opened.pixel(3, 2), steps=3)
    expect(page.locator("#readout")).to_contain_text("row 3, column 2")  # while the box is drawn
    page.mouse.move(box["x"] + 40, box["y"] - 30, steps=3)
    page.mouse.up()
    opened.wait("steppe.store.now.selection && steppe.store.now.selection.box")
    west, south, east, north = page.evaluate("() => steppe.store.now.selection.box")
    assert (west < 142.875, north > -19.875) == (True, True)
    assert abs(east - (142.875 + 0.25 * 5)) < 0.05
    assert abs(south - (-19.875 - 0.25 * 6)) < 0.05
    expect(page.locator("#pane-look")).to_contain_text("20 cells")  # six rows of five, without a corner and a hole
    here = page.get_by_role("button", name="Change here in main")
    assert here.evaluate("(button) => button.scrollWidth <= button.clientWidth")
    page.evaluate("() => steppe.store.change({view: {...steppe.map.view, x: 160}})")
    expect(here).to_be_hidden()  # its box is out of view
    opened.press("Escape")


def test_escape_leaves_the_form_of_a_scenario(opened: Opened) -> None:
    opened.press("r")
    form = opened.page.get_by_role("form", name="New scenario")
    expect(form).to_be_visible()
    opened.press("Escape")
    expect(form).to_have_count(0)


def test_the_log_is_filtered_and_an_order_taken_away_as_a_program(opened: Opened) -> None:
    house, page = opened.house, opened.page
    house.order("/step", {"steps": 2})
    house.order("/set", {"variable": "capacity", "value": 88.0, "region": {"box": [143.4, -22.1, 144.1, -21.4]}})
    opened.press("g")
    page.keyboard.type("capacity")
    row = page.locator(".log-row", has_text="set to 88 mm").first
    expect(row).to_contain_text("admin")
    row.locator(".row-head").click()
    row = page.locator(".log-row", has_text="set to 88 mm").first
    row.get_by_role("button", name="Copy as curl").click()
    expect(page.locator(".notice", has_text="Copied as curl")).to_be_visible()  # another may tell that a kernel is compiled
    text = page.evaluate("() => navigator.clipboard.readText()")
    assert "$STEPPE_TOKEN" in text
    assert f"{house.address}api/v1/runs/out/set" in text
    assert '"value":88' in text
    row.get_by_role("button", name="Copy as Python").click()
    wait_for(lambda: "import steppe" in page.evaluate("() => navigator.clipboard.readText()"))
    assert 'run.set("capacity", 88' in page.evaluate("() => navigator.clipboard.readText()")
    branch = house.main()["branch"]
    page.locator(".log-row", has_text="set to 88 mm").first.get_by_role("button", name="Go back to before this").click()
    wait_for(lambda: house.main()["branch"] != branch)
    assert house.value("capacity", 7, 3) == 120.0


def test_a_trigger_is_made_and_one_that_cannot_be_read_is_refused_in_words(opened: Opened) -> None:
    house, page = opened.house, opened.page
    opened.expected.append("422")
    page.click("#tab-steer")
    page.get_by_text("New trigger").click()
    page.get_by_label("When").fill("mean(watr) < 1000")
    page.get_by_role("button", name="Add the trigger").click()
    expect(page.locator("#trigger-wrong")).to_contain_text("water")
    page.get_by_label("When").fill("mean(water) < 1000")
    page.locator("#trigger-action").select_option("pause")
    page.get_by_role("button", name="Add the trigger").click()
    expect(page.locator("#rules")).to_contain_text("mean(water) < 1000")
    assert [each["expression"] for each in house.get("/triggers").json()["triggers"]] == ["mean(water) < 1000"]
    page.get_by_role("button", name="Remove: mean(water) < 1000").click()
    wait_for(lambda: house.get("/triggers").json()["triggers"] == [])
    expect(page.locator("#rules")).not_to_contain_text("mean(water) < 1000")


def test_a_run_that_begins_is_cancelled_by_an_administrator_and_whoever_looks_on_is_told(
    context: BrowserContext, made_scenario: Path, tmp_path: Path
) -> None:
    folder = shutil.copytree(made_scenario.parent, tmp_path / "begins")
    house = House(folder / made_scenario.name, "--launcher", "sh -c 'sleep 100; exit'")
    try:
        house.start(known=False)
        opened = {}
        for role in ("view", "admin"):  # the cookie is the last one's
            opened[role] = Opened(context.new_page(), house)
            opened[role].page.goto(f"{house.address}#token={TOKENS[role]}")
            expect(opened[role].chip).to_contain_text("Starting: starting the engine")
        assert opened["view"].page.get_by_role("button", name="Cancel").count() == 0
        opened["admin"].page.get_by_role("button", name="Cancel").click()
        expect(opened["view"].chip).to_have_text("The run has ended")
        expect(opened["admin"].chip).to_have_text("No run yet")
        for page in opened.values():
            assert page.complaints == []
    finally:
        house.stop()
