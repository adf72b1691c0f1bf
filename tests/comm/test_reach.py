import numpy as np
import pytest

from steppe.comm import BoxReach, Serial
from steppe.errors import Failure
from steppe.grid import Box
from steppe.kernels.sums import total


def box(width: int = 1) -> Box:
    return Box.whole({"y": 4, "x": 5}, {"y": width, "x": width}, {"y": "wall", "x": "periodic"}, np.arange(20))


def filled(box: Box, *leading: int) -> np.ndarray:
    field = np.full((*leading, *box.local), np.nan)
    field[(..., *box.own)] = np.random.default_rng(2).random((*leading, *box.shape))
    return field


def reach(box: Box) -> BoxReach:
    return BoxReach(Serial(), [box.pieces], total)


@pytest.mark.parametrize("width", [1, 2])
def test_periodic_halos_are_filled_and_those_behind_walls_left(width: int) -> None:
    b = box(width)
    field = filled(b)
    own = field[b.own].copy()
    reach(b).exchange([field]).finish()
    assert (field[b.own] == own).all()
    assert (field[width:-width, :width] == own[:, -width:]).all()
    assert (field[width:-width, -width:] == own[:, :width]).all()
    assert np.isnan(field[:width]).all()
    assert np.isnan(field[-width:]).all()


def test_several_fields_with_leading_dimensions_go_together() -> None:
    b = box()
    one, many = filled(b), filled(b, 3, 2)
    together = reach(b).exchange([one, many])
    together.finish()
    assert (one[1:-1, 0] == one[1:-1, -2]).all()
    assert (many[..., 1:-1, -1] == many[..., 1:-1, 1]).all()


def test_halos_hold_what_the_cells_were_when_the_exchange_began() -> None:
    b = box()
    field = filled(b)
    before = field[b.own].copy()
    exchange = reach(b).exchange([field])
    field[b.own] = -1.0
    assert np.isnan(field[1:-1, 0]).all()
    exchange.finish()
    exchange.finish()
    assert (field[1:-1, 0] == before[:, -1]).all()


def test_a_second_exchange_waits_for_the_first_to_be_finished() -> None:
    b = box()
    r, field = reach(b), filled(b)
    first = r.exchange([field])
    with pytest.raises(Failure, match=r"Call finish\(\) first"):
        r.exchange([field])
    first.finish()
    r.exchange([field]).finish()


def test_arrays_of_two_dtypes_are_refused() -> None:
    b = box()
    with pytest.raises(Failure, match="must have one dtype"):
        reach(b).exchange([filled(b), filled(b).astype(np.float32)])


def test_totals_are_exact_and_greatest_values_found() -> None:
    r = reach(box())
    x = np.array([[1e16, 1.0], [-1e16, 2.0]])
    assert r.total(x) == 3.0
    assert r.total(np.empty(0)) == 0.0
    assert r.largest(x) == 1e16
    assert r.largest(np.empty(0)) == -np.inf


def test_a_value_that_is_not_finite_shows_in_totals_and_greatest_values() -> None:
    r = reach(box())
    assert np.isnan(r.total(np.array([1.0, np.nan])))
    assert np.isnan(r.total(np.array([1.0, -np.inf])))
    assert np.isnan(r.largest(np.array([np.nan, 5.0])))
    assert r.largest(np.array([1.0, np.inf])) == np.inf
