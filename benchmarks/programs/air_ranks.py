"""What the ranks of an MPI job measure of the air model; rank 0 prints it as JSON. `benchmarks.air_grid` starts it.

python -m benchmarks.programs.air_ranks RUNFILE FIRST STEPS ROUNDS [dark] [asleep]

A dozen steps before FIRST warm up; then the steps from FIRST on are made in ROUNDS rounds. Seconds a step of each rank, each round: wall;
cpu; chemistry (CPU time of the thread); loop, until no column was left (wall); halos, sweeps and mixing (wall). dark: no photolysis in the
western half. asleep: ranks that wait sleep, so that CPU time is work.
"""

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.napping import Napping
from steppe.arrays import ModelArrays
from steppe.comm import BoxReach, find_launch, open_world
from steppe.engine.plan import Plan
from steppe.engine.recorder import IntervalRecorder
from steppe.engine.run_file import read_run_file
from steppe.grid import Partition
from steppe.kernels.sums import totals
from steppe.models.air.reactions import SHADE

PARTS = ("wall", "cpu", "chemistry", "loop", "halos", "sweeps", "mixing")
WARM = 12  # steps


class Timed(BoxReach):
    """A reach that knows how long its exchanges took."""

    spent = 0.0

    def exchange(self, arrays: Any, parities: Any = None, along: str | None = None) -> Any:
        begin = time.perf_counter()
        found = super().exchange(arrays, parities, along)
        found.finish()  # the model does nothing meanwhile
        self.spent += time.perf_counter() - begin
        return found


class Clocked:
    """A function that knows how long it took."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function, self.spent = function, 0.0

    def __call__(self, *arguments: Any) -> Any:
        begin = time.perf_counter()
        found = self.function(*arguments)
        self.spent += time.perf_counter() - begin
        return found


def waited(world: Any) -> float:
    """CPU time [s] of a napping world's waiting so far."""
    return world.waited if isinstance(world, Napping) else 0.0


def main(world: Any, path: str, first: int, steps: int, rounds: int, dark: bool) -> dict[str, Any]:
    plan = Plan.of(read_run_file(Path(path), {"engine.threads": "1"}))
    box, model = Partition.boxes(plan.grid, world.size, plan.model.needs.halo or {})[world.rank], plan.model
    reach = Timed(world, box, totals, ModelArrays(world))
    model.initialise(box, plan.chosen.values, None, plan.chosen.options, reach)
    if dark:
        tell, west = model._tell, np.arange(box.origin[1], box.origin[1] + box.shape[1]) < plan.grid.nlon // 2

        def tell_dark(air: Any) -> Any:
            cells, columns = tell(air)
            columns[SHADE, :, west] = 0.0
            return cells, columns

        model._tell = tell_dark
    model._advection.sweep = sweeps = Clocked(model._advection.sweep)
    model._diffusion.step = mixing = Clocked(model._diffusion.step)
    reader, nothing = plan.reader(), IntervalRecorder(box.n_cells)
    found: dict[str, Any] = {part: [] for part in PARTS}
    model.advance(range(first - WARM, first), reader, plan.clock, nothing)
    begun = model.remember()
    for _ in range(rounds):
        model.recall(begun, box, reach)
        (chemistry, *attempts), before = model.work.spent, (model.work.wall, reach.spent, sweeps.spent, mixing.spent)
        world.barrier()
        cpu, wall = time.process_time() - waited(world), time.perf_counter()
        model.advance(range(first, first + steps), reader, plan.clock, nothing)
        cpu, wall = time.process_time() - waited(world) - cpu, time.perf_counter() - wall
        after = model.work.wall, reach.spent, sweeps.spent, mixing.spent
        parts = model.work.spent[0] - chemistry, *np.subtract(after, before)
        mine = np.zeros((world.size, len(PARTS)), np.int64)
        mine[world.rank] = np.rint(1e9 * np.array([wall, cpu, *parts]) / steps)
        every = world.reduce(mine, "sum") / 1e9
        for part, values in zip(PARTS, every.T.tolist(), strict=True):
            found[part].append(values)
    all_taken, all_lanes = world.reduce(np.subtract(model.work.spent[1:], attempts), "sum").tolist()
    found["steps of a cell"] = all_taken / steps / (plan.grid.n_cells * model.levels.thickness.size)
    found["lanes in use"] = all_taken / all_lanes
    return found


if __name__ == "__main__":
    find_launch()
    with open_world() as here:
        known: Any = Napping(here) if "asleep" in sys.argv else here
        told = main(known, sys.argv[1], *map(int, sys.argv[2:5]), "dark" in sys.argv)
        if here.rank == 0:
            print(json.dumps(told), flush=True)
