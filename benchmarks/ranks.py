"""What ranks cost before they compute, while they wait and when they meet: start-up, idle processors, waking, gathering."""

import sys
import time
from functools import partial

import numpy as np

from benchmarks.figures import Figure, MissingPeer
from benchmarks.queensland import FIRST_YEAR, FOLDER, STEPPE, run_file
from benchmarks.ranks_program import IDLE, RANKS_AWAKE, YEARS
from benchmarks.rounds import QUICK_ROUNDS, ROUNDS, alternate, output, process_seconds, ratio
from steppe.comm import find_library, find_mpiexec
from steppe.errors import Mistake

RANKS = 8
BARE = "import numpy, numba, mpi4py.MPI"
KEEP_COMPILED = {"PYTHONDONTWRITEBYTECODE": ""}  # as an installed Python package is


def figures(quick: bool) -> list[Figure]:
    """First day of Queensland on 8 ranks beside 8 processes that only import; what a program of ranks finds of itself."""
    try:
        mpiexec = find_mpiexec(find_library())
    except Mistake as mistake:
        raise MissingPeer(str(mistake)) from None
    first_day = [
        STEPPE,
        "run",
        str(run_file(2)),
        "--fresh",
        "--quiet",
        "--until",
        f"{FIRST_YEAR}-01-01",
        "--output",
        str(FOLDER / "run-ranks"),
    ]
    started = {"bare": [*mpiexec, "-n", str(RANKS), sys.executable, "-c", BARE], "steppe": [*mpiexec, "-n", str(RANKS), *first_day]}
    rounds = QUICK_ROUNDS if quick else ROUNDS
    wall: dict[str, list[float]] = {name: [] for name in started}

    def run(name: str) -> float:
        begin = time.perf_counter()
        seconds = process_seconds(started[name], KEEP_COMPILED)
        wall[name].append(time.perf_counter() - begin)
        return seconds

    cpu = alternate({name: partial(run, name) for name in started}, rounds)
    waited = {name: seconds[1:] for name, seconds in wall.items()}
    found = []
    for what, samples in (("wall time", waited), ("CPU time", cpu)):
        times = ratio(samples["steppe"], samples["bare"])
        found.append(
            Figure(
                f"first day on {RANKS} ranks over bare imports, {what}", times.value, "x", at_most=2.0, note=times.spread, samples=samples
            )
        )
    return found + _of_program(mpiexec, quick) + _of_steps(mpiexec, quick)


def _of_steps(mpiexec: list[str], quick: bool) -> list[Figure]:
    """The step loop of a run: two ranks beside one thread and beside two threads."""
    run_file(YEARS[quick])
    found: dict[str, list[list[float]]] = {"thread": [], "threads": [], "ranks": []}

    def run(name: str) -> float:
        program = ["-m", "benchmarks.ranks_program", "steps-2" if name == "threads" else "steps", "quick" if quick else "whole"]
        text = output([*mpiexec, "-n", "2" if name == "ranks" else "1", sys.executable, *program])
        found[name].append([float(word) for word in text.split()])
        return sum(found[name][-1][1:])

    cpu = alternate({name: partial(run, name) for name in found}, QUICK_ROUNDS if quick else ROUNDS - 2)
    shares = [max(each[1:]) / sum(each[1:]) for each in found["ranks"][1:]]
    clock = {name: [each[0] for each in samples[1:]] for name, samples in found.items()}
    ranks, threads = ratio(cpu["ranks"], cpu["thread"]), ratio(clock["ranks"], clock["threads"])
    return [
        Figure("step loop, CPU of 2 ranks / of one thread", ranks.value, "x", at_most=1.05, note=ranks.spread, samples=cpu),
        Figure("larger share of 2 ranks", float(np.median(shares)), at_most=0.52, samples={"shares": shares}),
        Figure("step loop, 2 ranks / 2 threads, by the clock", threads.value, "x", at_most=1.05, note=threads.spread, samples=clock),
    ]


def _of_program(mpiexec: list[str], quick: bool) -> list[Figure]:
    """What ranks measure of themselves: `benchmarks.ranks_program`."""

    def run(ranks: int, what: str) -> list[float]:
        text = output([*mpiexec, "-n", str(ranks), sys.executable, "-m", "benchmarks.ranks_program", what, "quick" if quick else "whole"])
        return [float(word) for word in text.split()]

    (idle,) = run(RANKS, "idle")
    quick_ones, typical, late = run(RANKS_AWAKE, "wake")
    ours, bare = run(RANKS_AWAKE, "gather")
    return [
        Figure(f"an idle rank of {RANKS}, the busiest", 100 * idle, "% of a core", at_most=0.5, note=f"over {IDLE[quick]:g} s"),
        Figure(
            f"waking {RANKS_AWAKE} ranks, the last of them, median",
            1e3 * typical,
            "ms",
            at_most=1.0,
            note=f"tenths {1e3 * quick_ones:.2g} and {1e3 * late:.2g} ms",
        ),
        Figure(
            f"gather on {RANKS_AWAKE} ranks over a bare Gatherv",
            ours / bare,
            "x",
            at_most=1.3,
            note=f"{1e6 * ours:.0f} us against {1e6 * bare:.0f} us",
        ),
    ]
