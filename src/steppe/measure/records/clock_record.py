"""Clocks as a document keeps them."""

from pydantic import BaseModel, ConfigDict
from typing_extensions import TypedDict


class _ClockPart(BaseModel):
    model_config = ConfigDict(extra="forbid")


class ClockOffset(_ClockPart):
    """How far the clock of a rank is before rank 0's [s], `at` [s] after the first burst, at most `bound` wrong if it is linear.

    `bursts`: when, offset and bound of the best reading of each [s].
    """

    rank: int
    at: float
    offset: float
    bound: float
    linear: bool
    bursts: list[tuple[float, float, float]]


class ClockDrift(_ClockPart):
    """What the clock of a rank gains on rank 0's, in seconds a second, at most `bound` wrong if it is linear."""

    rank: int
    drift: float
    bound: float


class Clock(TypedDict, total=False):
    """The clock that timed [s].

    Its least step, what a reading costs, gaps a second, the share of time in which rank 0 was not running, what the loop itself costs,
    what it gains in a second of the host's own, the share of time in which others had the cores; how the clocks of other ranks go beside
    rank 0's.
    """

    __pydantic_config__ = ConfigDict(extra="allow")  # type: ignore[misc]

    resolution: float
    cost: float
    gaps_per_second: float
    away: float
    loop: float
    pace: float
    others: float
    offsets: list[ClockOffset]
    drift: list[ClockDrift]
