"""Indices as NumPy has them, turned to flat indices of an array in rows."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from steppe.errors import IndexOutOfRangeError

Integers = NDArray[np.int64]


def is_basic(key: Any) -> bool:
    """True if a key has integers, slices and an ellipsis only, so that NumPy answers with a view."""
    return all(isinstance(part, int | np.integer | slice | type(...)) for part in (key if isinstance(key, tuple) else (key,)))


def flat_index(name: str, shape: tuple[int, ...], key: Any) -> Integers:
    """The flat indices of `array[key]`, in the shape of that result. Memory: a few times the result, whatever the shape.

    NumPy itself applies the key, to the coordinates of each dimension, which are broadcast and not stored.

    Raises
    ------
    IndexOutOfRangeError
        The key does not fit the shape.
    """
    found = np.zeros((), np.int64)
    stride = 1
    try:
        for axis in reversed(range(len(shape))):
            along = np.arange(shape[axis]).reshape((-1, *[1] * (len(shape) - axis - 1)))
            found = found + stride * np.broadcast_to(along, shape)[key]
            stride *= shape[axis]
    except IndexError as error:
        raise IndexOutOfRangeError(f'"{name}" of shape {shape}: {error}.') from None
    return np.asarray(found, np.int64)
