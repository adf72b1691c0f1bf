"""What two ranks of an MPI job measure of exchanges of halos; rank 0 prints it as JSON. `benchmarks.exchange` starts it."""

import json
import sys
import time
from collections.abc import Callable

import numpy as np

from steppe.comm import BoxReach, World, open_world
from steppe.grid import Box, Boxes, Domain, Edges, choose_dims
from steppe.kernels.sums import total

FIELDS, TIMES, TAG = 3, 100, 99
ROUND: Edges = {"y": "periodic", "x": "periodic"}
CASES: dict[str, tuple[int, Edges]] = {"200 x 200": (200, {}), "200 x 200 periodic": (200, ROUND), "1000 x 1000": (1000, {})}
LONG = 4000, 8, 10  # columns, fields, bands of interior work


def main(rounds: int) -> None:
    """Microseconds of each round by case and what was done."""
    world = open_world()
    from mpi4py import MPI

    bare = MPI.COMM_WORLD
    found: dict[str, dict[str, list[float]]] = {}

    def timed(work: Callable[[], object], times: int = TIMES) -> float:
        bare.Barrier()
        begin = time.perf_counter()
        for _ in range(times):
            work()
        return (time.perf_counter() - begin) / times * 1e6

    for case, (n, edges) in CASES.items():
        box = Boxes(Domain.of({"y": n, "x": n}, edges), {"y": 1, "x": 1}, [choose_dims((n, n), (1, 1), 2)])[world.rank]
        fields = [np.zeros(box.local) for _ in range(FIELDS)]
        reach, other = BoxReach(world, box, total), 1 - world.rank
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
    if world.rank == 0:
        print(json.dumps(found), flush=True)
    world.close()


def plain(box: Box, fields: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray, list[tuple[np.ndarray, np.ndarray]]]:
    """A buffer to send, one to receive, and the copies that an exchange cannot do without, one for each rectangle of each field."""
    out, into, copies = [], [], []
    for field in fields:
        for piece in box.sends:
            source = field[piece.mine]
            if piece.peer == box.rank:
                copies.append((field[piece.theirs], source))
            else:
                out.append(np.empty(source.shape))
                copies.append((out[-1], source))
        for piece in box.receives:
            if piece.peer != box.rank:
                into.append(np.empty(field[piece.mine].shape))
                copies.append((field[piece.mine], into[-1]))
    return np.concatenate([part.ravel() for part in out]), np.concatenate([part.ravel() for part in into]), copies


def waits(world: World, rounds: int) -> dict[str, list[float]]:
    """How long `finish` takes when long messages had the time of some interior work, poked between its bands or not."""
    columns, n_fields, bands = LONG
    box = Boxes(Domain.of({"y": 64, "x": columns}, {}), {"y": 2, "x": 2}, [(2, 1)])[world.rank]
    fields, reach, work = [np.zeros(box.local) for _ in range(n_fields)], BoxReach(world, box, total), np.ones((200, 200))
    found: dict[str, list[float]] = {"no work": [], "unpoked": [], "poked": []}
    for _ in range(4 * rounds):
        for name, samples in found.items():
            world.barrier()
            exchange = reach.exchange(fields)
            for _ in range(0 if name == "no work" else bands):
                np.sqrt(work * work + work, out=work)
                if name == "poked":
                    exchange.poke()
            begin = time.perf_counter()
            exchange.finish()
            samples.append((time.perf_counter() - begin) * 1e6)
    return found


if __name__ == "__main__":
    main(int(sys.argv[1]))
