"""A storm: random traffic of all kinds over one world, of which every number is another."""

import random
from collections.abc import Sequence
from pathlib import Path

from tests.bridge.worlds import ABI, MPICH, OPENMPI, Ended, sites, world

LAYOUTS = [(1, 1), (2, 2), (3, 1), (2, 1, 1)]
PAIRS = [(MPICH, MPICH), (OPENMPI, OPENMPI), (ABI, ABI), (MPICH, OPENMPI), (MPICH, ABI), (OPENMPI, ABI)]


def storm(folder: Path, number: int) -> None:
    """Every pair of MPIs comes up with every layout; delay and order of the ranks are drawn."""
    drawn = random.Random(number)
    pair, ranks = PAIRS[number % len(PAIRS)], LAYOUTS[number // len(PAIRS) % len(LAYOUTS)]
    delay, order = drawn.uniform(0, 0.005), drawn.choice(["blocks", "turns"])
    first, *others = sites(folder, "storm", ranks, pair, number)
    first.options += ["--map", order]
    with world(folder, [first, *others], delay=delay) as running:
        ended = running.end()
    assert_all_arrived(ended, ranks)


def assert_all_arrived(ended: Sequence[Ended], ranks: tuple[int, ...]) -> None:
    """All sites have ended well, and no rank has found a failure."""
    assert [(one.code, one.errors) for one in ended] == [(0, "")] * len(ranks), ended
    assert ended[0].output == f"{sum(ranks)} ranks, 0 failures\n"
