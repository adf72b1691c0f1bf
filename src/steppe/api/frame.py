"""A frame of the live socket as bytes: a head of 64, then the levels of rows x columns, row by row from the north-west.

    STPF | bits stream flags version | number | - | rows columns | west north cell | scale offset | time | step | missing | -

Little-endian. With top = 2^bits - 1 levels 0 to top - 2 are values, offset + scale x level; top - 1 is missing, top is outside the mask.
"""

import struct
from typing import NamedTuple

import numpy as np

from steppe.array_types import Array, Bytes, Floats

HEAD = struct.Struct("<4sBBBBIIHHfffffdQII")
MAGIC, VERSION = b"STPF", 1
KEY, RANGE, REPLAYING, LAST = 1, 2, 4, 8  # flags
DROPPED = struct.Struct("<4sII")  # STPD, stream, frames that were dropped
DROPPED_MAGIC = b"STPD"
PROTOCOL = "steppe.live.1"
PACKED = "steppe.packed.1"  # offered beside it: `hello` is a binary message, these letters and zlib of its text
PACKED_MAGIC = b"STPZ"


class Frame(NamedTuple):
    """A frame, read. levels: (rows, columns), uint8 or uint16; west, north, cell: edges and width of a pixel [degree or m]."""

    stream: int
    flags: int
    number: int
    west: float
    north: float
    cell: float
    scale: float
    offset: float
    time: float
    step: int
    missing: int
    levels: Array

    @property
    def top(self) -> int:
        """The level of what is outside the mask."""
        return int(np.iinfo(self.levels.dtype).max)

    @property
    def values(self) -> Floats:
        """Values (rows, columns), right to half of `scale`; NaN where missing or outside."""
        found = self.offset + self.scale * self.levels.astype(np.float64)
        found[self.levels >= self.top - 1] = np.nan
        return found


def read_frame(content: bytes) -> Frame:
    """The frame that some bytes are.

    Raises
    ------
    ValueError
        They are none, or another version's.
    """
    if len(content) < HEAD.size or content[:4] != MAGIC:
        raise ValueError(f"{len(content):,} bytes that begin with {content[:4]!r} are no frame.")
    _, bits, stream, flags, version, number, _, rows, columns, *where = HEAD.unpack_from(content)
    expected = HEAD.size + rows * columns * bits // 8
    if version != VERSION or bits not in (8, 16) or len(content) != expected:
        raise ValueError(f"A frame of version {version}, {rows} x {columns} cells of {bits} bits in {len(content):,} bytes cannot be read.")
    levels = np.frombuffer(content, f"<u{bits // 8}", offset=HEAD.size).reshape(rows, columns)
    west, north, cell, scale, offset, time, step, missing, _ = where
    return Frame(stream, flags, number, west, north, cell, scale, offset, time, step, missing, levels)


def empty_frame(bits: int, rows: int, columns: int, head: tuple[float, ...]) -> tuple[Bytes, Array]:
    """The bytes of a frame in which all is outside the mask, and its levels (rows x columns,) in them, to be filled.

    head: west, north, cell, scale, offset, time, step, of which the last is a whole number.
    """
    content = np.full(HEAD.size + rows * columns * bits // 8, 255, np.uint8)
    *numbers, step = head
    HEAD.pack_into(content.data, 0, MAGIC, bits, 0, KEY, VERSION, 0, 0, rows, columns, *numbers, int(step), 0, 0)
    return content, content[HEAD.size :].view(f"<u{bits // 8}")


def tell_missing(content: Bytes, count: int, flags: int) -> None:
    """Writes the number of missing cells and the flags into the head of a frame."""
    content[6] = flags
    struct.pack_into("<I", content.data, 56, count)


def numbered(content: bytes | bytearray | memoryview, stream: int, number: int, flags: int) -> bytearray:
    """A copy of a frame with its stream, its number and more flags."""
    found = bytearray(content)
    found[5], found[6] = stream, found[6] | flags
    struct.pack_into("<I", found, 8, number)
    return found
