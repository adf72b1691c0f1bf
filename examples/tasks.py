"""Shares out uneven tasks: air columns whose chemistry needs from ten to thousands of sub-steps, taken from one queue by all ranks.

    python examples/tasks.py                    alone
    mpiexec -n 4 python examples/tasks.py       the same result on four ranks

Each column decays, dc/dt = -k c, by explicit sub-steps of 0.5 / k. No rank knows beforehand how long a column takes.
"""

import argparse
import time

import numpy as np

from steppe.arrays import GlobalArray, WorkQueue, open_world
from steppe.kernels import field_kernel

HOUR = 3600.0  # s


@field_kernel
def decay(n: int, seconds: float, rate: np.typing.NDArray[np.float64], left: np.typing.NDArray[np.float64]) -> None:
    """What is left of each column after some seconds; rate (n,) [s-1], left (n,) [1]."""
    for i in range(n):
        t, c = 0.0, 1.0
        dt = 0.5 / rate[i]
        while t < seconds:
            step = min(dt, seconds - t)
            c = c - step * rate[i] * c
            t = t + step
        left[i] = c


def main(n: int) -> None:
    """Computes all columns on all ranks, and prints how busy each rank was."""
    rates = np.random.default_rng(1).lognormal(np.log(0.02), 1.5, n)  # [s-1]: the work of a column is proportional to it
    with open_world() as world:
        left = GlobalArray(world, n, name="left")
        warm = np.empty(1)
        decay(1, 1.0, np.ones(1), warm)  # the first call compiles
        queue = WorkQueue(world, n, least=8)
        left.sync()
        begin, columns = time.perf_counter(), 0
        for chunk in queue:
            some = np.arange(chunk.start, chunk.stop)
            found = np.empty(some.size)
            decay(some.size, HOUR, rates[some], found)
            left.scatter(some, found)
            columns += some.size
        busy = time.perf_counter() - begin
        left.sync()
        idle = 1.0 - busy / (time.perf_counter() - begin)
        table = world.gather(np.array([columns, busy, 100.0 * idle]))
        if world.rank == 0:
            for rank, row in enumerate(table or []):
                print(f"rank {rank}: {row[0]:7.0f} columns in {row[1]:.2f} s, idle at the end {row[2]:.1f} %")
            print(f"mean of what is left {left[:].mean():.15f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Uneven tasks from one queue.")
    parser.add_argument("--columns", type=int, default=20_000, help="number of columns (default 20000)")
    main(parser.parse_args().columns)
