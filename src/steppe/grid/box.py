"""The part of a field that one rank computes, with its halo, as ranges.

    +---------------------+    local: the array with halos        own: what this rank computes
    | halo                |    interior: own cells that no halo reaches, computed while messages travel
    |  +---------------+  |    rims: the rest of own, disjoint, computed when the halos are filled
    |  | rim           |  |
    |  |  +---------+  |  |    receives: rectangles of the halo, each with the rank and the rectangle that fill it
    |  |  |interior |  |  |    sends: the same for the halos of others, known without a message
    |  |  +---------+  |  |    mirrors: at a wall, the own cells that a model without flow through the wall copies, reversed
    |  +---------------+  |
    +---------------------+

The same code computes interior and rims, so that overlapping messages with work is a range and no second path.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from math import prod
from types import EllipsisType
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from steppe.array_types import Array, Integers
from steppe.grid.domain import Side

Slices = tuple[slice, ...]
Rectangle = tuple[EllipsisType | slice, ...]  # an index of the last dimensions of an array


def last(where: Slices) -> Rectangle:
    """The index of a rectangle in the last dimensions of an array."""
    return (..., *where)


class HaloPiece(NamedTuple):
    """A rectangle of my array with halos, and the rectangle of the peer's that it is filled from (of `receives`) or fills (of `sends`).

    Axis a of the filled rectangle runs along axis axes[a] of its source, backwards where flips[a]. parity: -1 if vector components along
    an axis, such as velocities, change sign on the way, as they do beyond a pole.
    """

    peer: int
    mine: Slices
    theirs: Slices
    axes: tuple[int, ...]
    flips: tuple[bool, ...]
    parity: int

    @property
    def place(self) -> Rectangle:
        """The index of `mine` in the last dimensions of an array."""
        return last(self.mine)


class Mirror(NamedTuple):
    """A rectangle of the halo behind a wall, the own cells in front of it in reversed order, and the axis through the wall."""

    target: Slices
    source: Slices
    axis: int
    side: Side


@dataclass(frozen=True, eq=False)
class Box:
    """One rank's box. All slices index the last dimensions of arrays of shape `local`, those with halos.

    block: which block of the domain, 0 when there is one. origin: index in the block of the first own cell, by axis.
    shape: own cells by axis. halo: widths by axis. cells (cells,): the packed cells of the grid that are its own, ascending.
    order (cells,): row-major position in the own box of each of them. active (*local): which cells of the array with halos count; behind
    walls as in front of them. Pieces with one peer have one order on both sides.
    sources: where all of its cells, halos too, lie in the domain: pieces whose peer is a block, `theirs` counted in it. What lies behind
    walls is in none of them. across: gives receives and sends of the halo across one axis alone.
    """

    rank: int
    block: int
    origin: tuple[int, ...]
    shape: tuple[int, ...]
    halo: tuple[int, ...]
    cells: Integers
    order: Integers
    receives: tuple[HaloPiece, ...]
    sends: tuple[HaloPiece, ...]
    mirrors: tuple[Mirror, ...]
    active: NDArray[np.bool_]
    sources: tuple[HaloPiece, ...]
    across: Callable[[int], tuple[tuple[HaloPiece, ...], tuple[HaloPiece, ...]]]

    @property
    def n_cells(self) -> int:
        """Number of own active cells."""
        return self.cells.size

    @cached_property
    def along(self) -> tuple[tuple[tuple[HaloPiece, ...], tuple[HaloPiece, ...]], ...]:
        """By axis, receives and sends of the halo across that axis alone, without corners; made when a model asks for them."""
        return tuple(self.across(axis) for axis in range(len(self.halo)))

    @cached_property
    def has_holes(self) -> bool:
        """True if a cell of the array with halos is inactive."""
        return not self.active.all()

    @property
    def local(self) -> tuple[int, ...]:
        """Shape of an array with halos."""
        return tuple(length + 2 * width for length, width in zip(self.shape, self.halo, strict=True))

    @cached_property
    def own(self) -> Slices:
        """The own cells."""
        return tuple(slice(width, width + length) for length, width in zip(self.shape, self.halo, strict=True))

    @property
    def interior(self) -> Slices:
        """The own cells at least a halo's width from the edge of the box; empty in a thin box."""
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

    def pack(self, values: Array, out: Array | None = None) -> Array:
        """Values of the own box (..., *shape) in packed order, one for each of `cells` (..., cells).

        out: the array to fill and return, with its cells contiguous in memory. Default: a new array.
        """
        values = np.asarray(values)
        leading = values.shape[: values.ndim - len(self.shape)]
        if out is None:
            out = np.empty((*leading, self.n_cells), values.dtype)
        if not self._strips:
            out[...] = values.reshape(*leading, -1)[..., self.order]
        for packed, columns in self._strips:
            part = values[..., columns]
            out[..., packed].reshape(part.shape)[...] = part
        return out

    @cached_property
    def _strips(self) -> tuple[tuple[slice, slice], ...]:
        """Packed cells and columns of each strip of `order`, if it consists of strips in row order; otherwise empty."""
        if len(self.shape) != 2:
            return ()
        (rows, columns), found, at, column = self.shape, [], 0, 0
        while column < columns:
            run = np.arange(columns - column)
            row = self.order[at : at + run.size]
            width = int((row == column + run[: row.size]).cumprod().sum())
            strip = np.arange(rows)[:, None] * columns + np.arange(column, column + width)
            if not width or not np.array_equal(self.order[at : at + strip.size], strip.ravel()):
                return ()
            found.append((slice(at, at + strip.size), slice(column, column + width)))
            at, column = at + strip.size, column + width
        return tuple(found)

    def unpack(self, values: Array) -> Array:
        """Packed values of the own cells (..., cells) as a box (..., *shape); inactive cells are NaN, in integers 0."""
        values = np.asarray(values)
        missing = np.nan if values.dtype.kind == "f" else 0
        box = np.full((*values.shape[:-1], prod(self.shape)), missing, values.dtype)
        box[..., self.order] = values
        return box.reshape(*values.shape[:-1], *self.shape)
