"""Which ranks read forcing for others, by name or by the least predicted time, and the reader that follows from it.

own         each rank reads and decodes the tiles that its share touches: no message; tiles at the cuts are decoded twice
node        the ranks of a host divide the records: each record is decoded once, and the ranks meet once a slab
readers:2   two ranks decode, and send each rank its share
auto        the spread of the least predicted time
"""

import os
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from steppe.comm import World, agreed, nodes
from steppe.comm.world import FORCING_TAG
from steppe.errors import RunFileError
from steppe.grid import Cells
from steppe.io import ForcingReader, SpreadReader
from steppe.io.forcing.slab import Slabs
from steppe.io.forcing.spread import Halves, Readers, touched, touched_by_hosts

SPREAD = r"own|node|readers:[1-9]\d*|auto"
RETIRED = "broadcast"  # of older run files: rank 0 sent all weather to every rank; it runs as "auto"
AS_GOOD = 0.05  # of the time of a slab: `own` is taken when the best is no better than this, for ranks that meet wait for the slowest
PROBE = 1 << 20  # bytes of a message to measure by
REPEATS = 3


class SpreadFigures(NamedTuple):
    """Seconds that decide which spread is fastest. The defaults were measured on a shared AMD EPYC.

    compute: of a cell and step; the default is for a model of which nothing is declared or measured, and means some hundred operations.
    decode: of reading, checking and decoding a cell-day. meeting: of all ranks. message: of starting one. byte: of sending one.
    """

    compute: float = 25e-9
    decode: float = 2e-9
    meeting: float = 2e-5
    message: float = 2e-5
    byte: float = 4e-10


@dataclass(frozen=True)
class SpreadPrediction:
    """Seconds of one slab: reading that is not hidden behind computing; messages and meetings; computing."""

    reading: float
    messages: float
    compute: float

    @property
    def seconds(self) -> float:
        """The sum of the three."""
        return self.reading + self.messages + self.compute


def choose_spread(
    slabs: Slabs, shares: Sequence[Cells], node: Sequence[int], figures: SpreadFigures, spare: bool
) -> tuple[str, Mapping[str, SpreadPrediction]]:
    """Returns the spread of the least predicted time, and the predictions of all spreads that were compared.

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

    def largest_part(records: int, number: int) -> float:
        """The largest part of the records, when they are divided among a number of ranks."""
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
            decoded = max(of(tiles) * largest_part(len(tiles) * slabs.changing, [*node].count(host)) for host, tiles in hosts.items())
            found["node"] = SpreadPrediction(reading(decoded), figures.meeting, compute)
        for number in sorted({1, min(2, len(cells), ranks), min(len(cells), ranks)}):
            sent = sum(map(len, shares)) / number * (1 - 1 / ranks) * height
            messages = figures.meeting + (ranks - 1) * figures.message + sent * figures.byte
            most = max(of(range(len(cells) * k // number, len(cells) * (k + 1) // number)) for k in range(number))
            found[f"readers:{number}"] = SpreadPrediction(reading(most), messages, compute)
    best = min(found, key=lambda name: found[name].seconds)
    return ("own" if found["own"].seconds <= (1 + AS_GOOD) * found[best].seconds else best), found


def measure_spread(world: World, reader: ForcingReader, compute: float) -> SpreadFigures:
    """Measures the figures for `choose_spread` in some milliseconds; the slowest rank counts. Every rank calls it.

    reader: of all cells. compute: of a cell and step [s].
    """
    slabs: Slabs = reader.slabs
    slab = slabs.of_day(slabs.days.start)
    tile = world.rank % len(slabs.cells)
    room = slabs.new_room()

    def fetch() -> None:
        slabs.read(slab, tile, room)
        slabs.decode(slab, tile, room)

    with agreed(world, Exception):
        decode = _least(fetch) / (slabs.length * len(slabs.cells[tile]))
    probe, last = np.empty(PROBE, np.uint8), world.size - 1

    def to_and_fro(length: int) -> None:
        if world.rank in (0, last):
            other = last - world.rank
            requests = [world.receive(probe[:length], other, FORCING_TAG), world.send(probe[:length], other, FORCING_TAG)]
            for request in requests:
                request.wait()

    meeting = _least(world.barrier)
    short, long = _least(lambda: to_and_fro(1)), _least(lambda: to_and_fro(PROBE))
    return SpreadFigures(compute, *_slowest(world, decode, meeting, short, max(long - short, 0.0) / PROBE))


def _least(act: Callable[[], object]) -> float:
    taken = []
    for _ in range(REPEATS):
        began = time.perf_counter()
        act()
        taken.append(time.perf_counter() - began)
    return min(taken)


def _slowest(world: World, *seconds: float) -> list[float]:
    """The greatest that a rank has of each, in whole picoseconds: the same on every rank."""
    picoseconds = np.array([round(1e12 * each) for each in seconds], np.int64)
    greatest: list[float] = (world.reduce(picoseconds, "max") / 1e12).tolist()
    return greatest


def spread_forcing(
    reader: ForcingReader,
    world: World,
    shares: Sequence[Cells],
    spread: str = "auto",
    spare: bool = True,
    compute: float | None = None,
    tell: Callable[[str, Mapping[str, SpreadPrediction]], object] = lambda name, predictions: None,
    able: Sequence[int] = (),
) -> ForcingReader | SpreadReader:
    """Returns the inputs of this rank's share. Every rank calls it, and turns these inputs to the same pieces.

    Parameters
    ----------
    reader
        The forcing of all cells, of which nothing is read yet. The returned inputs own it; it is closed when this raises.
    world
        The ranks.
    shares
        The packed cells that each rank computes.
    spread
        "own", "node", "readers:k" (at most as many readers as there are ranks) or "auto".
    spare
        Whether each rank has a processor for its reading thread.
    compute
        Seconds that a cell and step take, declared or measured, by which "auto" chooses. The greatest that a rank knows counts; if no
        rank knows it, that of `SpreadFigures`.
    tell
        Gets the name of the spread, and the predictions by which "auto" chose it.
    able
        The ranks that have the weather; default: all. If some lack it, "auto" means that all others read.

    Raises
    ------
    RunFileError
        The spread is not known, or lets ranks read that lack the weather.
    DamagedError
        A record that is read to measure by is not as it was written.
    Failure
        The ranks of a host cannot share memory.
    """
    try:
        check_spread(spread)
        if able:
            spread = spread_among(spread, len(able))
        slabs, hosts = reader.slabs, nodes(world)
        predictions: Mapping[str, SpreadPrediction] = {}
        spare = world.agree(spare)  # all must choose alike
        if spread == "auto":
            cost = _slowest(world, compute or 0.0)[0] or SpreadFigures().compute
            figures = measure_spread(world, reader, cost) if world.size > 1 else SpreadFigures(cost)
            spread, predictions = choose_spread(slabs, shares, hosts, figures, spare)
        tell(spread, predictions)
        if spread == "own":
            reader.recut(shares, world.rank)
            return reader
        kind, _, number = spread.partition(":")
        way = Readers(slabs, world, int(number), able) if kind == "readers" else Halves(slabs, world, hosts)
        return SpreadReader(reader, world, way, shares)
    except BaseException:
        reader.close()
        raise


def spread_among(spread: str, able: int) -> str:
    """The spread where only some ranks, `able` in number, have the weather; raises `RunFileError` if it lets others read."""
    if spread in ("own", "node"):
        raise RunFileError(
            f'[forcing] spread = "{spread}" lets ranks read that do not have the weather. Write "auto" or "readers:{able}", '
            "or copy the weather to each site."
        )
    return f"readers:{able}" if spread == "auto" else spread


def check_spread(spread: str) -> None:
    """Raises `RunFileError` if the spread is not known."""
    if not re.fullmatch(SPREAD, spread):
        raise RunFileError(f'[forcing] spread "{spread}" is not known. Write "own", "node", "readers:2" or "auto".')
