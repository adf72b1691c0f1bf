"""What the status of a scenario names, whether an engine has it open or not; in played time."""

from typing import Any

from steppe.control import Order
from tests.control.simulation import Play


def test_a_scenario_names_its_last_change_when_no_engine_has_it_open() -> None:
    made = Play(5, commands=0, disasters=0)

    def order(kind: str, key: str, **arguments: Any) -> None:
        made.supervisor.accept(Order(kind, "main", arguments, key, "anna", "admin", repr((kind, arguments)).encode()))

    def told() -> tuple[int, int]:
        found = made.supervisor.scenario("main")
        assert found is not None
        return found["step"], found["seq"]

    assert made.world.run(lambda: made.supervisor.process.state == "up", 30)
    order("step", "a", steps=40)
    assert made.world.run(lambda: told()[0] == 40, 30)
    before = told()
    order("set", "b", amount=3)
    assert made.world.run(lambda: not made.journal.waiting("set"), 30)
    after = told()
    assert after != before
    made.supervisor.dispatch.reset()  # as when the engine is lost
    assert told() == after
    made.engines[-1].kill()
    looked: set[tuple[int, int]] = set()
    assert made.world.run(lambda: looked.add(told()) or (len(made.engines) > 1 and made.supervisor.process.state == "up"), 60)  # type: ignore[func-returns-value]
    assert looked == {after}  # also while the next one repeats steps
