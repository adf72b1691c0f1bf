"""Which ranks read forcing for which, chosen by name or by predicted time, and the inputs that this comes to.

own         each rank reads and decodes the tiles that its share touches: nothing is sent, tiles at the cuts are decoded twice
node        the records of a host are dealt to its ranks: each is decoded once, and the ranks meet once a slab
readers:2   so many ranks decode, and send each rank its share
auto        the one of the least predicted time
"""

import os
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from steppe.comm import World, agree_on, nodes
from steppe.comm.world import FORCING_TAG
from steppe.errors import RunFileError
from steppe.grid import Cells
from steppe.io.forcing_reader import ForcingReader
from steppe.io.slab import Slabs
from steppe.io.spread import Halves, Readers, SpreadReader, touched, touched_by_hosts

SPREAD = r"own|node|readers:[1-9]\d*|auto"
RETIRED = "broadcast"  # of older run files: rank 0 sent all weather to every rank; it runs as "auto"
AS_GOOD = 0.05  # of the time of a slab: `own` is taken when the best is no better than this, for ranks that meet wait for the slowest
PROBE = 1 << 20  # bytes of a message to measure by
REPEATS = 3


class SpreadFigures(NamedTuple):
    """What decides which spread is fastest, all in seconds; by default those of a model of some hundred operations on a shared AMD EPYC.

    compute, decode: of a cell-day (decode: reading and checking the record, too). meeting: of all ranks. message: of starting one.
    byte: of sending one.
    """

    compute: float = 25e-9
    decode: float = 2e-9
    meeting: float = 2e-5
    message: float = 2e-5
    byte: float = 4e-10


@dataclass(frozen=True)
class SpreadPrediction:
    """Seconds of one slab: reading that is not hidden behind computing, messages and meetings, and what is computed meanwhile."""

    reading: float
    messages: float
    compute: float

    @property
    def seconds(self) -> float:
        """Of the slab in all."""
        return self.reading + self.messages + self.compute


def choose_spread(
    slabs: Slabs, shares: Sequence[Cells], node: Sequence[int], figures: SpreadFigures, spare: bool
) -> tuple[str, Mapping[str, SpreadPrediction]]:
    """The spread of the least predicted time, and the predictions of all that were compared.

    Parameters
    ----------
    slabs
        Of all cells.
    shares
        The packed cells that each rank computes.
    node
        The host of each rank.
    figures
        Measured on this machine.
    spare
        Whether each rank has a processor for its reading thread, so that reading goes on behind computing.
    """
    ranks, cells, days, height = len(node), slabs.cells, slabs.length, slabs.height * slabs.dtype.itemsize
    compute = days * figures.compute * max(len(share) for share in shares)

    def share_of(records: int, number: int) -> float:
        """The largest when records are dealt to a number of ranks."""
        return -(-records // number) / max(records, 1)

    def reading(decoded: float) -> float:
        taken = days * figures.decode * decoded
        return max(0.0, taken - compute) if spare else taken

    def of(tiles: Sequence[int]) -> int:
        return sum(len(cells[tile]) for tile in tiles)

    found = {"own": SpreadPrediction(reading(max(of(touched(cells, share)) for share in shares)), 0.0, compute)}
    if ranks > 1:
        if hasattr(os, "memfd_create"):
            hosts = touched_by_hosts(cells, shares, node)
            decoded = max(of(tiles) * share_of(len(tiles) * slabs.changing, [*node].count(host)) for host, tiles in hosts.items())
            found["node"] = SpreadPrediction(reading(decoded), figures.meeting, compute)
        for number in sorted({1, min(2, len(cells), ranks), min(len(cells), ranks)}):
            sent = sum(map(len, shares)) / number * (1 - 1 / ranks) * height
            messages = figures.meeting + (ranks - 1) * figures.message + sent * figures.byte
            most = max(of(range(len(cells) * k // number, len(cells) * (k + 1) // number)) for k in range(number))
            found[f"readers:{number}"] = SpreadPrediction(reading(most), messages, compute)
    best = min(found, key=lambda name: found[name].seconds)
    return ("own" if found["own"].seconds <= (1 + AS_GOOD) * found[best].seconds else best), found


def measure_spread(world: World, reader: ForcingReader, compute: float) -> SpreadFigures:
    """What `choose_spread` needs, in some milliseconds; the slowest rank counts. Every rank calls it.

    reader: of all cells. compute [s]: of a cell-day.
    """
    slabs: Slabs = reader.slabs
    slab, error, decode = slabs.of_day(slabs.days.start), None, 0.0
    tile = world.rank % len(slabs.cells)
    room = slabs.new_room()

    def fetch() -> None:
        slabs.read(slab, tile, room)
        slabs.decode(slab, tile, room)

    try:
        decode = _least(fetch) / (slabs.length * len(slabs.cells[tile]))
    except Exception as found:
        error = found
    agree_on(world, error)
    probe, last = np.empty(PROBE, np.uint8), world.size - 1

    def to_and_fro(length: int) -> None:
        if world.rank in (0, last):
            other = last - world.rank
            requests = [world.receive(probe[:length], other, FORCING_TAG), world.send(probe[:length], other, FORCING_TAG)]
            for request in requests:
                request.wait()

    meeting = _least(world.barrier)
    short, long = _least(lambda: to_and_fro(1)), _least(lambda: to_and_fro(PROBE))
    picoseconds = np.array([1e12 * figure for figure in (decode, meeting, short, max(long - short, 0.0) / PROBE)], np.int64)
    slowest = world.reduce(picoseconds, "max") * 1e-12
    return SpreadFigures(compute, *slowest.tolist())


def _least(act: Callable[[], object]) -> float:
    taken = []
    for _ in range(REPEATS):
        began = time.perf_counter()
        act()
        taken.append(time.perf_counter() - began)
    return min(taken)


def spread_forcing(
    reader: ForcingReader,
    world: World,
    shares: Sequence[Cells],
    spread: str = "auto",
    spare: bool = True,
    compute: float | None = None,
    tell: Callable[[str, Mapping[str, SpreadPrediction]], object] = lambda name, predictions: None,
) -> ForcingReader | SpreadReader:
    """The inputs of this rank's share. Every rank calls it, and turns what it gets to the same pieces.

    Parameters
    ----------
    reader
        The forcing of all cells, nothing read of it yet. It belongs to what is returned, and is closed when nothing is.
    world
        The ranks.
    shares
        The packed cells that each rank computes.
    spread
        "own", "node", "readers:k" (of at most so many readers as there are ranks) or "auto".
    spare
        Whether each rank has a processor for its reading thread.
    compute
        Seconds of computing a cell and step, to choose by; default: those of `SpreadFigures`.
    tell
        Is told which spread is taken, and what was predicted when that was chosen.

    Raises
    ------
    RunFileError
        There is no such spread.
    DamagedError
        What is read to measure by is not what was written.
    Failure
        The ranks of a host cannot have memory in common.
    """
    try:
        check_spread(spread)
        slabs, hosts = reader.slabs, nodes(world)
        predictions: Mapping[str, SpreadPrediction] = {}
        spare = world.agree(spare)  # all must choose alike
        if spread == "auto":
            cost = compute or SpreadFigures().compute
            figures = measure_spread(world, reader, cost) if world.size > 1 else SpreadFigures(cost)
            spread, predictions = choose_spread(slabs, shares, hosts, figures, spare)
        tell(spread, predictions)
        if spread == "own":
            reader.recut(shares, world.rank)
            return reader
        kind, _, number = spread.partition(":")
        way = Readers(slabs, world, int(number)) if kind == "readers" else Halves(slabs, world, hosts)
        return SpreadReader(reader, world, way, shares)
    except BaseException:
        reader.close()
        raise


def check_spread(spread: str) -> None:
    """Raises `RunFileError` when there is no such spread."""
    if not re.fullmatch(SPREAD, spread):
        raise RunFileError(f'[forcing] spread "{spread}" is not known. Write "own", "node", "readers:2" or "auto".')
