"""A model of one's own: classes whose numbers are far apart, and a name with letters of another alphabet."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, expect

from tests.page.house import House, Opened, wait_for
from tests.scenario import copied

CLASSES = {111: "town", 112: "village", 121: "works", 211: "field", 231: "pasture", 311: "wood", 411: "marsh", 511: "river", 523: "sea"}
CELLS = {111: (0, 5), 112: (1, 5), 523: (2, 5)}


@pytest.fixture(scope="module")
def own(made_scenario: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    """A server of the bucket with another parameter for its leak, and a class of land in place of a capacity."""
    run_file = copied(made_scenario, tmp_path_factory.mktemp("own"))
    model = run_file.parent / "bucket.py"
    text = model.read_text().replace("high=1000, initial=150)", f"high=1000, initial=150, classes={CLASSES})").replace("leak", "lücke")
    model.write_text(text)
    with House(run_file) as house:
        for number, (row, column) in CELLS.items():
            place = [143.0 + 0.25 * column, -20.0 - 0.25 * row]
            house.order("/set", {"variable": "capacity", "value": number, "region": {"cell": place}})
        house.order("/step", {"steps": 2})
        yield house


def test_classes_far_apart_have_colours_of_their_own_and_all_have_a_name(context: BrowserContext, own: House) -> None:
    opened = Opened(context.new_page(), own)
    opened.open(fragment="&variable=capacity")
    opened.wait("steppe.store.now.shown[0]?.variable === 'capacity'")
    town, village, sea = (opened.colours(*cell)[0][:3] for cell in CELLS.values())
    assert len({town, village, sea}) == 3
    assert (town, village) == ((1, 25, 89), (250, 204, 250))  # both ends of batlow
    legend = opened.page.locator("#legend canvas.legend")
    assert legend.evaluate("canvas => canvas.clientHeight") == 5 * 17  # nine classes in two columns
    opened.page.set_viewport_size({"width": 390, "height": 844})
    wait_for(lambda: legend.evaluate("canvas => canvas.clientHeight") == 5 * 17)
    assert opened.complaints == []


def test_a_variable_with_letters_of_another_alphabet_is_seen_and_set(context: BrowserContext, own: House) -> None:
    opened = Opened(context.new_page(), own)
    opened.open(fragment="&variable=l%C3%BCcke")
    page = opened.page
    opened.wait("steppe.store.now.shown[0]?.variable === 'lücke'")
    opened.press("s")
    page.keyboard.type("lücke")
    opened.press("Enter")
    page.keyboard.type("0.5")
    opened.press("Enter")
    page.get_by_role("button", name="Set in main").press("Enter")
    wait_for(lambda: own.value("lücke", 7, 7) == 0.5)
    own.order("/triggers", {"expression": "mean(lücke) > 0.4", "action": "message"})
    own.order("/step", {"steps": 1})
    expect(page.locator("#notices")).to_contain_text("mean(lücke) > 0.4")
    assert opened.complaints == []


def test_two_maps_of_classes_have_no_difference_and_its_title_says_so(context: BrowserContext, own: House) -> None:
    own.order("/scenarios", {"name": "other"})
    opened = Opened(context.new_page(), own)
    opened.open(fragment="&variable=capacity&scenario=main,other&maps=3")
    opened.wait("steppe.store.now.shown[1]?.variable === 'capacity'")
    page = opened.page
    expect(page.locator(".title").nth(2)).to_contain_text("other − mainno difference: its numbers name classes")
    page.locator("#map").hover(position={"x": 150, "y": 300})
    expect(page.locator("#readout")).to_contain_text("main")
    page.wait_for_timeout(1000)
    assert "Difference" not in page.locator("#readout").inner_text()
    expect(page.locator("#legend-difference")).to_be_hidden()
    assert opened.complaints == []
