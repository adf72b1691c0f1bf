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
from steppe.engine import Stage
from steppe.engine.opened import Budget
from tests.engine.stages import OWN, on_stage, query, seen, setting, to
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

    def work(stage: Stage) -> None:
        stage.load(1, OWN)
        to(stage, 60)
        before = locks()
        for branch in range(2, 6):
            stage.load(branch, forked(branch, (branch - 1, 60, 0)))
            to(stage, 60 + branch, (branch,))
            stage.save(branch)
            stage.load(9, forked(9, (1, 60, 0), (branch, 60 + branch, 0)))
            stage.unload(branch)
            stage.unload(9)
            stage.load(branch, [Leg(1, 60, 0), Leg(branch, 60 + branch, 0)])
            seen(stage, "water", branch)
            stage.unload(branch)
        assert locks() == before

    on_stage(scenario, work)


def test_only_branches_that_step_together_have_room_for_records_of_their_own(scenario):
    def rooms(stage: Stage) -> int:
        arrays = tracemalloc.take_snapshot().filter_traces([tracemalloc.DomainFilter(True, np.lib.tracemalloc_domain)])
        of_records = arrays.filter_traces([tracemalloc.Filter(True, "*/engine/recorder.py", all_frames=True)])
        return sum(each.size > 8 * stage.plan.grid.n_cells for each in of_records.traces)

    def work(stage: Stage) -> list[int]:
        stage.load(1, OWN)
        to(stage, 40)
        for branch, forks in FORKS:
            stage.load(branch, forked(branch, *forks))
        found = []
        for branches in [(1,), *((branch,) for branch, _ in FORKS), (2, 3, 4), (5,)]:
            to(stage, stage.position(branches[0]).step + 40, branches)
            found.append(rooms(stage))
        return found

    tracemalloc.start(2)  # frames: numpy fills an array in Python
    try:
        found = on_stage(scenario, work)
    finally:
        tracemalloc.stop()
    one = found[0]
    assert one > 0
    assert found == [one] * 7 + [3 * one, one]


@pytest.mark.parametrize("ranks", [1, 2])
def test_branches_beyond_the_budget_are_closed_and_what_they_show_and_become_is_the_same(
    wide_scenario, made_wide_scenario, tmp_path, ranks
):
    def work(stage: Stage) -> Any:
        stage.load(1, OWN)
        to(stage, 60)
        for branch, forks in FORKS:
            stage.load(branch, forked(branch, *forks))
            to(stage, 40, (branch,))
            stage.apply(branch, 10 * branch, "set", setting("capacity", 20.0 * branch))
            if branch == 3:
                stage.apply(branch, 31, "event", {"id": 31, "step": None, "yearly": "03-01", "change": setting("water", 5.0)})
        found: list[Any] = [len(stage._branches.live)]
        for until in (45, 70, 101):
            for branch, _ in FORKS:
                found.append(stage.position(branch))
                to(stage, until, (branch,))
                found.append(seen(stage, "runoff", branch).tolist())
                found.append(seen(stage, "water", branch, step=until - 3).tolist())
                found.append(stage.digest(branch))
        found += [list(stage.fired()), len(stage._branches.live)]
        return found

    def few(stage: Stage) -> Any:
        stage.opened.budget = Budget(files=3)
        return work(stage)

    many, *rest, still = on_stage(copied(made_wide_scenario, tmp_path / "open"), work, ranks)
    assert many == still == 7
    most, *closed, last = on_stage(wide_scenario, few, ranks)
    assert closed == rest
    assert most <= 3
    assert last <= 3


def test_a_budget_of_bytes_closes_branches_and_gives_their_threads_up(scenario):
    def work(stage: Stage) -> None:
        stage.load(1, OWN)
        to(stage, 60)
        one = stage._branch(1).bytes
        assert one > stage._branch(1).plan.grid.n_cells * 4
        stage.opened.budget = Budget(bytes=2 * one + one // 2)
        before, held = threads(), len(locks())
        for branch, forks in FORKS:
            stage.load(branch, forked(branch, *forks))
            to(stage, 60, (branch,))
            stage.save(branch)
        assert len(stage._branches.live) == 2
        assert threads() <= before + 2
        assert len(locks()) <= held + 2
        assert all(stage.has(branch) and stage.position(branch) == (60, 0) for branch, _ in FORKS)

    on_stage(scenario, work)


def test_branches_that_go_together_are_all_open(scenario):
    def work(stage: Stage) -> None:
        stage.opened.budget = Budget(files=2)
        stage.load(1, OWN)
        to(stage, 40)
        for branch, forks in FORKS:
            stage.load(branch, forked(branch, *forks))
            to(stage, 40, (branch,))
        group = tuple(branch for branch, _ in FORKS)
        to(stage, 80, group)
        assert len(stage._branches.live) == len(group)
        stage.get(1, query({"name": "water"}))
        assert len(stage._branches.live) == 2

    on_stage(scenario, work)


def test_a_branch_at_rest_is_taken_back_where_its_path_ends_earlier(scenario):
    def work(stage: Stage) -> None:
        stage.opened.budget = Budget(files=1)
        stage.load(1, OWN)
        to(stage, 60)
        stage.load(2, forked(2, (1, 40, 0)))
        to(stage, 60, (2,))
        assert stage.position(1) == (60, 0)
        assert stage.load(1, [Leg(1, 50, OPEN_END)]).step <= 50
        assert stage.load(2, forked(2, (1, 40, 0))) == (60, 0)
        stage.unload(1)
        assert not stage.has(1)

    on_stage(scenario, work)


def test_what_was_done_to_branches_that_are_gone_is_forgotten_and_what_leads_to_others_is_not(scenario):
    def work(stage: Stage) -> None:
        stage.load(1, OWN)
        to(stage, 40)
        for branch in range(2, 12):
            stage.load(branch, forked(branch, (1, 40, 0)))
            stage.apply(branch, branch, "set", setting("capacity", 20.0 * branch))
            to(stage, 60, (branch,))
        stage.load(20, forked(20, (1, 40, 0), (2, 50, 0)))
        for branch in range(2, 12):
            stage._branches.ring.forget(branch)
            stage.unload(branch)
        stage._branches.ring.forget(1)
        assert {*stage._past._actions} == {2}, "it lies on the way to branch 20"
        stage.unload(20)
        assert not stage._past._actions

    on_stage(scenario, work)


@pytest.mark.parametrize("ranks", [1, 2])
def test_looks_at_a_branch_that_stands_still_are_forgotten_when_they_are_very_many(wide_scenario, ranks, monkeypatch):
    monkeypatch.setattr("steppe.engine.looks.MOST", 20)

    def work(stage: Stage) -> None:
        stage.load(1, OWN)
        to(stage, 3)
        for k in range(100):
            places = query({"name": "water", "chosen": np.array([k], "<u4").tobytes(), "packed": True})
            assert stage.get(1, places)[1].nbytes
            assert stage.answer(1, places)
        for kept in (stage._looks.shown[1].values, stage._looks._hot[1]):
            assert len(kept) <= 21

    on_stage(wide_scenario, work, ranks)


def test_a_look_from_the_other_thread_leaves_nothing_of_a_branch_that_is_hidden_meanwhile(scenario, monkeypatch):
    def work(stage: Stage) -> None:
        stage.load(1, OWN)
        to(stage, 3)
        stage.load(2, forked(2, (1, 3, 0)))
        seen(stage, "water", 2)
        asked = stage._looks._asked

        def late(words: Any) -> Any:
            stage._looks.hide(2)
            return asked(words)

        monkeypatch.setattr(stage._looks, "_asked", late)
        stage.answer(2, query({"name": "water"}))
        assert 2 not in stage._looks._hot

    on_stage(scenario, work)


def test_branches_that_are_closed_give_their_memory_up_at_once(scenario):
    """The collector counts objects, not what their arrays take, and may come very late."""

    def work(stage: Stage) -> None:
        stage.load(1, OWN)
        to(stage, 40)
        for branch, forks in FORKS:
            stage.load(branch, forked(branch, *forks))
            to(stage, 40, (branch,))
            stage.apply(branch, branch, "set", setting("capacity", 20.0 * branch))
        to(stage, 80, (1, *(branch for branch, _ in FORKS)))
        parts = [weakref.ref(stage.ranks.state(stage._branch(branch).state_id)) for branch, _ in FORKS]
        models = [weakref.ref(each().model) for each in parts]
        for branch, _ in FORKS:
            seen(stage, "runoff", branch)
            seen(stage, "runoff", branch, step=70)
            stage.save(branch)
        gc.disable()
        try:
            for branch, _ in FORKS:
                stage.unload(branch)
            assert [each() for each in (*parts, *models)] == [None] * 2 * len(FORKS)
        finally:
            gc.enable()

    on_stage(scenario, work)
