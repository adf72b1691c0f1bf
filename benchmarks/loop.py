"""A whole run, with reading, monthly maps and checkpoints, beside the kernel alone on the same cells and days."""

import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks.figures import Figure
from benchmarks.machine import is_idle
from benchmarks.queensland import run_file
from benchmarks.rounds import QUICK_ROUNDS, ROUNDS, alternate, ratio
from steppe.engine import Plan, Simulation, read_run_file
from steppe.engine.recorder import Recorder
from steppe.models import Packed


class Repeated:
    """Inputs that hold one piece of forcing in memory and give it for every range of steps of its length."""

    def __init__(self, reader: Any, steps: range, cells: int) -> None:
        self.names = reader.names
        self._length = len(steps)
        self._tiles = [(tile, Packed(*(np.array(part) for part in packed))) for tile, packed in reader.stream(range(cells)).tiles(steps)]

    def pieces(self, steps: range) -> list[range]:
        """Ranges of the length that is held; the last may be shorter."""
        return [range(first, min(first + self._length, steps.stop)) for first in range(steps.start, steps.stop, self._length)]

    def stream(self, cells: range) -> "Repeated":
        """The same for every thread that asks for all cells."""
        return self

    def tiles(self, steps: range) -> Iterator[tuple[range, Packed]]:
        """The forcing that is held."""
        for tile, held in self._tiles:
            yield tile, held._replace(row_of=held.row_of[:, : len(steps)])


def figures(quick: bool) -> list[Figure]:
    """The CPU time of all threads of this process, of a run over that of its kernel."""
    path = run_file(2 if quick else 20)
    plan = Plan.of(read_run_file(path))
    reader = plan.reader()
    assert reader is not None
    inputs = Repeated(reader, reader.pieces(range(plan.steps))[0], plan.grid.n_cells)
    reader.close()

    def kernel() -> float:
        share, reach = plan.surroundings()
        plan.model.initialise(share, plan.chosen.values, plan.initial, plan.chosen.options, reach)
        plan.model.advance(range(1), inputs, plan.clock, Recorder(plan.grid.n_cells))  # loads the kernel
        begin = time.process_time()
        for piece in inputs.pieces(range(plan.steps)):
            plan.model.advance(piece, inputs, plan.clock, Recorder(plan.grid.n_cells))
        return time.process_time() - begin

    def whole() -> float:
        with Simulation(Plan.of(read_run_file(path)), fresh=True) as simulation:
            begin = time.process_time()
            simulation.run()
            return time.process_time() - begin

    samples = alternate({"kernel": kernel, "whole run": whole}, QUICK_ROUNDS if quick else ROUNDS - 2)
    found = ratio(samples["whole run"], samples["kernel"])
    cell_days = plan.grid.n_cells * plan.steps
    rates = [Figure(name, cell_days / float(np.median(times)) / 1e6, "M cell-days/s") for name, times in samples.items()]
    year, seconds = run_file(1), []
    for _ in range(QUICK_ROUNDS + 2):
        with Simulation(Plan.of(read_run_file(year, {"engine.threads": "2"})), fresh=True) as simulation:
            simulation.run("1990-01-01")  # loads the kernel
            begin = time.perf_counter()
            simulation.run()
            seconds.append(time.perf_counter() - begin)
    target, note = (0.25, "") if is_idle() else (None, "machine not idle, for context")
    one = Figure(
        "one year, two threads, by the clock", float(np.median(seconds)), "s", at_most=target, note=note, samples={"seconds": seconds}
    )
    return [*rates, one, Figure("whole run / kernel alone", found.value, "x", at_most=1.2, note=found.spread, samples=samples)]
