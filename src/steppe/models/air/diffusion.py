"""Vertical diffusion by turbulence, with emission into layers and deposition out of the lowest one: a step of backward Euler.

The unknowns are mixing ratios at the end of the step. Neighbours exchange air at a rate that follows from diffusivity and density, so the
mass of each tracer is kept and a constant mixing ratio stays constant. Where all steps are alike, rounding changes mass by about 1e-16 a
step in one direction. The tridiagonal system of a column is solved by elimination (Thomas) from the top downward: then only its last line,
that of the lowest layer, depends on the species. All terms are positive and none is subtracted, so no mixing ratio becomes negative.
"""

from typing import NamedTuple

import numpy as np

from steppe.array_types import Floats
from steppe.errors import ModelError
from steppe.kernels import field_kernel
from steppe.models.air.advection import HALO, check_shapes

KARMAN = 0.4  # [1] constant of von Karman
LEAST = 0.1  # [m2 s-1] diffusivity in the mixed layer, at least
FREE = 1.0  # [m2 s-1] diffusivity above it
TILE = 1024  # cells of a tile, about


def diffusivity(heights: Floats, friction_velocity: Floats, mixing_height: Floats) -> Floats:
    """K = 0.4 u* z (1 - z/h)^2 below the mixing height h, at least 0.1 m2/s there; 1 m2/s above [m2 s-1], (interface, y, x).

    heights (interface,): of the interfaces between layers above the ground, upward [m]. friction_velocity u* [m s-1] and mixing_height h
    [m], over 0: (y, x). This is the profile of Troen and Mahrt (1986, Boundary-Layer Meteorol. 37, 129) with power 2, for neutral air.
    """
    z = heights[:, None, None]
    mixed = KARMAN * friction_velocity * z * np.square(1.0 - z / mixing_height)
    return np.where(z < mixing_height, np.maximum(mixed, LEAST), FREE)


class Columns(NamedTuple):
    """How many there are of each. layers: with emissions, from below; wide: columns of a row at a time."""

    species: int
    levels: int
    rows: int
    columns: int
    layers: int
    wide: int


class ColumnArrays(NamedTuple):
    """What mixes, emits and deposits, and what becomes of it: see `Diffusion.step`."""

    thickness: Floats
    air: Floats
    diffusivity: Floats
    emission: Floats
    velocity: Floats
    tracers: Floats
    ledger: Floats


class Elimination(NamedTuple):
    """Scratch.

    Of layer k: exchange, the air that it exchanges with the layer below in the step [kg]; inverse, 1 over the pivot; total, the pivot
    without that exchange. With m the mass of air, total_k = m_k + exchange_(k+1) total_(k+1) inverse_(k+1).
    lone is the mixing ratio if the layer below had none, found downward; q the mixing ratio, found upward. Above the top lies a layer of 0.
    """

    exchange: Floats
    total: Floats
    inverse: Floats
    lone: Floats
    q: Floats


@field_kernel
def solve(shape: Columns, seconds: float, given: ColumnArrays, scratch: Elimination) -> None:
    """One step of all columns, some of a row at a time."""
    species, levels, rows, columns, layers = shape.species, shape.levels, shape.rows, shape.columns, shape.layers
    thickness, air, emission, tracers = given.thickness, given.air, given.emission, given.tracers
    exchange, total, inverse, lone, q = scratch.exchange, scratch.total, scratch.inverse, scratch.lone, scratch.q
    width = columns + 2 * HALO
    plane, area = (rows + 2 * HALO) * width, rows * columns
    for row in range(rows):
        for first in range(0, columns, shape.wide):
            s = min(shape.wide, columns - first)
            base, column = (HALO + row) * width + HALO + first, row * columns + first
            for i in range(s):
                top = levels * s + i
                exchange[i], exchange[top], total[top], inverse[top], lone[top] = 0.0, 0.0, 0.0, 0.0, 0.0
            for k in range(1, levels):
                distance = thickness[k] + thickness[k - 1]
                for i in range(s):
                    p = base + k * plane + i
                    density = air[p] / thickness[k] + air[p - plane] / thickness[k - 1]
                    exchange[k * s + i] = seconds * given.diffusivity[(k - 1) * area + column + i] * density / distance
            for k in range(levels - 1, -1, -1):
                for i in range(s):
                    at = k * s + i
                    total[at] = air[base + k * plane + i] + exchange[at + s] * (total[at + s] * inverse[at + s])
                    inverse[at] = 1.0 / (total[at] + exchange[at])
            for t in range(species):
                here, ground = t * levels * plane + base, t * area + column
                for k in range(layers):
                    for i in range(s):
                        added = seconds * emission[(t * layers + k) * area + column + i]
                        tracers[here + k * plane + i] += added
                        given.ledger[ground + i] += added
                for k in range(levels - 1, 0, -1):
                    for i in range(s):
                        at = k * s + i
                        lone[at] = (tracers[here + k * plane + i] + exchange[at + s] * lone[at + s]) * inverse[at]
                for i in range(s):
                    lost = seconds * (given.velocity[ground + i] / thickness[0]) * air[base + i]
                    q[i] = (tracers[here + i] + exchange[s + i] * lone[s + i]) / (total[i] + lost)
                    tracers[here + i] = air[base + i] * q[i]
                    given.ledger[species * area + ground + i] += lost * q[i]
                for k in range(1, levels):
                    for i in range(s):
                        at = k * s + i
                        q[i] = lone[at] + exchange[at] * inverse[at] * q[i]
                        tracers[here + k * plane + i] = air[base + k * plane + i] * q[i]


class Diffusion:
    """Steps of one box, with their scratch. species, levels, rows, columns: of the own cells; layers: how many get emissions, from below.

    thickness (level,): of the layers, upward [m].
    """

    def __init__(self, species: int, levels: int, rows: int, columns: int, layers: int, thickness: Floats) -> None:
        if levels < 2 or not 0 <= layers <= levels or thickness.shape != (levels,) or not (thickness > 0.0).all():
            raise ModelError(
                f"Diffusion was given {levels} levels, {layers} of them with emissions, and thicknesses {thickness.tolist()}. At least two "
                "levels, at most as many with emissions, and a positive thickness of each [m] were expected."
            )
        self._shape, self._layers, self._thickness = (species, levels, rows, columns), layers, thickness
        self._wide = min(columns, max(16, TILE // levels))
        self._scratch = Elimination(*np.zeros((5, (levels + 1) * self._wide)))

    def step(
        self, seconds: float, air: Floats, diffusivity: Floats, emission: Floats, velocity: Floats, tracers: Floats, ledger: Floats
    ) -> None:
        """Mixes the columns of the own cells, in place, and adds what is emitted and deposited to `ledger`. All arrays are float64.

        Parameters
        ----------
        seconds
            Length of the step [s].
        air, tracers
            Masses (level, y, x) [kg] and (species, level, y, x) [any unit of mass], with halos of 3 cells; level 0 is the lowest.
        diffusivity
            At the interfaces between layers [m2 s-1], (level - 1, y, x) without halos; not negative.
        emission
            Mass of tracer per cell [unit of mass s-1], (species, layer, y, x).
        velocity
            Of deposition [m s-1], (species, y, x); not negative.
        ledger
            What each column gets and loses: (emitted or deposited, species, y, x), in the unit of mass of the tracers.

        Raises
        ------
        ModelError
            An array has another shape.
        """
        species, levels, rows, columns = self._shape
        halos = levels, rows + 2 * HALO, columns + 2 * HALO
        of_air = {"air": (air, halos), "diffusivity": (diffusivity, (levels - 1, rows, columns)), "tracers": (tracers, (species, *halos))}
        of_ground = {"emission": (emission, (species, self._layers, rows, columns)), "velocity": (velocity, (species, rows, columns))}
        check_shapes("Diffusion", **of_air, **of_ground, ledger=(ledger, (2, species, rows, columns)))
        arrays = ColumnArrays(self._thickness, air, diffusivity, emission, velocity, tracers, ledger)
        solve(Columns(*self._shape, self._layers, self._wide), seconds, arrays, self._scratch)
