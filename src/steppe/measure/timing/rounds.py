"""Blocks of one series, and passes over all series, until the medians are known or the time is over."""

import time
from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np
from msgspec.structs import replace

from steppe.array_types import Floats
from steppe.measure.records.measured import Measured, SeriesName, series_of
from steppe.measure.records.sample import FIRST_LOOK, MOST_BLOCKS, is_enough

FEWEST = 2  # blocks of a pass, when the time is over
OF_RANKS = "files of ranks"  # the group of series whose ranks have a file in common
ROUNDS = 5  # passes over all series


class Tell(Protocol):
    """Shows how far a measurement is."""

    def __call__(self, part: float, now: str = "") -> None:
        """part: the share that is done; now: the title of the last series."""


def take_blocks(take: Callable[[int], Floats], precision: float, budget: float) -> tuple[Floats, bool]:
    """Block times until the median is known to `precision` or `budget` [s] is over; and whether the median is known.

    take: measures one block or more, at most as many as its argument; returns their times [s].
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
    """Does all tasks `rounds` times; returns the series, and whether it came to its end.

    A machine changes within minutes: series whose blocks were all taken in one second would be sure of what the next run contradicts.
    tell: called after each task; stop: called before each.
    """
    found: dict[SeriesName, list[Measured]] = {}
    complete, count = True, rounds * len(tasks)
    for number in range(count):
        if stop():
            complete = False
            break
        title = ""
        for one in tasks[number % len(tasks)]():
            found.setdefault(one.name, []).append(one)
            title = ", ".join(text for text in (one.operation, one.variant, f"{one.p} ranks" if one.p > 1 else "") if text)
        tell((number + 1) / count, title)
    return [parts[0] if len(parts) == 1 else _together(name, parts, precision) for name, parts in found.items()], complete


def _together(name: SeriesName, parts: Sequence[Measured], precision: float) -> Measured:
    times, one = np.concatenate([part.times() for part in parts]), parts[0]
    found = series_of(name, times, one.block, False, [part.statistics.n for part in parts], one.work, one.unit)
    statistics = found.statistics
    return replace(found, converged=is_enough(times, precision) and statistics.half_width < precision * statistics.median)
