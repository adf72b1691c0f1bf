"""Vertical diffusion with emission and deposition, of all columns: backward Euler in mass form, one tridiagonal solve a column and species.

For the mixing ratio q of level k, with the air m_k [kg] of the level and what diffusion exchanges in a step between levels k and k + 1,
w_k = dt A rho K / dz [kg]:

    m_k q_k + w_{k-1} (q_k - q_{k-1}) + w_k (q_k - q_{k+1}) + [k = 0] d q_0 = m_k q_k(before) + e_k

e_k: emitted mass of tracer in the step; d = dt A rho v_d: what deposition takes out of the lowest level. Nothing passes the top. It is
positive for any step. Level 0 is the lowest. Elimination after Thomas (Press et al. 2007, Numerical Recipes, section 2.4), over columns.
"""

import numpy as np
from numpy.typing import NDArray

from steppe.kernels import field_kernel

Floats = NDArray[np.float64]
KARMAN = 0.4  # [1] von Karman's constant
LEAST_BELOW, FREE = 0.1, 1.0  # [m2 s-1] at least below the mixing height; in the free air above


def diffusivity(height: Floats, mixing_height: Floats, friction_velocity: Floats) -> Floats:
    """K (interfaces, columns) [m2 s-1] at heights (interfaces,) [m]; mixing height [m] and friction velocity [m s-1] (columns,).

    K = 0.4 u* z (1 - z/h)^2 below h (O'Brien 1970, J. Atmos. Sci. 27, 1213, in its simple form), 1 m2/s above.
    """
    z = height[:, None]
    below = KARMAN * friction_velocity * z * np.square(1.0 - z / mixing_height)
    found: Floats = np.where(z < mixing_height, np.maximum(below, LEAST_BELOW), FREE)
    return found


class Diffusion:
    """The solves of some columns. levels, columns: of the own cells."""

    def __init__(self, levels: int, columns: int) -> None:
        self._factors, self._line = np.empty((2, levels, columns)), np.empty((2, levels, columns))

    def step(self, air: Floats, exchange: Floats, tracers: Floats, emitted: Floats, taking: Floats, deposited: Floats) -> None:
        """One step of all species.

        Parameters
        ----------
        air
            (levels, columns) [kg].
        exchange
            (levels - 1, columns) [kg]: w of each interface.
        tracers
            (species, levels, columns): masses of tracers, in any unit; changed in place.
        emitted
            (species, levels, columns): what is emitted in the step, in the same unit.
        taking
            (species, columns) [kg]: d, the air that deposition clears of the species in the step.
        deposited
            (species, columns): what deposition took is added.
        """
        species, levels, columns = tracers.shape
        solve(species, levels, columns, air, exchange, tracers, emitted, taking, deposited, *self._factors, *self._line)


@field_kernel
def solve(
    species: int,
    levels: int,
    columns: int,
    air: Floats,
    exchange: Floats,
    tracers: Floats,
    emitted: Floats,
    taking: Floats,
    deposited: Floats,
    inverse: Floats,
    ratio: Floats,
    right: Floats,
    q: Floats,
) -> None:
    """See `Diffusion.step`. From the top down, so that the factors of all levels but the lowest are the same for all species."""
    for k in range(levels - 1, -1, -1):
        for i in range(columns):
            at = k * columns + i
            whole = air[at]
            if k > 0:
                whole += exchange[at - columns]
            if k < levels - 1:
                whole += exchange[at] - exchange[at] * ratio[at + columns]
            inverse[at] = 1.0 / whole
            if k > 0:
                ratio[at] = exchange[at - columns] * inverse[at]
    for t in range(species):
        here, line = t * levels * columns, t * columns
        for k in range(levels - 1, -1, -1):
            for i in range(columns):
                at = k * columns + i
                right[at] = tracers[here + at] + emitted[here + at]
            if k < levels - 1:
                for i in range(columns):
                    at = k * columns + i
                    right[at] = right[at] + ratio[at + columns] * right[at + columns]
        for i in range(columns):
            q[i] = right[i] / (1.0 / inverse[i] + taking[line + i])
            deposited[line + i] += taking[line + i] * q[i]
            tracers[here + i] = air[i] * q[i]
        for k in range(1, levels):
            for i in range(columns):
                at = k * columns + i
                q[at] = right[at] * inverse[at] + ratio[at] * q[at - columns]
                tracers[here + at] = air[at] * q[at]
