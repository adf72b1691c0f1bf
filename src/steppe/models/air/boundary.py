"""The halos behind an edge of the domain: air that comes in has the mixing ratio of the boundary, air that leaves that of the edge cell."""

from typing import Literal, NamedTuple

from steppe.array_types import Floats
from steppe.kernels import field_kernel
from steppe.kernels.vecmath import where
from steppe.models.air.sweeps import HALO

AHEAD = {"first": -1, "last": 1}  # the direction out of the domain


class Edge(NamedTuple):
    """The cells of an edge, and the halos beyond them.

    first, step, plane: the first cell, from it to the next one and to the next level; outward: to the next one in the halo. face..: the
    same of their faces in the flux. inward: 1 where a positive flux goes in, -1 where it goes out.
    """

    cells: int
    first: int
    step: int
    outward: int
    plane: int
    face: int
    face_step: int
    face_plane: int
    inward: float


@field_kernel
def fill(species: int, levels: int, edge: Edge, air: Floats, flux: Floats, mixing_ratio: Floats, tracers: Floats) -> None:
    """See `fill_boundary`."""
    for k in range(levels):
        for i in range(edge.cells):
            p = edge.first + k * edge.plane + i * edge.step
            for d in range(1, HALO + 1):
                air[p + d * edge.outward] = air[p]
    for t in range(species):
        for k in range(levels):
            for i in range(edge.cells):
                p = edge.first + k * edge.plane + i * edge.step
                enters = edge.inward * flux[edge.face + k * edge.face_plane + i * edge.face_step] > 0.0
                here = t * levels * edge.plane + p
                mass = where(enters, mixing_ratio[t] * air[p], tracers[here])
                for d in range(1, HALO + 1):
                    tracers[here + d * edge.outward] = mass


def fill_boundary(
    axis: Literal["x", "y"], side: Literal["first", "last"], air: Floats, flux: Floats, mixing_ratio: Floats, tracers: Floats
) -> None:
    """Fills the halos of a box behind one side, in place; before each sweep along the axis, where that side is an edge of the domain.

    air, flux, tracers: as in `Advection.sweep`, flux along the axis. mixing_ratio (species,): of the air that comes in, mass of tracer over
    mass of air. All three cells are alike, so what goes out is that of the scheme of first order there.
    """
    species, levels, height, width = tracers.shape
    rows, columns, last = height - 2 * HALO, width - 2 * HALO, side == "last"
    cells = rows if axis == "x" else columns
    if axis == "x":
        first, step, outward = HALO * width + (width - HALO - 1 if last else HALO), width, AHEAD[side]
        face, face_step, face_plane = columns * last, columns + 1, rows * (columns + 1)
    else:
        first, step, outward = (height - HALO - 1 if last else HALO) * width + HALO, 1, AHEAD[side] * width
        face, face_step, face_plane = rows * columns * last, 1, (rows + 1) * columns
    edge = Edge(cells, first, step, outward, height * width, face, face_step, face_plane, -float(AHEAD[side]))
    fill(species, levels, edge, air, flux, mixing_ratio, tracers)
