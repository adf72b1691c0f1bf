"""Updates in an order that does not depend on ranks: written down with keys, and applied at `sync` in the order of (index, key).

    each rank    log: index, key, a x, b                        32 bytes an update
    sync         each entry goes to the owner of its element, which sorts by (index, key) and applies one after the other

Both orders are whole numbers, so the sort is a stable radix sort, least significant digits first.
"""

from collections.abc import Callable

import numpy as np
from numpy import int64
from numpy.typing import DTypeLike

from steppe.array_types import Array, Integers
from steppe.arrays.layout import PageLayout
from steppe.comm import World
from steppe.kernels import field_kernel

DIGIT = 11  # bits: the counts of a pass stay in the first cache


class Log:
    """The updates with keys of a rank since the last `sync`: entries of index, key, a x and b, arrays (n,). The first entry is empty."""

    def __init__(self, dtype: DTypeLike) -> None:
        none, zeros = np.empty(0, np.int64), np.empty(0, dtype)
        self.entries: list[tuple[Integers, Integers, Array, Array]] = [(none, none, zeros, zeros)]

    def add(self, index: Integers, key: Integers, x: Array, a: float, b: float) -> None:
        """Writes down y = a x + b y for the elements at `index`; arrays (n,)."""
        with np.errstate(over="ignore", invalid="ignore"):
            scaled = np.asarray(a, x.dtype) * x
        self.entries.append((index.copy(), key.copy(), scaled, np.full(index.size, b, x.dtype)))


def apply_in_order(world: World, log: Log, layout: PageLayout, apply: Callable[[Integers, Array, Array], None]) -> None:
    """Brings the entries of all ranks to the owners of their elements, and applies them there. Collective.

    apply: is called with index, a x and b of the elements of this rank, in the order of (index, key).
    """
    columns = [np.concatenate(column) for column in zip(*log.entries, strict=True)]
    owners = layout.owners[columns[0] >> layout.shift]
    order, ends = sorted_by(owners), np.cumsum(np.bincount(owners, minlength=world.size))
    parts = [world.exchange(np.split(column[order], ends[:-1])) for column in columns]
    index, key, x, b = map(np.concatenate, parts)
    order = sorted_by(key)
    order = order[sorted_by(index[order])]
    apply(index[order], x[order], b[order])


def sorted_by(values: Integers) -> Integers:
    """The order that sorts whole numbers, equal ones as they stand."""
    order = np.arange(values.size)
    if values.size == 0:
        return order
    least = int(values.min())
    keys = values - least  # of 64 bits without a sign; the shifts of a pass copy the uppermost bit, which keeps the order
    spare, counts = np.empty_like(order), np.empty(1 << DIGIT, np.int64)
    for shift in range(0, int(keys.view(np.uint64).max()).bit_length(), DIGIT):
        sort_pass(order.size, shift, keys, order, spare, counts)
        order, spare = spare, order
    return order


@field_kernel
def sort_pass(n: int, shift: int, keys: Integers, order: Integers, sorted_order: Integers, counts: Integers) -> None:
    """One stable pass over the digit of the keys at `shift`."""
    last = (int64(1) << DIGIT) - 1
    for digit in range(last + 1):
        counts[digit] = 0
    for k in range(n):
        counts[(keys[k] >> shift) & last] += 1
    total = int64(0)
    for digit in range(last + 1):
        here = counts[digit]
        counts[digit] = total
        total += here
    for k in range(n):
        digit = (keys[order[k]] >> shift) & last
        sorted_order[counts[digit]] = order[k]
        counts[digit] += 1
