"""Tracers that the wind carries on levels: what flows over the sides of each cell, first-order upwind (Courant, Isaacson and Rees 1952).

    d/dt q = - d/dx (u q) - d/dy (v q) - decay q

The winds come from a store of fields. They are taken half-way between two cells; each carries what there is on the side that it comes
from. Over the edge of the grid comes what its last cells hold. The scheme is stable while the wind passes less than half a cell a step.
"""

from collections.abc import Mapping
from typing import Any, Self

import numpy as np

from steppe.models import Array, FieldModel, Needs, Role, Space, Variable

LEVELS = Space((1000.0, 850.0, 700.0, 500.0), "hPa", "air_pressure", "down")
LYX = ("level", "y", "x")
NAMES = ("smoke", "dust", "ozone")


def tracer(name: str) -> Variable:
    """How much there is of a tracer."""
    return Variable(name, LYX, "ug m-3", "float64", Role.STATE, f"{name} in the air", low=0.0, initial=0.0)


def decay(name: str) -> Variable:
    """How fast it goes."""
    return Variable(f"decay_{name}", (), "d-1", "float64", Role.PARAMETER, f"decay of {name}", low=0.0, high=100.0, initial=0.0)


def wind(name: str, toward: str, parity: int) -> Variable:
    """A component of the wind; parity -1: it changes sign beyond a pole."""
    standard_name = f"{toward}ward_wind"
    return Variable(
        *(name, LYX, "m s-1", "float32", Role.FORCING, f"wind to the {toward}", standard_name), low=-150.0, high=150.0, parity=parity
    )


def carried(q: Array, wind: Array, before: Any, behind: Any) -> Array:
    """What the wind carries from the cells before a side to those behind it."""
    over: Array = 0.5 * (wind[before] + wind[behind])
    found: Array = np.maximum(over, 0.0) * q[before] + np.minimum(over, 0.0) * q[behind]
    return found


class Tracers(FieldModel):
    """Tracers on levels."""

    name = "tracers"
    version = "1"
    needs = Needs(unit="boxes", halo={"y": 1, "x": 1})
    spaces: Mapping[str, Space] = {"level": LEVELS}

    def __init__(self, names: tuple[str, ...] = NAMES) -> None:
        spacing = Variable("spacing", (), "m", "float64", Role.PARAMETER, "width of a cell", low=1.0, initial=50e3)
        declared = [*map(tracer, names), *map(decay, names), spacing, wind("u", "east", 1), wind("v", "north", -1)]
        self.variables = {variable.name: variable for variable in declared}

    @classmethod
    def of(cls, table: dict[str, Any]) -> Self:
        """[parameters] tracers = ["radon", "dust"] takes the place of the three."""
        return cls(tuple(table.pop("tracers", NAMES)))

    def compute(self, where: tuple[slice, ...]) -> None:
        """One step of a rectangle of the box, on all levels."""
        y, x = where
        here = ..., y, x
        west, east = (..., y, slice(x.start - 1, x.stop - 1)), (..., y, slice(x.start + 1, x.stop + 1))
        north, south = (..., slice(y.start - 1, y.stop - 1), x), (..., slice(y.start + 1, y.stop + 1), x)
        u, v, share = self.forcing["u"], self.forcing["v"], self.seconds / self.parameters["spacing"]
        for name, q in self.before.items():
            along = carried(q, u, west, here) - carried(q, u, here, east)
            across = carried(q, v, south, here) - carried(q, v, here, north)
            left = 1.0 - self.parameters[f"decay_{name}"] * self.seconds / 86400.0
            self.after[name][here] = left * (q[here] + share * (along + across))


MODEL = Tracers
