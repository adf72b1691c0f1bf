"""What `referee.c` measures, by the loops of `steppe measure messages`: run as ranks, with its arguments, printing what it prints.

The cost of the clock is not taken off and the mean over the ranks is given, not the longest, as the C program does.
"""

import sys
from dataclasses import replace

from steppe.comm import find_launch
from steppe.comm.raw import Raw, open_raw
from steppe.errors import Mistake
from steppe.measure.messages.messages import Messages
from steppe.measure.messages.plan import PING_PONG, UNDER_WAY, Task

LARGE = 1 << 20


def tasks(ranks: int) -> dict[str, Task]:
    """Series by the name that the C program gives them."""
    between_two = {
        "latency0": Task("point-to-point", "point-to-point", PING_PONG, 2, 0),
        "latency8": Task("point-to-point", "point-to-point", PING_PONG, 2, 8),
        "bandwidth": Task("point-to-point", "point-to-point", UNDER_WAY, 2, LARGE),
    }
    among_all = {"allreduce": Task("collective", "allreduce", "", ranks, 8), "barrier": Task("collective", "barrier", "", ranks, 0)}
    return {**(between_two if ranks == 2 else {}), **among_all}


def measure(raw: Raw, iterations: int, repeats: int) -> None:
    """Prints the means of each series [s]."""
    messages = Messages(raw, 0.0, 0.0, LARGE)
    messages.ticks = replace(messages.ticks, cost=0.0)
    for name, task in tasks(raw.size).items():
        k = iterations // 1000 + 1 if name == "bandwidth" else iterations
        messages.block_times(task, raw, 1, k)  # warm-up
        means = []
        for _ in range(repeats):
            times = messages.block_times(task, raw, 1, k)[:, 0]
            means.append(times.mean() if task.group == "collective" else times[0])
        if raw.rank == 0:
            print(name, *(f"{mean:.9e}" for mean in means))


if __name__ == "__main__":
    launch = find_launch()
    if launch is None:
        raise Mistake("This runs as ranks: mpiexec -n 2 python -m benchmarks.suites.messages.program ITERATIONS REPEATS.")
    joined = open_raw(launch)
    measure(joined, int(sys.argv[1]), int(sys.argv[2]))
    joined.close()
