"""Clocks of ranks beside rank 0's: offset and drift of each.

    a rank          t1 ──> ask ──>         ──> t3      offset = (t1 + t3) / 2 - t2, wrong by at most half the round trip
    its reference           └── t2 ── answer ──┘

A burst is 100 of these, of which the tenth with the shortest round trips is kept. A line through the readings of all bursts, weighted by
1/bound^2, gives offset and drift. Up to `MOST` ranks ask rank 0, one after another. More ranks ask along a binomial tree, all of a level
at once, and the bounds along the path add up.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from steppe.array_types import Floats
from steppe.comm.raw import Raw
from steppe.measure.messages.loops import answer, ask, of_all, port_of
from steppe.measure.records.measured import ClockDrift, ClockOffset

ROUND_TRIPS, KEPT = 100, 10  # of a burst
MOST = 32  # ranks, up to which all ask rank 0
CROOKED = 3.0  # bounds by which a burst may miss the line
RECORDED = 100  # bursts of a rank that a document keeps
Int = np.int64


@dataclass(frozen=True)
class RankClock:
    """A clock beside another: it shows t + offset + drift (t - at) when the other shows t [s].

    A reading is wrong by at most half its round trip. If the clock is linear, `offset_bound` [s], at `at`, and `drift_bound` are the
    largest errors of the line that follow; `drift_bound` is infinite after one burst. bursts (n, 3): when, offset and bound of the best
    reading of each burst.
    """

    at: float
    offset: float
    drift: float
    offset_bound: float
    drift_bound: float
    bursts: Floats
    crooked: float

    @property
    def linear(self) -> bool:
        """True if all bursts lie near the line."""
        return self.crooked <= CROOKED

    @property
    def known_drift(self) -> float:
        """The drift if it exceeds its bound, else 0: the error of an uncertain drift would grow with the time since the last burst."""
        return self.drift if abs(self.drift) > self.drift_bound else 0.0

    def shown(self, when: float) -> float:
        """The time that it shows when the other shows `when` [s]."""
        return when + self.offset + self.known_drift * (when - self.at)


def fit_clock(bursts: Sequence[Floats], step: float = 0.0) -> RankClock:
    """The line through readings: of each burst (readings, 3) [s] own time, the other's, own time.

    step [s]: the resolution of the clocks, least value of a bound.
    """
    readings = np.concatenate(bursts)
    own, when, after = readings.T
    offsets, bounds = (own + after) / 2.0 - when, (after - own) / 2.0 + max(step, 1e-12)
    weights = 1.0 / bounds**2
    weights /= weights.sum()
    at, offset = float(weights @ when), float(weights @ offsets)
    away = when - at
    spread = float(weights @ away**2)
    alone = len(bursts) < 2 or spread == 0.0
    shares = np.zeros_like(away) if alone else weights * away / spread
    drift = float(shares @ (offsets - offset))
    all_ = np.stack([when, offsets, bounds], axis=1)
    best = np.array([each[each[:, 2].argmin()] for each in np.split(all_, np.cumsum([len(burst) for burst in bursts])[:-1])])
    residuals = np.abs(best[:, 1] - offset - drift * (best[:, 0] - at)) / best[:, 2]
    drift_bound = np.inf if alone else float(np.abs(shares) @ bounds)
    return RankClock(at, offset, drift, float(weights @ bounds), drift_bound, best, float(residuals.max()))


def beyond(near: RankClock, far: RankClock) -> RankClock:
    """The clock of a rank beside a third: `far` is its clock beside a second, `near` the second's beside the third."""
    at = near.at + (far.at - near.at - near.offset) / (1.0 + near.drift)
    reach = near.drift_bound * abs(at - near.at) if len(near.bursts) > 1 else 0.0
    bursts = far.bursts.copy()
    bursts[:, 0] = near.at + (far.bursts[:, 0] - near.at - near.offset) / (1.0 + near.drift)
    bursts[:, 1] += far.bursts[:, 0] - bursts[:, 0]
    bursts[:, 2] += near.offset_bound + reach
    drift = (1.0 + near.drift) * (1.0 + far.drift) - 1.0
    bounds = near.offset_bound + reach + far.offset_bound, near.drift_bound + far.drift_bound
    return RankClock(at, far.at + far.offset - at, drift, *bounds, bursts, max(near.crooked, far.crooked))


SAME = RankClock(0.0, 0.0, 0.0, 0.0, 0.0, np.zeros((0, 3)), 0.0)  # rank 0's beside itself


def reference(rank: int, size: int) -> int:
    """The rank that a rank asks for the time."""
    return 0 if size <= MOST else rank - (1 << (rank.bit_length() - 1))


def turns(size: int) -> list[range]:
    """Ranks that ask at once, in order: each asks another rank, whose clock is known by then."""
    if size <= MOST:
        return [range(rank, rank + 1) for rank in range(1, size)]
    return [range(1 << level, min(2 << level, size)) for level in range((size - 1).bit_length())]


class Clocks:
    """The clocks of all ranks; all ranks make one and call `burst` together. step [s]: their resolution."""

    def __init__(self, raw: Raw, step: float) -> None:
        self._raw, self._step = raw, step
        self._slot = np.zeros(1)
        self._status = np.zeros(raw.status_size, np.uint8)
        self._bursts: list[Floats] = []  # (ranks, readings, 3) each

    def burst(self) -> None:
        """Compares all clocks once more.

        Raises
        ------
        Failure
            A call of MPI failed.
        """
        raw, rank = self._raw, self._raw.rank
        memory = self._slot, Int(self._slot.ctypes.data), Int(self._status.ctypes.data)
        found, bad = np.zeros((ROUND_TRIPS, 3)), 0
        for asking in turns(raw.size):
            if rank in asking:
                bad += ask(port_of(raw), Int(reference(rank, raw.size)), memory, found)
            for other in asking:
                if reference(other, raw.size) == rank:
                    bad += answer(port_of(raw), Int(other), memory, ROUND_TRIPS)
        shortest = np.argsort(found[:, 2] - found[:, 0], kind="stable")[:KEPT]
        self._bursts.append(of_all(raw, found[shortest], bad).reshape(raw.size, KEPT, 3))

    def lines(self) -> list[RankClock]:
        """The clock of each rank beside rank 0's."""
        return [self.own(rank) for rank in range(self._raw.size)]

    def own(self, rank: int) -> RankClock:
        """The clock of one rank."""
        if rank == 0:
            return SAME
        one, near = fit_clock([burst[rank] for burst in self._bursts], self._step), reference(rank, self._raw.size)
        return beyond(self.own(near), one) if near else one


def record_clocks(lines: Sequence[RankClock]) -> tuple[list[ClockOffset], list[ClockDrift]]:
    """Clocks of all ranks but 0 as a document keeps them: times since the first burst, at most `RECORDED` bursts of each."""
    offsets, drifts = [], []
    begin = min((line.bursts[0, 0] for line in lines if line.bursts.size), default=0.0)
    for rank, line in enumerate(lines):
        if not line.bursts.size:
            continue
        some = np.unique(np.linspace(0, len(line.bursts) - 1, RECORDED).round().astype(int))
        bursts = [(when - begin, offset, bound) for when, offset, bound in line.bursts[some].tolist()]
        offsets.append(
            ClockOffset(rank=rank, at=line.at - begin, offset=line.offset, bound=line.offset_bound, linear=line.linear, bursts=bursts)
        )
        if np.isfinite(line.drift_bound):
            drifts.append(ClockDrift(rank=rank, drift=line.drift, bound=line.drift_bound))
    return offsets, drifts


def crooked_clocks(lines: Sequence[RankClock]) -> list[str]:
    """Warnings about clocks that are not linear."""
    return [
        f"The clock of rank {rank} is not linear beside rank 0's: it was up to {line.crooked:.3g} times its bound off the line. "
        "Its offset and drift say little, and ranks that begin by the clock do not begin together."
        for rank, line in enumerate(lines)
        if not line.linear
    ]
