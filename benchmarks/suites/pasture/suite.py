"""The kernel beside its twins, and two threads beside one."""

import json
import os
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import numpy as np

from benchmarks.cores import QUIET, find_cores
from benchmarks.figures import Figure
from benchmarks.machine import is_idle
from benchmarks.peers import peer_python
from benchmarks.rounds import QUICK_ROUNDS, ROUNDS, alternate, measured, output, pinned, ratio, thread_seconds
from benchmarks.suites.pasture import Build, Case, Kernel, NumpyTwin, Twin, build, make_case
from benchmarks.suites.pasture.twin import Assembly
from steppe.kernels import BLOCK

CELLS, DAYS = 29_016, 64
RATE = "M cell-days/s"
BLOCKS = (64, 128, 256)  # of the twin; the fastest is what ours is held to
WITH_ESTIMATES = Build(more=("-mrecip",))
STRICT = Build(fast=False)
AT_ONCE = 4 * BLOCK  # cells: about a millisecond
STEADY = 1.1  # nine tenths of all times within so many times the fastest: then times as they come can be judged


def figures(quick: bool) -> list[Figure]:
    """Everything that is measured of kernels."""
    rounds = QUICK_ROUNDS if quick else ROUNDS
    case = make_case(CELLS, DAYS // 4 if quick else DAYS)
    with tempfile.TemporaryDirectory() as folder:
        return [*twins(case, Path(folder), rounds), *threads(case, rounds), aquacrop(rounds)]


def twins(case: Case, folder: Path, rounds: int) -> list[Figure]:
    """Ours, the twin as fast as g++ makes it, the twin without fast-math, NumPy: CPU time of one pinned thread."""
    builds = {f"g++ fast-math, block {block}": Build(block=block) for block in BLOCKS}
    builds |= {"g++ with estimated divisions": WITH_ESTIMATES, "g++ without fast-math": STRICT}
    programs: dict[str, Kernel | Twin | NumpyTwin] = {
        "Steppe": Kernel(),
        **{name: build(made, folder) for name, made in builds.items()},
        "NumPy": NumpyTwin(),
    }
    for program in programs.values():
        program.prepare(case)
    with pinned():
        samples = alternate({name: measured(thread_seconds, p.run, p.reset) for name, p in programs.items()}, rounds)
    fast = {name: times for name, times in samples.items() if name.startswith("g++ fast-math")}
    best = min(fast, key=lambda name: float(np.median(fast[name])))
    ours = samples["Steppe"]
    assembly = Assembly(builds[best], folder)
    return [
        *(
            Figure(name, case.cell_days / float(np.median(times)) / 1e6, RATE, samples={"seconds": times})
            for name, times in samples.items()
        ),
        _speed(f"kernel / {best}", samples[best], ours, 0.9),
        _speed("kernel / g++ without fast-math", samples["g++ without fast-math"], ours, 5.0),
        _speed("kernel / NumPy", samples["NumPy"], ours, 4.5),
        Figure("packed divisions in the twin", assembly.packed_divides, at_least=1),
        Figure("scalar calls of libm in the twin", len(assembly.scalar_calls), at_most=0, note=" ".join(sorted(assembly.vector_calls))),
    ]


def _speed(name: str, theirs: list[float], ours: list[float], target: float) -> Figure:
    found = ratio(theirs, ours)
    return Figure(name, found.value, "x", at_least=target, note=found.spread)


def threads(case: Case, rounds: int) -> list[Figure]:
    """CPU time of two threads that share the cells, each measured by itself, beside that of one; on two processors of different cores.

    The cells are computed some at a time, and each time is that of the quietest tenth of all rounds: what other programs, and other
    machines on the same cores, do to a thread is none of its own work. As it came, with all that, is told beside it.
    """
    kernel = Kernel()
    kernel.prepare(case)
    small = make_case(BLOCK, case.days)
    probes = Kernel(), Kernel()
    for probe in probes:
        probe.prepare(small)
    cores = find_cores((lambda: _again(probes[0]), lambda: _again(probes[1])))
    some = [range(first, min(first + AT_ONCE, case.cells)) for first in range(0, case.cells, AT_ONCE)]

    def run(parts: int) -> list[list[float]]:
        kernel.reset()
        begin = Barrier(parts)

        def part(number: int) -> list[float]:
            os.sched_setaffinity(0, {cores.best[number]})  # of this thread, which ends
            begin.wait()
            return [kernel.seconds(cells) for cells in some[len(some) * number // parts : len(some) * (number + 1) // parts]]

        with ThreadPoolExecutor(parts) as pool:
            return list(pool.map(part, range(parts)))

    def wall(parts: int) -> float:
        kernel.reset()
        with ThreadPoolExecutor(parts) as pool:
            begin = time.perf_counter()
            list(pool.map(lambda number: kernel.run(number, parts), range(parts)))
            return time.perf_counter() - begin

    ones, twos = zip(*((run(1), run(2)) for _ in range(10 * rounds)), strict=True)
    one, two = ([np.array([found[k] for found in runs]) for k in range(parts)] for parts, runs in ((1, ones), (2, twos)))
    quiet_one, quiet_two = (np.array([np.quantile(times, QUIET, axis=0).sum() for times in parts]) for parts in (one, two))
    as_it_came = [np.array([times.sum(axis=1) for times in parts]) for parts in (one, two)]
    sums = ratio(as_it_came[1].sum(axis=0).tolist(), as_it_came[0].sum(axis=0).tolist())
    larger = float(np.median(as_it_came[1].max(axis=0) / as_it_came[1].sum(axis=0)))
    walls = ratio(*alternate({"one": lambda: wall(1), "two": lambda: wall(2)}, rounds).values())
    steady = cores.unsteady < STEADY
    why = "" if steady else "the processors are not steady, for context; "
    samples = {"one": as_it_came[0].sum(axis=0).tolist(), "two": as_it_came[1].sum(axis=0).tolist()}
    return [
        cores.figure(),
        Figure("CPU of 2 threads / of 1", float(quiet_two.sum() / quiet_one.sum()), "x", at_most=1.03, samples=samples),
        Figure("... as it came", sums.value, "x", at_most=1.03 if steady else None, note=why + sums.spread),
        Figure("larger share of 2 threads", float(quiet_two.max() / quiet_two.sum()), at_most=0.52),
        Figure("... as it came", larger, at_most=0.52 if steady else None, note=why.rstrip("; ")),
        Figure("wall of 1 thread / of 2", walls.value, "x", at_least=1.9 if steady and is_idle() else None, note=why + walls.spread),
    ]


def _again(kernel: Kernel) -> float:
    kernel.reset()
    return kernel.seconds(range(BLOCK))


def aquacrop(rounds: int) -> Figure:
    """Another gridded daily model, with all its threads; a model of other work, so for context only."""
    found = json.loads(output([peer_python(), str(Path(__file__).with_name("peer_aquacrop.py")), str(rounds)]))
    rate, cpu = (float(np.median(found[key])) / 1e6 for key in ("wall", "cpu"))
    return Figure("aquacrop-grid 0.1.1, all cores", rate, RATE, note=f"{cpu:.2g} a CPU second; another model", samples=found)
