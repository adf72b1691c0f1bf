"""Vertical diffusion beside exact solutions: a cosine that decays, and a steady state of emission and deposition."""

import numpy as np

from steppe.models.air.advection import HALO, own
from steppe.models.air.diffusion import Diffusion

LAYERS, HEIGHT = 32, 3200.0  # of the column [m]


class Column:
    """A column of air of density 1 kg m-3 on one square metre, so that a mass over a thickness is a concentration."""

    def __init__(self, thickness, layers=0, k=10.0):
        self.thickness, levels = thickness, len(thickness)
        self.mixing = Diffusion(1, levels, 1, 1, layers, thickness)
        self.air = np.ones((levels, 1 + 2 * HALO, 1 + 2 * HALO)) * thickness[:, None, None]
        self.tracers, self.k = np.zeros((1, *self.air.shape)), np.full((levels - 1, 1, 1), k)
        self.emission, self.velocity = np.zeros((1, layers, 1, 1)), np.zeros((1, 1, 1))
        self.ledger = np.zeros((2, *self.velocity.shape))

    def step(self, seconds):
        """One step."""
        self.mixing.step(seconds, self.air, self.k, self.emission, self.velocity, self.tracers, self.ledger)

    @property
    def concentration(self):
        """(level,)."""
        return own(self.tracers)[0, :, 0, 0] / self.thickness


def test_a_cosine_decays_as_it_should(measured):
    k, hours, wave = 10.0, 4, np.pi / HEIGHT
    edges = np.linspace(0.0, HEIGHT, LAYERS + 1)
    means = np.diff(np.sin(wave * edges)) / (wave * np.diff(edges))  # of cos(pi z/H) in each layer
    # The matrix is rounded alike in each step, so mass drifts: the limit of many short steps is one a step.
    for dt, most, drift in ((600.0, 4.5e-4, 1e-14), (60.0, 1.4e-4, 240 * 2e-16)):
        column = Column(np.diff(edges), k=k)
        own(column.tracers)[0, :, 0, 0] = (1.0 + 0.5 * means) * column.thickness
        before = own(column.tracers).sum()
        for _ in range(round(hours * 3600 / dt)):
            column.step(dt)
        exact = 1.0 + 0.5 * means * np.exp(-k * wave**2 * hours * 3600.0)
        error = np.abs(column.concentration / exact - 1.0).max()
        mass = abs(own(column.tracers).sum() / before - 1.0)
        case = f"cosine column, 4 h, dt {dt:g} s"
        measured(case, "relative error, maximum", error, f"<= {most:g}")
        measured(case, "mass, relative change", mass, f"<= {drift:g}")
        assert error <= most
        assert mass <= drift


def test_emission_and_deposition_come_to_their_steady_state(measured):
    """All that is emitted in layer n falls to the ground: c = E/v + E z/K below that layer, and the same as there above it."""
    random = np.random.default_rng(11)
    thickness, n = random.uniform(50.0, 150.0, LAYERS), 8
    column = Column(thickness, layers=n)
    rate, v = 2e-6, 0.004  # [kg m-2 s-1], [m s-1]
    column.k[:, 0, 0] = random.uniform(1.0, 50.0, LAYERS - 1)
    column.emission[0, n - 1], column.velocity[...] = rate, v
    for _ in range(50):
        column.step(1e7)
    before = column.ledger.copy()
    column.step(600.0)
    gained, lost = (column.ledger - before)[:, 0, 0, 0]
    distances = (thickness[1:] + thickness[:-1]) / 2
    falls = np.where(np.arange(1, LAYERS) < n, rate * distances / column.k[:, 0, 0], 0.0)
    exact = rate / v + np.append(0.0, np.cumsum(falls))
    error = np.abs(column.concentration / exact - 1.0).max()
    case = "steady state of emission and deposition"
    measured(case, "relative error, maximum", error, "<= 1e-12")
    measured(case, "deposited over emitted - 1", lost / gained - 1.0, "at most 1e-12 from 0")
    assert error <= 1e-12
    assert abs(lost / gained - 1.0) <= 1e-12
