"""Gather, scatter and update of elements in pages of memory, as compiled loops that run without the interpreter lock.

    out[k] = y[index[k]]        y[index[k]] = x[k]        y[index[k]] = a x[k] + b y[index[k]], atomic

The array y is described by a table of page addresses (`steppe.kernels.elements`). A page that this process cannot see has the
address 0: the loop that changes elements skips its own and lists their positions k in `far`; before a gather they are divided. Elements of
one call are treated in the order of k.
"""

from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy import int64
from numpy.typing import NDArray

from steppe.array_types import Integers
from steppe.kernels import FieldKernel, field_kernel
from steppe.kernels.elements import element_change
from steppe.kernels.primitives import peek, poke, prefetch

SCATTER, UPDATE, FETCH_UPDATE = range(3)  # the operations of `change`
DTYPES = ("int32", "int64", "float32", "float64")
HASH = int64(-7046029254386353131)  # 2^64 divided by the golden ratio
AHEAD = 16  # elements whose memory is asked for before it is changed: an atomic operation waits for its own memory alone


class ElementLoops(NamedTuple):
    """The loops of one dtype."""

    gather: FieldKernel  # (n, length, shift, table, index, out, counts): an array in one piece; counts[0] bad indices
    gather_pages: FieldKernel  # the same of pages, which are all here
    gather_near: FieldKernel  # (n, shift, table, index, near, out): out[k] for the positions k in `near`
    apply: FieldKernel  # (n, shift, table, index, x, b): y = x + b y, by one rank alone
    change: FieldKernel  # (n, operation, shift, a, b, table, index, x, old, far, counts): counts[0] in `far`; FETCH_UPDATE fills `old`


@field_kernel
def first_outside(n: int, length: int, index: Integers, found: Integers) -> None:
    """found[0]: the position of the first index that is not from 0 to length - 1; n without one."""
    bad = 0
    for k in range(n):
        bad += 0 if 0 <= index[k] < length else 1
    found[0] = n
    if bad > 0:
        for k in range(n - 1, -1, -1):
            if not 0 <= index[k] < length:
                found[0] = k


@field_kernel
def divide(n: int, length: int, shift: int, table: Integers, index: Integers, places: Integers, counts: Integers) -> None:
    """Divides positions by whether this process sees their page; no processor could foresee that of random indices in one loop.

    places (n,): those elsewhere in order, counts[1] of them, then the others, backwards. counts[0]: bad indices.
    """
    bad, away = 0, 0
    for k in range(n):
        i = index[k]
        inside = 0 <= i < length
        bad += 0 if inside else 1
        page = table[i >> shift if inside else 0]
        places[away] = k
        places[n - 1 - k + away] = k
        away += 1 if page == 0 else 0
    counts[0], counts[1] = bad, away


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
    kind = np.dtype(dtype)
    return ElementLoops(_gather_loop(kind, True), _gather_loop(kind, False), *_plain_loops(kind), _change_loop(kind))


def _gather_loop(kind: Any, one_page: bool) -> FieldKernel:
    """one_page: the array is in one piece, so that its table is not read for each element."""
    like, size = kind.type(0), kind.itemsize
    Values: Any = NDArray[kind.type]

    @field_kernel
    def gather(n: int, length: int, shift: int, table: Integers, index: Integers, out: Values, counts: Integers) -> None:
        mask, first, bad = (int64(1) << shift) - 1, table[0], 0
        for k in range(n):
            i = index[k]
            inside = 0 <= i < length
            bad += 0 if inside else 1
            i = i if inside else 0
            out[k] = peek(first + size * i if one_page else table[i >> shift] + size * (i & mask), like)
        counts[0] = bad

    return gather


def _plain_loops(kind: Any) -> tuple[FieldKernel, FieldKernel]:
    """gather_near and apply."""
    like, size = kind.type(0), kind.itemsize
    Values: Any = NDArray[kind.type]

    @field_kernel
    def gather_near(n: int, shift: int, table: Integers, index: Integers, near: Integers, out: Values) -> None:
        mask = (int64(1) << shift) - 1
        for j in range(n):
            k = near[j]
            out[k] = peek(table[index[k] >> shift] + size * (index[k] & mask), like)

    @field_kernel
    def apply(n: int, shift: int, table: Integers, index: Integers, x: Values, b: Values) -> None:
        mask = (int64(1) << shift) - 1
        for k in range(n):
            address = table[index[k] >> shift] + size * (index[k] & mask)
            poke(address, x[k] + b[k] * peek(address, like) if b[k] != 0 else x[k], like)

    return gather_near, apply


def _change_loop(kind: Any) -> FieldKernel:
    like, size = kind.type(0), kind.itemsize
    number: Any = int if kind.kind == "i" else float
    update = element_change(kind.name)
    Values: Any = NDArray[kind.type]

    @field_kernel
    def change(
        n: int,
        operation: int,
        shift: int,
        a: number,
        b: number,
        table: Integers,
        index: Integers,
        x: Values,
        old: Values,
        far: Integers,
        counts: Integers,
    ) -> None:
        mask, away = (int64(1) << shift) - 1, 0
        for k in range(n):
            coming = index[min(k + AHEAD, n - 1)]
            prefetch(table[coming >> shift] + size * (coming & mask))
            page = table[index[k] >> shift]
            if page == 0:
                far[away] = k
                away += 1
            elif operation == SCATTER:
                poke(page + size * (index[k] & mask), x[k], like)
            else:
                former = update(page + size * (index[k] & mask), a, b, x[k])
                if operation == FETCH_UPDATE:
                    old[k] = former
        counts[0] = away

    return change
