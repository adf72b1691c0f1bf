"""Following: every step of what is followed is told once, side by side, and nothing is told or slowed while nobody follows."""

from typing import Any

import numpy as np

from steppe.control.engine.series_source import MOMENT, SeriesSource
from steppe.control.server.live_series import LiveSeries, SeriesKey
from steppe.control.wire import Follow, Message, Position, SeriesRows, Unfollow

CELL = np.array([7], "<u4").tobytes()


class Engine:
    """A branch whose value is ten times its step."""

    def __init__(self) -> None:
        self.at, self.time, self.missing = 0, 0.0, set[int]()
        self.told: list[tuple[SeriesRows, list[float]]] = []
        self.following = SeriesSource(self, self.tell, lambda: self.time)  # type: ignore[arg-type]

    def position(self, branch: int) -> Position:
        return Position(self.at, 0)

    def get(self, branch: int, request: dict[str, Any]) -> tuple[dict[str, Any], bytes]:
        missing = [[self.at, self.at, "gone"]] if self.at in self.missing else []
        return {"dtype": "<f4", "shape": [1, 1], "missing": missing}, np.array([10.0 * self.at], "<f4").tobytes()

    def tell(self, message: Message, body: Any) -> None:
        assert isinstance(message, SeriesRows)
        self.told.append((message, np.frombuffer(body, "<f4").tolist()))

    def step(self, seconds: float = 0.01, busy: bool = True) -> None:
        self.at, self.time = self.at + 1, self.time + seconds
        self.following.take([1])
        self.following.poll(busy)


def test_nothing_is_told_while_nobody_follows() -> None:
    engine = Engine()
    engine.step(1.0)
    assert engine.told == []
    assert not engine.following.any_of([1])
    engine.following.receive(Follow(1, 1, "water", False, CELL))
    assert engine.following.any_of([1])
    assert not engine.following.any_of([2])
    engine.following.receive(Unfollow(1))
    engine.step(1.0)
    assert engine.told == []


def test_steps_come_side_by_side_a_moment_apart_and_at_rest_at_once() -> None:
    engine = Engine()
    engine.following.receive(Follow(1, 1, "water", False, CELL))
    for _ in range(35):
        engine.step(MOMENT / 10)
    engine.step(0.0, busy=False)
    assert [value for _, values in engine.told for value in values] == [10.0 * step for step in range(1, 37)]
    assert len(engine.told) <= 6
    assert engine.told[-1][0].position == (36, 0)


def test_a_step_without_a_value_parts_what_is_told() -> None:
    engine = Engine()
    engine.missing = {3}
    engine.following.receive(Follow(1, 1, "water", False, CELL))
    for _ in range(5):
        engine.step(0.0)
    engine.step(0.0, busy=False)
    assert [(message.first, values) for message, values in engine.told] == [(1, [10.0, 20.0]), (4, [40.0, 50.0, 60.0])]


def test_a_series_holds_what_was_told_last_of_each_step_and_begins_anew_behind_a_hole() -> None:
    series = LiveSeries(1, SeriesKey("main", "water", CELL, False))

    def take(first: int, *values: float, branch: int = 1) -> list[float]:
        series.take(SeriesRows(1, branch, first, "<f4", 1, Position(0, 0)), np.array(values, "<f4").tobytes())
        return series.values(series.first, series.end)[:, 0].tolist()

    assert take(5, 50, 60, 70) == [50, 60, 70]
    assert take(8, 80) == [50, 60, 70, 80]
    assert take(7, 71, 81) == [50, 60, 71, 81]  # made again
    assert take(20, 1) == [1]
    assert (series.first, series.end) == (20, 21)
    assert take(21, 2, branch=2) == [2]
