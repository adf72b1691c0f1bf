"""The column of air: its levels, and how much air they hold at a surface pressure and a temperature.

Pressure falls from interface to interface by the hydrostatic law, p(k + 1) = p(k) exp(-g dz / (R T)), with the temperature of the level
between them; that of the lowest level counts three quarters, that of the surface one quarter.
"""

from collections.abc import Mapping
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from steppe.array_types import Floats
from steppe.errors import ModelError
from steppe.levels import Space
from steppe.models.air.conditions import BOLTZMANN
from steppe.models.air.rates import GAS

GRAVITY = 9.80665  # [m s-2] standard, CGPM 1901
AIR = 0.0289647  # [kg mol-1] dry air; Picard et al. (2008), Metrologia 45, 149
PER_KG = 1e-6 * GAS / BOLTZMANN / AIR  # [molecule cm-3] of a density of 1 kg m-3
NAMES = ("level", "height", "lev", "z", "altitude")
UNITS = {"m": 1.0, "metre": 1.0, "meter": 1.0, "km": 1000.0}


class HeightLevels(NamedTuple):
    """thickness (level,) [m], from the ground up; space: as users see the levels."""

    thickness: Floats
    space: Space

    @classmethod
    def of(cls, middles: Floats) -> "HeightLevels":
        """Levels around heights above the ground [m], (level,): each ends as far above its height as it begins below.

        Raises
        ------
        ModelError
            There are fewer than two, or no such levels: a thickness is not positive.
        """
        edges = [0.0]
        for middle in middles:
            edges.append(2.0 * float(middle) - edges[-1])
        thickness = np.diff(edges)
        if len(thickness) < 2 or not (thickness > 0.0).all():
            told = ", ".join(f"{middle:g}" for middle in middles[:8]) + (" ..." if len(middles) > 8 else "")
            raise ModelError(
                f"The meteorology has levels at {told} m. Levels from the ground up are expected, two or more, each of whose heights lies "
                "in its middle, such as 50, 150, 250 m."
            )
        ends = tuple((float(low), float(high)) for low, high in pairwise(edges))
        return cls(thickness, Space(tuple(map(float, middles)), "m", "height", "up", ends))

    @classmethod
    def of_fields(cls, columns: Mapping[str, tuple[Floats, str]]) -> "HeightLevels":
        """The levels of meteorology. columns: name -> values and unit of what it has without time and place.

        Raises
        ------
        ModelError
            It does not say the heights of its levels.
        """
        for values, unit in (columns[name] for name in NAMES if name in columns):
            if unit in UNITS and np.ndim(values) == 1:
                heights = values * UNITS[unit]
                return cls.of(heights if heights[0] < heights[-1] else heights[::-1])
        raise ModelError(
            'The meteorology does not say the heights of its levels. Give it a coordinate "level" [m], the middle of each above the ground.'
        )

    def air(self, surface_pressure: Floats, temperature: Floats, surface_temperature: Floats) -> Floats:
        """Air in each level [kg m-2], (level, y, x), of pressure [Pa] and temperatures [K]; these may be float32."""
        pressure = surface_pressure.astype(np.float64)
        found = np.empty(temperature.shape)
        for k, thickness in enumerate(self.thickness):
            T = temperature[k].astype(np.float64)
            if k == 0:
                T = 0.25 * surface_temperature + 0.75 * T
            above = pressure * np.exp(-GRAVITY * AIR / GAS * thickness / T)
            found[k] = (pressure - above) / GRAVITY
            pressure = above
        return found

    def density(self, air: Floats) -> Floats:
        """[molecule cm-3] of air in each level [kg m-2], (level, y, x)."""
        return air * (PER_KG / self.thickness[:, None, None])
