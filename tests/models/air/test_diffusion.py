import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steppe.errors import ModelError
from steppe.models.air import diffusion as module
from steppe.models.air.advection import HALO, own
from steppe.models.air.diffusion import Diffusion, diffusivity

SEEDS = st.integers(0, 2**32 - 1)
SIZES = st.tuples(st.integers(1, 3), st.integers(2, 12), st.integers(1, 4), st.integers(1, 40))
SECONDS = st.floats(1e-3, 1e6)


class Columns:
    """A random case of a seed; `step` makes one step of copies."""

    def __init__(self, seed, species, levels, rows, columns, layers=1, emits=1.0, deposits=1.0):
        random = np.random.default_rng(seed)
        self.shape = species, levels, rows, columns
        self.layers = min(layers, levels)
        self.thickness = random.uniform(20.0, 300.0, levels)
        self.air = random.uniform(0.5, 1.5, (levels, rows + 2 * HALO, columns + 2 * HALO))
        self.tracers = random.uniform(0.0, 1.0, (species, *self.air.shape)) * (random.random((species, *self.air.shape)) < 0.7)
        self.k = np.exp(random.uniform(np.log(0.1), np.log(300.0), (levels - 1, rows, columns)))
        self.emission = emits * random.uniform(0.0, 1e-4, (species, self.layers, rows, columns))
        self.velocity = deposits * random.uniform(0.0, 0.01, (species, rows, columns))

    def step(self, seconds):
        """Tracers and ledger after it."""
        mixing = Diffusion(*self.shape, self.layers, self.thickness)
        tracers, ledger = self.tracers.copy(), np.zeros((2, *self.velocity.shape))
        mixing.step(seconds, self.air, self.k, self.emission, self.velocity, tracers, ledger)
        return tracers, ledger

    def reference(self, seconds):
        """The same of the own cells, by a dense matrix for each column and species."""
        species, levels, rows, columns = self.shape
        tracers, ledger = own(self.tracers).copy(), np.zeros((2, species, rows, columns))
        for t, y, x in np.ndindex(species, rows, columns):
            m = own(self.air)[:, y, x]
            matrix = np.diag(m)
            for k in range(1, levels):
                density = (m[k] / self.thickness[k] + m[k - 1] / self.thickness[k - 1]) / 2
                e = seconds * self.k[k - 1, y, x] * density / ((self.thickness[k] + self.thickness[k - 1]) / 2)
                matrix[k - 1 : k + 1, k - 1 : k + 1] += e * np.array([[1.0, -1.0], [-1.0, 1.0]])
            lost = seconds * self.velocity[t, y, x] / self.thickness[0] * m[0]
            matrix[0, 0] += lost
            right = tracers[t, :, y, x].copy()
            right[: self.layers] += seconds * self.emission[t, :, y, x]
            q = np.linalg.solve(matrix, right)
            tracers[t, :, y, x] = m * q
            ledger[:, t, y, x] = seconds * self.emission[t, :, y, x].sum(), lost * q[0]
        return tracers, ledger


@settings(max_examples=40, deadline=None)
@given(SEEDS, SIZES, st.floats(1.0, 600.0), st.integers(0, 3))
def test_a_step_is_backward_euler(seed, size, seconds, layers):
    case = Columns(seed, *size, layers=layers)
    tracers, ledger = case.step(seconds)
    expected, expected_ledger = case.reference(seconds)
    np.testing.assert_allclose(own(tracers), expected, rtol=1e-13, atol=1e-15)  # same arithmetic; what is mixed is of size 1
    np.testing.assert_allclose(ledger, expected_ledger, rtol=1e-13, atol=1e-15)


@settings(max_examples=60, deadline=None)
@given(SEEDS, SIZES, SECONDS)
def test_nothing_is_negative_and_mass_changes_by_what_the_ledger_says(seed, size, seconds):
    case = Columns(seed, *size, layers=2)
    tracers, ledger = case.step(seconds)
    assert (own(tracers) >= 0.0).all()
    assert (ledger >= 0.0).all()
    found, before = own(tracers).sum(axis=1), own(case.tracers).sum(axis=1)
    np.testing.assert_allclose(found + ledger[1], before + ledger[0], rtol=1e-13)


@settings(max_examples=60, deadline=None)
@given(SEEDS, SIZES, SECONDS)
def test_without_sources_no_mixing_ratio_leaves_the_range_of_its_column(seed, size, seconds):
    case = Columns(seed, *size, emits=0.0, deposits=0.0)
    tracers, _ = case.step(seconds)
    before, after = own(case.tracers) / own(case.air), own(tracers) / own(case.air)
    assert (after.max(axis=1) <= before.max(axis=1) * (1.0 + 1e-13)).all()
    assert (after.min(axis=1) >= before.min(axis=1) * (1.0 - 1e-13)).all()


@settings(max_examples=30, deadline=None)
@given(SEEDS, SIZES, SECONDS)
def test_a_constant_mixing_ratio_stays_constant(seed, size, seconds):
    case = Columns(seed, *size, emits=0.0, deposits=0.0)
    case.tracers[...] = 3.7 * case.air
    np.testing.assert_allclose(own(case.step(seconds)[0]) / own(case.air), 3.7, rtol=1e-12)


def test_a_step_changes_own_cells_only():
    case = Columns(4, 2, 5, 3, 6)
    changed = case.step(600.0)[0] != case.tracers
    assert own(changed).all()
    own(changed)[...] = False
    assert not changed.any()


def test_steps_add_to_the_ledger():
    case = Columns(4, 2, 5, 3, 6)
    mixing = Diffusion(*case.shape, case.layers, case.thickness)
    ledger, tracers = np.zeros((2, *case.velocity.shape)), case.tracers.copy()
    for _ in range(2):
        mixing.step(300.0, case.air, case.k, case.emission, case.velocity, tracers, ledger)
    np.testing.assert_allclose(ledger[0], 600.0 * case.emission.sum(axis=1), rtol=1e-14)
    np.testing.assert_allclose(own(tracers).sum(axis=1), own(case.tracers).sum(axis=1) + ledger[0] - ledger[1], rtol=1e-13)


def test_neither_a_cut_nor_a_tile_changes_a_bit(monkeypatch):
    case = Columns(7, 2, 9, 5, 70, layers=3)
    tracers, ledger = case.step(600.0)
    monkeypatch.setattr(module, "TILE", 1)
    assert all(np.array_equal(a, b) for a, b in zip(case.step(600.0), (tracers, ledger), strict=True))
    for first, last in ((0, 13), (13, 70)):
        part = Columns(7, 2, 9, 5, last - first, layers=3)
        part.thickness = case.thickness
        for name in ("air", "tracers"):
            setattr(part, name, getattr(case, name)[..., first : last + 2 * HALO].copy())
        for name in ("k", "emission", "velocity"):
            setattr(part, name, getattr(case, name)[..., first:last].copy())
        found, found_ledger = part.step(600.0)
        assert np.array_equal(own(found), own(tracers)[..., first:last])
        assert np.array_equal(found_ledger, ledger[..., first:last])


def test_diffusivity_follows_friction_velocity_and_mixing_height():
    heights = np.array([1.0, 100.0, 500.0, 990.0, 1000.0, 2000.0])
    found = diffusivity(heights, np.full((1, 1), 0.3), np.full((1, 1), 1000.0))[:, 0, 0]
    expected = [0.4 * 0.3 * 0.999**2, 0.4 * 0.3 * 100.0 * 0.9**2, 0.4 * 0.3 * 500.0 * 0.5**2, 0.1, 1.0, 1.0]
    np.testing.assert_allclose(found, expected, rtol=1e-13)


def test_what_does_not_fit_is_refused():
    with pytest.raises(ModelError, match="Diffusion was given 1 levels"):
        Diffusion(1, 1, 2, 2, 1, np.ones(1))
    with pytest.raises(ModelError, match="a positive thickness of each"):
        Diffusion(1, 2, 2, 2, 1, np.array([100.0, 0.0]))
    case = Columns(0, 2, 3, 4, 5)
    case.velocity = case.velocity[:1]
    with pytest.raises(ModelError, match=r'takes "velocity" of shape \(2, 4, 5\), it was given one of \(1, 4, 5\)'):
        case.step(1.0)
