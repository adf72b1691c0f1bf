"""Compiled loops for the processor: streams, random reads. Importing this imports Numba.

The loops release Python's lock, so threads run in parallel. Each loop is so long that the time of its call does not count.
"""

# Numba declares types for some of its functions only.
# mypy: disable-error-code="untyped-decorator, no-untyped-call, no-any-return, call-arg, var-annotated, unreachable"

import numpy as np
from numba import njit

from steppe.array_types import Floats, Integers
from steppe.comm.raw import call
from steppe.measure.timing.system import COPY, now

LINE = 8  # int64 of a line of the cache


@njit(cache=True, nogil=True)
def wait_until(f: Integers, moment: Integers, at: np.int64, when: float) -> None:
    """Waits until the steady clock shows `when` [s], so that threads begin together."""
    while now(f, moment, at) < when:
        pass


@njit(cache=True, nogil=True)
def copy(f: Integers, a: Floats, b: Floats, c: Floats) -> None:
    """a (n,) = b, as the C library copies, past the caches; 2 numbers are moved."""
    call(f[COPY], (np.int64(a.ctypes.data), np.int64(b.ctypes.data), np.int64(a.nbytes)))


@njit(cache=True, nogil=True)
def scale(f: Integers, a: Floats, b: Floats, c: Floats) -> None:
    """a (n,) = 3 b; 2 numbers are moved."""
    for i in range(a.size):
        a[i] = 3.0 * b[i]


@njit(cache=True, nogil=True)
def add(f: Integers, a: Floats, b: Floats, c: Floats) -> None:
    """a (n,) = b + c; 3 numbers are moved."""
    for i in range(a.size):
        a[i] = b[i] + c[i]


@njit(cache=True, nogil=True)
def triad(f: Integers, a: Floats, b: Floats, c: Floats) -> None:
    """a (n,) = b + 3 c; 3 numbers are moved (McCalpin 1995)."""
    for i in range(a.size):
        a[i] = b[i] + 3.0 * c[i]


@njit(cache=True, nogil=True)
def ring(links: Integers, seed: int) -> None:
    """Makes one ring, in random order, of all lines (n, 8): the first number of each is the next line (Sattolo 1986)."""
    np.random.seed(seed)
    for i in range(links.shape[0]):
        links[i, 0] = i
    for i in range(links.shape[0] - 1, 0, -1):
        j = np.random.randint(0, i)
        links[i, 0], links[j, 0] = links[j, 0], links[i, 0]


@njit(cache=True, nogil=True)
def chase(links: Integers, line: int, steps: int) -> int:
    """Follows the ring: each read depends on the one before. Returns the last line."""
    for _ in range(steps):
        line = links[line, 0]
    return line


@njit(cache=True, nogil=True)
def gather(links: Integers, seed: int, reads: int) -> int:
    """Sum of numbers from random lines, of which there are a power of two; the reads are independent."""
    state, mask, total = np.uint64(seed), np.uint64(links.shape[0] - 1), 0
    for _ in range(reads):
        state = state * np.uint64(6364136223846793005) + np.uint64(1442695040888963407)  # Knuth's MMIX
        total += links[(state >> np.uint64(33)) & mask, 0]
    return total
