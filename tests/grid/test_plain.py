"""A grid told in words is the same grid to whoever hears of it."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steppe.errors import GridError
from steppe.grid import Grid, Points, Projected, Raster, as_plain, from_plain
from tests.grid.test_projected import ALBERS


def there_and_back(grid: Grid) -> Grid:
    return from_plain(json.loads(json.dumps(as_plain(grid))))


@given(rows=st.integers(1, 9), columns=st.integers(1, 70), seed=st.integers(0, 99), size=st.sampled_from([0.05, 0.25, 1.0]))
def test_a_raster_comes_back_as_it_was(rows: int, columns: int, seed: int, size: float) -> None:
    active = np.random.default_rng(seed).random((rows, columns)) < 0.5
    active[0, 0] = True
    grid = Raster(-20.0, -size, 143.0, size, active)
    again = there_and_back(grid)
    assert again == grid
    np.testing.assert_array_equal(again.order, grid.order)


def test_points_and_projected_cells_come_back_as_they_were() -> None:
    points = Points(("a", "b"), np.array([-20.0, -21.5]), np.array([143.0, 150.25]))
    assert there_and_back(points) == points
    projected = Projected.project(-2.7e6, -5e3, 1e6, 5e3, np.ones((4, 5), bool), ALBERS)
    again = there_and_back(projected)
    assert again == projected
    np.testing.assert_array_equal(again.cell_area, projected.cell_area)


def test_a_grid_that_changed_on_the_way_is_refused() -> None:
    told = as_plain(Raster(-20.0, -0.25, 143.0, 0.25, np.ones((3, 4), bool)))
    with pytest.raises(GridError, match="differs from the one that was sent"):
        from_plain(told | {"lat0": -21.0})
