"""Gather, scatter and update of elements in pages of memory, as compiled loops that run without the interpreter lock.

    old[k] = y[index[k]]        y[index[k]] = x[k]        y[index[k]] = a x[k] + b y[index[k]], atomic

The array y is described by a table of page addresses (`steppe.kernels.elements`). A page that this process cannot see has the
address 0: `divide` finds the elements in such pages, and the other loops are given those that are here. Indices are not checked. Elements
of one call are treated in the order of k.
"""

from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy import int64
from numpy.typing import NDArray

from steppe.array_types import Integers
from steppe.kernels import FieldKernel, field_kernel
from steppe.kernels.elements import element_access, element_change
from steppe.kernels.primitives import peek, poke, prefetch

GATHER, SCATTER, UPDATE, FETCH_UPDATE = range(4)  # the operations of `change`
ANSWERED = (GATHER, FETCH_UPDATE)  # those that give elements
DTYPES = ("int32", "int64", "float32", "float64")
HASH = int64(-7046029254386353131)  # 2^64 divided by the golden ratio
AHEAD = 32  # elements whose memory is asked for before it is changed: an atomic operation waits for its own memory alone


class ElementLoops(NamedTuple):
    """The loops of one dtype."""

    gather: FieldKernel  # (n, first, index, old): of an array in one piece, whose first element has the address `first`
    gather_near: FieldKernel  # (n, shift, table, near, index, old): old[k] for the positions k in `near`
    change: FieldKernel  # (n, operation, shift, a, b, table, index, x, old): gathers, too
    apply: FieldKernel  # (n, shift, table, index, x, b): y = x + b y, by one rank alone


@field_kernel
def divide(n: int, shift: int, table: Integers, index: Integers, places: Integers, counts: Integers) -> None:
    """Divides positions by whether this process sees their page; no processor could foresee that of random indices in one loop.

    places (n,): those here in order, counts[0] of them, then the others, backwards.
    """
    here = 0
    for k in range(n):
        places[here] = k
        places[n - 1 - k + here] = k
        here += 0 if table[index[k] >> shift] == 0 else 1
    counts[0] = here


@field_kernel
def distinct(n: int, width: int, index: Integers, slots: Integers, found: Integers, inverse: Integers, counts: Integers) -> None:
    """The different indices in the order of their first use, counts[0] of them; index[k] is found[inverse[k]].

    slots: 2^width entries of -1, at least twice as many as indices: a hash table with multiplicative hashing (Knuth 1973, section 6.4).
    """
    used, last = 0, (1 << width) - 1
    for k in range(n):
        i = index[k]
        at = ((i * HASH) >> (64 - width)) & last
        while slots[at] >= 0 and found[slots[at]] != i:
            at = (at + 1) & last
        if slots[at] < 0:
            slots[at] = used
            found[used] = i
            used += 1
        inverse[k] = slots[at]
    counts[0] = used


@cache
def access(dtype: str) -> ElementLoops:
    """The loops for elements of one of `DTYPES`."""
    kind: Any = np.dtype(dtype)
    like, size = kind.type(0), kind.itemsize
    number: Any = int if kind.kind == "i" else float
    Values: Any = NDArray[kind.type]
    (load, store, _), update = element_access(dtype), element_change(dtype)

    @field_kernel
    def gather(n: int, first: int, index: Integers, old: Values) -> None:
        for k in range(n):
            old[k] = peek(first + size * index[k], like)

    @field_kernel
    def gather_near(n: int, shift: int, table: Integers, near: Integers, index: Integers, old: Values) -> None:
        for j in range(n):
            old[near[j]] = load(table, shift, index[near[j]])

    @field_kernel
    def change(n: int, operation: int, shift: int, a: number, b: number, table: Integers, index: Integers, x: Values, old: Values) -> None:
        mask = (int64(1) << shift) - 1
        for k in range(n):
            coming = index[min(k + AHEAD, n - 1)]
            prefetch(table[coming >> shift] + size * (coming & mask))
            address = table[index[k] >> shift] + size * (index[k] & mask)
            if operation == SCATTER:
                poke(address, x[k], like)
            elif operation == GATHER:
                old[k] = peek(address, like)
            else:
                former = update(address, a, b, x[k])
                if operation == FETCH_UPDATE:
                    old[k] = former

    @field_kernel
    def apply(n: int, shift: int, table: Integers, index: Integers, x: Values, b: Values) -> None:
        for k in range(n):
            i = index[k]
            store(table, shift, i, x[k] + b[k] * load(table, shift, i) if b[k] != 0 else x[k])

    return ElementLoops(gather, gather_near, change, apply)
