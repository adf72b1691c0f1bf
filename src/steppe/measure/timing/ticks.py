"""The clock that times: its step, its cost, what the machine takes away from a rank, and whether the wall's clock is set meanwhile."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from steppe.measure.laws.family import Floats
from steppe.measure.records.clock_record import TimingClock

GAP = 10e-6  # [s] between two readings, from which on the rank was not running
STEP = 1e-3  # [s] by which the wall's clock may part from the steady one between two looks
AWAY, MORE = 0.01, 3.0  # a rank is named when it was away for that share of the time, and a second of it cost so many times the others'
READINGS = 5  # of two clocks at one moment
PACE = 5e-4  # by which two clocks may differ in speed: what a time service turns a clock by, at most


@dataclass(frozen=True)
class Ticks:
    """Of successive readings (TICK1): resolution [s], the least step; cost [s] of one; gaps longer than `GAP`, per second; their share."""

    resolution: float
    cost: float
    gaps: float
    away: float

    def kept(self, others: float) -> TimingClock:
        """The clock as a file keeps it. others: the share of the time in which others had the cores."""
        return {"resolution": self.resolution, "cost": self.cost, "away": self.away, "others": others}


def read_ticks(differences: Floats) -> Ticks:
    """What differences of successive readings (n,) [s] say."""
    total = float(differences.sum())
    steps = differences[differences > 0.0]
    gaps = differences[differences > GAP]
    return Ticks(
        float(steps.min()) if steps.size else total,
        float(np.median(differences)),
        gaps.size / total,
        float(gaps.sum()) / total,
    )


def ranks_away(shares: Sequence[float]) -> list[str]:
    """Ranks that were not running far more often than the others, in words; `shares`: of the time, by rank."""
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
    """What two clocks show [s]: of some readings that with the least time around it, as a process may be put aside between two of them."""
    readings = []
    for _ in range(READINGS):
        before, shown = steady(), other()
        after = steady()
        readings.append((after - before, (before + after) / 2.0, shown))
    _, middle, shown = min(readings)
    return middle, shown


@dataclass
class Pace:
    """The rate of the timing clock against one that is never set (TICK2). timing, steady: clocks [s]."""

    timing: Callable[[], float]
    steady: Callable[[], float]

    def __post_init__(self) -> None:
        self._begin = at_one_moment(self.steady, self.timing)

    def apart(self) -> float:
        """Seconds that it gains in a second of the other, since the beginning."""
        steady, timing = at_one_moment(self.steady, self.timing)
        return (timing - self._begin[1]) / (steady - self._begin[0]) - 1.0

    def words(self) -> list[str]:
        """What is to be said of it."""
        apart = self.apart()
        if abs(apart) <= PACE:
            return []
        return [f"The timing clock gains {apart * 1e3:+.3g} ms in a second of this host's own clock: all times are wrong by as much."]


@dataclass
class StepWatch:
    """Notices when the wall's clock is set. wall, steady: clocks [s]; steps: (seconds since the beginning, how far) of each."""

    wall: Callable[[], float]
    steady: Callable[[], float]
    steps: list[tuple[float, float]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._begin, wall = at_one_moment(self.steady, self.wall)
        self._last, self._apart = self._begin, wall - self._begin

    def look(self) -> None:
        """Compares the clocks; to be called every second or so: they may drift by `STEP` in between."""
        steady, wall = at_one_moment(self.steady, self.wall)
        apart = wall - steady
        if abs(apart - self._apart) > STEP + 5e-4 * (steady - self._last):
            self.steps.append((steady - self._begin, apart - self._apart))
        self._apart, self._last = apart, steady

    def words(self) -> list[str]:
        """What was noticed."""
        return [f"The clock of this host was set by {by * 1e3:+.4g} ms, {at:.3g} s after the beginning." for at, by in self.steps]
