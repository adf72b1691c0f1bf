"""A field model whose variables depend on [parameters] is made from them before anything is checked."""

from pathlib import Path

import numpy as np
import pytest

import steppe
from steppe.cli import run_command
from steppe.engine import Simulation
from steppe.engine.plan import Plan
from steppe.errors import Exit, FolderError, ModelError, RunFileError
from steppe.jobs.catalogue import entry_of
from tests.engine.test_ranks import on_ranks

MODEL = """\
from steppe.models import FieldModel, Needs, Role, Variable

class Tracers(FieldModel):
    \"\"\"Amounts that decay, each with a name and a rate of its own.\"\"\"

    name, version = "tracers", "1"
    needs = Needs(unit="boxes", halo={"y": 0, "x": 0})

    def __init__(self, names=("dust",)):
        self.variables = {name: Variable(name, ("y", "x"), "kg", "float64", Role.STATE, name, low=0.0, initial=1.0) for name in names}
        for name in names:
            rate = Variable(f"decay_{name}", (), "d-1", "float64", Role.PARAMETER, f"decay of {name}", low=0.0, high=1.0, initial=0.5)
            self.variables[rate.name] = rate

    @classmethod
    def of(cls, table):
        return cls(table.pop("tracers", ["dust"]))

    def compute(self, where):
        for name in self.before:
            self.after[name][where] = self.before[name][where] * (1.0 - self.parameters[f"decay_{name}"])

MODEL = Tracers
"""
RUN = """\
model = "tracers.py"
time = { start = 2001-03-05, end = 2001-03-08 }
grid = { rectangle = { north = -10, west = 120, rows = 4, columns = 5, cell = 0.5 } }
parameters = { tracers = ["smoke", "radon"], decay_radon = 0.25 }
output = { path = "out", variables = ["radon"], reduce = "last" }
"""


@pytest.fixture
def run_file(tmp_path: Path) -> Path:
    (tmp_path / "tracers.py").write_text(MODEL)
    (tmp_path / "run.toml").write_text(RUN)
    return tmp_path / "run.toml"


@pytest.mark.parametrize("ranks", [1, 2])
def test_tracers_that_a_run_file_names_are_its_variables(run_file, ranks):
    on_ranks(ranks, run_file, Simulation.run)
    with steppe.open(run_file.parent / "out") as dataset:
        np.testing.assert_array_equal(dataset["radon"][-1], (1 - 0.25) ** 4)
    with Simulation(run_file) as simulation:
        assert simulation.finished
        np.testing.assert_array_equal(simulation.get("smoke"), 0.5**4)


def test_every_door_makes_the_model_from_its_table(run_file, capfd, monkeypatch):
    monkeypatch.chdir(run_file.parent)
    assert run_command(["check", "run.toml"]) == Exit.DONE
    assert run_command(["describe", "tracers.py"]) == Exit.DONE
    assert "dust" in capfd.readouterr().out
    assert [each["name"] for each in entry_of("tracers.py")["variables"]] == ["dust", "decay_dust"]
    with Simulation(run_file) as simulation:
        simulation.step(1)
        with simulation.branch("other") as other:
            other.step(1)
            np.testing.assert_array_equal(other.get("radon"), 0.75**2)


def test_other_tracers_are_another_run_and_a_wrong_name_is_refused(run_file):
    with Simulation(run_file) as simulation:
        simulation.step(1)
    run_file.write_text(RUN.replace('"smoke"', '"dust"'))
    with pytest.raises(FolderError, match=r"parameters\.tracers is"):
        Simulation(run_file)
    run_file.write_text(RUN.replace("decay_radon", "decay_argon"))
    with pytest.raises(RunFileError, match="decay_argon"):
        Plan.of(run_file)


def test_a_misspelt_key_that_the_model_itself_takes_is_told_the_right_one(run_file):
    run_file.write_text(RUN.replace("{ tracers = [", "{ tracer = [").replace(", decay_radon = 0.25", ""))
    with pytest.raises(RunFileError, match=r'"tracer" is not known\. Did you mean "tracers"\?'):
        Plan.of(run_file)
    run_file.write_text(RUN.replace("{ tracers = [", "{ xyzzy = [").replace(", decay_radon = 0.25", ""))
    with pytest.raises(RunFileError, match=r"Known: decay_dust, land_type, tracers\."):
        Plan.of(run_file)


def with_step(run_file: Path, step: str, own: str = "") -> None:
    """The model needs a step; the run file says another or none."""
    run_file.with_name("tracers.py").write_text(MODEL.replace('"x": 0})', f'"x": 0}}, step="{step}")'))
    run_file.write_text(RUN.replace("end = 2001-03-08", f"end = 2001-03-05{own and f', step = {own!r}'}"))


def test_a_model_may_say_which_step_it_takes(run_file):
    with_step(run_file, "6 hours")
    with Simulation(run_file) as simulation:
        assert simulation.steps == 4
        simulation.step(1)
        assert simulation.date == "2001-03-05T06:00"
        with simulation.branch("other") as other:
            other.step(1)
            assert other.date == "2001-03-05T12:00"
    with_step(run_file, "6 hours", "360 minutes")  # the same
    assert Plan.of(run_file).steps == 4
    with_step(run_file, "6 hours", "3 hours")
    with pytest.raises(RunFileError, match=r'time\.step = "3 hours": model "tracers" takes steps of 6 hours'):
        Plan.of(run_file)


@pytest.mark.parametrize(("step", "words"), [("7 hours", "does not divide a day"), ("soon", "is no length of time")])
def test_a_step_that_no_run_can_take_is_refused_with_the_model(run_file, step, words):
    with_step(run_file, step)
    with pytest.raises(ModelError, match=words):
        Plan.of(run_file)
