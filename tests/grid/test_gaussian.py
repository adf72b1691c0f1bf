import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steppe.errors import GridError
from steppe.grid import Gaussian, Partition, Raster, as_plain, from_plain, window_of
from steppe.grid.earth import AUTHALIC_RADIUS

LATITUDES = (2, 4, 32, 64, 256, 512)
SPHERE = 4.0 * np.pi * AUTHALIC_RADIUS**2


@pytest.mark.parametrize("n", LATITUDES)
def test_its_latitudes_are_zeros_of_a_legendre_polynomial_and_fall(n: int) -> None:
    grid = Gaussian(n)
    assert grid.active.shape == (n, 2 * n)
    sines = np.sin(np.deg2rad(grid.lat))
    polynomial = np.polynomial.legendre.Legendre.basis(n)
    slope = polynomial.deriv()(sines)
    assert np.abs(polynomial(sines) / slope).max() < 1e-11  # how far off the root: latitudes have ten decimals
    assert (np.diff(grid.lat) < 0.0).all()
    np.testing.assert_array_equal(grid.lat, -grid.lat[::-1])
    np.testing.assert_allclose(grid.lon, 180.0 / n * np.arange(2 * n), rtol=1e-12)


def test_the_latitudes_of_t42_are_the_published_ones() -> None:
    # as history files of spectral models at T42 have them, to four decimals
    np.testing.assert_array_equal(np.round(Gaussian(64).lat[[0, 1, 31]], 4), [87.8638, 85.0965, 1.3953])


@pytest.mark.parametrize("n", LATITUDES)
def test_areas_are_the_weights_and_make_up_the_sphere(n: int) -> None:
    grid = Gaussian(n)
    _, weights = np.polynomial.legendre.leggauss(n)
    areas = grid.unpack(grid.cell_area)
    np.testing.assert_allclose(areas[:, 0], weights * 2.0 * np.pi * AUTHALIC_RADIUS**2 / (2 * n), rtol=1e-13)
    assert (areas == areas[:, :1]).all()
    assert grid.cell_area.sum() == pytest.approx(SPHERE, rel=1e-12)


@pytest.mark.parametrize("n", LATITUDES)
def test_means_over_it_integrate_polynomials_of_the_sine_exactly(n: int) -> None:
    grid = Gaussian(n)
    sines = np.sin(np.deg2rad(grid.cell_lat))
    for degree in (2, min(2 * n - 2, 24)):
        assert np.average(sines**degree, weights=grid.cell_area) == pytest.approx(1.0 / (degree + 1), rel=1e-11)


@pytest.mark.parametrize("n", LATITUDES)
def test_edges_of_rows_lie_where_the_summed_weights_say(n: int) -> None:
    grid = Gaussian(n)
    north, south = np.sin(np.deg2rad(grid.lat_bnds)).T
    _, weights = np.polynomial.legendre.leggauss(n)
    np.testing.assert_allclose(north - south, weights, atol=1e-11)
    np.testing.assert_array_equal(north[1:], south[:-1])
    assert grid.lat_bnds[0, 0] == 90.0
    assert grid.lat_bnds[-1, 1] == -90.0
    assert grid.lat_bnds[n // 2, 0] == 0.0
    assert ((grid.lat < grid.lat_bnds[:, 0]) & (grid.lat > grid.lat_bnds[:, 1])).all()


@pytest.mark.parametrize("n", LATITUDES)
def test_even_rows_are_off_by_less_than_0_014_of_a_row(n: int) -> None:
    grid = Gaussian(n)
    even = grid.lat0 + grid.dlat * np.arange(n)
    assert np.abs(grid.lat - even).max() < -0.014 * grid.dlat


@given(st.sampled_from(LATITUDES), st.floats(-90.0, 90.0), st.floats(-180.0, 360.0))
def test_a_place_is_found_in_the_row_between_whose_edges_it_lies(n: int, latitude: float, longitude: float) -> None:
    grid = Gaussian(n)
    row, column = np.divmod(grid.order[grid.locate(longitude, latitude)], 2 * n)
    north, south = grid.lat_bnds[row]
    assert south <= latitude <= north
    assert abs((grid.lon[column] - longitude + 180.0) % 360.0 - 180.0) <= 90.0 / n + 1e-9


def test_every_cell_is_found_from_its_centre_and_an_edge_belongs_to_the_row_south_of_it() -> None:
    grid = Gaussian(8)
    assert [grid.locate(x, y) for x, y in zip(grid.cell_lon, grid.cell_lat, strict=True)] == list(range(128))
    edge = float(grid.lat_bnds[2, 1])
    assert grid.locate(0.0, edge) == grid.locate(0.0, float(grid.lat[3]))
    assert grid.locate(0.0, -90.0) == grid.locate(0.0, float(grid.lat[7]))


def test_regions_select_by_latitudes_of_the_quadrature() -> None:
    grid = Gaussian(64)
    found = grid.select({"box": [-10.0, 85.0, 10.0, 90.0]})
    assert sorted(set(grid.cell_lat[found].tolist())) == grid.lat[[1, 0]].tolist()
    assert window_of(grid, found).bounds[1::2] == (float(grid.lat_bnds[1, 1]), 90.0)


def test_it_is_cut_into_boxes_that_are_periodic_along_a_row() -> None:
    box = Partition.boxes(Gaussian(8), 2, {"y": 1, "x": 1}, {"y": "pole"})[0]
    assert box.n_cells == 64
    assert any(piece.parity == -1 for piece in box.receives)


def test_it_comes_back_from_plain_words_and_another_grid_is_another() -> None:
    mask = np.random.default_rng(1).random((8, 16)) < 0.5
    for grid in (Gaussian(8), Gaussian(8, mask), Gaussian(8, mask, 11.25)):
        again = from_plain(as_plain(grid))
        assert type(again) is Gaussian
        assert again == grid
        np.testing.assert_array_equal(again.cell_area, grid.cell_area)
    assert Gaussian(8) != Gaussian(8, mask) != Gaussian(8, mask, 11.25)
    assert Gaussian(8) != Raster(Gaussian(8).lat0, Gaussian(8).dlat, 0.0, 22.5, np.ones((8, 16), bool))
    assert Gaussian(64).digest == "46eb89263fc8b90ecc40ba61b41c615adc4acb8a22886531636cdcd1ea184d6e"


@pytest.mark.parametrize("n", [-2, 0, 1, 63, 514])
def test_other_numbers_of_latitudes_are_refused(n: int) -> None:
    with pytest.raises(GridError, match=f"even number of latitudes from 2 to 512, not {n}"):
        Gaussian(n)


def test_a_mask_of_another_shape_is_refused() -> None:
    with pytest.raises(GridError, match=r"must have the shape \(8, 16\), it has \(8, 8\)"):
        Gaussian(8, np.ones((8, 8), bool))
