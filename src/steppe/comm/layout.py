"""The arrays of a gather: their dtypes, shapes and places in the result."""

import functools
import itertools
import math
from typing import NamedTuple

import numpy as np

from steppe.array_types import Array
from steppe.comm.passing import PART

ABOUT = 11  # numbers: 3, and the shape of an array of at most 8 dimensions


class GatherLayout(NamedTuple):
    """The arrays of all ranks in a gather, and their places in the result."""

    dtypes: set[tuple[str, int]]  # kind, bytes
    shapes: list[list[int]]
    sizes: list[int]  # bytes
    longest: int  # bytes
    counts: Array  # bytes, as MPI takes them
    spans: list[slice]  # elements
    length: int
    flat: bool


@functools.lru_cache(16)
def about(dtype: np.dtype[np.generic], shape: tuple[int, ...]) -> Array:
    """The description of a rank's array: kind and bytes of the dtype, dimensions, shape."""
    found = np.zeros(ABOUT, np.int64)
    found[:3] = ord(dtype.kind), dtype.itemsize, len(shape)
    found[3 : 3 + len(shape)] = shape
    return found


@functools.lru_cache(16)
def layout_of(abouts: bytes) -> GatherLayout:
    """The layout for the descriptions of all ranks."""
    rows = np.frombuffer(abouts, np.int64).reshape(-1, ABOUT).tolist()
    shapes = [row[3 : 3 + row[2]] for row in rows]
    lengths = [math.prod(shape) for shape in shapes]
    sizes = [length * row[1] for length, row in zip(lengths, rows, strict=True)]
    spans = [slice(end - length, end) for length, end in zip(lengths, itertools.accumulate(lengths), strict=True)]
    dtypes = {(chr(kind), itemsize) for kind, itemsize, *_ in rows}
    counts = np.array(np.minimum(sizes, PART), np.int32)  # not needed where they are more
    return GatherLayout(dtypes, shapes, sizes, max(sizes), counts, spans, sum(lengths), all(len(shape) == 1 for shape in shapes))


@functools.lru_cache(16)
def known_layout(dtype: np.dtype[np.generic], lengths: tuple[int, ...]) -> GatherLayout:
    """The layout of arrays of one dimension whose lengths every rank knows."""
    return layout_of(b"".join(about(dtype, (length,)).tobytes() for length in lengths))


def names(dtypes: set[tuple[str, int]]) -> str:
    """The names of dtypes, for messages."""
    return ", ".join(sorted(f"{kind}{itemsize}" for kind, itemsize in dtypes))
