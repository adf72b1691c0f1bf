"""Programs of MPI that know nothing of the bridge, over several sites."""

import time
from pathlib import Path

import pytest

from tests.bridge.storms import storm
from tests.bridge.worlds import ABI, MPICH, OPENMPI, WITHIN, Mpi, assert_each_names_the_other, sites, world

PAIRS = pytest.mark.parametrize("pair", [(MPICH, OPENMPI), (OPENMPI, ABI)], ids=["mpich-openmpi", "openmpi-abi"])


def output(folder: Path, program: str, layout: tuple[int, ...], pair: tuple[Mpi, Mpi], *arguments: str) -> str:
    """What the first site of two prints; nothing may have gone wrong at either."""
    with world(folder, sites(folder, program, layout, pair, *arguments)) as running:
        ended = running.end()
    assert [(one.code, one.errors) for one in ended] == [(0, ""), (0, "")], ended
    return ended[0].output


@pytest.mark.parametrize("number", range(20))
def test_random_traffic_arrives_in_order_on_every_layout_delay_and_pair_of_mpis(folder: Path, number: int) -> None:
    storm(folder, number)


@PAIRS
def test_a_rank_that_waits_inside_its_site_serves_the_other_sites_meanwhile(folder: Path, pair: tuple[Mpi, Mpi]) -> None:
    with world(folder, sites(folder, "meanwhile", (2, 1), pair)) as running:
        ended = running.end(120)
    assert [(one.code, one.errors) for one in ended] == [(0, ""), (0, "")], ended
    assert ended[0].output.splitlines()[-1] == "0 wrong"


@PAIRS
def test_messages_of_another_site_keep_their_order_behind_a_long_one_of_the_own_site(folder: Path, pair: tuple[Mpi, Mpi]) -> None:
    assert output(folder, "held", (2, 1), pair) == "0 failures\n"


@PAIRS
def test_topologies_and_intercommunicators_of_some_ranks_may_lie_at_one_site(folder: Path, pair: tuple[Mpi, Mpi]) -> None:
    assert output(folder, "parts", (3, 1), pair) == "0 failures\n"


@PAIRS
def test_a_mistake_in_a_call_is_an_error_at_all_ranks_and_none_waits(folder: Path, pair: tuple[Mpi, Mpi]) -> None:
    assert output(folder, "mistakes", (2, 1), pair) == "0 failures\n"


@PAIRS
def test_a_collective_keeps_freed_datatypes_and_has_stack_for_operations(folder: Path, pair: tuple[Mpi, Mpi]) -> None:
    assert output(folder, "kept", (2, 1), pair) == "0 failures\n"


@PAIRS
def test_what_programs_seldom_do_works_between_sites(folder: Path, pair: tuple[Mpi, Mpi]) -> None:
    assert output(folder, "corners", (1, 2), pair) == "0 failures\n"


def test_an_edge_to_a_rank_itself_that_has_no_other_end_is_an_error_by_name(folder: Path) -> None:
    with world(folder, sites(folder, "edge", (1, 1), (MPICH, OPENMPI))) as running:
        ended = running.end(WITHIN)
    assert [one.code for one in ended] == [75, 75], ended
    assert "has an edge to itself in its sources that is not in its destinations." in ended[0].errors


def test_values_of_a_derived_type_may_be_more_than_2_gib(folder: Path) -> None:
    assert output(folder, "corners", (1, 2), (MPICH, OPENMPI), "much") == "0 failures\n"


def test_ranks_of_other_nodes_come_by_tcp_with_the_secret_of_their_site(folder: Path) -> None:
    of = sites(folder, "storm", (2, 1), (MPICH, OPENMPI), 3)
    of[0].options += ["--nodes", "127.0.0.1"]
    with world(folder, of) as running:
        ended = running.end()
    assert [(one.code, one.errors) for one in ended] == [(0, ""), (0, "")], ended
    assert not list(folder.glob(".steppe-bridge-*"))


def test_a_rank_that_receives_nothing_holds_at_most_its_limit(folder: Path) -> None:
    with world(folder, sites(folder, "flood", (1, 4), (MPICH, MPICH), 90, 4)) as running:  # 4 x 90 MB
        ended = running.end()
    assert [(one.code, one.errors) for one in ended] == [(0, ""), (0, "")], ended
    megabytes, wrong = ended[0].output.split(" MB, ")
    assert wrong == "0 wrong\n"
    assert 0 < int(megabytes) < 32 + 269  # how much comes within the time depends on the machine


def test_traffic_goes_on_when_a_lost_link_comes_back(folder: Path) -> None:
    options = ["--reconnect", "30", "--connections", "2"]
    with world(folder, sites(folder, "storm", (2, 2), (MPICH, OPENMPI), 5, "begun"), *options, delay=0.005, rate=2e6) as running:
        assert running.line() == "begun"
        time.sleep(0.3)
        running.links[0].cut()
        time.sleep(5)
        assert running.processes[0].poll() is None
        running.links[0].go()
        ended = running.end()
    assert [one.code for one in ended] == [0, 0], ended
    assert ended[0].output == "4 ranks, 0 failures\n"


def test_a_message_is_received_from_behind_any_number_of_others(folder: Path) -> None:
    assert output(folder, "late", (1, 1), (MPICH, MPICH)) == "0 wrong\n"


@pytest.mark.parametrize("accident", ["cut", "drop"])
def test_a_lost_link_ends_both_sites_with_one_sentence_each(folder: Path, accident: str) -> None:
    options = ["--link-timeout", "4"]
    with world(folder, sites(folder, "endless", (2, 1), (MPICH, MPICH)), *options, delay=0.002) as running:
        assert running.line() == "begun"
        began = time.monotonic()
        getattr(running.links[0], accident)()
        ended = running.end(WITHIN)
        assert time.monotonic() - began < WITHIN
    assert_each_names_the_other(ended)
