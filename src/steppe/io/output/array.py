"""One array of results on its way to the disk: two buffers of a shard row each, and the shards made of them."""

import os
import shutil
from collections.abc import Iterator
from concurrent.futures import Future
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from steppe.array_types import Array, Singles
from steppe.errors import DamagedError
from steppe.files import writing
from steppe.grid import Ownership
from steppe.io.output.store import SINGLE, Group, Output
from steppe.io.shard import shard_path, write_shard
from steppe.io.shard_file import read_chunk


class Buffer:
    """Room for the records of one shard row: tiles that this rank writes, and its cells of those that others write.

    rows: (records, [levels]) of it. reading: the last job of the thread that needs its records. whole: all tiles side by side, for
    records with levels that one rank has and writes.
    """

    def __init__(self, rows: tuple[int, ...], deal: Ownership, dtype: str) -> None:
        self._deal = deal
        alone = len(rows) > 1 and len(deal.mine) == deal.n_cells and all(held.writer == deal.rank for held in deal.held)
        self.whole = np.empty((*rows, deal.n_cells), dtype) if alone else None
        if self.whole is not None:
            self.tiles: dict[int, Array] = {held.tile: self.whole[..., held.mine] for held in deal.held}
        else:
            self.tiles = {tile.tile: np.empty((*rows, tile.width), dtype) for tile in deal.written}
        self.parts: dict[int, Array] = {
            held.tile: np.empty((*rows, held.mine.stop - held.mine.start), dtype) for held in deal.held if held.writer != deal.rank
        }
        self.reading: Future[None] | None = None

    def put(self, place: int, records: Array) -> None:
        """Copies records of this rank's cells to the rows from `place` on."""
        rows = slice(place, place + len(records))
        if self.whole is not None:
            if records.base is not self.whole:  # else they were filled in there
                self.whole[rows] = records
            return
        for tile, columns, mine, writer in self._deal.held:
            if writer == self._deal.rank:
                self.tiles[tile][rows, ..., columns] = records[..., mine]
            else:
                self.parts[tile][rows] = records[..., mine]


class OutputArray:
    """One array on its way to the disk."""

    def __init__(self, folder: Path, group: Group, output: Output, deal: Ownership) -> None:
        self.folder, self.group = folder, group.name
        self.name = output.variable.name
        self.shape = group.shape(output)
        self.layout = group.layout(output)
        self.bits = None if output.bits == SINGLE else output.bits  # copying to float32 rounds to it
        self.deal = deal
        self.count = 0  # records put
        self.exchanged = 0  # of those, with the ranks that write them
        self.committed = 0  # of those, in the queue or written
        self._buffers: list[Buffer] = []

    def length(self, row: int) -> int:
        """Records of shard row `row`: fewer where the array ends."""
        return min(self.layout.shard[0], self.shape[0] - row * self.layout.shard[0])

    def whole(self, records: int) -> int:
        """The number of shard rows that the first `records` fill."""
        return -(-records // self.layout.shard[0]) if records == self.shape[0] else records // self.layout.shard[0]

    def buffer(self, row: int) -> Buffer:
        """The buffer of shard row `row`; the thread may still read row `row` - 2 in it."""
        while len(self._buffers) <= row % 2:
            rows = self.length(len(self._buffers))
            self._buffers.append(Buffer((rows, *self.shape[1:-1]), self.deal, self.layout.dtype))
        return self._buffers[row % 2]

    def write(self, row: int, records: int) -> list[str]:
        """Encodes and writes the shards of one row with its first `records`; runs in the writer's thread."""
        files = []
        for tile, values in self.buffer(row).tiles.items():
            part = values[:records]
            if self.bits is not None:
                part = bitround(part, self.bits)
            if records < self.length(row):
                whole = np.full((self.length(row), *part.shape[1:]), np.nan, part.dtype)
                whole[:records] = part
                part = whole
            files.append(write_shard(self.folder, self.name, (row, tile), part, self.layout, durable=False))
        return files

    def read(self, row: int, records: int, folder: Path | None = None) -> None:
        """Fills the buffer with the first records of a shard row that was committed before it was full; folder: of another store."""
        for tile, values in self.buffer(row).tiles.items():
            values[:records] = read_chunk(folder or self.folder, self.name, (row, tile), self.layout)[:records, ..., : values.shape[-1]]

    def unexchanged(self) -> Iterator[tuple[int, slice]]:
        """Shard rows with records that their writers do not have yet, and the range of these records in the row."""
        length = self.layout.shard[0]
        for row in range(self.exchanged // length, -(-self.count // length)):
            yield row, slice(max(self.exchanged - row * length, 0), min(self.count - row * length, length))

    def cut(self, records: int) -> None:
        """Removes shards after the first `records`, and left-overs of a killed writer; checks that the others are there."""
        folder = self.folder / self.name / "c"
        needed = -(-records // self.layout.shard[0])
        with writing(folder):
            for row in folder.iterdir() if folder.is_dir() else ():
                if int(row.name) >= needed:
                    shutil.rmtree(row)
                else:
                    for left_over in row.rglob("*.tmp"):
                        left_over.unlink()
        for shard in range(needed):
            for tile in range(-(-self.shape[-1] // self.layout.shard[-1])):
                path = shard_path(self.folder, self.name, (shard, tile), len(self.shape))
                if not os.path.isfile(path):
                    raise DamagedError(f'"{path}" is missing: output before the checkpoint was removed. Start with --fresh.')


def bitround(values: NDArray[np.floating], bits: int) -> Singles:
    """float32 values with `bits` bits of the mantissa kept, rounded half to even; NaN and infinities stay. Rounding twice changes nothing.

    Kloewer et al. (2021), Nature Computational Science 1, 713-724, doi:10.1038/s43588-021-00156-2.
    """
    raw = np.ascontiguousarray(values, dtype=np.float32).view(np.uint32)
    dropped = np.uint32(23 - bits)
    one = np.uint32(1)
    rounded = raw >> dropped
    rounded &= one  # 1 where the last kept bit is odd: a tie goes up to even
    rounded += raw
    rounded += (one << (dropped - one)) - one
    rounded &= ~((one << dropped) - one)
    special = ~np.isfinite(values)
    rounded[special] = raw[special]
    return rounded.view(np.float32)
