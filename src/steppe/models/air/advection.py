"""Advection of many species in sweeps along x, y and z: piecewise parabolic method (Colella and Woodward 1984, J. Comput. Phys. 54, 174).

A sweep moves tracer mass and air mass by the same air-mass fluxes (Easter 1993, Mon. Weather Rev. 121, 297). What goes through a face is
the air that goes through it times the mean mixing ratio of the volume that it leaves. A constant mixing ratio stays constant in any wind,
the mass of a tracer is kept, and no mixing ratio leaves the range of its neighbours. Parabolas are those of equal cells: neighbours are
taken for equally wide, also where their masses differ.

Shapes: `air` (level, y, x) and `tracers` (species, level, y, x) have halos of 3 cells in y and x; level 0 is the lowest. Fluxes are of the
faces of the own cells, positive toward greater indices: x (level, y, x + 1), y (level, y + 1, x), z (level + 1, y, x). All are float64.
Air, its fluxes [kg] and tracers [any unit of mass] are masses: a flux is what passes in the time of one sub-cycle.
"""

from math import ceil, isfinite
from typing import Literal

import numpy as np

from steppe.errors import ModelError
from steppe.models.air.sweeps import HALO, Floats, across_rows, along_rows

Axis = Literal["x", "y", "z"]
AXES = {"z": 0, "y": 1, "x": 2}
TILE = 2048  # cells of a tile, about, so that its scratch stays in the cache


def own(values: Floats) -> Floats:
    """The cells of (..., y, x) without their halos in y and x, a view."""
    return values[..., HALO:-HALO, HALO:-HALO]


def courant(axis: Axis, air: Floats, flux: Floats) -> float:
    """The greatest Courant number of a direction: a sweep needs so many sub-cycles, rounded up.

    It is the mass that leaves a cell over the mass in it before, or the mass that enters over the mass in it afterwards, whichever is
    greater. For n sub-cycles with n-th parts of the flux this is the condition that no cell ever gives away more than it has.

    Raises
    ------
    ModelError
        The flux takes all air of a cell, or is not finite: no number of sub-cycles would do.
    """
    cells, along = own(air), AXES[axis]
    first, last = np.delete(flux, -1, along), np.delete(flux, 0, along)
    leaves = np.maximum(last, 0.0) - np.minimum(first, 0.0)
    enters = np.maximum(first, 0.0) - np.minimum(last, 0.0)
    left = cells - (last - first)
    if not (left > 0.0).all():
        level, row, column = (int(index) for index in np.argwhere(~(left > 0.0))[0])
        air_left, air_there = left[level, row, column], cells[level, row, column]
        raise ModelError(
            f"The wind along {axis} leaves {air_left:g} kg of the {air_there:g} kg of air in level {level}, row {row}, column {column} of "
            "a box; more than 0 was expected. Take a shorter step, or correct the wind."
        )
    return float(max((leaves / cells).max(), (enters / left).max()))


def subcycles(number: float) -> int:
    """Sub-cycles of a sweep with this Courant number, the greatest of all ranks.

    Raises
    ------
    ModelError
        It is not finite.

    >>> subcycles(0.0), subcycles(1.0), subcycles(1.2)
    (1, 1, 2)
    """
    if not isfinite(number):
        raise ModelError(f"The Courant number of the wind is {number}; a finite number was expected. Look for gaps in air mass and wind.")
    return max(1, ceil(number))


class Advection:
    """The sweeps over one box, with their scratch. species, levels, rows, columns: of the own cells."""

    def __init__(self, species: int, levels: int, rows: int, columns: int) -> None:
        self._shape = species, levels, rows, columns
        width, plane = columns + 2 * HALO, (rows + 2 * HALO) * (columns + 2 * HALO)
        self._begin, self._width, self._plane = HALO * width + HALO, width, plane
        self._lines = min(rows, max(1, TILE // width))
        self._wide = {"y": self._columns(rows), "z": self._columns(levels)}
        sizes = self._lines * width, *(wide * (n + 2 * HALO) for wide, n in zip(self._wide.values(), (rows, levels), strict=True))
        self._scratch = np.zeros((8, max(sizes)))
        self._nothing = np.zeros(0)

    def _columns(self, length: int) -> int:
        return min(self._shape[3], max(16, TILE // (length + 2 * HALO)))

    def ledger(self, axis: Literal["x", "y"]) -> Floats:
        """Zeros for what goes (in or out, species, first or last side, level, y or x) of the box along an axis."""
        species, levels, rows, columns = self._shape
        return np.zeros((2, species, 2, levels, rows if axis == "x" else columns))

    def sweep(self, axis: Axis, air: Floats, flux: Floats, tracers: Floats, ledger: Floats | None = None) -> None:
        """Moves air and tracers along one axis, in place. Halos along the axis must be filled before, and are old afterwards.

        A Courant number over 1 is not checked here; see `courant`. Rounding may leave less than nothing in a cell that is emptied: it
        becomes 0. ledger: of `ledger`, for a sweep along x or y. The tracer mass that passes each side of the box, in or out, is added.

        Raises
        ------
        ModelError
            An array has another shape, or a sweep along x or y has no ledger.
        """
        species, levels, rows, columns = self._shape
        faces = tuple(n + (name == axis) for n, name in zip((levels, rows, columns), AXES, strict=True))
        halos = levels, rows + 2 * HALO, columns + 2 * HALO
        shapes = {"air": (air, halos), "flux": (flux, faces), "tracers": (tracers, (species, *halos))}
        if axis != "z":
            shapes["ledger"] = (self._nothing if ledger is None else ledger, self.ledger(axis).shape)
        for name, (given, expected) in shapes.items():
            if given.shape != expected:
                raise ModelError(f'A sweep along {axis} takes "{name}" of shape {expected}, it was given one of {given.shape}.')
        through = self._nothing if ledger is None else ledger
        arrays = (air, flux, tracers, through, *self._scratch)
        volume = levels * self._plane
        if axis == "x":
            along_rows(species, levels, rows, columns, self._lines, *arrays)
        elif axis == "y":
            steps = self._plane, self._width, self._begin, (rows + 1) * columns, columns
            across_rows(species, levels, rows, columns, self._wide["y"], 0, *steps, volume, *arrays)
        else:
            steps = self._width, self._plane, self._begin, columns, rows * columns
            across_rows(species, rows, levels, columns, self._wide["z"], 1, *steps, volume, *arrays)
