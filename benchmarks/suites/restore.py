"""A steered year of Queensland: going back to any date, branches, many scenarios at once, and what a calibration adds to its kernel."""

import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from benchmarks.figures import Figure
from benchmarks.queensland import FOLDER, run_file
from benchmarks.rounds import QUICK_ROUNDS, ROUNDS
from steppe.control import OPEN_END, Leg
from steppe.engine import Plan, Session, read_run_file

YEAR = 365
SCENARIOS = 16
BRANCHES = 100
DAYS = 30  # of a calibration


class HeldSession:
    """A session of the year, and branches that are counted. After `year` its first branch stands at the end."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self._branches = 1
        session.load(1, [Leg(1, OPEN_END, OPEN_END)])

    def to(self, step: int, branches: Sequence[int]) -> None:
        """Steps on until a step."""
        while self.session.position(branches[0]).step < step:
            self.session.advance(branches, step, 0.0)

    def fork(self, step: int) -> int:
        """A new branch that left the first one at a step, brought there."""
        branch = self.begin(step)
        self.to(step, [branch])
        return branch

    def begin(self, step: int) -> int:
        """The same, where it can begin."""
        self._branches += 1
        self.session.load(self._branches, [Leg(1, step, 0), Leg(self._branches, OPEN_END, OPEN_END)])
        return self._branches

    @property
    def decoding(self) -> float:
        """CPU seconds that were spent on the weather so far."""
        reader = self.session.ranks.state(0).reader
        return reader.counters.decode_seconds if reader else 0.0


@contextmanager
def held_session() -> Iterator[HeldSession]:
    """One on this machine, on one thread."""
    folder = FOLDER / "steered"
    shutil.rmtree(folder, ignore_errors=True)
    plan = Plan.of(read_run_file(run_file(1), {"output.path": f'"{folder.absolute()}"'}), cores=1)
    session = Session(folder, plan)
    try:
        yield HeldSession(session)
    finally:
        session.close()


def figures(quick: bool) -> list[Figure]:
    """All of it; wall time where a person waits, CPU time where work is compared."""
    rounds = QUICK_ROUNDS if quick else ROUNDS
    with held_session() as held:
        held.to(YEAR, [1])
        back, branch = _dates(held, rounds if quick else 20), _branch_now(held, rounds)
        memory, copies = _many(held, 10 if quick else BRANCHES)
    with held_session() as held:
        together = _scenarios(held, 1 if quick else 3)
    with held_session() as held:
        overhead, reset = _calibration(held, 4 * rounds)
    return [
        Figure("back to a date, slowest", max(back), "s", at_most=1.0, note=f"median {np.median(back):.3f} s", samples={"s": back}),
        Figure("a branch from the last date", 1e3 * float(np.median(branch)), "ms", at_most=100.0, samples={"s": branch}),
        Figure("100 branches", 1e-9 * memory, "GB", at_most=2.0, note=f"and copies of the past {1e-6 * copies:.0f} MB"),
        Figure(f"{SCENARIOS} scenarios / {SCENARIOS} kernels and one decode", float(np.median(together)), "x", at_most=1.1),
        Figure(f"reset, set, run {DAYS} days, over the kernel", 1e3 * overhead, "ms", at_most=5.0, note=f"reset {1e3 * reset:.2f} ms"),
    ]


def _dates(held: HeldSession, count: int) -> list[float]:
    """Seconds to go back to seeded dates."""
    found = []
    for step in np.random.default_rng(6).integers(1, YEAR, count).tolist():
        begin = time.perf_counter()
        branch = held.fork(step)
        found.append(time.perf_counter() - begin)
        held.session.unload(branch)
    return found


def _branch_now(held: HeldSession, count: int) -> list[float]:
    found = []
    for _ in range(count):
        begin = time.perf_counter()
        branch = held.fork(YEAR)
        found.append(time.perf_counter() - begin)
        held.session.unload(branch)
    return found


def _many(held: HeldSession, count: int) -> tuple[float, int]:
    """Bytes of a hundred branches that have gone on for two months, which are all in memory, and of what is remembered."""
    before = _resident()
    branches = [held.fork(200) for _ in range(count)]
    for branch in branches:
        held.to(260, [branch])
    return (_resident() - before) * BRANCHES / count, held.session._branches.snapshots.bytes


def _scenarios(held: HeldSession, rounds: int) -> list[float]:
    """CPU time of scenarios of the whole year together, in that of as many alone whose weather is decoded once."""
    found = []
    for _ in range(rounds):
        alone, decoding = _cpu(lambda: held.to(YEAR, [held.begin(0)]), held)
        branches = [held.begin(0) for _ in range(SCENARIOS)]
        together, _ = _cpu(lambda branches=branches: held.to(YEAR, branches), held)
        found.append(together / (SCENARIOS * (alone - decoding) + decoding))
        for branch in branches:
            held.session.unload(branch)
    return found


def _cpu(work: Callable[[], object], held: HeldSession) -> tuple[float, float]:
    """CPU seconds of some work, and of decoding in it."""
    begin, decoding = time.process_time(), held.decoding
    work()
    return time.process_time() - begin, held.decoding - decoding


def _calibration(held: HeldSession, rounds: int) -> tuple[float, float]:
    """CPU seconds of a round less those of the same days in one piece of the model; and of beginning anew."""
    session, over, resets = held.session, [], []
    for k in range(rounds + 2):
        begin = time.process_time()
        branch = held.begin(0)
        resets.append(time.process_time() - begin)
        value = {"variable": "stocking_rate", "operation": "set", "value": 0.1 + 1e-3 * k, "upload": "", "cells": ""}
        session.apply(branch, 1, "set", value)
        held.to(DAYS, [branch])
        whole = time.process_time() - begin
        over.append(whole - _kernel(held))
        session.unload(branch)
    return float(np.median(over[2:])), float(np.median(resets[2:]))


def _kernel(held: HeldSession) -> float:
    """CPU seconds of the days of a calibration, computed by a model alone."""
    part = held.session.ranks.state(0)
    model = part.plan.again().model
    model.initialise(part.share, part.plan.chosen.values, part.plan.initial, part.plan.chosen.options, part.reach)
    begin = time.process_time()
    model.advance(range(DAYS), part.reader, part.plan.clock, part.outputs.recorder)
    return time.process_time() - begin


def _resident() -> int:
    """Bytes of this process in memory."""
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return int(status["VmRSS"].split()[0]) * 1024
