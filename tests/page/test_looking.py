"""Looking: what is drawn is what the server has, and what is printed is what the server said."""

import io
import re
import shutil
import struct
from pathlib import Path

import numpy as np
import pytest
from cmcrameri import cm
from PIL import Image
from playwright.sync_api import BrowserContext, WebSocketRoute, expect

from tests.page.house import House, Opened, wait_for

NOTE_TEXTS = """
    globalThis.written = [];
    const write = CanvasRenderingContext2D.prototype.fillText;
    CanvasRenderingContext2D.prototype.fillText = function (text, ...more) { written.push(text); return write.call(this, text, ...more) };
"""
CELLS = [(1, 1), (7, 3), (12, 9), (9, 5)]
OUTSIDE = (4, 3)  # in the hole of the mask


def test_known_cells_have_the_palette_colour(opened: Opened) -> None:
    house = opened.house
    house.order("/set", {"variable": "water", "value": 0.0})
    for number, (row, column) in enumerate(CELLS):
        place = [143.0 + 0.25 * column, -20.0 - 0.25 * row]
        house.order("/set", {"variable": "water", "value": 25.0 * (number + 1), "region": {"cell": place}})
    house.order("/step", {"steps": 1})
    opened.open(fragment="&variable=water&palette=batlow&range=0,100")
    expect(opened.page.locator("#titles")).to_contain_text("10 Jan 1990")
    opened.rest()
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


def test_missing_cells_are_hatched(context: BrowserContext, run: House) -> None:
    run.order("/step", {"steps": 1})
    opened = Opened(context.new_page(), run)
    cells = [row * 11 + column for row in range(6, 11) for column in range(2, 9)]

    def without(content: bytes | str) -> bytes | str:
        """A map as the server sends it where cells have no value."""
        if isinstance(content, str) or content[:4] != b"STPF":
            return content
        found = bytearray(content)
        struct.pack_into("<I", found, 56, len(cells))
        for cell in cells:
            struct.pack_into("<H", found, 64 + 2 * cell, 0xFFFE)
        return bytes(found)

    def between(socket: WebSocketRoute) -> None:
        server = socket.connect_to_server()
        server.on_message(lambda content: socket.send(without(content)))

    opened.page.route_web_socket(re.compile("/live$"), between)
    opened.open()
    missing = opened.page.locator("#legend .missing")
    expect(missing).to_be_visible()
    expect(missing).to_contain_text(f"{len(cells)} cells")
    assert {colour[3] for colour in opened.colours(1, 1, spread=3)} == {255}
    drawn = np.array(opened.colours(8, 5, spread=24)).reshape(49, 49, 4)
    assert len({tuple(colour) for colour in drawn.reshape(-1, 4)}) >= 2
    ink = drawn[..., 3] > 127
    assert 0.1 < ink.mean() < 0.9
    along, across = (ink[2:, :-2] == ink[:-2, 2:]).mean(), (ink[2:, 2:] == ink[:-2, :-2]).mean()
    assert max(along, across) > 0.95  # stripes of 45 degrees: the same 2 pixels on and 2 up ...
    assert min(along, across) < 0.6  # ... and another 2 down, half a stripe of 8
    opened.point(8, 5)
    expect(opened.page.locator("#readout")).to_contain_text("22° S, 144.25° E")


def test_readout_is_the_servers_number(opened: Opened) -> None:
    opened.press(".")
    expect(opened.chip).to_contain_text("10 Jan 1990")
    for row, column in CELLS:
        opened.point(row, column)
        exact = np.float32(opened.house.value("water", row, column))
        wanted = f"{np.format_float_positional(exact, trim='-')} mm"
        expect(opened.page.locator("#readout")).to_contain_text(f"row {row}, column {column}")
        expect(opened.page.locator("#readout")).to_contain_text(wanted.replace("-", "−"))
        assert f"row {row}, column {column}" in opened.readout()["Cell centre"]


def test_pin_makes_a_series(opened: Opened) -> None:
    opened.house.order("/step", {"steps": 12})
    opened.page.mouse.click(*opened.pixel(7, 3))
    pinned = opened.page.locator("#series")
    expect(pinned).to_contain_text("21.75° S, 143.75° E")
    opened.wait("steppe.store.now.series[0]?.values.filter((value) => value !== null).length === 12")
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
    with opened.page.expect_download() as download:
        opened.page.get_by_role("button", name="CSV", exact=True).click()
    assert download.value.path().read_text().startswith("# variable water, unit mm, scenario main\ntime,longitude,latitude,water [mm]\n")
    opened.press("Escape")
    opened.page.evaluate(
        """() => steppe.store.change({series: ["main", "dry"].flatMap((scenario) =>
            steppe.store.now.series.map((line) => ({...line, scenario, values: line.values.map(() => -1.2345678901234567e-200)})))})"""
    )
    expect(pinned.locator(".pins")).to_contain_text(" | −1.23")
    end, remove = opened.page.locator("#side").bounding_box(), pinned.get_by_role("button", name="Remove pin 1").bounding_box()
    assert remove is not None
    assert end is not None
    assert remove["x"] + remove["width"] <= end["x"] + end["width"]
    opened.page.evaluate("() => steppe.store.change({series: steppe.store.now.series.map((line) => ({...line, end: 0, steps: []}))})")
    opened.press("x")
    opened.page.get_by_role("button", name="Series as CSV").click()
    expect(opened.page.get_by_role("alert").filter(has_text="have not come yet")).to_be_visible()


def test_range_change_moves_no_bytes(opened: Opened) -> None:
    opened.press(".")
    expect(opened.chip).to_contain_text("10 Jan 1990")
    opened.rest()
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
    assert [address for address in opened.asked[asked:] if "/assets/" not in address] == []  # parts of the page are kept by the browser
    assert opened.frames == frames


def test_png_has_legend_and_digest(context: BrowserContext, run: House) -> None:
    context.add_init_script(NOTE_TEXTS)
    opened = Opened(context.new_page(), run)
    run.order("/step", {"steps": 1})
    opened.open(fragment="&variable=water&palette=batlow&range=0,300")
    opened.press("x")
    digest = run.get("/grid").json()["digest"]
    widths = []
    for name in ("As seen", "Twice as fine"):
        opened.page.evaluate("() => { written.length = 0 }")
        with opened.page.expect_download() as download:
            opened.page.get_by_role("button", name=name).click()
        image = np.asarray(Image.open(io.BytesIO(download.value.path().read_bytes())).convert("RGB"))
        widths.append(image.shape[1])
        texts = " ".join(opened.page.evaluate("() => written"))
        for words in ("main", "10 Jan 1990", "km", "300", "mm", digest[:16], "bucket", "F. Crameri"):
            assert words in texts, words
        height = round(opened.page.locator("#map").bounding_box()["height"] * widths[-1] / widths[0])  # type: ignore[index]
        foot = {tuple(colour) for colour in image[height:].reshape(-1, 3)}
        bar = [tuple(round(255 * part) for part in cm.batlow(k)[:3]) for k in range(0, 256, 8)]
        there = [any(max(abs(int(a) - b) for a, b in zip(colour, wanted, strict=True)) <= 3 for colour in foot) for wanted in bar]
        assert all(there)
    assert widths[1] == pytest.approx(2 * widths[0], rel=0.01)
    assert opened.complaints == []


def test_phone_has_no_sideways_scroll(opened: Opened) -> None:
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


def test_a_projected_map_says_what_its_lines_are_and_that_it_has_no_coastline(
    context: BrowserContext, projected: Path, tmp_path: Path
) -> None:
    folder = shutil.copytree(projected, tmp_path / "projected")
    context.add_init_script(NOTE_TEXTS)
    with House(folder / "run.toml") as house:
        opened = Opened(context.new_page(), house)
        opened.open()
        wait_for(lambda: "albers conical equal area, x and y in km; no coastline" in opened.page.evaluate("() => written"))
        opened.wait("steppe.store.now.grid.places !== null && steppe.store.now.grid.active !== null")
        pinned = opened.page.evaluate(
            """() => {
                const {grid} = steppe.store.now;
                const cell = grid.active.lastIndexOf(1);
                steppe.store.change({pins: [{cell, place: grid.places[cell], colour: 1}]});
                return cell;
            }"""
        )
        opened.wait("location.hash.includes('pins=')")
        opened.page.reload()
        opened.wait(f"steppe.store.now.pins[0]?.cell === {pinned}")  # by its longitude and latitude
        assert opened.complaints == []
