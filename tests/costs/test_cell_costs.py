from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steppe.costs import CostLattice, MoveCost, better_cuts, first_cuts, imbalance, measured_cost
from steppe.costs.cell_costs import BUCKET, COMMITS_BETWEEN, HALF_LIFE, TOLERATED
from steppe.errors import GridError
from steppe.grid import Partition

FREE = MoveCost(cell_bytes=0, pause=0.0)


def slope(n_cells: int) -> np.ndarray:
    """Picoseconds of a cell and step: a gradient and a wave."""
    at = np.arange(n_cells) / n_cells
    return 8_000.0 * (1.0 + 0.25 * np.sin(6.0 * at) + at)


def busy(partition: Partition, picoseconds: np.ndarray, steps: int) -> list[float]:
    return [float(picoseconds[low:high].sum()) * 1e-12 * steps for low, high in pairwise(partition.bounds)]


def test_nothing_measured_is_even() -> None:
    assert set(CostLattice(50).weights().tolist()) == {1}
    assert better_cuts(CostLattice(50), Partition((0, 25, 50)), 10**9, COMMITS_BETWEEN, FREE) is None


@given(st.integers(1, 300), st.integers(1, 9), st.integers(1, 2_000))
def test_even_cells_are_found_to_cost_what_they_cost(n_cells: int, ranks: int, steps: int) -> None:
    lattice, partition = CostLattice(n_cells), Partition.cells(n_cells, ranks)
    for _ in range(3):
        lattice.feed(partition, busy(partition, np.full(n_cells, 8_000.0), steps), steps)
    assert set(lattice.weights().tolist()) == {8_000}


@given(st.data(), st.integers(1, 300))
def test_the_lattice_knows_the_load_of_shares_of_whole_buckets(data: st.DataObject, n_cells: int) -> None:
    inner = data.draw(st.lists(st.integers(0, n_cells // BUCKET), max_size=5))
    partition = Partition((0, *sorted(BUCKET * k for k in inner), n_cells))
    cost = slope(n_cells)
    lattice = CostLattice(n_cells)
    lattice.feed(partition, busy(partition, cost, 64), 64)
    np.testing.assert_allclose(lattice.loads(partition), partition.loads(cost), rtol=1e-3)


def test_what_is_known_inside_a_share_survives_other_cuts() -> None:
    """Measured in 7 shares, then for long as a whole: the differences are known still, and cuts for 5 are as good."""
    n_cells, cost = 7 * 160, slope(7 * 160)
    lattice = CostLattice(n_cells)
    fine, whole = Partition.cells(n_cells, 7), Partition.cells(n_cells, 1)
    lattice.feed(fine, busy(fine, cost, 64), 64)
    known = Partition.cells(n_cells, 5, lattice.weights())
    for _ in range(50):
        lattice.feed(whole, busy(whole, 2.0 * cost, 64), 64)
    assert Partition.cells(n_cells, 5, lattice.weights()).bounds == known.bounds
    assert lattice.loads(whole)[0] == pytest.approx(2.0 * cost.sum(), rel=0.02)


@pytest.mark.parametrize("ranks", [2, 3, 7, 16])
def test_measuring_and_cutting_in_turn_makes_work_even(ranks: int) -> None:
    n_cells = 15_208
    cost = slope(n_cells)
    lattice, partition = CostLattice(n_cells), Partition.cells(n_cells, ranks)
    assert imbalance(partition.loads(cost)) > 0.05
    for _ in range(6):
        for _ in range(COMMITS_BETWEEN):
            lattice.feed(partition, busy(partition, cost, 384), 384)
        partition = Partition.cells(n_cells, ranks, lattice.weights())
    assert imbalance(partition.loads(cost)) < 0.02


def test_a_measurement_counts_half_after_eight_slabs() -> None:
    partition = Partition.cells(160, 2)
    lattice = CostLattice(160)
    for _ in range(100):
        lattice.feed(partition, busy(partition, np.full(160, 1_000.0), 64), 64)
    for _ in range(HALF_LIFE // 64):
        lattice.feed(partition, busy(partition, np.full(160, 3_000.0), 64), 64)
    np.testing.assert_allclose(lattice.picoseconds, 2_000.0, rtol=1e-3)


def test_ranks_that_measured_nothing_are_taken_as_the_others_are() -> None:
    lattice, partition = CostLattice(64), Partition((0, 32, 64, 64))
    lattice.feed(partition, [32 * 64 * 5e-9, 0.0, 0.0], 64)
    assert set(lattice.weights().tolist()) == {5_000}
    lattice.feed(partition, [0.0, 0.0, 0.0], 64)
    assert set(lattice.weights().tolist()) == {5_000}


def test_cells_move_only_when_it_pays_for_long_enough() -> None:
    n_cells, now = 10_000, Partition.cells(10_000, 4)
    lattice = CostLattice(n_cells)
    lattice.feed(now, busy(now, slope(n_cells), 384), 384)
    new = better_cuts(lattice, now, 10_000, COMMITS_BETWEEN, FREE)
    assert new is not None
    assert imbalance(lattice.loads(new)) < 0.001 < 0.05 < imbalance(lattice.loads(now))
    assert better_cuts(lattice, now, 10_000, COMMITS_BETWEEN - 1, FREE) is None
    assert better_cuts(lattice, new, 10_000, COMMITS_BETWEEN, FREE) is None
    gain = float(lattice.loads(now).max() - lattice.loads(new).max()) * 1e-12 * 10_000
    assert better_cuts(lattice, now, 10_000, COMMITS_BETWEEN, MoveCost(0, pause=gain / 2.9)) is None
    assert better_cuts(lattice, now, 10_000, COMMITS_BETWEEN, MoveCost(0, pause=gain / 3.1)) == new
    assert better_cuts(lattice, now, 0, COMMITS_BETWEEN, FREE) is None


def test_a_session_begins_with_other_shares_when_the_measured_costs_make_its_own_uneven() -> None:
    now, lattice = Partition.cells(10_000, 4), CostLattice(10_000)
    assert first_cuts(lattice, now) is None
    lattice.feed(now, busy(now, slope(10_000), 384), 384)
    new = first_cuts(lattice, now)
    assert new is not None
    assert imbalance(lattice.loads(new)) < 0.001 < TOLERATED < imbalance(lattice.loads(now))
    assert first_cuts(lattice, new) is None


def test_the_measured_cost_of_a_cell_outlives_the_session() -> None:
    lattice, now = CostLattice(160), Partition.cells(160, 2)
    assert measured_cost(lattice.kept(), 160) is None
    lattice.feed(now, busy(now, np.full(160, 3_000.0), 64), 64)
    assert measured_cost(lattice.kept(), 160) == pytest.approx(3e-9)
    assert measured_cost(lattice.kept(), 161) is None
    assert measured_cost({}, 160) is None


def test_moving_takes_the_time_of_the_rank_that_sends_or_receives_most() -> None:
    old, new = Partition((0, 10, 20, 30)), Partition((0, 4, 25, 30))
    assert MoveCost(100, 1e3, 0.5).seconds(old, new) == pytest.approx(0.5 + 11 * 100 / 1e3)
    assert MoveCost(100, 1e3, 0.5).seconds(old, old) == 0.5


def test_times_that_do_not_fit_the_shares_are_explained() -> None:
    with pytest.raises(GridError, match="3 busy times of 64 steps were given for 2 shares of 100 cells"):
        CostLattice(100).feed(Partition.cells(100, 2), [1.0, 1.0, 1.0], 64)


def test_an_imbalance_is_the_maximum_over_the_mean_less_one() -> None:
    assert imbalance([2.0, 4.0]) == pytest.approx(1.0 / 3.0)
    assert imbalance([0, 0]) == 0.0
