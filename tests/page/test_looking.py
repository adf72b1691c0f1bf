"""Looking: what is drawn is what the server has, and what is printed is what the server said."""

import io
import math

import numpy as np
import pytest
from cmcrameri import cm
from playwright.sync_api import expect

from tests.page.house import COLUMNS, ROWS, Opened, wait_for

CELLS = [(1, 1), (7, 3), (12, 9), (9, 5)]
OUTSIDE = (4, 3)  # in the hole of the mask


def test_known_cells_have_the_palette_colour(opened: Opened) -> None:
    house = opened.house
    house.order("/set", {"variable": "water", "value": 0.0})
    for number, (row, column) in enumerate(CELLS):
        place = [143.0 + 0.25 * column, -20.0 - 0.25 * row]
        house.order("/set", {"variable": "water", "value": 25.0 * (number + 1), "region": {"cell": place}})
    house.order("/step", {"steps": 1})
    opened.open(fragment="&palette=batlow&range=0,100")
    expect(opened.page.locator("#titles")).to_contain_text("10 Jan 1990")
    for row, column in CELLS:
        share = house.value("water", row, column) / 100.0
        wanted = [round(255 * part) for part in cm.batlow(min(max(share, 0.0), 1.0))[:3]]
        near = [round(255 * part) for part in cm.batlow(min(max(share, 0.0), 1.0) - 1 / 256)[:3]]
        ((red, green, blue, opacity),) = opened.colours(row, column)
        assert opacity == 255
        slack = 2 + max(abs(one - other) for one, other in zip(wanted, near, strict=True))  # a neighbour in the table of 256
        assert max(abs(a - b) for a, b in zip((red, green, blue), wanted, strict=True)) <= slack, (row, column, share)


def test_outside_is_not_drawn(opened: Opened) -> None:
    opened.press(".")
    wait_for(lambda: opened.colours(1, 1)[0][3] == 255)
    assert {colour[3] for colour in opened.colours(*OUTSIDE, spread=3)} == {0}
    assert {colour[3] for colour in opened.colours(0, 0, spread=3)} == {0}
    opened.point(*OUTSIDE)
    expect(opened.page.locator("#readout")).to_contain_text("outside the model")


def test_missing_cells_are_hatched(opened: Opened) -> None:
    opened.variable("runoff")  # before the first step nothing has run off anywhere
    expect(opened.page.locator("#legend")).to_contain_text("missing")
    drawn = opened.colours(8, 5, spread=12)
    colours = set(drawn)
    assert 2 <= len(colours) <= 40  # stripes of one colour, with soft edges
    opacities = np.array([colour[3] for colour in drawn]).reshape(25, 25)
    ink = opacities > 127
    assert 0.05 < ink.mean() < 0.95
    for shift in (1, 2):  # at 45 degrees: what is drawn lies once more a pixel along both axes
        same_up = (ink[shift:, shift:] == ink[:-shift, :-shift]).mean()
        same_down = (ink[shift:, :-shift] == ink[:-shift, shift:]).mean()
        assert max(same_up, same_down) > 0.9
        assert min(same_up, same_down) < 0.9


def test_readout_is_the_servers_number(opened: Opened) -> None:
    opened.press(".")
    expect(opened.chip).to_contain_text("10 Jan 1990")
    for row, column in CELLS:
        opened.point(row, column)
        exact = np.float32(opened.house.value("water", row, column))
        wanted = f"{np.format_float_positional(exact, trim='-')} mm"
        expect(opened.page.locator("#readout")).to_contain_text(wanted.replace("-", "−"))
        assert f"row {row}, column {column}" in opened.readout()["Cell centre"]


def test_pin_makes_a_series(opened: Opened) -> None:
    opened.house.order("/step", {"steps": 12})
    opened.page.mouse.click(*opened.pixel(7, 3))
    pinned = opened.page.locator("#series")
    expect(pinned).to_contain_text("21.75° S, 143.75° E")
    opened.wait("steppe.store.now.series[0]?.steps.length === 12")
    opened.press("x")
    with opened.page.expect_download() as download:
        opened.page.get_by_role("button", name="Series as CSV").click()
    text = download.value.path().read_text()
    rows = [line.split(",") for line in text.splitlines() if not line.startswith("#")][1:]
    times = "time=1990-01-10/1990-01-21"
    told = opened.house.get(f"/series/water?at=143.75,-21.75&{times}").json()
    assert [row[1] for row in rows] == told["dates"]
    assert [float(row[2]) for row in rows] == pytest.approx(told["values"][0], rel=1e-3)
    assert "unit mm" in text
    assert "longitude 143.75, latitude -21.75" in text


def test_range_change_moves_no_bytes(opened: Opened) -> None:
    opened.press(".")
    expect(opened.chip).to_contain_text("10 Jan 1990")
    opened.page.wait_for_timeout(500)
    asked, frames, before = len(opened.asked), opened.frames, opened.colours(7, 3)
    opened.press("l")
    for label, text in (("Least value of the colours", "−50"), ("Most value of the colours", "400")):
        field = opened.page.get_by_label(label)
        field.fill(text)
        field.press("Enter")
    wait_for(lambda: opened.colours(7, 3) != before)
    opened.page.click("#map", position={"x": 3, "y": 3})
    opened.press("e", "c", "Escape", "Escape")
    opened.page.wait_for_timeout(300)
    assert opened.asked[asked:] == []
    assert opened.frames == frames


def test_png_has_legend_and_digest(opened: Opened) -> None:
    from PIL import Image

    opened.press(".")
    expect(opened.chip).to_contain_text("10 Jan 1990")
    opened.press("x")
    sizes = []
    for name in ("As seen", "Twice as fine"):
        with opened.page.expect_download() as download:
            opened.page.get_by_role("button", name=name).click()
        content = download.value.path().read_bytes()
        assert content[:8] == b"\x89PNG\r\n\x1a\n"
        image = Image.open(io.BytesIO(content))
        sizes.append(image.size)
        digest = opened.house.get("/grid").json()["digest"]
        words = str(image.text)
        assert "batlow" in words or "lapaz" in words
        assert digest[:8] in words
        assert "bucket" in words
    assert math.isclose(sizes[1][0] / sizes[0][0], 2.0, rel_tol=0.02)


def test_phone_has_no_sideways_scroll(opened: Opened) -> None:
    assert (ROWS, COLUMNS) == (14, 11)
    opened.page.set_viewport_size({"width": 390, "height": 844})
    for pane in ("look", "steer", "scenarios", "log"):
        opened.page.click(f"#tab-{pane}")
        opened.page.wait_for_timeout(200)
        wide, window = opened.page.evaluate("[document.documentElement.scrollWidth, document.documentElement.clientWidth]")
        assert wide <= window, pane
    small = opened.page.evaluate(
        """[...document.querySelectorAll("button, select, input, [role=tab]")].filter(each => {
            const box = each.getBoundingClientRect();
            return box.width > 0 && !each.closest("[hidden]") && box.height < 24;
        }).map(each => each.outerHTML.slice(0, 80))"""
    )
    assert [each for each in small if "checkbox" not in each] == []
