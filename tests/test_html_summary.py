"""What objects show of themselves: true, small, escaped, and plain text as good."""

from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

import steppe
from steppe.grid import Points, builtin_grid
from steppe.html_summary import html_summary

OPEN_ONLY = {"path"}


class Reader(HTMLParser):
    """The texts of a piece of HTML; fails when a tag is not closed or something is loaded."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.texts: list[str] = []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        assert not {"src", "href", "onclick", "onload"} & {name for name, _ in attributes}
        assert tag not in ("script", "link", "img", "iframe")
        self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        assert tag in OPEN_ONLY

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if "style" not in self.open:
            self.texts.append(data)


@pytest.fixture
def simulation(scenario):
    with steppe.Simulation(scenario) as sim:
        sim.step(40)
        yield sim


def test_a_simulation_shows_how_far_it_is(simulation):
    for text in (repr(simulation), " ".join(Reader(simulation._repr_html_()).texts)):
        for word in ("bucket 1.0", "1990-02-19", "40 of 420", "144", "water, runoff", "generated", str(simulation.folder.path)):
            assert word in text
    assert f"width:{100 * 40 / 420:.1f}%" in simulation._repr_html_()


def test_a_plan_and_a_model_show_what_they_hold(simulation):
    plan = Reader(simulation.plan._repr_html_()).texts
    assert {"capacity", "120", "mm"} <= set(plan)
    assert "1990-01-10 to 1991-03-05" in repr(simulation.plan)
    model = Reader(simulation.model._repr_html_()).texts
    assert {"Soil water", "mm d-1", "diagnostic (3)"} <= set(model)
    assert repr(simulation.model) == "<CellModel bucket 1.0: 1 state, 3 forcing, 2 parameter, 3 diagnostic>"


def test_grids_show_where_they_are():
    queensland = builtin_grid("queensland")
    assert "active: 15,208 of 29,016" in repr(queensland)
    assert "138 to 153.6" in Reader(queensland._repr_html_()).texts
    places = Points(tuple(f"p{i}" for i in range(5000)), np.linspace(-28, -12, 5000), np.linspace(140, 150, 5000))
    assert repr(places) == '<Points: 5,000, the first is "p0" at longitude 140, latitude -28>'
    assert len(places._repr_html_()) < 20_000


def test_what_is_shown_is_text_not_html(tmp_path: Path):
    Reader(text := html_summary("<script>", {"<b>": '"&<'}, 0.5, np.ones((2, 2), bool), {"</table>": [("<i>",)]}))
    assert "&lt;script&gt;" in text
    assert "<script>" not in text
    assert "<script>" not in Points(("<script>",), np.array([-27.0]), np.array([151.0]))._repr_html_()


def test_a_map_stays_small_and_has_every_cell_of_a_small_raster():
    assert len(html_summary("", {}, active=np.random.default_rng(1).random((4000, 5000)) > 0.5)) < 30_000
    small = np.array([[True, False, True], [True, True, True]])
    assert '"M0 0h1v1h-1zM2 0h1v1h-1zM0 1h3v1h-3z"' in html_summary("", {}, active=small)
    for shape in ((1, 1), (1, 500), (500, 1)):
        assert "M" in html_summary("", {}, active=np.ones(shape, bool))
