"""Numbers and texts can be read: none is cut, broken or covered, whatever its size."""

import pytest
from playwright.sync_api import BrowserContext, expect

from tests.page.house import House, Opened, wait_for

NOTE_NUMBERS = """
    globalThis.written = []; // texts, and where they begin on their canvas
    const write = CanvasRenderingContext2D.prototype.fillText;
    CanvasRenderingContext2D.prototype.fillText = function (text, x, ...more) {
        written.push([text, this.textAlign === "right" ? x - this.measureText(text).width : x]);
        return write.call(this, text, x, ...more);
    };
"""
SERIES = """(values) => steppe.store.change({series: values.map((each, k) =>
    ({...steppe.store.now.series[0], scenario: ["main", "dry"][k], steps: [1, 2, 3], values: each, gaps: []}))})"""


def charted(context: BrowserContext, run: House, script: str) -> Opened:
    """The page with a chart of three steps of a pin; script: of the page, run first."""
    context.add_init_script(script)
    run.order("/step", {"steps": 3})
    opened = Opened(context.new_page(), run)
    opened.open(fragment="&variable=water&pins=21.75S143.75E")
    opened.wait("steppe.store.now.series[0]?.values.length === 3")
    opened.rest()
    return opened


def written(opened: Opened) -> dict[str, float]:
    """The texts on canvases, each with the place where it begins."""
    found: list[tuple[str, float]] = opened.page.evaluate("() => written")
    return dict(found)


@pytest.mark.parametrize("size", [1.0, 1e-10, 1e20])
def test_the_axis_of_a_chart_has_numbers_of_any_size_with_their_signs(context: BrowserContext, run: House, size: float) -> None:
    opened = charted(context, run, NOTE_NUMBERS)
    opened.page.evaluate("() => { written.length = 0 }")
    opened.page.evaluate(SERIES, [[-2 * size, 0, 2 * size]])
    wanted = {1.0: {"−2", "0", "2"}, 1e-10: {"−2e−10", "0", "2e−10"}, 1e20: {"−2e20", "0", "2e20"}}[size]
    opened.wait("written.some(([text]) => text.startsWith('−2'))")
    texts = written(opened)
    assert wanted <= {text.removesuffix(".0") for text in texts}
    assert min(texts[text] for text in texts if text.startswith("−2")) >= 0  # the sign is on the canvas
    assert opened.page.locator(".told i").first.evaluate("(mark) => getComputedStyle(mark).borderTopStyle") == "solid"


@pytest.mark.parametrize(("width", "text"), [(320, ".date"), (320, "#chip b"), (1024, "#chip b")])
def test_the_date_and_the_state_of_the_run_are_whole_in_a_narrow_window(opened: Opened, width: int, text: str) -> None:
    opened.page.set_viewport_size({"width": width, "height": 768})
    opened.house.order("/step", {"steps": 20})
    expect(opened.page.locator(text)).to_contain_text("29 Jan 1990")
    wait_for(lambda: opened.page.locator(text).evaluate("(each) => each.scrollWidth <= each.clientWidth"), seconds=5)


def test_values_of_two_scenarios_are_whole_on_a_phone(opened: Opened) -> None:
    opened.page.set_viewport_size({"width": 390, "height": 844})
    opened.house.order("/step", {"steps": 3})
    opened.open(fragment="&variable=water&pins=21.75S143.75E")
    opened.wait("steppe.store.now.series[0]?.values.length === 3")
    opened.rest()
    opened.page.evaluate(SERIES, [[1.0, 2.0, 12402.1123046875], [1.0, 2.0, -2.1092606e-31]])
    values = opened.page.locator("#series .pins b span")
    expect(values).to_have_text(["12 402.112", "−2.1092606e−31"])
    lines = """(value) => {
        const range = document.createRange();
        range.selectNodeContents(value);
        return range.getClientRects().length;
    }"""
    assert [value.evaluate(lines) for value in values.all()] == [1, 1]
    assert opened.page.evaluate("document.documentElement.scrollWidth") <= 390


def test_no_button_of_a_scenario_covers_its_words_on_a_phone(opened: Opened) -> None:
    opened.house.order("/scenarios", {"name": "dry"})
    opened.page.set_viewport_size({"width": 390, "height": 844})
    opened.page.get_by_role("tab", name="Scenarios").click()
    card = opened.page.get_by_role("treeitem", name="dry,")
    words, button = card.locator("small").first.bounding_box(), card.get_by_text("Rename").bounding_box()
    assert words
    assert button
    assert button["y"] >= words["y"] + words["height"] or button["y"] + button["height"] <= words["y"]


@pytest.mark.parametrize("width", [1280, 390])
def test_a_legend_has_numbers_at_both_ends_and_its_whole_unit(context: BrowserContext, run: House, width: int) -> None:
    context.add_init_script(NOTE_NUMBERS)
    run.order("/step", {"steps": 1})
    opened = Opened(context.new_page(), run)
    opened.page.set_viewport_size({"width": width, "height": 844})
    opened.open(fragment="&variable=water&range=0,4500")
    opened.wait("['0', '4 500'].every((end) => written.some(([text]) => text === end))")
    page = opened.page
    page.evaluate(
        """() => {
            const {run} = steppe.store.now;
            const [long_name, units] = ["Gain of soil water that no flux explains", "mol m-2 s-1"];
            steppe.store.change({run: {...run, variables: run.variables.map((each) => ({...each, long_name}))}});
            const rename = ({shown}) =>
                shown.some((each) => each.units !== units) && steppe.store.change({shown: shown.map((each) => ({...each, units}))});
            steppe.store.subscribe(({shown}) => shown, (_, state) => rename(state)); // each frame brings its own unit
        }"""
    )
    unit = page.locator("#legend h2 small")
    expect(unit).to_have_text("mol m⁻² s⁻¹")
    assert unit.evaluate("(unit) => unit.scrollWidth <= unit.clientWidth")
    expect(page.locator("#legend canvas")).to_have_attribute("title", "The bars grow with the square root of the number of cells.")


def test_titles_of_three_maps_cover_little_of_them(opened: Opened) -> None:
    opened.house.order("/step", {"steps": 1})
    opened.house.order("/scenarios", {"name": "dry", "from": {"scenario": "main", "step": 1}})
    opened.wait("steppe.store.now.info.scenarios.some(({ name }) => name === 'dry')")  # else the page drops it from the view
    opened.page.evaluate("steppe.store.look({scenarios: ['main', 'dry'], maps: 3})")
    titles = opened.page.locator(".title")
    expect(titles).to_have_count(3)
    opened.rest()  # the maps have come: before, a title says that there is none
    assert max(title.bounding_box()["height"] for title in titles.all()) <= 36  # type: ignore[index]


def test_lines_to_copy_have_room_for_their_scroll_bar(opened: Opened) -> None:
    opened.press("y")
    lines = opened.page.locator("#share-remote")
    expect(lines).to_be_visible()
    assert float(lines.evaluate("(field) => parseFloat(getComputedStyle(field).paddingBottom)")) >= 20


NOTE_DATES = """
    globalThis.dates = []; // texts on the axis of time, with both their ends in shares of the canvas
    const write = CanvasRenderingContext2D.prototype.fillText;
    CanvasRenderingContext2D.prototype.fillText = function (text, x, ...more) {
        const half = this.measureText(text).width / 2;
        if (this.canvas.closest(".plot") && this.textAlign === "center") dates.push([text, x - half, x + half - this.canvas.width]);
        return write.call(this, text, x, ...more);
    };
"""


@pytest.mark.parametrize("value", [5.0, None])
def test_dates_at_both_ends_of_a_chart_are_whole_and_no_notice_covers_it(context: BrowserContext, run: House, value: float | None) -> None:
    opened = charted(context, run, NOTE_DATES)
    opened.page.evaluate("() => { dates.length = 0 }")
    opened.page.evaluate(
        """(value) => steppe.store.change({series: [{...steppe.store.now.series[0], gaps: [],
            steps: Array.from({length: 19}, (_, k) => k + 2), values: new Array(19).fill(value)}]})""",
        value,
    )
    opened.wait("dates.some(([text]) => text === '29 Jan 1990') && dates.some(([text]) => text === '11 Jan 1990')")
    assert [text for text, begin, end in opened.page.evaluate("() => dates") if begin < 0 or end > 0] == []
    opened.page.evaluate("() => steppe.store.notify({weight: 'good', text: 'One step in main'})")
    notice, chart = opened.page.locator(".notice").bounding_box(), opened.page.locator("#chart").bounding_box()
    assert notice is not None
    assert chart is not None
    assert notice["y"] + notice["height"] <= chart["y"]
