"""A whole run, with reading, monthly maps and checkpoints, beside the kernel alone on the same cells and days."""

import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from benchmarks.figures import Figure
from benchmarks.machine import is_idle
from benchmarks.queensland import new_output, run_file
from benchmarks.rounds import QUICK_ROUNDS, ROUNDS, alternate, ratio
from steppe.comm import BoxReach, Serial
from steppe.engine import Plan, Simulation, read_run_file
from steppe.engine.recorder import IntervalRecorder
from steppe.kernels.sums import totals
from steppe.models import Packed


class Repeated:
    """Inputs that hold one piece of forcing in memory and give it for every range of steps of its length."""

    in_turns = False

    def __init__(self, reader: Any, steps: range, cells: int) -> None:
        self.names = reader.names
        self._length = len(steps)
        self._tiles = [(tile, Packed(*(np.array(part) for part in packed))) for tile, packed in reader.stream(range(cells)).tiles(steps)]

    def pieces(self, steps: range) -> list[range]:
        """Ranges of the length that is held; the last may be shorter."""
        return [range(first, min(first + self._length, steps.stop)) for first in range(steps.start, steps.stop, self._length)]

    def turn_to(self, piece: range) -> None:
        """It is there already."""

    def stream(self, cells: range) -> "Repeated":
        """The same for every thread that asks for all cells."""
        return self

    def tiles(self, steps: range) -> Iterator[tuple[range, Packed]]:
        """The forcing that is held."""
        for tile, held in self._tiles:
            yield tile, held._replace(row_of=held.row_of[:, : len(steps)])


def figures(quick: bool) -> list[Figure]:
    """A run over its kernel: by the clock, where reading and writing have processors to spare, and in CPU time of all threads."""
    path = run_file(2 if quick else 20)
    plan = Plan.of(read_run_file(path))
    reader = plan.reader()
    assert reader is not None
    inputs = Repeated(reader, reader.pieces(range(plan.steps))[0], plan.grid.n_cells)
    reader.close()

    cpu: dict[str, list[float]] = {"kernel": [], "whole run": []}

    def timed(name: str, work: Callable[[], object]) -> float:
        begin, used = time.perf_counter(), time.process_time()
        work()
        cpu[name].append(time.process_time() - used)
        return time.perf_counter() - begin

    def advance() -> None:
        for piece in inputs.pieces(range(plan.steps)):
            plan.model.advance(piece, inputs, plan.clock, IntervalRecorder(plan.grid.n_cells))

    def kernel() -> float:
        share, _, neighbours = plan.decomposed().of(0)
        reach = BoxReach(Serial(), neighbours, totals)
        plan.model.initialise(share, plan.chosen.values, plan.initial, plan.chosen.options, reach)
        plan.model.advance(range(1), inputs, plan.clock, IntervalRecorder(plan.grid.n_cells))  # loads the kernel
        return timed("kernel", advance)

    def whole() -> float:
        with Simulation(Plan.of(read_run_file(path)), new_output()) as simulation:
            return timed("whole run", simulation.run)

    samples = alternate({"kernel": kernel, "whole run": whole}, QUICK_ROUNDS if quick else ROUNDS - 2)
    clock, all_threads = ratio(samples["whole run"], samples["kernel"]), ratio(cpu["whole run"], cpu["kernel"])
    cell_days = plan.grid.n_cells * plan.steps
    rates = [Figure(name, cell_days / float(np.median(times)) / 1e6, "M cell-days/s") for name, times in samples.items()]
    year, seconds = run_file(1), []
    for _ in range(QUICK_ROUNDS + 2):
        with Simulation(Plan.of(read_run_file(year, {"engine.threads": "2"})), new_output()) as simulation:
            simulation.run("1990-01-01")  # loads the kernel
            begin = time.perf_counter()
            simulation.run()
            seconds.append(time.perf_counter() - begin)
    idle = is_idle()
    note, by_clock = "" if idle else "machine not idle, for context", {"seconds": seconds}
    limits = (0.25, 1.2) if idle else (None, None)
    return [
        *rates,
        Figure("one year, two threads", float(np.median(seconds)), "s", at_most=limits[0], note=note, samples=by_clock),
        Figure("whole run / kernel, by the clock", clock.value, "x", at_most=limits[1], note=note or clock.spread, samples=samples),
        Figure("CPU of all threads / kernel", all_threads.value, "x", note=f"{all_threads.spread}; without a spare core", samples=cpu),
    ]
