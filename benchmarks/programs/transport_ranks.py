"""What the ranks of an MPI job measure of transport; rank 0 prints it as JSON. `benchmarks.suites.transport` starts it.

python -m benchmarks.programs.transport_ranks HOSTS COURANT FLOW ROUNDS STEPS [asleep]

The same model runs three times, with the same kernels on arrays of one form, which differ in what a rank sees of other ranks' rows:

arrays    as it is: global arrays; between hosts pages come that some points need
halos     its own memory, filled before the kernels run with as many rows beside its own as the fastest air passes in a step, and those
          that the stencils read; half as many for the wind, which is read half-way
whole     its own memory, filled with all rows

Rows lie one after the other in memory, so a halo of them is one message without packing: by MPI on one host, by TCP between hosts, as pages
are. All three must give the same bits. asleep: ranks that wait sleep, so that their CPU time is work.
"""

import json
import socket
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import closing, contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.napping import NAP, Napping
from benchmarks.transport_runs import DT, GRID, LEVELS, Run, wind
from steppe.arrays import ModelArrays
from steppe.comm import BoxReach, World, find_launch, nodes, open_world
from steppe.grid import Box
from steppe.kernels.elements import ONE_PAGE
from steppe.kernels.sums import totals
from steppe.models.transport.winds import RADIUS

Floats = NDArray[np.float64]
STENCIL = 3  # rows that a stencil reads beyond the row of its point, at most
ROW = np.pi / GRID.nlat  # rad between two rows, about


class Links:
    """A TCP connection to each rank of another host."""

    def __init__(self, world: World, hosts: Sequence[int]) -> None:
        server = socket.create_server(("127.0.0.1", 0), backlog=world.size)
        ports = np.zeros(world.size, np.int64)
        ports[world.rank] = server.getsockname()[1]
        ports = world.reduce(ports, "sum")
        others = [rank for rank in range(world.size) if hosts[rank] != hosts[world.rank]]
        self.to: dict[int, socket.socket] = {}
        for rank in others:
            if rank < world.rank:
                self.to[rank] = socket.create_connection(("127.0.0.1", int(ports[rank])))
                self.to[rank].sendall(bytes([world.rank]))
        for _ in [rank for rank in others if rank > world.rank]:
            found, _ = server.accept()
            self.to[found.recv(1)[0]] = found
        for each in self.to.values():
            each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        server.close()
        self.threads = ThreadPoolExecutor(max(len(others), 1))

    def close(self) -> None:
        self.threads.shutdown()
        for each in self.to.values():
            each.close()


class Rows:
    """An array (rows, ...) in the memory of a rank, of which the rows beside its own come by messages; to a model a global array."""

    def __init__(self, world: World, links: Links, boxes: Sequence[tuple[int, int]], shape: Sequence[int], beside: int, tag: int) -> None:
        self._world, self._links, self._dirty = world, links, False
        self.shape, width, rows = tuple(shape), int(np.prod(shape[1:])), shape[0]
        self.places: Floats = np.zeros(rows * width)  # rows that nobody fills take no memory
        seen = [(max(first - beside, 0), min(end + beside, rows)) for first, end in boxes]
        self.memory = 8 * width * (seen[world.rank][1] - seen[world.rank][0])
        self.received = 0  # bytes from other hosts
        self._near: list[list[tuple[int, Floats]]] = [[], []]
        self._far: list[list[tuple[socket.socket, Floats]]] = [[], []]
        mine = world.rank
        for other in range(world.size):
            for direction, (owner, reader) in enumerate([(other, mine), (mine, other)]):
                first, end = max(boxes[owner][0], seen[reader][0]), min(boxes[owner][1], seen[reader][1])
                if other != mine and first < end:
                    part = self.places[first * width : end * width]
                    if other in links.to:
                        self._far[direction].append((links.to[other], part))
                    else:
                        self._near[direction].append((other, part))
        self._messages = world.persistent(*self._near, tag)

    def fill(self) -> None:
        """The rows of other ranks come."""
        self._messages.expect()
        self._messages.send()
        sends = [self._links.threads.submit(link.sendall, part.data.cast("B")) for link, part in self._far[1]]
        for link, part in self._far[0]:
            into = part.data.cast("B")
            while into.nbytes:
                into = into[link.recv_into(into) :]
            self.received += part.nbytes
        wait(sends)
        while isinstance(self._world, Napping) and not self._messages.test():
            time.sleep(NAP)
        self._messages.wait()

    def scatter(self, index: Any, value: Any) -> None:
        self.places[index] = value
        self._dirty = True

    def elsewhere(self, index: Any) -> NDArray[np.int64]:
        return np.empty(0, np.int64)

    def sync(self) -> None:
        if self._dirty:
            self.fill()
        self._dirty = False

    def gather(self, index: Any) -> Any:
        return self.places[index]

    room = 0

    def raw(self) -> tuple[NDArray[np.int64], int]:
        return np.array([self.places.ctypes.data]), ONE_PAGE

    @contextmanager
    def read_only(self, cache: int) -> Iterator["Rows"]:
        self.fill()
        yield self


class Noted(BoxReach):
    """A reach that knows the arrays that it has made."""

    def __init__(self, world: World, box: Box) -> None:
        super().__init__(world, box, totals, ModelArrays(world))
        self.arrays: list[Any] = []

    def array(self, shape: Any, dtype: Any = "float64", page: int = 65_536) -> Any:
        self.arrays.append(super().array(shape, dtype, page))
        return self.arrays[-1]


class Local(BoxReach):
    """A reach whose arrays are `Rows`. beside: rows beside the own ones, by dimensions of an array and whether it is the wind's."""

    def __init__(self, world: World, box: Box, links: Links, boxes: Sequence[tuple[int, int]], beside: Callable[[Any], int]) -> None:
        super().__init__(world, box, totals)
        self.arrays: list[Rows] = []
        self._of = world, links, boxes
        self._beside = beside

    def array(self, shape: Any, dtype: Any = "float64", page: int = 65_536) -> Any:
        self.arrays.append(Rows(*self._of, shape, self._beside(shape), 900 + len(self.arrays)))
        return self.arrays[-1]


def main(world: World, courant: float, flow: str, rounds: int, steps: int) -> dict[str, Any]:
    hosts = nodes(world)
    with closing(Links(world, hosts)) as links:
        return compared(world, hosts, links, wind(courant, flow), rounds, steps)


def compared(world: World, hosts: Sequence[int], links: Links, fields: Mapping[str, Floats], rounds: int, steps: int) -> dict[str, Any]:
    """Samples of each way, and counts of it."""
    fastest = float(np.hypot(fields["u"], fields["v"]).max()) * DT / RADIUS / ROW
    rows = np.zeros((world.size, 2), np.int64)
    runs: dict[str, Run] = {}

    def beside(shape: Sequence[int]) -> int:
        if len(shape) == 2:  # surface pressure, for its gradient
            return 1
        on_the_way = 0.5 if shape[1] == 3 and shape[2] == LEVELS.coordinate.size else 1.0  # as the array of the wind is
        return int(np.ceil(on_the_way * fastest)) + STENCIL

    runs["arrays"] = Run(fields, world=world, reach=lambda box: Noted(world, box))
    box = runs["arrays"].box
    rows[world.rank] = box.origin[0], box.origin[0] + box.shape[0]
    boxes = [(first, end) for first, end in world.reduce(rows, "sum").tolist()]
    runs["halos"] = Run(fields, world=world, reach=lambda box: Local(world, box, links, boxes, beside))
    runs["whole"] = Run(fields, world=world, reach=lambda box: Local(world, box, links, boxes, lambda shape: shape[0]))
    counts: dict[str, list[int]] = {}
    found: dict[str, Any] = {name: {"wall": [], "cpu": []} for name in runs}
    for number in range(rounds + 1):
        for name in [*runs] if number % 2 else reversed(runs):
            before = counters(runs[name])
            world.barrier()
            cpu, wall = time.process_time(), time.perf_counter()
            runs[name].step(steps)
            cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
            world.barrier()
            spent = np.zeros(world.size, np.int64)
            spent[world.rank] = round(cpu * 1e9)
            longest = int(world.reduce(np.array([round(wall * 1e9)]), "max")[0])
            every = world.reduce(spent, "sum")
            if number:
                found[name]["wall"].append(longest / steps / 1e9)
                found[name]["cpu"].append((every / steps / 1e9).tolist())
            counts[name] = [(after - first) // steps for after, first in zip(counters(runs[name]), before, strict=True)]
    for name, run in runs.items():
        assert np.array_equal(run.tracers, runs["arrays"].tracers), f"Other bits with {name}."
        summed = world.reduce(np.array(counts[name], np.int64), "sum").tolist()
        found[name] |= dict(zip(("messages", "bytes", "pages"), summed, strict=True))
        found[name]["memory"] = int(world.reduce(np.array([memory(run, hosts, world, counts[name][2])]), "max")[0])
    waits = [round(1e9 * array.traffic.longest_wait) for array in runs["arrays"].reach.arrays]
    found["arrays"]["longest wait"] = int(world.reduce(np.array([max(waits)]), "max")[0]) / 1e9
    return found


def counters(run: Run) -> list[int]:
    """Messages and bytes between hosts, and pages stored, of this rank so far."""
    arrays = run.reach.arrays
    if isinstance(run.reach, Local):
        return [0, sum(array.received for array in arrays), 0]
    return [sum(getattr(array.traffic, name) for array in arrays) for name in ("messages", "sent", "misses")]


def memory(run: Run, hosts: Sequence[int], world: World, pages: int) -> int:
    """Bytes of the arrays a rank: its part of those of its host, and of the pages that are stored at once at most as many as come."""
    if isinstance(run.reach, Local):
        return sum(array.memory for array in run.reach.arrays)
    host = hosts[world.rank]
    return sum(array.layout.bytes_on(host) for array in run.reach.arrays) // hosts.count(host) + pages * 65_536


if __name__ == "__main__":
    launch, n_hosts = find_launch(), int(sys.argv[1])  # no launch: a rank alone
    with open_world(f"host {launch.rank * n_hosts // launch.size if launch else 0}") as here:
        known: Any = Napping(here) if "asleep" in sys.argv else here
        told = main(known, float(sys.argv[2]), sys.argv[3], int(sys.argv[4]), int(sys.argv[5]))
        if here.rank == 0:
            print(json.dumps(told), flush=True)
