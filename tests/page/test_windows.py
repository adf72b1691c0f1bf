"""Windows that are small, zoomed or of high contrast, and fingers on the map."""

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, expect

from tests.page.house import House, Opened

PLACE = """(selector) => {
    const {left, right, top, bottom} = document.querySelector(selector).getBoundingClientRect();
    return {left, right, top, bottom, seen: [0.1, 0.5, 0.9].every((part) => {
        const found = document.elementFromPoint(left + part * (right - left), bottom - 3);
        return found !== null && document.querySelector(selector).contains(found);
    })};
}"""


@pytest.fixture
def window(browser: Browser, run: House) -> Iterator[Any]:
    """Opens the page in a window of a size, after three steps."""
    run.order("/step", {"steps": 3})
    contexts = []

    def opened(width: int, height: int, **more: Any) -> Opened:
        contexts.append(browser.new_context(viewport={"width": width, "height": height}, reduced_motion="reduce", **more))
        found = Opened(contexts[-1].new_page(), run)
        found.open()
        return found

    yield opened
    for context in contexts:
        context.close()


@pytest.mark.parametrize(("width", "height"), [(1024, 768), (720, 450), (390, 844)])
def test_nothing_covers_the_map_its_degrees_and_its_legend_at_first_sight(window: Any, width: int, height: int) -> None:
    page = window(width, height).page
    legend, shown, time = (page.evaluate(PLACE, selector) for selector in ("#legend canvas", "#map", "#timeline"))
    assert legend["seen"], "the numbers of the legend are covered"
    assert shown["seen"], "the degrees at the foot of the map are covered"
    assert shown["bottom"] <= legend["top"] + 8 < legend["bottom"] <= time["top"] <= height - 30
    assert shown["bottom"] - shown["top"] >= 150
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.click("#tab-log")
    assert page.evaluate(PLACE, "#legend canvas")["seen"]  # whatever is shown beside the map


def test_two_scenarios_of_different_dates_leave_map_legend_and_time_in_a_window_at_200_percent(window: Any, run: House) -> None:
    run.order("/scenarios", {"name": "dry", "from": {"scenario": "main", "step": 1}})
    page = window(720, 450).page
    page.evaluate("steppe.store.look({scenarios: ['main', 'dry'], maps: 2})")
    expect(page.get_by_role("group", name="The date in view")).to_contain_text("dry is behind")
    legend, shown, time, play = (page.evaluate(PLACE, selector) for selector in ("#legend canvas", "#map", "#timeline", ".play"))
    assert legend["seen"]
    assert play["seen"]
    assert shown["bottom"] <= legend["top"] + 8 < legend["bottom"] <= time["top"] < time["bottom"] <= 450
    assert page.evaluate("document.documentElement.scrollWidth") <= 720


def test_the_state_of_the_run_and_who_steers_are_not_cut_in_a_window_of_1280(window: Any, run: House) -> None:
    page = window(1280, 800).page
    expect(page.locator("#steers")).to_contain_text("admin steers")
    for selector in ("#chip b", "#steers"):
        assert page.locator(selector).evaluate("(words) => words.scrollWidth <= words.clientWidth"), selector


def test_the_legend_goes_back_beside_the_map_in_a_wide_window(window: Any) -> None:
    page = window(1024, 768).page
    page.set_viewport_size({"width": 1300, "height": 800})
    expect(page.locator("#pane-look > #legend")).to_be_visible()
    assert page.locator("#legend canvas").bounding_box()["height"] == 68


def test_the_map_stays_where_it_is_whatever_is_told_of_the_run(window: Any, run: House) -> None:
    opened = window(1280, 800)
    before = opened.page.locator("#map").bounding_box()
    run.order("/step", {"steps": 2})
    expect(opened.page.locator("#steers")).to_contain_text("admin steers")
    assert opened.page.locator("#map").bounding_box() == before
    opened.press(" ")
    expect(opened.chip).to_contain_text("left")  # the longest of what it says: how fast, and how long it will take
    assert opened.page.locator("#map").bounding_box() == before
    opened.press(" ")


def test_one_finger_scrolls_the_page_and_two_move_the_map(window: Any) -> None:
    opened = window(390, 844, has_touch=True, is_mobile=True)
    page = opened.page
    touch = page.context.new_cdp_session(page)

    def drag(*fingers: tuple[int, int]) -> None:
        def points(moved: int) -> list[dict[str, int]]:
            return [{"x": x, "y": y - moved, "id": number} for number, (x, y) in enumerate(fingers)]

        touch.send("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": points(0)})
        for moved in range(10, 130, 10):
            touch.send("Input.dispatchTouchEvent", {"type": "touchMove", "touchPoints": points(moved)})
            page.wait_for_timeout(16)
        touch.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
        page.wait_for_timeout(400)

    before = page.evaluate("steppe.store.now.view")
    drag((200, 400))
    opened.wait("scrollY > 50")
    assert page.evaluate("steppe.store.now.view") == before
    page.evaluate("scrollTo(0, 0)")
    drag((150, 400), (250, 400))
    opened.wait("steppe.store.now.view !== null && steppe.store.now.view.y < -21.5")  # moved up, by two fingers
    assert page.evaluate("scrollY") == 0


def test_time_line_tabs_and_what_is_pressed_are_told_apart_under_forced_colours(window: Any) -> None:
    opened = window(1280, 800, forced_colors="active")
    page = opened.page
    paint = "(selector) => getComputedStyle(document.querySelector(selector))"
    bars = [page.evaluate(f"(s) => ({paint})(s).backgroundColor", f".line > .{name}") for name in ("future", "played", "kept", "now")]
    assert len(set(bars)) == 4
    tabs = [page.evaluate(f"(s) => ({paint})(s).borderBottomColor", f"#tab-{name}") for name in ("look", "steer", "log")]
    assert tabs[0] != tabs[1] == tabs[2]
    pressed, other = (
        page.evaluate(f"(s) => ({paint})(s).backgroundColor", f"[role=radio][aria-checked={state}]") for state in ("true", "false")
    )
    assert pressed != other
    ink = page.evaluate("steppe.map.theme.colours.ink")
    assert ink == "CanvasText"  # what is drawn on canvases follows, too
    for name in ("arrow", "hatch", "swipe"):  # the lines of the keys and the line between two scenarios
        assert "gradient" in page.evaluate(f"(s) => ({paint})(s).backgroundImage", f".{name}")


def test_the_map_names_its_variable(window: Any) -> None:
    page = window(1280, 800).page
    expect(page.locator(".title").first).to_contain_text("Soil water, mm,")
