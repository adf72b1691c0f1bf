"""A run on a Gaussian grid: its rows are drawn evenly, which the page says, and what it prints of a cell is exact."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, expect

from steppe.grid import Gaussian
from tests.client.test_gaussian import written
from tests.page.house import House, Opened

GRID = Gaussian(16)


def test_the_readout_has_the_latitude_and_the_area_of_the_row_and_says_how_it_is_drawn(context: BrowserContext, tmp_path: Path) -> None:
    with House(written(tmp_path)) as house:
        house.order("/step", {"steps": 3})
        opened = Opened(context.new_page(), house)
        opened.open()
        box = opened.page.locator("#map").bounding_box()
        assert box is not None
        centre = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
        opened.page.mouse.move(centre[0] + 2, centre[1] - 2)  # the row north of the equator, the column east of the middle
        readout = opened.page.locator("#readout")
        expect(readout).to_contain_text("row 7, column 16")
        expect(readout).to_contain_text("5.452° N")
        expect(readout).to_contain_text("rows are drawn evenly: less than 0.014 of a cell off")
        area = GRID.unpack(GRID.cell_area)[7, 16] / 1e6
        assert float(re.sub(r"[^0-9.]", "", opened.readout()["Area"].removesuffix("km²"))) == pytest.approx(
            area, rel=2e-6
        )  # page: a sphere
        assert opened.complaints == []
