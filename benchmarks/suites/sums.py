"""Sums that do not depend on order, a value, and what it costs the loop to look at every new state."""

from collections.abc import Callable, Iterator
from unittest.mock import patch

import numpy as np

from benchmarks.cores import QUIET
from benchmarks.figures import Figure
from benchmarks.machine import is_idle
from benchmarks.rounds import QUICK_ROUNDS, ROUNDS, alternate, pinned, thread_seconds
from benchmarks.suites.pasture import Kernel, make_case
from steppe.grid import builtin_grid
from steppe.kernels import cell_loop
from steppe.kernels.sums import columns, largest_products, limb_sums

RECORDS, REPEATS = 12, 10
CHECK = (
    "            mixed = {mixed}\n            work[{odd} + i] = mixed - mixed\n",
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
    values, weights, index = random.random((RECORDS, n_cells)) * 3000.0, random.random(n_cells), columns(np.arange(n_cells))
    largest = largest_products(values, index, weights)

    def run(work: Callable[[], object]) -> Callable[[], float]:
        return lambda: thread_seconds(lambda: [work() for _ in range(REPEATS)]) / (REPEATS * values.size) * 1e9

    runs = {
        "two-limb sums": run(lambda: limb_sums(values, index, weights, largest)),
        "greatest sizes, for their scale": run(lambda: largest_products(values, index, weights)),
        "NumPy, (values * weights).sum, for context": run(lambda: (values * weights).sum(axis=1)),
    }
    for name, times in alternate(runs, 10 * rounds).items():
        target = 0.5 if name == "two-limb sums" else None
        quiet, median = np.quantile(times, (QUIET, 0.5))
        yield Figure(name, float(quiet), "ns a value", at_most=target, note=f"in quiet moments; median {median:.2g}", samples={"ns": times})


def _check(rounds: int) -> Figure:
    """The loop beside the same loop compiled without its look at the new state.

    Where arrays lie in memory changes its speed by more than the look does: they lie elsewhere in every trial.
    """
    text, random = cell_loop._TEXT, np.random.default_rng()
    for line in CHECK:
        assert line in text
        text = text.replace(line, "")
    found, aside = [], []
    for _ in range(2 * rounds):
        kernels = {"with": Kernel(), "without": Kernel()}
        for name in random.permutation(list(kernels)):
            aside.append(np.ones(random.integers(1, 300_000)))
            with patch.object(cell_loop, "_TEXT", text if name == "without" else cell_loop._TEXT):
                kernels[name].prepare(make_case(512, 32))
        samples: dict[str, list[float]] = {name: [] for name in kernels}
        for _ in range(150):
            for name in random.permutation(list(kernels)):
                kernels[name].reset()
                samples[name].append(kernels[name].seconds(range(512)))
        quiet = {name: float(np.quantile(times, 0.1)) for name, times in samples.items()}
        found.append(100.0 * (quiet["with"] / quiet["without"] - 1.0))
    low, middle, high = np.quantile(found, (0.25, 0.5, 0.75))
    target, note = (1.0, "") if is_idle() else (None, "machine not idle, for context; ")
    note += f"quartiles {low:.2g} to {high:.2g} of {len(found)}, each of the fastest tenth of 150 runs"
    return Figure("finite check of every new state", float(middle), "% of a step", at_most=target, note=note, samples={"percent": found})
