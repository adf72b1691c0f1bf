"""Branches of a run that is steered: the bits of a run that went that way from the start, in memory and on the disk."""

import shutil
import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray

import steppe
from steppe.control import OPEN_END, Leg
from steppe.control.engine.endpoint import EngineEndpoint
from steppe.control.wire import ActionOutcome, Boundary, BranchAction, BranchFailure, Load, Pin, Target
from steppe.engine import Session, Simulation
from steppe.engine.branches import Branches
from steppe.engine.rank_state import RankState
from steppe.errors import BadCellError, DamagedError, Failure, NoSpaceError, NotComputedError
from steppe.io import Progress, StoredRecords
from tests.engine.sessions import OWN, on_session, query, seen, sent, setting, to
from tests.engine.test_simulation import digest
from tests.scenario import EXAMPLES, copied, write_mask

RANKS = (1, 2, 3)


def forked(branch: int, *forks: tuple[int, int, int]) -> list[Leg]:
    """A path over branches, each left at (step, seq)."""
    return [*(Leg(*fork) for fork in forks), Leg(branch, OPEN_END, OPEN_END)]


@pytest.fixture(scope="module")
def uninterrupted(made_wide_scenario, tmp_path_factory):
    """The digest of the scenario run in one go by one rank."""
    return digest(steppe.run(copied(made_wide_scenario, tmp_path_factory.mktemp("whole"))))


def same_results(folder: Path, expected: dict[str, str]) -> bool:
    """Whether all but the description of the store, which names the parent, is the same to the byte."""
    found = digest(folder)
    return {name for name in {*found, *expected} if found.get(name) != expected.get(name)} <= {"output.zarr/zarr.json"}


# each number of ranks and each moment, not each pair
@pytest.mark.parametrize(("saved_at", "ranks"), [(None, 1), (None, 3), (210, 2), (300, 3), (300, 1)])
def test_a_branch_that_changes_nothing_is_the_same_run(wide_scenario, uninterrupted, ranks, saved_at, monkeypatch):
    """It forks in mid-month, from a parent that went on, and settles by itself when a shard is full, or earlier when it is saved."""
    monkeypatch.setattr("steppe.engine.session.REMEMBER", 0.0)  # copies are made by steps alone, not by the time that these take,
    monkeypatch.setattr("steppe.engine.session.COPYING", 1e9)  # nor by that of a copy

    def work(session: Session) -> None:
        session.load(1, OWN)
        to(session, 200)
        to(session, 330)
        session.apply(1, 1, "set", setting("capacity", 10.0))
        to(session, 400)
        at = session.load(2, forked(2, (1, 205, 0)))
        assert 192 < at.step < 205, "eight steps are between copies at most"
        assert session.load(2, forked(2, (1, 205, 0))) == at
        for step in (saved_at or 250, 420):
            to(session, step, (2,))
            if saved_at or step == 420:
                session.save(2)

    on_session(wide_scenario, work, ranks)
    assert same_results(wide_scenario.parent / "out" / "branches" / "2", uninterrupted)


@pytest.mark.parametrize("ranks", RANKS)
def test_a_branch_begins_where_its_parent_stands(wide_scenario, made_wide_scenario, tmp_path, ranks):
    """However long ago the parent was copied, it knows the diagnostics of the last step, and neither has to do with the other any more."""
    names = ("water", "runoff", "rain")

    def seen_of(session: Session, *branches: int) -> list[Any]:
        return [[seen(session, name, branch).tolist() for name in names] for branch in branches]

    def on_branches(session: Session) -> Any:
        session.load(1, OWN)
        to(session, 43)
        assert session.apply(1, 5, "set", setting("water", 9.0)).ok
        session._branches.snapshots.discard(1)
        assert session.load(2, forked(2, (1, 43, 9))) == (43, 5)
        assert seen_of(session, 1) == seen_of(session, 2)
        assert session.apply(1, 10, "set", setting("water", 1.0)).ok
        found = seen_of(session, 1, 2)
        to(session, 60, (2,))
        return [*found, *seen_of(session, 1, 2)]

    def in_one_go(session: Session, change: float, until: int) -> Any:
        session.load(1, OWN)
        to(session, 43)
        session.apply(1, 5, "set", setting("water", change))
        to(session, until)
        return seen_of(session, 1)[0]

    alone = [
        on_session(copied(made_wide_scenario, tmp_path / f"{k}"), partial(in_one_go, change=change, until=until))
        for k, (change, until) in enumerate([(1.0, 43), (9.0, 43), (1.0, 43), (9.0, 60)])
    ]
    assert on_session(wide_scenario, on_branches, ranks) == alone


def test_what_happened_after_a_fork_is_not_in_the_store_of_the_branch(scenario):
    def work(session: Session) -> None:
        session.load(1, OWN)
        to(session, 400)  # whole months up to 1991-01-31
        session.save(1)
        session.load(2, forked(2, (1, 100, 0)))
        to(session, 100, (2,))
        session.save(2)

    on_session(scenario, work)
    for branch, months, days in ((Path(), 13, 400), (Path("branches/2"), 3, 100)):
        folder = scenario.parent / "out" / branch
        with xarray.open_zarr(folder / "output.zarr") as store:
            known = np.isfinite(store["water"].values).all(axis=1)
            assert known.tolist() == [month < months for month in range(15)]
        assert StoredRecords.open(folder).axes["water"].rows == months
        assert StoredRecords.open(folder, "means").axes["runoff"].rows == days
        assert Progress.read(folder).step == days


def test_a_branch_that_gets_its_folder_where_it_forked_is_saved_there(scenario: Path) -> None:
    """Its origin leaves the memory. Readers of the folder would see no record, since none fills a shard."""
    folder = scenario.parent / "out" / "branches" / "2"

    def work(session: Session) -> dict[str, int]:
        session.load(1, OWN)
        to(session, 40)
        session.load(2, forked(2, (1, 40, 0)))
        assert not session.dirty(2)
        session.unload(1)
        assert session.dirty(2)
        session.save(2)
        assert not session.dirty(2)
        return session._branches.live[2].records

    records = on_session(scenario, work)
    progress = Progress.read(folder)
    assert progress is not None
    assert (progress.step, progress.records) == (40, records)
    assert any(records.values())


@pytest.mark.parametrize("ranks", [1, 3])
def test_a_branch_of_a_branch_is_what_its_path_says(wide_scenario, made_wide_scenario, tmp_path, ranks):
    """Neither is settled before the last is; the path is gone again on one branch to compare."""
    first, second = setting("capacity", 90.0), setting("water", 3.0)

    def on_branches(session: Session) -> Any:
        session.load(1, OWN)
        to(session, 60)
        session.load(2, forked(2, (1, 40, 0)))
        to(session, 40, (2,))
        session.apply(2, 7, "set", first)
        to(session, 90, (2,))
        if session.load(3, forked(3, (1, 40, 0), (2, 70, 0))) < (40, 7):  # then it is up to who commands to do it again
            to(session, 40, (3,))
            session.apply(3, 7, "set", first)
        to(session, 70, (3,))
        session.apply(3, 9, "set", second)
        to(session, 200, (3,))
        session.unload(2)
        session.save(3)
        to(session, 420, (3,))
        session.save(3)
        return seen(session, "runoff", 3).tolist(), session.ranks.state(session._root).model.name

    def in_one_go(session: Session) -> Any:
        session.load(1, OWN)
        for step, seq, what in ((40, 7, first), (70, 9, second)):
            to(session, step)
            session.apply(1, seq, "set", what)
        to(session, 420)
        session.save(1)
        return seen(session, "runoff").tolist(), session.ranks.state(session._root).model.name

    other = copied(made_wide_scenario, tmp_path / "one-go")
    assert on_session(wide_scenario, on_branches, ranks) == on_session(other, in_one_go)
    out = wide_scenario.parent / "out"
    assert same_results(out / "branches" / "3", digest(other.parent / "out"))
    parent = steppe.open(out / "branches" / "3").attrs["steppe_parent_run"]
    shutil.rmtree(out / "branches" / "3")
    assert parent != steppe.open(out).attrs["steppe_run"]  # its parent is branch 2


def test_a_restart_touches_no_file(scenario):
    """As in calibration: from the initial state, another parameter, thirty days; over and over."""

    def work(session: Session) -> None:
        session.load(1, OWN)
        files = sorted(scenario.parent.rglob("*"))
        path = forked(2, (1, 0, 0))
        found = []
        for k, capacity in enumerate((60.0, 120.0, 60.0)):
            branch = 2 + k
            assert session.load(branch, [*path[:-1], Leg(branch, OPEN_END, OPEN_END)]) == (0, 0)
            session.apply(branch, k + 1, "set", setting("capacity", capacity))
            to(session, 30, (branch,))
            found.append(seen(session, "water", branch))
            session.unload(branch)
        assert (found[0] == found[2]).all()
        assert (found[0] != found[1]).any()
        assert sorted(scenario.parent.rglob("*")) == files

    on_session(scenario, work)


@pytest.mark.parametrize("ranks", [1, 2])
def test_branches_come_back_from_the_disk_after_the_engine_is_gone(wide_scenario, uninterrupted, ranks):
    path = forked(2, (1, 205, 0))

    def first(session: Session) -> None:
        session.load(1, OWN)
        to(session, 150)
        session.save(1)
        to(session, 300)
        session.load(2, path)
        to(session, 210, (2,))
        session.save(2)
        session.load(3, forked(3, (1, 260, 0)))
        to(session, 280, (3,))  # never saved

    def then(session: Session) -> None:
        assert session.load(2, path) == (210, 0)
        assert session.load(3, forked(3, (1, 260, 0))) == (150, 0)
        assert session.load(4, forked(4, (1, 205, 0), (2, 220, 0))) == (210, 0)
        assert session.load(5, forked(5, (1, 205, 0), (2, 209, 0))) == (150, 0)
        for branch in (2, 3, 4, 5):
            to(session, 420, (branch,))
            session.save(branch)
        assert session.load(1, OWN) == (150, 0)

    on_session(wide_scenario, first, ranks)
    on_session(wide_scenario, then, 3 - ranks)
    for branch in (2, 3, 4, 5):
        assert same_results(wide_scenario.parent / "out" / "branches" / str(branch), uninterrupted)


def test_a_branch_that_nobody_needs_is_forgotten_and_comes_back(scenario):
    def work(session: Session) -> None:
        session.load(1, OWN)
        to(session, 100)
        path = forked(2, (1, 50, 0))
        session.load(2, path)
        to(session, 80, (2,))
        expected = seen(session, "water", 2)
        session.unload(2)
        assert session.answer(2, query({"name": "water"})) is None
        assert session.load(2, path).step <= 50  # it was never saved
        to(session, 80, (2,))
        assert (seen(session, "water", 2) == expected).all()
        session.save(2)
        to(session, 90, (2,))
        session.unload(2)
        assert session.load(2, path) == (90, 0)

    on_session(scenario, work)


@pytest.mark.parametrize(("settled", "ranks"), [(True, 1), (True, 3), (False, 3)])
def test_a_bad_cell_takes_its_branch_back_and_no_other(wide_scenario, uninterrupted, monkeypatch, ranks, settled):
    cell = 600
    step = RankState.step
    spoilt: list[int] = []

    def spoil(part: RankState, start: int, stop: int, keep_last_step: bool, beside: Any) -> Any:
        if start <= 230 < stop and cell in part.deal.mine and spoilt:
            part.model.state["water"][cell - part.deal.mine.start] = np.nan
        return step(part, start, stop, keep_last_step, beside)

    def work(session: Session) -> None:
        session.load(1, OWN)
        to(session, 250)
        path = forked(2, (1, 205, 0))
        session.load(2, path)
        to(session, 222, (2,))
        if settled:
            session.save(2)
        session.load(3, forked(3, (1, 205, 0), (2, 220, 0)))
        spoilt.append(1)
        with pytest.raises(BadCellError, match="cell 600"):
            to(session, 240, (2,))
        spoilt.clear()
        assert session.load(2, path).step <= 230
        for branch in (2, 3):
            to(session, 420, (branch,))
            session.save(branch)

    monkeypatch.setattr(RankState, "step", spoil)
    on_session(wide_scenario, work, ranks)
    for branch in (2, 3):
        assert same_results(wide_scenario.parent / "out" / "branches" / str(branch), uninterrupted)


@pytest.mark.parametrize("ranks", RANKS)
def test_branches_that_go_together_are_those_that_go_alone_and_read_the_weather_once(wide_scenario, uninterrupted, ranks):
    capacities = {2: 120.0, 3: 60.0, 4: 30.0}

    def begin(session: Session) -> None:
        session.load(1, OWN)
        for branch, capacity in capacities.items():
            session.load(branch, forked(branch, (1, 0, 0)))
            session.apply(branch, branch, "set", setting("capacity", capacity))

    def read(session: Session) -> int:
        reader = session.ranks.state(session._root).reader
        return reader.counters.bytes

    def together(session: Session) -> Any:
        begin(session)
        to(session, 100, (2, 3, 4))
        assert [session.position(branch) for branch in capacities] == [(100, 0)] * 3
        found = [seen(session, "water", branch).tolist() for branch in capacities]
        to(session, 420, (2, 3, 4))
        for branch in capacities:
            session.save(branch)
        return found, read(session)

    def alone(session: Session) -> Any:
        begin(session)
        found, bytes_read = [], []
        for branch in capacities:
            to(session, 100, (branch,))
            found.append(seen(session, "water", branch).tolist())
            to(session, 420, (branch,))
            session.save(branch)
            bytes_read.append(read(session))
        return found, bytes_read[0]

    other = copied(wide_scenario, wide_scenario.parent.parent / "alone")
    found, all_bytes = on_session(wide_scenario, together, ranks)
    expected, bytes_of_one = on_session(other, alone, ranks)
    assert found == expected
    assert found[0] != found[1]
    assert ranks > 1 or all_bytes == bytes_of_one  # of many, which read for which is measured
    assert same_results(wide_scenario.parent / "out" / "branches" / "2", uninterrupted)
    for branch in capacities:
        here, there = (folder.parent / "out" / "branches" / str(branch) for folder in (wide_scenario, other))
        assert digest(here) == digest(there)


@pytest.mark.parametrize("ranks", [1, 2])
def test_what_lies_beyond_the_end_of_a_path_is_forgotten(wide_scenario, uninterrupted, ranks):
    """In memory, in the ring and on the disk: another action may come there than before."""

    def first(session: Session) -> None:
        session.load(1, OWN)
        to(session, 50)
        session.save(1)
        to(session, 100)
        session.apply(1, 3, "set", setting("water", 0.0))
        session.save(1)
        to(session, 390)
        session.save(1, pin=True)
        at = session.load(1, [Leg(1, 100, 2)])
        assert at <= (100, 2)
        to(session, 100)
        assert session.load(1, [Leg(1, 100, 2)]) == (100, 0)
        to(session, 120)  # never saved

    def then(session: Session) -> None:
        assert session.load(1, [Leg(1, 110, 0)]) <= (100, 2)
        to(session, 420)
        session.save(1)

    on_session(wide_scenario, first, ranks)
    names = [path.name for path in (wide_scenario.parent / "out" / "checkpoints").iterdir()]
    assert all(int(name[:10]) <= 100 and not name.endswith("-3") for name in names)
    on_session(wide_scenario, then, 3 - ranks)
    assert digest(wide_scenario.parent / "out") == uninterrupted


FIELD = """\
model = "shallow_water.py"
time = { start = 2000-01-01, end = 2000-01-31 }
grid = { file = "mask.zarr" }
parameters = { gravity = 1.0, spacing = 1.0, seconds = 0.3 }

[output]
path = "out"
variables = ["h"]
every = "10 days"
reduce = "last"
"""


@pytest.mark.parametrize("ranks", RANKS)
def test_fields_with_neighbours_are_steered_like_cells(tmp_path, ranks):
    write_mask(tmp_path / "mask.zarr", np.ones((13, 17), bool))
    shutil.copy(EXAMPLES / "shallow_water.py", tmp_path)
    (tmp_path / "run.toml").write_text(FIELD)

    def work(session: Session) -> list[Any]:
        session.load(1, OWN)
        wave = sent(session, 1.0 + 0.2 * np.sin(np.arange(221.0)))
        found: list[Any] = [session.apply(1, 1, "set", setting("h", upload=wave))]
        to(session, 12)
        session.save(1)
        to(session, 25)
        found += [seen(session, "h").tolist(), bytes(session.get(1, query({"name": "h", "width": 5}))[1])]
        for branch in (2, 3):
            at = session.load(branch, forked(branch, (1, 18, 0)))
            assert at.step in range(12, 19)
            to(session, 18, (branch,))
        found.append(session.apply(3, 2, "set", setting("h", 0.05, operation="add")))
        to(session, 31, (2, 3))
        to(session, 31)
        for branch in (1, 2, 3):
            session.save(branch)
        return [*found, *(seen(session, name, branch).tolist() for name in ("h", "flow_x") for branch in (1, 2, 3))]

    found = on_session(tmp_path / "run.toml", work, ranks)
    *outcomes, h, h2, h3, flow, flow2, _ = (each for each in found if not isinstance(each, bytes))
    assert outcomes[0].ok
    assert outcomes[0].detail["cells"] == 221
    assert h == h2 != h3
    assert flow == flow2
    out = tmp_path / "out"
    assert same_results(out / "branches" / "2", digest(out))
    assert not same_results(out / "branches" / "3", digest(out))
    if ranks > 1:
        shutil.rmtree(out)
        assert on_session(tmp_path / "run.toml", work) == found


@pytest.mark.parametrize("ranks", [1, 2])
def test_events_of_the_calendar_happen_in_every_branch(wide_scenario, ranks):
    event = "[[event]]\ndate = 1990-03-01\nset = { irrigation = 50.0 }\nregion = { box = [144.0, -22.0, 145.0, -20.0] }\n"
    wide_scenario.write_text(wide_scenario.read_text() + event)
    other = copied(wide_scenario, wide_scenario.parent.parent / "command")

    def work(session: Session) -> None:
        session.load(1, OWN)
        to(session, 70)
        for branch in (2, 3):
            session.load(branch, forked(branch, (1, 30, 0)))
            to(session, 30, (branch,))
        to(session, 420, (2, 3))
        for branch in (2, 3):
            session.save(branch)

    on_session(wide_scenario, work, ranks)
    expected = digest(steppe.run(other))
    for branch in ("2", "3"):
        assert same_results(wide_scenario.parent / "out" / "branches" / branch, expected)


@pytest.mark.parametrize("ranks", RANKS)
def test_what_was_can_be_looked_at_without_a_step_of_any_branch(wide_scenario, made_wide_scenario, tmp_path, ranks):
    """Changes on the way, one refused, events and a trigger, a fork; states, forcing and diagnostics; the head stays where it is."""
    dates = (0, 1, 33, 60, 61, 75, 76, 90, 120)
    orders = (
        (33, 4, "event", {"id": 4, "change": setting("water", 6.0, operation="add"), "step": 50}),
        (33, 5, "event", {"id": 5, "change": setting("water", 0.5, operation="scale"), "yearly": "03-01"}),
        (33, 6, "trigger", {"id": 6, "expression": "mean(water) > 5", "action": "message", "text": "", "variable": ""}),
        (60, 7, "set", setting("capacity", 90.0)),
        (75, 9, "set", setting("water", 3.0)),
        (80, 10, "set", setting("water", -3.0)),
        (90, 11, "remove", {"rule": 5}),
    )

    def looked_at(session: Session, step: int, branch: int = 1) -> dict[str, Any]:
        found = {}
        for name in ("water", "runoff", "rain"):
            if step or name == "water":
                head, body = session.get(branch, query({"name": name, "step": step, "packed": True}))
                assert (head["step"], head["seq"]) == (step, 0)
                found[name] = bytes(body)
        return found

    def steered(session: Session, seen_at: dict[int, dict[str, Any]] | None = None) -> None:
        session.load(1, OWN)
        if seen_at is not None:
            seen_at[0] = looked_at(session, 0)
        for stop in sorted({*dates[1:], *(step for step, *_ in orders)}):
            to(session, stop)
            if seen_at is not None and stop in dates:
                seen_at[stop] = looked_at(session, stop)
            for step, seq, kind, arguments in orders:
                if step == stop:
                    session.apply(1, seq, kind, arguments)

    def expected(session: Session) -> Any:
        seen_at: dict[int, dict[str, Any]] = {}
        steered(session, seen_at)
        return seen_at

    def looked_back(session: Session) -> Any:
        steered(session)
        to(session, 330)
        session.load(2, forked(2, (1, 70, 0)))
        to(session, 100, (2,))
        standing, digests = [session.position(branch) for branch in (1, 2)], [session.digest(branch) for branch in (1, 2)]
        found = {step: looked_at(session, step) for step in reversed(dates)}
        assert {step: looked_at(session, step) for step in dates} == found, "one behind the other"
        assert looked_at(session, 61, 2) == found[61]
        assert looked_at(session, 76, 2) != found[76], "its parent was changed in between"
        assert [session.position(branch) for branch in (1, 2)] == standing
        assert [session.digest(branch) for branch in (1, 2)] == digests
        to(session, 420)
        session.save(1)
        return found

    other = copied(made_wide_scenario, tmp_path / "expected")
    assert on_session(wide_scenario, looked_back, ranks) == on_session(other, expected)
    one_go = copied(made_wide_scenario, tmp_path / "one-go")

    def in_one_go(session: Session) -> None:
        steered(session)
        to(session, 420)
        session.save(1)

    on_session(one_go, in_one_go)
    assert same_results(wide_scenario.parent / "out", digest(one_go.parent / "out"))


def test_the_past_day_by_day_computes_each_day_once(scenario, monkeypatch):
    computed: list[int] = []
    do_step = RankState.step

    def step(part: RankState, start: int, stop: int, **rest: Any) -> Any:
        computed.extend(range(start, stop))
        return do_step(part, start, stop, **rest)

    monkeypatch.setattr(RankState, "step", step)

    def work(session: Session) -> None:
        session.load(1, OWN)
        to(session, 400)
        session.get(1, query({"name": "runoff", "step": 300}))
        computed.clear()
        for date in range(301, 341):
            session.get(1, query({"name": "runoff", "step": date}))
        assert computed == [*range(300, 340)]

    on_session(scenario, work)


def test_a_past_that_takes_too_long_is_not_computed_again(scenario, monkeypatch):
    monkeypatch.setattr("steppe.engine.session.AGAIN", 0.0)

    def work(session: Session) -> None:
        session.load(1, OWN)
        to(session, 200)
        with pytest.raises(NotComputedError, match="too long"):
            session.get(1, query({"name": "water", "step": 100}))

    on_session(scenario, work)


def test_a_branch_whose_parent_was_lost_on_a_full_disk_waits_for_room_too(scenario, monkeypatch):
    """Results that were never written are not said to be damaged."""
    settle = Branches._settle_from

    def full(*_: Any) -> None:
        raise NoSpaceError("The disk is full.")

    def work(session: Session) -> None:
        session.load(1, OWN)
        to(session, 205)
        session.load(2, forked(2, (1, 205, 0)))
        session.load(3, forked(3, (1, 205, 0), (2, 205, 0)))
        monkeypatch.setattr(Branches, "_settle_from", full)
        session.unload(1, keep=False)
        monkeypatch.setattr(Branches, "_settle_from", settle)
        for branch in (2, 3):
            with pytest.raises(NoSpaceError):
                session.save(branch)
            assert session.get(branch, query({"name": "water"}))

    on_session(scenario, work)


@pytest.mark.parametrize(("ranks", "path"), [(1, OWN), (3, OWN), (1, [Leg(1, 203, 0)])])
def test_a_branch_that_met_a_bad_cell_goes_on_with_all_that_was_done_before(
    wide_scenario, made_wide_scenario, tmp_path, monkeypatch, ranks, path
):
    """Also with what was done since the copy from which it is brought back, which nobody will say again, and since it was loaded to an
    earlier position."""
    cell, do_step, spoilt, stopped_at = 600, RankState.step, [1], list[int]()

    def spoil(part: RankState, start: int, stop: int, keep_last_step: bool, beside: Any) -> Any:
        if start <= 230 < stop and cell in part.deal.mine and spoilt:
            part.model.state["water"][cell - part.deal.mine.start] = np.nan
        return do_step(part, start, stop, keep_last_step, beside)

    orders = [
        BranchAction(seq, 1, seq, at, at, "set", what)
        for seq, at, what in ((1, 203, setting("water", 3.0)), (2, 204, setting("leak", 0.5)))
    ]

    def order(session: Session, said: list[Any]) -> EngineEndpoint:
        endpoint = EngineEndpoint(session, lambda message, body: said.append(message), time.monotonic)
        for message in (Load(1, path), *orders, Target(1, 420)):
            endpoint.receive(message)
        return endpoint

    def through_a_bad_cell(session: Session) -> None:
        said: list[Any] = []
        endpoint = order(session, said)
        while not (failed := [each for each in said if isinstance(each, BranchFailure)]):
            endpoint.poll()
        assert (204, 2) <= failed[0].position <= (230, 0)
        assert len([each for each in said if isinstance(each, ActionOutcome)]) == 2
        spoilt.clear()
        endpoint.receive(BranchAction(3, 1, 0, None, 0, "set", setting("capacity", 200.0)))  # a person has read why, and tries this
        step = next(each.step for each in said if isinstance(each, Boundary))
        assert step == failed[0].position.step, "nobody has seen a later one"
        endpoint.receive(Pin(3, 1, step, 3))
        stopped_at.append(step)
        while session.position(1).step < 420:
            endpoint.poll()
        session.save(1)

    def at_once(session: Session) -> None:
        (step,) = stopped_at
        orders.append(BranchAction(3, 1, 3, step, step, "set", setting("capacity", 200.0)))
        endpoint = order(session, [])
        while session.position(1).step < 420:
            endpoint.poll()
        session.save(1)

    monkeypatch.setattr(RankState, "step", spoil)
    on_session(wide_scenario, through_a_bad_cell, ranks)
    other = copied(made_wide_scenario, tmp_path / "at-once")
    on_session(other, at_once)
    assert same_results(wide_scenario.parent / "out", digest(other.parent / "out"))


def test_a_branch_that_a_script_called_by_the_number_of_a_scenario_is_neither_taken_nor_removed(scenario):
    with Simulation(scenario) as simulation:
        simulation.step(10)
        with simulation.branch("2") as branch:
            branch.set("water", 99.0)
            branch.step(24)
    folder = scenario.parent / "out" / "branches" / "2"
    before = digest(folder)

    def work(session: Session) -> None:
        session.load(1, OWN)
        to(session, 40)
        expected = seen(session, "water", 1, step=35)
        session.load(2, forked(2, (1, 35, 0)))
        to(session, 35, (2,))
        np.testing.assert_array_equal(seen(session, "water", 2), expected)
        with pytest.raises(Failure, match="is a branch that a script made"):
            session.save(2)

    on_session(scenario, work)
    assert digest(folder) == before


def test_what_a_script_changed_is_in_every_scenario_that_a_server_makes_behind_it(scenario):
    """Where no state behind the change is left, the scenario is refused. The first such state is kept."""
    with Simulation(scenario) as simulation:
        simulation.step(10)
        simulation.set("capacity", 20.0)
        simulation.step(7)
        days = []
        for step in range(18, 24):
            simulation.step()
            days.append(simulation.get("water"))
            if step == 20:
                simulation.set("water", 3.0)
                simulation.checkpoint()
        simulation.step(2)
        expected = simulation.get("water")

    def changed(session: Session) -> None:
        assert session.describe()["since"] == (20, 0)
        session.load(1, OWN)
        with pytest.raises(DamagedError, match="was changed by a script at step 10, and no whole checkpoint between that and step 15"):
            session.load(2, forked(2, (1, 15, 0)))
        session.load(3, forked(3, (1, 23, 0)))
        to(session, 25, (3,))
        np.testing.assert_array_equal(seen(session, "water", 3), expected)
        for step, day in enumerate(days, 18):
            np.testing.assert_array_equal(seen(session, "water", 3, step=step), day)
        session.load(4, forked(4, (1, 0, 0)))
        assert session.position(4) == (0, 0), "a restart needs no state"
        for step in (40, 60, 80):
            to(session, step)
            session.save(1)

    on_session(scenario, changed)
    on_session(scenario, changed)


def test_what_a_script_changed_before_the_first_step_is_in_no_restart(scenario):
    with Simulation(scenario) as simulation:
        before = simulation.get("water")
        simulation.set("water", 5.0)
        simulation.checkpoint()

    def changed(session: Session) -> None:
        session.load(1, OWN)
        assert (seen(session, "water") == 5.0).all()
        to(session, 20)
        session.load(2, forked(2, (1, 0, 0)))
        np.testing.assert_array_equal(seen(session, "water", 2), before)
        session.load(3, forked(3, (1, 2, 0)))
        to(session, 2, (3,))
        np.testing.assert_array_equal(seen(session, "water", 3), seen(session, "water", 1, step=2))

    on_session(scenario, changed)


def test_the_journal_of_a_branch_that_a_script_made_begins_at_its_fork(scenario):
    """It does not know what the script changed before."""
    with Simulation(scenario) as simulation:
        simulation.step(5)
        simulation.set("water", 3.0)
        simulation.step(5)
        with simulation.branch("other") as branch:
            branch.step(2)
            expected = branch.get("water")
            branch.step(3)

    def work(session: Session) -> None:
        assert session.describe()["since"] == (10, 0)
        session.load(1, OWN)
        session.load(2, forked(2, (1, 12, 0)))
        to(session, 12, (2,))
        np.testing.assert_array_equal(seen(session, "water", 2), expected)

    on_session(scenario, work, output__path=str(scenario.parent / "out" / "branches" / "other"))


def test_an_event_of_a_piece_that_fails_did_not_happen(wide_scenario, monkeypatch):
    """A report of it would show a step at which the branch does not stand, and a change that is to happen now would wait for ever."""
    step, spoilt = RankState.step, [1]

    def spoil(part: RankState, start: int, stop: int, keep_last_step: bool, beside: Any) -> Any:
        if start <= 230 < stop and spoilt:
            part.model.state["water"][0] = np.nan
        return step(part, start, stop, keep_last_step, beside)

    def work(session: Session) -> None:
        session.load(1, OWN)
        session.apply(1, 1, "event", {"change": setting("water", 3.0), "id": 7, "step": 230, "yearly": None})
        to(session, 230)
        assert not session.fired()
        with pytest.raises(BadCellError):
            to(session, 240)
        assert not [*session.fired(), *session.unacknowledged()]
        spoilt.clear()
        assert session.load(1, OWN) == (230, 0)
        to(session, 240)
        assert [each.step for each in session.fired()] == [231]

    monkeypatch.setattr(RankState, "step", spoil)
    on_session(wide_scenario, work)
