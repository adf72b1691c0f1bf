"""Numbers are the server's: charts hold what `GET /series` answers, gaps have a reason, and all viewers see the same colours."""

import re
import shutil
import signal
from pathlib import Path
from typing import Any

from playwright.sync_api import BrowserContext, WebSocketRoute, expect

from tests.errors.damage import forget_early_actions
from tests.page.house import House, Opened, wait_for

PLACE = "at=143.75,-21.75"


def lines(opened: Opened) -> list[dict[str, Any]]:
    """The lines of the chart as they are drawn."""
    found: list[dict[str, Any]] = opened.page.evaluate("() => steppe.store.now.series")
    return found


def told(house: House, where: str, last: int, variable: str = "water") -> dict[str, Any]:
    """The same from the server."""
    found: dict[str, Any] = house.get(f"/series/{variable}?{where}&time=step:1/{last}&points=10000").json()
    return found


def test_pin_play_reload_and_the_series_is_the_servers_at_every_step(opened: Opened) -> None:
    house = opened.house
    house.order("/step", {"steps": 5})
    opened.page.mouse.click(*opened.pixel(7, 3))
    opened.page.evaluate("() => steppe.store.change({selection: {box: [143.5, -22, 145, -20.5]}})")
    house.order("/step", {"steps": 60})
    house.order("/set", {"variable": "water", "value": 90.0})
    house.order("/step", {"steps": 40})

    def whole(last: int) -> bool:
        return all(line["end"] == last and not any(gap["open"] for gap in line["gaps"]) for line in lines(opened))

    def check() -> None:
        wait_for(lambda: len(lines(opened)) == 2 and whole(105))
        cell, region = lines(opened)
        series = told(house, PLACE, 105)
        assert cell["steps"] == series["steps"] == [*range(1, 106)]
        assert cell["values"] == series["values"][0]
        assert [region["values"], region["low"], region["high"]] == told(house, "box=143.5,-22,145,-20.5", 105)["values"]

    check()
    opened.page.reload()
    check()
    house.order("/scenarios/main/rewind", {"step": 50})
    house.order("/step", {"steps": 20})
    wait_for(lambda: whole(70))
    assert lines(opened)[0]["values"] == told(house, PLACE, 70)["values"][0]


def test_a_chart_at_full_speed_and_after_a_dropped_line_is_told_every_step(context: BrowserContext, run: House) -> None:
    run.order("/step", {"steps": 3})
    opened, sockets = Opened(context.new_page(), run), list[WebSocketRoute]()

    def between(socket: WebSocketRoute) -> None:
        sockets.append(socket)
        socket.connect_to_server()

    opened.page.route_web_socket(re.compile("/live$"), between)
    opened.open(fragment="&variable=water&pins=21.75S143.75E")
    opened.wait("steppe.store.now.series[0]?.end === 3")
    opened.rest()
    asked = len([address for address in opened.asked if "/series/" in address])
    run.order("/step", {"steps": 250})
    opened.wait("steppe.store.now.series[0].end === 253")
    assert len([address for address in opened.asked if "/series/" in address]) - asked <= 8  # the rest came by the socket
    sockets[-1].close(code=1012)
    run.order("/step", {"steps": 60})
    opened.wait("steppe.store.now.series[0].end === 313")
    opened.wait("!steppe.store.now.series[0].gaps.some(each => each.open)")
    (line,) = lines(opened)
    series = told(run, PLACE, 313)
    assert (line["steps"], line["values"]) == ([*range(1, 314)], series["values"][0])
    assert None not in line["values"]
    assert opened.complaints == []


def test_a_chart_tells_values_on_hover_and_a_click_looks_there_and_orders_nothing(opened: Opened) -> None:
    house = opened.house
    house.order("/step", {"steps": 90})
    opened.page.mouse.click(*opened.pixel(7, 3))
    opened.wait("steppe.store.now.series[0]?.end === 90 && !steppe.store.now.series[0].gaps.length")
    orders = len(house.log())
    chart = opened.page.locator("#chart .u-over")
    box, map_box = chart.bounding_box(), opened.page.locator("#map").bounding_box()
    assert box is not None
    assert map_box is not None
    assert box["width"] > 0.85 * map_box["width"]
    opened.page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 30)
    opened.wait("steppe.store.now.pointed !== null")
    step = opened.page.evaluate("() => steppe.store.now.pointed")
    value = house.get(f"/series/water?{PLACE}&time=step:{step}").json()["values"][0][0]
    expect(opened.page.locator("#chart .told")).to_contain_text(str(value))
    opened.page.mouse.click(box["x"] + box["width"] / 2, box["y"] + 30)
    opened.wait(f"steppe.store.now.preview === {step}")
    expect(opened.page.locator("#series .pins")).to_contain_text(str(value))
    assert len(house.log()) == orders
    opened.page.mouse.move(box["x"] + 40, box["y"] + 30)
    opened.page.mouse.down()
    opened.page.mouse.move(box["x"] + 200, box["y"] + 30, steps=5)
    opened.page.mouse.up()
    opened.wait("steppe.store.now.zoomed !== null")
    opened.page.get_by_role("button", name="Whole length").click()
    opened.wait("steppe.store.now.zoomed === null")


def test_steps_that_are_not_at_hand_are_a_gap_with_the_reason(context: BrowserContext, made_scenario: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(made_scenario.parent, tmp_path / "scenario")
    with House(folder / made_scenario.name) as house:
        house.order("/step", {"steps": 30})
        house.stop(signal.SIGTERM)
        forget_early_actions(folder)  # so that the first steps cannot be computed again
        house.start()
        house.order("/step", {"steps": 10})
        opened = Opened(context.new_page(), house)
        opened.open(fragment="&variable=water&pins=21.75S143.75E")
        opened.wait("steppe.store.now.series[0]?.gaps.length && !steppe.store.now.series[0].gaps.some(each => each.open)")
        (line,) = lines(opened)
        series = told(house, PLACE, 40)
        assert line["values"] == series["values"][0]
        assert None in line["values"]
        assert line["values"][-1] is not None
        assert [(gap["first"], gap["last"]) for gap in line["gaps"]] == [(gap["first"], gap["last"]) for gap in series["gaps"]]
        expect(opened.page.locator("#chart .why")).to_contain_text('No record of "water" holds these steps')
        expect(opened.page.locator("#chart .why")).to_have_attribute("tabindex", "0")  # it scrolls where it is long
        assert opened.complaints == []


def test_two_browsers_have_the_same_colours_whatever_each_saw_before(opened: Opened) -> None:
    house = opened.house
    house.order("/set", {"variable": "water", "value": 110.0})
    house.order("/step", {"steps": 40})
    browser = opened.page.context.browser
    assert browser is not None
    other = Opened(browser.new_context(viewport={"width": 900, "height": 700}).new_page(), house)
    other.open()
    ranges = "() => steppe.store.now.ranges.water"
    wait_for(lambda: opened.page.evaluate(ranges) == other.page.evaluate(ranges) != None)  # noqa: E711
    low, high = opened.page.evaluate(ranges)
    for each in (opened, other):
        expect(each.page.locator("#legend canvas")).to_have_attribute("aria-label", re.compile(f"from {low:g} to {high:g} "))
    opened.wait(f"location.hash.includes('range={low:g},{high:g}')")
    opened.page.get_by_role("button", name="Fit to this map").click()
    fit = house.get("/fit/water").json()
    opened.wait(f"steppe.store.now.look.range?.join() === '{fit['low']:g},{fit['high']:g}'")
    assert opened.page.evaluate(ranges) == [low, high]
    other.page.context.close()
