import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steppe.errors import GridError
from steppe.grid import Boxes, Domain, Edges, Face, Join, choose_dims
from tests.grid.halos import Pair, filled, looked_up, walked

AXES = ("z", "y", "x")


@st.composite
def cuts(draw: st.DrawFn) -> tuple[Boxes, tuple[Pair, ...]]:
    """A domain of 1 to 3 axes with any edges, cut for 1 to 12 ranks."""
    axes = AXES[-draw(st.integers(1, 3)) :]
    shape = {axis: draw(st.integers(1, 12 if len(axes) < 3 else 6)) for axis in axes}
    halo = {axis: draw(st.integers(0, min(3, shape[axis]))) for axis in axes}
    wall_or_round = st.sampled_from([("wall", "wall"), ("periodic", "periodic")])
    ends: dict[str, Pair] = {axis: draw(wall_or_round) for axis in axes}
    if len(axes) > 1 and shape["x"] % 2 == 0 and draw(st.booleans()):
        ends = {"z": ("wall", "wall"), "y": draw(st.sampled_from([("pole", "pole"), ("pole", "wall"), ("wall", "pole")]))}
        ends["x"] = ("periodic", "periodic")
        ends = {axis: ends[axis] for axis in axes}
    dims = [draw(st.integers(1, min(4, shape[axis] // max(halo[axis], 1)))) for axis in axes]
    return Boxes(Domain.of(shape, ends), halo, [tuple(dims)]), tuple(ends.values())


@given(cuts())
def test_boxes_tile_the_domain(drawn: tuple[Boxes, tuple[Pair, ...]]) -> None:
    boxes, _ = drawn
    visits = np.zeros(boxes.domain.blocks[0], dtype=int)
    for rank, box in enumerate(boxes):
        assert box.rank == rank
        visits[tuple(slice(first, first + n) for first, n in zip(box.origin, box.shape, strict=True))] += 1
        assert all(n >= width for n, width in zip(box.shape, box.halo, strict=True))
    assert (visits == 1).all()


@settings(max_examples=200)
@given(cuts())
def test_halos_are_those_of_a_look_at_every_cell(drawn: tuple[Boxes, tuple[Pair, ...]]) -> None:
    boxes, ends = drawn
    for box, array in zip(boxes, filled(boxes), strict=True):
        for place in product(*map(range, box.local)):
            assert array[place] == looked_up(box, place, boxes.domain.blocks[0], ends), (box, place)


@given(cuts())
def test_behind_walls_halos_are_those_of_one_rank_once_mirrored(drawn: tuple[Boxes, tuple[Pair, ...]]) -> None:
    boxes, _ = drawn
    whole = Boxes(boxes.domain, dict(zip(boxes.domain.axes, boxes.halo, strict=True)), [(1,) * len(boxes.halo)])
    (expected,) = filled(whole)
    for mirror in whole[0].mirrors:
        expected[mirror.target] = expected[mirror.source]
    for box, array in zip(boxes, filled(boxes), strict=True):
        for mirror in box.mirrors:
            array[mirror.target] = array[mirror.source]
        part = tuple(slice(first, first + n) for first, n in zip(box.origin, box.local, strict=True))
        assert (array == expected[part]).all()


@pytest.mark.parametrize("edges", [{"y": "pole", "x": "periodic"}, {"y": "wall", "x": "periodic"}, {}])
def test_of_ten_thousand_ranks_each_sends_what_its_peers_expect(edges: Edges) -> None:
    shape, halo = {"y": 1_001, "x": 2_002}, {"y": 2, "x": 3}
    boxes = Boxes(Domain.of(shape, edges), halo, [choose_dims((1_001, 2_002), (2, 3), 10_000)])
    assert len(boxes) == 10_000
    for rank in (0, 1, 77, 124, 4_711, 9_900, 9_999):
        box = boxes[rank]
        peers = {piece.peer for piece in box.sends}
        assert peers == {piece.peer for piece in box.receives}
        for peer in peers:
            sent = [(piece.mine, piece.theirs, piece[3:]) for piece in box.sends if piece.peer == peer]
            assert sent == [(piece.theirs, piece.mine, piece[3:]) for piece in boxes[peer].receives if piece.peer == rank]


def test_the_least_halo_is_chosen_and_of_equals_the_smallest_boxes_then_the_first() -> None:
    assert choose_dims((100, 100), (1, 1), 9) == (3, 3)
    assert choose_dims((100, 100), (1, 1), 4) == (4, 1)
    assert choose_dims((100, 400), (1, 1), 4) == (1, 4)
    assert choose_dims((100, 100), (1, 1), 2) == (2, 1)
    assert choose_dims((40, 40, 40), (2, 2, 2), 27) == (3, 3, 3)
    assert choose_dims((7,), (1,), 7) == (7,)
    assert choose_dims((5, 100), (3, 1), 3) == (1, 3)
    assert choose_dims((16, 20), (0, 0), 5) == (1, 5)
    assert choose_dims((15, 16), (0, 0), 5) == (5, 1)


@given(st.lists(st.integers(1, 30), min_size=1, max_size=3), st.integers(0, 2), st.integers(1, 40))
def test_the_chosen_cut_is_the_best_of_all_or_the_nearest_numbers_are_named(shape: list[int], width: int, ranks: int) -> None:
    widths = [min(width, n) for n in shape]

    def fitting(number: int) -> list[tuple[int, ...]]:
        each = [range(1, n // max(w, 1) + 1) for n, w in zip(shape, widths, strict=True)]
        return [dims for dims in product(*each) if math.prod(dims) == number]

    def area(dims: tuple[int, ...]) -> int:
        box = [math.ceil(n / parts) for n, parts in zip(shape, dims, strict=True)]
        return sum(2 * w * math.prod(box) // b for w, b, parts in zip(widths, box, dims, strict=True) if parts > 1)

    if candidates := fitting(ranks):
        chosen = choose_dims(shape, widths, ranks)
        assert chosen in candidates
        assert area(chosen) == min(map(area, candidates))
        return
    lower = next(n for n in range(ranks - 1, 0, -1) if fitting(n))
    upper = next((n for n in range(ranks + 1, 200) if fitting(n)), None)
    fewer = f"{lower} ranks" if lower > 1 else "one rank"
    with pytest.raises(GridError, match=f"Start {lower} or {upper} ranks" if upper else f"Start {fewer}"):
        choose_dims(shape, widths, ranks)


def test_numbers_of_ranks_near_one_that_cannot_be_are_named() -> None:
    with pytest.raises(GridError, match=r"4 x 4 cells cannot be cut into 13 boxes .* Start 12 or 16 ranks\."):
        choose_dims((4, 4), (1, 1), 13)
    with pytest.raises(GridError, match=r"1 x 1 cells cannot be cut into 2 boxes .* Start one rank\."):
        choose_dims((1, 1), (1, 1), 2)
    with pytest.raises(GridError, match=r"Start 4 ranks\."):
        choose_dims((5, 5), (2, 2), 10_000)
    with pytest.raises(GridError, match="one rank or more, not 0"):
        choose_dims((5, 5), (2, 2), 0)


def test_ranks_are_counted_from_0() -> None:
    boxes = Boxes(Domain.of({"x": 4}, {}), {"x": 1}, [(2,)])
    assert [box.rank for box in boxes[0:2]] == [0, 1]
    for rank in (-1, 2):
        with pytest.raises(IndexError, match="into 2 boxes"):
            boxes[rank]


@pytest.mark.parametrize(
    ("edges", "words"),
    [
        ({"y": ("periodic", "wall")}, "periodic at both ends or at none"),
        ({"y": "pole"}, "0 axes are periodic"),
        ({"y": "pole", "x": "periodic"}, "axis x has 5 cells"),
        ({"q": "wall"}, 'axis "q" is not known'),
    ],
)
def test_edges_that_cannot_be_are_explained(edges: Edges, words: str) -> None:
    with pytest.raises(GridError, match=words):
        Domain.of({"y": 4, "x": 5}, edges)


def test_a_halo_is_given_for_each_axis() -> None:
    with pytest.raises(GridError, match=r"0 or more for each axis, x; it is \{'y': 1\}"):
        Boxes(Domain.of({"x": 4}, {}), {"y": 1}, [(1,)])


@st.composite
def joined(draw: st.DrawFn) -> tuple[Boxes, list[tuple[int, ...]], dict[Face, Join]]:
    """Up to four blocks of which some faces are joined at random, in any of the orientations, each block cut into some boxes."""
    n_axes = draw(st.integers(2, 3))
    size, width = draw(st.integers(2, 3)), draw(st.integers(1, 2))
    lengths = [size] * n_axes  # cubes, so that any face fits any other
    blocks = [tuple(lengths)] * draw(st.integers(1, 4))
    faces = [Face(block, axis, side) for block in range(len(blocks)) for axis in range(n_axes) for side in ("low", "high")]
    free = draw(st.permutations(faces))
    joins = {}
    for one, other in zip(free[0::2], free[1::2], strict=True):
        if draw(st.integers(0, 3)):
            rest = draw(st.permutations([axis for axis in range(n_axes) if axis != other.axis]))
            axes = tuple(other.axis if axis == one.axis else rest.pop() for axis in range(n_axes))
            flips = tuple(one.side == other.side if axis == one.axis else draw(st.booleans()) for axis in range(n_axes))
            joins[one] = Join(other, axes, flips)
    dims = [tuple(draw(st.integers(1, size // width)) for _ in range(n_axes)) for _ in blocks]
    domain = Domain.joined(AXES[-n_axes:], blocks, joins)
    return Boxes(domain, dict.fromkeys(domain.axes, width), dims), blocks, joins


@settings(max_examples=40)
@given(joined())
def test_halos_of_joined_blocks_are_those_of_a_walk_from_cell_to_cell(drawn: tuple[Boxes, list, dict]) -> None:
    boxes, blocks, joins = drawn
    for box, array in zip(boxes, filled(boxes), strict=True):
        for place in product(*map(range, box.local)):
            assert array[place] == walked(box, place, blocks, joins), (box.rank, place)


@settings(max_examples=60)
@given(st.one_of(cuts().map(lambda drawn: drawn[0]), joined().map(lambda drawn: drawn[0])), st.integers(0, 99))
def test_which_cells_count_is_known_in_halos_as_an_exchange_would_tell(boxes: Boxes, seed: int) -> None:
    counts = np.random.default_rng(seed).random(sum(map(math.prod, boxes.domain.blocks))) < 0.5
    order = np.flatnonzero(counts)
    some = Boxes(boxes.domain, dict(zip(boxes.domain.axes, boxes.halo, strict=True)), boxes.dims, order)
    for box, array in zip(some, filled(boxes), strict=True):
        for mirror in box.mirrors:
            array[mirror.target] = array[mirror.source]
        assert (box.active == np.where(array != 0, counts[abs(array) - 1], False)).all()
        assert (order[box.cells] == np.sort(abs(array[box.own][box.active[box.own]]) - 1)).all()


def test_two_blocks_of_different_shape_are_joined_turned_round() -> None:
    """The right face of a block of 2 x 3 cells lies along the lower face of one of 4 x 2 cells, reversed."""
    join = {Face(0, 1, "high"): Join(Face(1, 0, "low"), (1, 0), (True, False))}
    left, above = filled(Boxes(Domain.joined(("y", "x"), [(2, 3), (4, 2)], join), {"y": 1, "x": 1}, [(1, 1), (1, 1)]))
    assert left.tolist() == [[0, 0, 0, 0, 0], [0, 1, 2, 3, 8], [0, 4, 5, 6, 7], [0, 0, 0, 0, 0]]
    assert above[0].tolist() == [0, 6, 3, 0]


@pytest.mark.parametrize(
    ("joins", "words"),
    [
        ({Face(0, 1, "high"): Join(Face(1, 1, "low"), (0, 1), (False, True))}, "axis 1 must become axis 1, not flipped"),
        ({Face(0, 1, "high"): Join(Face(1, 1, "high"), (0, 1), (False, False))}, "axis 1 must become axis 1, flipped"),
        ({Face(0, 1, "high"): Join(Face(1, 0, "low"), (0, 1), (False, False))}, "axis 1 must become axis 0"),
        ({Face(0, 1, "high"): Join(Face(1, 0, "low"), (1, 0), (False, False))}, "has 2 cells along axis 0, .* has 3 along axis 1"),
        (
            {
                Face(0, 1, "high"): Join(Face(1, 1, "low"), (0, 1), (False, False)),
                Face(0, 1, "low"): Join(Face(1, 1, "low"), (0, 1), (False, True)),
            },
            "The low face of axis 1 of block 1 is joined twice",
        ),
    ],
)
def test_joins_that_do_not_fit_are_explained(joins: dict[Face, Join], words: str) -> None:
    with pytest.raises(GridError, match=words):
        Domain.joined(("y", "x"), [(2, 3), (2, 3)], joins)


def test_axes_that_are_joined_need_halos_of_one_width() -> None:
    domain = Domain.joined(("y", "x"), [(3, 3)], {Face(0, 1, "high"): Join(Face(0, 0, "low"), (1, 0), (False, False))})
    with pytest.raises(GridError, match=r"halos of one width, those of block 0 have \(1, 2\)"):
        Boxes(domain, {"y": 1, "x": 2}, [(1, 1)])
