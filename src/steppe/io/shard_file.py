"""Reads shards (see `steppe.io.shard`): a file is opened once, and every read verifies both checksums."""

import os
import struct
from collections.abc import Callable
from pathlib import Path

import google_crc32c
import numpy as np
import xxhash
from numcodecs import blosc

from steppe.array_types import Array, Bytes
from steppe.errors import DamagedError, Failure
from steppe.io.shard import ABSENT, RESIDUE, Layout, shard_path

Place = Callable[[int], Bytes]  # gives memory of a length to read into


def new_memory(length: int) -> Bytes:
    """A `Place` with new memory for each record, for few reads."""
    return np.empty(length, np.uint8)


class ShardFile:
    """An open shard. The file is closed with the last reference to the object.

    Raises
    ------
    DamagedError
        The file is missing, or its index is damaged.
    """

    plain = in_bits = False  # records are compressed

    def __init__(self, path: str, layout: Layout) -> None:
        self.path = path
        self._layout = layout
        self._file = open_file(path)
        size, length = os.fstat(self._file).st_size, 16 * layout.chunks[0] * layout.chunks[1] + 4
        index = np.empty(length, np.uint8)
        if read_at(self._file, path, max(size - length, 0), index) != length or google_crc32c.value(index) != RESIDUE:
            raise DamagedError(f'"{path}" is damaged: its index has a wrong checksum. Restore the file, or make the store again.')
        self._index = index.tobytes()

    def __del__(self) -> None:
        if hasattr(self, "_file"):
            os.close(self._file)

    def entry(self, i: int, j: int) -> tuple[int, int]:
        """Offset and length of a chunk, counted within the shard; `ABSENT` twice if it was never written."""
        offset, length = struct.unpack_from("<QQ", self._index, 16 * (i * self._layout.chunks[1] + j))
        return offset, length

    def read(self, i: int, j: int, place: Place, at_once: bool = False) -> Bytes:
        """The record of a chunk, compressed. at_once: raises rather than wait for a device.

        Raises
        ------
        DamagedError
            The chunk was never written, or the file is cut short or changed.
        BlockingIOError
            The system does not have it in memory.
        """
        offset, length = self.entry(i, j)
        if offset == ABSENT:
            raise DamagedError(f'"{self.path}" has no chunk {i}, {j}. Restore the file, or make the store again.')
        into = place(length)
        if read_at(self._file, self.path, offset, into, at_once) != length or google_crc32c.value(into) != RESIDUE:
            raise DamagedError(f'"{self.path}" is damaged: chunk {i}, {j} has a wrong checksum. Restore the file, or make the store again.')
        return into

    def digest(self) -> bytes:
        """XXH3 of its index and of the checksums of its chunks: it differs for another shard of the same name."""
        found = xxhash.xxh3_128(self._index)
        for place in range(0, len(self._index) - 4, 16):
            offset, length = struct.unpack_from("<QQ", self._index, place)
            if offset != ABSENT:
                found.update(os.pread(self._file, 4, offset + length - 4))
        return found.digest()

    def decode(self, record: Bytes, out: Array) -> None:
        """The values of a record that was read, into a C-contiguous array of the chunk's shape and dtype.

        Raises
        ------
        DamagedError
            The description of the array belongs to another file.
        """
        held = int(record[4:8].view("<u4")[0])  # blosc header, bytes 4-7: size of the values
        if held != out.nbytes:
            raise DamagedError(f'"{self.path}" holds chunks of {held} bytes, its zarr.json says {out.nbytes}. Restore the store.')
        blosc.decompress(record[:-4], out)


def open_file(path: str) -> int:
    """A descriptor for reading.

    Raises
    ------
    DamagedError
        There is no such file, or the system refuses it.
    """
    try:
        return os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        raise DamagedError(f'"{path}" is missing. Restore the file, or make the store again.') from None
    except OSError as error:
        raise DamagedError(f'"{path}" cannot be read: {error.strerror}. Restore the file, or make the store again.') from None


def read_at(file: int, path: str, offset: int, into: Bytes, at_once: bool = False) -> int:
    """Fills memory from a place of an open file; returns the number of bytes. at_once: raises rather than wait for a device.

    Raises
    ------
    DamagedError
        The system cannot read it.
    BlockingIOError
        The system does not have all of it in memory, or cannot tell.
    """
    if at_once:
        try:
            if os.preadv(file, (into,), offset, os.RWF_NOWAIT) == len(into):  # type: ignore[arg-type]  # an array is a buffer
                return len(into)
        except (OSError, AttributeError):
            pass  # the ordinary read below raises the error
        raise BlockingIOError
    try:
        return os.preadv(file, (into,), offset)  # type: ignore[arg-type]
    except OSError as error:
        raise DamagedError(f'"{path}" cannot be read: {error.strerror}. Restore the file, or make the store again.') from None


def read_chunk(
    group_path: Path, name: str, index: tuple[int, int], layout: Layout, out: Array | None = None, missing: float | None = None
) -> Array:
    """One chunk of an array, for few reads.

    Parameters
    ----------
    index
        Of the chunk along (time, cell), counted through the whole array.
    out
        C-contiguous array of the chunk's shape and dtype to decode into; a new one without it.
    missing
        The value of a chunk that was never written; default: such a chunk is an error.

    Returns
    -------
    Array
        (steps, [levels,] cells) of a whole chunk; values beyond the end of the array have no meaning.

    Raises
    ------
    DamagedError
        The file is absent, cut short or changed.
    """
    if out is None:
        out = np.empty(layout.chunk, layout.dtype)
    elif out.shape != layout.chunk or out.dtype != np.dtype(layout.dtype) or not out.flags.c_contiguous:
        raise Failure(
            f'A chunk of "{name}" is {layout.dtype} {layout.chunk}; it cannot be read into {out.dtype} {out.shape}. '
            "This is a defect of Steppe."
        )
    (shard_i, i), (shard_j, j) = divmod(index[0], layout.chunks[0]), divmod(index[1], layout.chunks[1])
    path = shard_path(group_path, name, (shard_i, shard_j), len(layout.shard))
    if missing is not None and not os.path.exists(path):
        out.fill(missing)
        return out
    file = ShardFile(path, layout)
    if missing is not None and file.entry(i, j) == (ABSENT, ABSENT):
        out.fill(missing)
        return out
    file.decode(file.read(i, j, new_memory), out)
    return out
