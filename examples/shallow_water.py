"""Shallow water on a plane: waves of a layer of water under gravity.

    d/dt h      + d/dx flow_x                    + d/dy flow_y                    = 0
    d/dt flow_x + d/dx (flow_x^2 / h + g h^2 / 2) + d/dy (flow_x flow_y / h)       = 0
    d/dt flow_y + d/dx (flow_x flow_y / h)       + d/dy (flow_y^2 / h + g h^2 / 2) = 0

The scheme of Lax and Wendroff in two steps (Richtmyer 1962) and two dimensions (Zwas 1972): half a step to the corners of the cells,
from there a whole one. It is of second order in space and time, and stable for waves that pass at most one cell a step. What leaves one
cell enters the next, so water is kept; walls reflect. x runs along rows, y along columns, downwards. Beyond a pole the plane is folded:
there lies the same row half way round, where columns run back, so flow_y changes sign.
"""

from collections.abc import Mapping

import numpy as np

from steppe.models import Array, FieldModel, Needs, Role, Variable


def state(name: str, units: str, long_name: str, initial: float, toward: str = "", parity: int = 1) -> Variable:
    """A field of the model. toward: of a component of the flow, where it points; parity -1: it changes sign beyond a pole."""
    vector = ("flow", toward) if toward else None
    return Variable(name, ("y", "x"), units, "float64", Role.STATE, long_name, initial=initial, parity=parity, vector=vector)


def parameter(name: str, units: str, long_name: str, initial: float) -> Variable:
    """One number for the whole plane."""
    return Variable(name, (), units, "float64", Role.PARAMETER, long_name, low=0.0, initial=initial)


def mean(q: Array, axis: int) -> Array:
    """Half-way between neighbours along an axis: one fewer than there are cells."""
    return 0.5 * (q[along(axis, slice(None, -1))] + q[along(axis, slice(1, None))])


def change(q: Array, axis: int) -> Array:
    """From one neighbour to the next along an axis."""
    return q[along(axis, slice(1, None))] - q[along(axis, slice(None, -1))]


def along(axis: int, part: slice) -> tuple[slice, ...]:
    """The index of a part of y (axis 0) or x (axis 1) of (fields, y, x)."""
    return (slice(None), part, slice(None)) if axis == 0 else (slice(None), slice(None), part)


class ShallowWater(FieldModel):
    """Depth and flow of a layer of water."""

    name = "shallow_water"
    version = "1"
    needs = Needs(unit="boxes", halo={"y": 1, "x": 1})
    variables: Mapping[str, Variable] = {
        "h": state("h", "m", "depth of the water", 1.0),
        "flow_x": state("flow_x", "m2 s-1", "depth times velocity along rows", 0.0, "east"),
        "flow_y": state("flow_y", "m2 s-1", "depth times velocity along columns", 0.0, "south", parity=-1),
        "gravity": parameter("gravity", "m s-2", "acceleration of gravity", 9.80665),
        "spacing": parameter("spacing", "m", "width of a cell", 1000.0),
        "seconds": parameter("seconds", "s", "length of a step", 100.0),
    }

    def mirror(self) -> None:
        """What flows against a wall comes back from behind it."""
        for mirror in self.box.mirrors:
            for field in self.now:
                field[mirror.target] = field[mirror.source]
            self.now[2 - mirror.axis][mirror.target] *= -1.0

    def fluxes(self, q: Array) -> tuple[Array, Array]:
        """What passes along y and x, (fields, y, x) each."""
        h, flow_x, flow_y = q
        pressure = 0.5 * self.parameters["gravity"] * h * h
        return (
            np.stack([flow_y, flow_x * flow_y / h, flow_y * flow_y / h + pressure]),
            np.stack([flow_x, flow_x * flow_x / h + pressure, flow_x * flow_y / h]),
        )

    def divergence(self, q: Array) -> Array:
        """What the fluxes of a step carry away from between the points of q, (fields, y - 1, x - 1)."""
        down, right = self.fluxes(q)
        leaving: Array = self.parameters["seconds"] / self.parameters["spacing"] * (change(mean(down, 1), 0) + change(mean(right, 0), 1))
        return leaving

    def compute(self, where: tuple[slice, ...]) -> None:
        """One step of a rectangle of the box."""
        y, x = where
        around = self.now[:, y.start - 1 : y.stop + 1, x.start - 1 : x.stop + 1]
        corners = mean(mean(around, 0), 1) - 0.5 * self.divergence(around)
        self.new[:, y, x] = self.now[:, y, x] - self.divergence(corners)


MODEL = ShallowWater
