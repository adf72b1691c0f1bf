"""How long a piece of steps is: long enough to be worth what it costs beside them."""

from pathlib import Path

import pytest

from steppe import Simulation
from steppe.engine.driver import MANY, Driver, PieceCost
from steppe.engine.rule_runner import RuleRunner
from tests.scenario import make_years


def lengths(beside: float, each: float, pieces: int = 12) -> list[int]:
    """Steps of pieces that cost so many seconds, each as long as the ones before it say, and at most four times the last."""
    cost, found = PieceCost(), [1]
    for _ in range(pieces):
        cost = cost.after(beside + each * found[-1], found[-1])
        found.append(min(4 * found[-1], cost.worthwhile))
    return found


@pytest.mark.parametrize(("beside", "each", "steps"), [(2.2e-3, 7e-5, 31), (1.0, 1e-2, 100), (0.0, 1e-3, 1), (1e-3, 10.0, 1)])
def test_a_piece_gets_as_long_as_its_steps_cost_what_is_beside_them(beside: float, each: float, steps: int) -> None:
    found = lengths(beside, each)
    assert found[:2] == [1, 2]  # a second length tells both costs
    assert abs(found[-1] - steps) <= 1


def test_it_follows_what_changes() -> None:
    cost = PieceCost().after(2.2e-3 + 7e-5, 1).after(2.2e-3 + 2 * 7e-5, 2)
    assert cost.worthwhile == 31
    assert cost.after(3 * (2.2e-3 + 3 * 7e-5), 3).worthwhile == 31  # all is three times slower
    slow = cost.after(5.0, 31)  # a disk that waited
    assert slow.worthwhile == 1
    assert slow.after(2.2e-3 + 7e-5, 1).after(2.2e-3 + 4 * 7e-5, 4).worthwhile == 31


def test_steps_that_cost_nothing_end_somewhere() -> None:
    assert lengths(1.0, 0.0)[-1] == MANY


def test_a_piece_ends_where_a_slab_of_weather_ends_if_it_is_not_twice_as_long(tmp_path: Path) -> None:
    with Simulation(make_years(tmp_path, 3)) as sim:
        on, last, rest = sim._session.on, sim.steps, 30
        assert on.state.reader is not None
        slab = on.state.reader.pieces(range(last))[0].stop
        sim.step(slab - rest)

        def steps(seconds: float, until: int = last) -> int:
            driver = Driver(RuleRunner())
            driver.pace, driver._steps = 1.0, last
            return driver.end([on], until, seconds) - on.position.step

        assert steps(1.3 * rest) == steps(0.7 * rest) == rest
        assert steps(0.4 * rest) == int(0.4 * rest)
        assert steps(0.7 * rest, until=slab - 1) == rest - 1
        assert steps(0.7 * rest, until=slab - 10) == rest - 10
