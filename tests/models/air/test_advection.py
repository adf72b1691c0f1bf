"""Sweeps along x, y and z: what they keep, and what they do not depend on."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steppe.errors import ModelError
from steppe.models.air.advection import HALO, SweepAdvection, courant, own

SPECIES, LEVELS, ROWS, COLUMNS = 3, 5, 7, 9
ABOVE = np.full(SPECIES, 2.5)  # mixing ratios over the top
FACES = {"x": (LEVELS, ROWS, COLUMNS + 1), "y": (LEVELS, ROWS + 1, COLUMNS), "z": (LEVELS + 1, ROWS, COLUMNS)}
WIDE = LEVELS, ROWS + 2 * HALO, COLUMNS + 2 * HALO


def case(seed, strength=0.8):
    """Random air, tracers and fluxes; a Courant number of `strength` at most where all air leaves on one side."""
    rng = np.random.default_rng(seed)
    air = rng.uniform(0.8, 1.2, WIDE)
    tracers = air * rng.uniform(0.0, 5.0, (SPECIES, *WIDE))
    flux = {axis: 0.4 * strength * rng.uniform(-1.0, 1.0, shape) for axis, shape in FACES.items()}
    flux["z"][0] = 0.0
    return air, tracers, flux


def swept(axis, air, tracers, flux):
    advection = SweepAdvection(SPECIES, *own(air).shape)
    air, tracers = air.copy(), tracers.copy()
    ledger = advection.ledger(axis)
    advection.sweep(axis, air, flux, tracers, ledger, ABOVE)
    return air, tracers, ledger


@pytest.mark.parametrize("axis", "xyz")
@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_a_sweep_keeps_masses_ranges_and_what_is_even(axis, seed):
    air, tracers, flux = case(seed)
    tracers[0] = 2.5 * air
    after, found, ledger = swept(axis, air, tracers, flux[axis])
    np.testing.assert_allclose(own(found)[0] / own(after), 2.5, rtol=1e-13)
    assert own(found).min() >= 0.0
    passed = np.subtract(*ledger.reshape(2, SPECIES, -1).sum(axis=2))
    masses = own(found).sum(axis=(1, 2, 3))
    np.testing.assert_allclose(masses, own(tracers).sum(axis=(1, 2, 3)) + passed, rtol=1e-13)
    ratios = tracers / air
    assert (own(found) / own(after)).max() <= ratios.max() * (1.0 + 1e-13)
    assert (own(found) / own(after)).min() >= ratios.min() * (1.0 - 1e-13)


def test_a_sweep_along_y_is_one_along_x_turned():
    air, tracers, flux = case(7)
    _, along_y, _ = swept("y", air, tracers, flux["y"])
    turned = lambda values: np.ascontiguousarray(values.swapaxes(-1, -2))  # noqa: E731
    _, along_x, _ = swept("x", turned(air), turned(tracers), turned(flux["y"]))
    np.testing.assert_array_equal(own(along_y), turned(own(along_x)))


@pytest.mark.parametrize("axis", "xy")
def test_two_boxes_have_the_bits_of_one(axis):
    air, tracers, flux = case(11)
    _, whole, _ = swept(axis, air, tracers, flux[axis])
    for part in (slice(0, 4), slice(4, COLUMNS)):
        faces = slice(part.start, part.stop + (axis == "x"))
        wide = ..., slice(part.start, part.stop + 2 * HALO)
        _, found, _ = swept(
            axis, *(np.ascontiguousarray(values[wide]) for values in (air, tracers)), np.ascontiguousarray(flux[axis][..., faces])
        )
        np.testing.assert_array_equal(own(found), own(whole)[..., part])


def test_air_that_moves_by_one_cell_takes_all_with_it():
    air = np.ones(WIDE)
    tracers = np.random.default_rng(3).uniform(0.0, 1.0, (SPECIES, *WIDE))
    _, found, _ = swept("x", air, tracers, np.ones(FACES["x"]))
    np.testing.assert_allclose(own(found), tracers[..., HALO:-HALO, HALO - 1 : -HALO - 1], rtol=0, atol=1e-15)


def test_the_courant_number_is_what_passes_a_cell_over_what_is_in_it():
    air, _, flux = case(5)
    assert courant("x", air, flux["x"]).max() <= 1.0
    flux["x"][2, 3, 4:] = 0.9  # all that enters a cell leaves it again
    assert courant("x", air, flux["x"]).max() >= 0.9 / 1.2
    flux["x"][2, 3, 4] = -2.0
    flux["x"][0, 0, 0] = np.nan
    assert np.argwhere(np.isinf(courant("x", air, flux["x"]))).tolist() == [[0, 0, 0], [2, 3, 4]]


def test_an_array_of_another_shape_is_refused():
    air, tracers, flux = case(1)
    with pytest.raises(ModelError, match=r'A sweep along x takes "flux" of shape \(5, 7, 10\), it was given one of \(5, 8, 9\)'):
        swept("x", air, tracers, flux["y"])
    with pytest.raises(ModelError, match='takes "ledger"'):
        SweepAdvection(SPECIES, LEVELS, ROWS, COLUMNS).sweep("x", air, flux["x"], tracers, np.zeros(0))
