"""The places of arrays in the file of a checkpoint, and the hashes of its tiles.

| numbers that hold for all cells | array 0: a row of all cells, another ... | array 1 | ...       little-endian, without gaps

So a rank that has all cells copies and writes whole arrays. A hash is of a tile: its columns of each row, in this order.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import xxhash

from steppe.array_types import Array
from steppe.errors import Failure
from steppe.grid import tiles
from steppe.grid.ownership import Columns, OwnedTile

HEAD = -1  # the number, among the tiles, of the numbers that hold for all cells


class ContentsEntry(NamedTuple):
    """One array of a checkpoint. shape: () when one number holds for all cells, else with the number of cells last."""

    dtype: str
    shape: tuple[int, ...]

    @property
    def rows(self) -> int:
        """Numbers of each cell."""
        return int(np.prod(self.shape[:-1], dtype=np.int64))

    @property
    def nbytes(self) -> int:
        """Bytes of it."""
        return int(np.prod(self.shape, dtype=np.int64)) * np.dtype(self.dtype).itemsize


@dataclass(frozen=True)
class Contents:
    """The arrays of a checkpoint and their places in its file."""

    n_cells: int
    entries: Mapping[str, ContentsEntry]

    @classmethod
    def of(cls, arrays: Mapping[str, Array], n_cells: int) -> "Contents":
        """The contents for all cells, from the arrays of one rank, whose own cells are the last axis.

        Raises
        ------
        Failure
            One does not hold numbers.
        """
        entries = {}
        for name, values in arrays.items():
            if values.dtype.kind not in "biuf":
                raise Failure(f'"{name}" is {values.dtype}; a checkpoint holds numbers. This is a defect of Steppe.')
            shape = (*values.shape[:-1], n_cells) if values.ndim else ()
            entries[name] = ContentsEntry(values.dtype.newbyteorder("<").str, shape)
        return cls(n_cells, entries)

    @property
    def size(self) -> int:
        """Bytes of the file."""
        return sum(entry.nbytes for entry in self.entries.values())

    def numbers(self) -> Iterator[tuple[str, ContentsEntry, int]]:
        """The numbers that hold for all cells: name, entry, offset in the file."""
        return (each for each in self._placed() if not each[1].shape)

    def of_cells(self) -> Iterator[tuple[str, ContentsEntry, int]]:
        """The arrays of which each cell has a part: name, entry, offset in the file."""
        return (each for each in self._placed() if each[1].shape)

    def _placed(self) -> Iterator[tuple[str, ContentsEntry, int]]:
        at = 0
        for name, entry in sorted(self.entries.items(), key=lambda item: bool(item[1].shape)):  # those of cells behind the others
            yield name, entry, at
            at += entry.nbytes


@dataclass(frozen=True)
class TileRun:
    """Neighbouring tiles: their cells are one piece of each row of the file. at: their first column in memory."""

    tiles: range
    cells: range
    at: int

    @classmethod
    def of(cls, wanted: Iterable[int], n_cells: int) -> "list[TileRun]":
        """Ascending tiles as the fewest pieces."""
        every, found, at = tiles(n_cells), list[TileRun](), 0
        for tile in wanted:
            cells = every[tile]
            if found and found[-1].tiles.stop == tile:
                last = found.pop()
                found.append(cls(range(last.tiles.start, tile + 1), range(last.cells.start, cells.stop), last.at))
            else:
                found.append(cls(range(tile, tile + 1), cells, at))
            at += len(cells)
        return found

    @property
    def columns(self) -> slice:
        """Its columns in memory."""
        return slice(self.at, self.at + len(self.cells))

    def place(self, entry: ContentsEntry, offset: int, row: int) -> int:
        """The place in the file of its part of a row, of an array that begins at `offset`."""
        return offset + (row * entry.shape[-1] + self.cells.start) * np.dtype(entry.dtype).itemsize


class Digests:
    """The hashes of the tiles of some stretches, fed row by row."""

    def __init__(self, stretches: Sequence[TileRun], n_cells: int) -> None:
        cells = tiles(n_cells)
        self._hashers = {tile: xxhash.xxh3_128() for stretch in stretches for tile in stretch.tiles}
        self._inside = {  # of each tile its hash, and its cells in the stretch: looked up once, not for each row
            stretch.at: [(self._hashers[n].update, *_within(cells[n], stretch.cells)) for n in stretch.tiles] for stretch in stretches
        }

    def add(self, stretch: TileRun, values: Array) -> None:
        """The next row of a stretch, C-contiguous (cells,)."""
        data, size = values.view(np.uint8).data, values.itemsize
        for update, low, high in self._inside[stretch.at]:
            update(data[low * size : high * size])

    def found(self) -> dict[int, bytes]:
        """Tile -> hash."""
        return {tile: hasher.digest() for tile, hasher in self._hashers.items()}


def _within(cells: range, of: range) -> tuple[int, int]:
    return cells.start - of.start, cells.stop - of.start


def pieces(held: Iterable[OwnedTile], wanted: Sequence[int], n_cells: int) -> list[tuple[Columns, slice]]:
    """Cells of a rank among the columns of neighbouring tiles: columns, positions in its own cells; the fewest pieces."""
    every, begin, at = tiles(n_cells), dict[int, int](), 0
    for tile in wanted:
        begin[tile] = at
        at += len(every[tile])
    found: list[tuple[Columns, slice]] = []
    for each in held:
        columns, mine = moved(each.columns, begin[each.tile]), each.mine
        if found and isinstance(columns, slice):
            before, until = found[-1]
            if isinstance(before, slice) and (before.stop, until.stop) == (columns.start, mine.start):
                found.pop()
                columns, mine = slice(before.start, columns.stop), slice(until.start, mine.stop)
        found.append((columns, mine))
    return found


def moved(columns: Columns, by: int) -> Columns:
    """Columns, counted from column `by`."""
    return slice(columns.start + by, columns.stop + by) if isinstance(columns, slice) else columns + by
