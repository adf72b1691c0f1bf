"""Advection of many species in sweeps along x, y and z: piecewise parabolic method (Colella and Woodward 1984, J. Comput. Phys. 54, 174).

A sweep moves tracer mass and air mass by the same air-mass fluxes (Easter 1993, Mon. Weather Rev. 121, 297). What goes through a face is
the air that goes through it times the mean mixing ratio of the volume that it leaves. A constant mixing ratio stays constant in any wind,
the mass of a tracer is kept, and no mixing ratio leaves the range of its neighbours. Parabolas are those of equal cells: neighbours are
taken for equally wide, also where their masses differ.

Shapes: `air` (level, y, x) and `tracers` (species, level, y, x) have halos of 3 cells in y and x; level 0 is the lowest. Fluxes are of the
faces of the own cells, positive toward greater indices: x (level, y, x + 1), y (level, y + 1, x), z (level + 1, y, x). All are float64.
Air, its fluxes [kg] and tracers [any unit of mass] are masses: a flux is what passes in the time of one sub-cycle.

In the loops a tile is some lines of cells along the wind with three more cells at each end, copied into scratch as mixing ratios. Two
neighbours in a line lie `s` elements apart. Every loop of `fluxes` runs over consecutive elements of the whole tile, so that it becomes
vector code.
"""

from typing import Any, Literal, NamedTuple

import numpy as np

from steppe.array_types import Floats
from steppe.errors import ModelError
from steppe.kernels import field_kernel
from steppe.kernels.vecmath import where

Axis = Literal["x", "y", "z"]
AXES = {"z": 0, "y": 1, "x": 2}
TILE = 2048  # cells of a tile, about, so that its scratch stays in the cache
HALO = 3  # cells that the flux through a face reads on either side of it
SIXTH = 1.0 / 6.0


def check_shapes(what: str, **arrays: tuple[Floats, tuple[int, ...]]) -> None:
    """Raises `ModelError` for an array that has another shape than is expected. arrays: name -> it, and that shape."""
    for name, (given, expected) in arrays.items():
        if given.shape != expected:
            raise ModelError(f'{what} takes "{name}" of shape {expected}, it was given one of {given.shape}.')


class Tile(NamedTuple):
    """Scratch.

    inverse: 1 over the air of a cell. face: air through the face before it; near, far: see `parts`. q: mixing ratio, with its slope and the
    edge before it. moved: tracer through the face.
    """

    inverse: Floats
    face: Floats
    near: Floats
    far: Floats
    q: Floats
    slope: Floats
    edge: Floats
    moved: Floats


class Walk(NamedTuple):
    """How a sweep goes through a box, a tile after the other.

    A slab is a level of a sweep along x or y, a row of one along z. It has `lines` along the wind, of `length` cells; a tile has at most
    `wide` of them. in_rows: 1 along x, where a row of the tile is a line; along y and z it has a cell of each line. upward: 1 along z,
    where there are no halos: below the ground lies what the lowest cell holds, and above the top the mixing ratio of the air there. begin:
    the first own cell; slab_step, line_step, row_step: from a slab, a line and a row of a tile to the next one, in air and in each of the
    tracers, and then in the flux. volume: elements of one tracer.
    """

    species: int
    slabs: int
    lines: int
    length: int
    wide: int
    in_rows: int
    upward: int
    begin: int
    slab_step: int
    line_step: int
    row_step: int
    flux_slab_step: int
    flux_line_step: int
    flux_row_step: int
    volume: int


def least(a: float, b: float) -> Any:
    """The lesser number, in one instruction; `min` of a compiled loop takes three, for NaN."""
    return where(a < b, a, b)


def most(a: float, b: float) -> Any:
    """The greater number, in one instruction."""
    return where(a > b, a, b)


def limited_slope(before: float, after: float) -> Any:
    """Colella and Woodward (1984), equations 1.7 and 1.8, of the differences to both neighbours; 0 where these differ in sign."""
    middle, twice_before, twice_after = 0.5 * (before + after), 2.0 * before, 2.0 * after
    rising = least(middle, least(twice_before, twice_after))
    falling = most(middle, most(twice_before, twice_after))
    return most(rising, 0.0) + least(falling, 0.0)


def held(x: float, other: float) -> Any:
    """An edge minus the mean of its cell, so that the parabola is monotone; Colella and Woodward (1984), equation 1.10.

    It becomes 0 if the other edge has the same sign, and at most -2 times the other.
    """
    bound = -2.0 * other
    return most(least(bound, 0.0), least(x, most(bound, 0.0)))


def parts(n: int, s: int, tile: Tile) -> None:
    """The weights of both edges of the upwind cell in the mean of the swept volume, of each face of a tile.

    With C, the swept part of the cell's mass, the mean of the parabola is mean + near (edge - mean) - far (other edge - mean), where
    near = (1-C)^2 and far = C (1-C): equation 1.12 of Colella and Woodward (1984), in other words.
    """
    inverse, face, near, far = tile.inverse, tile.face, tile.near, tile.far
    for p in range(s, n):
        courant = abs(face[p]) * where(face[p] > 0.0, inverse[p - s], inverse[p])
        near[p] = (1.0 - courant) * (1.0 - courant)
        far[p] = courant * (1.0 - courant)


def fluxes(n: int, s: int, tile: Tile) -> None:
    """Tracer mass that goes through each face, before element p, from mixing ratios q; at 3s <= p < n - 2s."""
    q, slope, edge, face, near, far, moved = tile.q, tile.slope, tile.edge, tile.face, tile.near, tile.far, tile.moved
    for p in range(s, n - s):
        slope[p] = limited_slope(q[p] - q[p - s], q[p + s] - q[p])
    for p in range(2 * s, n - s):
        edge[p] = 0.5 * (q[p - s] + q[p]) + SIXTH * (slope[p - s] - slope[p])  # equation 1.6
    for p in range(3 * s, n - 2 * s):
        forward = face[p] > 0.0
        mean = where(forward, q[p - s], q[p])
        front, back = edge[p] - mean, where(forward, edge[p - s], edge[p + s]) - mean
        moved[p] = face[p] * (mean + (near[p] * held(front, back) - far[p] * held(back, front)))


def record(flow: float, at: int, size: int, sign: float, through: Floats) -> None:
    """Adds a flow through an end of a line to what went in there, or to what went out. sign: 1 where a positive flow goes in."""
    through[at] += most(sign * flow, 0.0)
    through[at + size] += most(-sign * flow, 0.0)


def row_of(walk: Walk, j: int) -> Any:
    """Where row j of the own cells lies, from the first one; along z rows beyond the ends are the last ones."""
    return where(walk.upward > 0, max(0, min(j, walk.length - 1)), j) * walk.row_step


@field_kernel
def sweep_tiles(walk: Walk, air: Floats, flux: Floats, tracers: Floats, above: Floats, ledger: Floats, tile: Tile) -> None:
    """Along any axis. A tile is some lines with three more cells at each end.

    above (species,): mixing ratio of the air over the top. Others: see `SweepAdvection.sweep`, `Walk`, `Tile`.
    """
    species, slabs, lines, length, in_rows, upward = walk.species, walk.slabs, walk.lines, walk.length, walk.in_rows, walk.upward
    inverse, face, q, moved = tile.inverse, tile.face, tile.q, tile.moved
    whole = length + 2 * HALO
    sides = where(upward > 0, 1, 2)  # that are recorded: of a column only its top
    size = sides * species * slabs * lines
    for slab in range(slabs):
        for first in range(0, lines, walk.wide):
            count = min(walk.wide, lines - first)
            rows, s, ahead, beside, top, left = whole, count, count, 1, HALO, 0  # a cell ahead and beside; own cells begin at (top, left)
            if in_rows > 0:
                rows, s, ahead, beside, top, left = count, whole, 1, whole, 0, HALO
            own_rows, own_columns, n = rows - 2 * top, s - 2 * left, rows * s
            base = walk.begin + slab * walk.slab_step + first * walk.line_step
            through = slab * walk.flux_slab_step + first * walk.flux_line_step
            for j in range(rows):
                from_row = base - left + row_of(walk, j - top)
                for i in range(s):
                    inverse[j * s + i] = 1.0 / air[from_row + i]
                    face[j * s + i] = 0.0
            for j in range(upward, own_rows + 1 - in_rows):
                for i in range(own_columns + in_rows):
                    face[(j + top) * s + left + i] = flux[through + j * walk.flux_row_step + i]
            parts(n, ahead, tile)
            for t in range(species):
                here = t * walk.volume + base
                for j in range(rows):
                    from_row = here - left + row_of(walk, j - top)
                    for i in range(s):
                        q[j * s + i] = tracers[from_row + i] * inverse[j * s + i]
                if upward > 0:
                    for p in range((length + HALO) * s, n):
                        q[p] = above[t]
                fluxes(n, ahead, tile)
                for j in range(own_rows):
                    a, p = (j + top) * s + left, here + j * walk.row_step
                    for i in range(own_columns):
                        tracers[p + i] = most(tracers[p + i] - (moved[a + ahead + i] - moved[a + i]), 0.0)
                for line in range(count):
                    at, begin = (t * sides * slabs + slab) * lines + first + line, line * beside + HALO * ahead
                    if upward == 0:
                        record(moved[begin], at, size, 1.0, ledger)
                        at += slabs * lines
                    record(moved[begin + length * ahead], at, size, -1.0, ledger)
            for j in range(own_rows):
                a, p = (j + top) * s + left, base + j * walk.row_step
                for i in range(own_columns):
                    air[p + i] = air[p + i] - (face[a + ahead + i] - face[a + i])


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
