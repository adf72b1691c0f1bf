"""Ownership of storage tiles: the writer of each tile, and the cells that other ranks send to it. Pure data, the same on every rank.

    tiles       |      0      |      1      |      2      |
    cells of    |  rank 0  |   rank 1   |     rank 2      |
    written by     rank 0       rank 1       rank 2            the rank with the tile's first cell; the others send it their part

So one rank writes a file, and a rank receives only the tiles that it writes. On a file system that prefers few writers, or that some
ranks do not see, a rank writes for others: `writers_of`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from steppe.array_types import Integers
from steppe.grid.partition import tiles

Cells = range | Integers  # packed cells of a rank, ascending
Columns = slice | Integers  # of a tile


class OwnedTile(NamedTuple):
    """This rank's cells of one tile. columns: in the tile; mine: positions in the rank's own cells; writer: the rank that writes it."""

    tile: int
    columns: Columns
    mine: slice
    writer: int


class WrittenTile(NamedTuple):
    """A tile that this rank writes. parts: sender and columns of each part from another rank."""

    tile: int
    width: int
    parts: tuple[tuple[int, Columns], ...]


@dataclass(frozen=True)
class Ownership:
    """The cells of one rank in every tile, and the tiles that it writes.

    cells: packed cells of each rank, ascending; each of the `n_cells` cells belongs to one rank. writers: the rank that writes for each
    rank; default: itself.
    """

    n_cells: int
    rank: int
    cells: Sequence[Cells]
    writers: Sequence[int] = ()

    @classmethod
    def alone(cls, n_cells: int) -> "Ownership":
        """The ownership of a single rank."""
        return cls(n_cells, 0, (range(n_cells),))

    @classmethod
    def of_one(cls, n_cells: int, rank: int, ranks: int) -> "Ownership":
        """The ownership in which rank 0 of many has and writes all cells."""
        return cls(n_cells, rank, (range(n_cells), *(range(n_cells, n_cells) for _ in range(ranks - 1))))

    @property
    def mine(self) -> Cells:
        """The packed cells of this rank."""
        return self.cells[self.rank]

    @cached_property
    def held(self) -> tuple[OwnedTile, ...]:
        """The tiles with cells of this rank, in order."""
        found = []
        for number, tile in enumerate(tiles(self.n_cells)):
            inside = _inside(self.mine, tile)
            if inside.start < inside.stop:
                found.append(OwnedTile(number, _columns(self.mine, inside, tile), inside, self.writer(tile)))
        return tuple(found)

    @cached_property
    def written(self) -> tuple[WrittenTile, ...]:
        """The tiles that this rank writes, in order."""
        found = []
        served = [cells for rank, cells in enumerate(self.cells) if self._writer_for(rank) == self.rank]
        for number, tile in enumerate(tiles(self.n_cells)):
            if any(_has(cells, tile.start) for cells in served):
                others = [(rank, cells, _inside(cells, tile)) for rank, cells in enumerate(self.cells) if rank != self.rank]
                parts = ((rank, _columns(cells, inside, tile)) for rank, cells, inside in others if inside.start < inside.stop)
                found.append(WrittenTile(number, len(tile), tuple(parts)))
        return tuple(found)

    def writer(self, tile: range) -> int:
        """The rank that writes a tile."""
        return self._writer_for(next(rank for rank, cells in enumerate(self.cells) if _has(cells, tile.start)))

    def _writer_for(self, rank: int) -> int:
        return self.writers[rank] if self.writers else rank


def writers_of(ranks: int, per_writer: int = 1, able: Sequence[int] = ()) -> tuple[int, ...]:
    """The rank that writes for each rank: the first of every `per_writer`. For those that cannot write, others do in turn.

    able: the ranks that can write, ascending; default: all.

    >>> writers_of(4), writers_of(6, 2), writers_of(6, 2, able=[0, 1, 2]), writers_of(4, able=[0, 2])
    ((0, 1, 2, 3), (0, 0, 2, 2, 4, 4), (0, 0, 2, 2, 0, 0), (0, 0, 2, 2))
    """
    firsts = range(0, ranks, per_writer)
    writing = [first for first in firsts if not able or first in able] or list(able)
    others = [first for first in firsts if first not in writing]
    instead = {first: writing[k % len(writing)] for k, first in enumerate(others)}
    return tuple(instead.get(first, first) for first in (rank - rank % per_writer for rank in range(ranks)))


def spanned(cells: Cells, tile: range | None = None) -> range:
    """The range from the first to the last packed cell of a share, or of its part of a tile; empty without cells.

    >>> spanned(np.array([3, 4, 9, 20])), spanned(np.array([3, 4, 9, 20]), range(4, 16)), spanned(range(3, 9), range(4, 16))
    (range(3, 21), range(4, 10), range(4, 9))
    """
    some = cells if tile is None else cells[_inside(cells, tile)]
    return range(int(some[0]), int(some[-1]) + 1) if len(some) else range(0)


def _has(cells: Cells, cell: int) -> bool:
    if isinstance(cells, range):
        return cell in cells
    at = int(np.searchsorted(cells, cell))
    return at < len(cells) and int(cells[at]) == cell


def _inside(cells: Cells, tile: range) -> slice:
    """The positions of ascending cells that lie in a tile."""
    if isinstance(cells, range):
        return slice(min(max(tile.start - cells.start, 0), len(cells)), min(max(tile.stop - cells.start, 0), len(cells)))
    low, high = np.searchsorted(cells, (tile.start, tile.stop))
    return slice(int(low), int(high))


def _columns(cells: Cells, inside: slice, tile: range) -> Columns:
    if isinstance(cells, range):
        return slice(cells.start + inside.start - tile.start, cells.start + inside.stop - tile.start)
    found = cells[inside] - tile.start
    gapless = found.size and int(found[-1]) - int(found[0]) + 1 == found.size
    return slice(int(found[0]), int(found[-1]) + 1) if gapless else found
