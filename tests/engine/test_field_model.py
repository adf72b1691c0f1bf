"""A model with neighbours runs through the same simulation as the cell models."""

import signal
from pathlib import Path

import numpy as np
import pytest
import xarray

import steppe
from steppe.engine import Simulation
from steppe.errors import BadCellError, Failure, GridError
from tests.comm.mpis import run_ranks
from tests.engine.test_ranks import on_ranks
from tests.engine.test_simulation import digest

EXAMPLES = Path(__file__).parents[2] / "examples"
RUN = """\
model = "{examples}/diffusion.py"
[time]
start = 1990-01-01
end = 1990-04-30
[grid]
file = "box.zarr"
[parameters]
rate = 0.2
[initial]
concentration = 1.0
[output]
path = "out"
variables = ["concentration"]
every = "1 month"
reduce = "last"
[[output.series]]
name = "mean"
variables = ["concentration"]
every = "1 day"
"""


@pytest.fixture
def run_file(tmp_path: Path) -> Path:
    lat, lon = -20.0 - 0.5 * np.arange(12), 140.0 + 0.5 * np.arange(16)
    described = {"lat": ("lat", lat, {"units": "degrees_north"}), "lon": ("lon", lon, {"units": "degrees_east"})}
    xarray.Dataset({"mask": (("lat", "lon"), np.ones((12, 16), "int8"))}, described).to_zarr(tmp_path / "box.zarr", consolidated=False)
    (tmp_path / "run.toml").write_text(RUN.format(examples=EXAMPLES))
    return tmp_path / "run.toml"


def test_it_spreads_keeps_its_total_and_is_recorded(run_file):
    with steppe.Simulation(run_file) as simulation:
        simulation.set("concentration", 100.0, {"box": [143.0, -23.0, 144.0, -22.0]})
        start = simulation.get("concentration").sum()
        simulation.run()
        end = simulation["concentration"]
        assert end.dims == ("lat", "lon")
        assert float(end.max()) < 20.0
        assert float(end.sum()) == pytest.approx(float(start), rel=1e-12)
    with steppe.open(run_file.parent / "out") as dataset:
        last = steppe.unpack(dataset["concentration"], dataset)[-1]
        np.testing.assert_array_equal(last.values, end.values)
        assert last.dtype == end.dtype == "float64"
    with steppe.open(run_file.parent / "out", "mean") as series:
        assert series.sizes["time"] == 120


def test_it_resumes_to_the_same_bits(run_file):
    with steppe.Simulation(run_file, run_file.parent / "whole") as whole:
        whole.set("concentration", 100.0, {"box": [143.0, -23.0, 144.0, -22.0]})
        whole.run()
        expected = whole.get("concentration")
    with steppe.Simulation(run_file) as first:
        first.set("concentration", 100.0, {"box": [143.0, -23.0, 144.0, -22.0]})
        first.step(31)
        first.checkpoint()
    with steppe.Simulation(run_file) as second:
        second.run()
        assert second.get("concentration").tobytes() == expected.tobytes()


def disturbed(simulation: Simulation) -> None:
    """Goes on for 31 days, changes some cells, keeps that, and runs to the end."""
    simulation.step(31)
    region = {"box": [142.0, -24.0, 145.0, -21.0]}
    name = "concentration" if "concentration" in simulation.model.variables else "h"
    increment = simulation.set(name, np.linspace(1.0, 1.5, simulation.grid.select(region).size), region)
    assert increment.cells == 49
    simulation.checkpoint()
    simulation.run()


@pytest.mark.parametrize(("model", "counts"), [("diffusion", (1, 2, 3, 7)), ("shallow_water", (1, 4, 12))])
def test_ranks_do_not_change_a_byte(run_file, model, counts):
    text = run_file.read_text()
    if model == "shallow_water":
        text = text.replace("diffusion.py", "shallow_water.py").replace("rate = 0.2", "gravity = 9.8")
        text = text.replace('"concentration"', '"h", "flow_y"').replace("concentration = 1.0", "h = 1.0")
    found = {}
    for ranks in counts:
        folder = run_file.parent / f"{ranks}"
        folder.mkdir()
        (folder / "run.toml").write_text(text.replace("box.zarr", "../box.zarr"))
        on_ranks(ranks, folder / "run.toml", disturbed)
        found[ranks] = digest(folder / "out")
    assert all(each == found[1] for each in found.values())


@pytest.mark.parametrize(("first", "then"), [(1, 4), (3, 1), (2, 7)])
def test_what_some_ranks_begin_others_go_on_with(run_file, first, then):
    def begin(simulation: Simulation) -> None:
        simulation.set("concentration", 100.0, {"box": [143.0, -23.0, 144.0, -22.0]})
        simulation.step(31)
        simulation.checkpoint()

    run_files = {name: run_file.parent / name / "run.toml" for name in ("whole", "parts")}
    for path in run_files.values():
        path.parent.mkdir()
        path.write_text(run_file.read_text().replace("box.zarr", "../box.zarr"))
    for ranks, path in ((1, run_files["whole"]), (first, run_files["parts"])):
        on_ranks(ranks, path, begin)
    for ranks, path in ((1, run_files["whole"]), (then, run_files["parts"])):
        on_ranks(ranks, path, Simulation.run)
    assert digest(run_files["parts"].parent / "out") == digest(run_files["whole"].parent / "out")


SET_ON_DAY_THREE = """
[[event]]
date = 1990-01-03
set = { concentration = 8.0 }
"""
AROUND = """\
from examples.diffusion import Diffusion
from steppe.models import Needs

class Around(Diffusion):
    name = "around"
    needs = Needs(unit="boxes", halo=HALO, edges={"y": "periodic"})

MODEL = Around
"""


@pytest.mark.parametrize("halo", [{"y": 1, "x": 1}, {"x": 1, "y": 1}])
@pytest.mark.parametrize("ranks", [1, 3])
def test_a_model_says_what_lies_beyond_its_edges(run_file, ranks, halo):
    (run_file.parent / "around.py").write_text(AROUND.replace("HALO", repr(halo)))
    run_file.write_text(run_file.read_text().replace(f"{EXAMPLES}/diffusion.py", "around.py"))

    def bottom(simulation: Simulation) -> np.ndarray:
        simulation.set("concentration", 6.0, {"cell": [143.0, -20.0]})
        simulation.step(1)
        return simulation["concentration"].values[-1]

    assert on_ranks(ranks, run_file, bottom).tolist() == [1.0] * 6 + [2.0] + [1.0] * 9


FAILING = """\
from examples.diffusion import Diffusion
from steppe.errors import ModelError

class Failing(Diffusion):
    name = "failing"

    def mirror(self):
        super().mirror()
        if self.box.rank == 1 and self.now.max() > 7.0:
            raise ModelError("The sky fell on rank 1.")

MODEL = Failing
"""


def test_a_rank_that_fails_between_messages_ends_those_that_wait_for_them(run_file):
    (run_file.parent / "failing.py").write_text(FAILING)
    run_file.write_text(run_file.read_text().replace(f"{EXAMPLES}/diffusion.py", "failing.py") + SET_ON_DAY_THREE)
    done = run_ranks("installed", 3, "-m", "steppe", "run", str(run_file), "--quiet", PYTHONPATH=str(EXAMPLES.parent))
    assert done.returncode in (1, signal.SIGKILL)  # MPICH's launcher may kill the rank that ends all before it has ended itself
    assert done.stderr.splitlines()[0] == "steppe: The sky fell on rank 1. Results up to the last checkpoint are safe."


ONCE = """\
from pathlib import Path
from examples.diffusion import Diffusion
from steppe.errors import ModelError

class Once(Diffusion):
    name = "once"
    steps = 0

    def step(self):
        super().step()
        self.steps += 1
        if self.steps == 35 and Path(FLAG).exists():
            raise ModelError("The sky fell.")

MODEL = Once
"""


def test_a_run_whose_step_failed_half_way_goes_on_from_its_checkpoint_alone(run_file):
    flag, text = run_file.parent / "flag", run_file.read_text().replace(f"{EXAMPLES}/diffusion.py", "once.py") + SET_ON_DAY_THREE
    (run_file.parent / "once.py").write_text(ONCE.replace("FLAG", repr(str(flag))))
    run_file.write_text(text)
    expected = digest(steppe.run(run_file, run_file.parent / "whole"))
    flag.touch()
    with Simulation(run_file) as simulation:
        simulation.step(5)
        simulation.checkpoint()
        with pytest.raises(Failure, match="The sky fell"):
            simulation.step(40)
        for work in (lambda: simulation.step(1), simulation.checkpoint, lambda: simulation.get("concentration")):
            with pytest.raises(Failure, match=r"A step failed, .* Open the run again"):
                work()
    flag.unlink()
    assert digest(steppe.run(run_file)) == expected


ASSIGNED = """\
from examples.diffusion import Diffusion

class Assigned(Diffusion):
    name = "assigned"

    def step(self):
        Diffusion.step(self)
        ASSIGNMENT

MODEL = Assigned
"""


def test_a_field_that_is_assigned_as_a_whole_is_copied_on_any_ranks(run_file):
    def spread(simulation: Simulation) -> np.ndarray:
        simulation.set("concentration", 6.0, {"cell": [143.0, -20.0]})
        simulation.step(9)
        return simulation.get("concentration")

    expected = on_ranks(1, run_file, spread)
    run_file.write_text(run_file.read_text().replace(f"{EXAMPLES}/diffusion.py", "assigned.py").replace('"out"', '"assigned"'))
    (run_file.parent / "assigned.py").write_text(
        ASSIGNED.replace("ASSIGNMENT", "self.after['concentration'] = self.after['concentration'] + 0.0")
    )
    np.testing.assert_array_equal(on_ranks(3, run_file, spread), expected)


def test_a_state_that_the_first_step_leaves_out_is_a_bad_value(run_file):
    (run_file.parent / "assigned.py").write_text(ASSIGNED.replace("Diffusion.step(self)", "pass").replace("ASSIGNMENT", "pass"))
    run_file.write_text(run_file.read_text().replace(f"{EXAMPLES}/diffusion.py", "assigned.py"))
    said = r'On 1990-01-01 in cell 0 .* "concentration" is nan and 191 more cells are bad( by [0-9-]+)?\.'
    with pytest.raises(BadCellError, match=said) as bad:
        steppe.run(run_file)
    assert str(bad.value).endswith("are safe. Look at the parameters and the initial state.")


def test_too_many_ranks_are_told_the_nearest_numbers(run_file):
    with pytest.raises(GridError, match=r"12 x 16 cells cannot be cut into 17 boxes .* Start 16 or 18 ranks\."):
        on_ranks(17, run_file, Simulation.run)


def test_an_event_sets_the_one_number_of_a_parameter(run_file):
    run_file.write_text(run_file.read_text() + "[[event]]\ndate = 1990-01-03\nset = { rate = 0.2 }\n")
    with Simulation(run_file) as simulation:
        simulation.step(3)
        assert simulation.model.parameters["rate"] == 0.2
