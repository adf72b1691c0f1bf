"""The mass of air and tracers of the own cells; keeps that of tracers exact, which interpolation does not.

ccm     what interpolation changed most is changed most again (Rasch and Williamson 1990, Q. J. R. Meteorol. Soc. 116); a value may leave
        the range of its tracer by a little
best    each value moves toward the greatest or the least one before the step, as far as interpolation changed it and as far as it is from
        there (after Bermejo and Conde 2002, Mon. Weather Rev. 130); no value leaves that range, or that of interpolation without limits.
        It moves by a tenth of its change at most: else a tracer that hardly changes from step to step would get holes that grow. Mass
        that is still missing comes from all values between the greatest and the least one, a little from each, and then from all others

Sums know no order, so results have the same bits on any number of ranks.
"""

from typing import NamedTuple

import numpy as np

from steppe.array_types import Floats
from steppe.grid import Box
from steppe.kernels import field_kernel
from steppe.models.handed import Reach
from steppe.models.transport.levels import P0, HybridLevels
from steppe.models.transport.paths import within
from steppe.models.transport.sphere import BoxShape, Sphere

MOST = 0.1  # the part of a value that the fixer of CCM may change, and of a change by interpolation that the fixer of `best` may
LITTLE = 0.01  # the part of its distance to the greatest or the least value by which it may move any value between the two


class Layers(NamedTuple):
    """a, b (levels,): mass of air over a square metre is a + b times surface pressure. eta (levels,). area (rows,): of a cell."""

    a: Floats
    b: Floats
    area: Floats
    eta: Floats


@field_kernel
def weigh(shape: BoxShape, layers: Layers, ps_before: Floats, ps_after: Floats, old: Floats, new: Floats, found: Floats) -> None:
    """found (3, levels, rows, columns): mass of the tracer before and after, and the latter times the change by interpolation."""
    levels, rows, columns, a, b, area = shape.levels, shape.rows, shape.columns, layers.a, layers.b, layers.area
    size = levels * rows * columns
    for k in range(levels):
        for r in range(rows):
            for c in range(columns):
                at = r * columns + c
                p = k * rows * columns + at
                after = area[r] * (a[k] + b[k] * ps_after[at]) * new[p]
                found[p] = area[r] * (a[k] + b[k] * ps_before[at]) * old[p]
                found[p + size] = after
                found[p + 2 * size] = after * (layers.eta[k] * abs(new[p] - old[p]))


@field_kernel
def share(levels: int, cells: int, ratio: float, eta: Floats, old: Floats, new: Floats) -> None:
    """Changes values in the ratio of their change, in the way of CCM."""
    for k in range(levels):
        for at in range(cells):
            p = k * cells + at
            part = within(ratio * (eta[k] * abs(new[p] - old[p])), -MOST, MOST)
            new[p] = new[p] * (1.0 + part)


@field_kernel
def room(shape: BoxShape, layers: Layers, bound: float, ps_after: Floats, old: Floats, new: Floats, found: Floats) -> None:
    """found: the mass by which each value may change: as far as the bound is, times its change by interpolation."""
    levels, rows, columns, a, b, area = shape.levels, shape.rows, shape.columns, layers.a, layers.b, layers.area
    for k in range(levels):
        for r in range(rows):
            for c in range(columns):
                at = r * columns + c
                p = k * rows * columns + at
                found[p] = area[r] * (a[k] + b[k] * ps_after[at]) * ((bound - new[p]) * abs(new[p] - old[p]))


@field_kernel
def move(n: int, ratio: float, bound: float, low: float, high: float, old: Floats, new: Floats) -> None:
    """Changes values by a ratio of what they may."""
    for p in range(n):
        new[p] = within(new[p] + ratio * ((bound - new[p]) * abs(new[p] - old[p])), low, high)


@field_kernel
def above(levels: int, cells: int, a: Floats, b: Floats, ps: Floats, values: Floats, found: Floats) -> None:
    """found: the mass of a tracer above a square metre."""
    for at in range(cells):
        found[at] = (a[0] + b[0] * ps[at]) * values[at]
    for k in range(1, levels):
        for at in range(cells):
            found[at] += (a[k] + b[k] * ps[at]) * values[k * cells + at]


class Mass:
    """Of the own cells of a rank. before, after: surface pressure at the two ends of a step [Pa], (y, x); P0 unless they are set."""

    def __init__(self, sphere: Sphere, levels: HybridLevels, box: Box, reach: Reach) -> None:
        self._reach, self._shape = reach, BoxShape(levels.coordinate.size, *box.shape)
        self._layers = Layers(*levels.air, sphere.weights[box.origin[0] : box.origin[0] + box.shape[0]], levels.eta)
        self.before, self.after = np.full(box.shape, P0), np.full(box.shape, P0)
        self._work = np.empty((3, *self._shape))

    def fix(self, scheme: str, limited: bool, old: Floats, new: Floats) -> None:
        """Changes `new` so that its mass is that of `old`, both (levels, y, x), in the way of a scheme.

        limited: no value of `new` lies beyond those of `old`; else they set the range, too.
        """
        highest = lowest = 0.0
        if scheme == "best":
            high, low = (old, old) if limited else (np.maximum(old, new), np.minimum(old, new))
            highest, lowest = self._reach.largest(high, np.negative(low, out=self._work[0]))
            lowest = -lowest
        weigh(self._shape, self._layers, self.before, self.after, old, new, self._work)
        had, has, changed = self._reach.total(*self._work)
        if scheme == "ccm" and changed != 0.0:
            share(self._shape.levels, self.before.size, (had - has) / changed, self._layers.eta, old, new)
        if lowest < highest:
            bound, far = (highest, lowest) if had > has else (lowest, highest)
            missing = self._move(had - has, MOST, bound, far, old, new)
            if missing:
                missing = self._move(missing, LITTLE, bound, far, np.full_like(new, far), new)
            if missing:
                self._move(missing, 1.0, bound, far, new + (highest - lowest), new)

    def _move(self, missing: float, most: float, bound: float, far: float, old: Floats, new: Floats) -> float:
        """Moves values toward `bound`, by the part `most` of how far they are from `old` at most; returns the mass that is still missing.

        far: the other end of their range.
        """
        room(self._shape, self._layers, bound, self.after, old, new, self._work[0])
        free = self._reach.total(self._work[0])
        if free == 0.0:
            return missing
        wanted, limit = missing / free, most / abs(bound - far)
        move(old.size, min(wanted, limit), bound, min(bound, far), max(bound, far), old, new)
        return missing - limit * free if wanted > limit else 0.0

    def column(self, values: Floats, found: Floats) -> None:
        """found (y, x): the mass of a tracer above a square metre at the end of the step."""
        above(self._shape.levels, found.size, self._layers.a, self._layers.b, self.after, values, found)
