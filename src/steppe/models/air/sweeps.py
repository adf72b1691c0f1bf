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


class Swept(NamedTuple):
    """What a sweep reads and changes, see `advection.sweep`; through: the ledger."""

    air: Floats
    flux: Floats
    tracers: Floats
    through: Floats


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
    """How a sweep along y or z goes through a box.

    A slab is a level of a sweep along y, a row of one along z; length: its rows; wide: columns of a tile. upward: 1 along z, where there
    are no halos: below the ground lies what the lowest cell holds, and above the top the mixing ratio of the air there. slab_step, step:
    from a slab to the next one and from a row of a slab to the next one, in air and in each of the tracers; the first own cell is at
    `begin`. flux_slab_step, flux_step: the same in the flux. volume: elements of one tracer.
    """

    species: int
    slabs: int
    length: int
    columns: int
    wide: int
    upward: int
    slab_step: int
    step: int
    begin: int
    flux_slab_step: int
    flux_step: int
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


@field_kernel
def along_rows(species: int, levels: int, rows: int, columns: int, lines: int, swept: Swept, tile: Tile) -> None:
    """Along x. A tile is some rows of a level, at most `lines`, with their halos in x; `swept` as in `advection.sweep`."""
    air, flux, tracers, inverse, face, q, moved = swept.air, swept.flux, swept.tracers, tile.inverse, tile.face, tile.q, tile.moved
    width = columns + 2 * HALO
    plane = (rows + 2 * HALO) * width
    size = 2 * species * levels * rows
    for k in range(levels):
        for first in range(0, rows, lines):
            count = min(lines, rows - first)
            n, base = count * width, k * plane + (HALO + first) * width
            for p in range(n):
                inverse[p] = 1.0 / air[base + p]
                face[p] = 0.0
            for r in range(count):
                for i in range(columns + 1):
                    face[r * width + HALO + i] = flux[(k * rows + first + r) * (columns + 1) + i]
            parts(n, 1, tile)
            for t in range(species):
                here = t * levels * plane + base
                for p in range(n):
                    q[p] = tracers[here + p] * inverse[p]
                fluxes(n, 1, tile)
                for r in range(count):
                    a = r * width + HALO
                    for i in range(columns):
                        tracers[here + a + i] = most(tracers[here + a + i] - (moved[a + i + 1] - moved[a + i]), 0.0)
                    at = (t * 2 * levels + k) * rows + first + r
                    record(moved[a], at, size, 1.0, swept.through)
                    record(moved[a + columns], at + levels * rows, size, -1.0, swept.through)
            for r in range(count):
                a = r * width + HALO
                for i in range(columns):
                    air[base + a + i] = air[base + a + i] - (face[a + i + 1] - face[a + i])


@field_kernel
def across_rows(walk: Walk, above: Floats, swept: Swept, tile: Tile) -> None:
    """Along y or z. A tile is `length` rows of a slab with three more at each end, of at most `wide` columns.

    above (species,): mixing ratio of the air over the top. Others: see `Walk`, `Swept`, `Tile`.
    """
    species, slabs, length, columns, upward, step = walk.species, walk.slabs, walk.length, walk.columns, walk.upward, walk.step
    air, flux, tracers, inverse, face, q, moved = swept.air, swept.flux, swept.tracers, tile.inverse, tile.face, tile.q, tile.moved
    low, high = where(upward > 0, 0, -HALO), where(upward > 0, length - 1, length + HALO - 1)
    sides = where(upward > 0, 1, 2)  # that are recorded: of a column only its top
    size = sides * species * slabs * columns
    for slab in range(slabs):
        for first in range(0, columns, walk.wide):
            s = min(walk.wide, columns - first)
            n, base = (length + 2 * HALO) * s, walk.begin + slab * walk.slab_step + first
            for j in range(length + 2 * HALO):
                from_row = base + max(low, min(j - HALO, high)) * step
                for i in range(s):
                    inverse[j * s + i] = 1.0 / air[from_row + i]
                    face[j * s + i] = 0.0
            for j in range(upward, length + 1):
                for i in range(s):
                    face[(j + HALO) * s + i] = flux[slab * walk.flux_slab_step + j * walk.flux_step + first + i]
            parts(n, s, tile)
            for t in range(species):
                here = t * walk.volume + base
                for j in range(length + 2 * HALO):
                    from_row = here + max(low, min(j - HALO, high)) * step
                    for i in range(s):
                        q[j * s + i] = tracers[from_row + i] * inverse[j * s + i]
                if upward > 0:
                    for p in range((length + HALO) * s, n):
                        q[p] = above[t]
                fluxes(n, s, tile)
                for j in range(length):
                    a = (j + HALO) * s
                    for i in range(s):
                        p = here + j * step + i
                        tracers[p] = most(tracers[p] - (moved[a + s + i] - moved[a + i]), 0.0)
                for i in range(s):
                    at = (t * sides * slabs + slab) * columns + first + i
                    if upward == 0:
                        record(moved[HALO * s + i], at, size, 1.0, swept.through)
                        at += slabs * columns
                    record(moved[(length + HALO) * s + i], at, size, -1.0, swept.through)
            for j in range(length):
                a = (j + HALO) * s
                for i in range(s):
                    p = base + j * step + i
                    air[p] = air[p] - (face[a + s + i] - face[a + i])
