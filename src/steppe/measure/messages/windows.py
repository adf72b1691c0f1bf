"""Collective operations that all ranks begin at one time of rank 0's clock; after a barrier some ranks would begin earlier.

    T0, T0 + W, T0 + 2 W ...   each rank waits until its own clock shows the time, begins, and records the end
    time = last end - common begin; a sample that any rank began late is discarded on all; W doubles if too many are late

A rank that is not running misses times. When a time is missed after one that was not, the last rank to begin is counted, with its delay. On
a busy machine all ranks miss some.
"""

import time
from collections import defaultdict
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from steppe.array_types import Floats
from steppe.comm.raw import Raw
from steppe.measure.messages.loops import collective_at, of_all
from steppe.measure.messages.offsets import Clocks

LATE = 1e-6  # [s] after the common time: a rank is late
TOO_MANY = 0.05  # share of the samples that may be late
LEAD = 500e-6  # [s] from the agreement until the first time
ROOM, LEAST = 4.0, 20e-6  # W at first: times the operation, at least [s]
FEWEST, GRACE = 5, 0.2  # samples of a pass, for which a pass may last longer by [s]
WIDEST = 16.0  # times W at first: a busy machine suspends ranks that wait for milliseconds
OFTEN, FEW = 3.0, 5  # a rank is reported that was last so many times as often, or as long, as any other; least missed times


class Windows:
    """Common times of all ranks, which make one each and call it together."""

    def __init__(self, clocks: Clocks, size: int) -> None:
        self._clocks = clocks
        self.taken = self.late = 0
        self.found: dict[str, bool] = defaultdict(bool)  # series -> true if some pass had enough samples that were begun in time
        self.last, self.lost = [0] * size, [0.0] * size  # by the rank that began last: missed times, delays [s]

    def times(
        self, part: Raw, function: np.int64, arguments: tuple[np.int64, ...], blocks: int, operation: float, end: float, cost: float
    ) -> Floats:
        """Seconds from the common begin to the last end of at most `blocks` operations (n,), fewer, or none, when the time is over.

        operation [s]: how long one takes at least; end: of the steady clock [s], on rank 0; cost [s] of reading the clock.

        Raises
        ------
        Failure
            A call of MPI failed.
        """
        clock = self._clocks.own(part.rank)
        width = part.told(max(LEAST, ROOM * operation))
        widest = WIDEST * width
        kept: list[Floats] = []
        missing = blocks
        while missing > 0:
            left = part.told(end - time.monotonic())
            if left < (width if blocks - missing >= min(FEWEST, blocks) else -GRACE):
                break
            begins, ends = np.empty((2, int(np.clip(left / width, min(FEWEST, missing), missing))))
            first = part.told(part.now() + LEAD + width)
            bad = collective_at(part.addresses, function, arguments, clock.shown(first), width * (1.0 + clock.known_drift), begins, ends)
            begun, ended = np.split(of_all(part, np.concatenate([begins, ends]), bad), 2, axis=1)
            late = self._count(begun)
            kept.append(ended.max(axis=0)[~late] - cost)
            missing -= kept[-1].size
            if late.mean() > TOO_MANY:
                width = min(widest, 2.0 * width)
        return np.concatenate(kept) if kept else np.empty(0)

    def _count(self, begun: Floats) -> NDArray[np.bool_]:
        """True for the samples (n,) that some rank began late; counts them. begun (ranks, n) [s] after the common time."""
        late: NDArray[np.bool_] = begun.max(axis=0) > LATE
        missed = np.flatnonzero(late & ~np.concatenate([[False], late[:-1]]))
        for rank, time_ in zip(begun[:, missed].argmax(axis=0), begun[:, missed].max(axis=0), strict=True):
            self.last[int(rank)] += 1
            self.lost[int(rank)] += float(time_)
        self.taken += late.size
        self.late += int(late.sum())
        return late

    def warnings(self) -> list[str]:
        """Warnings about a rank that is the last far more often than the others, and about missing series."""
        said = often_last(self.last, self.lost)
        without = [name for name, enough in self.found.items() if not enough]
        if without:
            said.append(f"Fewer than {FEWEST} samples were begun by all ranks in time, and there is no series, of {'; '.join(without)}.")
        return said


def often_last(counts: Sequence[int], lost: Sequence[float]) -> list[str]:
    """A warning about a rank that was the last to begin far more often than the others, or far later; or none.

    counts: of missed times, lost: the time until it began [s], by rank.
    """
    for rank, (count, time_) in enumerate(zip(counts, lost, strict=True)):
        others = [number for number in range(len(counts)) if number != rank]
        more = count > OFTEN * max((counts[number] for number in others), default=0)
        longer = time_ > OFTEN * max((lost[number] for number in others), default=0.0)
        if count >= FEW and (more or longer):
            return [
                f"Rank {rank} was the last in {count / sum(counts):.0%} of the {sum(counts)} times that ranks did not begin together, and "
                f"{time_ / sum(lost):.0%} of the time they lost was lost to it: something sleeps, or another program is on its core."
            ]
    return []
