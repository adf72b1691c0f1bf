"""Where on the earth the map is: borders, names of towns, and the search among them; and its film."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import av
import httpx
from playwright.sync_api import expect

from tests.page.house import PATIENCE, Opened

WATCHED = """
const stroke = CanvasRenderingContext2D.prototype.fillText;
window.written = [];
CanvasRenderingContext2D.prototype.fillText = function (text, ...place) {
    window.written.push(text);
    return stroke.call(this, text, ...place);
};
"""


def test_towns_are_named_once_the_coast_is_there_and_can_be_searched_for(opened: Opened) -> None:
    page = opened.page
    page.add_init_script(WATCHED)
    page.reload()
    opened.wait("steppe.map.context.towns.length > 5000")
    opened.wait("written.includes('Hughenden') && written.includes('Winton')")
    names = [url.rpartition("/")[2].partition("-")[0] for url in opened.asked]
    assert names.index("land") < len(names) - 1 - names[::-1].index("places")
    field = page.get_by_role("combobox", name="Go to a town, or to latitude, longitude")
    field.click()
    field.fill("longre")
    expect(page.locator("#place-list li")).to_have_count(1)
    page.keyboard.press("Enter")
    view = page.evaluate("steppe.store.now.view")
    assert (round(view["x"], 2), round(view["y"], 2)) == (144.25, -23.44)
    assert page.evaluate("document.activeElement.id") == "map"
    opened.wait("written.includes('Longreach')")
    field.fill("21.5 S, 146° E")
    expect(page.locator("#place-list li")).to_have_text(["21.5° S, 146° E"])
    page.keyboard.press("Enter")
    assert page.evaluate("[steppe.store.now.view.x, steppe.store.now.view.y]") == [146, -21.5]
    field.fill("51.5, 0")
    expect(page.locator("#place-list li")).to_have_text(["This place is not on the map"])
    field.fill("146, -21.5")
    expect(page.locator("#place-list li")).to_have_text(["Give latitude, longitude: -27.5, 153"])
    assert page.evaluate("scrollX === 0 && document.querySelector('#place-list').getBoundingClientRect().right <= innerWidth")


def test_borders_of_countries_and_states_are_there(opened: Opened) -> None:
    opened.wait("steppe.map.context.states.length > 0")
    found = opened.page.evaluate(
        """() => steppe.map.context.states.map(({west, east, south, north}) => [west, east, south, north])
            .filter(([west, east, south, north]) => west > 137.9 && east < 141.1 && south > -29.5 && north < -10)"""
    )
    assert any(abs(west - 138.0) < 0.05 for west, *_ in found)  # Queensland's border with the Northern Territory


def test_the_help_says_whose_borders_and_towns_they_are(opened: Opened) -> None:
    opened.press("?")
    expect(opened.page.locator(".dialog[open]")).to_contain_text("Towns: GeoNames (CC BY 4.0)")


def test_the_command_that_the_page_gives_makes_a_film(opened: Opened) -> None:
    house = opened.house
    house.order("/step", {"steps": 90})
    house.order("/checkpoints", {})
    opened.press("x")
    command = opened.page.locator("#save-film").input_value()
    assert re.fullmatch(r"steppe plot out(/branches/\d+)? --movie water.mp4 --variable water", command)
    words = shlex.split(command)
    done = subprocess.run([sys.executable, "-m", *words], cwd=house.folder, capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr
    assert (house.folder / "water.mp4").stat().st_size > 1000


def test_the_button_saves_the_film_between_two_dates_in_the_colours_that_are_seen(opened: Opened, tmp_path: Path) -> None:
    page, house = opened.page, opened.house
    house.order("/step", {"until": "1990-05-10"})
    house.order("/checkpoints", {})
    opened.wait("steppe.store.now.ranges.water")
    opened.press("x")
    page.get_by_label("First day").fill("1990-02-10")
    page.get_by_label("Last day").fill("1990-04-01")
    with page.expect_download(timeout=1000 * PATIENCE) as saved:
        page.get_by_role("button", name="Film", exact=True).click()
        expect(page.get_by_role("button", name="Stop", exact=True)).to_be_visible()
        expect(page.get_by_role("progressbar", name="Progress of the film")).to_be_visible()
    assert saved.value.suggested_filename == "out-water.mp4"
    saved.value.save_as(tmp_path / "film.mp4")
    with av.open(str(tmp_path / "film.mp4")) as file:
        assert [(frame.width, frame.height) for frame in file.decode(video=0)] == 3 * [(1280, 720)]
    expect(page.get_by_text("The film is saved.")).to_be_visible()
    words = next(httpx.URL(url).params for url in opened.asked if "/film/" in url)
    low, high = page.evaluate("steppe.store.now.ranges.water")
    assert (float(words["low"]), float(words["high"]), words["style"]) == (low, high, page.evaluate("steppe.store.now.look.palette"))
    expect(page.get_by_role("button", name="Film", exact=True)).to_be_enabled()


def test_a_film_of_dates_that_are_not_there_is_refused_on_the_page(opened: Opened) -> None:
    page, house = opened.page, opened.house
    opened.expected.append("416")
    house.order("/step", {"until": "1990-05-10"})
    house.order("/checkpoints", {})
    opened.press("x")
    page.get_by_label("Last day").fill("1990-12-01")
    page.get_by_role("button", name="Film", exact=True).click()
    said = page.get_by_role("dialog", name="Save").get_by_role("status")
    expect(said).to_contain_text("to 1990-12-01 is not in the run")


def test_a_film_is_stopped_by_the_same_button(opened: Opened) -> None:
    page, house = opened.page, opened.house
    house.order("/step", {"until": "1991-02-10"})
    house.order("/checkpoints", {})
    opened.press("x")
    page.get_by_role("button", name="Film", exact=True).click()
    page.get_by_role("button", name="Stop", exact=True).click()
    expect(page.get_by_text("Stopped: there is no film.")).to_be_visible()
    expect(page.get_by_role("button", name="Film", exact=True)).to_be_enabled()
