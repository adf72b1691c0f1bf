"""Solid bodies in a rotating wind: cone, slotted cylinder, Gaussian (Molenkamp 1968), beside printed results of another code."""

import numpy as np
import pytest

from steppe.models.air.advection import HALO, SweepAdvection, courant, own

CONE = {"libmpdata++ rms/T": 1.05e-4, "libmpdata++ maximum": 4.241}  # Jaruga et al. 2015, Geosci. Model Dev. 8, 1005: iga + tot + fct


def turned(field, background, angle, steps):
    """`field` (y, x) after `steps` steps in a wind that turns by `angle` [rad] a step about the middle of the square.

    The sweeps of a step follow those of the step before in opposite order. Around the square is the background.
    """
    n = len(field)
    advection = SweepAdvection(1, 1, n, n)
    air = np.ones((1, n + 2 * HALO, n + 2 * HALO))
    tracers = np.full((1, *air.shape), float(background))
    own(tracers)[...] = field
    distance = np.arange(n) - (n - 1) / 2
    flux = {"x": np.repeat(-angle * distance[:, None], n + 1, axis=1)[None], "y": np.repeat(angle * distance[None], n + 1, axis=0)[None]}
    ledgers = {axis: advection.ledger(axis) for axis in flux}
    assert max(courant(axis, air, flux[axis]).max() for axis in flux) <= 1.0
    for step in range(steps):
        for axis in "xy" if step % 2 == 0 else "yx":
            advection.sweep(axis, air, flux[axis], tracers, ledgers[axis])
    return own(tracers)[0, 0]


def squares(n, size):
    """Coordinates y and x (n, n) of the middles of cells of a square."""
    middles = (np.arange(n) + 0.5) * size / n
    return np.meshgrid(middles, middles, indexing="ij")


def relative(found, exact):
    """L1 and L2 of the error over those of the exact solution."""
    error = found - exact
    return np.abs(error).sum() / np.abs(exact).sum(), np.sqrt(np.square(error).sum() / np.square(exact).sum())


def test_a_cone_survives_six_turns(measured):
    y, x = squares(101, 101.0) - np.array(0.5)
    cone = 1.0 + 4.0 * np.maximum(0.0, 1.0 - np.hypot(x - 75.0, y - 50.0) / 15.0)
    steps, dt = 3768, 0.1
    found = turned(cone, 1.0, 0.1 * dt, steps)
    rms = np.sqrt(np.square(found - cone).mean()) / (steps * dt)
    case = "rotating cone, six turns"
    measured(case, "rms/T", rms, f"<= 9.5e-5; libmpdata++ {CONE['libmpdata++ rms/T']:g}")
    measured(case, "maximum", found.max(), f">= 4.15; libmpdata++ {CONE['libmpdata++ maximum']:g}; exact 5")
    measured(case, "1 - minimum", 1.0 - found.min(), "<= 1e-12")
    assert rms <= 9.5e-5
    assert found.max() >= 4.15
    assert found.min() >= 1.0 - 1e-12


def test_a_slotted_cylinder_keeps_its_form_and_range(measured):
    y, x = squares(100, 100.0)
    inside = (np.hypot(x - 50.0, y - 75.0) <= 15.0) & ~((np.abs(x - 50.0) <= 2.5) & (y < 85.0))
    cylinder = inside.astype(float)
    found = turned(cylinder, 0.0, 2.0 * np.pi / 628, 628)
    l1, l2 = relative(found, cylinder)
    case = "slotted cylinder, one turn"
    measured(case, "L1", l1, "<= 0.29")
    measured(case, "L2", l2, "<= 0.30")
    measured(case, "minimum", found.min(), ">= 0")
    measured(case, "maximum - 1", found.max() - 1.0, "<= 1e-12")
    assert l1 <= 0.29
    assert l2 <= 0.30
    assert found.min() >= 0.0
    assert found.max() <= 1.0 + 1e-12


@pytest.fixture(scope="module")
def gaussian():
    """L2 of the error after one turn, for 64 and 128 cells a side of the unit square."""
    errors = {}
    for n in (64, 128):
        y, x = squares(n, 1.0)
        hill = np.exp(-80.0 * (np.square(x - 0.25) + np.square(y - 0.5)))
        steps = round(2.0 * np.pi * n)
        errors[n] = relative(turned(hill, 0.0, 2.0 * np.pi / steps, steps), hill)[1]
    return errors


def test_the_error_of_a_gaussian_falls_by_the_second_order(gaussian, measured):
    slope = np.log2(gaussian[64] / gaussian[128])
    case = "Molenkamp-Crowley, one turn"
    measured(case, "L2, n = 64", gaussian[64], "0.0234 in the specification")
    measured(case, "L2, n = 128", gaussian[128], "<= 0.006")
    measured(case, "slope from 64 to 128", slope, ">= 2")
    assert gaussian[128] <= 0.006
    assert slope >= 2.0
