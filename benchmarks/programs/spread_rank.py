"""One rank of the benchmark of spreads: the pasture over its share, its weather coming in each way in turn. Rank 0 prints JSON.

Arguments: run file, store, rounds, and where there is no MPI the number of ranks, which are threads then; else 0.
"""

import json
import os
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.suites.loop import Repeated
from steppe.comm import World, open_world
from steppe.costs import SpreadPrediction, spread_forcing
from steppe.engine import Plan, read_run_file
from steppe.engine.recorder import IntervalRecorder
from steppe.grid import Cells, Partition, spanned
from steppe.io import ForcingReader, SpreadReader
from steppe.io.forcing.slab import ALL, Room, SlabMemory, Slabs
from steppe.io.forcing.spread import Fetch, Lying
from steppe.models import find_model, make_model
from steppe.testing import run_threads
from steppe.variable import Role

ALONE = "computing alone"
BROADCAST = "broadcast"  # the choice of paper 000, which a run file cannot make
SPREADS = ("own", "node", "readers:1", "readers:2", BROADCAST, "auto")


class Broadcast:
    """Rank 0 decodes whole tiles and sends all of them to every rank."""

    def __init__(self, slabs: Slabs, world: World) -> None:
        self._slabs, self._world, self.lying = slabs, world, list[Lying]()
        shape, records = (len(slabs.cells), slabs.height, slabs.width), SlabMemory()
        self._halves = [np.empty(shape, slabs.dtype) for _ in range(2 if world.rank == 0 else 1)]
        tiles = range(len(slabs.cells) if world.rank == 0 else 0)
        self._rooms = [[Room(half[tile], records, ALL) for tile in tiles] for half in self._halves]

    def cut(self, shares: Sequence[Cells]) -> None:
        """See `steppe.io.forcing.spread.Way`."""
        self._first, self.lying = spanned(shares[self._world.rank]).start, []

    def prepare(self, slab: int, fetch: Fetch) -> None:
        """See `steppe.io.forcing.spread.Way`."""
        for tile, room in enumerate(self._rooms[slab % len(self._rooms)]):
            fetch(slab, tile, room)

    def pass_on(self, slab: int) -> int:
        """See `steppe.io.forcing.spread.Way`."""
        half, first = self._halves[slab % len(self._halves)], self._first
        self._world.broadcast(half)
        cells = self._slabs.cells
        self.lying = [Lying(range(of.start - first, of.stop - first), rows[:, : len(of)]) for of, rows in zip(cells, half, strict=True)]
        return half.nbytes * (self._world.size - 1) if self._world.rank == 0 else 0

    @property
    def memory(self) -> int:
        """See `steppe.io.forcing.spread.Way`."""
        return sum(half.nbytes for half in self._halves)


def measure(world: World, run_file: str, store: str, rounds: int) -> dict[str, Any]:
    """Of each spread, round by round: wall seconds of all steps, the longest wait of a rank, bytes sent; and what "auto" chose."""
    plan = Plan.of(read_run_file(Path(run_file), {"forcing.store": json.dumps(store)}))
    partition = Partition.cells(plan.grid, world.size)
    share, steps = partition.owned(world.rank), range(plan.steps)
    shares = [partition.owned(rank).cells for rank in range(world.size)]
    wanted = {name: v for name, v in plan.model.variables.items() if v.role is Role.FORCING and name in plan.forcing.names}
    spare = world.size < len(os.sched_getaffinity(0))
    found: dict[str, Any] = {}

    def reader() -> ForcingReader:
        whole = range(plan.grid.n_cells)
        return ForcingReader(plan.forcing, whole, tuple(wanted), plan.clock, variables=wanted, steps=steps, decode_ahead=spare)

    def tell(spread: str, predictions: Mapping[str, SpreadPrediction]) -> None:
        if predictions:
            found["chosen"] = spread
            found["predicted"] = {name: prediction.seconds * 1e3 for name, prediction in predictions.items()}

    def inputs(spread: str) -> Any:
        if spread == BROADCAST:
            whole = reader()
            return SpreadReader(whole, world, Broadcast(whole.slabs, world), shares)
        if spread != ALONE:
            return spread_forcing(reader(), world, shares, spread, spare, tell=tell)
        own = spread_forcing(reader(), world, shares, "own", spare)
        held = Repeated(own, own.pieces(steps)[0], share.n_cells)
        own.close()
        return held

    model = make_model(find_model(plan.run.model), plan.dtype, 1)
    for _ in range(rounds + 1):  # the first does not count
        for spread in (ALONE, *SPREADS):
            model.initialise(share, plan.chosen.values, plan.initial, plan.chosen.options, None)
            given = inputs(spread)
            world.barrier()
            begin = time.perf_counter()
            for piece in given.pieces(steps):
                model.advance(piece, given, plan.clock, IntervalRecorder(share.n_cells))
            world.barrier()
            wall = time.perf_counter() - begin
            stall, sent = (0.0, 0) if spread == ALONE else (given.counters.stall_seconds, given.counters.sent)
            longest = world.reduce(np.array([int(1e9 * stall), int(1e9 * wall)]), "max") / 1e9
            all_sent = world.reduce(np.array([sent]), "sum")
            found.setdefault(spread, []).append({"wall": longest[1], "stall": longest[0], "sent": int(all_sent[0])})
            if spread != ALONE:
                given.close()
    return {name: samples[1:] if isinstance(samples, list) else samples for name, samples in found.items()}


if __name__ == "__main__":
    path, weather, repeats, ranks = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    if ranks:
        print(json.dumps(run_threads(ranks, lambda world: measure(world, path, weather, repeats), limit=600.0)[0]))
    else:
        world = open_world()
        told = measure(world, path, weather, repeats)
        if world.rank == 0:
            print(json.dumps(told))
        world.close()
