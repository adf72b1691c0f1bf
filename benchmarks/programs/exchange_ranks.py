"""What the ranks of an MPI job measure of halos; rank 0 prints it as JSON. `benchmarks.suites.exchange` starts it.

python -m benchmarks.programs.exchange_ranks messages ROUNDS     two ranks: exchanges beside bare messages
python -m benchmarks.programs.exchange_ranks model ROUNDS        any: CPU time of steps of shallow water
"""

import json
import sys
import time
from collections.abc import Callable

import numpy as np
from examples.shallow_water import ShallowWater

from steppe.comm import BoxReach, World, open_world
from steppe.grid import Box, Boxes, Domain, Edges, Partition, Raster, choose_dims
from steppe.kernels.sums import totals

TIMES, TAG = 20, 99  # short rounds: few of them are cut by another process
ROUND: Edges = {"y": "periodic", "x": "periodic"}
CASES: dict[str, tuple[int, Edges, bool]] = {  # cells of an axis, edges, whether the three fields are one array
    "3 arrays, 200 x 200": (200, {}, False),
    "3 arrays, 1000 x 1000": (1000, {}, False),
    "3 arrays, 200 x 200 periodic": (200, ROUND, False),
    "3 fields in one, 200 x 200 periodic": (200, ROUND, True),
}
LONG = 4000, 8, 10  # columns, fields, bands of interior work


def model(world: World, rounds: int) -> list[float]:
    """CPU seconds of all ranks in ten steps of shallow water on 1,000 x 1,000 cells, by round."""
    grid, water = Raster(0.0, -0.01, 0.0, 0.01, np.ones((1000, 1000), dtype=bool)), ShallowWater()
    box = Partition.boxes(grid, world.size, water.needs.halo or {})[world.rank]
    water.initialise(box, {}, None, {}, BoxReach(world, box, totals))
    found = []
    for _ in range(rounds + 1):
        begin = time.process_time()
        for _ in range(10):
            water.step()
            water.now, water.new = water.new, water.now
        mine = round((time.process_time() - begin) * 1e9)
        found.append(int(world.reduce(np.array([mine]), "sum")[0]) / 1e9)
    return found[1:]


def messages(world: World, rounds: int) -> dict[str, dict[str, list[float]]]:
    """Microseconds of each round by case and what was done."""
    from mpi4py import MPI

    bare = MPI.COMM_WORLD
    found: dict[str, dict[str, list[float]]] = {}

    def timed(work: Callable[[], object], times: int = TIMES) -> float:
        bare.Barrier()
        begin = time.perf_counter()
        for _ in range(times):
            work()
        return (time.perf_counter() - begin) / times * 1e6

    for case, (n, edges, together) in CASES.items():
        box = Boxes(Domain.of({"y": n, "x": n}, edges), {"y": 1, "x": 1}, [choose_dims((n, n), (1, 1), 2)])[world.rank]
        fields = [np.zeros((3, *box.local))] if together else [np.zeros(box.local) for _ in range(3)]
        reach, other = BoxReach(world, box, totals), 1 - world.rank
        out, into, copies = plain(box, fields)

        def pair(out: np.ndarray = out, into: np.ndarray = into, other: int = other) -> None:
            MPI.Request.Waitall([bare.Irecv(into, other, TAG), bare.Isend(out, other, TAG)])

        def copy(copies: list[tuple[np.ndarray, np.ndarray]] = copies) -> None:
            for target, source in copies:
                np.copyto(target, source)

        def exchange(reach: BoxReach = reach, fields: list[np.ndarray] = fields) -> None:
            reach.exchange(fields).finish()

        ways = {"exchange": exchange, "bare pair": pair, "copies": copy}
        for work in ways.values():
            timed(work)
        samples: dict[str, list[float]] = {name: [] for name in ways}
        for _ in range(rounds):
            for name, work in ways.items():
                samples[name].append(timed(work))
        found[case] = {**samples, "bytes": [out.nbytes]}
    found["long"] = waits(world, rounds)
    return found


def plain(box: Box, fields: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray, list[tuple[np.ndarray, np.ndarray]]]:
    """A buffer to send, one to receive, and the copies that an exchange cannot do without, one for each rectangle of each field."""
    out, into, copies = [], [], []
    for field in fields:
        for piece in box.sends:
            source = field[..., *piece.mine]
            if piece.peer == box.rank:
                copies.append((field[..., *piece.theirs], source))
            else:
                out.append(np.empty(source.shape))
                copies.append((out[-1], source))
        for piece in box.receives:
            if piece.peer != box.rank:
                into.append(np.empty(field[..., *piece.mine].shape))
                copies.append((field[..., *piece.mine], into[-1]))
    return np.concatenate([part.ravel() for part in out]), np.concatenate([part.ravel() for part in into]), copies


def waits(world: World, rounds: int) -> dict[str, list[float]]:
    """How long `finish` takes when long messages had the time of some interior work, poked between its bands or not."""
    columns, n_fields, bands = LONG
    box = Boxes(Domain.of({"y": 64, "x": columns}, {}), {"y": 2, "x": 2}, [(2, 1)])[world.rank]
    fields, reach, work = [np.zeros(box.local) for _ in range(n_fields)], BoxReach(world, box, totals), np.ones((200, 200))
    found: dict[str, list[float]] = {"no work": [], "unpoked": [], "poked": []}
    for _ in range(rounds):
        for name, samples in found.items():
            world.barrier()
            exchange = reach.exchange(fields)
            for _ in range(0 if name == "no work" else bands):
                np.sqrt(work * work + work, out=work)
                if name == "poked":
                    exchange.progress()
            begin = time.perf_counter()
            exchange.finish()
            samples.append((time.perf_counter() - begin) * 1e6)
    return found


if __name__ == "__main__":
    here = open_world()
    told = {"messages": messages, "model": model}[sys.argv[1]](here, int(sys.argv[2]))
    if here.rank == 0:
        print(json.dumps(told), flush=True)
    here.close()
