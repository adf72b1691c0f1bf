"""Records: ranges of the bytes of a file, many at once. A record is (offset, length) [bytes]."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from typing_extensions import Buffer

from steppe.array_types import Array, Bytes, Integers
from steppe.errors import ArrayError, IndexOutOfRangeError
from steppe.kernels import field_kernel


class ByteRecords(NamedTuple):
    """offsets, lengths: (n,) int64 [bytes]."""

    offsets: Integers
    lengths: Integers

    @property
    def stops(self) -> Integers:
        """The byte behind each record, (n,)."""
        return self.offsets + self.lengths

    @property
    def places(self) -> Integers:
        """Where each record begins in the bytes of all records, one behind another, (n,)."""
        return np.cumsum(self.lengths) - self.lengths

    @property
    def total(self) -> int:
        """The bytes of all records."""
        return int(self.lengths.sum())

    @property
    def are_one_range(self) -> bool:
        """True if each record begins where the one before it ends."""
        return bool((self.offsets[1:] == self.stops[:-1]).all())


def records_of(offsets: ArrayLike, lengths: ArrayLike, size: int, path: str) -> ByteRecords:
    """The records that a caller names, each within a file of `size` bytes. offsets: (n,); lengths: (n,), or one for all.

    Raises
    ------
    IndexOutOfRangeError
        A record lies outside the file.
    ArrayError
        An offset or a length is no integer, or their numbers differ.
    """
    first, count = np.atleast_1d(np.asarray(offsets)), np.asarray(lengths)
    for name, given in (("Offsets", first), ("Lengths", count)):
        if given.dtype.kind not in "iu" and given.size:
            raise ArrayError(f'{name} of records of "{path}" are {given.dtype}. Give integers, in bytes.')
    if first.ndim != 1 or count.shape not in ((), first.shape):
        raise ArrayError(f'Records of "{path}" have offsets {first.shape} and lengths {count.shape}. Give one row of each, or one length.')
    found = ByteRecords(first.astype(np.int64), np.broadcast_to(count, first.shape).astype(np.int64))
    outside = (found.offsets < 0) | (found.lengths < 0) | (found.offsets > size - found.lengths)
    if outside.any():
        k = int(outside.argmax())
        raise IndexOutOfRangeError(
            f'Record {k} of "{path}" has {found.lengths[k]} bytes from byte {found.offsets[k]} on, but the file has {size} bytes. '
            "A record lies within the file."
        )
    return found


def cut(records: ByteRecords, part: int) -> tuple[ByteRecords, Integers, Integers]:
    """The records within parts of `part` bytes, their places in the bytes of all, and the number of the part of each.

    The offsets count from the begin of their part. Empty records are left out.
    """
    some = np.flatnonzero(records.lengths)
    offsets, stops, places = (each[some] for each in (records.offsets, records.stops, records.places))
    first = offsets // part
    pieces = (stops - 1) // part - first + 1
    offsets, stops, places = (np.repeat(each, pieces) for each in (offsets, stops, places))
    number = np.repeat(first - np.cumsum(pieces) + pieces, pieces) + np.arange(pieces.sum())
    starts = np.maximum(offsets, number * part)
    return ByteRecords(starts - number * part, np.minimum(stops, (number + 1) * part) - starts), places + starts - offsets, number


def flat_bytes(data: Buffer | Array) -> Bytes:
    """The bytes of an array or a buffer in order, without a copy if they are contiguous.

    Raises
    ------
    ArrayError
        They are Python objects, a text for instance.
    """
    try:
        values = data if isinstance(data, np.ndarray) else np.asarray(memoryview(data))
    except TypeError:
        kind = "a text" if isinstance(data, str) else type(data).__name__
        raise ArrayError(f"A file in memory takes bytes, not {kind}. Give bytes or an array; of a text, data.encode().") from None
    if values.dtype.hasobject:
        raise ArrayError(f"Data of {values.dtype} cannot be written. Give numbers or bytes.")
    return np.ascontiguousarray(values).reshape(-1).view(np.uint8)


def merged(calls: list[ByteRecords]) -> ByteRecords:
    """The bytes of the records of several calls as disjoint ranges in order; empty records are left out."""
    offsets, lengths = np.concatenate([np.empty((2, 0), np.int64), *map(np.stack, calls)], axis=1)
    order = np.argsort(offsets, kind="stable")
    order = order[lengths[order] > 0]
    offsets, ends = offsets[order], np.maximum.accumulate(offsets[order] + lengths[order])
    first = np.flatnonzero(np.append(True, offsets[1:] > ends[:-1])[: offsets.size])
    last = np.append(first[1:], offsets.size)[: first.size] - 1
    return ByteRecords(offsets[first], ends[last] - offsets[first])


def first_overlap(parts: list[ByteRecords]) -> tuple[int, int, int, int] | None:
    """Two ranks, and the first bytes that both have: first, last. parts: by rank, as `merged` gives them."""
    offsets, stops = (np.concatenate([getattr(part, name) for part in parts]) for name in ("offsets", "stops"))
    ranks = np.repeat(np.arange(len(parts)), [part.offsets.size for part in parts])
    order = np.argsort(offsets, kind="stable")
    offsets, stops, ranks = offsets[order], stops[order], ranks[order]
    within = np.flatnonzero(offsets[1:] < stops[:-1])
    if not within.size:
        return None
    k = int(within[0])  # until here no range overlaps, so that the one before it ends last
    low, high = sorted(ranks[k : k + 2].tolist())
    return low, high, int(offsets[k + 1]), int(min(stops[k : k + 2])) - 1


@field_kernel
def copy_records(n: int, places: Integers, targets: Integers, lengths: Integers, source: Bytes, target: Bytes) -> None:
    """Copies `n` records: lengths[k] bytes from source[places[k]] on to target[targets[k]]. Nothing is checked."""
    for k in range(n):
        at, to = places[k], targets[k]
        for i in range(lengths[k]):
            target[to + i] = source[at + i]


@field_kernel
def count_written(n: int, shift: int, offsets: Integers, lengths: Integers, written: Integers) -> None:
    """Adds the bytes of `n` records to those of the blocks, of 2^shift bytes, in which they lie."""
    for k in range(n):
        at, stop = offsets[k], offsets[k] + lengths[k]
        while at < stop:
            block = at >> shift
            end = min(stop, (block + 1) << shift)
            written[block] += end - at
            at = end
