"""The system's own functions by address, for compiled loops: read, write, copy, the clock. Importing this imports Numba."""

# Numba declares types for some of its functions only.
# mypy: disable-error-code="untyped-decorator, no-untyped-call, no-any-return, call-arg, var-annotated, unreachable"

import ctypes
import time

import numpy as np
from numba import njit

from steppe.array_types import Floats, Integers
from steppe.comm.raw import call
from steppe.measure.timing.ticks import Ticks, read_ticks

FUNCTIONS = ("clock_gettime", "pread", "pwrite", "fsync", "memcpy")
CLOCK, READ, WRITE, SYNC, COPY = range(len(FUNCTIONS))
Steady = tuple[Integers, Integers, np.int64]  # see `steady_clock`
FileMemory = tuple[np.int64, np.int64]  # descriptor of a file, address of memory
Requests = tuple[Integers, Integers]  # places and sizes [bytes]
MONOTONIC = np.int64(time.CLOCK_MONOTONIC)


def addresses() -> Integers:
    """The addresses of `FUNCTIONS` (5,) int64."""
    libc = ctypes.CDLL(None)
    return np.array([ctypes.cast(getattr(libc, name), ctypes.c_void_p).value for name in FUNCTIONS], np.int64)


@njit(cache=True)
def now(f: Integers, moment: Integers, at: np.int64) -> float:
    """The steady clock [s]. moment: int64 (2,), `at` its address."""
    call(f[CLOCK], (MONOTONIC, at))
    return moment[0] + 1e-9 * moment[1]


@njit(cache=True)
def ticks(f: Integers, moment: Integers, at: np.int64, found: Floats) -> None:
    """Differences of successive readings of the clock (n,) [s]."""
    before = now(f, moment, at)
    for i in range(found.size):
        found[i] = now(f, moment, at) - before
        before += found[i]


def steady_clock() -> Steady:
    """Addresses of the system's functions, where the clock writes, int64 (2,), and the address of that."""
    moment = np.zeros(2, np.int64)
    return addresses(), moment, np.int64(moment.ctypes.data)


def steady_ticks() -> Ticks:
    """The resolution and cost of the steady clock (TICK1)."""
    found = np.empty(100_000)
    ticks(*steady_clock(), found)
    return read_ticks(found)


@njit(cache=True)
def read_blocks(steady: Steady, file: FileMemory, requests: Requests, times: Floats, k: int, cost: float) -> int:
    """Reads requests, k of them a block; returns how many were not read whole.

    steady: see `steady_clock`; file: descriptor, address of memory; requests: places and sizes [bytes].
    """
    (f, moment, at), (descriptor, memory), (places, sizes), bad = steady, file, requests, 0
    for block in range(times.size):
        begin = now(f, moment, at)
        for i in range(block * k, block * k + k):
            bad += call(f[READ], (descriptor, memory, sizes[i], places[i])) != sizes[i]
        times[block] = (now(f, moment, at) - begin - cost) / k
    return bad


@njit(cache=True)
def write_durably(steady: Steady, file: FileMemory, places: Integers, size: np.int64, times: Floats) -> int:
    """Writes `size` bytes at each of `places`, then waits until they are on the disk. times (2,) [s]: until written, until durable."""
    (f, moment, at), (descriptor, memory), bad = steady, file, 0
    begin = now(f, moment, at)
    for i in range(places.size):
        bad += call(f[WRITE], (descriptor, memory, size, places[i])) != size
    times[0] = now(f, moment, at) - begin
    bad += call(f[SYNC], (descriptor,)) != 0
    times[1] = now(f, moment, at) - begin
    return bad


@njit(cache=True)
def read_and_broadcast(
    f: Integers, broadcast: tuple[np.int64, np.int64, np.int64], reads: bool, file: FileMemory, requests: Requests
) -> int:
    """One rank reads requests, and all get them; returns how many failed. broadcast: function, type of a byte, communicator."""
    (function, byte, comm), (descriptor, memory), (places, sizes), bad = broadcast, file, requests, 0
    for i in range(places.size):
        if reads:
            bad += call(f[READ], (descriptor, memory, sizes[i], places[i])) != sizes[i]
        bad += call(function, (memory, sizes[i], byte, np.int64(0), comm)) != 0
    return bad
