"""What must be true of a step of any length: amounts, calendar intervals, yearly events, states that are gone on from."""

from pathlib import Path

import numpy as np
import pytest

import steppe
from steppe.clock import DAY, Clock
from steppe.engine import Plan, Simulation
from steppe.engine.branch_rules import CalendarEvent, Rules
from steppe.engine.check import cautions
from steppe.errors import RunFileError
from steppe.io import Axis

MODEL = """
from steppe.models import FieldModel, Needs, Role, Variable

class Rain(FieldModel):
    name, version = "rain", "1"
    needs = Needs(unit="boxes", halo={"y": 1, "x": 1})
    variables = {
        "flow": Variable("flow", ("y", "x"), "mm d-1", "float64", Role.STATE, "flow", initial=8.0),
        "count": Variable("count", ("y", "x"), "1", "float64", Role.STATE, "steps", initial=0.0),
    }

    def compute(self, where):
        self.new[:, *where] = self.now[0][where], self.now[1][where] + 1.0

MODEL = Rain
"""
RUN_FILE = """
model = "{model}"
time = {{ start = 1990-01-01, end = {end}, step = "{step}" }}
grid = {{ rectangle = {{ north = -20, west = 144.05, rows = 3, columns = 4, cell = 0.0002 }} }}
{more}
[output]
path = "{path}"
variables = ["{variable}"]
every = "{every}"
reduce = "{reduce}"
"""


def written(folder: Path, **given: str) -> Path:
    """A run file of a constant rain of 8 mm a day."""
    (folder / "rain.py").write_text(MODEL)
    usual = {"model": str(folder / "rain.py"), "end": "1990-01-30", "path": "out", "variable": "flow", "every": "10 days", "more": ""}
    path = folder / f"{given.get('path', 'run')}.toml"
    path.write_text(RUN_FILE.format(**usual | {"reduce": "sum"} | given))
    return path


@pytest.mark.parametrize("step", ["6 hours", "1 day", "10 days"])
def test_the_sum_of_a_rate_a_day_is_the_amount_for_any_step(tmp_path, step):
    found = steppe.open(steppe.run(written(tmp_path, step=step)))["flow"]
    assert found.attrs["units"] == "mm"
    assert (found.values == 80.0).all()


def test_a_rate_that_is_asked_for_is_no_amount(tmp_path):
    with Simulation(written(tmp_path, step="6 hours", every="6 hours")) as simulation:
        simulation.step(3)
        assert (simulation["flow"] == 8.0).all()
        simulation.run()
    assert (steppe.open(tmp_path / "out")["flow"].values == 2.0).all()


def test_steps_longer_than_a_month_have_an_interval_each(tmp_path):
    found = steppe.open(steppe.run(written(tmp_path, step="40 days", every="1 month", end="1990-12-26", variable="count")))
    np.testing.assert_array_equal(found["count"].values[:, 0], np.arange(1.0, 10.0))


@pytest.mark.parametrize("days", [5, 7, 10, 30])
def test_a_yearly_event_is_found_however_far_away_it_is(days):
    clock = Clock(Clock.daily("1990-01-01").start, step=days * DAY)
    event = CalendarEvent(1, {}, yearly="07-01")
    first = next(step for step in range(2000) if clock.name(step)[5:] == "07-01")
    assert Rules(events=(event,)).border(0, clock, 2000) == first


def test_a_mean_of_several_steps_is_no_state(tmp_path):
    steppe.run(written(tmp_path, path="means", step="6 hours", every="1 day", reduce="mean", variable="count"))
    steppe.run(written(tmp_path, path="steps", step="6 hours", every="6 hours", reduce="mean", variable="count"))
    more = 'initial = {{ state = {{ store = "{}", date = 1990-01-02 }}, flow = 8.0 }}'
    with (
        pytest.raises(RunFileError, match="recorded at every step, or as the last"),
        Simulation(written(tmp_path, path="after", step="6 hours", more=more.format("means"))),
    ):
        pass
    with Simulation(written(tmp_path, path="after", step="6 hours", more=more.format("steps"))) as simulation:
        assert (simulation["count"] == 8.0).all()


def test_a_day_that_the_run_holds_in_part_is_a_date_of_it():
    axis = Axis("time", np.arange(3) + 0.75, np.arange(3) + 1.75, step=1.0)  # from 18:00 on 1850-01-01 to 18:00 on 1850-01-04
    assert axis.between("1850-01-01", "1850-01-01") == slice(0, 1)
    assert axis.between("1850-01-04", None) == slice(2, 3)
    assert axis.between("1850-01-05", None) is None


def test_an_instant_names_the_record_of_a_day_or_more_that_begins_then():
    axis = Axis("time", np.arange(3) + 0.75, np.arange(3) + 1.75, step=1.0)
    for row in range(3):
        assert axis.between(axis.name_of(row), axis.name_of(row)) == slice(row, row + 1)
    assert axis.between("1850-01-02T18:00", None) == slice(1, 3)
    assert axis.between("1850-01-04T18:00", "1850-01-04T18:00") == slice(2, 3), "the end of all records"
    assert axis.between("1850-01-04T18:01", None) is None
    assert axis.between("1850-01-01T17:59", None) is None
    assert axis.end_after("1850-01-02T18:00") == 1.75


def test_cells_that_are_near_have_labels_of_their_own_and_one_region_has_one(tmp_path):
    cells = ", ".join(f"{{ cell = [144.050{digit}, -20.0001] }}" for digit in (1, 3, 5))
    boxes = "{ box = [144, -21, 145, -20] }, { box = [144.0, -21.0, 145.0, -20.0] }"
    series = '[[output.series]]\nname = "near"\nvariables = ["flow"]\nregion = [{}]\n'
    path = written(tmp_path, step="1 day")
    text = path.read_text()
    path.write_text(text + series.format(cells))
    assert steppe.open(steppe.run(path), "near").sizes["region"] == 3
    path.write_text(text + series.format(boxes))
    assert '[[output.series]] "near": region has { box = [144, -21, 145, -20] } twice; it is recorded once.' in cautions(Plan.of(path))
