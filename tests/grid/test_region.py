from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from steppe.errors import GridError
from steppe.grid import Region, region_names


def contains(region: Any, longitude: float, latitude: float) -> bool:
    return bool(Region.of(region).contains(np.array([longitude]), np.array([latitude]))[0])


def test_a_box_holds_its_edges_and_any_turn_of_the_circle() -> None:
    box = {"box": [170.0, -20.0, 190.0, -10.0]}
    assert contains(box, 170.0, -20.0)
    assert contains(box, -175.0, -15.0)
    assert not contains(box, -165.0, -15.0)
    assert not contains(box, 180.0, -9.0)


@given(st.integers(-1800, 1800), st.integers(1, 3600))
@example(-1281, 2896)
def test_a_box_holds_its_edges_whatever_their_decimals(west: int, wide: int) -> None:
    east = min(west + wide, 3600, west + 3598)  # one place is left outside
    box = {"box": [west / 10.0, -1.0, east / 10.0, 1.0]}
    assert contains(box, west / 10.0, 1.0)
    assert contains(box, east / 10.0, -1.0)
    assert not contains(box, (east + 1) / 10.0, 0.0)


def test_a_polygon_with_a_bay_holds_what_an_independent_test_says() -> None:
    from matplotlib.path import Path as Outline

    corners = [[140.0, -20.0], [150.0, -20.0], [150.0, -10.0], [145.0, -17.0], [140.0, -10.0]]
    places = np.random.default_rng(3).uniform((138.0, -22.0), (152.0, -8.0), (2_000, 2))
    found = Region.of({"polygon": corners}).contains(places[:, 0], places[:, 1])
    assert (found == Outline(corners).contains_points(places)).all()
    assert 0 < found.sum() < found.size


def test_a_name_is_the_box_behind_it() -> None:
    assert "west" in region_names()
    assert contains("west", 139.0, -20.0)
    assert not contains("west", 142.0, -20.0)


@pytest.mark.parametrize(
    ("region", "words"),
    [
        ("wset", 'Did you mean "west"'),
        ({"bix": [1, 2, 3, 4]}, 'Did you mean "box"'),
        ({"box": [150.0, -20.0, 140.5, -10.0]}, "The box 150, -20, 140.5, -10 is empty: west must be less than east"),
        ({"polygon": [[170.0, -20.0], [-170.0, -20.0], [-170.0, -10.0], [170.0, -10.0]]}, "Over the date line write 190 for -170"),
        ({"polygon": [[350.0, -20.0], [10.0, -20.0], [10.0, -10.0], [350.0, -10.0]]}, "Over the date line write -10 for 350"),
        ({"box": [140.0, -20.0, 150.0]}, "needs 4 numbers"),
        ({"box": [140.0, -20.0, 150.0, float("nan")]}, "needs 4 numbers"),
        ({"cell": ["a", "b"]}, "needs 2 numbers"),
        ({"cell": [-27.0, 153.0]}, "longitude (-180 to 360) before latitude"),
        ({"polygon": [[140.0, -20.0], [150.0, -20.0]]}, "The polygon [140.0, -20.0], [150.0, -20.0] needs three corners"),
        ({"box": "west"}, "The box 'west' needs 4 numbers"),
        ({"box": [0, 0, 1, 1], "cell": [0, 0]}, "a name or one of"),
        (7, "a name or one of"),
    ],
)
def test_a_region_that_cannot_be_is_explained(region: Any, words: str) -> None:
    with pytest.raises(GridError) as error:
        Region.of(region).contains(np.array([0.0]), np.array([0.0]))
    assert words in str(error.value)


@pytest.mark.parametrize("region", ["all", {"cell": [141.0, -20.0]}])
def test_what_has_no_outline_is_left_to_the_grid(region: Any) -> None:
    with pytest.raises(GridError, match="no outline"):
        Region.of(region).contains(np.array([0.0]), np.array([0.0]))


@pytest.mark.parametrize(
    ("box", "same"),
    [([170, -20, -170, -10], [170, -20, 190, -10]), ([350, -20, 10, -10], [-10, -20, 10, -10]), ([180, 0, -90, 9], [180, 0, 270, 9])],
)
def test_a_box_goes_on_over_the_date_line_to_the_other_side_of_it(box: list[float], same: list[float]) -> None:
    region = Region.of({"box": box})
    assert region == Region.of({"box": same}) == Region.of({"box": [place for corner in region.places for place in corner]})
    longitudes = np.arange(-180.0, 361.0, 2.5)
    turned = np.mod(longitudes - same[0], 360.0)
    assert (region.contains(longitudes, np.full(longitudes.size, same[1] + 5.0)) == (turned <= same[2] - same[0])).all()


@pytest.mark.parametrize("pole", [-90.0, 90.0])
def test_a_polygon_that_goes_up_to_a_pole_holds_the_row_on_it(pole: float) -> None:
    side = pole * 2.0 / 3.0
    region = Region.of({"polygon": [[-180, side], [0, side], [180, side], [180, pole], [-180, pole]]})
    assert region.contains(np.array([-170.0, 0.0, 10.0, 179.0]), np.full(4, pole)).all()


def test_a_polygon_round_the_earth_may_have_sides_of_all_of_it() -> None:
    region = Region.of({"polygon": [[-180, -20], [180, -20], [180, 20], [-180, 20]]})
    longitudes = np.arange(-180.0, 360.0, 2.5)
    assert region.contains(longitudes, np.zeros(longitudes.size)).all()


def test_a_region_reads_as_it_was_written() -> None:
    assert str(Region.of("west")) == '"west"'
    assert str(Region.of({"box": [140, -20, 150.5, -10]})) == "{ box = [140, -20, 150.5, -10] }"
    assert str(Region.of({"polygon": [[0, 0], [1, 0], [0, 1]]})) == "{ polygon = [[0, 0], [1, 0], [0, 1]] }"


@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=3, max_size=8))
def test_a_place_is_in_a_polygon_when_a_ray_to_the_east_crosses_an_odd_number_of_sides(corners: list[tuple[int, int]]) -> None:
    places = np.array([(x / 2, y / 2) for x in range(13) for y in range(13)])
    inside = np.zeros(len(places), dtype=bool)
    for (x0, y0), (x1, y1) in zip(corners, [*corners[1:], corners[0]], strict=True):
        for number, (x, y) in enumerate(places):
            if (y0 > y) != (y1 > y):
                inside[number] ^= x < x0 + (y - y0) * (x1 - x0) / (y1 - y0)
    assert (Region.of({"polygon": [list(corner) for corner in corners]}).contains(places[:, 0], places[:, 1]) == inside).all()
