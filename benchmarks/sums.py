"""Sums that do not depend on order, a value, and what it costs the loop to look at every new state."""

from collections.abc import Callable, Iterator
from unittest.mock import patch

import numpy as np

from benchmarks.figures import Figure
from benchmarks.machine import is_idle
from benchmarks.pasture import Kernel, make_case
from benchmarks.rounds import QUICK_ROUNDS, ROUNDS, alternate, pinned, ratio, thread_seconds
from steppe.grid import builtin_grid
from steppe.kernels import cell_loop
from steppe.kernels.sums import largest_products, limb_sums

RECORDS, REPEATS = 12, 10
CHECK = (
    "            total = {total}\n            work[{odd} + i] = total - total\n",
    "            good = good and all_zero(work, {odd}, m)\n",
)


def figures(quick: bool) -> list[Figure]:
    """Both, in CPU time of one pinned thread."""
    rounds = QUICK_ROUNDS if quick else ROUNDS
    with pinned():
        return [*_sums(rounds), _check(rounds)]


def _sums(rounds: int) -> Iterator[Figure]:
    """Monthly records of a year of Queensland, weighted by area, over the whole region."""
    n_cells = builtin_grid("queensland").n_cells
    random = np.random.default_rng(1)
    values, weights, index = random.random((RECORDS, n_cells)) * 3000.0, random.random(n_cells), np.arange(n_cells)
    largest = largest_products(values, index, weights)

    def run(work: Callable[[], object]) -> Callable[[], float]:
        return lambda: thread_seconds(lambda: [work() for _ in range(REPEATS)]) / (REPEATS * values.size) * 1e9

    runs = {
        "two-limb sums": run(lambda: limb_sums(values, index, weights, largest)),
        "greatest sizes, for their scale": run(lambda: largest_products(values, index, weights)),
        "NumPy, (values * weights).sum, for context": run(lambda: (values * weights).sum(axis=1)),
    }
    samples = alternate(runs, 5 * rounds)
    idle = is_idle()
    for name, times in samples.items():
        target = 0.5 if idle and name == "two-limb sums" else None
        note = "" if idle else "machine not idle, for context"
        yield Figure(name, float(np.median(times)), "ns a value", at_most=target, note=note, samples={"ns": times})


def _check(rounds: int) -> Figure:
    """The loop beside the same loop compiled without its look at the new state."""
    case = make_case(1024, 64)  # short runs: some are not disturbed
    text = cell_loop._TEXT
    for line in CHECK:
        assert line in text
        text = text.replace(line, "")
    kernels = {"with": Kernel(), "without": Kernel()}
    kernels["with"].prepare(case)
    with patch.object(cell_loop, "_TEXT", text):
        kernels["without"].prepare(case)
    samples = alternate({name: lambda k=kernel: thread_seconds(k.run, k.reset) for name, kernel in kernels.items()}, 60 * rounds)
    quiet = {name: float(np.quantile(times, 0.1)) for name, times in samples.items()}
    found = 100.0 * (quiet["with"] / quiet["without"] - 1.0)
    target, note = (1.0, "") if is_idle() else (None, "machine not idle, for context; ")
    note += f"of the fastest tenth of {60 * rounds} runs; median {100.0 * (ratio(samples['with'], samples['without']).value - 1.0):.2g} %"
    return Figure("finite check of every new state", found, "% of a step", at_most=target, note=note, samples=samples)
