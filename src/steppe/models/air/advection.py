"""Advection of many species in sweeps along x, y and z: piecewise parabolic method (Colella and Woodward 1984, J. Comput. Phys. 54, 174).

A sweep moves tracer mass and air mass by the same air-mass fluxes (Easter 1993, Mon. Weather Rev. 121, 297). What goes through a face is
the air that goes through it times the mean mixing ratio of the volume that it leaves. A constant mixing ratio stays constant in any wind,
the mass of a tracer is kept, and no mixing ratio leaves the range of its neighbours. Parabolas are those of equal cells: neighbours are
taken for equally wide, also where their masses differ.

Shapes: `air` (level, y, x) and `tracers` (species, level, y, x) have halos of 3 cells in y and x; level 0 is the lowest. Fluxes are of the
faces of the own cells, positive toward greater indices: x (level, y, x + 1), y (level, y + 1, x), z (level + 1, y, x). All are float64.
Air, its fluxes [kg] and tracers [any unit of mass] are masses: a flux is what passes in the time of one sub-cycle.
"""

from typing import Literal

import numpy as np

from steppe.array_types import Floats
from steppe.models.air.sweeps import HALO, Tile, Walk, check_shapes, sweep_tiles

Axis = Literal["x", "y", "z"]
AXES = {"z": 0, "y": 1, "x": 2}
TILE = 2048  # cells of a tile, about, so that its scratch stays in the cache


def own(values: Floats) -> Floats:
    """The cells of (..., y, x) without their halos in y and x, a view."""
    return values[..., HALO:-HALO, HALO:-HALO]


def courant(axis: Axis, air: Floats, flux: Floats) -> Floats:
    """The Courant number of each own cell along an axis: the greatest, rounded up, is how many sub-cycles a sweep needs.

    It is the mass that leaves a cell over the mass in it before, or the mass that enters over the mass in it afterwards, whichever is
    greater. For n sub-cycles with n-th parts of the flux this is the condition that no cell ever gives away more than it has. Infinite
    where the flux takes all air of a cell, or is not finite.
    """
    cells, along = own(air), AXES[axis]
    first, last = np.delete(flux, -1, along), np.delete(flux, 0, along)
    leaves = np.maximum(last, 0.0) - np.minimum(first, 0.0)
    enters = np.maximum(first, 0.0) - np.minimum(last, 0.0)
    left = cells - (last - first)
    with np.errstate(all="ignore"):
        return np.where(left > 0.0, np.maximum(leaves / cells, enters / left), np.inf)


def fill_boundary(axis: Axis, last: bool, air: Floats, flux: Floats, ratio: Floats, tracers: Floats) -> None:
    """Fills the halos of a box behind its first or last side along x or y, in place; before each sweep there, where the domain ends.

    Air that comes in has the mixing ratio of the boundary, air that leaves that of the edge cell. air, flux, tracers: as in
    `SweepAdvection.sweep`, flux along the axis. ratio (species,): of the air that comes in, mass of tracer over mass of air. All three
    cells are alike, so what goes out is that of the scheme of first order there.
    """
    if axis == "y":  # the same with views
        air, flux, tracers = air.swapaxes(1, 2), flux.swapaxes(1, 2), tracers.swapaxes(2, 3)
    edge, outward = (-HALO - 1, 1) if last else (HALO, -1)
    enters = flux[..., -1] < 0.0 if last else flux[..., 0] > 0.0
    of_edge = air[:, HALO:-HALO, edge]
    mass = np.where(enters, ratio[:, None, None] * of_edge, tracers[:, :, HALO:-HALO, edge])
    for at in range(edge + outward, edge + outward * (HALO + 1), outward):
        air[:, HALO:-HALO, at], tracers[:, :, HALO:-HALO, at] = of_edge, mass


class SweepAdvection:
    """The sweeps over one box, with their scratch. species, levels, rows, columns: of the own cells."""

    def __init__(self, species: int, levels: int, rows: int, columns: int) -> None:
        self._shape = species, levels, rows, columns
        slabs_and_lines: dict[Axis, tuple[Axis, Axis]] = {"x": ("z", "y"), "y": ("z", "x"), "z": ("y", "x")}
        self._walks = {axis: self._walk(axis, *others) for axis, others in slabs_and_lines.items()}
        most = max(walk.wide * (walk.length + 2 * HALO) for walk in self._walks.values())
        self.tile = Tile(*np.zeros((len(Tile._fields), most)))

    def _walk(self, axis: Axis, slab: Axis, line: Axis) -> Walk:
        """A sweep along an axis; along which axes its slabs and its lines follow each other."""
        species, levels, rows, columns = self._shape
        width, plane = columns + 2 * HALO, (rows + 2 * HALO) * (columns + 2 * HALO)
        cells, steps = {"z": levels, "y": rows, "x": columns}, {"z": plane, "y": width, "x": 1}
        _, of_rows, of_columns = self._faces(axis)
        flux_steps = {"z": of_rows * of_columns, "y": of_columns, "x": 1}
        row, fewest = (line, 1) if axis == "x" else (axis, 16)
        wide = min(cells[line], max(fewest, TILE // (cells[axis] + 2 * HALO)))
        counts = species, cells[slab], cells[line], cells[axis], wide, int(axis == "x"), int(axis == "z")
        to_next = [each[at] for each in (steps, flux_steps) for at in (slab, line, row)]
        return Walk._make([*counts, HALO * width + HALO, *to_next, levels * plane])

    def _faces(self, axis: Axis) -> tuple[int, ...]:
        """The shape of a flux along an axis."""
        return tuple(n + (name == axis) for n, name in zip(self._shape[1:], AXES, strict=True))

    def ledger(self, axis: Axis) -> Floats:
        """Zeros for what goes (in or out, species, first or last side, level, y or x) of the box; (in or out, species, y, x) of its top."""
        return np.zeros(self._ledger_shape(axis))

    def _ledger_shape(self, axis: Axis) -> tuple[int, ...]:
        species, levels, rows, columns = self._shape
        return (2, species, rows, columns) if axis == "z" else (2, species, 2, levels, rows if axis == "x" else columns)

    def sweep(self, axis: Axis, air: Floats, flux: Floats, tracers: Floats, ledger: Floats, above: Floats | None = None) -> None:
        """Moves air and tracers along one axis, in place. Halos along the axis must be filled before, and are old afterwards.

        A Courant number over 1 is not checked here; see `courant`. Rounding may leave less than nothing in a cell that is emptied: it
        becomes 0. ledger: of `ledger`; the tracer mass that passes each side of the box, in or out, is added. above (species,): mixing
        ratio of the air that comes in at the top in a sweep along z; 0 if it is not given. Nothing passes the ground.

        Raises
        ------
        ModelError
            An array has another shape.
        """
        species, levels, rows, columns = self._shape
        halos = levels, rows + 2 * HALO, columns + 2 * HALO
        of_air = {"air": (air, halos), "flux": (flux, self._faces(axis)), "tracers": (tracers, (species, *halos))}
        check_shapes(f"A sweep along {axis}", **of_air, ledger=(ledger, self._ledger_shape(axis)))
        incoming = np.zeros(species) if above is None else above
        sweep_tiles(self._walks[axis], air, flux, tracers, incoming, ledger, self.tile)
