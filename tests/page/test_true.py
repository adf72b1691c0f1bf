"""What the page says is so: where nothing is, what is only planned, what was refused, and a past that was given back."""

import re
from datetime import UTC, datetime

from playwright.sync_api import Browser, expect

from tests.page.house import House, Opened, wait_for
from tests.page.test_acting import draft


def test_pointing_where_the_model_is_not_says_nothing(opened: Opened) -> None:
    opened.house.order("/step", {"steps": 2})
    for row, column in ((4, 3), (0, 0), (7, 3), (3, 2)):  # three of them lie in the sea
        opened.point(row, column)
        opened.page.wait_for_timeout(400)
    expect(opened.page.locator(".notice")).to_have_count(0)


def test_a_planned_change_is_one_that_is_to_come_on_its_date(opened: Opened) -> None:
    page = opened.page
    opened.house.order("/step", {"steps": 5})
    draft(opened, "70")
    page.locator("#change-capacity-when").select_option("date")
    date = page.locator("#change-capacity-date")
    for text, says in (
        ("1990-02-30", "Give a date, such as 1990-01-15."),
        ("1990-01-12", "main stands at 14 Jan 1990: give a later date."),
        ("2005-01-01", "The run ends at 5 Mar 1991."),
    ):
        date.fill(text)
        date.press("Enter")
        expect(page.locator("#change-capacity-wrong")).to_have_text(says)
    date.fill("1990-03-01")
    date.press("Enter")
    expect(page.locator(".preview")).to_be_visible()
    date.press("Enter")
    expect(page.locator(".notice", has_text="planned in main for 1 Mar 1990")).to_be_visible()
    opened.press("Escape")
    page.locator("#tab-log").click()
    expect(page.locator("#pane-log")).to_contain_text(re.compile("1 Mar 1990.*waiting|waiting.*1 Mar 1990", re.DOTALL))


def test_a_trigger_that_has_fired_says_when(opened: Opened) -> None:
    opened.house.order("/triggers", {"expression": "mean(water) > 0", "action": "message", "text": "it is wet"})
    opened.house.order("/step", {"steps": 3})
    opened.press("s")
    trigger = opened.page.locator(".rules li", has_text="mean(water) > 0")
    expect(trigger).to_contain_text("last ")
    expect(trigger).not_to_contain_text("not yet")


def test_a_refusal_of_values_stands_in_the_window_that_asked(opened: Opened) -> None:
    opened.expected.append("Failed to load resource")
    opened.house.order("/step", {"steps": 3})
    opened.page.evaluate("() => steppe.store.change({dialog: 'save'})")
    opened.page.locator("#save-from").fill("1990-02-30")
    opened.page.get_by_role("button", name="CSV", exact=True).click()
    expect(opened.page.locator("dialog[open] [role=alert]")).to_contain_text("1990-02-30")


def test_a_draft_outlives_a_lost_connection(opened: Opened) -> None:
    opened.expected += ["WebSocket", "Failed to load"]
    draft(opened, "70")
    opened.house.stop()
    expect(opened.chip).to_contain_text("lost")
    opened.house.start()
    opened.wait("steppe.store.now.connection.link === 'live'")
    expect(opened.page.locator("#change-capacity-value")).to_have_value("70")


def test_an_undone_rewind_gives_back_the_map_of_a_diagnostic(opened: Opened) -> None:
    opened.house.order("/step", {"steps": 30})
    opened.variable("drainage")
    opened.wait("steppe.store.now.shown[0]?.variable === 'drainage' && steppe.store.now.shown[0].step === 30")
    opened.house.order("/scenarios/main/rewind", {"step": 12})
    opened.page.get_by_role("button", name="Undo").click()
    wait_for(lambda: opened.house.main()["step"] == 30)
    opened.wait("steppe.store.now.shown[0]?.step === 30 && steppe.store.now.preview === null")


def test_a_click_leaves_the_reading_though_the_browser_reports_a_departure(opened: Opened) -> None:
    opened.house.order("/step", {"steps": 3})
    opened.point(7, 3)
    readout = opened.page.locator("#readout")
    expect(readout).to_contain_text("row 7, column 3")
    x, y = opened.pixel(7, 3)
    left = "([x, y]) => document.querySelector('#map').dispatchEvent(new PointerEvent('pointerleave', {clientX: x, clientY: y}))"
    opened.page.evaluate(left, [x, y])  # as WebKit does when it releases a pointer, which is still there
    opened.page.wait_for_timeout(300)
    expect(readout).to_contain_text("row 7, column 3")
    opened.page.mouse.move(x, 10)
    expect(readout).to_contain_text("Point at the map")


def test_the_log_has_the_digits_of_the_page_in_any_language(browser: Browser, run: House) -> None:
    run.order("/step", {"steps": 3})
    hour = datetime.fromtimestamp(run.log()[-1]["accepted_at"], UTC).hour
    zone = f"Etc/GMT+{hour}" if hour <= 12 else f"Etc/GMT-{24 - hour}"
    context = browser.new_context(timezone_id=zone, locale="ar-EG")
    opened = Opened(context.new_page(), run)
    opened.open()
    opened.press("g")
    expect(opened.page.locator(".log-row time").first).to_have_text(re.compile("^00:"))
    context.close()
