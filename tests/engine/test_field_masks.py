"""A field model on a grid with a mask: boxes cover the rectangle, and the cells of the mask alone count."""

import re
from pathlib import Path

import numpy as np
import pytest

import steppe
from steppe.cli import run_command
from steppe.engine import Simulation
from steppe.errors import BadCellError
from steppe.grid import Partition, read_grid
from steppe.ingest import generate
from tests.comm.mpis import run_ranks
from tests.engine.test_ranks import on_ranks
from tests.engine.test_simulation import digest
from tests.scenario import EXAMPLES, write_mask

ROWS, COLUMNS = 17, 90  # two strips of the packed order
BASIN = '''\
"""Water that spreads within a catchment, fed by rain; nothing flows over its edge."""

import numpy as np

from steppe.models import FieldModel, Needs, Role, Variable

YX = ("y", "x")


class Basin(FieldModel):
    name, version = "basin", "1"
    needs = Needs(unit="boxes", halo={"y": 1, "x": 1})
    variables = {
        "water": Variable("water", YX, "mm", "float64", Role.STATE, "water", low=0.0, initial=5.0),
        "age": Variable("age", YX, "d", "float64", Role.STATE, "age", initial=0.0),
        "rain": Variable("rain", YX, "mm d-1", "float32", Role.FORCING, "rain", low=0.0, high=2000.0),
        "share": Variable("share", YX, "1", "float64", Role.PARAMETER, "share to a neighbour", low=0.0, high=0.25, initial=0.1),
        "edge": Variable("edge", YX, "1", "float64", Role.DIAGNOSTIC, "neighbours along a row that are not there"),
        "gain": Variable("gain", YX, "mm", "float64", Role.DIAGNOSTIC, "what came from neighbours"),
    }

    def step(self):
        seen = self.state["water"]
        self.mean, self.most = self.reach.total(seen) / self.cells, self.reach.largest(seen)
        super().step()

    def initialise(self, *arguments):
        super().initialise(*arguments)
        self.cells = SUM_OF_CELLS

    def compute(self, where):
        (y, x), (water, age) = where, self.now
        own, gain = water[where], 0.0
        for there in ((y, back(x)), (y, on(x)), (back(y), x), (on(y), x)):
            neighbour = np.where(self.active[there], water[there], own)
            gain = gain + self.maps["share"][where] * (neighbour - own)
        self.diagnostics["gain"][where] = gain
        self.new[(0, *where)] = own + gain + self.forcing["rain"][where] + 1e-3 * self.mean / self.most
        self.diagnostics["edge"][where] = 0.0 + np.isnan(age[y, back(x)]) + np.isnan(age[y, on(x)])
        self.new[(1, *where)] = np.nan_to_num(age[where]) + 1.0  # a number where no cell counts, too


def back(part):
    return slice(part.start - 1, part.stop - 1)


def on(part):
    return slice(part.start + 1, part.stop + 1)


MODEL = Basin
'''
RUN = """\
model = "basin.py"
time = { start = 1990-01-10, end = 1990-03-31 }
grid = { file = "mask.zarr" }
forcing = { store = "weather.zarr" }

[output]
path = "out"
variables = ["water", "gain", "age"]
every = "10 days"

[[output.series]]
name = "mean"
variables = ["water", "rain"]
every = "1 day"
region = ["all", { box = [143, -22, 150, -20] }]
"""


def catchment() -> np.ndarray:
    """Ragged, in two parts, with a lake; the third of four boxes has no cell."""
    row, column = np.mgrid[:ROWS, :COLUMNS]
    mask = (row - 8) ** 2 / 40 + (column - 22) ** 2 / 400 + 0.3 * np.sin(column) < 1.0
    mask |= (row < 6) & (column > 70) & ((row + column) % 7 > 0)
    mask[7:10, 20:24] = False
    mask[:, 45:68] = False
    return mask


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("catchment")
    write_mask(folder / "mask.zarr", catchment())
    generate(folder / "weather.zarr", read_grid(file=folder / "mask.zarr"), "1990-01-01", "1990-03-31")
    return folder


@pytest.fixture
def run_file(made: Path, tmp_path: Path) -> Path:
    for name in ("mask.zarr", "weather.zarr"):
        (tmp_path / name).symlink_to(made / name)
    (tmp_path / "basin.py").write_text(BASIN.replace("SUM_OF_CELLS", str(catchment().sum())))
    (tmp_path / "run.toml").write_text(RUN)
    return tmp_path / "run.toml"


def disturbed(simulation: Simulation) -> None:
    """Changes some cells and a map of a parameter on the way."""
    simulation.step(31)
    region = {"box": [145.0, -24.0, 150.0, -20.5]}
    increment = simulation.set("water", 40.0, region)
    assert increment.cells == simulation.grid.select(region).size
    simulation.set("share", 0.2, region)
    simulation.checkpoint()
    simulation.run()


@pytest.mark.parametrize("ranks", [2, 3, 4])
def test_ranks_do_not_change_a_byte_though_one_of_them_has_no_cell(run_file, made, tmp_path, ranks):
    found = {}
    empty = [box.n_cells == 0 for box in Partition.boxes(read_grid(file=made / "mask.zarr"), 4, {"y": 1, "x": 1})]
    assert empty == [False, False, True, False]
    for count in (1, ranks):
        folder = tmp_path / str(count)
        folder.mkdir()
        (folder / "run.toml").write_text(re.sub('"(basin|weather|mask)', r'"../\1', RUN))
        on_ranks(count, folder / "run.toml", disturbed)
        found[count] = digest(folder / "out")
    assert found[1] == found[ranks]


@pytest.mark.parametrize("spread", ["own", "node", "readers:2"])
def test_a_rank_without_a_cell_reads_no_weather_and_waits_for_none(run_file, spread):
    def work(simulation: Simulation) -> np.ndarray:
        simulation.step(55)
        return simulation.get("water")

    one, four = (on_ranks(ranks, run_file, work, forcing__spread=f'"{spread}"', output__path=f'"{ranks}"') for ranks in (1, 4))
    assert one.tobytes() == four.tobytes()


def test_ranks_that_are_processes_do_not_change_a_byte_either(run_file):
    expected = digest(steppe.run(run_file))
    changed = ("--set", 'output.path="ranks"')
    done = run_ranks("installed", 4, "-m", "steppe", "run", str(run_file), "--quiet", *changed)
    assert done.returncode == 0, done.stderr
    found = digest(run_file.parent / "ranks")
    assert {name: each for name, each in found.items() if name != "output.zarr/zarr.json"} == {
        name: each for name, each in expected.items() if name != "output.zarr/zarr.json"
    }


@pytest.mark.parametrize(("first", "then"), [(1, 4), (4, 1)])
def test_what_some_ranks_begin_others_go_on_with_to_the_same_bytes(run_file, first, then):
    on_ranks(first, run_file, lambda simulation: simulation.step(40))
    on_ranks(then, run_file, Simulation.run)
    parts = digest(run_file.parent / "out")
    on_ranks(1, run_file, Simulation.run, output__path='"whole"')
    whole = digest(run_file.parent / "whole")
    assert {name: each for name, each in parts.items() if "/c/" in name or name == "arrays"} == {
        name: each for name, each in whole.items() if "/c/" in name or name == "arrays"
    }


def test_what_it_computes_is_a_plain_loop_over_the_cells_of_the_mask(run_file):
    mask = catchment()
    with steppe.Simulation(run_file) as simulation:
        share, water = 0.1, np.where(mask, 5.0, np.nan)
        for _ in range(5):
            simulation.step(1)
            rain, mean, most = simulation["rain"].values, np.nansum(water) / mask.sum(), np.nanmax(water)
            around = np.pad(water, 1, constant_values=np.nan)
            gain = 0.0
            for there in (around[1:-1, :-2], around[1:-1, 2:], around[:-2, 1:-1], around[2:, 1:-1]):
                gain = gain + share * (np.where(np.isnan(there), water, there) - water)
            water = water + gain + rain + 1e-3 * mean / most
            found = simulation["water"]
            assert (np.isnan(found.values) == ~mask).all()
            np.testing.assert_allclose(found.values, water, rtol=1e-13)  # the mean is of exact sums
            assert (np.isnan(simulation["age"].values) == ~mask).all()
            along = np.pad(mask, ((0, 0), (1, 1)), mode="edge")
            edge = 2.0 - along[:, :-2] - along[:, 2:]
            np.testing.assert_array_equal(simulation["edge"].values[mask], edge[mask])  # in each step, whatever was written outside before


def test_cells_outside_the_mask_are_missing_in_maps_files_series_and_images(run_file):
    mask = catchment()
    with steppe.Simulation(run_file) as simulation:
        simulation.set("water", np.where(mask, 7.0, np.nan))
        assert np.nanmax(np.abs(simulation["water"].values - 7.0)) == 0.0
        simulation.run()
        last = simulation["age"].values
    assert (np.isnan(last) == ~mask).all()
    assert (last[mask] == 81.0).all()
    with steppe.open(run_file.parent / "out") as results:
        assert results.sizes["cell"] == mask.sum()
        maps = steppe.unpack(results["water"], results).values
        assert (np.isnan(maps) == ~mask).all()
        water = results["water"].values
    with steppe.open(run_file.parent / "out", "mean") as series:
        area = read_grid(file=run_file.parent / "mask.zarr").cell_area
        of_days = series["water"].values[:, 0]
        assert np.average(water[0], weights=area) == pytest.approx(of_days[:10].mean(), rel=1e-12)
    assert run_command(["plot", str(run_file.parent / "out"), "--variables", "water", "--output", str(run_file.parent / "water.png")]) == 0


@pytest.mark.parametrize("ranks", [1, 4])
def test_a_cell_that_is_not_finite_is_named_and_none_outside_the_mask(run_file, ranks):
    model = run_file.parent / "basin.py"
    model.write_text(model.read_text().replace("np.where(self.active[there], water[there], own)", "water[there]"))
    grid = read_grid(file=run_file.parent / "mask.zarr")
    first = int(np.flatnonzero([not catchment().ravel()[grid.order[0] - 1]])[0])  # the first packed cell lies at the edge
    with pytest.raises(BadCellError, match=rf'^On 1990-01-10 in cell {first} .*"water" is nan.* a model asks self.active before'):
        on_ranks(ranks, run_file, Simulation.run)


def test_check_says_what_it_costs_and_refuses_no_mask(run_file, capsys):
    assert run_command(["check", str(run_file)]) == 0
    assert f"{catchment().sum():,} cells" in capsys.readouterr().out


def test_queensland_is_a_grid_for_a_field_model(tmp_path):
    (tmp_path / "run.toml").write_text(
        f"""\
model = "{EXAMPLES}/diffusion.py"
time = {{ start = 1990-01-01, end = 1990-01-03 }}
grid = {{ region = "queensland" }}
parameters = {{ rate = 0.0 }}
[initial]
concentration = 2.0
[output]
path = "out"
"""
    )

    def work(simulation: Simulation) -> np.ndarray:
        with pytest.raises(BadCellError):  # a model that does not ask which cells count reads NaN behind the coast
            simulation.step(1)
        return simulation.get("concentration")

    assert on_ranks(3, tmp_path / "run.toml", work).size == 15_208
