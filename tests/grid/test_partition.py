from itertools import combinations, pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steppe.errors import GridError
from steppe.grid import Partition, builtin_grid, tile_size, tiles

weights = st.lists(st.integers(0, 1_000) | st.just(0), min_size=0, max_size=60)


def loads(partition: Partition, cost: list[int]) -> list[int]:
    return [sum(cost[low:high]) for low, high in pairwise(partition.bounds)]


@pytest.mark.parametrize(
    ("n_cells", "size"),
    [(1, 256), (2_048, 256), (2_049, 512), (8_192, 1_024), (15_195, 2_048), (16_383, 2_048), (16_384, 4_096), (278_349, 4_096)],
)
def test_a_tile_is_about_an_eighth_of_a_small_grid_and_4096_cells_of_a_large_one(n_cells: int, size: int) -> None:
    assert tile_size(n_cells) == size


@given(st.integers(0, 100_000))
def test_tiles_are_whole_and_in_order_but_for_the_last(n_cells: int) -> None:
    found = tiles(n_cells)
    assert [tile.start for tile in found] == list(range(0, n_cells, tile_size(n_cells)))
    assert sum(map(len, found)) == n_cells
    assert all(len(tile) == tile_size(n_cells) for tile in found[:-1])


@given(st.integers(0, 5_000), st.integers(1, 70))
def test_shares_without_weights_differ_by_one_cell_at_most(n_cells: int, ranks: int) -> None:
    partition = Partition.cells(n_cells, ranks)
    sizes = [partition.owned(rank).n_cells for rank in range(ranks)]
    assert sum(sizes) == n_cells
    assert max(sizes) - min(sizes) <= 1


@given(weights, st.integers(1, 12))
def test_every_cell_is_in_exactly_one_share_and_shares_are_in_order(cost: list[int], ranks: int) -> None:
    partition = Partition.cells(len(cost), ranks, np.array(cost, dtype=np.int64))
    assert (partition.ranks, partition.n_cells) == (ranks, len(cost))
    assert [cell for rank in range(ranks) for cell in partition.owned(rank).cells] == list(range(len(cost)))


@given(st.lists(st.integers(0, 50) | st.just(0), min_size=1, max_size=12), st.integers(1, 4))
def test_no_other_cuts_have_a_lighter_heaviest_share(cost: list[int], ranks: int) -> None:
    partition = Partition.cells(len(cost), ranks, np.array(cost))
    heaviest = max(loads(partition, cost))
    places = sorted(list(range(len(cost) + 1)) * ranks)
    others = ((0, *cuts, len(cost)) for cuts in set(combinations(places, ranks - 1)))
    assert heaviest == min(max(sum(cost[a:b]) for a, b in pairwise(cuts)) for cuts in others)


@given(weights.filter(bool), st.integers(1, 80))
def test_the_heaviest_share_is_over_the_mean_by_one_cell_at_most(cost: list[int], ranks: int) -> None:
    heaviest = max(loads(Partition.cells(len(cost), ranks, np.array(cost)), cost))
    assert heaviest <= sum(cost) / ranks + max(cost)


@given(st.integers(0, 5_000), st.integers(1, 70), st.integers(1, 10_000))
def test_shares_of_cells_that_all_weigh_the_same_differ_by_one_cell_at_most(n_cells: int, ranks: int, weight: int) -> None:
    sizes = np.diff(Partition.cells(n_cells, ranks, np.full(n_cells, weight)).bounds)
    assert sizes.sum() == n_cells
    assert np.ptp(sizes) <= 1


@pytest.mark.parametrize(
    ("cost", "ranks", "bounds"),
    [
        ([], 3, (0, 0, 0, 0)),
        ([5], 3, (0, 0, 1, 1)),
        ([1, 1], 4, (0, 0, 1, 1, 2)),
        ([0, 0, 9, 0, 0], 2, (0, 0, 5)),
        ([0, 0, 0], 2, (0, 0, 3)),
        ([4, 0, 0, 4], 2, (0, 1, 4)),
        ([2**62, 2**61], 2, (0, 1, 2)),
    ],
)
def test_few_cells_and_weights_of_nothing_are_cut(cost: list[int], ranks: int, bounds: tuple[int, ...]) -> None:
    assert Partition.cells(len(cost), ranks, np.array(cost, np.int64)).bounds == bounds


def test_ten_thousand_shares_of_australia_are_planned_at_once() -> None:
    n_cells = builtin_grid("australia").n_cells
    cost = np.random.default_rng(1).integers(6_000, 12_000, n_cells)
    partition = Partition.cells(n_cells, 10_000, cost)
    assert sum(partition.owned(rank).n_cells for rank in range(10_000)) == n_cells
    assert max(loads(partition, cost.tolist())) <= cost.sum() / 10_000 + cost.max()


def test_queensland_is_cut_evenly_for_64_ranks() -> None:
    grid = builtin_grid("queensland")
    sizes = [Partition.cells(grid, 64).owned(rank).n_cells for rank in range(64)]
    assert max(sizes) * 64 / grid.n_cells - 1.0 < 0.003


@pytest.mark.parametrize("cost", [[1.5, 2.0], [1, -1], [1, 2, 3], [[1, 2]]])
def test_weights_that_cannot_be_are_explained(cost: Any) -> None:
    with pytest.raises(GridError, match="Weights must be 2 whole numbers"):
        Partition.cells(2, 2, cost)


def test_a_grid_is_not_cut_for_no_rank() -> None:
    with pytest.raises(GridError, match="one rank or more, not 0"):
        Partition.cells(10, 0)
