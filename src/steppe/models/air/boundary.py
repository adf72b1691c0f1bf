"""The halos behind an edge of the domain: air that comes in has the mixing ratio of the boundary, air that leaves that of the edge cell."""

from typing import Literal

from steppe.array_types import Floats
from steppe.kernels import field_kernel
from steppe.kernels.vecmath import where
from steppe.models.air.sweeps import HALO

AHEAD = {"first": -1, "last": 1}  # the direction out of the domain


@field_kernel
def fill(
    species: int,
    levels: int,
    cells: int,
    edge: int,
    step: int,
    outward: int,
    plane: int,
    face: int,
    face_step: int,
    face_plane: int,
    inward: float,
    air: Floats,
    flux: Floats,
    mixing_ratio: Floats,
    tracers: Floats,
) -> None:
    """edge, step, plane: the first cell at the edge, from it to the next one and to the next level; face..: its face in `flux`."""
    for k in range(levels):
        for i in range(cells):
            p = edge + k * plane + i * step
            for d in range(1, HALO + 1):
                air[p + d * outward] = air[p]
    for t in range(species):
        for k in range(levels):
            for i in range(cells):
                p = edge + k * plane + i * step
                enters = inward * flux[face + k * face_plane + i * face_step] > 0.0
                here = t * levels * plane + p
                mass = where(enters, mixing_ratio[t] * air[p], tracers[here])
                for d in range(1, HALO + 1):
                    tracers[here + d * outward] = mass


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
        edge, step, outward = HALO * width + (width - HALO - 1 if last else HALO), width, AHEAD[side]
        face, face_step, face_plane = columns * last, columns + 1, rows * (columns + 1)
    else:
        edge, step, outward = (height - HALO - 1 if last else HALO) * width + HALO, 1, AHEAD[side] * width
        face, face_step, face_plane = rows * columns * last, 1, (rows + 1) * columns
    places = edge, step, outward, height * width, face, face_step, face_plane, -float(AHEAD[side])
    fill(species, levels, cells, *places, air, flux, mixing_ratio, tracers)
