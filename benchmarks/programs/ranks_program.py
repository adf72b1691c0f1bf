"""Ranks that measure themselves: `mpiexec -n N python -m benchmarks.programs.ranks_program WHAT quick|whole`; rank 0 prints seconds.

WHAT: idle, wake, gather; steps, steps-2: the step loop of a run, by one or two threads a rank.
"""

import os
import sys
import time
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.cores import QUIET
from benchmarks.queensland import FIRST_YEAR, FOLDER, new_output
from steppe.comm import World, open_world

if TYPE_CHECKING:
    from mpi4py.MPI import Comm

IDLE = {False: 10.0, True: 3.0}  # [s], by quick
CALLS = {False: 200, True: 40}
YEARS = {False: 20, True: 2}
RANKS_AWAKE = max(2, min(4, len(os.sched_getaffinity(0)) // 2))  # a processor each, and some for others
CELLS = {"Queensland": 15_208, "Australia": 278_349}


def idle(world: World, quick: bool) -> list[float]:
    """The CPU time of the busiest waiting rank for each second that it waits."""
    begin, cpu = time.perf_counter(), time.process_time()
    if world.rank == 0:
        time.sleep(IDLE[quick])
    world.call(np.zeros(1))
    share = 0.0 if world.rank == 0 else (time.process_time() - cpu) / (time.perf_counter() - begin)
    return [float(world.reduce(np.array([share]), "max")[0])]


def wake(world: World, quick: bool) -> list[float]:
    """From the call of rank 0 to the last rank that has its message: tenth, median and nine tenths, then the median as it came.

    The first three with each rank on a processor of its own, as Slurm binds them: a kernel may wake a rank on the processor on which rank 0
    goes on, and leaves both there until its next tick.
    """
    as_it_came = _waking(world, quick)
    allowed = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {allowed[world.rank % len(allowed)]})
    bound = _waking(world, quick)
    os.sched_setaffinity(0, allowed)
    return [*np.quantile(bound, (0.1, 0.5, 0.9)).tolist(), float(np.median(as_it_came))]


def _waking(world: World, quick: bool) -> list[float]:
    """Seconds of each call. One clock serves all of a host."""
    late = []
    for _ in range(CALLS[quick]):
        message = np.zeros(1)
        if world.rank == 0:
            time.sleep(0.01)  # the others sleep
            message[0] = time.monotonic()
        world.call(message)
        late.append(float(world.reduce(np.array([time.monotonic() - message[0]]), "max")[0]))
    return late


def gather(world: World, quick: bool) -> list[float]:
    """A variable of all cells to rank 0, and the same by MPI alone with lengths that are known; the quietest tenth of calls in turn."""
    from mpi4py import MPI

    return [seconds for cells in CELLS.values() for seconds in _gather(world, MPI.COMM_WORLD, cells, CALLS[quick])]


def _gather(world: World, comm: "Comm", cells: int, calls: int) -> list[float]:
    ends = np.linspace(0, cells, world.size + 1).astype(int)
    sizes = np.diff(ends)
    mine = np.full(sizes[world.rank], world.rank, np.float32)

    def bare() -> None:
        comm.Gatherv(mine, [np.empty(cells, np.float32), sizes] if comm.rank == 0 else None)

    times: list[list[float]] = [[], []]
    for _ in range(10 * calls):
        for samples, run in zip(times, (lambda: world.gather(mine, lengths=sizes.tolist()), bare), strict=True):
            world.barrier()
            begin = time.perf_counter()
            run()
            samples.append(time.perf_counter() - begin)
    return [float(np.quantile(samples, QUIET)) for samples in times]


def steps(world: World, quick: bool, threads: int = 1) -> list[float]:
    """The step loop of a run of Queensland: on the clock, then of each rank the CPU time of each 365 days, and of what comes after."""
    from steppe.engine import Plan, Ranks, Simulation, read_run_file, serve_orders
    from steppe.engine.rank_state import RankState

    path = FOLDER / f"{YEARS[quick]}-years.toml"
    cpu = time.process_time
    orders: list[tuple[int, float]] = []  # first step and CPU time at each order to step; the first one loads the kernel
    step, clock = RankState.step, 0.0
    RankState.step = lambda part, **given: (orders.append((given["start"], cpu())), step(part, **given))[1]  # type: ignore[method-assign]
    if world.rank:
        serve_orders(world, cores=threads)
    else:
        plan = Plan.of(read_run_file(path, {"engine.threads": str(threads)}), cores=threads)
        ranks = Ranks(world)
        with Simulation(plan, new_output(), ranks=ranks) as simulation:
            simulation.run(f"{FIRST_YEAR}-01-01")  # loads the kernel
            begin = time.perf_counter()
            simulation.run()
            clock = time.perf_counter() - begin
        ranks.dismiss()
    at, used = np.array(orders[1:]).T
    years = np.interp(365.0 * np.arange(YEARS[quick] + 1)[:-1], at, used)
    parts = world.gather(np.append(np.diff(years), [cpu() - years[-1]]))
    return [clock, *np.concatenate(parts).tolist()] if parts is not None else []


def main(what: str, length: str) -> None:
    world = open_world()
    works = {"idle": idle, "wake": wake, "gather": gather, "steps": steps, "steps-2": partial(steps, threads=2)}
    found = works[what](world, length == "quick")
    if world.rank == 0:
        print(*found)
    world.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
