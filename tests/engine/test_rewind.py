"""A run of a script goes back to an earlier step, and watches for what happens by itself, as a served run does."""

import time
from pathlib import Path
from typing import Any, NoReturn

import pytest

from steppe.engine import Event, Simulation
from steppe.errors import DamagedError, Failure, NotComputedError, RequestError
from steppe.io import Checkpoint, RunFolder, changes_of
from tests.engine.test_field_model import run_file as field_run_file  # noqa: F401
from tests.engine.test_ranks import on_ranks
from tests.engine.test_simulation import changed, digest
from tests.scenario import copied

NORTH = {"box": [143.0, -21.0, 146.0, -20.0]}


def steered(simulation: Simulation, until: int) -> None:
    """Steps with something set at two of them, and a checkpoint between."""
    for step in range(until):
        if step == 20:
            simulation.set("water", 50.0, NORTH)
        if step == 30:
            simulation.checkpoint()
        simulation.step()


@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_a_run_that_went_back_has_the_bytes_of_one_that_did_not(wide_scenario, tmp_path, ranks):
    def straight(simulation: Simulation) -> None:
        steered(simulation, 35)
        simulation.run()

    def there_and_back(simulation: Simulation) -> None:
        steered(simulation, 35)
        before = simulation.get("water").tobytes()
        simulation.set("water", 0.0)
        simulation.step(12)
        simulation.checkpoint()
        simulation.step(200)
        simulation.rewind(35)
        assert simulation.step_index == 35
        assert simulation.get("water").tobytes() == before
        simulation.run()

    on_ranks(ranks, copied(wide_scenario, tmp_path / "straight"), straight)
    on_ranks(ranks, wide_scenario, there_and_back)
    assert digest(wide_scenario.parent / "out") == digest(tmp_path / "straight" / "out")


def test_it_goes_back_more_than_once_and_knows_the_diagnostics_there(wide_scenario):
    with Simulation(wide_scenario) as simulation:
        seen = []
        for _ in range(40):
            simulation.step()
            seen.append(simulation.get("runoff").tobytes())
        for step in (31, 12, 12, 3):
            simulation.rewind(step)
            assert simulation.get("runoff").tobytes() == seen[step - 1]
        simulation.rewind(0)
        assert simulation.step_index == 0
        simulation.step(40)
        assert simulation.get("runoff").tobytes() == seen[-1]


def test_what_was_set_before_stays_set_in_the_next_session(wide_scenario):
    with Simulation(wide_scenario) as first:
        steered(first, 28)
        runoff = first.get("runoff").tobytes()
        first.step(5)
        first.rewind(28)
    with Simulation(wide_scenario) as second:
        assert second.step_index == 28
        assert second.get("runoff").tobytes() == runoff


@pytest.mark.parametrize("ranks", [1, 2])
def test_a_model_with_neighbours_goes_back(field_run_file, ranks):  # noqa: F811
    def work(simulation: Simulation) -> bool:
        simulation.set("concentration", 100.0, {"box": [143.0, -23.0, 144.0, -22.0]})
        simulation.step(10)
        before = simulation.get("concentration").tobytes()
        simulation.step(30)
        simulation.rewind(10)
        return simulation.get("concentration").tobytes() == before

    assert on_ranks(ranks, field_run_file, work)


def test_a_date_names_the_end_of_its_day(wide_scenario):
    with Simulation(wide_scenario) as simulation:
        simulation.step(20)
        simulation.rewind("1990-01-14")
        assert (simulation.step_index, simulation.date) == (5, "1990-01-15")
        for date in ("1990-01-09", "1990-01-15"):
            allowed = "a date from 1990-01-10 to 1990-01-14, or a number of steps from 0, the initial state, to 5"
            with pytest.raises(RequestError, match=f"cannot go back to {date}: it stands at step 5. Give {allowed}"):
                simulation.rewind(date)
        assert simulation.step_index == 5
        simulation.rewind("1990-01-10")
        simulation.rewind(0)


def test_where_it_cannot_go_back_it_stays(wide_scenario):
    with Simulation(wide_scenario) as simulation:
        simulation.step(10)
        with pytest.raises(RequestError, match="cannot go back to step 11: it stands at step 10"):
            simulation.rewind(11)
        for wrong in (2.0, True):
            with pytest.raises(RequestError, match=rf"takes a whole number of steps, or a date; to is {wrong}\."):
                simulation.rewind(wrong)
    with Simulation(wide_scenario) as simulation:
        told = "no state of the run from before step 9; its earliest is of step 10. Begin the run again"
        with pytest.raises(NotComputedError, match=told):
            simulation.rewind(9)
        simulation.step(3)
        simulation.rewind(10)
        assert simulation.step_index == 10


def test_it_waits_for_a_checkpoint_on_its_way_which_replaces_an_older_one(wide_scenario, monkeypatch):
    seal = Checkpoint.seal

    def slowly(*arguments: Any) -> Path:
        time.sleep(0.1)
        return seal(*arguments)

    monkeypatch.setattr(Checkpoint, "seal", slowly)
    with Simulation(changed(wide_scenario, {"engine.checkpoint": '"1 day"'})) as simulation:
        simulation.step(4)
        before = simulation.get("water").tobytes()
        simulation.step(2)
        simulation.rewind(4)
        assert simulation.get("water").tobytes() == before


def test_a_damaged_checkpoint_forgets_no_later_change(wide_scenario):
    with Simulation(wide_scenario) as simulation:
        simulation.step(10)
        manifest = simulation.checkpoint() / "manifest.json"
        simulation.step(10)
        simulation.checkpoint()
        simulation.step(2)
        simulation.set("water", 50.0, NORTH)
        simulation.step(2)
        before = simulation.get("water").tobytes()
        simulation.step(2)
        manifest.unlink()
        with pytest.raises(DamagedError, match="missing"):
            simulation.rewind(12)
        assert simulation.step_index == 26
        simulation.rewind(24)
        assert simulation.get("water").tobytes() == before


@pytest.mark.parametrize("ranks", [1, 2])
def test_a_trigger_of_a_script_pauses_the_run_where_its_expression_becomes_true(wide_scenario, ranks):
    def work(simulation: Simulation) -> tuple[int, list[float]]:
        simulation.add_trigger("max(runoff) > 5", "pause", text="It runs off.")
        assert not simulation.run()
        step, most = simulation.step_index, float(simulation.get("runoff").max())
        simulation.rewind(0)
        highest = []
        for _ in range(step - 1):
            simulation.step()
            highest.append(float(simulation.get("runoff").max()))
        return step, [*highest, most]

    step, highest = on_ranks(ranks, wide_scenario, work)
    assert step == len(highest)
    assert highest[-1] > 5 >= max(highest[:-1])


def test_its_message_is_an_event_once_and_it_is_in_the_next_session(wide_scenario):
    events: list[Event] = []
    with Simulation(wide_scenario, on_event=events.append) as first:
        number = first.add_trigger("mean(water) > -1", text="There is water.")
        first.step(3)
    assert [(each.kind, each.step) for each in events if "water" in each.text] == [("message", 1)]
    with Simulation(wide_scenario, on_event=events.append) as second:
        second.step(3)
        second.remove_trigger(number)
        with pytest.raises(RequestError, match="no event or trigger 1"):
            second.remove_trigger(number)
    assert len([each for each in events if each.kind == "message"]) == 1


def test_the_triggers_of_a_step_are_those_that_were_added_and_removed_before_it(wide_scenario):
    events: list[Event] = []
    with Simulation(wide_scenario, on_event=events.append) as simulation:
        simulation.step(10)
        first = simulation.add_trigger("mean(water) > -1", text="There is water.")
        simulation.step(10)
        late = simulation.add_trigger("mean(water) > -2")
        simulation.rewind(15)
        with pytest.raises(RequestError, match=f"no event or trigger {late}"):
            simulation.remove_trigger(late)
        simulation.checkpoint()
        simulation.remove_trigger(first)
        simulation.step(10)
        simulation.rewind(20)
        with pytest.raises(RequestError, match=f"no event or trigger {first}"):
            simulation.remove_trigger(first)
        simulation.rewind(8)
        simulation.step(30)
    assert [each.step for each in events if each.kind == "message"] == [11]


def test_a_rewind_that_was_interrupted_leaves_a_folder_that_goes_on(wide_scenario, monkeypatch):
    def full(folder: RunFolder) -> NoReturn:
        raise Failure("The disk is full.")

    with Simulation(wide_scenario) as simulation:
        simulation.step(20)
        simulation.checkpoint()
        with monkeypatch.context() as patch:
            patch.setattr(RunFolder, "drop_output", full)
            with pytest.raises(Failure, match="The disk is full"):
                simulation.rewind(5)
    with Simulation(wide_scenario) as simulation:
        assert simulation.step_index == 0


def test_changes_are_numbered_on_in_the_next_session(wide_scenario, monkeypatch):
    """So those that a checkpoint holds are never reported as lost, and others are."""
    events: list[Event] = []
    with Simulation(wide_scenario) as simulation:
        simulation.step(5)
        for value in (1.0, 2.0, 3.0):
            simulation.set("water", value)
    with Simulation(wide_scenario, on_event=events.append) as simulation:
        simulation.set("water", 7.0)
    with Simulation(wide_scenario, on_event=events.append) as simulation:
        simulation.step(2)
        simulation.rewind(5)
        assert (simulation.get("water") == 7.0).all()
    assert len(changes_of(simulation.folder.path)) == 4
    assert not [each for each in events if each.kind == "warning"]
    with Simulation(wide_scenario) as simulation:
        simulation.set("water", 8.0)
        monkeypatch.setattr(simulation._session, "save_last", lambda: None)
    with Simulation(wide_scenario, on_event=events.append) as simulation:
        assert (simulation.get("water") == 7.0).all()
    assert "water at step 5" in next(each.text for each in events if each.kind == "warning")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [(("max(watr) > 1",), "watr"), (("max(water) > 1", "stop"), 'no action "stop". Write one of pause, message, image')],
)
def test_a_trigger_that_cannot_be_is_refused(wide_scenario, arguments, says):
    with Simulation(wide_scenario) as simulation, pytest.raises(RequestError, match=says):
        simulation.add_trigger(*arguments)
