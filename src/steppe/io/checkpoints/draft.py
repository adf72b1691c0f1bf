"""A checkpoint on its way to the disk: the ranks copy, exchange and write its bytes, to the places that `contents` gives."""

import os
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import xxhash

from steppe.array_types import Array
from steppe.comm import MessageRequest, World
from steppe.comm.world import STORE_TAG
from steppe.files import writing
from steppe.grid import Ownership
from steppe.grid.ownership import Columns
from steppe.io.checkpoints.contents import HEAD, Contents, Digests, TileRun, moved, pieces
from steppe.timeline import span

ARRAYS = "arrays.bin"
BATCH = 1 << 22  # bytes that are written before the system is asked to bring them to the disk


class Draft:
    """The bytes of a checkpoint that one rank writes. They are copies, so the run goes on meanwhile; their memory is used again.

    draft.copy(arrays, deal)      its own cells into the tiles that it writes
    draft.exchange(world)         parts of other ranks come, its parts of others' tiles go
    draft.write(folder)           in another thread: gives the hash of each tile
    Checkpoint.seal(...)          one rank, with the hashes of all
    """

    def __init__(self) -> None:
        self.contents = Contents(0, {})
        self._deal = Ownership.alone(0)
        self._numbers: dict[str, Array] = {}  # that hold for all cells
        self._copies: dict[str, Array] = {}  # (..., cells of the tiles that this rank writes)
        self._stretches: list[TileRun] = []
        self._parts: list[tuple[list[Array], int]] = []  # of tiles that other ranks write, and the rank

    @property
    def nbytes(self) -> int:
        """Bytes of the copies."""
        return sum(values.nbytes for values in (*self._numbers.values(), *self._copies.values()))

    def copy(self, arrays: Mapping[str, Array], deal: Ownership) -> None:
        """Copies the arrays: without dimensions, or (..., own cells)."""
        contents, written = Contents.of(arrays, deal.n_cells), [tile.tile for tile in deal.written]
        if (contents, written) != (self.contents, [tile.tile for tile in self._deal.written]):
            width = sum(tile.width for tile in deal.written)
            self._copies = {name: np.zeros((*entry.shape[:-1], width), entry.dtype) for name, entry, _ in contents.of_cells()}
            self._stretches = TileRun.of(written, deal.n_cells)
        self.contents, self._deal = contents, deal
        self._numbers = {name: np.array(arrays[name], entry.dtype) for name, entry, _ in contents.numbers()}
        mine = pieces([held for held in deal.held if held.writer == deal.rank], written, deal.n_cells)
        others = [held for held in deal.held if held.writer != deal.rank]
        self._parts = [([], held.writer) for held in others]
        for name, entry, _ in contents.of_cells():
            taken = arrays[name]  # once: it may be made for this
            for columns, part in mine:
                self._copies[name][..., columns] = taken[..., part]
            for (parts, _), held in zip(self._parts, others, strict=True):
                parts.append(np.array(taken[..., held.mine], entry.dtype))

    def exchange(self, world: World) -> None:
        """Brings parts of tiles to the ranks that write them; every rank calls it."""
        coming: list[tuple[MessageRequest, Array, Array, Columns]] = []
        at = 0
        for tile in self._deal.written:
            for peer, columns in tile.parts:
                for values in self._copies.values():
                    place = moved(columns, at)
                    buffer = np.empty_like(values[..., place], order="C")
                    coming.append((world.receive(buffer, peer, STORE_TAG), buffer, values, place))
            at += tile.width
        going = [world.send(part, to, STORE_TAG) for parts, to in self._parts for part in parts]
        with span("exchange"):
            for request, buffer, values, place in coming:
                request.wait()
                values[..., place] = buffer
            for request in going:
                request.wait()
        self._parts = []

    def write(self, folder: Path) -> dict[int, bytes]:
        """Writes and hashes this rank's tiles, durably. A rank that writes nothing opens nothing: it may not see the folder.

        Raises
        ------
        NoSpaceError, Failure
            The system refused.
        """
        digests, head = Digests(self._stretches, self.contents.n_cells), {}
        path = folder / ARRAYS
        if not self._stretches and self._deal.rank != 0:
            return {}
        with writing(path):
            file = os.open(path, os.O_WRONLY | os.O_CREAT, 0o644)
            try:
                if self._deal.rank == 0:
                    numbers = b"".join(values.tobytes() for values in self._numbers.values())
                    head[HEAD] = xxhash.xxh3_128_digest(numbers)
                    _write_at(file, memoryview(numbers), 0)
                waiting = 0
                for name, entry, offset in self.contents.of_cells():
                    for row, values in enumerate(self._copies[name].reshape(entry.rows, -1) if entry.nbytes else ()):
                        for stretch in self._stretches:
                            piece = values[stretch.columns]
                            _write_at(file, piece.view(np.uint8).data, stretch.place(entry, offset, row))
                            digests.add(stretch, piece)  # while it is in the processor's cache
                            waiting += piece.nbytes
                            if waiting > BATCH and hasattr(os, "posix_fadvise"):  # Linux begins to write to the disk meanwhile
                                os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
                                waiting = 0
                os.fsync(file)
            finally:
                os.close(file)
        return head | digests.found()


def _write_at(file: int, data: memoryview, offset: int) -> None:
    """Writes all bytes: one call of the system may write fewer."""
    while len(data):
        taken = os.pwrite(file, data, offset)
        data, offset = data[taken:], offset + taken
