"""Where a run begins: with what another run recorded."""

from pathlib import Path

import numpy as np
import pytest
import xarray

from steppe.engine import Simulation
from steppe.engine.plan import Plan
from steppe.errors import ForcingError, RunFileError
from steppe.grid import Gaussian, read_grid
from steppe.ingest import generate
from tests.scenario import copied

DAILY = {"output.variables": '["water"]', "output.every": '"1 day"', "output.path": '"before"', "time.end": "1990-06-30"}
LAST = DAILY | {"output.every": '"1 month"', "output.reduce": '"last"'}


@pytest.fixture(scope="module")
def recorded(made_scenario: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The scenario with two runs until June: `before` with daily records, `last` with the last of each month."""
    run_file = copied(made_scenario, tmp_path_factory.mktemp("initial"))
    for changes in (DAILY, LAST | {"output.path": '"last"'}, DAILY | {"output.path": '"means"', "output.every": '"1 month"'}):
        with Simulation(Plan.of(run_file, changes)) as simulation:
            simulation.run()
    return run_file


def begun(run_file: Path, state: str, start: str, **more: str) -> Plan:
    return Plan.of(run_file, {"initial.state": state, "time.start": start, "output.path": '"after"', **more})


@pytest.mark.parametrize(("store", "day", "start"), [("before", "1990-05-17", "1990-05-18"), ("last", "1990-05-31", "1990-06-01")])
def test_a_run_goes_on_from_recorded_days_as_if_it_had_never_stopped(recorded, tmp_path, store, day, start):
    run_file = copied(recorded, tmp_path / "run")
    with Simulation(Plan.of(run_file, {"output.path": '"whole"'})) as whole:
        whole.run(until="1990-08-31")
        expected = whole.get("water").copy()
    with Simulation(begun(run_file, f'{{ store = "{store}", date = {day} }}', start)) as later:
        later.run(until="1990-08-31")
        assert (later.get("water") == expected).all()


@pytest.mark.parametrize(
    ("state", "start", "capacity", "warned"),
    [
        ('{ store = "before", date = 1990-05-17 }', "1990-05-18", "120.0", ""),
        ('{ store = "before", date = 1990-05-17 }', "1990-05-19", "120.0", "at the start of 1990-05-18, but the run starts at 1990-05-19"),
        ("CHECKPOINT", "1990-07-01", "120.0", ""),
        ("CHECKPOINT", "1990-07-02", "120.0", "at the start of 1990-07-01, but the run starts at 1990-07-02"),
        ("CHECKPOINT", "1990-07-01", "80.0", "was computed with other parameters: capacity = 120, here 80"),
    ],
)
def test_a_gap_and_other_parameters_are_warned_of(recorded, state, start, capacity, warned):
    (checkpoint,) = sorted((recorded.parent / "before" / "checkpoints").iterdir())[-1:]
    plan = begun(recorded, state.replace("CHECKPOINT", f'"{checkpoint}"'), start, **{"parameters.capacity": capacity})
    assert warned in " ".join(plan.cautions)
    assert bool(plan.cautions) == bool(warned)


@pytest.mark.parametrize(
    ("state", "says"),
    [
        (
            '{ store = "means", date = 1990-05-31 }',
            'do not hold water at the end of 1990-05-31; they hold 1990-01-10 to 1990-06-30, as "time: mean"',
        ),
        ('{ store = "last", date = 1990-05-30 }', "do not hold water at the end of 1990-05-30"),
        ('{ store = "before", date = 1991-05-30 }', "do not hold water at the end of 1991-05-30; they hold 1990-01-10 to 1990-06-30"),
        ('{ store = "before", when = 1991-05-30 }', 'must be "default", a checkpoint folder, or { store = "out", date = 1990-01-31 }'),
        ("7", 'must be "default", a checkpoint folder'),
        ('"before"', 'before" is the folder of a run. Give one of its checkpoints; the newest is "'),
    ],
)
def test_what_is_no_state_is_refused(recorded, state, says):
    with pytest.raises(RunFileError) as caught:
        begun(recorded, state, "1990-06-01")
    assert says in str(caught.value)


def test_results_without_the_state_ask_for_it_unless_it_is_given(recorded, tmp_path):
    run_file = copied(recorded, tmp_path / "run")
    with Simulation(Plan.of(run_file, DAILY | {"output.variables": '["runoff"]', "output.path": '"runoff"'})) as simulation:
        simulation.run(until="1990-02-01")
    with pytest.raises(RunFileError, match=r"hold no water. Record them \(variables"):
        begun(run_file, '{ store = "runoff", date = 1990-01-31 }', "1990-02-01")
    plan = begun(run_file, '{ store = "runoff", date = 1990-01-31 }', "1990-02-01", **{"initial.water": "12.0"})
    assert plan.initial == {"water": 12.0}


def test_results_of_another_grid_are_refused(recorded, tmp_path):
    (tmp_path / "points.csv").write_text("id,lat,lon\na,-20.5,145.25\n")
    run_file = copied(recorded, tmp_path / "run")
    generate(tmp_path / "w.zarr", read_grid(points=tmp_path / "points.csv"), "1990-01-01", "1991-05-15")
    text = (
        run_file.read_text()
        .replace('file = "mask.zarr"', f'points = "{tmp_path / "points.csv"}"')
        .replace("weather.zarr", str(tmp_path / "w.zarr"))
    )
    run_file.write_text(text.partition("[[output.series]]")[0])
    with pytest.raises(RunFileError, match="are of another grid of 144 cells, this run has 1"):
        begun(run_file, '{ store = "before", date = 1990-05-31 }', "1990-06-01")


def flow(folder: Path, out: str, date: str, tracer: str, more: str) -> Path:
    """The run file of a tracer on four levels."""
    path = folder / f"{out}.toml"
    path.write_text(
        f"""model = "transport"
grid = {{ gaussian = 8 }}
time = {{ start = {date}, end = {date}, step = "12 hours" }}
output = {{ path = "{out}", variables = ["smoke", "path_x", "path_y", "path_z", "path_level"], every = "12 hours", reduce = "last" }}
parameters.tracers.smoke = {tracer}
{more}
"""
    )
    return path


LAYER = '{ initial = "layer" }'


@pytest.fixture(scope="module")
def flown(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, np.ndarray, Path]:
    """A folder with the results `before`, their last map of smoke on levels of height, and the last checkpoint."""
    folder = tmp_path_factory.mktemp("flow")
    with Simulation(flow(folder, "before", "2000-01-01", LAYER, "parameters.wind = 'dcmip11'\nparameters.levels = 4")) as run:
        run.run()
        return folder, run.get("smoke").copy(), sorted((folder / "before" / "checkpoints").iterdir())[-1]


def after(folder: Path, state: str, tracer: str = LAYER, wind: str = "dcmip11", levels: int = 4) -> Plan:
    more = f"parameters.wind = '{wind}'\nparameters.levels = {levels}\ninitial.state = {state}"
    return Plan.of(flow(folder, "after", "2000-01-02", tracer, more))


def test_recorded_levels_and_units_are_those_of_the_run(flown):
    folder, smoke, _ = flown
    state = '{ store = "before", date = 2000-01-01 }'
    np.testing.assert_array_equal(after(folder, state).initial["smoke"], smoke)
    np.testing.assert_allclose(after(folder, state, '{ units = "ppb" }').initial["smoke"], 1e9 * smoke, rtol=1e-12)
    with pytest.raises(ForcingError, match='variable "smoke" is in "1", expected "kg m-3"'):
        after(folder, state, '{ units = "kg m-3" }')
    with pytest.raises(ForcingError, match='variable "smoke": "level" is in "m", expected "hPa"'):
        after(folder, state, wind="rotation")
    with pytest.raises(ForcingError, match='"level" differ: 4 of 1500, 4500, 7500, 10500 m, expected 5 of'):
        after(folder, state, levels=5)


def test_a_level_may_begin_with_a_number_or_a_map_of_its_own(flown):
    folder, grid, values = flown[0], Gaussian(8), np.arange(128.0).reshape(8, 16)
    axes = {"lat": ("lat", grid.lat, {"units": "degrees_north"}), "lon": ("lon", grid.lon, {"units": "degrees_east"})}
    xarray.Dataset({"smoke": (("lat", "lon"), values, {"units": "1"})}, axes).to_zarr(folder / "one.zarr", consolidated=False)
    ones = "initial.'smoke[7.5 km]' = 7.0\ninitial.'smoke[1]' = { store = 'one.zarr', variable = 'smoke' }"
    with Simulation(after(folder, f"'default'\ninitial.smoke = 0.25\n{ones}"), folder / "levels") as run:
        found = run.get("smoke").reshape(4, 8, 16)
    for level, expected in enumerate((0.25, values, 7.0, 0.25)):
        np.testing.assert_array_equal(found[level], np.broadcast_to(expected, (8, 16)))
    with pytest.raises(RunFileError, match=r'"smoke\[2\]" and "smoke\[7500 m\]", which are one level'):
        after(folder, "'default'\ninitial.'smoke[2]' = 7.0\ninitial.'smoke[7500 m]' = 8.0")
    with pytest.raises(RunFileError, match=r'\[initial\] There is no level "8 km"'):
        after(folder, "'default'\ninitial.'smoke[8 km]' = 7.0")


def test_a_checkpoint_of_other_levels_is_refused_or_warned_of(flown):
    folder, smoke, checkpoint = flown
    same = after(folder, f'"{checkpoint}"')
    assert not same.cautions
    np.testing.assert_array_equal(same.initial["smoke"], smoke)
    with pytest.raises(RunFileError, match='variable "smoke" has 4 levels, expected 5'):
        after(folder, f'"{checkpoint}"', levels=5)
    (caution,) = after(folder, f'"{checkpoint}"', '{ units = "ppb", source = "1 ppb s-1" }').cautions
    assert "those that make its variables, which must have the same units and levels" in caution
