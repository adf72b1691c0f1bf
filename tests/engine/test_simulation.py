"""A run on disk: the same bits however it is cut, stopped, killed, branched or threaded; looks and changes."""

import hashlib
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import xarray

import steppe
from steppe.cli import run_command
from steppe.engine import Event, Plan, Simulation, cautions, read_run_file
from steppe.errors import BadCellError, Exit, FinishedError, FolderError, GridError, ModelError, RequestError, RunFileError, SteppeError
from steppe.jobs.report import summary
from tests.scenario import copied


def digest(folder: Path) -> dict[str, str]:
    """File -> hash of everything a run computed: output and the newest checkpoint's arrays."""
    checkpoint = max((folder / "checkpoints").iterdir())
    found = {str(path.relative_to(folder)): path for path in (folder / "output.zarr").rglob("*") if path.is_file()}
    found["arrays"] = checkpoint / "arrays.bin"
    return {name: hashlib.sha256(path.read_bytes()).hexdigest() for name, path in found.items()}


@pytest.fixture(scope="module")
def uninterrupted(made_scenario, tmp_path_factory):
    """The digest of the scenario run in one go."""
    run_file = copied(made_scenario, tmp_path_factory.mktemp("whole"))
    return digest(steppe.run(run_file))


def changed(run_file: Path, changes: dict[str, str]) -> Plan:
    return Plan.of(read_run_file(run_file, changes))


@pytest.mark.parametrize("threads", [1, 3, 4])
def test_threads_do_not_change_a_bit(scenario, uninterrupted, threads):
    with Simulation(changed(scenario, {"engine.threads": str(threads)})) as simulation:
        simulation.run()
    assert digest(scenario.parent / "out") == uninterrupted


@pytest.mark.parametrize("days", [1, 7, 100])
def test_days_per_call_do_not_change_a_bit(scenario, uninterrupted, days):
    with Simulation(scenario) as simulation:
        while not simulation.finished:
            simulation.step(days)
        simulation.checkpoint()
    assert digest(scenario.parent / "out") == uninterrupted


@pytest.mark.parametrize("seed", range(3))
def test_a_run_resumed_from_any_checkpoint_is_the_same_run(scenario, uninterrupted, seed):
    cuts = sorted(random.Random(seed).sample(range(1, 419), 4))
    for cut in cuts:
        with Simulation(scenario) as simulation:
            simulation.step(cut - simulation.step_index)
            simulation.checkpoint()
    assert steppe.run(scenario) == scenario.parent / "out"
    assert digest(scenario.parent / "out") == uninterrupted


def test_a_branch_that_changes_nothing_is_the_same_run(scenario, uninterrupted):
    with Simulation(scenario) as simulation:
        simulation.step(200)
        with simulation.branch("what-if") as branch:
            branch.run()
        simulation.run()
    assert digest(scenario.parent / "out") == uninterrupted
    found = digest(scenario.parent / "out" / "branches" / "what-if")
    assert {name for name in found if found[name] != uninterrupted[name]} == {"output.zarr/zarr.json"}  # which names its parent


def test_a_branch_goes_its_own_way_and_leaves_its_parent_alone(scenario, uninterrupted):
    with Simulation(scenario) as simulation:
        simulation.step(200)
        with simulation.branch() as branch:
            branch.set("capacity", 10.0)
            branch.run()
            assert branch["water"].max() < simulation["water"].max()
        simulation.run()
    assert digest(scenario.parent / "out") == uninterrupted
    assert digest(scenario.parent / "out" / "branches" / "branch-1") != uninterrupted


KILLED = """
import os, signal, sys
left = int(sys.argv.pop(1))
def counted(function):
    def call(*arguments, **options):
        global left
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return function(*arguments, **options)
    return call
os.fsync, os.rename, os.replace = map(counted, (os.fsync, os.rename, os.replace))
from steppe.cli import main
main()
"""


def test_a_run_killed_at_eight_moments_and_started_again_is_the_same_run(scenario, uninterrupted):
    """Before the n-th time that something is made durable or renamed, n seeded: within checkpoints, commits, and the first files."""
    arguments = ["run", str(scenario), "--quiet", "--set", "engine.checkpoint=20 days"]
    moments = random.Random(20)
    kills = 0
    while kills < 8:
        ended = subprocess.run([sys.executable, "-c", KILLED, str(moments.randint(1, 90)), *arguments])
        assert ended.returncode in (0, -signal.SIGKILL)
        if ended.returncode == 0:
            assert digest(scenario.parent / "out") == uninterrupted
            shutil.rmtree(scenario.parent / "out")
        else:
            kills += 1
    subprocess.run([sys.executable, "-m", "steppe", *arguments], check=True)
    assert digest(scenario.parent / "out") == uninterrupted


def test_a_first_interrupt_checkpoints_and_the_same_command_goes_on(scenario, uninterrupted):
    slow = "import sys, time\nfrom steppe.engine.checkpoint_manager import CheckpointManager as K\nseal = K.seal_what_is_durable\n"
    slow += "K.seal_what_is_durable = lambda self: (time.sleep(0.5), seal(self))[1]\n"
    slow += "from steppe.cli import main; sys.argv = ['steppe', 'run', sys.argv[1]]; main()"
    process = subprocess.Popen([sys.executable, "-c", slow, str(scenario)], stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
    while not (scenario.parent / "out" / "progress.json").exists():
        time.sleep(0.02)
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate()
    assert process.returncode == 75
    assert "The same command continues." in said
    assert digest(scenario.parent / "out") != uninterrupted
    steppe.run(scenario)
    assert digest(scenario.parent / "out") == uninterrupted


def test_what_was_written_opens_with_units_bounds_and_coordinates(scenario):
    folder = steppe.run(scenario)
    with steppe.open(folder) as dataset:
        assert dataset["water"].attrs["units"] == "mm"
        assert dataset["water"].attrs["cell_methods"] == "time: mean"
        assert dataset.sizes == {"time": 15, "cell": 144, "lat": 14, "lon": 11, "bnds": 2}
        assert str(dataset["time"].values[1])[:10] == "1990-02-01"
        maps = steppe.unpack(dataset["water"], dataset)
        assert maps.dims == ("time", "lat", "lon")
        assert np.isnan(maps.values[:, 4, 3]).all()
        assert np.isfinite(maps.values[:, 9, 9]).all()
    with xarray.open_zarr(folder / "output.zarr", group="series/means") as series:
        assert series["runoff"].dims == ("time", "region")
        assert series.sizes["time"] == 420


def test_a_monthly_mean_is_the_mean_of_its_days(scenario):
    days = []
    with Simulation(scenario) as simulation:
        while simulation.step_index < 50:
            simulation.step(1)
            days.append(simulation.get("runoff"))
        simulation.checkpoint()
        with steppe.open(simulation.folder.path) as dataset:
            assert dataset.sizes["time"] == 2
            np.testing.assert_allclose(dataset["runoff"].values[0], np.mean(np.array(days[:22], np.float64), axis=0), rtol=1e-6, atol=1e-9)


def test_a_map_is_on_the_grid_with_its_unit(scenario):
    with Simulation(scenario) as simulation:
        simulation.step(40)
        runoff = simulation["runoff"]
        assert runoff.dims == ("lat", "lon")
        assert runoff.attrs["units"] == "mm d-1"
        assert not {"valid_min", "valid_max"} & set(simulation["water"].attrs)  # readers of a file would mask what a step leads beyond
        assert np.isnan(runoff.values[0, 0])
        assert float(runoff.sel(lat=-21.0, lon=145.0)) == simulation.get("runoff", {"cell": [145.0, -21.0]})[0]


def test_looking_does_not_change_a_run(scenario, uninterrupted):
    with Simulation(scenario) as simulation:
        while not simulation.finished:
            simulation.step(64)
            for name in ("runoff", "water", "rain", "capacity"):
                assert simulation[name].notnull().any()
        simulation.checkpoint()
    assert digest(scenario.parent / "out") == uninterrupted


def test_the_version_grows_with_every_change(scenario):
    with Simulation(scenario) as simulation:
        versions = [simulation.version]
        simulation.step(1)
        versions.append(simulation.version)
        simulation.set("water", 10.0)
        versions.append(simulation.version)
        assert versions == sorted(set(versions))
        assert (simulation.get("water") == 10.0).all()


def test_a_set_tells_what_it_did_and_reaches_only_its_region(scenario):
    with Simulation(scenario) as simulation:
        box = {"box": [144.0, -22.0, 145.0, -20.0]}
        before = simulation.get("water").copy()
        increment = simulation.set("water", 7.0, box)
        inside = simulation.grid.select(box)
        assert increment.cells == inside.size
        assert increment.after == pytest.approx(7.0 * inside.size)
        outside = np.setdiff1d(np.arange(simulation.grid.n_cells), inside)
        assert (simulation.get("water")[outside] == before[outside]).all()


def test_a_map_is_set_as_it_was_given(scenario):
    with Simulation(scenario) as simulation:
        simulation.step(20)
        box = {"box": [144.0, -22.0, 145.0, -20.0]}
        inside = simulation.grid.select(box)
        before = simulation.get("water").copy()
        simulation.set("water", simulation["water"] * 0.5, box)
        wanted = before.copy()
        wanted[inside] *= np.float32(0.5)
        np.testing.assert_array_equal(simulation.get("water"), wanted)
        simulation.set("water", simulation["water"])
        np.testing.assert_array_equal(simulation.get("water"), wanted)


def test_a_variable_is_scaled_and_added_to_in_another_unit_and_again_behind_a_rewind(scenario):
    with Simulation(scenario) as simulation:
        simulation.step(20)
        box = {"box": [144.0, -22.0, 145.0, -20.0]}
        inside = simulation.grid.select(box)
        before = simulation.get("water").astype(float)
        simulation.set("water", 1.5, box, operation="scale")
        increment = simulation.set("water", 2.0, units="cm", operation="add")
        wanted = before + 20.0
        wanted[inside] += 0.5 * before[inside]
        np.testing.assert_allclose(simulation.get("water"), wanted, rtol=1e-6)
        assert increment.after - increment.before == pytest.approx(20.0 * len(before), rel=1e-4)
        simulation.step(1)
        after = simulation.get("water").tobytes()
        simulation.rewind(15)
        simulation.step(5)
        simulation.set("water", 1.5, box, operation="scale")
        simulation.set("water", 20.0, operation="add")
        simulation.step(1)
        assert simulation.get("water").tobytes() == after
        simulation.step(9)
        later = simulation.get("water").tobytes()
        simulation.rewind(25)
        simulation.step(5)
        assert simulation.get("water").tobytes() == later


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"operation": "scael"}, 'Operation "scael" is not known. Did you mean "scale"?'),
        ({"operation": "scale", "units": "cm"}, 'The factor for "water" is in "cm"; a factor has no unit.'),
        ({"operation": "add", "units": "K"}, 'The value for "water" is in "K", expected "mm"'),
    ],
)
def test_a_wrong_operation_is_refused_and_changes_nothing(scenario, given, sentence):
    with Simulation(scenario) as simulation:
        before = simulation.get("water").copy()
        with pytest.raises(SteppeError) as caught:
            simulation.set("water", 2.0, **given)
        assert sentence in str(caught.value)
        assert (simulation.get("water") == before).all()


def test_leaving_a_with_block_waits_for_the_checkpoint_that_the_last_step_began(scenario):
    plan = changed(scenario, {"engine.checkpoint": "20 days"})
    with Simulation(plan) as simulation:
        simulation.step(20)
    with Simulation(plan) as simulation:
        assert simulation.step_index == 20


def test_closing_saves_what_was_computed_also_within_a_with_block(scenario):
    with Simulation(scenario) as simulation:
        simulation.step(20)
        simulation.checkpoint()
        simulation.step(1)
        simulation.close()
    simulation = Simulation(scenario)
    assert simulation.step_index == 21
    branch = simulation.branch("more")
    branch.step(np.int64(40))
    branch.close()
    simulation.close()
    assert steppe.open(branch.folder).sizes["time"] > 0


@pytest.mark.parametrize("way_out", [ZeroDivisionError, SystemExit, KeyboardInterrupt])
def test_leaving_a_with_block_keeps_what_was_computed_also_by_an_error_of_the_script(scenario, way_out):
    with Simulation(scenario) as simulation:
        simulation.step(20)
    with Simulation(scenario) as simulation:
        assert simulation.step_index == 20
        simulation.step(7)
        simulation.set("water", 3.0)

    def fail() -> None:
        with Simulation(scenario) as simulation:
            assert simulation.step_index == 27
            assert set(simulation.get("water")) == {np.float32(3.0)}
            simulation.step(1)
            raise way_out

    with pytest.raises(way_out):
        fail()
    with Simulation(scenario) as simulation:
        assert simulation.step_index == 28


def test_an_interrupt_waits_for_the_steps_in_work_and_loses_nothing(scenario, uninterrupted):
    def interrupt(event: Event) -> None:
        if event.kind == "progress":
            os.kill(os.getpid(), signal.SIGINT)

    signal.signal(signal.SIGINT, signal.default_int_handler)
    with Simulation(scenario, on_event=interrupt) as simulation:
        with pytest.raises(KeyboardInterrupt):
            simulation.step(simulation.steps)
        first = simulation.step_index
        with pytest.raises(KeyboardInterrupt):  # it can go on
            simulation.run()
    stood = simulation.step_index
    assert 0 < first < stood < simulation.steps
    with Simulation(scenario) as simulation:
        assert simulation.step_index == stood
        simulation.run()
    assert digest(simulation.folder.path) == uninterrupted


def test_a_second_interrupt_ends_at_once_and_the_state_is_not_kept(scenario):
    signal.signal(signal.SIGINT, signal.default_int_handler)
    with Simulation(scenario) as simulation:
        simulation.step(20)

    def interrupt(event: Event) -> None:
        for _ in range(2 if event.kind == "progress" else 0):
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt), Simulation(scenario, on_event=interrupt) as simulation:
        simulation.run()
    with Simulation(scenario) as simulation:
        assert simulation.step_index == 20


def test_an_interrupt_while_it_begins_leaves_the_folder_free(scenario):
    signal.signal(signal.SIGINT, signal.default_int_handler)
    with pytest.raises(KeyboardInterrupt):
        Simulation(scenario, on_event=lambda event: os.kill(os.getpid(), signal.SIGINT))
    Simulation(scenario).close()


def test_a_run_whose_checkpoints_are_gone_keeps_its_results(scenario, capsys):
    folder = steppe.run(scenario)
    shutil.rmtree(folder / "checkpoints")
    before = steppe.open(folder)
    said = "has results of 420 steps, but no checkpoint.* start again with --fresh"
    for act in (steppe.Simulation, steppe.run):
        with pytest.raises(FolderError, match=said):
            act(scenario)
    assert run_command(["check", str(scenario)]) == Exit.MISTAKE
    assert "but no checkpoint" in capsys.readouterr().err
    xarray.testing.assert_identical(steppe.open(folder), before)
    steppe.run(scenario, fresh=True)


def test_after_its_end_a_simulation_says_that_it_is_closed(scenario):
    with Simulation(scenario) as simulation:
        simulation.step(2)
    for act in (simulation.step, simulation.run, simulation.checkpoint, simulation.branch, lambda: simulation.get("water")):
        with pytest.raises(RequestError, match="This simulation is closed"):
            act()
    assert simulation.step_index == 2


def test_a_finished_run_that_is_closed_says_that_it_is_closed(scenario):
    with Simulation(scenario) as simulation:
        simulation.run()
        for act in (simulation.step, lambda: simulation.set("water", 1.0)):
            with pytest.raises(FinishedError, match="already at its last step"):
                act()
    for act in (simulation.step, lambda: simulation.set("water", 1.0)):
        with pytest.raises(RequestError, match="This simulation is closed"):
            act()


def test_a_date_that_is_past_is_refused_and_the_present_one_is_not(scenario):
    told = []
    with Simulation(scenario, on_event=lambda event: told.append((event.kind, event.text))) as simulation:
        simulation.step(until="1990-01-20")
        assert simulation.step_index == 11
        simulation.step(until="1990-01-20")
        assert simulation.run(until="1990-01-20")
        with pytest.raises(RequestError, match=r"1990-01-19 is past: the run is computed up to 1990-01-20\. Give a later date"):
            simulation.step(until="1990-01-19")
        assert simulation.run(until="1990-01-19")  # as in a script that is started again
        assert ("note", "The run is computed up to 1990-01-20 already.") in told
        with pytest.raises(RequestError, match="a number of steps or until=, not both"):
            simulation.step(3, until="1990-01-25")
        with pytest.raises(RunFileError, match="outside the run"):
            simulation.step(until="1999-01-01")
        with pytest.raises(RequestError, match=r'values of the last step alone\. steppe\.open\(".*out"\) has what the run recorded'):
            simulation.get("water", date="1990-01-15")
        assert simulation.step_index == 11


@pytest.mark.parametrize("name", [3, None, ["water"]])
def test_a_name_that_is_no_text_is_refused_in_a_sentence(scenario, name):
    with Simulation(scenario) as simulation:
        for ask in (simulation.__getitem__, simulation.get, lambda name: simulation.set(name, 1.0)):
            with pytest.raises(ModelError, match=r"A variable is known by its name, a text such as .* is none\."):
                ask(name)


def test_numbers_and_dates_of_numpy_are_taken(scenario):
    with Simulation(scenario) as simulation:
        simulation.step(np.int64(5))
        simulation.checkpoint()
        simulation.run(until=np.datetime64("1990-01-20"))
        assert simulation.step_index == 11
        simulation.rewind(np.int64(8))
        assert simulation.step_index == 8
        with pytest.raises(RequestError, match="n is '1'"):
            simulation.step("1")


def test_what_a_packed_array_says_of_its_cells_and_levels_counts(scenario):
    with Simulation(scenario) as simulation:
        simulation.run(until="1990-03-01")
    with steppe.open(scenario.parent / "out") as results:
        water = results["water"].isel(time=-1).load()
    with Simulation(scenario) as simulation:
        simulation.set("water", water[::-1])
        np.testing.assert_array_equal(simulation.get("water"), water.values)
        with pytest.raises(ModelError, match=r'The array for "water" has no cell \d+ of the map'):
            simulation.set("water", water[1:])
        masked = np.ma.masked_less(simulation.get("water"), np.median(water))
        with pytest.raises(ModelError, match=r"has [\d,]+ masked values"):
            simulation.set("water", masked)


def test_a_branch_without_a_name_has_the_next_free_number(scenario):
    with Simulation(scenario) as simulation:
        simulation.step(2)
        simulation.branch("branch-1").close()
        simulation.branch().close()
        assert sorted(each.name for each in (simulation.folder.path / "branches").iterdir()) == ["branch-1", "branch-2"]


def test_a_number_names_no_branch_of_a_run_that_was_served(scenario):
    with Simulation(scenario) as simulation:
        simulation.step(2)
        simulation.branch("7").close()
        (simulation.folder.path / "journal.sqlite").touch()
        with pytest.raises(FolderError, match='was served, and numbers name scenarios of the server, not "8"'):
            simulation.branch("8")


@pytest.mark.parametrize("name", ["../../evil", "/abs", "a" * 300, 5, "a.tmp"])
def test_a_branch_with_a_name_that_is_none_is_refused(scenario, name):
    with Simulation(scenario) as simulation:
        simulation.step(2)
        with pytest.raises(FolderError, match="is no name of a branch"):
            simulation.branch(name)


@pytest.mark.parametrize("reduce", ["sum", "min", "max", "last"])
def test_years_are_what_the_records_of_their_series_are(scenario, reduce):
    text = scenario.read_text().replace('every = "1 day"', f'every = "1 month"\nreduce = "{reduce}"')
    daily, scenario_of = scenario.with_name("daily.toml"), scenario.with_name(f"{reduce}.toml")
    daily.write_text(scenario.read_text().replace('"out"', '"daily"'))
    scenario_of.write_text(text.replace('"out"', f'"{reduce}"'))
    steppe.run(daily)
    days = steppe.open(scenario.with_name("daily"), "means")["runoff"].isel(region=0).sel(time="1990").values
    with Simulation(scenario_of) as simulation:
        simulation.run()
        found = summary(simulation)
    records = steppe.open(scenario.with_name(reduce), "means")["runoff"].isel(region=0).sel(time="1990").values
    label = {"sum": "mm, total", "min": "mm d-1, least", "max": "mm d-1, greatest", "last": "mm d-1, last"}[reduce]
    assert found.columns[0] == f"runoff [{label}]"
    assert found.years[1990][0] == pytest.approx({"sum": days.sum(), "min": records.min(), "max": records.max(), "last": days[-1]}[reduce])


@pytest.mark.parametrize("over", ["min", "max"])
def test_years_of_extremes_of_a_region_are_no_totals(scenario, over):
    scenario.write_text(scenario.read_text().replace('every = "1 day"', f'every = "1 month"\nover = "{over}"'))
    with Simulation(scenario) as simulation:
        simulation.run()
        found = summary(simulation)
    records = steppe.open(scenario.with_name("out"), "means")["runoff"].isel(region=0).sel(time="1990").values
    assert found.columns[0] == f"runoff [mm d-1, {'greatest' if over == 'max' else 'least'}]"
    assert found.years[1990][0] == (records.max() if over == "max" else records.min())


@pytest.mark.parametrize(
    ("name", "value", "region", "error", "sentence"),
    [
        ("watr", 1.0, "all", ModelError, 'There is no variable "watr". Did you mean "water"?'),
        ("water", -1.0, "all", ModelError, "must be a number from 0 to 1000"),
        ("runoff", 1.0, "all", ModelError, "runoff"),
        ("water", 1.0, {"box": [0.0, 0.0, 1.0, 1.0]}, GridError, "no active cell"),
    ],
)
def test_a_wrong_set_is_refused_and_changes_nothing(scenario, name, value, region, error, sentence):
    with Simulation(scenario) as simulation:
        before = simulation.get("water").copy()
        with pytest.raises(error) as caught:
            simulation.set(name, value, region)
        assert sentence in str(caught.value)
        assert (simulation.get("water") == before).all()


def test_events_of_the_calendar_are_those_set_by_hand(scenario):
    event = "[[event]]\ndate = 1990-03-01\nset = { irrigation = 50.0 }\nregion = { box = [144.0, -22.0, 145.0, -20.0] }\n"
    scenario.write_text(scenario.read_text() + event)
    with Simulation(scenario) as planned:
        planned.step(100)
        expected = planned.get("water").copy()
    scenario.write_text(scenario.read_text().replace(event, "").replace('path = "out"', 'path = "by-hand"'))
    with Simulation(scenario) as by_hand:
        by_hand.step(50)
        by_hand.set("irrigation", 50.0, {"box": [144.0, -22.0, 145.0, -20.0]})
        by_hand.step(50)
        assert (by_hand.get("water") == expected).all()


def test_a_checkpoint_starts_another_run(scenario):
    with Simulation(scenario) as simulation:
        simulation.step(100)
        expected = simulation.get("water").copy()
        checkpoint = simulation.checkpoint()
    changes = {"initial.state": f'"{checkpoint}"', "output.path": '"next"', "time.start": "1990-06-01"}
    with Simulation(changed(scenario, changes)) as later:
        assert (later.get("water") == expected).all()


def test_a_folder_of_another_run_is_refused(scenario):
    steppe.run(scenario)
    with pytest.raises(FolderError, match="parameters"):
        Simulation(changed(scenario, {"parameters.capacity": "90.0"}))


def test_a_finished_run_stays_as_it_is(scenario, uninterrupted):
    steppe.run(scenario)
    steppe.run(scenario)
    assert digest(scenario.parent / "out") == uninterrupted


def test_a_day_outside_the_run_is_refused(scenario):
    with Simulation(scenario) as simulation, pytest.raises(RunFileError, match="outside the run"):
        simulation.run(until="1999-01-01")


def test_the_weeks_of_the_paper_can_be_asked_for(scenario):
    changes = {"forcing.cadence.pan": '"7 days"', "output.path": '"weekly"'}
    with Simulation(changed(scenario, changes)) as weekly:
        weekly.step(10)
        assert np.isfinite(weekly.get("water")).all()


def test_a_warning_names_weekly_means_that_a_packed_store_rounds(scenario):
    (told,) = cautions(changed(scenario, {"forcing.cadence.pan": '"7 days"'}))
    assert told.startswith("[forcing] cadence: the store is packed, so weekly means are rounded: pan to 0.1 mm d-1. A mean below half of")
    assert not cautions(Plan.of(scenario))


def test_a_sum_of_a_state_is_warned_of(scenario):
    (told,) = cautions(changed(scenario, {"output.reduce": '"sum"'}))
    assert told.startswith('[output]: reduce = "sum" adds up the state "water". A sum is of rates, as mm d-1')


def test_a_sum_of_a_rate_a_second_is_warned_of(scenario):
    model = scenario.with_name("bucket.py")
    model.write_text(model.read_text().replace('Var("mm d-1", "Runoff"', 'Var("kg m-2 s-1", "Runoff"'))
    (told,) = cautions(changed(scenario, {"output.reduce": '"sum"', "output.variables": '["actual_evaporation", "runoff"]'}))
    assert told.startswith('[output]: reduce = "sum" adds up "runoff" of all steps, in kg m-2 s-1. Rates a day alone become amounts')


def test_a_bad_cell_is_named_and_the_last_checkpoint_is_good(scenario):
    with Simulation(scenario) as simulation:
        simulation.step(10)
        simulation.checkpoint()
        simulation.model.state["water"][5] = np.nan
        with pytest.raises(BadCellError, match=r'On 1990-01-20 in cell 5 \(longitude .*, latitude .*\) "water" is nan'):
            simulation.step(1)
        with pytest.raises(RequestError, match="no checkpoint can be made"):
            simulation.checkpoint()
    with Simulation(scenario) as simulation:
        assert simulation.step_index == 10
        assert np.isfinite(simulation.get("water")).all()


def test_cells_that_become_bad_later_are_counted_with_their_day(scenario):
    model = scenario.parent / "dry.py"
    model.write_text(Path("examples/bucket.py").read_text().replace("low=0, high=2000", "low=0, high=40"))
    with pytest.raises(BadCellError, match=r"more cells are bad by 1990-\d\d-\d\d\. Results up to"):
        steppe.run(read_run_file(scenario, {"model": f'"{model}"'}))


def test_frozen_cells_are_counted_at_the_end_and_their_marks_are_no_record(scenario):
    with pytest.raises(RunFileError, match='there is no variable "bad_step" to record'):
        Simulation(changed(scenario, {"output.variables": '["bad_step"]', "output.path": '"marks"'}))
    events = []
    run_file = changed(scenario, {"engine.on_bad_cell": '"freeze"', "output.path": '"frozen"'})
    with Simulation(run_file, on_event=events.append) as simulation:
        simulation.step(10)
        simulation.model.state["water"][[5, 7]] = np.nan
        simulation.run("1990-02-28")
    (said,) = (event.text for event in events if event.kind == "warning")
    assert said.startswith(f"2 of {simulation.grid.n_cells:,} cells are bad and frozen.")


def test_a_state_that_went_beyond_its_limits_is_restored_as_it_is(scenario):
    model = scenario.parent / "narrow.py"
    model.write_text(Path("examples/bucket.py").read_text().replace("low=0, high=1000, initial=50", "low=0, high=60, initial=50"))
    whole = steppe.run(changed(scenario, {"model": f'"{model}"', "output.path": '"whole"'}))
    cut = changed(scenario, {"model": f'"{model}"'})
    with Simulation(cut) as simulation:
        simulation.run("1990-01-16")
        assert simulation.get("water").max() > 60
        checkpoint = simulation.checkpoint()
    with pytest.raises(ModelError, match=r'\[initial\] "water" is .* mm in .* cells; it must be a number from 0 to 60'):
        changed(scenario, {"model": f'"{model}"', "initial.state": f'"{checkpoint}"', "output.path": '"other"'})
    assert digest(steppe.run(cut)) == digest(whole)


def test_the_progress_file_says_whether_somebody_is_at_work(scenario):
    from steppe.io import Progress

    out = scenario.parent / "out"
    with Simulation(scenario) as simulation:
        simulation.step(10)
        simulation.checkpoint()
        assert Progress.read(out).state == "running"
    assert (Progress.read(out).state, Progress.read(out).step) == ("stopped", 10)
    steppe.run(scenario)
    assert Progress.read(out).state == "finished"
