"""What a run file gives and its model cannot use is refused by name, at `steppe check`, at `steppe run` and in Python."""

import re
from pathlib import Path

import numpy as np
import pytest
import xarray

import steppe
from steppe.cli import run_command
from steppe.engine import Plan, Simulation
from steppe.errors import ComputedError, Exit, ModelError, RunFileError
from steppe.grid import read_grid
from steppe.ingest import generate
from steppe.io.forcing.writer import ForcingWriter, Written
from steppe.jobs.info import overview
from steppe.variable import Role, Variable
from tests.io.small_store import ABOUT
from tests.scenario import EXAMPLES

RUN = """\
model = "air.py"
[time]
start = 1990-01-01
end = 1990-01-20
[grid]
file = "box.zarr"
[parameters]
[output]
path = "out"
variables = ["concentration"]
every = "1 day"
"""
AIR = """\
from examples.diffusion import Diffusion
from steppe.models import Role, Variable

class Air(Diffusion):
    name = "air"
    variables = {**Diffusion.variables}

MODEL = Air
"""
DECLARED = '"extra": Variable("extra", %s, "1", "%s", Role.%s, "More", initial=0.0)}'
WEATHER = '[forcing]\nstore = "weather.zarr"\n'


TANK = """\
from typing import Annotated, NamedTuple

from steppe.variable import Var

NAME, VERSION, LONG_NAME = "tank", "1", "Tank"

class State(NamedTuple):
    '''State.'''

    water: Annotated[float, Var("mm", "Water", initial=64.0)]

class Forcing(NamedTuple):
    '''No weather.'''

class Parameters(NamedTuple):
    '''Parameters.'''

    leak: Annotated[float, Var("d-1", "Leak", initial=0.5)]

class Diagnostics(NamedTuple):
    '''Diagnostics.'''

    outflow: Annotated[float, Var("mm d-1", "Outflow")]

def step(s: State, f: Forcing, p: Parameters) -> tuple[State, Diagnostics]:
    '''One day.'''
    outflow = s.water * p.leak
    return State(water=s.water - outflow), Diagnostics(outflow=outflow)
"""


@pytest.fixture
def air(tmp_path: Path) -> Path:
    """A run file of a field model, a mask and weather."""
    lat, lon = -20.0 - 0.5 * np.arange(6), 140.0 + 0.5 * np.arange(8)
    described = {"lat": ("lat", lat, {"units": "degrees_north"}), "lon": ("lon", lon, {"units": "degrees_east"})}
    xarray.Dataset({"mask": (("lat", "lon"), np.ones((6, 8), "int8"))}, described).to_zarr(tmp_path / "box.zarr", consolidated=False)
    (tmp_path / "air.py").write_text(AIR)
    (tmp_path / "run.toml").write_text(RUN)
    return tmp_path / "run.toml"


def with_weather(run_file: Path) -> None:
    generate(run_file.parent / "weather.zarr", read_grid(file=run_file.parent / "box.zarr"), "1990-01-01", "1990-01-31")
    run_file.write_text(run_file.read_text() + WEATHER)


def changed(file: Path, old: str, new: str) -> None:
    assert old in file.read_text()
    file.write_text(file.read_text().replace(old, new))


def test_a_declared_beginning_beyond_its_limits_is_refused(air, capfd, monkeypatch):
    below = '{"concentration": Variable("concentration", ("y", "x"), "kg", "float64", Role.STATE, "c", low=0.0, initial=-1.0)}'
    changed(air.parent / "air.py", "{**Diffusion.variables}", f"Diffusion.variables | {below}")
    monkeypatch.chdir(air.parent)
    assert run_command(["check", "run.toml"]) == Exit.MISTAKE
    assert '"concentration" is -1 kg; it must be a number, 0 kg or more.' in capfd.readouterr().err


def test_every_door_refuses_what_a_model_declares_and_steppe_ignores(air, capfd, monkeypatch):
    changed(air.parent / "air.py", "}", ", " + DECLARED % ('("species", "level", "y", "x")', "float64", "DIAGNOSTIC"))
    monkeypatch.chdir(air.parent)
    sentence = r'Model "air": "extra" has the dims ("species", "level", "y", "x"). Steppe supports ("y", "x"): one number a cell'
    for command in ("check", "run"):
        assert run_command([command, "run.toml"]) == Exit.MISTAKE
        out, err = capfd.readouterr()
        assert (sentence in err, out) == (True, "")
    with pytest.raises(ModelError, match=re.escape(sentence)):
        Simulation(air)
    assert not (air.parent / "out").exists()


def test_weather_for_a_model_without_forcing_is_refused(air):
    with_weather(air)
    with pytest.raises(RunFileError, match=r'\[forcing\] is given, but model "air" declares no forcing. Remove the \[forcing\] table.'):
        Simulation(air)


def test_a_cell_model_whose_forcing_is_optional_runs_without_weather(air):
    bucket = (EXAMPLES / "bucket.py").read_text()
    (air.parent / "air.py").write_text(
        bucket.replace("high=2000, logarithmic=True)", "high=2000, initial=0)").replace('evaporation", low=0, high=50)', 'e", initial=0)')
    )
    changed(air, '"concentration"', '"water"')
    with Simulation(air) as simulation:
        simulation.set("rain", 7.0)
        simulation.step(2)
        water = np.float32(np.exp(np.float32(-0.01))) ** 2
        np.testing.assert_allclose(simulation["water"].values[simulation.grid.active], 57.0 * water, rtol=1e-6)


def test_an_event_input_that_the_weather_holds_is_refused_before_the_run(air):
    (air.parent / "air.py").write_text((EXAMPLES / "bucket.py").read_text().replace("logarithmic=True)", "logarithmic=True, initial=0)"))
    changed(air, '"concentration"', '"water"')
    with_weather(air)
    with Simulation(air) as simulation:
        with pytest.raises(ComputedError, match=r'"rain" cannot be set: the weather holds it for every step. Change it there.'):
            simulation.set("rain", 20.0)
        simulation.set("irrigation", 20.0)
        simulation.step(1)
    air.write_text(air.read_text() + "[[event]]\ndate = 1990-01-03\nset = { rain = 20.0 }\n")
    with pytest.raises(RunFileError, match=r'\[\[event\]\] of 1990-01-03 sets "rain", but the weather holds it for every step. Change it'):
        Plan.of(air)


def test_a_map_of_a_parameter_that_is_one_number_is_refused(air):
    declared = Variable("rate", ("cell",), "1", "float32", Role.FORCING, "Share passed on", low=0.0, high=1.0)
    with ForcingWriter(air.parent / "rate.zarr", read_grid(file=air.parent / "box.zarr"), [Written(declared, None)], ABOUT) as writer:
        writer.write_static("rate", np.linspace(0.0, 0.2, 48))
    changed(air, "[parameters]", '[parameters]\nrate = { store = "rate.zarr", variable = "rate" }')
    with pytest.raises(RunFileError, match=r'\[parameters\] "rate" differs from cell to cell, but model "air" takes one number'):
        Simulation(air)


EVENT = """
[[event]]
date = 1990-01-03
set = { rate = 0.2 }
"""


def test_an_event_sets_a_parameter_that_is_one_number_everywhere_or_is_refused(air):
    text = air.read_text()
    air.write_text(text + EVENT)
    with Simulation(air) as simulation:
        simulation.step(2)
        assert simulation["rate"].values.tolist() == [[0.1] * 8] * 6
        simulation.step(1)
        assert simulation["rate"].values.tolist() == [[0.2] * 8] * 6
        assert simulation.get("rate", {"cell": [140.0, -20.0]}).tolist() == [0.2]
    air.write_text(text + EVENT + "region = { cell = [140.0, -20.0] }\n")
    with pytest.raises(RunFileError, match=r'\[\[event\]\] of 1990-01-03 sets "rate" in a region, but model "air" takes one number'):
        Simulation(air, fresh=True)


def test_the_precision_is_the_one_that_the_model_declares(air):
    steppe.run(air)
    assert 'dtype = "float64"' in (air.parent / "out" / "run.toml").read_text()
    assert overview(air.parent / "out")["dtype"] == "float64"
    air.write_text(air.read_text() + '[engine]\ndtype = "float32"\n')
    with pytest.raises(RunFileError, match=r'\[engine\] dtype is "float32", but model "air" declares "float64"'):
        Simulation(air)


def test_a_field_without_a_value_to_begin_with_is_named(air):
    changed(air.parent / "air.py", "}", ", " + (DECLARED % ('("y", "x")', "float64", "STATE")).replace(", initial=0.0", ""))
    with pytest.raises(ModelError, match=r'"extra" has no initial value\. Give one in'):
        Simulation(air)


def test_a_cell_model_without_weather_runs(tmp_path: Path) -> None:
    (tmp_path / "tank.py").write_text(TANK)
    with_output = RUN.replace("air.py", "tank.py").replace('"concentration"', '"water", "outflow"')
    (tmp_path / "run.toml").write_text(
        with_output.replace('file = "box.zarr"', "rectangle = { north = 1, west = 0, rows = 1, columns = 3, cell = 1 }")
    )
    assert run_command(["check", str(tmp_path / "run.toml")]) == Exit.DONE
    with Simulation(tmp_path / "run.toml") as simulation:
        simulation.step(7)
        simulation.set("leak", 0.0)
        simulation.run()
        with steppe.open(simulation.folder.path) as results:
            halves = 64.0 * 0.5 ** np.arange(1, 21)
            np.testing.assert_array_equal(results["water"][:7, 0], halves[:7])
            np.testing.assert_array_equal(results["water"][7:, 2], halves[6])
            np.testing.assert_array_equal(results["outflow"][:7, 1], halves[:7])
