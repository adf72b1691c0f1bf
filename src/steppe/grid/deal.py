"""The cells that each rank sends to the writer of each tile of storage: pure data, the same on every rank.

    tiles       |      0      |      1      |      2      |
    cells of    |  rank 0  |   rank 1   |     rank 2      |
    written by     rank 0       rank 1       rank 2            the rank that has a tile's first cell; the others bring it their part

So a file is written by one rank, and a rank receives no more than the tiles that it writes. Where a file system takes few writers
better than many, the first of every `per_writer` ranks writes for all of them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from steppe.grid.partition import tiles

Cells = range | NDArray[np.int64]  # packed cells of a rank, ascending
Columns = slice | NDArray[np.int64]  # of a tile


class Held(NamedTuple):
    """Cells of one tile that this rank has. columns: of the tile; mine: positions in the rank's own cells; writer: its rank."""

    tile: int
    columns: Columns
    mine: slice
    writer: int


class Written(NamedTuple):
    """A tile that this rank writes. parts: rank and columns of what others bring."""

    tile: int
    width: int
    parts: tuple[tuple[int, Columns], ...]


@dataclass(frozen=True)
class Deal:
    """What one rank has of every tile, and what it writes.

    cells: packed cells of each rank, ascending, each cell of `n_cells` with one rank. per_writer: ranks, one after the other, of which the
    first writes what would be written by each.
    """

    n_cells: int
    rank: int
    cells: Sequence[Cells]
    per_writer: int = 1

    @classmethod
    def alone(cls, n_cells: int) -> "Deal":
        """One rank has and writes all."""
        return cls(n_cells, 0, (range(n_cells),))

    @classmethod
    def of_one(cls, n_cells: int, rank: int, ranks: int) -> "Deal":
        """Of many ranks, rank 0 has and writes all."""
        return cls(n_cells, rank, (range(n_cells), *(range(n_cells, n_cells) for _ in range(ranks - 1))))

    @property
    def mine(self) -> Cells:
        """The packed cells of this rank."""
        return self.cells[self.rank]

    @cached_property
    def held(self) -> tuple[Held, ...]:
        """The tiles of which this rank has cells, in order."""
        found = []
        for number, tile in enumerate(tiles(self.n_cells)):
            inside = _inside(self.mine, tile)
            if inside.start < inside.stop:
                found.append(Held(number, _columns(self.mine, inside, tile), inside, self.writer(tile)))
        return tuple(found)

    @cached_property
    def written(self) -> tuple[Written, ...]:
        """The tiles that this rank writes, in order."""
        found = []
        served = self.cells[self.rank : self.rank + self.per_writer] if self.rank % self.per_writer == 0 else ()
        for number, tile in enumerate(tiles(self.n_cells)):
            if any(_has(cells, tile.start) for cells in served):
                others = [(rank, cells, _inside(cells, tile)) for rank, cells in enumerate(self.cells) if rank != self.rank]
                parts = ((rank, _columns(cells, inside, tile)) for rank, cells, inside in others if inside.start < inside.stop)
                found.append(Written(number, len(tile), tuple(parts)))
        return tuple(found)

    def writer(self, tile: range) -> int:
        """The rank that writes a tile."""
        owner = next(rank for rank, cells in enumerate(self.cells) if _has(cells, tile.start))
        return owner - owner % self.per_writer


def spanned(cells: Cells, tile: range | None = None) -> range:
    """The packed cells from the first to the last of a share, or of what it has of a tile; empty when it has none.

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
    """Which of some ascending cells lie in a tile."""
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
