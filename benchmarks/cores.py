"""Which processors share a core, found by measuring: a virtual machine need not say, and what it says need not be true.

A piece of work runs on one processor, then on two at once. Where both share a core, it takes a third longer at least, in the quietest
moments too. Where all pairs are alike, and yet the same work on a processor alone takes now one time and now half as long again, the
machine itself shares its cores with others: what counts then is the quietest tenth of many short measurements.
"""

import os
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from threading import Barrier

import numpy as np

from benchmarks.figures import Figure

MOST = 4  # processors that are tried in pairs
ROUNDS, SECONDS = 6, 0.05  # of each pair
QUIET = 0.1  # quantile

Work = Callable[[], float]  # does the same each time, without the interpreter, and gives its seconds of CPU time


@dataclass(frozen=True)
class Cores:
    """What was found. pairs: how much longer two processors take at once than alone, in quiet moments; unsteady: 9th tenth of one alone
    over its first tenth; siblings: processors of which the system says that they share a core.
    """

    pairs: Mapping[tuple[int, int], float]
    unsteady: float
    siblings: tuple[str, ...]

    @property
    def best(self) -> tuple[int, int]:
        """The two that hinder each other least."""
        return min(self.pairs, key=lambda pair: self.pairs[pair])

    def figure(self) -> Figure:
        """For the table."""
        each = " ".join(f"{a}-{b}: {slower:.2f}" for (a, b), slower in self.pairs.items())
        said = " ".join(self.siblings) or "none"
        note = f"{each}; siblings by the system: {said}; the same work alone takes 1 to {self.unsteady:.2g}"
        return Figure("two processors at once / alone, the best pair", self.pairs[self.best], "x", note=note)


def find_cores(works: tuple[Work, Work]) -> Cores:
    """Tries some of the processors that this process may use, two at least."""
    some = sorted(os.sched_getaffinity(0))[:MOST]
    pairs = [(a, b) for a in some for b in some if a < b]
    alone: dict[int, list[float]] = {one: [] for one in some}
    both: dict[tuple[int, int], list[list[float]]] = {pair: [[], []] for pair in pairs}
    for _ in range(ROUNDS):
        for one, times in alone.items():
            times += _at_once([one], works)[0]
        for pair, sides in both.items():
            for times, found in zip(sides, _at_once(pair, works), strict=True):
                times += found
    quiet = {one: np.quantile(times, QUIET) for one, times in alone.items()}
    slower = {pair: float(np.mean([np.quantile(s, QUIET) / quiet[one] for s, one in zip(both[pair], pair, strict=True)])) for pair in pairs}
    unsteady = max(float(np.quantile(times, 1 - QUIET) / quiet[one]) for one, times in alone.items())
    return Cores(slower, unsteady, _siblings(some))


def _at_once(processors: Iterable[int], works: tuple[Work, Work]) -> list[list[float]]:
    """The times of the work on each of them, again and again."""
    places = list(processors)
    begin = Barrier(len(places))

    def repeat(processor: int, work: Work) -> list[float]:
        os.sched_setaffinity(0, {processor})  # of this thread, which ends
        begin.wait()
        end, times = time.perf_counter() + SECONDS, []
        while time.perf_counter() < end:
            times.append(work())
        return times

    with ThreadPoolExecutor(len(places)) as pool:
        return list(pool.map(repeat, places, works))


def _siblings(processors: Iterable[int]) -> tuple[str, ...]:
    """Of Linux; nothing where it does not tell."""
    lists = [Path(f"/sys/devices/system/cpu/cpu{each}/topology/thread_siblings_list") for each in processors]
    told = dict.fromkeys(path.read_text().strip() for path in lists if path.exists())
    return tuple(each for each in told if not each.isdigit())
