"""The kernel beside its twins, and two threads beside one."""

import json
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from benchmarks.figures import Figure
from benchmarks.machine import is_idle
from benchmarks.pasture import Build, Case, Kernel, NumpyTwin, Twin, build, make_case
from benchmarks.pasture.twin import Assembly
from benchmarks.peers import peer_python
from benchmarks.rounds import QUICK_ROUNDS, ROUNDS, alternate, measured, output, pinned, ratio, thread_seconds

CELLS, DAYS = 29_016, 64
RATE = "M cell-days/s"
BLOCKS = (64, 128, 256)  # of the twin; the fastest is what ours is held to
WITH_ESTIMATES = Build(more=("-mrecip",))
STRICT = Build(fast=False)


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
    """CPU time of two threads that share the cells, each measured by itself, beside that of one."""
    kernel = Kernel()
    kernel.prepare(case)
    shares: list[float] = []
    walls: dict[int, list[float]] = {1: [], 2: []}

    def run(parts: int) -> float:
        kernel.reset()
        begin = time.perf_counter()
        with ThreadPoolExecutor(parts) as pool:
            used = list(pool.map(lambda part: thread_seconds(lambda: kernel.run(part, parts)), range(parts)))
        walls[parts].append(time.perf_counter() - begin)
        if parts == 2:
            shares.append(max(used) / sum(used))
        return sum(used)

    samples = alternate({"one": lambda: run(1), "two": lambda: run(2)}, rounds)
    sums = ratio(samples["two"], samples["one"])
    wall = ratio(walls[1], walls[2])
    target, note = (1.9, wall.spread) if is_idle() else (None, "machine not idle, for context")
    return [
        Figure("CPU of 2 threads / of 1", sums.value, "x", at_most=1.03, note=sums.spread, samples=samples),
        Figure("larger share of 2 threads", float(np.median(shares)), at_most=0.52, samples={"shares": shares}),
        Figure("wall of 1 thread / of 2", wall.value, "x", at_least=target, note=note),
    ]


def aquacrop(rounds: int) -> Figure:
    """Another gridded daily model, with all its threads; a model of other work, so for context only."""
    found = json.loads(output([peer_python(), str(Path(__file__).with_name("peer_aquacrop.py")), str(rounds)]))
    rate, cpu = (float(np.median(found[key])) / 1e6 for key in ("wall", "cpu"))
    return Figure("aquacrop-grid 0.1.1, all cores", rate, RATE, note=f"{cpu:.2g} a CPU second; another model", samples=found)
