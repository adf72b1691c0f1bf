"""Who brings which cells to whom: every cell once, whatever the shares are."""

from itertools import pairwise

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from steppe.grid import Cells, Ownership, tiles, writers_of


@st.composite
def shares(draw: st.DrawFn) -> list[Cells]:
    """Contiguous shares, some of them empty, or cells dealt at random, as boxes have them."""
    cells, ranks = draw(st.integers(1, 1200)), draw(st.integers(1, 9))
    if draw(st.booleans()):
        cuts = sorted(draw(st.lists(st.integers(0, cells), min_size=ranks - 1, max_size=ranks - 1)))
        return [range(low, high) for low, high in pairwise([0, *cuts, cells])]
    owner = np.random.default_rng(draw(st.integers(0, 99))).integers(0, ranks, cells)
    return [np.flatnonzero(owner == rank) for rank in range(ranks)]


@settings(max_examples=60)
@given(shares(), st.integers(1, 10))
def test_parts_of_all_ranks_make_up_every_tile_once_and_come_to_its_writer(cells, per_writer):
    n_cells = sum(len(each) for each in cells)
    deals = [Ownership(n_cells, rank, cells, writers_of(len(cells), per_writer)) for rank in range(len(cells))]
    written = {tile.tile: (deal.rank, tile) for deal in deals for tile in deal.written}
    assert sorted(written) == list(range(len(tiles(n_cells))))
    assert sum(len(deal.written) for deal in deals) == len(written)
    for number, tile in enumerate(tiles(n_cells)):
        rank, found = written[number]
        assert rank % per_writer == 0
        assert any(tile.start in list(served) for served in cells[rank : rank + per_writer])
        whole = np.full(found.width, -1)
        for deal in deals:
            for held in deal.held:
                if held.tile == number:
                    assert held.writer == rank
                    values = np.asarray(list(deal.mine))[held.mine]
                    assert (whole[held.columns] == -1).all()
                    whole[held.columns] = values
                    if deal.rank != rank:
                        (columns,) = [columns for peer, columns in found.parts if peer == deal.rank]
                        assert_array_equal(np.arange(found.width)[columns], np.arange(found.width)[held.columns])
        assert_array_equal(whole, np.arange(tile.start, tile.stop))


@given(st.integers(1, 40), st.integers(1, 12), st.data())
def test_only_ranks_that_can_write_are_writers(ranks, per_writer, data):
    able = sorted(data.draw(st.sets(st.integers(0, ranks - 1), min_size=1)))
    found = writers_of(ranks, per_writer, able)
    assert set(found) <= set(able)
    for rank, writer in enumerate(writers_of(ranks, per_writer)):
        assert found[rank] == writer or writer not in able
    assert len(set(found)) <= max(1, len(set(writers_of(ranks, per_writer))))


def test_cells_of_a_tile_that_lie_side_by_side_are_a_slice_of_it_whatever_the_share_is():
    cells = [np.arange(1024), np.array([1024, 1026]), np.array([1025])]
    deals = [Ownership(1027, rank, cells) for rank in range(3)]
    assert [held.columns for held in deals[0].held] == [slice(0, len(tile)) for tile in tiles(1027)[: len(deals[0].held)]]
    assert_array_equal(deals[1].held[0].columns, [0, 2])
    assert deals[2].held[0].columns == slice(1, 2)


def test_a_rank_receives_no_more_than_the_tiles_that_it_writes():
    cells = [range(10_000), range(10_000, 10_100), range(10_100, 20_000)]
    for rank, mine in enumerate(cells):
        deal = Ownership(20_000, rank, cells)
        received = sum(np.arange(tile.width)[columns].size for tile in deal.written for _, columns in tile.parts)
        assert received + len(mine) >= sum(tile.width for tile in deal.written)
        assert received <= 4096


def test_the_deals_of_ten_thousand_ranks_are_made_in_seconds():
    cuts = np.linspace(0, 1_000_000, 10_001).astype(int).tolist()
    cells = [range(low, high) for low, high in pairwise(cuts)]
    assert sum(len(Ownership(1_000_000, rank, cells).written) for rank in range(0, 10_000, 500)) <= len(tiles(1_000_000))
