"""A run that is opened again answers of its last step, and refuses orders that cannot have an effect."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from steppe.control import OPEN_END, Leg
from steppe.engine import Event, Session, Simulation
from steppe.errors import FinishedError, NotComputedError, RequestError
from steppe.io import Checkpoint
from tests.engine.sessions import OWN, on_session, query, seen, setting, to
from tests.engine.test_ranks import on_ranks

BOX = {"box": [144.0, -22.0, 145.0, -20.0]}


def looked(simulation: Simulation) -> dict[str, Any]:
    """A diagnostic, a forcing and an image of the last step."""
    return {"runoff": simulation.get("runoff"), "rain": simulation.get("rain"), "image": simulation.image("runoff", width=9)}


def same(found: dict[str, Any], expected: dict[str, Any]) -> bool:
    return all(np.array_equal(found[name], expected[name]) for name in expected)


@pytest.mark.parametrize("ranks", [1, 3])
def test_a_run_that_is_opened_again_has_the_diagnostics_of_its_last_step(wide_scenario: Path, ranks: int) -> None:
    def first(simulation: Simulation) -> dict[str, Any]:
        simulation.step(30)
        simulation.set("water", 40.0)
        simulation.set("water", simulation["water"] * 0.5, BOX)
        simulation.step(12)
        simulation.set("water", np.linspace(1.0, 9.0, simulation.grid.n_cells))
        simulation.step(3)
        expected = looked(simulation)
        simulation.checkpoint()
        simulation.set("capacity", 70.0)  # after the step: its diagnostics stay what they are
        simulation.checkpoint()
        simulation.set("capacity", 60.0, BOX)
        return expected

    def again(simulation: Simulation) -> dict[str, Any]:
        found = looked(simulation)
        simulation.set("water", 5.0)
        assert same(looked(simulation), found)
        return found

    expected = on_ranks(ranks, wide_scenario, first)
    assert same(on_ranks(ranks, wide_scenario, again), expected)
    assert same(on_ranks(4 - ranks, wide_scenario, again), expected)

    def on_the_server(session: Session) -> np.ndarray:
        session.load(1, OWN)
        return seen(session, "runoff")

    np.testing.assert_array_equal(on_session(wide_scenario, on_the_server, ranks), expected["runoff"])


def test_looking_again_does_not_change_the_steps_that_follow(scenario: Path) -> None:
    with Simulation(scenario, scenario.parent / "whole") as simulation:
        simulation.step(30)
        simulation.step(30)
        expected = simulation.get("water").copy(), simulation.get("runoff").copy()
    for days in (30, 30):
        with Simulation(scenario) as simulation:
            if simulation.step_index:
                assert simulation["runoff"].notnull().any()
            simulation.step(days)
    with Simulation(scenario) as simulation:
        np.testing.assert_array_equal(simulation.get("water"), expected[0])
        np.testing.assert_array_equal(simulation.get("runoff"), expected[1])


def test_a_branch_and_new_shares_know_the_diagnostics_of_the_step_before_them(wide_scenario: Path) -> None:
    def work(simulation: Simulation) -> None:
        simulation.step(20)
        simulation.set("water", np.linspace(1.0, 9.0, simulation.grid.n_cells))
        simulation.step(20)
        expected = looked(simulation)
        with simulation.branch("what-if") as branch:
            assert same(looked(branch), expected)
            branch.step(5)
        simulation.recut([0, 500, simulation.grid.n_cells])
        simulation._session._cache.discard(1)  # it is gathered again
        assert same(looked(simulation), expected)

    on_ranks(2, wide_scenario, work)


@pytest.mark.parametrize(("step", "advice"), [(40, "The next step has it."), (420, "Look at an earlier step.")])
def test_a_value_that_cannot_be_computed_again_is_said_to_be_lost(scenario: Path, step: int, advice: str, monkeypatch) -> None:
    with Simulation(scenario) as simulation:
        simulation.step(step)
    monkeypatch.setattr("steppe.engine.session.HERE", 0.0)
    told = f'"runoff" of step {step} is not in memory, and computing it again takes too long or is not possible. {advice}'
    with Simulation(scenario) as simulation, pytest.raises(NotComputedError, match=told):
        simulation._session.frames([1], query({"name": "runoff"}), 8, None)


def test_a_finished_run_answers_and_refuses_orders_that_change_nothing(scenario: Path) -> None:
    events: list[Event] = []
    with Simulation(scenario, on_event=events.append) as simulation:
        simulation.run()
        expected = looked(simulation)
    assert (events[-1].kind, events[-1].text) == ("finished", "at 1991-03-05")  # the same date as below
    with Simulation(scenario) as simulation:
        assert same(looked(simulation), expected)
        for order in (lambda: simulation.step(30), lambda: simulation.set("water", 5.0)):
            with pytest.raises(
                FinishedError, match=r"already at its last step, 420 \(1991-03-05\)\. Start it again with fresh=True\."
            ) as raised:
                order()
            assert raised.value.code == "already-finished"
    with Simulation(scenario, fresh=True) as simulation:
        with pytest.raises(NotComputedError, match="none has been made yet"):
            simulation.get("runoff")
        with pytest.raises(RequestError, match=r"one or more; n is 0\."):
            simulation.step(0)
        with pytest.raises(RequestError, match=r"a whole number of steps, one or more; n is 2\.5"):
            simulation.step(2.5)
        simulation.step(1)


def test_a_run_that_ends_far_from_its_last_checkpoint_makes_one_before_its_last_piece(
    scenario: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("steppe.engine.cadence.BACK", 0.0)
    with Simulation(scenario) as simulation:
        simulation.run()
        before = {Checkpoint.open(path, None).step for path in Checkpoint.all(simulation.folder.checkpoints)}
    assert len(before) == 2
    assert 300 < min(before) < max(before) == 420


def test_without_the_state_before_it_the_last_step_is_not_answered(scenario: Path) -> None:
    with Simulation(scenario) as simulation:
        simulation.step(10)
        for number in range(1001):  # more than a checkpoint tells
            simulation.set("water", 1.0 + number / 10)
        simulation.step(1)
    with Simulation(scenario) as simulation:
        with pytest.raises(NotComputedError, match='"runoff" belongs to a step'):
            simulation.get("runoff")
        simulation.step(1)
        assert simulation["runoff"].notnull().any()


@pytest.mark.parametrize("left", [False, True])
def test_a_branch_from_a_checkpoint_shows_its_past_after_its_own(scenario: Path, left: bool) -> None:
    """All of it, also where its ancestor was left: checkpoints know all actions before them."""

    def work(session: Session) -> None:
        session.load(1, OWN)
        to(session, 5)
        session.save(1)
        session.apply(1, 1, "set", setting("capacity", 90.0))
        to(session, 12)
        session.save(1)
        session.apply(1, 2, "set", setting("water", 7.0))
        to(session, 40)
        past = {step: seen(session, "drainage", step=step) for step in (1, 5, 9, 12, 13, 20)}
        if left:
            session.unload(1, keep=False)
        session.load(2, [Leg(1, 20, OPEN_END), Leg(2, OPEN_END, OPEN_END)])
        to(session, 20, (2,))
        session.apply(2, 3, "set", setting("capacity", 95.0))
        for step in (30, 40, 50):
            to(session, step, (2,))
            session.save(2)
            for each, values in past.items():
                np.testing.assert_array_equal(seen(session, "drainage", 2, step=each), values, err_msg=f"step {each} at {step}")

    on_session(scenario, work)


def test_a_session_shows_all_steps_of_the_sessions_before_it(scenario: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    steps, past = (1, 5, 9, 15, 20), {}

    def first(session: Session) -> None:
        session.load(1, OWN)
        session.apply(1, 1, "set", setting("capacity", 90.0))
        to(session, 10)
        session.save(1)

    def second(session: Session) -> None:
        session.load(1, OWN)
        session.apply(1, 2, "set", setting("water", 7.0))
        to(session, 20)
        session.save(1)
        past.update({step: seen(session, "drainage", step=step) for step in steps})

    def third(session: Session) -> None:
        session.load(1, OWN)
        for step in steps:
            np.testing.assert_array_equal(seen(session, "drainage", step=step), past[step], err_msg=f"step {step}")

    def told(session: Session) -> None:
        session.load(1, OWN)
        monkeypatch.setattr(session, "_patience", lambda on, step: 0)
        monkeypatch.setattr(session, "kept", lambda branch: 12)
        with pytest.raises(NotComputedError, match=r"steps 12 to 20 are at hand, earlier ones close behind a checkpoint\. Take the last"):
            seen(session, "drainage", step=5)

    for work in (first, second, third, told):
        on_session(scenario, work)
