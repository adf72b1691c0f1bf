import numpy as np
import pytest

from steppe.grid.earth import band_areas, distances


def test_the_whole_ellipsoid_has_its_published_surface() -> None:
    # Moritz (2000), Geodetic Reference System 1980 gives R2 = 6 371 007.181 m for the same figure: 4 pi R2^2
    assert band_areas(np.array([[90.0, -90.0]]))[0] * 360.0 == pytest.approx(4.0 * np.pi * 6_371_007.181**2, rel=1e-9)


@pytest.mark.parametrize(
    ("south", "north", "area"),
    [(0.0, 1.0, 12308463894.0), (-29.2, -29.1, 1078432682.64), (60.0, 61.0, 6123140878.75), (89.0, 90.0, 108866681.636)],
)
def test_a_single_band_has_the_area_of_an_independent_quadrature(south: float, north: float, area: float) -> None:
    # A sphere of the same surface is off by +0.45, +0.13, -0.57 and -0.89 %.
    assert band_areas(np.array([[south, north]]))[0] == pytest.approx(area, rel=1e-10)


def test_bands_add_up_whatever_their_direction() -> None:
    edges = np.linspace(-90.0, 90.0, 37)
    northward = band_areas(np.stack([edges[:-1], edges[1:]], axis=1))
    southward = band_areas(np.stack([edges[1:], edges[:-1]], axis=1))
    assert (northward == southward).all()
    assert northward.sum() == pytest.approx(band_areas(np.array([[-90.0, 90.0]]))[0], rel=1e-13)


def test_a_quarter_of_a_meridian_and_a_step_over_the_date_line_have_their_length() -> None:
    quarter = np.pi / 2.0 * 6_371_007.181
    assert distances(30.0, 0.0, np.array([30.0]), np.array([90.0]))[0] == pytest.approx(quarter, rel=1e-13)
    assert distances(179.5, 0.0, np.array([-179.5]), np.array([0.0]))[0] == pytest.approx(quarter / 90.0, rel=1e-10)
    assert distances(10.0, 20.0, np.array([10.0]), np.array([20.0]))[0] == 0.0
