"""Clocks as a file keeps them."""

from typing import TypedDict

from msgspec import Struct


class ClockOffset(Struct, kw_only=True, forbid_unknown_fields=True):
    """How far the clock of a rank is before rank 0's [s], `at` [s] after the first burst; at most `bound` wrong if it is linear.

    `bursts`: when, offset and bound of the best reading of each [s].
    """

    rank: int
    at: float
    offset: float
    bound: float
    linear: bool
    bursts: list[tuple[float, float, float]]


class ClockDrift(Struct, kw_only=True, forbid_unknown_fields=True):
    """What the clock of a rank gains on rank 0's, in seconds a second; at most `bound` wrong if it is linear."""

    rank: int
    drift: float
    bound: float


class TimingClock(TypedDict, total=False):
    """The clock that timed, and the machine meanwhile. Older files lack some of these, newer ones have more.

    resolution, cost, loop [s]: the least step, a reading, the loop itself. away, others: shares of the time in which rank 0 was not running
    and in which others had the cores. pace [s/s]: gain on the host's own clock. offsets, drift: clocks of other ranks beside rank 0's.
    """

    resolution: float
    cost: float
    gaps_per_second: float
    away: float
    loop: float
    pace: float
    others: float
    offsets: list[ClockOffset]
    drift: list[ClockDrift]
