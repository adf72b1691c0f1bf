"""Random numbers that are a function of place, day and stream: without state, order or beginning."""

import numpy as np
from numpy.typing import NDArray

from steppe.ingest.meteorology import Values

Words = NDArray[np.uint64]  # 32-bit words in 64 bits, so that a product of two has room

MULTIPLIERS = (np.uint64(0xD2511F53), np.uint64(0xCD9E8D57))
WEYL = (0x9E3779B9, 0xBB67AE85)
ROUNDS = 10
LOW = np.uint64(0xFFFFFFFF)
HALF = np.uint64(32)


def philox(counter: tuple[Words, Words, Words, Words], key: int) -> tuple[Words, Words, Words, Words]:
    """Four random words for each counter of four (arrays of one shape) and a key of 64 bits: Philox4x32-10, Salmon and others (2011)."""
    a, b, c, d = counter
    low, high = key & 0xFFFFFFFF, key >> 32 & 0xFFFFFFFF
    for _ in range(ROUNDS):
        first, second = MULTIPLIERS[0] * a, MULTIPLIERS[1] * c
        a, b, c, d = (second >> HALF) ^ b ^ np.uint64(low), second & LOW, (first >> HALF) ^ d ^ np.uint64(high), first & LOW
        low, high = (low + WEYL[0]) & 0xFFFFFFFF, (high + WEYL[1]) & 0xFFFFFFFF
    return a, b, c, d


def normals(column: Words, row: Words, day: Words, stream: int, seed: int) -> Values:
    """Four independent standard normal numbers (4, ...) for each place and day of a stream; Box and Muller (1958).

    column, row, day: words that broadcast to the shape wanted; stream: a number of its own for each use.
    """
    counter = np.broadcast_arrays(column, row, day, np.uint64(stream))
    words = philox((counter[0], counter[1], counter[2], counter[3]), seed % 2**64)
    radius = [np.sqrt(-2.0 * np.log((word + 0.5) * 2.0**-32)) for word in words[:2]]
    turn = [(2.0 * np.pi * 2.0**-32) * word for word in words[2:]]
    return np.stack([length * turned(angle) for length, angle in zip(radius, turn, strict=True) for turned in (np.cos, np.sin)])
