import csv
import gzip

import numpy as np
import pytest

from steppe.errors import GridError
from steppe.grid import BUILTIN, builtin_grid, read_grid, region_names
from tests.shared import shared_path


def test_queensland_has_the_geometry_of_the_published_grid() -> None:
    grid = builtin_grid("queensland")
    assert grid.shape == {"lat": 186, "lon": 156}
    assert (grid.lat_bnds[0, 0], grid.lat_bnds[-1, 1], grid.lon_bnds[0, 0], grid.lon_bnds[-1, 1]) == (-10.6, -29.2, 138.0, 153.6)
    assert f"{grid.n_cells:,} cells" in BUILTIN["queensland"]
    assert grid.digest == "91a3452e42521e4529c1309b339afaacc1ce96246d083d2036e7789106a72b79"


def test_queensland_has_its_published_area() -> None:
    # Geoscience Australia, Area of Australia: 1 723 030 km2 of mainland, 1 729 742 km2 with islands; half cells make 0.5 %
    assert builtin_grid("queensland").cell_area.sum() / 1e6 == pytest.approx(1_729_742, rel=0.005)


def test_queensland_differs_from_the_land_mask_of_250_metres_in_few_cells() -> None:
    with gzip.open(shared_path("data/weather/queensland_grid/queensland_0p1deg.csv.gz"), "rt") as file:
        reference = np.array([row["in_queensland"] == "1" for row in csv.DictReader(file)]).reshape(186, 156)
    assert np.count_nonzero(builtin_grid("queensland").active != reference) <= 40


@pytest.mark.parametrize(
    ("town", "longitude", "latitude", "inside"),
    [
        ("Longreach", 144.25, -23.44, True),
        ("Birdsville", 139.35, -25.90, True),
        ("Goondiwindi", 150.31, -28.54, True),
        ("Coen", 143.21, -13.94, True),
        ("Innamincka, South Australia", 140.74, -27.75, False),
        ("Moree, New South Wales", 149.84, -29.10, False),
        ("Tagula Island, Papua New Guinea", 153.45, -11.50, False),
    ],
)
def test_a_town_is_on_its_side_of_the_border(town: str, longitude: float, latitude: float, inside: bool) -> None:
    grid = builtin_grid("queensland")
    if inside:
        cell = grid.locate(longitude, latitude)
        assert abs(grid.cell_lon[cell] - longitude) <= 0.05
    else:
        with pytest.raises(GridError, match="in the sea or outside the mask"):
            grid.locate(longitude, latitude)


def test_australia_lies_on_the_points_of_silo() -> None:
    grid = builtin_grid("australia")
    assert grid.shape == {"lat": 681, "lon": 841}
    assert (grid.lat[0], grid.lat[-1], grid.lon[0], grid.lon[-1]) == (-10.0, -44.0, 112.0, 154.0)
    assert f"{grid.n_cells:,} cells" in BUILTIN["australia"]
    # Geoscience Australia, Area of Australia: 7 688 287 km2 with islands
    assert grid.cell_area.sum() / 1e6 == pytest.approx(7_688_287, rel=0.005)


@pytest.mark.parametrize(
    ("place", "longitude", "latitude", "inside"),
    [
        ("Perth", 115.86, -31.95, True),
        ("Darwin", 130.87, -12.44, True),
        ("Hobart", 147.29, -42.87, True),
        ("Thursday Island's neighbour, Horn", 142.29, -10.6, True),
        ("Kupang, Indonesia", 123.6, -10.17, False),
        ("Tagula Island, Papua New Guinea", 153.45, -11.50, False),
        ("Bass Strait", 146.0, -39.8, False),
    ],
)
def test_a_place_is_in_australia_or_not(place: str, longitude: float, latitude: float, inside: bool) -> None:
    grid = builtin_grid("australia")
    if inside:
        assert abs(grid.cell_lon[grid.locate(longitude, latitude)] - longitude) <= 0.026
    else:
        with pytest.raises(GridError, match="in the sea or outside the mask"):
            grid.locate(longitude, latitude)


def test_every_named_region_holds_a_part_of_queensland() -> None:
    grid = builtin_grid("queensland")
    for name, meaning in region_names().items():
        assert meaning
        assert 300 < grid.select(name).size < grid.n_cells / 2


def test_an_unknown_region_is_answered_with_the_nearest_name() -> None:
    with pytest.raises(GridError, match='Did you mean "queensland"'):
        read_grid(region="queenland")
