"""What ranks cost before they compute, while they wait and when they meet: start-up, idle processors, waking, gathering."""

import os
import select
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.cores import QUIET
from benchmarks.figures import Figure, MissingPeer
from benchmarks.programs.ranks_program import CELLS, IDLE, RANKS_AWAKE, YEARS
from benchmarks.queensland import FIRST_YEAR, STEPPE, new_output, run_file
from benchmarks.rounds import QUICK_ROUNDS, ROUNDS, alternate, measured, output, process_seconds, ratio
from steppe.cli.control import VARIABLE, Listener
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
    first_day = [STEPPE, "run", str(run_file(2)), "--fresh", "--until", f"{FIRST_YEAR}-01-01", "--output", str(new_output())]
    bare, day = ([*mpiexec, "-n", str(RANKS), *command] for command in ([sys.executable, "-c", BARE], first_day))
    rounds = QUICK_ROUNDS if quick else ROUNDS
    wall = alternate({"bare": lambda: _seconds(bare), "first step": lambda: _seconds(day, first_step=True)}, rounds)
    cpu = alternate(
        {"bare": measured(process_seconds, bare, KEEP_COMPILED), "first day": measured(process_seconds, day, KEEP_COMPILED)}, rounds
    )
    found = []
    for name, samples in {f"first step of {RANKS} ranks, wall time": wall, f"first day of {RANKS} ranks, CPU time": cpu}.items():
        theirs, ours = samples.values()
        times = ratio(ours, theirs)
        found.append(Figure(f"{name} over bare imports", times.value, "x", at_most=2.0, note=times.spread, samples=samples))
    return found + _of_program(mpiexec, quick) + _of_steps(mpiexec, quick)


def _seconds(command: list[str], first_step: bool = False) -> float:
    """Wall time of a command, or until it tells of its first step."""
    with tempfile.TemporaryDirectory() as folder:
        control = Path(folder) / "control"
        listener = Listener(control)
        begin = time.perf_counter()
        process = subprocess.Popen(command, env={**os.environ, **KEEP_COMPILED, VARIABLE: str(control)}, stdout=subprocess.DEVNULL)
        while first_step and process.poll() is None:
            select.select([listener], [], [], 0.1)
            if any(message.get("event", {}).get("kind") == "progress" for message in listener.messages()):
                break
        else:
            process.wait()
        end = time.perf_counter()
        code = process.wait()
        listener.close()
    if code != 0:
        raise MissingPeer(f"`{' '.join(command)}` failed with exit code {code}.")
    return end - begin


def _of_steps(mpiexec: list[str], quick: bool) -> list[Figure]:
    """The step loop of a run: two ranks beside one thread and beside two threads.

    What processors that are busy at once take from each other is told beside it: by two such runs at once that share nothing. CPU time is
    judged by the quietest tenth of all years of all rounds: what other machines on the same cores do to a rank is none of
    its own work. As it came is told beside it.
    """
    run_file(YEARS[quick])
    found: dict[str, list[list[float]]] = {"thread": [], "threads": [], "ranks": [], "both": []}

    def run(name: str) -> float:
        program = ["-m", "benchmarks.programs.ranks_program", "steps-2" if name == "threads" else "steps", "quick" if quick else "whole"]
        command = [*mpiexec, "-n", "2" if name == "ranks" else "1", sys.executable, *program]
        with ThreadPoolExecutor() as pool:
            texts = list(pool.map(output, [command] * (2 if name == "both" else 1)))
        found[name] += [[float(word) for word in text.split()] for text in texts]
        return sum(sum(seconds[1:]) for seconds in found[name][-len(texts) :]) / len(texts)

    cpu = alternate({name: partial(run, name) for name in found}, QUICK_ROUNDS if quick else 2 * ROUNDS)
    clock = {name: [each[0] for each in found[name][1:]] for name in ("threads", "ranks")}
    ranks, threads = ratio(cpu["ranks"], cpu["thread"]), ratio(clock["ranks"], clock["threads"])
    beside = ratio(cpu["both"], cpu["thread"])
    one, both = ([_quiet(part) for part in _by_rank(found[name], n)] for name, n in (("thread", 1), ("ranks", 2)))
    return [
        Figure("step loop, CPU of 2 ranks / of one thread", sum(both) / sum(one), "x", at_most=1.05, samples=cpu),
        Figure("... as it came", ranks.value, "x", note=ranks.spread),
        Figure("... of two runs at once / of one alone, as it came", beside.value, "x", note=beside.spread),
        Figure("larger share of 2 ranks", max(both) / sum(both), at_most=0.52),
        Figure("step loop, 2 ranks / 2 threads, by the clock", threads.value, "x", at_most=1.05, note=threads.spread, samples=clock),
    ]


def _by_rank(found: list[list[float]], ranks: int) -> list[NDArray[np.float64]]:
    """CPU times (rounds, years and what comes after them) of each rank."""
    return np.split(np.array(found)[1:, 1:], ranks, axis=1)


def _quiet(times: NDArray[np.float64]) -> float:
    """Of a whole run: its years are alike."""
    years, rest = times[:, :-1], times[:, -1]
    return float(years.shape[1] * np.quantile(years, QUIET) + np.quantile(rest, QUIET))


def _of_program(mpiexec: list[str], quick: bool) -> list[Figure]:
    """What ranks measure of themselves: `benchmarks.programs.ranks_program`."""

    def run(ranks: int, what: str) -> list[float]:
        text = output(
            [*mpiexec, "-n", str(ranks), sys.executable, "-m", "benchmarks.programs.ranks_program", what, "quick" if quick else "whole"]
        )
        return [float(word) for word in text.split()]

    (idle,) = run(RANKS, "idle")
    quick_ones, typical, late, as_it_came = run(RANKS_AWAKE, "wake")
    times = run(RANKS_AWAKE, "gather")
    return [
        Figure(f"an idle rank of {RANKS}, the busiest", 100 * idle, "% of a core", at_most=0.5, note=f"over {IDLE[quick]:g} s"),
        Figure(
            f"waking {RANKS_AWAKE} ranks, the last of them, median",
            1e3 * typical,
            "ms",
            at_most=1.0,
            note=f"each on a processor; tenths {1e3 * quick_ones:.2g} and {1e3 * late:.2g} ms; unbound {1e3 * as_it_came:.2g}",
        ),
        *(
            Figure(
                f"gather of {place} on {RANKS_AWAKE} ranks over a bare Gatherv",
                ours / bare,
                "x",
                at_most=1.3,
                note=f"{1e6 * ours:.0f} us against {1e6 * bare:.0f} us",
            )
            for place, ours, bare in zip(CELLS, times[::2], times[1::2], strict=True)
        ),
    ]
