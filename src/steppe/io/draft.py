"""The bytes of a checkpoint: where each array lies in them, and how the ranks bring them together and write them.

| head |  tile 0: array, array, ... |  tile 1: array, array, ... |  ...           little-endian, each part at a multiple of 64
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import xxhash
from numpy.typing import NDArray

from steppe.comm import Request, World
from steppe.comm.world import STORE_TAG
from steppe.errors import Failure
from steppe.grid import Deal, tile_size, tiles
from steppe.io.shard import writing
from steppe.timeline import span

Array = NDArray[Any]
Bytes = NDArray[np.uint8]

ARRAYS = "arrays.bin"
ALIGNMENT = 64  # bytes: a cache line
BATCH = 1 << 24  # bytes that are written before the system is asked to bring them to the disk
HEAD = -1  # the number of the head among the tiles


class Entry(NamedTuple):
    """One array of a checkpoint. shape: () when one number holds for all cells, else with the number of cells last."""

    dtype: str
    shape: tuple[int, ...]

    def nbytes(self, cells: int) -> int:
        """Bytes of some of its cells, with what aligns the next array."""
        size = int(np.prod(self.shape[:-1], dtype=np.int64)) * cells if self.shape else 1
        return -(-size * np.dtype(self.dtype).itemsize // ALIGNMENT) * ALIGNMENT


@dataclass(frozen=True)
class Contents:
    """The arrays of a checkpoint and where they lie."""

    n_cells: int
    entries: Mapping[str, Entry]

    @classmethod
    def of(cls, arrays: Mapping[str, Array], n_cells: int) -> "Contents":
        """What the arrays of one rank say of those of all: its own cells are their last axis.

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
            entries[name] = Entry(values.dtype.newbyteorder("<").str, shape)
        return cls(n_cells, entries)

    def length(self, tile: int) -> int:
        """Bytes of a tile, or of the head."""
        width = 0 if tile == HEAD else len(tiles(self.n_cells)[tile])
        return sum(entry.nbytes(width) for entry in self.entries.values() if bool(entry.shape) is (tile != HEAD))

    def offset(self, tile: int) -> int:
        """Where a tile, or the head, begins in the file."""
        if tile == HEAD:
            return 0
        whole = sum(entry.nbytes(tile_size(self.n_cells)) for entry in self.entries.values() if entry.shape)
        return self.length(HEAD) + tile * whole

    @property
    def size(self) -> int:
        """Bytes of the file."""
        last = len(tiles(self.n_cells)) - 1
        return self.offset(last) + self.length(last) if last >= 0 else self.length(HEAD)

    def views(self, tile: int, block: Bytes) -> dict[str, Array]:
        """The arrays in the bytes of a tile, (..., cells of the tile), or of the head."""
        width = 0 if tile == HEAD else len(tiles(self.n_cells)[tile])
        found, position = {}, 0
        for name, entry in self.entries.items():
            if bool(entry.shape) is (tile != HEAD):
                shape = (*entry.shape[:-1], width) if entry.shape else ()
                length = int(np.prod(shape, dtype=np.int64)) * np.dtype(entry.dtype).itemsize
                found[name] = block[position : position + length].view(entry.dtype).reshape(shape)
                position += entry.nbytes(width)
        return found


class Draft:
    """The bytes of a checkpoint that one rank writes: copies, so that the run can go on meanwhile. Their memory is used again.

    draft.copy(arrays, deal)      its own cells into the tiles that it writes
    draft.exchange(world)         parts of other ranks come, its parts of others' tiles go
    draft.write(folder)           in another thread: gives the hash of each tile
    Checkpoint.seal(...)          one rank, with the hashes of all
    """

    def __init__(self) -> None:
        self.contents = Contents(0, {})
        self._blocks: dict[int, Bytes] = {}
        self._views: dict[int, dict[str, Array]] = {}
        self._deal = Deal.alone(0)
        self._parts: dict[int, tuple[dict[str, Array], int]] = {}

    @property
    def nbytes(self) -> int:
        """Bytes of the copies."""
        return sum(block.nbytes for block in self._blocks.values())

    def copy(self, arrays: Mapping[str, Array], deal: Deal) -> None:
        """Takes the arrays as they are now: without dimensions, or (..., own cells)."""
        contents = Contents.of(arrays, deal.n_cells)
        written = [HEAD] * (deal.rank == 0) + [tile.tile for tile in deal.written]
        if (contents, written) != (self.contents, list(self._blocks)):
            self._blocks = {tile: np.zeros(contents.length(tile), np.uint8) for tile in written}
            self._views = {tile: contents.views(tile, block) for tile, block in self._blocks.items()}
        self.contents, self._deal, self._parts = contents, deal, {}
        for name, values in self._views[HEAD].items() if deal.rank == 0 else ():
            values[...] = arrays[name]
        cells = {name: values for name, values in arrays.items() if values.ndim}
        for tile, columns, mine, writer in deal.held:
            if writer == deal.rank:
                for name, values in self._views[tile].items():
                    values[..., columns] = cells[name][..., mine]
            else:
                parts = {name: np.array(values[..., mine], contents.entries[name].dtype) for name, values in cells.items()}
                self._parts[tile] = parts, writer

    def exchange(self, world: World) -> None:
        """Brings parts of tiles to the ranks that write them; every rank calls it."""
        coming: list[tuple[Request, Array, Array, Any]] = []
        for tile in self._deal.written:
            for peer, columns in tile.parts:
                for values in self._views[tile.tile].values():
                    buffer = np.empty_like(values[..., columns])
                    coming.append((world.receive(buffer, peer, STORE_TAG), buffer, values, columns))
        going = [world.send(np.ascontiguousarray(part), to, STORE_TAG) for parts, to in self._parts.values() for part in parts.values()]
        with span("exchange"):
            for request, buffer, values, columns in coming:
                request.wait()
                values[..., columns] = buffer
            for request in going:
                request.wait()
        self._parts = {}

    def write(self, folder: Path) -> dict[int, bytes]:
        """Writes and hashes this rank's tiles; when it returns, they are durable.

        Raises
        ------
        NoSpaceError, Failure
            The system refused.
        """
        digests = {}
        path = folder / ARRAYS
        with writing(path):
            file = os.open(path, os.O_WRONLY | os.O_CREAT, 0o644)
            try:
                waiting = 0
                for tile, block in self._blocks.items():
                    digests[tile] = xxhash.xxh3_128_digest(block.data)
                    _write_at(file, block, self.contents.offset(tile))
                    waiting += block.nbytes
                    if waiting > BATCH and hasattr(os, "posix_fadvise"):  # Linux begins to write to the disk while the rest is hashed
                        os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
                        waiting = 0
                os.fsync(file)
            finally:
                os.close(file)
        return digests


def _write_at(file: int, block: Bytes, offset: int) -> None:
    """All of a block: the system may take less than it is given."""
    while len(block):
        taken = os.pwrite(file, block.data, offset)
        block, offset = block[taken:], offset + taken
