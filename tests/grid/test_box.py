from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steppe.errors import GridError
from steppe.grid import Box, Edge, Partition, Raster


@st.composite
def boxes(draw: st.DrawFn) -> tuple[Box, tuple[Edge, ...]]:
    axes = ("z", "y", "x")[: draw(st.integers(1, 3))]
    shape = {axis: draw(st.integers(1, 6)) for axis in axes}
    halo = {axis: draw(st.integers(0, min(2, shape[axis]))) for axis in axes}
    edges: dict[str, Edge] = {axis: draw(st.sampled_from(("wall", "periodic"))) for axis in axes}
    return Box.whole(shape, halo, edges, np.arange(int(np.prod(list(shape.values()))))), tuple(edges.values())


@given(boxes())
def test_interior_and_rims_are_disjoint_and_make_up_the_own_cells(drawn: tuple[Box, tuple[Edge, ...]]) -> None:
    box, _ = drawn
    visits = np.zeros(box.local, dtype=int)
    for part in (box.interior, *box.rims):
        visits[part] += 1
    own = np.zeros(box.local, dtype=int)
    own[box.own] = 1
    assert (visits == own).all()


@given(boxes())
def test_no_cell_of_the_interior_is_reached_from_the_halo(drawn: tuple[Box, tuple[Edge, ...]]) -> None:
    box, _ = drawn
    for inner, own, width in zip(box.interior, box.own, box.halo, strict=True):
        assert inner.start - width >= own.start
        assert inner.stop <= inner.start or inner.stop + width <= own.stop


@given(boxes())
def test_pieces_and_mirrors_fill_the_whole_halo_as_a_brute_force_does(drawn: tuple[Box, tuple[Edge, ...]]) -> None:
    box, edges = drawn
    field = np.full(box.local, -1)
    field[box.own] = np.arange(box.n_cells).reshape(box.shape)
    for piece in box.pieces:
        assert piece.peer == 0
        field[piece.target] = field[piece.source]
    for mirror in box.mirrors:
        field[mirror.target] = field[mirror.source]
    expected = np.empty(box.local, dtype=int)
    for place in product(*map(range, box.local)):
        source = []
        for at, width, length, edge in zip(place, box.halo, box.shape, edges, strict=True):
            i = at - width
            if edge == "periodic":
                i %= length
            elif i < 0:
                i = -1 - i
            elif i >= length:
                i = 2 * length - 1 - i
            source.append(i)
        expected[place] = np.ravel_multi_index(source, box.shape)
    assert (field == expected).all()


def test_packing_a_box_follows_the_order_of_the_grid_and_unpacking_undoes_it() -> None:
    grid = Raster(0.0, -1.0, 0.0, 1.0, np.ones((3, 70), dtype=bool))
    (box,) = Partition.boxes(grid, 1, {"y": 1, "x": 1})
    values = np.arange(2 * 210).reshape(2, 3, 70)
    packed = box.pack(values)
    assert (packed[0] == grid.order).all()
    assert (box.unpack(packed) == values).all()
    assert (box.unpack(packed) == grid.unpack(packed, fill=-1)).all()


def test_columns_that_go_round_the_earth_are_periodic_and_rows_are_walls() -> None:
    (around,) = Partition.boxes(Raster(85.0, -10.0, 5.0, 10.0, np.ones((18, 36), dtype=bool)), 1, {"y": 1, "x": 1})
    assert [piece.target[1] for piece in around.pieces] == [slice(0, 1), slice(37, 38)]
    assert len(around.mirrors) == 2
    (part,) = Partition.boxes(Raster(85.0, -10.0, 5.0, 10.0, np.ones((18, 35), dtype=bool)), 1, {"y": 1, "x": 1})
    assert not part.pieces
    assert len(part.mirrors) == 4


def test_edges_and_halos_that_cannot_be_are_explained() -> None:
    grid = Raster(0.0, -1.0, 0.0, 1.0, np.ones((2, 5), dtype=bool))
    with pytest.raises(GridError, match='"open" of axis "y" is not known'):
        Partition.boxes(grid, 1, {"y": 1, "x": 1}, {"y": "open"})  # type: ignore[dict-item]
    with pytest.raises(GridError, match='Axis "y" of 2 cells is too short for a halo of 3'):
        Partition.boxes(grid, 1, {"y": 3, "x": 1})
