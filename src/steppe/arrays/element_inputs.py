"""The arguments of an array's methods: indices, values and factors are checked, and keys as NumPy has them become flat indices."""

import operator
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from math import prod
from types import EllipsisType
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import ArrayLike, DTypeLike

from steppe.array_types import Array, Integers
from steppe.arrays.access import DTYPES
from steppe.errors import ArrayError, IndexOutOfRangeError

LARGEST = 2**63 - 1  # of indices and keys


def whole_lengths(shape: int | Sequence[int]) -> tuple[int, ...]:
    """The lengths of the dimensions; raises `ArrayError` if they are no whole numbers, 0 or more."""
    try:
        found = tuple(operator.index(n) for n in (shape if isinstance(shape, Sequence | np.ndarray) else (shape,)))
    except TypeError:
        raise ArrayError(f"a shape has whole numbers, not {shape!r}.") from None
    if any(n < 0 for n in found):
        raise ArrayError(f"the shape {found} has a negative length.")
    return found


def described(shape: int | Sequence[int], dtype: DTypeLike) -> tuple[str, tuple[int, ...], np.dtype]:
    """Their fault, or "", and both in NumPy's form."""
    kind: np.dtype = np.dtype("float64")
    try:
        kind = np.dtype(dtype)
        lengths = whole_lengths(shape)
    except TypeError:
        return f"{dtype!r} is no dtype of NumPy. An array holds {', '.join(DTYPES)}.", (), kind
    except ArrayError as error:
        return str(error), (), kind
    known = kind.name in DTYPES and kind.isnative
    return "" if known else f"an array holds {', '.join(DTYPES)}, not {kind}.", lengths, kind


class ElementInputs:
    """Checks for an array of `size` elements of `dtype`, whose name is in each error."""

    def __init__(self, name: str, dtype: np.dtype, size: int) -> None:
        self._name, self._dtype, self._size = name, dtype, size
        limits: Any = (np.iinfo if dtype.kind == "i" else np.finfo)(dtype)
        self._least, self._largest = int(limits.min), int(limits.max)

    def indices(self, index: ArrayLike) -> Integers:
        """Indices as contiguous int64, of their shape.

        Raises
        ------
        ArrayError
            They are no integers, or too large ones.
        """
        found = np.asarray(index)
        if found.size == 0:
            found = found.astype(np.int64)
        if found.dtype.kind not in "iu":
            raise ArrayError(f'"{self._name}" takes integers as indices, it was given {found.dtype}.')
        if found.dtype == np.uint64 and found.max(initial=0) > LARGEST:
            raise IndexOutOfRangeError(f'"{self._name}": {found.max()} is no index and no key, which are at most {LARGEST}.')
        return np.asarray(found, np.int64, order="C")

    def keys(self, key: ArrayLike, shape: tuple[int, ...]) -> Integers:
        """The keys of updates, (n,). shape: of the indices. Raises `ArrayError` for others than integers, and for another shape."""
        found = np.asarray(key)
        if found.ndim and found.shape != shape:
            raise ArrayError(f'"{self._name}": {shape} indices were given keys of shape {found.shape}. Give a key for each.')
        return self.indices(np.broadcast_to(found, shape)).reshape(-1)

    def elements(self, index: ArrayLike) -> Integers:
        """Flat indices within the array, of their shape; raises as `indices`, and `IndexOutOfRangeError` for the first one outside."""
        found = self.indices(index)
        unsigned = found.reshape(-1).view(np.uint64)  # a negative index is a large one
        if unsigned.size and unsigned.max() >= self._size:
            at = int((unsigned >= self._size).argmax())
            inside = f"not from 0 to {self._size - 1}" if self._size else "outside"
            raise IndexOutOfRangeError(f'"{self._name}" has {self._size} elements, index {found.flat[at]} at position {at} is {inside}.')
        return found

    def values(self, value: ArrayLike) -> Array:
        """Values of any shape, not yet converted; raises `ArrayError` for others than the dtype can take."""
        x = np.asarray(value)
        if x.size and (x.dtype.kind not in "iufb" or not np.can_cast(x.dtype, self._dtype, "same_kind")):
            raise ArrayError(f'"{self._name}" holds {self._dtype}, it was given values of {x.dtype}. Convert them.')
        if self._dtype.kind == "i" and not np.can_cast(x.dtype, self._dtype) and (wrong := x.astype(self._dtype) != x).any():
            raise ArrayError(f'"{self._name}" holds {self._dtype}, which has no {x[wrong][0]}.')
        return x

    def indices_and_values(self, index: ArrayLike, value: ArrayLike) -> tuple[Integers, Array]:
        """Flat indices within the array and a value for each, both (n,).

        Raises
        ------
        IndexOutOfRangeError
            An index lies outside.
        ArrayError
            The indices are no integers, or the values have another shape, another kind of number, or lie outside an integer dtype.
        """
        chosen, x = self.elements(index), self.values(value)
        try:
            x = np.broadcast_to(x.squeeze(tuple(range(x.ndim - chosen.ndim))), chosen.shape)
        except ValueError:
            raise ArrayError(f'"{self._name}": {chosen.shape} indices were given values of shape {x.shape}.') from None
        chosen, x = chosen.reshape(-1), np.ascontiguousarray(x, self._dtype).reshape(-1)
        return chosen, x.copy() if np.may_share_memory(chosen, x) else x  # a kernel takes no memory twice

    def factor(self, name: str, value: float) -> float:
        """A factor of an update; raises `ArrayError` if it is no number, or none of the dtype of an array of integers."""
        number: Any = np.asarray(value)[()]  # of an array without dimensions its element
        if not isinstance(number, int | np.integer | np.floating):
            raise ArrayError(f'"{self._name}": the factor {name} is {value!r}. Give one number.')
        if self._dtype.kind == "i" and isinstance(number, np.floating):
            raise ArrayError(f'"{self._name}" holds {self._dtype}, the factor {name} is {value!r}. Give an integer.')
        if self._largest < number != np.inf or self._least > number != -np.inf:
            raise ArrayError(f'"{self._name}" holds {self._dtype}, which has no factor {name} = {value}.')
        return value


@contextmanager
def fitting(name: str, shape: tuple[int, ...], otherwise: type[ArrayError] = IndexOutOfRangeError) -> Iterator[None]:
    """Says in Steppe's words what NumPy says of a key; otherwise: the kind of an error that is no `IndexError`."""
    try:
        yield
    except (IndexError, ValueError, TypeError) as error:
        kind = IndexOutOfRangeError if isinstance(error, IndexError) else otherwise
        raise kind(f'"{name}" of shape {shape}: {error}.') from None


def flat_index(name: str, shape: tuple[int, ...], key: Any) -> Integers:
    """The flat indices of `array[key]`, in the shape of that result. Memory: a few times the result, or the lengths of the dimensions.

    NumPy itself applies integers and slices, to an array without memory, of which it gives a view. An index array a dimension is added up.
    Other keys are applied to the coordinates of each dimension, which are broadcast and not stored.

    Raises
    ------
    IndexOutOfRangeError
        The key does not fit the shape.
    """
    parts = key if isinstance(key, tuple) else (key,)
    strides = [prod(shape[axis + 1 :]) for axis in range(len(shape))]
    with fitting(name, shape):
        found: Any = np.zeros((), np.int64)[() if shape else key]
        if all(isinstance(part, int | np.integer | slice | EllipsisType | None) and not isinstance(part, bool) for part in parts):
            whole = as_strided(np.empty(1, np.int8), shape, strides)  # a byte an element; none is read
            view = whole[parts if ... in parts else (*parts, ...)]
            along = (step * np.arange(n) for n, step in zip(view.shape, view.strides, strict=True))
            found = sum(np.ix_(*along), view.ctypes.data - whole.ctypes.data)
        elif len(parts) == len(shape) and all(np.asarray(part).dtype.kind == "i" for part in parts):
            for axis, (part, n, stride) in enumerate(zip(parts, shape, strides, strict=True)):
                index = np.asarray(part, np.int64)
                if (wrong := (index < -n) | (index >= n)).any():
                    raise IndexError(f"index {index[wrong][0]} is out of bounds for axis {axis} with size {n}")
                found = found + stride * (index % n)
        else:
            for axis, stride in enumerate(strides):
                own = np.arange(shape[axis]).reshape((-1, *[1] * (len(shape) - axis - 1)))
                found = found + stride * np.broadcast_to(own, shape)[key]
    return np.asarray(found, np.int64)
