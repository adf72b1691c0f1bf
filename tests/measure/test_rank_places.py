"""Where ranks sit: made trees of /sys, lists of places, and real ranks."""

import os
import socket
from types import SimpleNamespace

import pytest
from msgspec.structs import replace

from steppe.errors import Mistake
from steppe.measure.messages.plan import BEHIND, PING_PONG, UNDER_WAY, plan
from steppe.measure.messages.session import fit_series
from steppe.measure.report.sentences import comparisons
from steppe.measure.timing.rank_places import (
    RankPlace,
    crowded,
    distance,
    here,
    last_cache,
    memory_node,
    pairs,
    places_of,
    places_text,
)
from tests.measure.ranks import printed, two_cores
from tests.measure.test_message_text import series


def place(host="a", cores=(0,), cache=0, memory=0, site=""):
    return RankPlace(host, cores, cores[0], cache, memory, site)


@pytest.fixture
def cpus(tmp_path):
    """8 cores: caches of 2, memories of 4; core 6 says nothing, core 7 no number of its cache."""
    for core in range(8):
        for index, (level, of) in enumerate(((1, 1), (2, 1), (3, 2))):
            folder = tmp_path / f"cpu{core}" / "cache" / f"index{index}"
            folder.mkdir(parents=True)
            if core == 6:
                continue
            (folder / "level").write_text(f"{level}\n")
            if core != 7:
                (folder / "id").write_text(f"{core // of}\n")
            (folder / "shared_cpu_list").write_text(f"{core // of * of}-{core // of * of + of - 1}\n")
        if core != 6:
            (tmp_path / f"cpu{core}" / f"node{core // 4}").mkdir()
    return tmp_path


def test_the_last_cache_and_the_memory_of_a_core_are_read(cpus):
    assert [last_cache(core, cpus) for core in range(8)] == [0, 0, 1, 1, 2, 2, None, 6]
    assert [memory_node(core, cpus) for core in range(8)] == [0, 0, 0, 0, 1, 1, None, 1]
    assert last_cache(99, cpus) is None


def test_a_rank_that_may_move_has_what_all_its_cores_share(cpus, monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1})
    assert (here(cpus).cores, here(cpus).cache, here(cpus).memory) == ((0, 1), 0, 0)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {1, 2})
    assert (here(cpus).cache, here(cpus).memory) == (None, 0)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {3, 4})
    assert (here(cpus).cache, here(cpus).memory) == (None, None)


def test_this_process_sits_on_a_core_that_it_may_use():
    found = here()
    assert found.host == socket.gethostname()
    assert found.core in found.cores
    assert set(found.cores) == os.sched_getaffinity(0)
    (again,) = places_of(SimpleNamespace(texts=lambda text: [text]))
    assert replace(again, core=found.core) == found


def test_the_nearest_that_two_ranks_share_is_their_distance():
    assert distance(place(), place(cores=(1,))) == "same cache"
    assert distance(place(), place(cache=1)) == "same memory"
    assert distance(place(), place(cache=4, memory=1)) == "same node"
    assert distance(place(cache=None, memory=None), place(cache=None, memory=None)) == "same node"
    assert distance(place(), place(host="b")) == "other node"
    assert distance(place(site="x"), place(site="y")) == "other site"


def test_a_pair_of_each_distance_is_measured_ranks_0_and_1_first():
    apart = place(cache=4, memory=1)
    assert pairs([place(), apart, place(host="b"), place(cache=1), place()]) == [
        ("same node", (0, 1)),
        ("same cache", (0, 4)),
        ("same memory", (0, 3)),
        ("other node", (0, 2)),
    ]
    assert pairs([place(), place(host="b"), place(host="b")]) == [("other node", (0, 1)), ("same cache", (1, 2))]
    assert pairs([place(), place()]) == [("same cache", (0, 1))]


def test_the_other_pairs_have_round_trips_and_messages_under_way():
    far = ("other node", (1, 2))
    tasks = plan(3, True, False, (("same cache", (0, 1)), far))
    ours = [task for task in tasks if task.placement == "other node"]
    assert {task.variant for task in ours} == {PING_PONG, UNDER_WAY}
    assert {tuple(task.ranks) for task in ours} == {(1, 2)}
    assert {tuple(task.ranks) for task in tasks if task.placement == "same cache"} == {(0, 1)}
    assert len(set(tasks)) == len(tasks)
    assert [task for task in tasks if task not in ours] == plan(3, True, False, (("same cache", (0, 1)),))


def test_pairs_of_two_sites_do_all_but_one_sided_operations():
    tasks = plan(2, True, False, pairs([place(site="x"), place(site="y")]))
    assert "one-sided" not in {task.group for task in tasks}
    everything = plan(2, True, False, pairs([place(site="x"), place(site="x")]))
    assert {task.group for task in everything} - {task.group for task in tasks} == {"one-sided"}


def test_series_of_other_distances_are_fitted_and_compared_apart():
    each = [
        replace(series(variant, time * (1 + size / 1e4)), placement=placement, bytes=size)
        for placement, time in (("same cache", 1e-6), ("other node", 1e-5))
        for variant in ("exchange", BEHIND)
        for size in (8, 1024)
    ]
    assert [one.name["placement"] for one in fit_series(each)] == ["same cache", "same cache", "other node", "other node"]
    assert len(comparisons(each)) == 4
    near = [one for one in each if one.placement == "same cache"]
    assert all("placement" not in one.name for one in fit_series(near))


def test_places_are_shown_rank_by_rank_and_of_many_the_first():
    text = places_text([place(), RankPlace("a", (0, 1), 1, None, 0), *[place(host="b")] * 20])
    assert text.splitlines()[:2] == [
        "rank 0: a, core 0, last cache 0, memory 0",
        "rank 1: a, free on 2 cores, at first on 1, memory 0",
    ]
    assert text.splitlines()[-1] == "6 more ranks on 1 host"
    assert places_text([place(site="x")]).startswith("rank 0: site x, a, core 0")


AWAY = """
from steppe.comm import find_launch
from steppe.comm.raw import open_raw
from steppe.measure.messages.messages import Messages
from steppe.measure.messages.plan import PING_PONG, Task
raw = open_raw(find_launch())
messages = Messages(raw, 0.02, 0.05, 64)
found = messages.measure(Task("point-to-point", "point-to-point", PING_PONG, 2, 8, (1, 2), "other node"))
if raw.rank == 0:
    print("found", found.placement, found.statistics.n, found.bytes)
raw.close()
"""


@two_cores
def test_rank_0_gets_the_series_of_a_pair_that_it_is_not_in():
    said = printed("installed", 3, "-c", AWAY)
    (line,) = [line for line in said.splitlines() if line.startswith("found")]
    assert line.split()[1:3] == ["other", "node"]
    assert int(line.split()[3]) > 0


def test_ranks_that_share_cores_are_counted_by_host():
    both = (0, 1)
    assert crowded([place(cores=both), place(cores=both), place(host="b", cores=both)], False, "MPICH") == []
    with pytest.raises(Mistake, match="2 ranks on 1 core of a would measure the scheduler, and MPICH does not yield"):
        crowded([place(), place(), place(host="b", cores=(1,))], False, "MPICH")
    (warning,) = crowded([place(), place()], True, "Open MPI")
    assert warning.startswith("2 ranks on 1 core of a would measure the scheduler")


def test_pairs_of_thousands_of_ranks_are_the_first_of_their_distance():
    places = [place(host=f"n{rank // 64}", cores=(rank % 64,), cache=rank % 64 // 8, memory=rank % 64 // 32) for rank in range(4096)]
    assert pairs(places) == [("same cache", (0, 1)), ("same memory", (0, 8)), ("same node", (0, 32)), ("other node", (0, 64))]
    sites = [replace(each, site="xy"[rank // 2048]) for rank, each in enumerate(places)]
    assert pairs(sites) == [*pairs(places), ("other site", (0, 2048))]
