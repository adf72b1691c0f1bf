"""The page on every file in `examples/`: it opens on a map, whose values are the server's, and nothing goes wrong in it."""

import csv
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cmcrameri import cm
from playwright.sync_api import BrowserContext, expect

from steppe.api import decode
from steppe.grid import Raster
from steppe.ingest import generate
from steppe.ingest.land import ingest_land
from steppe.models import FieldModel, find_model
from tests import transport
from tests.air import example
from tests.page.house import House, Opened, wait_for
from tests.page.test_looking import NOTE_TEXTS
from tests.scenario import EXAMPLES, make_scenario, write_mask
from tests.tracers import made

OF_OTHERS = ("assembly.py", "make_meteorology.py", "make_winds.py", "tasks.py", "tracers.py")  # programs, and a model that tracers.toml has
FILES = sorted(path.name for path in EXAMPLES.iterdir() if path.suffix in (".py", ".toml") and path.name not in OF_OTHERS)
FIELD = """\
model = "{model}"
[time]
start = 1990-01-01
end = 1990-12-31
[grid]
file = "mask.zarr"
[output]
path = "out"
variables = {variables}
every = "1 month"
reduce = "last"
"""


def run_file_of(name: str, folder: Path) -> Path:
    """A small run of an example: the run file itself with fewer cells and days, or a run file for the model."""
    if name == "tracers.toml":
        return made(folder)
    if name == "air.toml":
        return example(folder)
    if name.startswith("transport"):
        return transport.made(name, folder)
    if name.endswith(".toml"):
        return small(EXAMPLES / name, folder)
    shutil.copy(EXAMPLES / name, folder)
    model = getattr(find_model(str(EXAMPLES / name)), "MODEL", None)
    if model is None or not issubclass(model, FieldModel):
        run_file = make_scenario(folder)
        run_file.write_text(run_file.read_text().replace("bucket.py", name))
        return run_file
    write_mask(folder / "mask.zarr", np.ones((12, 16), bool))
    fields = [name for name, variable in model.variables.items() if variable.dims]
    (folder / "run.toml").write_text(FIELD.format(model=name, variables=str(fields).replace("'", '"')))
    return folder / "run.toml"


def small(run_file: Path, folder: Path) -> Path:
    """The run file on 12 x 10 cells and half a year, with generated weather and land of two types."""
    grid = Raster(-20.0, -0.25, 143.0, 0.25, np.ones((12, 10), bool))
    generate(folder / "weather.zarr", grid, "1990-01-01", "1990-06-30")
    ingest_land(None, folder / "land.zarr", grid)
    text = run_file.read_text().replace('"../runs/', '"').replace("1999-12-31", "1990-06-30")
    text = text.replace('[grid]\nregion = "queensland"\n', "").replace('path = "queensland"', 'path = "out"')
    text = text.replace('region = ["all", "west", "east"]', 'region = "all"')
    (folder / "run.toml").write_text(text)
    return folder / "run.toml"


@pytest.fixture(scope="module", params=FILES)
def house(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    """A server of an example."""
    with House(run_file_of(request.param, tmp_path_factory.mktemp(request.param.replace(".", "_")))) as house:
        yield house


@pytest.fixture
def opened(context: BrowserContext, house: House) -> Iterator[Opened]:
    """The page of an example; at the end nothing may have gone wrong in it."""
    page = Opened(context.new_page(), house)
    yield page
    assert page.complaints == []


def differs(opened: Opened, variable: str) -> float:
    """By how many steps of the frame the map differs from the server's values at most."""
    found = opened.page.evaluate(
        "() => { const f = steppe.screen.frames[0]; return [...f.levels].map(l => l >= f.top - 1 ? null : f.offset + f.scale * l) }"
    )
    scale = opened.page.evaluate("() => steppe.screen.frames[0].scale")
    values = np.asarray(decode(opened.house.get(f"/data/{variable}?format=raw").content)[1], float).ravel()
    shown = np.array(found, float)
    assert (np.isnan(shown) == np.isnan(values)).all()
    assert np.isfinite(values).any()
    return float(np.nanmax(np.abs(shown - values))) / scale


def test_an_example_opens_on_a_map_with_the_servers_values(opened: Opened) -> None:
    house, page = opened.house, opened.page
    opened.open()
    name = page.evaluate("() => steppe.store.now.look.variable")
    variable = house.get(f"/variables/{name}").json()
    assert variable["map"] == "field"
    expect(page.locator("#titles")).to_contain_text(variable["long_name"])
    if variable["settable"]:  # else all cells of a field would be alike
        west, south, east, north = house.get("/grid").json()["bounds"]
        box = [west + 0.2 * (east - west), south + 0.3 * (north - south), west + 0.4 * (east - west), south + 0.7 * (north - south)]
        house.order("/set", {"variable": name, "value": 1.25, "region": {"box": box}})
    house.order("/step", {"steps": 3})
    opened.wait("steppe.store.now.shown[0]?.step === 3 && steppe.store.now.shown[0].variable === steppe.store.now.look.variable")
    name = page.evaluate("() => steppe.store.now.look.variable")  # the first step may have brought a recorded one
    assert differs(opened, name) <= 0.51
    for cell in (27, 55, 81):
        page.evaluate("(cell) => steppe.store.change({cursor: {cell, readings: {}}})", cell)
        opened.wait(f"steppe.store.now.cursor.readings[1]?.cell === {cell}")
        row, column = divmod(cell, page.evaluate("() => steppe.store.now.grid.columns"))
        told = page.evaluate("() => steppe.store.now.cursor.readings[1].value")
        assert told == pytest.approx(house.value(name, row, column), rel=1e-6)


def test_each_kind_of_variable_of_an_example_shows_a_map_or_its_number(opened: Opened) -> None:
    house, page = opened.house, opened.page
    house.order("/step", {"steps": 1})
    opened.open()
    kinds: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for each in house.get("/variables").json()["variables"]:
        each["name"] += "[0]" if each["levels"] else ""
        kinds.setdefault((each["role"], each["map"]), []).append(each)
    for each in (each for some in kinds.values() for each in some[:2]):
        page.evaluate("(variable) => steppe.store.look({variable, range: null})", each["name"])
        if each["map"]:
            opened.wait(f"steppe.store.now.shown[0]?.variable === '{each['name']}' && steppe.screen.frames.length === 1")
        else:
            expect(page.locator("#titles")).to_contain_text(f"{each['long_name']}: ")
            expect(page.locator("#titles")).to_contain_text("one number of the whole grid: it has no map and no series")
            number = float(np.asarray(decode(house.get(f"/data/{each['name']}?format=raw").content)[1]).flat[0])
            wait_for(lambda name=each["name"], number=number: page.evaluate("() => steppe.store.now.numbers.main") == number)
            page.evaluate("() => steppe.store.change({pins: [{cell: 5, place: [143.6, -20], colour: 1}]})")
            page.wait_for_timeout(300)
            assert not [address for address in opened.asked if f"series/{each['name']}" in address]
            page.evaluate("() => steppe.store.change({pins: []})")


@pytest.mark.parametrize("house", ["queensland.toml"], indirect=True)
def test_the_first_step_brings_the_first_recorded_map_unless_the_viewer_chose_one(opened: Opened) -> None:
    house, page = opened.house, opened.page
    house.begin_anew()
    opened.open()
    assert page.evaluate("() => steppe.store.now.look.variable") == "soil_water_1"  # nothing that is recorded has a value yet
    house.order("/step", {"steps": 1})
    opened.wait("steppe.store.now.shown[0]?.variable === 'total_standing_dry_matter'")
    opened.variable("soil water of layer 1")
    house.order("/step", {"steps": 1})
    opened.wait("steppe.store.now.shown[0]?.step === 2")
    assert page.evaluate("() => steppe.store.now.shown[0].variable") == "soil_water_1"


@pytest.mark.parametrize("house", ["queensland.toml"], indirect=True)
def test_land_types_have_colours_and_names_in_legend_readout_and_chart(opened: Opened) -> None:
    page = opened.page
    page.add_init_script(NOTE_TEXTS)
    opened.open(fragment="&variable=land_type")
    opened.wait("steppe.store.now.shown[0]?.variable === 'land_type'")
    legend = page.locator("#legend canvas.legend")
    expect(legend).to_have_attribute("aria-label", re.compile("Classes: 1 Deep cracking clays; 2 Shallower red earths"))
    page.evaluate("() => steppe.store.change({cursor: {cell: 27, readings: {}}})")
    expect(page.locator("#readout")).to_contain_text("Deep cracking clays (1)")
    rows = csv.DictReader(opened.house.get("/data/land_type?format=csv").text.splitlines())
    place = next([float(row["longitude"]), float(row["latitude"])] for row in rows if float(row["land_type [1]"]) == 1)
    opened.house.order("/step", {"steps": 2})
    page.evaluate("place => steppe.store.change({pins: [{cell: 27, place, colour: 1}]})", place)
    expect(page.locator("#series .pins")).to_contain_text("Deep cracking clays")
    page.evaluate("() => steppe.store.change({selection: {box: [138, -29, 153, -11]}})")
    means = page.locator("#series .means")
    expect(means).to_contain_text("cells")
    opened.wait("steppe.store.now.series.length === 2 && steppe.store.now.series[1].end > 0")
    expect(means).not_to_contain_text("mean")
    expect(page.locator("#chart .told span")).to_have_text(["1 Deep cracking clays"])
    assert {"Deep cracking clays"} <= set(page.evaluate("() => written"))
    expect(page.get_by_role("switch", name="Logarithm")).to_be_hidden()
    drawn = page.evaluate("() => steppe.map.coloursOf(0)")
    assert (drawn["range"], drawn["palette"]) == ([1, 2], "classes 1,2")  # the first and the last entry of the table


@pytest.mark.parametrize("house", ["bucket.py"], indirect=True)
def test_rain_has_a_logarithmic_scale_that_a_switch_in_the_legend_ends(opened: Opened) -> None:
    house, page = opened.house, opened.page
    rain, row, column = 0.0, 0, 0
    while not 1.0 < rain < 40.0:  # a cell with middling rain
        house.order("/step", {"steps": 1})
        values = decode(house.get("/data/rain?format=raw").content)[1]
        row, column = (int(at) for at in np.unravel_index(np.nanargmin(abs(values - 6.0)), values.shape))
        rain = float(values[row, column])
    opened.open(fragment="&variable=rain&palette=batlow&range=0,50")
    switch = page.get_by_role("switch", name="Logarithm")
    expect(switch).to_have_attribute("aria-checked", "true")
    expect(page.locator("#legend")).to_contain_text("0 and all below 0.1 have the lowest colour")

    def off_by(share: Callable[[float], float]) -> int:
        """By how much the colour of the cell differs from that of its share at most."""
        wanted = [round(255 * part) for part in cm.batlow(share(rain))[:3]]
        return max(abs(a - b) for a, b in zip(opened.colours(row, column)[0][:3], wanted, strict=True))

    def logarithmic(value: float) -> float:
        return float(np.log(max(value, 0.1) / 0.1) / np.log(500.0))

    wait_for(lambda: off_by(logarithmic) <= 4)
    switch.click()
    expect(switch).to_have_attribute("aria-checked", "false")
    wait_for(lambda: off_by(lambda value: value / 50.0) <= 4)
    assert off_by(logarithmic) > 20
    opened.wait("location.hash.includes('logarithm=0')")
