"""Times of blocks become a series as it is kept, once they say enough or their time is over."""

import time
from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np

from steppe.measure.laws.family import Floats
from steppe.measure.records.document import Measured, Mode, Start, Statistics, encode
from steppe.measure.records.sample import FIRST_LOOK, MOST_BLOCKS, figures, is_enough, of_passes, student

FEWEST = 2  # blocks of a pass, when the time is over
OF_RANKS = "files of ranks"  # the group of series whose ranks have a file in common
ROUNDS = 5  # passes over all series


class Tell(Protocol):
    """Is told how far a measurement is."""

    def __call__(self, part: float, now: str = "") -> None:
        """part: the share that is done; now: what was measured last, in words."""


def take_blocks(take: Callable[[int], Floats], precision: float, budget: float) -> tuple[Floats, bool]:
    """Blocks until the median is known to `precision` or `budget` [s] is over, and whether it is.

    take: times at least one and at most so many blocks, and gives their times [s].
    """
    end = time.monotonic() + budget
    times, look = np.empty(0), FIRST_LOOK
    while True:
        times = np.concatenate([times, take(max(1, look - times.size))])
        if times.size >= look:
            if is_enough(times, precision):
                return times, True
            look *= 2
        if times.size >= MOST_BLOCKS or (times.size >= FEWEST and time.monotonic() > end):
            return times, False


def measure_rounds(
    tasks: Sequence[Callable[[], list[Measured]]], precision: float, tell: Tell, stop: Callable[[], bool], rounds: int = ROUNDS
) -> tuple[list[Measured], bool]:
    """All tasks, `rounds` times, and whether it ran to its end. What a machine does meanwhile changes within minutes: series whose blocks
    were all taken in one second would be sure of what the next run contradicts.

    tell: of each task that is done; stop: asked before each.
    """
    found: dict[tuple[str, str, str, str, int, int], list[Measured]] = {}
    complete, count = True, rounds * len(tasks)
    for number in range(count):
        if stop():
            complete = False
            break
        title = ""
        for one in tasks[number % len(tasks)]():
            found.setdefault((one.group, one.operation, one.variant, one.placement, one.p, one.bytes), []).append(one)
            title = ", ".join(text for text in (one.operation, one.variant, f"{one.p} ranks" if one.p > 1 else "") if text)
        tell((number + 1) / count, title)
    return [parts[0] if len(parts) == 1 else _together(parts, precision) for parts in found.values()], complete


def _together(parts: Sequence[Measured], precision: float) -> Measured:
    times, one = np.concatenate([part.times() for part in parts]), parts[0]
    passes = [part.statistics.n for part in parts]
    names = one.group, one.operation, one.variant, one.bytes
    found = series_of(*names, times, one.block, False, one.p, one.work, one.unit, passes, one.placement, one.start)
    statistics = found.statistics
    known = is_enough(times, precision) and statistics.half_width < precision * statistics.median
    return found.model_copy(update={"converged": known})


def series_of(
    group: str,
    operation: str,
    variant: str,
    size: int,
    times: Floats,
    block: int,
    converged: bool,
    p: int = 1,
    work: float = 0.0,
    unit: str = "",
    passes: Sequence[int] = (),
    placement: str = "",
    start: Start = "barrier",
) -> Measured:
    """Block times (blocks,) [s] of operations of `size` bytes, with their figures; two times instead of one are reported.

    passes: blocks of each pass; the interval of the median is no narrower than their medians allow.
    """
    found, between = figures(times), of_passes(times, passes)
    width = 0.0 if between is None else found.median * float(np.expm1(min(700.0, student(between[1]) * between[0])))
    statistics = Statistics(
        n=found.n,
        minimum=found.minimum,
        p10=found.p10,
        median=found.median,
        p90=found.p90,
        p99=found.p99,
        maximum=found.maximum,
        half_width=max(width, found.half_width),
    )
    said = [
        f"In {share:.0%} of the blocks the time is {at * 1e6:.3g} us instead of {found.modes[0][1] * 1e6:.3g} us."
        for share, at in found.modes[1:]
    ]
    return Measured(
        group=group,
        operation=operation,
        variant=variant,
        placement=placement,
        start=start,
        p=p,
        bytes=size,
        block=block,
        samples=encode(times),
        passes=list(passes),
        work=work,
        unit=unit,
        statistics=statistics,
        converged=converged,
        modes=[Mode(share=share, median=at) for share, at in found.modes],
        outliers=found.outliers,
        warnings=said,
    )
