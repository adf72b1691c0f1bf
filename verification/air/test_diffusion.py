"""Vertical diffusion beside exact solutions of a column."""

import numpy as np

from steppe.models.air.diffusion import Diffusion

LEVELS, DEEP, K = 32, 3200.0, 10.0  # [m], [m2 s-1]


def column(q, steps, dt, emitted=0.0, velocity=0.0):
    """Mixing ratios (levels,) of air of 1 kg m-3 after some steps. emitted [kg m-2 s-1] at the ground; velocity [m s-1] of deposition."""
    dz = DEEP / LEVELS
    air, exchange = np.full((LEVELS, 1), dz), np.full((LEVELS - 1, 1), dt * K / dz)
    tracers, source = (air * q[:, None])[None].copy(), np.zeros((1, LEVELS, 1))
    source[0, 0] = dt * emitted
    diffusion, deposited = Diffusion(LEVELS, 1), np.zeros((1, 1))
    for _ in range(steps):
        diffusion.step(air, exchange, tracers, source, np.full((1, 1), dt * velocity), deposited)
    return tracers[0, :, 0] / air[:, 0]


def test_a_cosine_decays_as_it_must(within):
    edges = np.linspace(0.0, DEEP, LEVELS + 1)
    cosine = np.diff(np.sin(np.pi * edges / DEEP)) * LEVELS / np.pi  # means of levels
    hours, decay = 4.0, K * (np.pi / DEEP) ** 2
    exact = 1.0 + 0.5 * cosine * np.exp(-decay * 3600.0 * hours)
    for dt, limit in ((600.0, 4.5e-4), (60.0, 1.5e-4)):
        found = column(1.0 + 0.5 * cosine, round(3600.0 * hours / dt), dt)
        error = float(abs(found / exact - 1.0).max())
        within(f"column, cosine, {dt:g} s", "greatest error after 4 hours", error, limit)
        within(f"column, cosine, {dt:g} s", "change of mass", abs(found.mean() - 1.0), 1e-13)


def test_emission_and_deposition_come_to_rest(within):
    """What is emitted is deposited: q = E / v_d everywhere, as nothing passes the top."""
    found = column(np.zeros(LEVELS), 20_000, 3600.0, emitted=2e-9, velocity=0.005)
    error = float(abs(found * 0.005 / 2e-9 - 1.0).max())
    within("column, emission and deposition", "from rest", error, 1e-10)
