"""The fixer of `best`: it keeps mass, whatever interpolation did, and moves no value far."""

import numpy as np
import pytest

from steppe.grid import Gaussian
from tests.models.transport.driven import Driven

GROUND = 17  # the lowest level
CASES = {  # what interpolation adds to a tracer of 0 but for 1 at the ground
    "a little everywhere above, at the ground nothing": (GROUND - 1, 0.02),
    "a little in one row far above": ((3, 5), 0.3),
    "nothing": (GROUND, 0.0),
}


@pytest.fixture(scope="module")
def driven():
    return Driven(Gaussian(8), 3600.0, None, {"scheme": "best"}, levels="L18")


def fixed(driven, old, new):
    """What the fixer makes of values after interpolation, whose mass is then that of the values before."""
    mass, found = driven.mass(), new.copy()
    driven.model._mass.fix("best", True, old, found)
    assert old.min() <= found.min() <= found.max() <= old.max()
    np.testing.assert_allclose((mass * found).sum(), (mass * old).sum(), rtol=1e-14)
    return found


@pytest.mark.parametrize("upside_down", [False, True])
@pytest.mark.parametrize("case", CASES)
def test_mass_is_kept_where_few_values_changed(driven, case, upside_down):
    old = np.zeros_like(driven["hills"])
    old[GROUND] = 1.0
    (where, most), new = CASES[case], old.copy()
    new[where] += most * np.random.default_rng(1).random(new[where].shape)
    if upside_down:
        old, new = 1.0 - old, 1.0 - new
    found = fixed(driven, old, new)
    assert np.abs(found - new).max() <= 0.1


def test_a_value_moves_by_a_tenth_of_its_change_at_most_and_then_little(driven):
    old = 0.5 + 0.4 * np.cos(np.linspace(0.0, 6.0, driven["hills"].size)).reshape(driven["hills"].shape)
    new = 0.5 + 0.9999 * (old - 0.5)
    new[1, 4, 7] -= 0.2
    found = fixed(driven, old, new)
    assert 0.0 < found[1, 4, 7] - new[1, 4, 7] < 0.03
    assert np.abs(found - new).max() < 0.03
