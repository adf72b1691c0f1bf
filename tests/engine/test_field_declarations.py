"""What a field model declares beside its fields: maps of parameters, diagnostics and options, the same on any number of ranks."""

from pathlib import Path

import numpy as np
import pytest

import steppe
from steppe.cli import run_command
from steppe.engine import Session, Simulation
from steppe.errors import RangeError, RunFileError
from steppe.grid import read_grid
from steppe.io.forcing.writer import ForcingWriter, Written
from steppe.jobs.catalogue import entry_of
from steppe.variable import Role, Variable
from tests.engine.sessions import OWN, on_session, seen, setting, to
from tests.engine.test_branches import forked
from tests.engine.test_ranks import on_ranks
from tests.engine.test_simulation import digest
from tests.io.small_store import ABOUT
from tests.scenario import write_mask

ROWS, COLUMNS = 12, 150  # three strips of the packed order
MODEL = """\
from steppe.models import Choice, FieldModel, Needs, Role, Variable

class Leaky(FieldModel):
    name, version = "leaky", "1"
    needs = Needs(unit="boxes", halo={"y": 1, "x": 1})
    choices = {"sign": Choice("Which way it flows", {"down": "to where there is less", "up": "to where there is more"})}
    variables = {
        "c": Variable("c", ("y", "x"), "1", "float64", Role.STATE, "Amount"),
        "rate": Variable("rate", ("y", "x"), "1", "float64", Role.PARAMETER, "Share passed on", low=0.0, high=0.25, initial=0.1),
        "gain": Variable("gain", ("y", "x"), "1", "float64", Role.DIAGNOSTIC, "What came in this step"),
    }

    def compute(self, where):
        y, x = where
        c, rate = self.now[0], self.maps["rate"]
        gain = 0.0
        for dy, dx in ((-1, 0), (1, 0), (0, -1), (0, 1)):
            there = slice(y.start + dy, y.stop + dy), slice(x.start + dx, x.stop + dx)
            gain = gain + 0.5 * (rate[where] + rate[there]) * (c[there] - c[where])
        gain = gain if self.options["sign"] == "down" else -gain
        self.new[(0, *where)] = c[where] + gain
        self.diagnostics["gain"][where] = gain

MODEL = Leaky
"""
RUN = """\
model = "leaky.py"
time = { start = 1990-01-01, end = 1990-02-20 }
grid = { file = "box.zarr" }
parameters = { rate = { store = "rate.zarr", variable = "rate" } }
initial = { c = 1.0 }

[output]
path = "out"
variables = ["gain"]
every = "1 day"

[[output.series]]
name = "mean"
variables = ["c", "gain"]
every = "10 days"

[[event]]
date = 1990-01-02
set = { c = 5.0 }
region = { box = [143.5, -21.5, 146.0, -20.5] }
"""
AREA = {"box": [145.0, -22.5, 148.0, -21.0]}


@pytest.fixture
def run_file(tmp_path: Path) -> Path:
    write_mask(tmp_path / "box.zarr", np.ones((ROWS, COLUMNS), bool))
    grid = read_grid(file=tmp_path / "box.zarr")
    declared = Variable("rate", ("cell",), "1", "float32", Role.FORCING, "Share passed on", low=0.0, high=1.0)
    with ForcingWriter(tmp_path / "rate.zarr", grid, [Written(declared, None, "float32")], ABOUT) as writer:
        writer.write_static("rate", np.linspace(0.0, 0.2, grid.n_cells).astype("float32"))
    (tmp_path / "leaky.py").write_text(MODEL)
    (tmp_path / "run.toml").write_text(RUN)
    return tmp_path / "run.toml"


def computed(folder: Path, steps: int, sign: float = 1.0) -> tuple[list[np.ndarray], np.ndarray]:
    """By plain NumPy over the whole grid: the gain of each step and the last amount, packed."""
    grid = read_grid(file=folder / "box.zarr")
    rate = grid.unpack(np.linspace(0.0, 0.2, grid.n_cells).astype("float32").astype("float64"))
    c, gains = np.ones((ROWS, COLUMNS)), []
    for step in range(steps):
        if step == 1:
            c.reshape(-1)[grid.order[grid.select({"box": [143.5, -21.5, 146.0, -20.5]})]] = 5.0
        wide_c, wide_rate = np.pad(c, 1, "edge"), np.pad(rate, 1, "edge")
        gain = np.zeros_like(c)
        for dy, dx in ((-1, 0), (1, 0), (0, -1), (0, 1)):
            there = slice(1 + dy, 1 + dy + ROWS), slice(1 + dx, 1 + dx + COLUMNS)
            gain = gain + 0.5 * (rate + wide_rate[there]) * (wide_c[there] - c)
        c = c + sign * gain
        gains.append((sign * gain).reshape(-1)[grid.order])
    return gains, c.reshape(-1)[grid.order]


@pytest.mark.parametrize("ranks", [1, 3, 4])
def test_maps_of_parameters_and_diagnostics_are_those_of_plain_numpy(run_file, ranks):
    def work(simulation: Simulation) -> list[np.ndarray]:
        simulation.step(20)
        return [simulation.get(name) for name in ("gain", "c", "rate")]

    gain, c, rate = on_ranks(ranks, run_file, work)
    gains, expected = computed(run_file.parent, 20)
    assert (gain.tobytes(), c.tobytes()) == (gains[-1].tobytes(), expected.tobytes())
    np.testing.assert_array_equal(rate, np.linspace(0.0, 0.2, ROWS * COLUMNS).astype("float32"))
    assert np.count_nonzero(gain) > 100
    on_ranks(1, run_file, Simulation.run)  # the rest of the same run, on one rank
    with steppe.open(run_file.parent / "out") as dataset:
        np.testing.assert_array_equal(dataset["gain"].values[:20], gains)


def changed(simulation: Simulation) -> None:
    simulation.step(10)
    simulation.set("rate", 0.25, AREA)
    simulation.set("c", 2.0, AREA)
    simulation.step(13)


def outcome(simulation: Simulation) -> list[bytes]:
    return [simulation.get(name).tobytes() for name in ("gain", "c", "rate")]


@pytest.mark.parametrize(("first", "then"), [(1, 3), (3, 1), (3, 2)])
def test_a_run_goes_on_with_its_maps_and_its_last_diagnostics_on_other_ranks(run_file, first, then):
    def begin(simulation: Simulation) -> list[bytes]:
        changed(simulation)
        return outcome(simulation)

    def go_on(simulation: Simulation) -> list[bytes]:
        found = outcome(simulation)
        simulation.run()
        return found

    def whole(simulation: Simulation) -> None:
        changed(simulation)
        simulation.run()

    before = on_ranks(first, run_file, begin)
    assert on_ranks(then, run_file, go_on) == before
    found = digest(run_file.parent / "out")
    run_file.write_text(RUN.replace('path = "out"', 'path = "whole"'))
    on_ranks(1, run_file, whole)
    assert found == digest(run_file.parent / "whole")


@pytest.mark.parametrize("ranks", [1, 3])
def test_a_branch_has_maps_of_its_own(run_file, ranks):
    def work(session: Session) -> list[bytes]:
        session.load(1, OWN)
        to(session, 12)
        session.load(2, forked(2, (1, 12, 0)))
        known = seen(session, "gain", 2).tobytes() == seen(session, "gain", 1).tobytes()  # of the step before the fork
        assert session.apply(2, 1, "set", setting("rate", 0.0)).ok
        to(session, 20, (1, 2))
        return [bytes([known]), *(seen(session, name, branch).tobytes() for name in ("gain", "rate") for branch in (1, 2))]

    known, gain, still, rate, none = on_session(run_file, work, ranks)
    assert known == b"\1"
    assert gain == computed(run_file.parent, 20)[0][-1].tobytes()
    assert not np.frombuffer(still).any()
    assert not np.frombuffer(none).any()
    np.testing.assert_array_equal(np.frombuffer(rate), np.linspace(0.0, 0.2, ROWS * COLUMNS).astype("float32"))


@pytest.mark.parametrize("ranks", [1, 3])
def test_a_value_that_one_cell_of_a_map_cannot_have_changes_none(run_file, ranks):
    def work(simulation: Simulation) -> list[bytes]:
        simulation.step(5)
        before = simulation.get("rate").tobytes()
        with pytest.raises(RangeError, match=r'"rate" is 0.3 in cell 7; it must be a number from 0 to 0.25'):
            simulation.set("rate", np.where(np.arange(ROWS * COLUMNS) == 7, 0.3, 0.1))
        assert simulation.get("rate").tobytes() == before
        simulation.step(15)
        return outcome(simulation)

    assert on_ranks(ranks, run_file, work)[0] == computed(run_file.parent, 20)[0][-1].tobytes()


def test_an_option_of_the_run_file_reaches_the_model(run_file):
    text = RUN.replace("parameters = {", 'parameters = { sign = "up",').replace("end = 1990-02-20", "end = 1990-01-05")
    run_file.write_text(text)
    with Simulation(run_file) as simulation:
        simulation.step(3)
        assert simulation.get("gain").tobytes() == computed(run_file.parent, 3, sign=-1.0)[0][-1].tobytes()
    run_file.write_text(text.replace('"up"', '"ip"'))
    with pytest.raises(RunFileError, match=r'\[parameters\] "sign" = \'ip\' is no option\. Known: down, up\.'):
        Simulation(run_file)
    assert entry_of(str(run_file.parent / "leaky.py"))["options"]["sign"]["default"] == "down"


def test_check_estimates_a_run_with_maps(run_file, monkeypatch, capfd):
    run_file.write_text(RUN.replace("initial = { c = 1.0 }", 'initial = { c = { store = "rate.zarr", variable = "rate" } }'))
    monkeypatch.chdir(run_file.parent)
    assert run_command(["check", "run.toml"]) == 0
    assert "1,800 cells, 51 days" in capfd.readouterr().out
