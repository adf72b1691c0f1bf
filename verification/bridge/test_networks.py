"""Sites in networks of their own, which a cable joins: what works on one machine works there, and what a pulled cable does."""

import time
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
from tests.another_host import AnotherHost
from tests.bridge.storms import PAIRS
from tests.bridge.worlds import Mpi, Running, sites, world

WITHIN = 12.0  # [s] for all that is left after a failure


def _apart(
    folder: Path, there: AnotherHost, program: str, ranks: tuple[int, ...], pair: tuple[Mpi, Mpi], *options: str
) -> AbstractContextManager[Running]:
    """All sites but the first are there."""
    apart = sites(folder, program, ranks, pair, *([7] if program == "storm" else []))
    for site in apart[1:]:
        site.launcher = there.launcher
    return world(folder, apart, *options, address=there.address)


@pytest.mark.parametrize("ranks", [(1, 1), (2, 2), (3, 1), (2, 1, 1)])
@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: "-".join(mpi.name for mpi in pair))
def test_random_traffic_arrives_in_order(folder: Path, there: AnotherHost, pair: tuple[Mpi, Mpi], ranks: tuple[int, ...]) -> None:
    with _apart(folder, there, "storm", ranks, pair) as running:
        ended = running.end()
    assert [(one.code, one.errors) for one in ended] == [(0, "")] * len(ranks), ended
    assert ended[0].output == f"{sum(ranks)} ranks, 0 failures\n"


def _line(running: Running) -> str:
    assert running.processes[0].stdout is not None
    return running.processes[0].stdout.readline().strip()


def test_a_pulled_cable_ends_both_sites_with_one_sentence_each(folder: Path, there: AnotherHost) -> None:
    with _apart(folder, there, "endless", (2, 1), PAIRS[3], "--link-timeout", "4") as running:
        assert _line(running) == "begun"
        began = time.monotonic()
        there.plug("down")
        try:
            ended = running.end(WITHIN)
        finally:
            there.plug("up")
        assert time.monotonic() - began < WITHIN
    assert [one.code for one in ended] == [75, 75], ended
    for one, other in zip(ended, "ba", strict=True):
        (sentence,) = [line for line in one.errors.splitlines() if line.startswith("steppe bridge:")]
        assert f"site {other}" in sentence.lower()


def test_a_cable_that_is_plugged_in_again_lets_the_program_go_on(folder: Path, there: AnotherHost) -> None:
    with _apart(folder, there, "endless", (2, 1), PAIRS[3], "--link-timeout", "4", "--reconnect", "30") as running:
        assert _line(running) == "begun"
        there.plug("down")
        time.sleep(8)
        there.plug("up")
        up = time.monotonic()
        while int(_line(running) or 99) < 8:  # seconds after the beginning
            pass
        assert time.monotonic() - up < WITHIN
        assert [process.poll() for process in running.processes] == [None, None]
