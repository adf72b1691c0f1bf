"""Measuring in alternation, and what the rounds say."""

import hashlib
import os
import resource
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.figures import MissingPeer

ROUNDS, QUICK_ROUNDS = 9, 3


class Ratio(NamedTuple):
    """Median of the rounds' ratios, and how far its quarters lie apart."""

    value: float
    spread: str


def alternate(runs: Mapping[str, Callable[[], float]], rounds: int) -> dict[str, list[float]]:
    """Each of `runs` once a round, after one round that does not count. A run gives its own seconds.

    Every other round goes backwards, so that none always finds the machine as the same other one has left it.
    """
    for run in runs.values():
        run()
    samples: dict[str, list[float]] = {name: [] for name in runs}
    for number in range(rounds):
        for name in [*runs] if number % 2 else reversed(runs):
            samples[name].append(runs[name]())
    return samples


def ratio(over: Sequence[float], under: Sequence[float]) -> Ratio:
    """The numbers of `over` in units of `under`, round by round, so that a slow spell of the machine counts for both."""
    each = np.array(over) / np.array(under)
    low, middle, high = np.quantile(each, (0.25, 0.5, 0.75))
    return Ratio(float(middle), f"quartiles {low:.3g} to {high:.3g} of {each.size}")


def measured(measure: Callable[..., float], *arguments: object) -> Callable[[], float]:
    """A call of `measure` with these arguments, for `alternate`."""
    return lambda: measure(*arguments)


def thread_seconds(run: Callable[[], object], reset: Callable[[], object] = lambda: None) -> float:
    """CPU time of this thread in `run`, after `reset`."""
    reset()
    begin = time.thread_time()
    run()
    return time.thread_time() - begin


@contextmanager
def pinned() -> Iterator[None]:
    """This thread on one processor, the last that it may use."""
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(allowed)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, allowed)


def process_seconds(command: Sequence[str], environment: Mapping[str, str] | None = None) -> float:
    """CPU time of a process and its children.

    Raises
    ------
    MissingPeer
        It fails.
    """
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    output(command, environment)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def output(command: Sequence[str], environment: Mapping[str, str] | None = None) -> str:
    """What a process prints.

    Raises
    ------
    MissingPeer
        It fails.
    """
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **(environment or {})})
    if done.returncode:
        raise MissingPeer(f"`{' '.join(command)}` failed with exit code {done.returncode}.\n{done.stderr[-2000:]}")
    return done.stdout


def digest_of(folder: Path) -> str:
    """Of all files of a folder with their names."""
    found = hashlib.sha256()
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        found.update(str(path.relative_to(folder)).encode() + path.read_bytes())
    return found.hexdigest()
