"""Digests of states, equal for equal bits on any number of ranks; and the values that a change gives."""

from collections.abc import Mapping
from functools import lru_cache
from hashlib import sha256
from math import prod

import numpy as np
from numpy.typing import NDArray

from steppe.array_types import Array
from steppe.errors import RequestError, nearest
from steppe.grid import Cells

OPERATIONS = ("set", "scale", "add")


def changed(operation: str, before: Array, value: float | Array) -> float | Array:
    """The values after a change: `value` itself, the present values times it, or their sum; float64.

    Raises
    ------
    RequestError
        The operation is none of these.
    """
    if operation == "set":
        return value
    if operation not in OPERATIONS:
        raise RequestError(f'Operation "{operation}" is not known.{nearest(operation, OPERATIONS)}')
    there = np.asarray(before, np.float64)
    found: Array = there * value if operation == "scale" else there + value
    return found if found.ndim else float(found)


def digest(arrays: Mapping[str, Array], cells: Cells, first: bool) -> int:
    """The sum modulo 2^64 of the bits of all values, each times a weight of its array and its packed cell, as a signed number.

    Every weight is odd, so that no single change goes unseen. Sums of parts are added up, modulo 2^64 again.

    Parameters
    ----------
    arrays
        Name -> one number for all cells, or (..., cells).
    cells
        The packed cells of this part.
    first
        Whether this part counts the numbers that hold for all cells.
    """
    weights = _weights(cells.start, cells.stop) if isinstance(cells, range) else _mixed(cells)
    found = np.uint64(0)
    numbers: dict[str, float] = {}
    with np.errstate(over="ignore"):
        for name, values in arrays.items():
            if not values.ndim:
                numbers[name] = values.item()
                continue
            rows = _bits(values).reshape(prod(values.shape[:-1]), values.shape[-1])
            of = _weights_of((name,) if len(rows) == 1 else tuple(f"{name}/{k}" for k in range(len(rows))))
            found += np.dot(np.einsum("rc,c->r", rows, weights), of)  # wide in the loop: no array of wide ones is made
        if first and numbers:
            found += np.dot(np.array([*numbers.values()], np.float64).view(np.uint64), _weights_of(tuple(numbers)))
    return int(found.view(np.int64))


def _bits(values: Array) -> Array:
    return np.ascontiguousarray(values).view(f"u{values.dtype.itemsize}")


@lru_cache
def _weights_of(names: tuple[str, ...]) -> NDArray[np.uint64]:
    """An odd number for each array."""
    return np.array([int.from_bytes(sha256(name.encode()).digest()[:8], "little") | 1 for name in names], np.uint64)


@lru_cache(4)
def _weights(first: int, stop: int) -> NDArray[np.uint64]:
    return _mixed(np.arange(first, stop))


def _mixed(cells: Array) -> NDArray[np.uint64]:
    """An odd number for each cell: the finaliser of SplitMix64 (Steele, Lea and Flood, 2014, OOPSLA)."""
    z = cells.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    found: NDArray[np.uint64] = (z ^ (z >> np.uint64(31))) | np.uint64(1)
    return found
