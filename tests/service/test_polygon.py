import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steppe.control import Refused
from steppe.service.polygon import check_polygon

PLACES = st.tuples(st.integers(0, 6), st.integers(0, 6))
Place = tuple[int, int]


def turn(a: Place, b: Place, c: Place) -> int:
    return int(np.sign((b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])))


def between(a: Place, b: Place, c: Place) -> bool:
    return min(a[0], b[0]) <= c[0] <= max(a[0], b[0]) and min(a[1], b[1]) <= c[1] <= max(a[1], b[1])


def meet(a: Place, b: Place, c: Place, d: Place) -> bool:
    """As a textbook has it: each side's ends lie on both sides of the other, or an end lies on the other side."""
    if turn(a, b, c) * turn(a, b, d) < 0 and turn(c, d, a) * turn(c, d, b) < 0:
        return True
    on = [(a, b, c), (a, b, d), (c, d, a), (c, d, b)]
    return any(turn(*each) == 0 and between(*each) for each in on)


@given(st.lists(PLACES, min_size=3, max_size=9, unique=True))
def test_a_polygon_is_refused_exactly_when_two_sides_meet_that_are_no_neighbours(corners: list[Place]) -> None:
    count = len(corners)
    sides = [(corners[i], corners[(i + 1) % count]) for i in range(count)]
    crossing = any(meet(*sides[i], *sides[j]) for i in range(count) for j in range(i + 2, count) if (j + 1) % count != i)
    if crossing:
        with pytest.raises(Refused, match="meets the side"):
            check_polygon([list(corner) for corner in corners])
    else:
        check_polygon([list(corner) for corner in corners])


def test_a_corner_may_be_said_twice_and_the_first_may_close() -> None:
    check_polygon([[0, 0], [2, 0], [2, 0], [2, 2], [0, 0]])


def test_ten_thousand_corners_are_checked_and_a_tangle_of_them_is_too_costly() -> None:
    around = np.linspace(0.0, 2 * np.pi, 10_000, endpoint=False)
    circle = np.stack([145 + 4 * np.cos(around), -20 + 4 * np.sin(around)], axis=1)
    check_polygon(circle.tolist())
    star = circle.copy()
    star[::2] = [145, -20] + 0.01 * (circle[::2] - [145, -20])
    with pytest.raises(Refused, match="lie across each other"):
        check_polygon(star.tolist())
