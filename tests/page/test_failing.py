"""A model that fails in mid-run: the page says why, and offers no step that cannot be."""

from pathlib import Path

from playwright.sync_api import BrowserContext, expect

from tests.page.house import House, Opened, wait_for
from tests.page.test_acting import kinds, last

MODEL = """
import numpy as np
from steppe.models import FieldModel, Needs, Role, Variable


class Kettle(FieldModel):
    \"\"\"Water that must not boil.\"\"\"

    name, version = "kettle", "1"
    needs = Needs(unit="boxes", halo={"y": 1, "x": 1})
    variables = {"t": Variable("t", ("y", "x"), "degC", "float64", Role.STATE, "temperature", initial=0.0)}

    def compute(self, where):
        self.new[0][where] = self.now[0][where] + 10.0
        if self.new[0][where].max() > 100.0:
            raise ValueError("The water has boiled over.")


MODEL = Kettle
"""
RUN = """
model = "kettle.py"
[time]
start = 2000-01-01
end = 2000-03-31
[grid]
rectangle = { north = 10, west = 0, rows = 8, columns = 12, cell = 0.5 }
[output]
path = "out"
"""


def test_the_page_says_why_a_model_failed_and_how_to_go_on(context: BrowserContext, tmp_path: Path) -> None:
    (tmp_path / "kettle.py").write_text(MODEL)
    (tmp_path / "run.toml").write_text(RUN)
    with House(tmp_path / "run.toml") as house:
        opened = Opened(context.new_page(), house)
        opened.open()
        opened.press(" ")
        expect(opened.page.locator("#map-notice")).to_contain_text("The water has boiled over.")
        expect(opened.page.locator("#notices")).not_to_contain_text("boiled over")  # it stands on the map
        play = opened.page.get_by_role("button", name="Play main")
        expect(play).to_have_attribute("aria-description", "it cannot continue from here: go back, or branch off an earlier date")
        opened.press(",")
        opened.page.get_by_role("button", name="Go on from here in main").click()
        wait_for(lambda: house.main()["step"] == 9 and house.main()["problem"] is None)
        expect(opened.page.locator("#map-notice")).to_be_hidden()


def test_the_buttons_say_what_is_so_while_the_engine_comes_back_and_when_it_gave_up(opened: Opened) -> None:
    house, page = opened.house, opened.page
    house.order("/step", {"steps": 5})
    expect(opened.chip).to_contain_text("14 Jan 1990")
    since = last(house)
    tell = """([state, text]) => {
        const {info} = steppe.store.now;
        const scenarios = info.scenarios.map((each) => ({...each, target: each.step + 40}));
        steppe.store.change({info: {...info, state, scenarios, problem: {text, log: []}}});
    }"""
    page.evaluate(tell, ["recovering", 300 * "x"])
    expect(opened.chip).to_contain_text("coming back")
    assert page.evaluate("() => document.documentElement.scrollWidth") == 1280
    assert page.locator("#map-notice").evaluate("(notice) => notice.scrollWidth <= notice.clientWidth")
    page.evaluate(tell, ["failed", "The engine died 3 times."])
    for name in ("Play main", "+1 day: step main", "+1 month: step main"):
        button = page.get_by_role("button", name=name)
        expect(button).to_have_attribute("aria-description", "the engine gave up: start it again, or go back")
    page.get_by_role("button", name="Go back a step in main").click()
    wait_for(lambda: house.main()["step"] == 4)
    assert kinds(house, since) == ["rewind"]
