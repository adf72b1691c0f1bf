"""Which ranks read weather for which: the spread of the least predicted time."""

import os
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from steppe.comm import World
from steppe.costs import SpreadFigures, SpreadPrediction, choose_spread, spread_forcing
from steppe.costs.spread_choice import check_spread
from steppe.errors import RunFileError
from steppe.io import ForcingReader
from steppe.testing import run_threads
from tests.io.small_store import write_small_store
from tests.io.test_spread import CELLS, CLOCK, WEEKLY, even, shares_of

FIGURES = SpreadFigures()


class Cut(NamedTuple):
    """What of slabs decides the choice."""

    cells: list[range]
    height: int
    length: int
    changing: int = 6
    dtype: np.dtype = np.dtype("int16")


QUEENSLAND = Cut([range(first, min(first + 2048, 15_195)) for first in range(0, 15_195, 2048)], 6 * 64, 64)


def choice(ranks: int, spare: bool, hosts: int = 1, figures: SpreadFigures = FIGURES) -> str:
    bounds = [15_195 * rank // ranks for rank in range(ranks + 1)]
    node = [rank * hosts // ranks for rank in range(ranks)]
    return choose_spread(QUEENSLAND, shares_of(bounds), node, figures, spare)[0]  # type: ignore[arg-type]


def test_a_rank_reads_for_itself_where_reading_is_hidden_or_nobody_else_is_there() -> None:
    assert choice(1, spare=False) == "own"
    assert [choice(ranks, spare=True) for ranks in (2, 4)] == ["own", "own"]


@pytest.mark.skipif(not hasattr(os, "memfd_create"), reason="hosts share memory by memfd_create")
def test_ranks_of_a_host_share_where_shares_are_smaller_than_tiles_and_nothing_is_hidden() -> None:
    assert choice(16, spare=False) == "node"
    assert choice(64, spare=False, hosts=4) == "node"


def test_ranks_on_hosts_of_their_own_let_a_few_read_where_decoding_is_slow_and_messages_are_fast() -> None:
    slow = SpreadFigures(decode=4e-7, byte=1e-11)
    assert choice(8, spare=False, hosts=8, figures=slow).startswith("readers:")
    assert choice(8, spare=False, hosts=8, figures=slow._replace(byte=1e-6)) == "own"


def test_computing_is_predicted_by_the_figure_of_the_model(tmp_path: Path) -> None:
    store = tmp_path / "weather.zarr"
    write_small_store(store)

    def rank(world: World) -> float:
        told: dict[str, SpreadPrediction] = {}
        reader = ForcingReader(store, range(CELLS), None, CLOCK, WEEKLY)
        spread_forcing(reader, world, shares_of(even(2)), compute=0.5, tell=lambda name, found: told.update(found)).close()
        return told["own"].compute

    days = ForcingReader(store, range(CELLS), None, CLOCK, WEEKLY).slabs.length
    assert run_threads(2, rank) == [pytest.approx(0.5 * days * (CELLS - CELLS // 2))] * 2


def test_a_prediction_is_the_sum_of_its_parts() -> None:
    shares, figures = [range(100), range(100, 200)], SpreadFigures(compute=1e-3, decode=1e-2, meeting=1.0, message=2.0, byte=1e-5)
    chosen, found = choose_spread(Cut([range(150), range(150, 200)], 5, 2), shares, [0, 1], figures, False)  # type: ignore[arg-type]
    assert found["own"].seconds == pytest.approx(2 * 1e-2 * 200 + 2 * 1e-3 * 100)  # rank 1 has a part of both tiles
    assert found["readers:1"].messages == pytest.approx(1.0 + 2.0 + 200 * 0.5 * 10 * 1e-5)
    assert found["readers:2"].reading == pytest.approx(2 * 1e-2 * 150)
    assert chosen == min(found, key=lambda name: found[name].seconds)


@pytest.mark.parametrize("spread", ["", "readers", "readers:0", "readers:-1", "all", "broadcast"])
def test_an_unknown_spread_is_refused(spread: str) -> None:
    with pytest.raises(RunFileError, match='spread "' + spread + '" is not known. Write "own"'):
        check_spread(spread)
