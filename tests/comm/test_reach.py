import weakref
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steppe.comm import BoxReach, Serial, World
from steppe.comm.reach import KEPT
from steppe.comm.world import EXCHANGE_TAG
from steppe.errors import Failure
from steppe.grid import Box, Boxes, Domain, Edges, Face, Join
from steppe.kernels.sums import totals
from steppe.testing import RecordingWorld, run_threads
from tests.grid.halos import filled as planned
from tests.grid.halos import numbered

RANKS = (1, 2, 3, 4, 7)
POLES: Edges = {"y": "pole", "x": "periodic"}


def one_box(width: int = 1) -> Box:
    return Boxes(Domain.of({"y": 4, "x": 5}, {"x": "periodic"}), {"y": width, "x": width}, [(1, 1)])[0]


def filled(box: Box, *leading: int) -> np.ndarray:
    field = np.full((*leading, *box.local), np.nan)
    field[(..., *box.own)] = np.random.default_rng(2).random((*leading, *box.shape))
    return field


def reach(box: Box) -> BoxReach:
    return BoxReach(Serial(), box, totals)


@pytest.mark.parametrize("width", [1, 2])
def test_periodic_halos_are_filled_and_those_behind_walls_left(width: int) -> None:
    b = one_box(width)
    field = filled(b)
    own = field[b.own].copy()
    reach(b).exchange([field]).finish()
    assert (field[b.own] == own).all()
    assert (field[width:-width, :width] == own[:, -width:]).all()
    assert (field[width:-width, -width:] == own[:, :width]).all()
    assert np.isnan(field[:width]).all()
    assert np.isnan(field[-width:]).all()


def test_several_fields_with_leading_dimensions_go_together() -> None:
    b = one_box()
    one, many = filled(b), filled(b, 3, 2)
    together = reach(b).exchange([one, many])
    together.finish()
    assert (one[1:-1, 0] == one[1:-1, -2]).all()
    assert (many[..., 1:-1, -1] == many[..., 1:-1, 1]).all()


@pytest.mark.parametrize("ranks", RANKS)
def test_halos_hold_what_the_cells_were_when_the_exchange_began(ranks: int) -> None:
    boxes = Boxes(Domain.of({"y": 14, "x": 6}, POLES), {"y": 2, "x": 2}, [(ranks, 1)])
    expected = planned(boxes)

    def rank(world: World) -> None:
        b, r = boxes[world.rank], BoxReach(world, boxes[world.rank], totals)
        field = numbered(boxes)[world.rank]
        for _ in range(3):  # with buffers made, and with buffers kept
            before = field[b.own].copy()
            exchange = r.exchange([field], [-1])
            field[b.own] = -5
            exchange.finish()
            exchange.finish()
            field[b.own] = before
            assert (field == expected[world.rank]).all()

    run_threads(ranks, rank)


@st.composite
def cuts(draw: st.DrawFn) -> Boxes:
    """1 to 8 ranks on a sphere, a box with walls, or two blocks one of which is turned."""
    width = draw(st.integers(1, 2))
    dims = draw(st.integers(1, 4)), draw(st.integers(1, 2))
    edges = draw(st.sampled_from([POLES, {"y": "periodic"}, {"y": ("pole", "wall"), "x": "periodic"}, None]))
    if edges is not None:
        return Boxes(Domain.of({"y": 9, "x": 8}, edges), {"y": width, "x": width}, [dims])
    join = Join(Face(1, 0, "low"), (1, 0), (draw(st.booleans()), False))
    blocks = Domain.joined(("y", "x"), [(8, 4), (6, 8)], {Face(0, 1, "high"): join})
    return Boxes(blocks, {"y": width, "x": width}, [(dims[0], 1), (1, dims[1])])


@settings(max_examples=40)
@given(cuts(), st.sampled_from([np.float64, np.float32, np.int16]), st.sampled_from([np.float64, np.float32, np.int16]))
def test_several_arrays_with_parities_and_species_fill_halos_as_one_look_at_the_domain_does(boxes: Boxes, dtype: type, other: type) -> None:
    expected = planned(boxes)

    def rank(world: World) -> int:
        b, r = boxes[world.rank], BoxReach(world, boxes[world.rank], totals)
        own = numbered(boxes)[world.rank]
        scalar, vector = own.astype(dtype), own.astype(other)
        species = np.stack([[own, 2 * own]] * 3).astype(dtype)
        both = np.stack([own, own]).astype(dtype)
        exchange = r.exchange([scalar, vector, species, both], [1, -1, 1, (1, -1)])
        exchange.finish()
        assert (vector == expected[world.rank]).all()
        assert (scalar == abs(expected[world.rank])).all()
        assert (species[:, 1] == 2 * scalar).all()
        assert (both == [scalar, vector]).all()
        return b.n_cells

    assert sum(run_threads(len(boxes), rank)) == sum(np.prod(block) for block in boxes.domain.blocks)


@settings(max_examples=40)
@given(cuts(), st.sampled_from(["y", "x"]))
def test_a_sweep_gets_the_halo_across_its_axis_alone(boxes: Boxes, along: str) -> None:
    expected, axis = planned(boxes), ("y", "x").index(along)

    def rank(world: World) -> None:
        b, r = boxes[world.rank], BoxReach(world, boxes[world.rank], totals)
        field, mine = numbered(boxes)[world.rank], np.zeros(b.local, bool)
        mine[tuple(slice(None) if each == axis else own for each, own in enumerate(b.own))] = True  # own cells and that halo
        r.exchange([field], [-1], along).finish()
        assert (field == np.where(mine, expected[world.rank], 0)).all()

    run_threads(len(boxes), rank)


def test_there_is_one_message_to_each_peer_and_none_to_oneself() -> None:
    boxes = Boxes(Domain.of({"y": 8, "x": 8}, {"y": "periodic", "x": "periodic"}), {"y": 1, "x": 1}, [(2, 1)])

    def rank(world: World) -> tuple[int, int]:
        recorded = RecordingWorld(world)
        fields = [np.zeros(boxes[world.rank].local) for _ in range(3)]
        BoxReach(recorded, boxes[world.rank], totals).exchange(fields).finish()
        assert set(recorded.counts) <= {f"send {EXCHANGE_TAG}", f"receive {EXCHANGE_TAG}"}
        sent = recorded.counts[f"send {EXCHANGE_TAG}"]
        return sent.calls, sent.bytes

    two_rows_of_ten = 3 * 2 * (8 + 2)
    assert run_threads(2, rank) == [(1, 8 * two_rows_of_ten)] * 2


def test_a_model_that_swaps_its_arrays_or_makes_new_ones_gets_their_own_halos() -> None:
    b = one_box()
    r = reach(b)
    fields = [filled(b) + k for k in range(12)]
    many = np.stack(fields)
    for field in [*fields, *fields, *many, *many]:
        field[:, 0] = field[:, -1] = np.nan
        r.exchange([field]).finish()
        assert (field[1:-1, 0] == field[1:-1, -2]).all()
    fields = [filled(b) for _ in range(3 * KEPT)]
    alive = [weakref.ref(field) for field in fields]
    while fields:
        field = fields.pop()
        r.exchange([field]).finish()
        assert (field[1:-1, 0] == field[1:-1, -2]).all()
    del field
    assert sum(reference() is not None for reference in alive) <= KEPT


def test_what_is_kept_of_an_exchange_serves_the_same_arrays_and_parities_alone() -> None:
    b = Boxes(Domain.of({"y": 4, "x": 6}, POLES), {"y": 1, "x": 1}, [(1, 1)])[0]
    r, fields = reach(b), filled(b, 3)
    for parities in (None, [-1], [1], [-1]):
        r.exchange([fields], parities).finish()
        beyond = np.roll(fields[:, 1, 1:-1], 3, axis=-1)
        assert (fields[:, 0, 1:-1] == (-beyond if parities == [-1] else beyond)).all()
    fields[:, b.own[0], b.own[1]] += 1.0
    before = fields[1].copy()
    r.exchange([fields[:1]]).finish()
    assert (fields[0, 0, 1:-1] == np.roll(fields[0, 1, 1:-1], 3)).all()
    assert (fields[1] == before).all()


def test_a_second_exchange_waits_for_the_first_to_be_finished() -> None:
    b = one_box()
    r, field = reach(b), filled(b)
    first = r.exchange([field])
    with pytest.raises(Failure, match=r"Call finish\(\) first"):
        r.exchange([field])
    first.finish()
    r.exchange([field]).finish()


def test_arrays_that_cannot_go_together_are_refused() -> None:
    b = one_box()
    with pytest.raises(Failure, match=r"the box with halos, \(6, 7\), its shape is \(7, 6\)"):
        reach(b).exchange([filled(b).T])
    with pytest.raises(Failure, match="no neighbours"):
        BoxReach(Serial(), None, totals).exchange([filled(b)])


def test_an_axis_that_a_box_has_not_is_refused() -> None:
    b = one_box()
    with pytest.raises(Failure, match='There is no axis "z"'):
        reach(b).exchange([filled(b)], along="z")


def test_a_sum_of_cells_and_halos_is_refused() -> None:
    b = one_box()
    field = filled(b, 3)
    for of_all in (reach(b).total, reach(b).largest):
        with pytest.raises(Failure, match=r"own cells \(..., 4, 5\), and an array \(3, 6, 7\) has halos, too. Give array\[..., y, x\]"):
            of_all(field[..., 1:-1, 1:-1], field)


@pytest.mark.parametrize("ranks", RANKS)
def test_totals_are_exact_and_greatest_values_found_for_any_ranks(ranks: int) -> None:
    x = np.array([1e16, 1.0, -1e16, 2.0, 0.25, -7.0, 1.0, 1.0])

    def rank(world: World) -> None:
        part = x[world.rank :: world.size]
        r = BoxReach(world, None, totals)
        assert r.total(part) == -1.75
        assert r.largest(part) == 1e16
        assert r.largest(part[part > 1e30]) == -np.inf
        assert r.total(np.empty(0)) == 0.0
        assert r.total(part, 2.0 * part, np.empty(0)) == (-1.75, -3.5, 0.0)
        assert r.largest(part, -part, np.empty(0)) == (1e16, 1e16, -np.inf)

    run_threads(ranks, rank)


def test_many_sums_take_as_many_messages_as_one() -> None:
    def rank(world: World) -> list[int]:
        calls = []
        for arrays in ([np.ones(3)], [np.ones(3), np.zeros(2), np.full(4, 1e9)]):
            recorded = RecordingWorld(world)
            r = BoxReach(recorded, None, totals)
            r.total(*arrays)
            r.largest(*arrays)
            calls.append(recorded.counts["reduce"].calls)
        return calls

    assert run_threads(2, rank) == [[3, 3]] * 2


@pytest.mark.parametrize("ranks", RANKS)
def test_a_value_that_is_not_finite_on_one_rank_shows_on_all(ranks: int) -> None:
    def rank(world: World) -> None:
        r = BoxReach(world, None, totals)
        for bad, mine in product((np.nan, -np.inf), ([1.0, 2.0],)):
            values = np.array([bad, *mine] if world.rank == world.size - 1 else mine)
            assert np.isnan(r.total(values))
            assert np.isnan(r.largest(values)) if np.isnan(bad) else r.largest(values) == 2.0
            assert np.isnan(r.total(np.array(mine), values, values)).tolist() == [False, True, True]
        assert r.largest(np.array([1.0, np.inf])) == np.inf

    run_threads(ranks, rank)
