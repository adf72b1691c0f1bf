"""The globe: a grid of the whole Earth, turned by dragging and by keys, with the server's values under the pointer."""

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cmcrameri import cm
from PIL import Image
from playwright.sync_api import BrowserContext, expect

from steppe.grid import Gaussian
from tests.client.test_gaussian import written
from tests.page.house import House, Opened, wait_for
from tests.page.test_context import WATCHED

GRID = Gaussian(16)
LATITUDES = np.asarray(GRID.lat)
SET = {(0, 0): 30.0, (0, 16): 12.0, (7, 31): 22.0, (8, 0): 35.0, (15, 9): 17.0, (6, 16): 27.0, (9, 24): 39.0}


@pytest.fixture(scope="module")
def earth(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    """A server of a Gaussian grid, some cells of which have a value of their own."""
    with House(written(tmp_path_factory.mktemp("earth"))) as house:
        for (row, column), value in SET.items():
            place = [column * 11.25, float(LATITUDES[row])]
            house.order("/set", {"variable": "concentration", "value": value, "region": {"cell": place}})
        house.order("/step", {"steps": 1})
        yield house


@pytest.fixture
def globe(context: BrowserContext, earth: House) -> Iterator[Opened]:
    """The page, switched to the globe by its button."""
    opened = Opened(context.new_page(), earth)
    opened.open(fragment="&palette=batlow&range=0,40")
    opened.page.get_by_role("switch", name="Globe").click()
    opened.wait("steppe.map.view.globe && location.hash.includes('globe=1')")
    yield opened
    assert opened.complaints == []


def test_a_place_is_gone_to_and_a_region_is_drawn_where_the_grid_counts_its_longitude(context: BrowserContext, earth: House) -> None:
    opened = Opened(context.new_page(), earth)
    page = opened.page
    page.add_init_script(WATCHED)
    opened.open(fragment="&region=box,-100,20,-60,50")
    opened.wait("written.includes('New York City')")
    expect(page.get_by_role("button", name="Change here")).to_be_visible()
    field = page.get_by_role("combobox", name="Go to a town, or to latitude, longitude")
    field.fill("New York")
    page.keyboard.press("Enter")
    opened.wait("Math.abs(steppe.store.now.view?.x - 285.99) < 0.01")
    opened.wait("steppe.map.under(400, 400).cell !== null")
    assert opened.complaints == []


def seen(opened: Opened) -> tuple[dict[str, Any], float, float]:
    """The view, and the middle of the map in the window."""
    box = opened.page.locator("#map").bounding_box()
    assert box is not None
    return opened.page.evaluate("() => steppe.map.view"), box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def vectors(longitude: Any, latitude: Any) -> Any:
    a, b = np.deg2rad(longitude), np.deg2rad(latitude)
    return np.stack([np.cos(b) * np.cos(a), np.cos(b) * np.sin(a), np.sin(b) + 0.0 * a], axis=-1)


def pixel(opened: Opened, row: int, column: int) -> tuple[float, float] | None:
    """Where the middle of a cell is in the window; None behind the globe and near its rim."""
    view, x, y = seen(opened)
    middle, a, b = vectors(view["x"], view["y"]), np.deg2rad(view["x"]), np.deg2rad(view["y"])
    east = np.array([-np.sin(a), np.cos(a), 0.0])
    north = np.array([-np.sin(b) * np.cos(a), -np.sin(b) * np.sin(a), np.cos(b)])
    place = vectors(column * 11.25, LATITUDES[row])
    radius = np.rad2deg(view["zoom"])
    return (x + radius * float(place @ east), y - radius * float(place @ north)) if place @ middle > 0.3 else None


def drag(opened: Opened, right: float, down: float) -> None:
    """Drags the map by pixels, as a hand does it."""
    _, x, y = seen(opened)
    mouse = opened.page.mouse
    mouse.move(x, y)
    mouse.down()
    for k in range(1, 6):
        mouse.move(x + right * k / 5, y + down * k / 5)
    mouse.up()
    mouse.move(x, y)


def text_of(house: House, row: int, column: int) -> str:
    return f"{house.value('concentration', row, column)!r} kg"


def colour(opened: Opened, at: tuple[float, float], canvas: str = "#field") -> tuple[int, ...]:
    """What a canvas has at a place of the window."""
    box = opened.page.locator("#map").bounding_box()
    assert box is not None
    found = opened.page.evaluate(
        """([canvas, x, y]) => {
            steppe.map.timed();
            const copy = new OffscreenCanvas(1, 1).getContext("2d");
            copy.drawImage(document.querySelector(canvas), -x, -y);
            return [...copy.getImageData(0, 0, 1, 1).data];
        }""",
        [canvas, round(at[0] - box["x"]), round(at[1] - box["y"])],
    )
    return tuple(found)


def test_a_person_turns_the_globe_and_reads_the_servers_values(globe: Opened) -> None:
    house, readout, found = globe.house, globe.page.locator("#readout"), set()
    for right, down in ((0, 0), (250, 0), (250, 0), (250, 0), (0, 190), (0, 190), (0, -450), (0, -400)):
        drag(globe, right, down)
        for row, column in SET:
            at = pixel(globe, row, column)
            if at is None or (row, column) in found:
                continue
            found.add((row, column))
            globe.page.mouse.move(*at)
            expect(readout).to_contain_text(f"row {row}, column {column}")
            expect(readout).to_contain_text(text_of(house, row, column))
            wanted = [round(255 * part) for part in cm.batlow(house.value("concentration", row, column) / 40.0)[:3]]
            drawn = colour(globe, at)
            assert max(abs(one - other) for one, other in zip(drawn[:3], wanted, strict=True)) <= 8, (row, column, drawn, wanted)
    assert found == set(SET)


def test_beside_the_globe_nothing_is_picked_and_nothing_drawn(globe: Opened) -> None:
    view, x, y = seen(globe)
    radius = float(np.rad2deg(view["zoom"]))
    globe.page.mouse.move(x, y)
    expect(globe.page.locator("#readout")).to_contain_text("row")
    for share, picks in ((0.99, True), (1.01, False)):
        at = x - radius * share * np.sqrt(0.5), y + radius * share * np.sqrt(0.5)
        globe.page.mouse.move(*at)
        expect(globe.page.locator("#readout")).to_contain_text("row" if picks else "Point at the map")
        assert colour(globe, at)[3] == (255 if picks else 0)
    globe.page.mouse.click(x - radius, y + radius)
    assert globe.page.evaluate("() => steppe.store.now.pins") == []


def test_the_field_has_no_seam_at_the_poles_and_on_the_date_line(globe: Opened) -> None:
    for smooth in ("false", "true"):
        for longitude, latitude in ((0, 90), (0, -90), (180, 0), (-5.625, 0), (354.375, 10)):
            globe.page.evaluate(
                f"() => {{ steppe.store.look({{smooth: {smooth}}});"
                f" steppe.store.change({{view: {{x: {longitude}, y: {latitude}, zoom: 5}}}}) }}"
            )
            opaque = globe.page.evaluate(
                """() => {
                    steppe.map.timed();
                    const canvas = document.querySelector("#field"), radius = 5 * 180 / Math.PI;
                    const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext("2d");
                    copy.drawImage(canvas, 0, 0);
                    const { data } = copy.getImageData(0, 0, canvas.width, canvas.height);
                    let holes = 0;
                    for (let y = 0; y < canvas.height; y++) for (let x = 0; x < canvas.width; x++) {
                        const inside = Math.hypot(x + 0.5 - canvas.width / 2, y + 0.5 - canvas.height / 2) < radius - 1;
                        if (inside && data[4 * (y * canvas.width + x) + 3] !== 255) holes++;
                    }
                    return holes;
                }"""
            )
            assert opaque == 0, (smooth, longitude, latitude)


def test_land_is_where_it_is_on_the_flat_map(globe: Opened) -> None:
    globe.wait("steppe.map.context.towns.length > 0")
    found = globe.page.evaluate(
        """() => {
            const { map, store } = steppe, pen = document.querySelector("#under").getContext("2d"), found = [];
            const land = (x, y) => map.coast.filter((each) => pen.isPointInPath(each.land, x, y, "evenodd")).length % 2;
            for (let k = 0; k < 80; k++) {
                const [x, y] = [(k * 47.3) % 358 - 179, (k * 31.7) % 176 - 88];
                const around = new Set([-1, 0, 1].flatMap((dx) => [-1, 0, 1].map((dy) => land(x + dx / 2, y + dy / 2))));
                if (around.size > 1) continue; // a shore is near
                store.change({ view: { x, y, zoom: 5 } });
                map.drawStill();
                const { width, height } = pen.canvas;
                found.push([...around, pen.getImageData(Math.floor(width / 2), Math.floor(height / 2), 1, 1).data.join(), x, y]);
            }
            return found;
        }"""
    )
    sea, land = ({colour for kind, colour, *_ in found if kind == wanted} for wanted in (0, 1))
    assert len(found) > 60
    assert len(sea) == len(land) == 1, found
    assert sea != land


def test_arrow_keys_turn_the_globe_under_the_cross_over_the_date_line(globe: Opened) -> None:
    globe.page.locator("#map").focus()
    globe.press("ArrowRight")
    row, column = globe.page.evaluate("() => [Math.floor(steppe.store.now.cursor.cell / 32), steppe.store.now.cursor.cell % 32]")
    for _ in range(20):
        globe.press("ArrowRight")
    after = globe.page.evaluate("() => steppe.store.now.cursor.cell")
    assert after == row * 32 + (column + 20) % 32
    view, _, _ = seen(globe)
    assert (view["x"] - (column + 20) * 11.25) % 360 == pytest.approx(0.0, abs=1e-6)
    for _ in range(20):
        globe.press("ArrowUp")  # the pole is the end
    assert globe.page.evaluate("() => steppe.store.now.cursor.cell") == (column + 20) % 32
    expect(globe.page.locator("#map-said")).to_contain_text("N,")
    globe.press("Enter")
    globe.wait("steppe.store.now.pins.length === 1")
    before = seen(globe)[0]["zoom"]
    globe.press("+")
    assert seen(globe)[0]["zoom"] == pytest.approx(1.5 * before)
    globe.press("m")
    globe.wait("!steppe.map.view.globe && location.hash.includes('globe=0')")


def test_a_box_over_the_date_line_holds_the_cells_that_it_encloses(globe: Opened) -> None:
    globe.page.evaluate("() => steppe.store.change({view: {x: 178, y: 0, zoom: 5}})")
    corners = [pixel(globe, 5, 14), pixel(globe, 9, 18)]
    assert corners[0] is not None
    assert corners[1] is not None
    globe.page.locator("#map").focus()
    globe.press("b")
    globe.page.mouse.move(corners[0][0] - 8, corners[0][1] - 8)
    globe.page.mouse.down()
    globe.page.mouse.move(corners[1][0] + 4, corners[1][1] + 4, steps=4)
    globe.page.mouse.move(corners[1][0] + 8, corners[1][1] + 8)
    globe.page.mouse.up()
    globe.wait("steppe.store.now.selection !== null")
    west, south, east, north = box = globe.page.evaluate("() => steppe.store.now.selection.box")
    assert east - west < 90
    told = globe.house.get(f"/data/concentration?box={','.join(map(str, box))}&format=csv")
    assert told.status_code == 200
    inside = (np.arange(32) * 11.25 - west) % 360 <= east - west
    rows = np.abs(LATITUDES - (south + north) / 2) <= (north - south) / 2
    assert inside.nonzero()[0].tolist() == [14, 15, 16, 17, 18]
    assert rows.nonzero()[0].tolist() == [5, 6, 7, 8, 9]
    expect(globe.page.locator("#series")).to_contain_text("25 cells")


def test_a_link_and_a_saved_picture_show_the_globe_as_it_is_seen(globe: Opened) -> None:
    drag(globe, -180, 90)
    view, x, y = seen(globe)
    globe.page.locator("#map").focus()
    globe.press("x")
    with globe.page.expect_download() as download:
        globe.page.get_by_role("button", name="As seen").click()
    image = np.asarray(Image.open(io.BytesIO(download.value.path().read_bytes())).convert("RGB")).astype(int)
    globe.press("Escape")
    box = globe.page.locator("#map").bounding_box()
    assert box is not None
    shot = np.asarray(Image.open(io.BytesIO(globe.page.screenshot(clip=box))).convert("RGB")).astype(int)
    radius = np.rad2deg(view["zoom"])
    for angle in range(0, 360, 30):
        for share in (0.2, 0.6, 0.95):
            right, up = radius * share * np.array([np.cos(np.deg2rad(angle)), np.sin(np.deg2rad(angle))])
            row, column = round(y - up - box["y"]), round(x + right - box["x"])
            part = slice(row - 4, row + 5), slice(column - 4, column + 5)
            if row > 75:  # below the title
                assert np.abs(np.median(image[part], axis=(0, 1)) - np.median(shot[part], axis=(0, 1))).max() <= 3, (angle, share)
    link = globe.page.evaluate("() => location.hash")
    globe.open(fragment="&" + link.removeprefix("#"))
    again, _, _ = seen(globe)
    assert again["globe"]
    assert [again[key] for key in ("x", "y", "zoom")] == pytest.approx([view[key] for key in ("x", "y", "zoom")], rel=1e-6)


def test_a_part_of_the_earth_has_no_globe(opened: Opened) -> None:
    expect(opened.page.locator("button.globe")).to_be_hidden()
    opened.page.locator("#map").focus()
    opened.press("m")
    expect(opened.page.locator("#notices")).to_contain_text("A globe needs a grid of the whole Earth.")
    assert not opened.page.evaluate("() => steppe.map.view.globe")


def test_two_scenarios_and_their_difference_turn_together(context: BrowserContext, tmp_path: Path) -> None:
    with House(written(tmp_path)) as house:
        house.order("/step", {"steps": 1})
        house.order("/scenarios", {"name": "other"})
        house.order("/set", {"variable": "concentration", "value": 20.0, "region": {"box": [-60, -60, 60, 60]}, "scenario": "other"})
        for name in ("main", "other"):
            house.order("/step", {"steps": 1, "scenario": name})
        opened = Opened(context.new_page(), house)
        opened.open(fragment="&globe=1&maps=3&scenario=main,other")
        opened.wait("steppe.screen.frames.length === 2 && steppe.screen.paired")
        third = opened.page.evaluate("() => steppe.map.panels.map(({x, width}) => x + width / 2)")
        assert len(third) == 3
        box = opened.page.locator("#map").bounding_box()
        assert box is not None
        opened.page.evaluate("() => steppe.store.change({view: {x: 0, y: 0, zoom: 2}})")
        for middle in third:
            at = box["x"] + middle, box["y"] + box["height"] / 2
            opened.page.mouse.move(*at)
            expect(opened.page.locator("#readout")).to_contain_text("column 0")
            assert colour(opened, at)[3] == 255
            assert colour(opened, (at[0], at[1] - 150))[3] == 0
        wait_for(lambda: "Difference" in opened.readout())
        opened.page.locator("#map").focus()
        opened.press("4")
        opened.wait("steppe.map.parts.length === 2 && steppe.map.panels.length === 1")
        drawn = [colour(opened, (box["x"] + box["width"] / 2 + dx, box["y"] + box["height"] / 2)) for dx in (-20, 20)]
        assert drawn[0][3] == drawn[1][3] == 255
        assert drawn[0] != drawn[1]
        assert opened.complaints == []
