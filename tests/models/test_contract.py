"""Every model that is shipped, every example and a foreign class of thirty lines keep to one contract."""

import shutil
from pathlib import Path

import numpy as np
import pytest

import steppe
from steppe.engine import Plan, Simulation, estimate
from steppe.errors import Failure, ModelError, RunFileError, UnknownNameError
from steppe.jobs.examples import PASTURE
from steppe.models import Role, Variable, find_model, make_model
from steppe.models.defaults import completed
from tests import tracers
from tests.models.contract import kept_by
from tests.scenario import EXAMPLES, make_scenario

LORENZ, HEAT, CARRIED = (Path(__file__).parent / name for name in ("lorenz.py", "heat.py", "carried.py"))
FIELD = """\
model = "{model}"
time = {{ start = 1990-01-01, end = 1990-01-20{step} }}
grid = {{ rectangle = {{ north = 2, west = 0, rows = 12, columns = 20, cell = 0.1 }} }}
output = {{ path = "out", variables = ["{variable}"], every = "2 days", reduce = "mean" }}
"""


def of_field(folder: Path, model: Path, variable: str, more: str = "", step: str = "") -> Path:
    """A run file on a small rectangle."""
    (folder / "run.toml").write_text(FIELD.format(model=model, variable=variable, step=step) + more)
    return folder / "run.toml"


def of_pasture(folder: Path) -> Path:
    """The pasture model on the weather of the scenario."""
    make_scenario(folder)
    text = PASTURE.replace("1991-12-31", "1990-03-31").replace('path = "run"', 'path = "out"')
    (folder / "run.toml").write_text(text)
    return folder / "run.toml"


def of_shallow_water(folder: Path) -> Path:
    return of_field(folder, EXAMPLES / "shallow_water.py", "h", "initial = { h = 1.0 }\n")


def of_lorenz(folder: Path, more: str = "") -> Path:
    return of_field(folder, LORENZ, "speed", f"initial = {{ x = 2.0 }}\n{more}")


RUNS = {
    "pasture": of_pasture,
    "bucket": make_scenario,
    "diffusion": lambda folder: of_field(folder, EXAMPLES / "diffusion.py", "concentration"),
    "shallow_water": of_shallow_water,
    "tracers": tracers.made,
    "lorenz": of_lorenz,
    "carried": lambda folder: of_field(folder, CARRIED, "c"),
    "heat": lambda folder: of_field(folder, HEAT, "heat"),
}


def test_every_example_of_a_model_is_among_them():
    models = {path.stem for path in EXAMPLES.glob("*.py") if "MODEL" in path.read_text() or "def step(" in path.read_text()}
    assert models <= set(RUNS)


@pytest.mark.parametrize("name", RUNS)
def test_a_model_keeps_to_the_contract_on_one_rank_and_on_two(name, tmp_path):
    run_file = RUNS[name](tmp_path)
    assert kept_by(run_file, ranks=2) == kept_by(run_file)


def test_a_class_with_only_what_is_required_runs_stops_and_goes_on_to_the_same_bits(tmp_path):
    run_file = of_lorenz(tmp_path, "parameters = { length = 0.02 }\n")
    steppe.run(run_file, tmp_path / "whole")
    with Simulation(run_file) as first:
        first.step(7)
    with Simulation(run_file) as second:
        assert float(second["length"].mean()) == 0.02
        second.run()
    with steppe.open(tmp_path / "whole") as whole, steppe.open(tmp_path / "out") as parts:
        np.testing.assert_array_equal(parts["speed"].values, whole["speed"].values)
        assert np.ptp(whole["speed"].values) > 0


def test_a_run_of_it_branches(tmp_path):
    with Simulation(of_lorenz(tmp_path)) as simulation:
        simulation.step(3)
        with simulation.branch("same") as branch:
            branch.step(2)
            simulation.step(2)
            np.testing.assert_array_equal(branch.get("x"), simulation.get("x"))


def test_what_it_leaves_out_is_said_where_it_is_asked_for(tmp_path):
    with Simulation(of_lorenz(tmp_path)) as simulation:
        simulation.step()
        with pytest.raises(ModelError, match='"x" cannot be set: model "lorenz" has no method `set`'):
            simulation.set("x", 3.0)
        with pytest.raises(UnknownNameError, match='gives its states and parameters alone, and "speed" is neither'):
            simulation.get("speed")


def test_events_for_a_model_that_cannot_be_set_are_refused_before_the_run(tmp_path):
    run_file = of_lorenz(tmp_path, "[[event]]\ndate = 1990-01-05\nset = { x = 1.0 }\n")
    with pytest.raises(RunFileError, match=r"\[\[event\]\] of 1990-01-05 sets a variable, but model \"lorenz\" has no method `set`"):
        Plan.of(run_file)


def test_a_class_that_leaves_out_what_is_required_is_refused_by_name(tmp_path):
    shutil.copy(LORENZ, tmp_path / "less.py")
    text = (tmp_path / "less.py").read_text().replace("def advance", "def go")
    (tmp_path / "less.py").write_text(text)
    with pytest.raises(ModelError, match=r"Lorenz has no advance\. Every model needs name, version, variables, initialise, advance, state"):
        make_model(find_model(str(tmp_path / "less.py")))


SET = """
    def set(self, name, value, index):
        if name == "length":
            self.length = value
        else:
            self.state[name][index] = value
"""
OWN = '\n    parameters = {"length": np.array(0.01)}\n'


def with_set(folder: Path, more: str, rest: str = "") -> Path:
    """The run of a class that has a method `set`, too."""
    run_file = of_lorenz(folder, rest)
    text = LORENZ.read_text().replace("\n\nMODEL =", f"{SET}{more}\n\nMODEL =")
    (folder / "settable.py").write_text(text)
    run_file.write_text(run_file.read_text().replace(str(LORENZ), str(folder / "settable.py")))
    return run_file


def test_a_parameter_that_a_class_sets_is_kept_by_a_continued_run(tmp_path):
    run_file, seen = with_set(tmp_path, ""), []
    for stops in (True, False):
        simulation = Simulation(run_file, tmp_path / f"{stops}")
        simulation.step(2)
        increment = simulation.set("length", 0.02)
        assert (increment.before, increment.after) == (0.01 * increment.cells, 0.02 * increment.cells)
        simulation.step(2)
        if stops:
            simulation.close()
            simulation = Simulation(run_file, tmp_path / f"{stops}")
        assert float(simulation["length"].mean()) == 0.02
        simulation.step(3)
        seen.append(simulation.get("x"))
        simulation.close()
    np.testing.assert_array_equal(*seen)


def test_a_parameter_that_a_class_does_not_keep_cannot_be_set(tmp_path):
    refused = r'Parameter "length" of model "lorenz" cannot be set: .* `parameters` must hold the new value'
    run_file = with_set(tmp_path, OWN, "[[event]]\ndate = 1990-01-05\nset = { length = 0.02 }\n")
    with Simulation(run_file) as simulation:
        simulation.step(2)
        with pytest.raises(ModelError, match=refused):
            simulation.set("length", 0.02)
        simulation.step(1)
        assert simulation.model.length == 0.01
        with pytest.raises(Failure, match=refused):
            simulation.run()
    with pytest.raises(ModelError, match=refused):
        estimate(Plan.of(run_file))


def test_an_error_of_export_has_file_and_line(tmp_path):
    of_two = "\n    def export(self, name, index):\n        return self.state[name]\n"
    with Simulation(with_set(tmp_path, of_two)) as simulation:
        simulation.step(1)
        with pytest.raises(ModelError, match=r"`export` of model lorenz fails with TypeError: .* missing 1 required positional argument"):
            simulation.get("x")
    with Simulation(with_set(tmp_path, of_two.replace("index)", "index=None)")), fresh=True) as simulation:
        simulation.step(1)
        with pytest.raises(ModelError, match=r"settable.py, line \d+ .*: `export` of model lorenz fails with KeyError"):
            simulation.get("length")


def test_a_class_with_optional_forcing_goes_together_with_another_without_weather():
    class Counts:
        name, version = "counts", "1"

        def __init__(self):
            self.variables = {"rain": Variable("rain", ("cell",), "mm d-1", "float64", Role.FORCING, "rain", initial=0.0)}
            self.state = {"x": 0}

        def initialise(self, share, parameters, state, options, reach):
            """It needs nothing."""

        def advance(self, steps, inputs, clock, recorder):
            self.state = {"x": self.state["x"] + len(steps)}

    first, second = completed(Counts()), completed(Counts())
    first.advance_together([second], range(3), None, None, [None, None])
    assert (first.state["x"], second.state["x"]) == (3, 3)
