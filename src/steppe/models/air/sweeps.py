"""The loops of `advection`: fluxes of the piecewise parabolic method through the faces of a tile, for one species after the other.

A tile is some lines of cells along the wind with three more cells at each end, copied into scratch as mixing ratios. Two neighbours in a
line lie `s` elements apart. Every loop of `fluxes` runs over consecutive elements of the whole tile, so that it becomes vector code.
"""

from typing import Any, NamedTuple

from steppe.array_types import Floats
from steppe.errors import ModelError
from steppe.kernels import field_kernel
from steppe.kernels.vecmath import where

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

    above (species,): mixing ratio of the air over the top. Others: see `advection.SweepAdvection.sweep`, `Walk`, `Tile`.
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
