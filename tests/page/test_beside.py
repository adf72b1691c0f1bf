"""Two variables side by side, two scenarios under a line that is swiped, and a vector as arrows."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import Browser, BrowserContext, expect

from steppe.api import decode
from tests.page.conftest import SOFTWARE, VIEW, chromium
from tests.page.house import House, Opened, wait_for
from tests.page.test_examples import run_file_of
from tests.page.test_looking import NOTE_TEXTS


def shown(opened: Opened, which: str = "frames[1]") -> Any:
    """The values of a frame on the screen, NaN outside the model, and its step of value."""
    levels, scale = opened.page.evaluate(
        f"() => {{ const f = steppe.screen.{which};"
        " return [[...f.levels].map((l) => l >= f.top - 1 ? null : f.offset + f.scale * l), f.scale] }"
    )
    return np.array(levels, float), scale


def served(opened: Opened, variable: str, more: str = "") -> Any:
    return np.asarray(decode(opened.house.get(f"/data/{variable}?format=raw{more}").content)[1], float).ravel()


def agrees(opened: Opened, which: str, variable: str, more: str = "") -> bool:
    found, step = shown(opened, which)
    return bool(np.nanmax(np.abs(found - served(opened, variable, more))) <= 0.51 * step)


def test_two_variables_are_shown_side_by_side_each_with_its_name_values_and_colours(context: BrowserContext, run: House) -> None:
    context.add_init_script(NOTE_TEXTS)
    opened = Opened(context.new_page(), run)
    opened.open()
    page = opened.page
    opened.house.order("/step", {"steps": 9})
    page.get_by_label("Beside it").select_option("runoff")
    opened.wait("steppe.screen.frames.length === 2 && steppe.store.now.shown[1].variable === 'runoff'")
    opened.wait("steppe.store.now.shown.every((each) => each.step === 9)")
    assert agrees(opened, "frames[0]", "water")
    assert agrees(opened, "frames[1]", "runoff")
    titles = page.locator(".title")
    expect(titles).to_have_count(2)
    expect(titles.nth(1)).to_contain_text("unoff")
    expect(page.locator("#legend-difference")).to_contain_text("unoff")
    opened.point(8, 5, 0, 2)
    exact = np.float32(opened.house.value("runoff", 8, 5))
    expect(page.locator("#readout dd").nth(2)).to_contain_text(np.format_float_positional(exact, trim="-"))

    # a saved picture has both legends
    page.locator("#map").focus()
    opened.press("x")
    with page.expect_download() as saved:
        page.get_by_role("button", name="As seen").click()
    saved.value.path()
    texts = page.evaluate("() => written")
    assert [texts.count(name) for name in ("Soil water", "Runoff")] == [1, 1]
    opened.press("Escape")
    expect(page.get_by_role("button", name="As seen")).to_be_hidden()  # the focus goes back by then
    page.locator("#map").focus()

    # a past date shows both, a link brings both back, and "none" ends it
    opened.press(",")
    opened.wait("steppe.store.now.shown.every((each) => each.step === 8 && !each.live)")
    assert agrees(opened, "frames[1]", "runoff", "&time=step:8")
    opened.wait("location.hash.includes('beside=runoff') && location.hash.includes('date=')")
    page.reload()
    opened.wait("steppe.screen?.frames.length === 2 && steppe.store.now.shown.every((each) => each.step === 8)")
    page.get_by_label("Beside it").select_option("none")
    expect(titles).to_have_count(1)
    assert opened.complaints == []


def test_a_line_is_swiped_between_two_scenarios(opened: Opened) -> None:
    house, page = opened.house, opened.page
    house.order("/scenarios", {"name": "full"})
    house.order("/set", {"variable": "water", "value": 100.0, "scenario": "full"})
    house.order("/set", {"variable": "water", "value": 20.0})
    page.evaluate("() => steppe.store.look({scenarios: ['main', 'full'], range: [0, 120]})")
    opened.press("4")
    opened.wait("steppe.screen.frames.length === 2")
    expect(page.get_by_role("radio", name="line to swipe")).to_be_checked()
    handle = page.get_by_role("slider", name="Line between main and full")
    left, right = opened.colours(8, 2), opened.colours(8, 8)
    assert left != right  # of main, and of full

    box = page.locator("#map").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 200)
    page.mouse.down()
    page.mouse.move(box["x"] + 0.95 * box["width"], box["y"] + 200, steps=4)
    page.mouse.up()
    opened.wait("steppe.store.now.swipe > 0.9")
    opened.page.wait_for_timeout(100)
    assert opened.colours(8, 8) == left
    handle.press("Home")
    opened.page.wait_for_timeout(100)
    assert opened.colours(8, 2) == right
    view = page.evaluate("() => steppe.store.now.view")
    assert view is None  # the map did not move with the line
    expect(page.locator(".title")).to_have_count(2)
    opened.press("1")
    expect(handle).to_be_hidden()


@pytest.fixture(scope="module")
def water(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    """A server of waves on shallow water."""
    with House(run_file_of("shallow_water.py", tmp_path_factory.mktemp("water"))) as house:
        yield house


@pytest.fixture
def shaded(browser: Browser) -> Iterator[BrowserContext]:
    """Of a browser that draws all with shaders: their lines are as dark as the ink that is counted."""
    other = browser.browser_type.launch(executable_path=chromium(), args=SOFTWARE)
    yield other.new_context(**VIEW)
    other.close()


def test_a_vector_is_drawn_as_arrows_that_point_where_it_flows(shaded: BrowserContext, water: House) -> None:
    shaded.add_init_script(NOTE_TEXTS)
    opened = Opened(shaded.new_page(), water)
    page = opened.page
    opened.open()
    water.order("/set", {"variable": "h", "value": 1.02, "region": {"box": [143.6, -21.9, 144.4, -20.9]}})
    water.order("/step", {"steps": 4})
    page.get_by_label("Arrows").select_option("flow")
    opened.wait("steppe.screen.arrows.length === 2 && steppe.screen.arrows.every((each) => each.step === 4)")
    assert agrees(opened, "arrows[0]", "flow_x")
    assert agrees(opened, "arrows[1]", "flow_y")
    expect(page.locator(".key")).to_contain_text("m²")

    # all to the south: each arrow is upright, with its head below
    for name, value in (("flow_x", 0.0), ("flow_y", 1.0)):
        water.order("/set", {"variable": name, "value": value})
    opened.wait("steppe.screen.arrows[1].levels.every((each) => each === steppe.screen.arrows[1].levels[0])")
    opened.wait("steppe.store.now.ranges.flow_y[1] >= 1")
    ink = """() => {
            const canvas = document.querySelector("canvas.over"), ratio = devicePixelRatio, step = 28 * ratio;
            const [x, y] = [Math.floor(canvas.width / 2 / step) * step + step / 2, Math.floor(canvas.height / 2 / step) * step + step / 2];
            const dark = (left, top, width, height) => canvas.getContext("2d").getImageData(left, top, width, height).data
                .reduce((sum, part, index, all) => sum + (index % 4 === 3 && part > 200 && all[index - 1] < 80), 0);
            const half = step / 2;
            return [dark(x - 8, y - half, 16, half), dark(x - 8, y, 16, half), dark(x - half, y - 2, half - 4, 4)];
        }"""

    def upright() -> bool:
        above, below, across = page.evaluate(ink)
        return bool(0 < above < below and across == 0)

    wait_for(upright)

    opened.press("x")  # a saved picture has them, too, and says how long they are
    with page.expect_download() as saved:
        page.get_by_role("button", name="As seen").click()
    with Image.open(saved.value.path()) as image:
        drawn = np.asarray(image.convert("RGB").resize((1280, round(1280 * image.height / image.width))))
    saved_dark = (drawn.max(axis=2) < 60).sum()
    assert saved_dark > 2000  # ink of some hundreds of arrows
    assert "Arrows: flow, as long as they are apart at 1.2 m² s⁻¹" in " ".join(page.evaluate("() => written"))
    opened.press("Escape")
    expect(page.get_by_role("button", name="As seen")).to_be_hidden()  # the focus goes back by then
    page.locator("#map").focus()

    opened.press(",")  # the past has its own arrows
    opened.wait("steppe.store.now.shown[0].step === 3 && steppe.screen.arrows.every((each) => each.step === 3)")
    assert agrees(opened, "arrows[1]", "flow_y", "&time=step:3")
    page.evaluate("steppe.store.change({run: {...steppe.store.now.run}})")  # as when the connection comes back
    assert page.evaluate("steppe.screen.arrows.length") == 2
    page.get_by_label("Arrows").select_option("none")
    opened.wait("steppe.screen.arrows.length === 0")
    assert opened.complaints == []
