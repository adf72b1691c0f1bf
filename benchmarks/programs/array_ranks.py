"""What the ranks of an MPI job measure of global arrays; rank 0 prints it as JSON. `benchmarks.suites.arrays` starts it.

python -m benchmarks.programs.array_ranks near ROUNDS        two ranks of one host beside NumPy
python -m benchmarks.programs.array_ranks far ROUNDS         two ranks on pretended hosts beside a sorted Alltoallv
python -m benchmarks.programs.array_ranks busy ROUNDS        the same, one element, while its owner computes
python -m benchmarks.programs.array_ranks counts SECONDS     three ranks: increments, tickets and tasks
python -m benchmarks.programs.array_ranks assembly ROUNDS    three ranks: updates with keys beside those without

A time is the longest of all ranks, from a barrier on. Times are [ns] an element, or [us] a call of one element.
"""

import json
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from examples.assembly import element, mesh
from tests.arrays.clauses import work

from steppe.arrays import GlobalArray, WorkQueue
from steppe.comm import World, find_launch, open_world, shared

LENGTH, ELEMENTS, FAR = 8_000_000, 1_000_000, 100_000
Samples = dict[str, list[float]]


def timed(world: World, run: Callable[[], object]) -> float:
    """Seconds of the slowest rank."""
    world.barrier()
    begin = time.perf_counter()
    run()
    return float(world.reduce(np.array([time.perf_counter() - begin]), "max")[0])


def alternating(world: World, runs: dict[str, Callable[[], object]], rounds: int, n: int) -> Samples:
    """Nanoseconds an element of each run in each round; every other round goes backwards."""
    found: Samples = {name: [] for name in runs}
    for number in range(rounds + 1):
        for name in [*runs] if number % 2 else reversed(runs):
            seconds = timed(world, runs[name])
            if number:
                found[name].append(seconds / n * 1e9)
    return found


def near(world: World, rounds: int) -> Samples:
    """Random elements of one host, beside NumPy on memory of the same pages."""
    random = np.random.default_rng(world.rank)
    index, values, out = random.integers(0, LENGTH, ELEMENTS), random.random(ELEMENTS), np.empty(ELEMENTS)
    first, tenth = [], []
    for number in range(9):
        array = GlobalArray(world, LENGTH)
        array.gather(index[:1])  # loads the machine code
        times = [timed(world, lambda array=array: array.gather(index)) for _ in range(10)]  # type: ignore[misc]
        if number:  # before, the memory of the results was used for the first time, too
            first.append(times[0])
            tenth.append(times[9])
    own = shared(world, list(range(world.size)), 8 * LENGTH).view(np.float64)  # memory of this rank alone, of the same kind
    own[:] = 0.0
    found = alternating(
        world,
        {
            "take": lambda: own.take(index, out=out, mode="wrap"),
            "gather": lambda: array.gather(index),
            "add.at": lambda: np.add.at(own, index, values),
            "update": lambda: array.update(index, values),
        },
        rounds,
        ELEMENTS,
    )
    return found | {"first": first, "tenth": tenth}


def far(world: World, rounds: int) -> Samples:
    """Random elements of two hosts: half of them are the other's."""
    from mpi4py import MPI

    comm = MPI.COMM_WORLD
    random = np.random.default_rng(world.rank)
    index, part = random.integers(0, LENGTH, FAR), LENGTH // world.size
    array, own = GlobalArray(world, LENGTH), np.zeros(part)
    pages = random.integers(0, LENGTH, 10 * FAR)

    def sorted_messages() -> np.ndarray:
        owner = index // part
        order = np.argsort(owner, kind="stable")
        asked, counts = index[order], np.bincount(owner, minlength=world.size)
        theirs = np.empty_like(counts)
        comm.Alltoall(counts, theirs)
        wanted = np.empty(int(theirs.sum()), np.int64)
        comm.Alltoallv([asked, counts], [wanted, theirs])
        answers, back = own[wanted - part * world.rank], np.empty(index.size)
        comm.Alltoallv([answers, theirs], [back, counts])
        found = np.empty(index.size)
        found[order] = back
        return found

    found = alternating(world, {"gather": lambda: array.gather(index), "Alltoallv": sorted_messages}, rounds, FAR)
    with array.read_only(cache=2 * LENGTH) as seen:  # a quarter of the other host's 4 x LENGTH bytes and of the whole
        found |= alternating(
            world, {"cached": lambda: seen.gather(pages), "not cached": lambda: array.gather(pages)}, max(3, rounds // 3), 10 * FAR
        )
        found |= {
            f"{name}, few": values
            for name, values in alternating(
                world, {"cached": lambda: seen.gather(index), "not cached": lambda: array.gather(index)}, max(3, rounds // 3), FAR
            ).items()
        }
    return found


def busy(world: World, rounds: int) -> Samples:
    """Latency of one element [us] while its owner, rank 1, is idle, in compiled code, in NumPy or in Python; what the owner loses."""
    array = GlobalArray(world, 16, page=64)
    matrix = np.random.default_rng(1).random((300, 300))
    far_one = np.array([15])  # rank 1's

    def in_python() -> None:
        sum(k * k for k in range(20_000))

    works: dict[str, Callable[[], object]] = {
        "idle": lambda: time.sleep(0.002),
        "compiled": lambda: work(2_000_000, np.empty(1)),
        "numpy": lambda: matrix @ matrix,
        "python": in_python,
    }
    found: Samples = {}
    for name, run in works.items():
        times, turns = [], np.zeros(2)
        for asked in (False, True):
            world.barrier()
            until = time.perf_counter() + 0.05 * rounds
            while time.perf_counter() < until:
                if world.rank == 1:
                    run()
                    turns[int(asked)] += 1
                elif asked:
                    begin = time.perf_counter()
                    array.gather(far_one)
                    times.append((time.perf_counter() - begin) * 1e6)
                else:
                    time.sleep(0.002)
        every = world.gather(turns)
        server = world.gather(np.array([array._site.server.seconds if array._site.server else 0.0]))
        if world.rank == 0 and every is not None and server is not None:
            found[name] = times
            found[f"{name}, turns"] = every[1].tolist()
            found["server seconds"] = [float(server[1][0])]
    return found


def counts(world: World, seconds: int) -> Samples:
    """Lost increments, doubled tickets, and tasks of log-normal length: done, and idle at the end [%]."""
    found: Samples = {"lost": [], "idle": []}
    for n in (1, 8, 1_024):
        array = GlobalArray(world, n, "int64")
        index = np.random.default_rng(world.rank).integers(0, n, 1_000_000)
        array.update(index[:1], 0)
        begin = time.perf_counter()
        while world.rank == 0 and n == 8 and time.perf_counter() - begin < seconds:
            work(10_000_000, np.empty(1))
        for part in np.split(index, 10):
            array.update(part, 1)
        array.sync()
        found["lost"].append(float(world.size * index.size - array[:].sum()))
    tickets = GlobalArray(world, 1, "int64")
    mine = tickets.update(np.zeros(100_000, np.int64), 1, fetch=True)
    assert mine is not None
    every = np.concatenate(world.exchange([mine] * world.size))
    found["different tickets"] = [float(np.unique(every).size)]
    lengths = (np.random.default_rng(5).lognormal(np.log(2_000), 1.5, 100_000)).astype(np.int64)
    done, out = GlobalArray(world, lengths.size, "int32"), np.empty(1)
    queue = WorkQueue(world, lengths.size)
    done.sync()
    begin = time.perf_counter()
    for chunk in queue:
        for task in chunk:
            work(int(lengths[task]), out)
        done.update(np.arange(chunk.start, chunk.stop), 1)
    own = time.perf_counter() - begin
    done.sync()
    found["idle"] = [100.0 * (1.0 - own / (time.perf_counter() - begin))]
    found["tasks done once"] = [float((done[:] == 1).sum())]
    idle = world.gather(np.array(found["idle"]))
    return found | {"idle": [float(np.concatenate(idle).mean())]} if idle is not None else found


def assembly(world: World, rounds: int) -> Samples:
    """Seconds of an assembly with keys and without, and the greatest difference from one sum in order, over the greatest entry."""
    points, triangles = mesh(200)
    mine = np.array_split(np.arange(len(triangles)), world.size)[world.rank]
    _, every = element(points[triangles])
    local, expected = every[mine], np.zeros(len(points))
    np.add.at(expected, triangles.reshape(-1), every.reshape(-1))
    load, sums = GlobalArray(world, len(points)), {}
    key = np.broadcast_to(mine[:, None], (mine.size, 3))
    found: Samples = {"ordered": [], "fast": [], "ordered difference": [], "fast difference": []}
    for _ in range(rounds):
        for name, keys in (("ordered", key), ("fast", None)):
            load.sync()
            if world.rank == 0:
                load[:] = 0.0
            load.sync()

            def run(keys: Any = keys) -> None:
                load.update(triangles[mine], local, key=keys)
                load.sync()

            found[name].append(timed(world, run))
            sums[name] = load[:]
            found[f"{name} difference"].append(float(np.abs(sums[name] - expected).max() / np.abs(expected).max()))
    return found


if __name__ == "__main__":
    launch = find_launch()
    assert launch is not None
    what, number = sys.argv[1], int(sys.argv[2])
    hosts = {"far": 2, "busy": 2}.get(what, 1)
    with open_world(f"host {launch.rank % hosts}") as here:
        told = {"near": near, "far": far, "busy": busy, "counts": counts, "assembly": assembly}[what](here, number)
        if here.rank == 0:
            print(json.dumps(told), flush=True)
