"""Scenarios side by side are the runs that each would be alone."""

import re
from pathlib import Path

import numpy as np
import pytest
import xarray

import steppe
from steppe.engine import Plan, Ranks, serve_orders
from steppe.errors import BadCellError, FolderError, Mistake, ModelError
from steppe.io.export import ExportSource, write_netcdf
from steppe.jobs.ensemble import Scenario, read_scenarios, run_ensemble
from steppe.testing import run_threads
from tests.scenario import copied

SCENARIOS = [Scenario("small", {"capacity": 80.0}), Scenario("large", {"capacity": 200.0, "water": 50.0}), Scenario("as it is", {})]


def results(folder) -> dict[str, np.ndarray]:
    with steppe.open(folder) as found:
        return {name: np.asarray(values) for name, values in found.data_vars.items()}


def alone(scenario, folder, changes) -> dict[str, np.ndarray]:
    with steppe.Simulation(scenario, folder) as simulation:
        for name, value in changes.items():
            simulation.set(name, value)
        simulation.run()
    return results(folder)


def check_that_it_is_as_in_one_go(scenario, other, scenarios) -> None:
    """Runs an ensemble in another folder, and compares all results with those that are there."""
    assert run_ensemble(Plan.of(steppe.read_run_file(other)), scenarios)
    for number in range(2, 2 + len(scenarios)):
        one, two = (results(each.parent / "out" / "branches" / str(number)) for each in (scenario, other))
        assert one
        for name, values in one.items():
            np.testing.assert_array_equal(values, two[name], err_msg=f"{number}: {name}")


def test_scenarios_are_the_runs_that_each_would_be_alone(scenario, tmp_path):
    assert run_ensemble(Plan.of(steppe.read_run_file(scenario)), SCENARIOS)
    for number, each in enumerate(SCENARIOS, 2):
        found = results(scenario.parent / "out" / "branches" / str(number))
        expected = alone(scenario, tmp_path / str(number), each.set)
        assert found.keys() == expected.keys()
        for name, values in found.items():
            np.testing.assert_array_equal(values, expected[name], err_msg=f"{each.name}: {name}")


def test_a_scenario_begins_where_a_run_with_its_parameters_begins(scenario, tmp_path):
    own = tmp_path / "half.py"
    own.write_text(Path("examples/bucket.py").read_text() + "\n\ndef start(p):\n    return {'water': 0.5 * p.capacity}\n")
    model = {"model": str(own)}
    scenarios = [Scenario("parameter", {"capacity": 80.0}), Scenario("both", {"water": 3.0, "capacity": 80.0})]
    assert run_ensemble(Plan.of(steppe.read_run_file(scenario, model)), scenarios)
    for number, changes in enumerate([{"parameters.capacity": "80.0"}, {"parameters.capacity": "80.0", "initial.water": "3.0"}], 2):
        found = results(scenario.parent / "out" / "branches" / str(number))
        alone = steppe.run(steppe.read_run_file(scenario, model | changes), tmp_path / str(number))
        for name, values in results(alone).items():
            np.testing.assert_array_equal(found[name], values, err_msg=f"{changes}: {name}")


def test_an_ensemble_that_was_stopped_goes_on(scenario, made_scenario, tmp_path):
    plan = Plan.of(steppe.read_run_file(scenario))
    far = []
    assert not run_ensemble(plan, SCENARIOS, tell=far.append, stop=lambda: bool(far) and far[-1].step > 100)
    assert run_ensemble(Plan.of(steppe.read_run_file(scenario)), SCENARIOS)
    check_that_it_is_as_in_one_go(scenario, copied(made_scenario, tmp_path / "whole"), SCENARIOS)


def test_an_ensemble_that_was_killed_goes_on_from_its_checkpoints(scenario, made_scenario, tmp_path):
    def die(far):
        if far.step > 100:
            raise ConnectionError("as SIGKILL: nothing more is saved")

    often = {"engine.checkpoint": '"30 days"'}
    with pytest.raises(ConnectionError):
        run_ensemble(Plan.of(steppe.read_run_file(scenario, often)), SCENARIOS, tell=die)
    far = []
    assert run_ensemble(Plan.of(steppe.read_run_file(scenario, often)), SCENARIOS, tell=lambda each: far.append(each.step))
    assert far[0] >= 90
    assert far[0] % 30 == 0
    check_that_it_is_as_in_one_go(scenario, copied(made_scenario, tmp_path / "whole"), SCENARIOS)


def test_ranks_share_the_cells_of_all_scenarios(wide_scenario, made_wide_scenario, tmp_path):
    def work(world):
        if world.rank:
            return serve_orders(world)
        all_ranks = Ranks(world)
        run_ensemble(Plan.of(steppe.read_run_file(wide_scenario)), SCENARIOS[:2], all_ranks)
        return all_ranks.dismiss()

    run_threads(2, work)
    check_that_it_is_as_in_one_go(wide_scenario, copied(made_wide_scenario, tmp_path / "one"), SCENARIOS[:2])


def test_another_list_of_scenarios_needs_another_folder(scenario):
    run_ensemble(Plan.of(steppe.read_run_file(scenario)), SCENARIOS[:1])
    for others, said in (
        (SCENARIOS[1:], 'scenario 1 is "large", there it is "small"; new ones come last'),
        ([Scenario("small", {"capacity": 81.0})], 'capacity of "small" is 81, there it is 80'),
        ([Scenario("small", {"water": 5.0})], 'capacity of "small" is not set, there it is 80'),
    ):
        with pytest.raises(FolderError, match=f"another ensemble: {said}"):
            run_ensemble(Plan.of(steppe.read_run_file(scenario)), others)


def test_scenarios_that_are_added_later_are_computed_beside_the_finished_ones(scenario, made_scenario, tmp_path):
    out = scenario.parent / "out" / "branches"
    assert run_ensemble(Plan.of(steppe.read_run_file(scenario)), SCENARIOS[:2])
    before = results(out / "3")
    assert run_ensemble(Plan.of(steppe.read_run_file(scenario)), SCENARIOS)
    check_that_it_is_as_in_one_go(scenario, copied(made_scenario, tmp_path / "whole"), SCENARIOS)
    for name, values in results(out / "3").items():
        np.testing.assert_array_equal(values, before[name])
    with steppe.open(scenario.parent / "out") as found:
        assert found["scenario"].values.tolist() == ["small", "large", "as it is"]
    with pytest.raises(FolderError, match='scenario 3, "as it is", is missing'):
        run_ensemble(Plan.of(steppe.read_run_file(scenario)), SCENARIOS[:2])


def test_what_no_scenario_can_set_is_said_before_any_is_computed(scenario):
    with pytest.raises(ModelError, match=r'Scenario "wrong" sets "capacty".*capacity'):
        run_ensemble(Plan.of(steppe.read_run_file(scenario)), [Scenario("wrong", {"capacty": 1.0})])
    with pytest.raises(ModelError, match='sets "rain", which is an input of a single day'):
        run_ensemble(Plan.of(steppe.read_run_file(scenario)), [Scenario("wrong", {"rain": 1.0})])
    with pytest.raises(ModelError, match='Scenario "wrong": "capacity" is -5 mm; it must be a number'):
        run_ensemble(Plan.of(steppe.read_run_file(scenario)), [Scenario("wrong", {"capacity": -5.0})])
    with pytest.raises(ModelError, match='Scenario "wrong": "water" is 2000 mm; it must be a number from 0 to 1000 mm'):
        run_ensemble(Plan.of(steppe.read_run_file(scenario)), [Scenario("wrong", {"water": 2000.0})])
    assert run_ensemble(Plan.of(steppe.read_run_file(scenario)), [Scenario("right", {"capacity": 5.0})])


def test_what_is_to_remark_is_said_as_of_a_run_with_the_bytes_of_all_scenarios(scenario, tmp_path, monkeypatch):
    told: list[str] = []
    monkeypatch.setattr("steppe.engine.check.free_space", lambda path: 10_000)
    run = steppe.read_run_file(scenario, {"output.reduce": '"sum"'})
    with steppe.Simulation(run, tmp_path / "alone", on_event=lambda event: told.append(event.text)):
        alone, told = told, []
    assert not run_ensemble(Plan.of(run), SCENARIOS, say=lambda kind, text: told.append(text), stop=lambda: True)
    for texts in (alone, told):
        assert sum('adds up the state "water"' in text for text in texts) == 1
    one, three = (re.search(r"The run will write about ([\d.]+) (k?M?B)", " ".join(texts)) for texts in (alone, told))
    assert one[2] == three[2]
    assert float(three[1]) == pytest.approx(3 * float(one[1]), rel=0.02)


def test_scenarios_are_read_from_tables(tmp_path):
    path = tmp_path / "s.csv"
    path.write_text("name,capacity,water\nsmall,80,1.5\n# a remark\nlarge,200,50\n")
    assert read_scenarios(path) == [Scenario("small", {"capacity": 80, "water": 1.5}), Scenario("large", {"capacity": 200, "water": 50})]
    path.write_text("name,capacity,water\nsmall,80,\nbase, ,\n")
    assert read_scenarios(path) == [Scenario("small", {"capacity": 80}), Scenario("base", {})]
    toml = tmp_path / "s.toml"
    toml.write_text('[[scenario]]\nname = "small"\nset = { capacity = 80 }\n')
    assert read_scenarios(toml) == [Scenario("small", {"capacity": 80})]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("name,capacity\na,1\na,2\n", "two scenarios"),
        ("name,capacity\na,x\n", 'line 2: capacity is "x", expected a number'),
        ("name,capacity\na,-\n", 'line 2: capacity is "-", expected a number'),
        ("name,capacity,capacity\na,1,2\n", 'two columns called "capacity"'),
        ("name,capacity\na\n", "1 columns, expected 2"),
        ("capacity,name\n", "column names"),
        ("name,capacity\n", "no scenarios"),
        ("name,capacity\na/b,1\n", "must be of letters, digits, dots, hyphens and underscores"),
        ('[[scenario]]\nname = "a"\nset = { capacity = 1 }\nregion = "west"\n', r'\[\[scenario\]\] 1: key "region" is not known'),
        ("name;capacity\na;1\n", "parted by semicolons: write commas"),
        ("name\tcapacity\na\t1\n", "parted by tabs: write commas"),
        ('extra = 1\n[[scenario]]\nname = "a"\nset = { capacity = 1 }\n', 'key "extra" is not known'),
        ('[[scenario]]\nname = "a"\nset = { capacity = "1" }\n', "capacity is '1', expected a number"),
        ('[[scenario]]\nname = "a"\nset = { capacity = [1] }\n', r"\[\[scenario\]\] 1: capacity is \[1\], expected a number"),
        ('[[scenario]]\nname = "a"\n', r"\[\[scenario\]\] 1 must have a name and a table of values"),
        ("scenario = 5  # no [[scenario]]\n", r"scenario is 5, expected tables \[\[scenario\]\]"),
    ],
)
def test_a_table_that_is_none_is_refused(tmp_path, text, said):
    path = tmp_path / ("s.toml" if "[[scenario]]" in text else "s.csv")
    path.write_text(text)
    with pytest.raises(Mistake, match=said):
        read_scenarios(path)


def test_a_bad_cell_ends_its_scenario_alone(scenario):
    model = scenario.parent / "bucket.py"
    model.write_text(model.read_text().replace("exp(-p.leak)", "exp(1000.0 * p.leak)"))
    scenarios = [Scenario("calm", {"leak": 0.0}), Scenario("mad", {"leak": 0.5}), Scenario("still", {"leak": 0.0, "capacity": 50.0})]
    with pytest.raises(BadCellError, match=r'^1 of 3 scenarios stopped at a bad cell; the other 2 are computed\. "mad": On'):
        run_ensemble(Plan.of(steppe.read_run_file(scenario)), scenarios)
    with steppe.open(scenario.parent / "out") as found:
        assert found.attrs["unfinished_scenarios"].startswith("mad")
        assert np.isfinite(found["water"].sel(scenario=["calm", "still"])).all()
        whole = found["water"].load()
    write_netcdf(ExportSource(scenario.parent / "out"), scenario.parent / "all.nc", "made by a test")
    with xarray.open_dataset(scenario.parent / "all.nc") as exported:
        assert exported["water"].count().item() == whole.count().item() > 0
    told: list[str] = []
    plan = Plan.of(steppe.read_run_file(scenario, {"engine.on_bad_cell": '"freeze"', "output.path": '"frozen"'}))
    assert run_ensemble(plan, scenarios, say=lambda kind, text: told.append(f"{kind}: {text}"))
    cells = plan.grid.n_cells
    assert told == [
        f'warning: Scenario "mad": {cells} of {cells} cells are bad and frozen. '
        + "Their last good states stay in maps and in means of regions."
    ]


def test_scenarios_that_meet_bad_cells_in_one_piece_have_an_error_each(scenario):
    model = scenario.parent / "bucket.py"
    model.write_text(model.read_text().replace("exp(-p.leak)", "exp(1000.0 * p.leak) * (p.capacity - 100.0)"))
    scenarios = [Scenario("above", {"leak": 0.5}), Scenario("below", {"leak": 0.5, "capacity": 50.0})]
    with pytest.raises(BadCellError, match=r'"above": On .* "water" is nan .* "below": On .* "water" is -inf '):
        run_ensemble(Plan.of(steppe.read_run_file(scenario)), scenarios)


def test_the_records_before_a_bad_cell_stay(scenario):
    model = scenario.parent / "bucket.py"
    model.write_text(model.read_text().replace("exp(-p.leak)", "exp(-p.leak if wet < 250.0 else 1000.0)"))
    scenarios = [Scenario("dry", {"capacity": 20.0}), Scenario("wet", {"capacity": 1000.0, "leak": 0.0})]
    far: list[int] = []
    run = steppe.read_run_file(scenario, {"engine.checkpoint": '"none"'})
    with pytest.raises(BadCellError, match=r'"wet": On 19'):
        run_ensemble(Plan.of(run), scenarios, tell=lambda each: far.append(each.step))
    with steppe.open(scenario.parent / "out", "means") as found:
        assert found.attrs["unfinished_scenarios"].startswith("wet (until before 19")
        days = np.isfinite(found["water"].sel(scenario="wet")).all("region").values
    assert days.sum() in far
    assert days.sum() > 10
    assert not run_ensemble(Plan.of(run), scenarios, tell=lambda each: far.append(each.step), stop=lambda: True)
    assert far[-1] == days.sum()
