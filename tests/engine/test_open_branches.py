"""The open branches of a run that is steered: how many there are, and that closing one changes nothing."""

import gc
import os
import tracemalloc
import weakref
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from steppe.control import OPEN_END, Leg
from steppe.engine import Session
from steppe.engine.open_branches import Budget
from tests.engine.sessions import OWN, on_session, query, seen, setting, to
from tests.engine.test_branches import forked
from tests.scenario import copied

FORKS = [(branch, [(1, 40, 0)]) for branch in range(2, 8)]


def locks() -> list[str]:
    """The locks of run folders that this process has open."""
    found = []
    for each in Path("/proc/self/fd").iterdir():
        with suppress(OSError):
            found.append(os.readlink(each))
    return sorted(name for name in found if name.endswith("/lock"))


def threads() -> int:
    """How many threads this process has."""
    return len(os.listdir("/proc/self/task"))


def test_a_branch_that_is_dropped_gives_its_lock_up(scenario):
    """Also while another one shares its results, and when it is loaded again to be looked at."""

    def work(session: Session) -> None:
        session.load(1, OWN)
        to(session, 60)
        before = locks()
        for branch in range(2, 6):
            session.load(branch, forked(branch, (branch - 1, 60, 0)))
            to(session, 60 + branch, (branch,))
            session.save(branch)
            other = 10 + branch
            session.load(other, forked(other, (1, 60, 0), (branch, 60 + branch, 0)))
            session.unload(branch)
            session.unload(other)
            session.load(branch, [Leg(1, 60, 0), Leg(branch, 60 + branch, 0)])
            seen(session, "water", branch)
            session.unload(branch)
        assert locks() == before

    on_session(scenario, work)


def test_only_branches_that_step_together_have_room_for_records_of_their_own(scenario):
    def rooms(session: Session) -> int:
        arrays = tracemalloc.take_snapshot().filter_traces([tracemalloc.DomainFilter(True, np.lib.tracemalloc_domain)])
        of_records = arrays.filter_traces([tracemalloc.Filter(True, "*/engine/recorder.py", all_frames=True)])
        return sum(each.size > 8 * session.plan.grid.n_cells for each in of_records.traces)

    def work(session: Session) -> list[int]:
        session.load(1, OWN)
        to(session, 40)
        for branch, forks in FORKS:
            session.load(branch, forked(branch, *forks))
        found = []
        for branches in [(1,), *((branch,) for branch, _ in FORKS), (2, 3, 4), (5,)]:
            to(session, session.position(branches[0]).step + 40, branches)
            found.append(rooms(session))
        return found

    tracemalloc.start(2)  # frames: numpy fills an array in Python
    try:
        found = on_session(scenario, work)
    finally:
        tracemalloc.stop()
    one = found[0]
    assert one > 0
    assert found == [one] * 7 + [3 * one, one]


@pytest.mark.parametrize("ranks", [1, 2])
def test_branches_beyond_the_budget_are_closed_and_what_they_show_and_become_is_the_same(
    wide_scenario, made_wide_scenario, tmp_path, ranks
):
    def work(session: Session) -> Any:
        session.load(1, OWN)
        to(session, 60)
        for branch, forks in FORKS:
            session.load(branch, forked(branch, *forks))
            to(session, 40, (branch,))
            session.apply(branch, 10 * branch, "set", setting("capacity", 20.0 * branch))
            if branch == 3:
                session.apply(branch, 31, "event", {"id": 31, "step": None, "yearly": "03-01", "change": setting("water", 5.0)})
        found: list[Any] = [len(session._branches.live)]
        for until in (45, 70, 101):
            for branch, _ in FORKS:
                found.append(session.position(branch))
                to(session, until, (branch,))
                found.append(seen(session, "runoff", branch).tolist())
                found.append(seen(session, "water", branch, step=until - 3).tolist())
                found.append(session.digest(branch))
        found += [list(session.fired()), len(session._branches.live)]
        return found

    def few(session: Session) -> Any:
        session.open_branches.budget = Budget(files=3)
        return work(session)

    many, *rest, still = on_session(copied(made_wide_scenario, tmp_path / "open"), work, ranks)
    assert many == still == 7
    most, *closed, last = on_session(wide_scenario, few, ranks)
    assert closed == rest
    assert most <= 3
    assert last <= 3


def test_a_budget_of_bytes_closes_branches_and_gives_their_threads_up(scenario):
    def work(session: Session) -> None:
        session.load(1, OWN)
        to(session, 60)
        one = session._branch(1).bytes
        assert one > session._branch(1).plan.grid.n_cells * 4
        session.open_branches.budget = Budget(bytes=2 * one + one // 2)
        before, held = threads(), len(locks())
        for branch, forks in FORKS:
            session.load(branch, forked(branch, *forks))
            to(session, 60, (branch,))
            session.save(branch)
        assert len(session._branches.live) == 2
        assert threads() <= before + 2
        assert len(locks()) <= held + 2
        assert all(session.has(branch) and session.position(branch) == (60, 0) for branch, _ in FORKS)

    on_session(scenario, work)


def test_branches_that_go_together_are_all_open(scenario):
    def work(session: Session) -> None:
        session.open_branches.budget = Budget(files=2)
        session.load(1, OWN)
        to(session, 40)
        for branch, forks in FORKS:
            session.load(branch, forked(branch, *forks))
            to(session, 40, (branch,))
        group = tuple(branch for branch, _ in FORKS)
        to(session, 80, group)
        assert len(session._branches.live) == len(group)
        session.get(1, query({"name": "water"}))
        assert len(session._branches.live) == 2

    on_session(scenario, work)


def test_a_branch_at_rest_is_taken_back_where_its_path_ends_earlier(scenario):
    def work(session: Session) -> None:
        session.open_branches.budget = Budget(files=1)
        session.load(1, OWN)
        to(session, 60)
        session.load(2, forked(2, (1, 40, 0)))
        to(session, 60, (2,))
        assert session.position(1) == (60, 0)
        assert session.load(1, [Leg(1, 50, OPEN_END)]).step <= 50
        assert session.load(2, forked(2, (1, 40, 0))) == (60, 0)
        session.unload(1)
        assert not session.has(1)

    on_session(scenario, work)


def test_what_was_done_to_branches_that_are_gone_is_forgotten_and_what_leads_to_others_is_not(scenario):
    def work(session: Session) -> None:
        session.load(1, OWN)
        to(session, 40)
        for branch in range(2, 12):
            session.load(branch, forked(branch, (1, 40, 0)))
            session.apply(branch, branch, "set", setting("capacity", 20.0 * branch))
            to(session, 60, (branch,))
        session.load(20, forked(20, (1, 40, 0), (2, 50, 0)))
        for branch in range(2, 12):
            session._branches.snapshots.discard(branch)
            session.unload(branch)
        session._branches.snapshots.discard(1)
        assert {*session._recomputation._actions} == {2}, "it lies on the way to branch 20"
        session.unload(20)
        assert not session._recomputation._actions

    on_session(scenario, work)


@pytest.mark.parametrize("ranks", [1, 2])
def test_looks_at_a_branch_that_stands_still_are_forgotten_when_they_are_very_many(wide_scenario, ranks, monkeypatch):
    monkeypatch.setattr("steppe.engine.query_cache.MOST", 20)

    def work(session: Session) -> None:
        session.load(1, OWN)
        to(session, 3)
        for k in range(100):
            places = query({"name": "water", "chosen": np.array([k], "<u4").tobytes(), "packed": True})
            assert session.get(1, places)[1].nbytes
            assert session.answer(1, places)
        for kept in (session._cache.shown[1].values, session._cache._hot[1]):
            assert len(kept) <= 21

    on_session(wide_scenario, work, ranks)


def test_a_look_from_the_other_thread_leaves_nothing_of_a_branch_that_is_hidden_meanwhile(scenario, monkeypatch):
    def work(session: Session) -> None:
        session.load(1, OWN)
        to(session, 3)
        session.load(2, forked(2, (1, 3, 0)))
        seen(session, "water", 2)
        asked = session._cache._asked

        def late(words: Any) -> Any:
            session._cache.discard(2)
            return asked(words)

        monkeypatch.setattr(session._cache, "_asked", late)
        session.answer(2, query({"name": "water"}))
        assert 2 not in session._cache._hot

    on_session(scenario, work)


def test_what_the_other_thread_forgets_meanwhile_stops_no_look(scenario, monkeypatch):
    class Forgotten(dict):
        def get(self, key: int, default: Any = None) -> Any:
            return self.pop(key, default)

    def work(session: Session) -> None:
        session.load(1, OWN)
        to(session, 3)
        seen(session, "water", 1)
        session._cache._hot = Forgotten(session._cache._hot)
        to(session, 4)
        gathered = session._cache._gathered

        def late(on: Any, asked: Any) -> Any:
            session._cache._hot.pop(on.number, None)
            return gathered(on, asked)

        monkeypatch.setattr(session._cache, "_gathered", late)
        assert session.get(1, query({"name": "runoff"}))[0]["step"] == 4

    on_session(scenario, work)


def test_branches_that_are_closed_give_their_memory_up_at_once(scenario):
    """The collector counts objects, not what their arrays take, and may come very late."""

    def work(session: Session) -> None:
        session.load(1, OWN)
        to(session, 40)
        for branch, forks in FORKS:
            session.load(branch, forked(branch, *forks))
            to(session, 40, (branch,))
            session.apply(branch, branch, "set", setting("capacity", 20.0 * branch))
        to(session, 80, (1, *(branch for branch, _ in FORKS)))
        parts = [weakref.ref(session.ranks.state(session._branch(branch).state_id)) for branch, _ in FORKS]
        models = [weakref.ref(each().model) for each in parts]
        for branch, _ in FORKS:
            seen(session, "runoff", branch)
            seen(session, "runoff", branch, step=70)
            session.save(branch)
        gc.disable()
        try:
            for branch, _ in FORKS:
                session.unload(branch)
            assert [each() for each in (*parts, *models)] == [None] * 2 * len(FORKS)
        finally:
            gc.enable()

    on_session(scenario, work)
