import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from steppe.client.run_places import _columns
from steppe.errors import GridError
from steppe.grid import Partition, Raster, as_plain, from_plain, pixels_of, window_of

masks = arrays(bool, st.tuples(st.integers(1, 9), st.integers(1, 150))).filter(np.any)


def raster(mask: np.ndarray) -> Raster:
    return Raster(-10.05, -0.1, 138.05, 0.1, mask)


@given(masks)
def test_the_order_visits_each_active_cell_once_strip_by_strip_and_row_by_row(mask: np.ndarray) -> None:
    grid = raster(mask)
    row, column = np.divmod(grid.order, grid.nlon)
    assert sorted(grid.order.tolist()) == np.flatnonzero(mask).tolist()
    keys = list(zip((column // 64).tolist(), row.tolist(), column.tolist(), strict=True))
    assert keys == sorted(keys)


@given(masks)
def test_unpacking_puts_each_value_in_its_place(mask: np.ndarray) -> None:
    grid = raster(mask)
    maps = grid.unpack(np.stack([grid.cell_lat, grid.cell_lon]))
    assert (np.isfinite(maps[0]) == mask).all()
    assert (maps[0][mask] == np.broadcast_to(grid.lat[:, None], mask.shape)[mask]).all()
    assert (maps[1][mask] == np.broadcast_to(grid.lon, mask.shape)[mask]).all()


def test_unpacking_keeps_the_dtype_where_it_can_hold_the_fill_value() -> None:
    grid = raster(np.array([[True, False]]))
    assert grid.unpack(np.ones(1, dtype=np.float32)).dtype == np.float32
    assert grid.unpack(np.ones(1, dtype=np.int16)).dtype == np.float64
    packed = grid.unpack(np.ones((2, 1), dtype=np.int16), fill=-1)
    assert packed.dtype == np.int16
    assert packed.tolist() == [[[1, -1]], [[1, -1]]]


@given(masks)
def test_each_active_cell_is_found_from_its_centre_by_any_turn_of_the_circle(mask: np.ndarray) -> None:
    grid = raster(mask)
    for cell in {0, grid.n_cells // 2, grid.n_cells - 1}:
        assert grid.locate(grid.cell_lon[cell], grid.cell_lat[cell]) == cell
        assert grid.locate(grid.cell_lon[cell] - 360.0, grid.cell_lat[cell]) == cell


def test_a_place_on_an_edge_belongs_to_the_cell_south_or_east_of_it() -> None:
    grid = raster(np.ones((3, 3), dtype=bool))
    assert grid.locate(138.1, -10.1) == 4
    assert grid.locate(138.0, -10.0) == 0
    with pytest.raises(GridError, match="outside the grid"):
        grid.locate(138.3, -10.1)


@pytest.mark.parametrize("first", [90.0, 89.5])
def test_the_poles_belong_to_the_rows_beside_them(first: float) -> None:
    rows = 181 if first == 90.0 else 180
    grid = Raster(first, -1.0, -179.5, 1.0, np.ones((rows, 360), bool))
    assert grid.order[[grid.locate(0.5, 90.0), grid.locate(0.5, -90.0)]].tolist() == [180, (rows - 1) * 360 + 180]
    with pytest.raises(GridError, match="outside the grid"):
        Raster(0.0, -1.0, 0.0, 1.0, np.ones((90, 2), bool)).locate(0.0, -90.0)


def test_a_place_without_a_cell_is_answered_with_the_nearest_one() -> None:
    grid = raster(np.array([[True, False, False]]))
    with pytest.raises(GridError) as error:
        grid.locate(138.25, -10.05)
    assert str(error.value) == (
        "The cell at longitude 138.25, latitude -10.05 is in the sea or outside the mask. "
        "The nearest active cell is at longitude 138.05, latitude -10.05, 22 km away."
    )
    with pytest.raises(GridError, match="is outside the grid"):
        grid.locate(150.0, -50.0)


def test_regions_select_packed_cells_by_their_centres() -> None:
    grid = raster(np.ones((4, 70), dtype=bool))
    assert grid.select("all").tolist() == list(range(280))
    assert grid.select({"cell": [138.05, -10.15]}).tolist() == [64]
    found = grid.select({"box": [144.4, -10.2, 144.7, -10.0]})
    assert found.tolist() == [256, 257, 258, 262, 263, 264]
    assert (grid.cell_lon[found] > 144.4).all()
    with pytest.raises(GridError, match="holds the centre of no active cell"):
        grid.select({"box": [0.0, 0.0, 1.0, 1.0]})


def test_areas_add_up_to_the_area_of_the_box_on_the_ellipsoid() -> None:
    one = Raster(-15.0, -10.0, 140.0, 10.0, np.ones((1, 1), dtype=bool))
    many = Raster(-10.05, -0.1, 135.05, 0.1, np.ones((100, 100), dtype=bool))
    assert many.cell_area.sum() == pytest.approx(one.cell_area.sum(), rel=1e-12)
    assert many.cell_area[0] > many.cell_area[-1]


def test_rows_on_the_poles_end_there_and_make_up_the_earth_with_the_others() -> None:
    grid = Raster(90.0, -7.5, 0.0, 7.5, np.ones((25, 48), dtype=bool))
    beside = Raster(86.25, -7.5, 0.0, 7.5, np.ones((24, 48), dtype=bool))
    assert grid.lat_bnds[[0, -1]].tolist() == [[90.0, 86.25], [-86.25, -90.0]]
    assert grid.cell_area.sum() == pytest.approx(beside.cell_area.sum(), rel=1e-12)
    for cell in (0, 47, grid.n_cells - 1):
        assert grid.locate(grid.cell_lon[cell], grid.cell_lat[cell]) == cell
    assert from_plain(json.loads(json.dumps(as_plain(grid)))) == grid
    assert window_of(grid).bounds == (-3.75, -93.75, 356.25, 93.75)  # of a picture, whose rows are all as high


def test_halos_beyond_poles_are_refused_where_rows_lie_on_them() -> None:
    grid = Raster(90.0, -7.5, 0.0, 7.5, np.ones((25, 48), dtype=bool))
    with pytest.raises(GridError, match="a row on a pole, at latitude 90, and the model's halos go beyond"):
        Partition.boxes(grid, 2, {"y": 1, "x": 1}, {"y": ("pole", "wall")})


def test_coordinates_are_free_of_the_noise_of_addition() -> None:
    grid = raster(np.ones((186, 156), dtype=bool))
    coordinates = grid.coordinates()
    assert set(coordinates) == {"lat", "lon", "lat_bnds", "lon_bnds", "cell_lat", "cell_lon", "cell_area"}
    assert (coordinates["lat"] == np.array([float(f"{-10.05 - 0.1 * i:.2f}") for i in range(186)])).all()
    assert (coordinates["lon_bnds"][1:, 0] == coordinates["lon_bnds"][:-1, 1]).all()
    assert (coordinates["lat_bnds"][:, 0] > coordinates["lat_bnds"][:, 1]).all()


def test_the_digest_tells_mask_and_geometry_apart_and_nothing_else() -> None:
    mask = np.array([[True, False], [True, True]])
    same = Raster(-10.05 + 1e-13, -0.1, 138.05, 0.1, mask.copy())
    assert same == raster(mask)
    assert hash(same) == hash(raster(mask))
    others = [raster(~mask), raster(mask.T), raster(mask.reshape(1, 4)), Raster(-10.05, -0.1, 138.15, 0.1, mask)]
    assert len({grid.digest for grid in (same, *others)}) == 5
    assert same.digest == "8c31133307943ea37ed54be1578547fc9138fba119e9733b12babfbf015f2954"
    at_greenwich = [Raster(lat0, -0.1, lon0, 0.1, mask) for lat0, lon0 in ((0.0, 0.0), (-0.0, -1e-12))]
    np.testing.assert_array_equal(at_greenwich[0].lon, at_greenwich[1].lon)
    assert at_greenwich[0] == at_greenwich[1]


def test_the_mask_cannot_be_changed_behind_the_grid() -> None:
    mask = np.ones((2, 2), dtype=bool)
    grid = raster(mask)
    mask[0, 0] = False
    assert grid.n_cells == 4
    with pytest.raises(ValueError, match="read-only"):
        grid.active[0, 0] = False


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((-10.0, 0.1, 138.0, 0.1, np.ones((2, 2), bool)), "row 0 in the north"),
        ((-89.0, -1.0, 138.0, 0.1, np.ones((3, 2), bool)), "over a pole"),
        ((90.5, -1.0, 138.0, 0.1, np.ones((3, 2), bool)), "over a pole"),
        ((0.0, -1.0, 0.0, 1.0, np.ones((1, 361), bool)), "more than once round"),
        ((0.0, -1.0, 0.0, 1.0, np.zeros((2, 2), bool)), "No cell"),
        ((0.0, -1.0, 0.0, 1.0, np.ones((2, 2))), "must be boolean"),
    ],
)
def test_a_raster_that_cannot_be_is_explained(arguments: tuple, words: str) -> None:
    with pytest.raises(GridError, match=words):
        Raster(*arguments)


def test_a_cell_belongs_to_the_pixel_in_which_its_centre_lies() -> None:
    of = pixels_of(np.arange(96), 96, 10)
    assert of[[28, 29, 37, 38]].tolist() == [2, 3, 3, 4]  # the edges of pixel 3 are 28.8 and 38.4
    assert np.bincount(of).tolist() == [10, 9, 10, 9, 10, 10, 9, 10, 9, 10]
    assert pixels_of(np.arange(96), 96, 12).tolist() == (np.arange(96) // 8).tolist()


@pytest.mark.parametrize(
    ("first", "box", "columns", "longitudes"),
    [
        (0.0, [-40, -90, 40, 90], [11, 0, 1], [-30, 0, 30]),
        (0.0, [-180, -90, 180, 90], [*range(12)], [*range(0, 360, 30)]),  # no fewer than in the order of the grid
        (0.0, [-100, -90, -20, 90], [9, 10, 11], [270, 300, 330]),  # within the grid its own longitudes
        (-180.0, [170, -90, -140, 90], [0, 1], [-180, -150]),
        (-180.0, [140, -90, -140, 90], [11, 0, 1], [150, 180, 210]),
        (-180.0, [130, -90, 200, 90], [11, 0], [150, 180]),
    ],
)
def test_the_window_of_a_box_goes_on_round_the_earth(first: float, box: list[float], columns: list[int], longitudes: list[float]) -> None:
    grid = Raster(60.0, -60.0, first, 30.0, np.ones((3, 12), bool))
    window = window_of(grid, grid.select({"box": box}), box=box)
    assert [column % 12 for column in window.columns] == columns
    assert window.longitudes(grid.lon).tolist() == longitudes
    assert window.bounds[::2] == (longitudes[0] - 15.0, longitudes[-1] + 15.0)


@given(st.integers(-1799, 1799), st.integers(1, 1800))
def test_the_window_of_a_box_goes_from_edge_to_edge_and_the_client_agrees(west: int, wide: int) -> None:
    grid = Raster(0.0, -0.1, -180.0, 0.1, np.ones((1, 3600), bool))
    box = [west / 10.0, -1.0, (west + wide) / 10.0, 1.0]
    cells = grid.select({"box": box})
    assert cells.size == wide + 1
    window = window_of(grid, cells, box=box)
    _, longitudes = _columns(grid.order[cells], grid.lon, box)
    np.testing.assert_allclose(window.longitudes(grid.lon), longitudes, atol=1e-9)
    if west + wide >= 1800:  # beyond the last column
        np.testing.assert_allclose(longitudes[[0, -1]], box[::2], atol=1e-9)


def test_the_window_of_a_part_of_the_earth_has_the_columns_between_its_cells() -> None:
    grid = Raster(60.0, -60.0, 0.0, 30.0, np.ones((3, 11), bool))
    window = window_of(grid, grid.select({"box": [-70, -90, 40, 90]}), box=[-70, -90, 40, 90])
    assert window.longitudes(grid.lon).tolist() == [*range(0, 330, 30)]
