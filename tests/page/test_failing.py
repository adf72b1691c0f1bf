"""A model that fails in mid-run: the page says why, and offers no step that cannot be."""

from pathlib import Path

from playwright.sync_api import BrowserContext, expect

from tests.page.house import House, Opened, wait_for

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
        play = opened.page.get_by_role("button", name="Play main")
        expect(play).to_have_attribute("aria-description", "it cannot continue from here: go back, or branch off an earlier date")
        opened.press(",")
        opened.page.get_by_role("button", name="Go on from here in main").click()
        wait_for(lambda: house.main()["step"] == 9 and house.main()["problem"] is None)
        expect(opened.page.locator("#map-notice")).to_be_hidden()
