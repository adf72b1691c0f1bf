"""The page of a run of steps of ten minutes: it shows instants, and orders and links name them."""

from pathlib import Path

from playwright.sync_api import BrowserContext, expect

from tests.minutes import made
from tests.page.house import House, Opened, wait_for
from tests.page.test_windows import PLACE


def test_the_page_shows_links_and_orders_instants(context: BrowserContext, tmp_path: Path) -> None:
    with House(made(tmp_path)) as house:
        house.order("/step", {"until": "2001-03-05T06:00"})
        wait_for(lambda: house.main()["step"] == 36)
        opened = Opened(context.new_page(), house)
        opened.open()
        expect(opened.page.locator("body")).to_contain_text("5 Mar 2001, 06:00")
        opened.page.get_by_role("slider").first.focus()
        opened.press("ArrowLeft")
        expect(opened.page.locator("body")).to_contain_text("5 Mar 2001, 05:50")
        opened.open(fragment="&run=out&date=2001-03-05T05:40")
        expect(opened.page.locator("body")).to_contain_text("5 Mar 2001, 05:40")
        opened.open()
        expect(opened.page.get_by_role("button", name="+1 month")).to_be_hidden()  # the run is shorter
        opened.press("n")
        opened.page.get_by_label("Date", exact=True).and_(opened.page.get_by_role("textbox")).fill("2001-03-06T06:00")
        opened.press("Enter")
        wait_for(lambda: house.main()["step"] == 180)
        assert house.main()["date"] == "2001-03-06T06:00"
        opened.page.set_viewport_size({"width": 720, "height": 450})  # a date with its time leaves room for the legend, at 200 % too
        expect(opened.chip).to_contain_text("6 Mar 2001, 06:00")
        opened.wait(f"({PLACE})('#legend canvas').seen")
        assert opened.complaints == []


def test_a_planned_change_is_listed_at_once_by_the_instant_at_which_it_takes_effect(context: BrowserContext, tmp_path: Path) -> None:
    with House(made(tmp_path)) as house:
        house.order("/step", {"until": "2001-03-05T06:00"})
        wait_for(lambda: house.main()["step"] == 36)
        opened = Opened(context.new_page(), house)
        opened.open()
        page = opened.page
        opened.press("s")
        page.keyboard.type("rate")
        opened.press("Enter")
        page.locator("#change-rate-value").fill("0.15")
        page.locator("#change-rate-when").select_option("date")
        page.locator("#change-rate-date").fill("2001-03-05T12:00")
        opened.press("Enter")
        page.get_by_role("button", name="Set in main").press("Enter")
        rules = page.get_by_role("region", name="Events and triggers")
        expect(rules).to_contain_text("set to 0.15 everywhere, 5 Mar 2001, 12:00")
        expect(page.locator("#timeline .event[title='rate, 5 Mar 2001, 12:00']")).to_have_count(1)
        assert [each["at_step"] for each in house.get("/events").json()["events"]] == [72]
        rules.get_by_role("button", name="Remove: ").click()
        expect(rules).to_contain_text("None. A change with")
        house.order("/events", {"variable": "rate", "value": 0.05, "when": {"date": "2001-03-05T18:00"}})
        expect(rules).to_contain_text("set to 0.05 everywhere, 5 Mar 2001, 18:00")
        assert opened.complaints == []
