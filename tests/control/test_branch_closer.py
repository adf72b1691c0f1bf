"""What an engine gives up of branches that were left, and how many scenarios there may be; in played time."""

from functools import partial
from typing import Any

import pytest

from steppe.api.query import MapQuery
from steppe.control import Order, Refused
from steppe.control.server.branch_closer import STAYS
from steppe.control.server.channels import View
from steppe.control.server.supervisor import Supervisor
from tests.control.simulation import Play

VIEW = View(("main@1",), MapQuery(name="water"), 8, None)


@pytest.fixture
def made() -> Play:
    """A run that stands at step 40 and may have three scenarios."""
    made = Play(5, commands=0, disasters=0, supervisor=partial(Supervisor, scenarios=3))  # type: ignore[arg-type]
    assert made.world.run(lambda: made.supervisor.process.state == "up", 30)
    order(made, "step", "a", steps=40)
    assert made.world.run(lambda: made.journal.branch("main").shown_step == 40, 30)
    return made


def order(made: Play, kind: str, key: str, scenario: str = "main", **arguments: Any) -> int:
    return made.supervisor.accept(Order(kind, scenario, arguments, key, "anna", "admin", repr((kind, arguments)).encode())).seq


def loaded(made: Play, name: str) -> bool:
    """Whether the engine has the branch of a scenario open."""
    return made.journal.branch(name).id in made.engines[-1].endpoint._courses


def test_a_branch_that_was_left_is_open_while_it_is_looked_at_and_a_moment_longer(made):
    order(made, "rewind", "b", step=20)
    made.world.run(lambda: False, 2)
    assert loaded(made, "main")
    assert not loaded(made, "main@1")
    told: list[Any] = []
    made.supervisor.ask("main@1", MapQuery(name="water"), told.append)
    assert made.world.run(lambda: told, 5)
    assert loaded(made, "main@1")
    made.world.run(lambda: False, 3 * STAYS)
    assert not loaded(made, "main@1")
    assert loaded(made, "main")
    assert made.supervisor.dispatch.courses.keys() == {made.journal.branch("main").id}
    assert made.journal.branch("main@1").id not in made.supervisor.questions.answered


def test_a_branch_that_was_left_stays_open_as_long_as_it_is_watched(made):
    order(made, "rewind", "b", step=20)
    tell = print
    channel = made.supervisor.channels.open(VIEW, tell, 0.1)
    made.world.run(lambda: False, 5 * STAYS)
    assert loaded(made, "main@1")
    made.supervisor.channels.close(channel, tell)
    made.world.run(lambda: False, 3 * STAYS)
    assert not loaded(made, "main@1")


def test_a_look_that_is_asked_as_its_scenario_is_left_is_answered(made):
    order(made, "branch", "b", name="dry", step=20)
    made.world.run(lambda: False, 1)
    told: list[Any] = []
    made.supervisor.ask("dry", MapQuery(name="water"), told.append)
    order(made, "leave", "c", "dry")
    assert made.world.run(lambda: told, 5)
    assert not isinstance(told[0], Refused)
    made.world.run(lambda: False, 3 * STAYS)
    assert not loaded(made, "dry@1")


def test_a_scenario_too_many_is_refused_with_how_to_remove_one_until_one_is_removed(made):
    for name in ("wet", "dry"):
        order(made, "branch", name, name=name, step=20)
    for _ in range(2):
        with pytest.raises(Refused, match=r'"hot" would be scenario 4 of "run", .*DELETE /api/v1/runs/run/scenarios/NAME') as found:
            order(made, "branch", "c", name="hot", step=20)
        assert (found.value.code, found.value.facts["allowed"]) == ("too-many-scenarios", 3)
        assert order(made, "branch", "dry", name="dry", step=20), "what was accepted keeps its receipt"
    order(made, "rewind", "d", "wet", step=10)
    order(made, "leave", "e", "dry")
    with pytest.raises(Refused, match="would be scenario 4"):
        order(made, "branch", "c", name="hot", step=20)
    assert order(made, "branch", "f", name="hot", step=20)
    assert len(made.supervisor.dispatch.open) == 3
