"""Vertical diffusion beside a dense solve, and what it keeps."""

import numpy as np
import pytest

from steppe.models.air.diffusion import Diffusion, diffusivity

SPECIES, LEVELS, COLUMNS = 3, 6, 5


@pytest.fixture
def case():
    rng = np.random.default_rng(1)
    return {
        "air": rng.uniform(0.5, 2.0, (LEVELS, COLUMNS)),
        "exchange": rng.uniform(0.0, 50.0, (LEVELS - 1, COLUMNS)),
        "tracers": rng.uniform(0.0, 3.0, (SPECIES, LEVELS, COLUMNS)),
        "emitted": rng.uniform(0.0, 0.5, (SPECIES, LEVELS, COLUMNS)),
        "taking": rng.uniform(0.0, 1.0, (SPECIES, COLUMNS)),
        "deposited": np.zeros((SPECIES, COLUMNS)),
    }


def test_each_column_is_solved_as_by_a_dense_matrix(case):
    before = case["tracers"].copy()
    Diffusion(LEVELS, COLUMNS).step(**case)
    for t in range(SPECIES):
        for i in range(COLUMNS):
            a, w = np.diag(case["air"][:, i]), case["exchange"][:, i]
            for k in range(LEVELS - 1):
                a[k : k + 2, k : k + 2] += w[k] * np.array([[1.0, -1.0], [-1.0, 1.0]])
            a[0, 0] += case["taking"][t, i]
            q = np.linalg.solve(a, before[t, :, i] + case["emitted"][t, :, i])
            np.testing.assert_allclose(case["tracers"][t, :, i], case["air"][:, i] * q, rtol=1e-12)
            assert case["deposited"][t, i] == pytest.approx(case["taking"][t, i] * q[0], rel=1e-12)


def test_mass_is_what_was_there_and_emitted_less_deposited(case):
    before = case["tracers"].sum(axis=1)
    Diffusion(LEVELS, COLUMNS).step(**case)
    np.testing.assert_allclose(case["tracers"].sum(axis=1), before + case["emitted"].sum(axis=1) - case["deposited"], rtol=1e-13)


def test_a_constant_mixing_ratio_stays_and_none_leaves_its_range(case):
    case["tracers"][0] = 2.5 * case["air"]
    case["emitted"][...], case["taking"][...] = 0.0, 0.0
    low, high = (case["tracers"] / case["air"]).min(axis=1), (case["tracers"] / case["air"]).max(axis=1)
    Diffusion(LEVELS, COLUMNS).step(**case)
    found = case["tracers"] / case["air"]
    np.testing.assert_allclose(found[0], 2.5, rtol=1e-13)
    assert (found >= low[:, None] * (1.0 - 1e-13)).all()
    assert (found <= high[:, None] * (1.0 + 1e-13)).all()


def test_a_column_has_the_same_bits_alone(case):
    alone = {name: np.ascontiguousarray(values[..., 2:3]) for name, values in case.items()}
    Diffusion(LEVELS, COLUMNS).step(**case)
    Diffusion(LEVELS, 1).step(**alone)
    np.testing.assert_array_equal(alone["tracers"], case["tracers"][..., 2:3])


def test_diffusivity_is_greatest_at_a_third_of_the_mixing_height():
    height = np.array([0.0, 100.0, 400.0, 800.0, 1200.0, 1500.0])
    found = diffusivity(height, np.array([1200.0]), np.array([0.5]))[:, 0]
    assert found[0] == 0.1
    assert found[2] == pytest.approx(0.4 * 0.5 * 400.0 * (2.0 / 3.0) ** 2)
    assert found.argmax() == 2
    assert found[4:].tolist() == [1.0, 1.0]
