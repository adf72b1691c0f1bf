import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steppe.errors import GridError
from steppe.grid import Box, Boxes, Domain, Edge, Partition, Raster
from tests.grid.halos import looked_up


@st.composite
def boxes(draw: st.DrawFn) -> Box:
    axes = ("z", "y", "x")[: draw(st.integers(1, 3))]
    shape = {axis: draw(st.integers(1, 6)) for axis in axes}
    halo = {axis: draw(st.integers(0, min(2, shape[axis]))) for axis in axes}
    return Boxes(Domain.of(shape, {}), halo, [(1,) * len(axes)])[0]


@given(boxes())
def test_interior_and_rims_are_disjoint_and_make_up_the_own_cells(box: Box) -> None:
    visits = np.zeros(box.local, dtype=int)
    for part in (box.interior, *box.rims):
        visits[part] += 1
    own = np.zeros(box.local, dtype=int)
    own[box.own] = 1
    assert (visits == own).all()


@given(boxes())
def test_no_cell_of_the_interior_is_reached_from_the_halo(box: Box) -> None:
    for inner, own, width in zip(box.interior, box.own, box.halo, strict=True):
        assert inner.start - width >= own.start
        assert inner.stop <= inner.start or inner.stop + width <= own.stop


@given(boxes())
def test_mirrors_fill_the_halos_of_a_box_with_walls_corners_too(box: Box) -> None:
    field = np.full(box.local, -1)
    field[box.own] = np.arange(box.n_cells).reshape(box.shape)
    expected = np.pad(field[box.own], [(width, width) for width in box.halo], mode="symmetric")
    for mirror in box.mirrors:
        field[mirror.target] = field[mirror.source]
    assert (field == expected).all()


def test_packing_a_box_follows_the_order_of_the_grid_and_unpacking_undoes_it() -> None:
    grid = Raster(0.0, -1.0, 0.0, 1.0, np.ones((3, 70), dtype=bool))
    (box,) = Partition.boxes(grid, 1, {"y": 1, "x": 1})
    values = np.arange(2 * 210).reshape(2, 3, 70)
    packed = box.pack(values)
    assert (packed[0] == grid.order).all()
    assert (box.unpack(packed) == values).all()
    assert (box.unpack(packed) == grid.unpack(packed, fill=-1)).all()


@given(st.integers(1, 6), st.integers(1, 150), st.integers(1, 6), st.booleans())
def test_a_box_is_packed_into_an_array_of_another_dtype_on_any_grid(rows: int, columns: int, ranks: int, holes: bool) -> None:
    mask = np.ones((rows, columns), dtype=bool)
    mask[0, :: 3 if holes else columns + 1] = False
    mask[0, 0] = True
    try:
        boxes = Partition.boxes(Raster(9.0, -0.1, 100.0, 0.1, mask), ranks, {"y": 1, "x": 1})
    except GridError:
        return  # too many ranks for so few cells
    for box in boxes:
        values = np.random.default_rng(1).random((2, *box.local), np.float32)[..., 1:-1, 1:-1]
        expected = values.reshape(2, -1)[:, box.order]
        room = np.full((3, 2, box.n_cells), np.nan)
        into = room[1]
        assert box.pack(values, into) is into
        assert (room[1] == expected).all()
        assert np.isnan(room[::2]).all()
        assert (box.pack(values) == expected).all()
        assert not np.shares_memory(box.pack(values), values)


@given(st.integers(1, 9), st.integers(1, 200), st.integers(1, 12))
def test_own_cells_of_all_ranks_are_each_packed_cell_once_and_put_together_the_whole(rows: int, columns: int, ranks: int) -> None:
    grid = Raster(9.0, -0.1, 100.0, 0.1, np.ones((rows, columns), dtype=bool))
    try:
        boxes = Partition.boxes(grid, ranks, {"y": 1, "x": 1})
    except GridError:
        assert ranks > 1
        return
    packed = np.random.default_rng(rows).random((2, grid.n_cells))
    whole = grid.unpack(packed)
    gathered, times = np.zeros_like(packed), np.zeros(grid.n_cells, dtype=int)
    for box in boxes:
        (y, x), (ny, nx) = box.origin, box.shape
        own = whole[:, y : y + ny, x : x + nx]
        assert (np.diff(box.cells) > 0).all()
        assert (box.pack(own) == packed[:, box.cells]).all()
        assert (box.unpack(packed[:, box.cells]) == own).all()
        gathered[:, box.cells] = box.pack(own)
        times[box.cells] += 1
        assert (boxes.cells(box.rank) == box.cells).all()
    assert (times == 1).all()
    assert (gathered == packed).all()


def test_columns_that_go_round_the_earth_are_periodic_and_rows_are_walls() -> None:
    (around,) = Partition.boxes(Raster(85.0, -10.0, 5.0, 10.0, np.ones((18, 36), dtype=bool)), 1, {"y": 1, "x": 1})
    assert [piece.mine[1] for piece in around.receives] == [slice(0, 1), slice(37, 38)]
    assert [(mirror.axis, mirror.side) for mirror in around.mirrors] == [(0, "low"), (0, "high")]
    (part,) = Partition.boxes(Raster(85.0, -10.0, 5.0, 10.0, np.ones((18, 35), dtype=bool)), 1, {"y": 1, "x": 1})
    assert not part.receives
    assert len(part.mirrors) == 4


def test_what_cannot_be_a_box_is_explained() -> None:
    grid = Raster(0.0, -1.0, 0.0, 1.0, np.ones((2, 5), dtype=bool))
    with pytest.raises(GridError, match='"open" of axis "y" is not known'):
        Partition.boxes(grid, 1, {"y": 1, "x": 1}, {"y": "open"})  # type: ignore[dict-item]
    with pytest.raises(GridError, match="An axis of 2 cells is too short for a halo of 3"):
        Partition.boxes(grid, 1, {"y": 3, "x": 1})
    with pytest.raises(GridError, match="5 cells is too short for 3 boxes with a halo of 2"):
        Partition.boxes(grid, 3, {"y": 1, "x": 2}, dims={"y": 1, "x": 3})
    with pytest.raises(GridError, match="2 x 1 boxes were asked for 3 ranks"):
        Partition.boxes(grid, 3, {"y": 1, "x": 1}, dims={"y": 2, "x": 1})
    with pytest.raises(GridError, match="has two axes"):
        Partition.boxes(grid, 1, {"x": 1})


@given(st.integers(0, 1000), st.integers(1, 6), st.sampled_from(["wall", "periodic", "pole"]))
def test_of_a_grid_with_holes_boxes_cover_the_rectangle_and_hold_the_active_cells(seed: int, ranks: int, end: Edge) -> None:
    mask = np.random.default_rng(seed).random((8, 72)) < 0.4
    mask[:4, :36] = False  # some boxes have no cell
    mask[7, 71] = True
    grid = Raster(3.5, -1.0, -180.0, 5.0, mask)
    boxes = Partition.boxes(grid, ranks, {"y": 2, "x": 2}, {"y": end})
    packed = np.random.default_rng(seed).random((2, grid.n_cells))
    whole = grid.unpack(packed)
    ends: list[tuple[Edge, Edge]] = [(end, end), ("periodic", "periodic")]
    times = np.zeros(grid.n_cells, dtype=int)
    for box in boxes:
        (y, x), (ny, nx) = box.origin, box.shape
        own = whole[:, y : y + ny, x : x + nx]
        times[box.cells] += 1
        assert (boxes.cells(box.rank) == box.cells).all()
        assert (box.pack(own) == packed[:, box.cells]).all()
        assert np.array_equal(box.unpack(packed[:, box.cells]), own, equal_nan=True)
        assert box.unpack(np.arange(box.n_cells)).dtype.kind == "i"
        places = np.array([abs(looked_up(box, place, mask.shape, ends)) for place in np.ndindex(box.local)]).reshape(box.local)
        active = np.where(places > 0, mask.ravel()[places - 1], False)
        for mirror in box.mirrors:
            active[mirror.target] = active[mirror.source]
        assert (box.active == active).all()
        assert box.has_holes != box.active.all()
    assert (times == 1).all()
