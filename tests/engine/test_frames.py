"""Frames of the live socket: what they tell, that they depend on nothing but the state, and what pairs share."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from steppe.api import read_frame
from steppe.api.frame import LAST, RANGE
from steppe.control import Leg
from steppe.engine import Session
from steppe.grid import Points, window_of
from tests.engine.sessions import OWN, on_session, query, seen, setting, to

BRANCH = [Leg(1, 20, 0), Leg(2, 1 << 62, 1 << 62)]


def frames(session: Session, words: dict[str, Any], bits: int = 8, span: Any = None, branches: tuple[int, ...] = (1,)) -> list[Any]:
    after, join = session.frames(branches, query({"name": "water", **words}), bits, span)
    content = bytes(join())
    size = len(content) // len(branches)
    return [after, *(content[i * size : (i + 1) * size] for i in range(len(branches)))]


def at(session: Session, step: int) -> None:
    session.load(1, OWN)
    to(session, step)


@pytest.mark.parametrize("bits", [8, 16])
def test_a_frame_tells_each_cell_to_half_a_level(scenario: Path, bits: int) -> None:
    def work(session: Session) -> None:
        at(session, 30)
        _, content = frames(session, {}, bits)
        frame, grid = read_frame(content), session.plan.grid
        exact = grid.unpack(seen(session, "water"))
        assert np.isnan(frame.values[~grid.active]).all()
        assert (frame.levels[~grid.active] == frame.top).all()
        assert (np.abs(frame.values - exact)[grid.active] <= frame.scale / 2 * (1 + 1e-9)).all()
        assert (frame.step, frame.time, frame.missing) == (30, 29.0, 0)
        assert (frame.west, frame.north, frame.cell) == (142.875, -19.875, 0.25)

    on_session(scenario, work)


WORDS = ({}, {"width": 5}, {"stride": 3}, {"box": [143.4, -22.1, 145.0, -20.4]}, {"box": [143.4, -22.1, 145.0, -20.4], "width": 4})


def test_frames_are_the_same_bytes_for_any_number_of_ranks(scenario: Path) -> None:
    def work(session: Session) -> list[Any]:
        at(session, 12)
        found = [frames(session, words, bits) for words in WORDS for bits in (8, 16)]
        session.advance((1,), 13, 0.0)
        span = found[0][0]
        return [*found, frames(session, {}, 8, span), frames(session, {"name": "runoff"}, 16)]

    one = on_session(scenario, work)
    for ranks in (2, 3):
        assert on_session(scenario, work, ranks) == one


def test_a_smaller_frame_is_the_mean_or_a_part_of_the_cells(scenario: Path) -> None:
    def work(session: Session) -> None:
        at(session, 12)
        for words in WORDS:
            frame = read_frame(frames(session, words, 16)[1])
            head, body = session.get(1, query({"name": "water", **words}))
            asked = np.frombuffer(body, head["dtype"]).reshape(head["shape"])
            assert frame.levels.shape == asked.shape
            assert (np.isnan(asked) == np.isnan(frame.values)).all()
            assert np.nanmax(np.abs(frame.values - asked)) <= frame.scale / 2 * (1 + 1e-6)

    on_session(scenario, work)


def test_the_branches_of_a_pair_share_their_range_and_their_step(scenario: Path) -> None:
    def work(session: Session) -> None:
        at(session, 20)
        session.load(2, BRANCH)
        to(session, 20, (2,))
        session.apply(2, 1, "set", setting("water", 400.0))
        to(session, 25, (1, 2))
        span, first, second = frames(session, {}, 16, None, (1, 2))
        mine, other = read_frame(first), read_frame(second)
        assert (mine.step, mine.scale, mine.offset) == (other.step, other.scale, other.offset)
        for branch, frame in ((1, mine), (2, other)):
            exact = session.plan.grid.unpack(seen(session, "water", branch))
            assert np.nanmax(np.abs(frame.values - exact)) <= frame.scale / 2 * (1 + 1e-9)
        assert span[0] <= min(np.nanmin(mine.values), np.nanmin(other.values))
        assert frames(session, {}, 16, None, (2, 1))[1:] == [second, first]

    for ranks in (1, 2):
        on_session(scenario, work, ranks)


def test_flags_say_that_the_range_has_changed_and_that_it_was_the_last_step(scenario: Path) -> None:
    def work(session: Session) -> None:
        at(session, 12)
        span, first = frames(session, {})
        again = read_frame(frames(session, {}, 8, span)[1])
        assert read_frame(first).flags & RANGE
        assert not again.flags & RANGE
        fixed = read_frame(frames(session, {}, 8, [0.0, 50.0, 0, 0.0, 0.0, True])[1])
        assert fixed.scale == np.float32(50 / 253)
        assert fixed.offset == 0.0
        assert not fixed.flags & LAST
        to(session, session.plan.steps)
        assert read_frame(frames(session, {})[1]).flags & LAST

    on_session(scenario, work)


@pytest.mark.parametrize("ranks", [1, 2])
def test_a_pair_shows_diagnostics_of_branches_that_came_from_the_disk(scenario: Path, ranks: int) -> None:
    def first(session: Session) -> Any:
        at(session, 20)
        session.load(2, BRANCH)
        to(session, 22, (1, 2))
        session.save(1)
        session.save(2)
        return frames(session, {"name": "runoff"}, 16, None, (1, 2))

    def later(session: Session) -> Any:
        session.load(1, OWN)
        session.load(2, BRANCH)
        both = frames(session, {"name": "runoff"}, 16, None, (1, 2))
        to(session, 23, (1,))  # only the other one lacks them now
        return both, [read_frame(each).step for each in frames(session, {"name": "runoff"}, 16, None, (1, 2))[1:]]

    shown = on_session(scenario, first, ranks)
    assert on_session(scenario, later, ranks) == (shown, [23, 22])


@pytest.mark.parametrize("ranks", [1, 2])
def test_a_run_that_is_opened_again_shows_the_diagnostics_of_its_last_step(scenario: Path, ranks: int) -> None:
    def first(session: Session) -> Any:
        at(session, 12)
        session.save(1)
        return frames(session, {"name": "runoff"}, 16)

    def later(session: Session) -> Any:
        assert session.load(1, OWN).step == 12
        found = frames(session, {"name": "runoff"}, 16), frames(session, {"name": "runoff"}, 16)
        to(session, 13)
        return *found, read_frame(frames(session, {"name": "runoff"}, 16)[1]).step

    shown = on_session(scenario, first, ranks)
    assert on_session(scenario, later, ranks) == (shown, shown, 13)


def test_a_cell_without_a_value_is_missing_not_outside(scenario: Path) -> None:
    def work(session: Session) -> None:
        at(session, 3)
        part = session.ranks.state(session._branches.live[1].state_id)
        part.model.state["water"][4] = np.nan
        frame = read_frame(frames(session, {})[1])
        row, column = divmod(int(session.plan.grid.order[4]), frame.levels.shape[1])
        assert frame.levels[row, column] == frame.top - 1
        assert frame.missing == 1

    on_session(scenario, work, engine__on_bad_cell="freeze")


def test_points_come_in_rows() -> None:
    count = 10_000
    grid = Points(tuple(map(str, range(count))), np.linspace(-30, -20, count), np.linspace(140, 150, count))
    assert window_of(grid).shape == (3, 4096)
    assert window_of(grid, stride=3).shape == (1, 3334)
