"""Sites in networks of their own, which a cable joins: what works on one machine works there, and what a pulled cable does."""

import time
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
from tests.another_host import AnotherHost
from tests.bridge.storms import LAYOUTS, PAIRS, assert_all_arrived
from tests.bridge.worlds import WITHIN, Mpi, Running, assert_each_names_the_other, sites, world


def _apart(
    folder: Path, there: AnotherHost, program: str, ranks: tuple[int, ...], pair: tuple[Mpi, Mpi], *options: str
) -> AbstractContextManager[Running]:
    """All sites but the first are there."""
    apart = sites(folder, program, ranks, pair, *([7] if program == "storm" else []))
    for site in apart[1:]:
        site.launcher = there.launcher
    return world(folder, apart, *options, address=there.address)


@pytest.mark.parametrize("ranks", LAYOUTS)
@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: "-".join(mpi.name for mpi in pair))
def test_random_traffic_arrives_in_order(folder: Path, there: AnotherHost, pair: tuple[Mpi, Mpi], ranks: tuple[int, ...]) -> None:
    with _apart(folder, there, "storm", ranks, pair) as running:
        ended = running.end()
    assert_all_arrived(ended, ranks)


def test_a_pulled_cable_ends_both_sites_with_one_sentence_each(folder: Path, there: AnotherHost) -> None:
    with _apart(folder, there, "endless", (2, 1), PAIRS[3], "--link-timeout", "4") as running:
        assert running.line() == "begun"
        began = time.monotonic()
        there.plug("down")
        try:
            ended = running.end(WITHIN)
        finally:
            there.plug("up")
        assert time.monotonic() - began < WITHIN
    assert_each_names_the_other(ended)


def test_a_cable_that_is_plugged_in_again_lets_the_program_go_on(folder: Path, there: AnotherHost) -> None:
    with _apart(folder, there, "endless", (2, 1), PAIRS[3], "--link-timeout", "4", "--reconnect", "30") as running:
        assert running.line() == "begun"
        there.plug("down")
        time.sleep(8)
        there.plug("up")
        up = time.monotonic()
        seconds = [int(running.line())]  # after the beginning; the last line before the cable was pulled may still be there
        while seconds[-1] < 8:
            seconds.append(int(running.line()))
        assert not {*range(2, 8)} & {*seconds}, "nothing crosses a pulled cable"
        assert time.monotonic() - up < WITHIN
        assert [process.poll() for process in running.processes] == [None, None]
