"""The part of a field that one rank computes, with its halo, as ranges.

    +---------------------+    local: the array with halos        own: what this rank computes
    | halo                |    interior: own cells that no halo reaches, computed while messages travel
    |  +---------------+  |    rims: the rest of own, disjoint, computed when the halos are filled
    |  | rim           |  |
    |  |  +---------+  |  |    pieces: which rectangle of whose array fills which rectangle of the halo (periodic edges)
    |  |  |interior |  |  |    mirrors: at a wall, which own cells, reversed, a model without flow through the wall copies
    |  |  +---------+  |  |
    |  +---------------+  |
    +---------------------+

The same code computes interior and rims, so that overlapping messages with work is a range and no second path.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from steppe.errors import GridError

Edge = Literal["wall", "periodic"]
Slices = tuple[slice, ...]


class Piece(NamedTuple):
    """A rectangle of my halo that is filled from a rectangle of a peer's own cells; slices of arrays with halos."""

    peer: int
    target: Slices
    source: Slices


class Mirror(NamedTuple):
    """A rectangle of my halo behind a wall, and my own cells in front of it in reversed order."""

    target: Slices
    source: Slices


@dataclass(frozen=True)
class Box:
    """One rank's box. All slices index the last dimensions of arrays of shape `local`, those with halos.

    shape: own cells by axis. halo: widths by axis. order (cells,): row-major position in the own box of the i-th packed cell.
    """

    rank: int
    shape: tuple[int, ...]
    halo: tuple[int, ...]
    order: NDArray[np.int64]
    pieces: tuple[Piece, ...]
    mirrors: tuple[Mirror, ...]

    @classmethod
    def whole(cls, shape: Mapping[str, int], halo: Mapping[str, int], edges: Mapping[str, Edge], order: NDArray[np.int64]) -> "Box":
        """The one box that covers a domain, of rank 0.

        Raises
        ------
        GridError
            An edge is given for an unknown axis or is of no known kind, or an axis is shorter than its halo.
        """
        for axis, edge in edges.items():
            if axis not in shape or edge not in ("wall", "periodic"):
                raise GridError(f'Edge "{edge}" of axis "{axis}" is not known. Axes: {", ".join(shape)}; edges: wall, periodic.')
        for axis, width in halo.items():
            if not 0 <= width <= shape[axis]:
                raise GridError(f'Axis "{axis}" of {shape[axis]} cells is too short for a halo of {width}. Use a larger grid.')
        lengths, widths = tuple(shape.values()), tuple(halo[axis] for axis in shape)
        kinds = tuple(edges[axis] for axis in shape)
        return cls(0, lengths, widths, order, _wrapped(lengths, widths, kinds), _mirrored(lengths, widths, kinds))

    @property
    def n_cells(self) -> int:
        """Number of own cells."""
        return int(np.prod(self.shape))

    @property
    def cells(self) -> range:
        """The packed cells of the box: all of the grid."""
        return range(self.n_cells)

    @property
    def local(self) -> tuple[int, ...]:
        """Shape of an array with halos."""
        return tuple(length + 2 * width for length, width in zip(self.shape, self.halo, strict=True))

    @property
    def own(self) -> Slices:
        """The own cells."""
        return tuple(slice(width, width + length) for length, width in zip(self.shape, self.halo, strict=True))

    @property
    def interior(self) -> Slices:
        """The own cells at least a halo's width from the edge of the box; empty when it is thin."""
        return tuple(slice(2 * width, max(2 * width, length)) for length, width in zip(self.shape, self.halo, strict=True))

    @property
    def rims(self) -> tuple[Slices, ...]:
        """Disjoint rectangles that make up, with the interior, the own cells."""
        found, core = [], list(self.own)
        for axis, (length, width) in enumerate(zip(self.shape, self.halo, strict=True)):
            end = width + length
            low = slice(width, min(2 * width, end))
            high = slice(max(length, low.stop), end)
            for rim in (low, high):
                if rim.start < rim.stop:
                    found.append((*core[:axis], rim, *core[axis + 1 :]))
            core[axis] = self.interior[axis]
        return tuple(found)

    def pack(self, values: NDArray[Any]) -> NDArray[Any]:
        """Values of the own box (..., *shape) in packed order (..., cells)."""
        values = np.asarray(values)
        return values.reshape(*values.shape[: values.ndim - len(self.shape)], -1)[..., self.order]

    def unpack(self, values: NDArray[Any]) -> NDArray[Any]:
        """Packed values (..., cells) as a box (..., *shape)."""
        values = np.asarray(values)
        box = np.empty_like(values)
        box[..., self.order] = values
        return box.reshape(*values.shape[:-1], *self.shape)


def _wrapped(lengths: tuple[int, ...], widths: tuple[int, ...], edges: tuple[Edge, ...]) -> tuple[Piece, ...]:
    """The pieces of periodic edges, corners between two of them included."""
    ranges: list[list[tuple[slice, slice]]] = []
    for length, width, edge in zip(lengths, widths, edges, strict=True):
        own = slice(width, width + length)
        ranges.append([(own, own)])
        if edge == "periodic" and width:
            ranges[-1].append((slice(0, width), slice(length, length + width)))
            ranges[-1].append((slice(width + length, 2 * width + length), slice(width, 2 * width)))
    whole = tuple(pairs[0] for pairs in ranges)
    chosen = (pick for pick in product(*ranges) if pick != whole)
    return tuple(Piece(0, tuple(target for target, _ in pick), tuple(source for _, source in pick)) for pick in chosen)


def _mirrored(lengths: tuple[int, ...], widths: tuple[int, ...], edges: tuple[Edge, ...]) -> tuple[Mirror, ...]:
    """The mirrors of walls. Axis by axis over the whole local array, so that copying them in turn fills the corners too."""
    found = []
    everything = [slice(None)] * len(lengths)
    for axis, (length, width, edge) in enumerate(zip(lengths, widths, edges, strict=True)):
        if edge == "wall" and width:
            low = (slice(0, width), slice(2 * width - 1, width - 1, -1))
            high = (slice(width + length, 2 * width + length), slice(width + length - 1, length - 1, -1))
            for target, source in (low, high):
                found.append(Mirror(*((*everything[:axis], part, *everything[axis + 1 :]) for part in (target, source))))
    return tuple(found)
