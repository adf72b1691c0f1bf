"""Elements of an array that lies in pages of memory, for a kernel that is handed the addresses of the pages.

    table[i >> shift] + size (i & mask)       address of element i; table: addresses of pages of 2^shift elements [bytes]

An array in one piece is one page with a shift of `ONE_PAGE`. The table holds 0 for a page that this process cannot see.
"""

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from steppe.array_types import Integers
from steppe.kernels.primitives import bits, peek, poke, swap

Table = Integers | Sequence[int]  # addresses of pages
ONE_PAGE = 62  # shift that turns every index into page 0


class ElementAccess(NamedTuple):
    """Functions that a kernel may call on elements of one dtype; indices are not checked."""

    load: Callable[[Table, int, int], float]  # (table, shift, i): the element
    store: Callable[[Table, int, int, float], None]  # (table, shift, i, value)
    add: Callable[[Table, int, int, float], None]  # (table, shift, i, value): atomic for all processes


def element_address(table: Table, shift: int, i: int, size: int) -> int:
    """The address of element i, of `size` bytes."""
    return table[i >> shift] + size * (i & ((1 << shift) - 1))


@cache
def element_access(dtype: str) -> ElementAccess:
    """The functions for elements of `dtype`: int32, int64, float32 or float64.

    Examples
    --------
    >>> values = np.array([1.0, 2.0, 3.0])
    >>> load, store, add = element_access("float64")
    >>> add([values.ctypes.data], ONE_PAGE, 1, np.float64(0.5))
    >>> float(values[1])
    2.5
    """
    like, one = np.dtype(dtype).type(0), np.dtype(dtype).type(1)
    size, change = like.nbytes, element_change(dtype)

    def load(table: Table, shift: int, i: int) -> Any:
        return peek(element_address(table, shift, i, size), like)

    def store(table: Table, shift: int, i: int, value: float) -> None:
        poke(element_address(table, shift, i, size), value, like)

    def add(table: Table, shift: int, i: int, value: float) -> None:
        change(element_address(table, shift, i, size), one, one, value)

    return ElementAccess(load, store, add)


@cache
def element_change(dtype: str) -> Callable[[int, float, float, float], float]:
    """A function (address, a, b, x) that sets y = a x + b y for the element y at an address, and returns its former value.

    It is one atomic operation for all processes. With b = 0 the former value does not count, even if it is not a number.
    """
    like = np.dtype(dtype).type(0)
    same = same_integers if np.dtype(dtype).kind == "i" else same_reals

    def change(address: int, a: float, b: float, x: float) -> Any:
        old = peek(address, like)
        there = swap(address, old, a * x + b * old if b != 0 else a * x, like)
        while not same(there, old):
            old = there
            there = swap(address, old, a * x + b * old if b != 0 else a * x, like)
        return old

    return change


def same_integers(a: float, b: float) -> bool:
    """True if two integers have the same bits."""
    return a == b


def same_reals(a: float, b: float) -> Any:
    """True if two floats have the same bits; a NaN has those of itself."""
    return bits(a) == bits(b)
