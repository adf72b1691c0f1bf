"""The clock that times: its step and cost, the time that the machine takes from a rank, and changes of the system time."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from steppe.array_types import Floats
from steppe.measure.records.measured import TimingClock

GAP = 10e-6  # [s] between two readings: above it the rank was not running
STEP = 1e-3  # [s]: a larger change of system time minus steady clock is reported
AWAY, MORE = 0.01, 3.0  # a rank is reported if it was away for that share of the time, and so many times as long as any other
READINGS = 5  # of two clocks at one moment
PACE = 5e-4  # relative difference in speed of two clocks: the most by which a time service adjusts a clock


@dataclass(frozen=True)
class Ticks:
    """Successive readings (TICK1): least step [s], cost of a reading [s], gaps longer than `GAP` [1/s], their share of the time."""

    resolution: float
    cost: float
    gaps: float
    away: float

    def kept(self, others: float) -> TimingClock:
        """The clock as a file keeps it. others: the share of the time in which others had the cores."""
        return {"resolution": self.resolution, "cost": self.cost, "away": self.away, "others": others}


def read_ticks(differences: Floats) -> Ticks:
    """The figures of differences of successive readings (n,) [s]."""
    total = float(differences.sum())
    steps = differences[differences > 0.0]
    gaps = differences[differences > GAP]
    resolution = float(steps.min()) if steps.size else total
    return Ticks(resolution, float(np.median(differences)), gaps.size / total, float(gaps.sum()) / total)


def ranks_away(shares: Sequence[float]) -> list[str]:
    """Warnings about ranks that were away far longer than the others. shares: of the time in which each rank was not running."""
    found = []
    for rank, share in enumerate(shares):
        others = max((other for number, other in enumerate(shares) if number != rank), default=0.0)
        if share > AWAY and share * (1.0 - others) > MORE * others * (1.0 - share):
            found.append(
                f"Rank {rank} was not running for {share:.1%} of the time, the others for {others:.1%} at most: something sleeps, or "
                "another program is on its core. All times with it are too long."
            )
    return found


def at_one_moment(steady: Callable[[], float], other: Callable[[], float]) -> tuple[float, float]:
    """Readings of two clocks at one moment [s]: the pair with the least time around it, as the system may suspend the process between."""
    readings = []
    for _ in range(READINGS):
        before, shown = steady(), other()
        after = steady()
        readings.append((after - before, (before + after) / 2.0, shown))
    _, middle, shown = min(readings)
    return middle, shown


class Pace:
    """The rate of the timing clock relative to a clock that is never set (TICK2). timing, steady: clocks [s]."""

    def __init__(self, timing: Callable[[], float], steady: Callable[[], float]) -> None:
        self._timing, self._steady = timing, steady
        self._begin = at_one_moment(steady, timing)

    def apart(self) -> float:
        """Seconds that the timing clock gains in a second of the steady clock."""
        steady, timing = at_one_moment(self._steady, self._timing)
        return (timing - self._begin[1]) / (steady - self._begin[0]) - 1.0

    def words(self) -> list[str]:
        """Warnings for the report."""
        apart = self.apart()
        if abs(apart) <= PACE:
            return []
        return [f"The timing clock gains {apart * 1e3:+.3g} ms in a second of this host's own clock: all times are wrong by as much."]


class StepWatch:
    """Finds changes of the system time. wall, steady: clocks [s]; steps: time since the beginning and size of each change [s]."""

    def __init__(self, wall: Callable[[], float], steady: Callable[[], float]) -> None:
        self._wall, self._steady = wall, steady
        self.steps: list[tuple[float, float]] = []
        self._begin, shown = at_one_moment(steady, wall)
        self._last, self._apart = self._begin, shown - self._begin

    def look(self) -> None:
        """Compares the clocks; call it about every second, as they may drift by `STEP` in between."""
        steady, wall = at_one_moment(self._steady, self._wall)
        apart = wall - steady
        if abs(apart - self._apart) > STEP + 5e-4 * (steady - self._last):
            self.steps.append((steady - self._begin, apart - self._apart))
        self._apart, self._last = apart, steady

    def words(self) -> list[str]:
        """Warnings for the report."""
        return [f"The clock of this host was set by {by * 1e3:+.4g} ms, {at:.3g} s after the beginning." for at, by in self.steps]
