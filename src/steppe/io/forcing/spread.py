"""Forcing that some ranks read for others: each tile is decoded once, while a rank alone decodes all tiles that its share touches.

readers     a few ranks decode tiles and send each rank the columns of its share
halves      two slabs of whole tiles, one in use and one on its way, in memory that the ranks of a host share; each rank
            decodes some

reading thread   slab 1 ........  slab 2 ........  slab 3 ..
stepping thread  slab 0 computed | slab 1 computed | slab 2 ..     | all ranks meet: if slab 1 is good everywhere, it is sent
"""

import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from math import prod
from typing import NamedTuple, Protocol

import numpy as np

from steppe.array_types import Array
from steppe.comm import World, agree_on, shared
from steppe.comm.world import FORCING_TAG
from steppe.errors import Failure
from steppe.grid import Cells, spanned
from steppe.io.forcing.reader import ForcingReader
from steppe.io.forcing.slab import Room, SlabMemory, Slabs
from steppe.packed import Packed
from steppe.timeline import span

Fetch = Callable[[int, int, Room], None]  # reads and decodes a slab of a tile


class Lying(NamedTuple):
    """Decoded rows of some cells, counted from the first cell of the share; rows (rows, cells)."""

    cells: range
    rows: Array


class Distribution(Protocol):
    """A way to bring slabs to ranks. The reading thread calls `prepare`, the stepping thread all else, while no rank computes."""

    def cut(self, shares: Sequence[Cells]) -> None:
        """Takes the shares of all ranks; no slab may be prepared. All ranks call it."""
        ...

    def prepare(self, slab: int, fetch: Fetch) -> None:
        """Decodes this rank's part of a slab; the slab in use is not touched."""
        ...

    def pass_on(self, slab: int) -> int:
        """Makes a slab that all ranks have prepared the one in use; returns the bytes sent. All ranks call it."""
        ...

    @property
    def lying(self) -> list[Lying]:
        """The slab in use, of this rank's share."""
        ...

    @property
    def memory(self) -> int:
        """Bytes."""
        ...


class SpreadReader:
    """The inputs of a model on one of several ranks that read for each other. Every rank makes one, and turns to the same pieces.

    Parameters
    ----------
    reader
        The forcing of all cells; it belongs to this object.
    world
        The ranks.
    way
        The way in which slabs come to the ranks.
    shares
        The packed cells that each rank computes.
    """

    in_turns = True

    def __init__(self, reader: ForcingReader, world: World, way: Distribution, shares: Sequence[Cells]) -> None:
        self.names, self.pieces, self.counters = reader.names, reader.pieces, reader.counters
        self._reader, self._world, self._way = reader, world, way
        self._slab: int | None = None  # the one in use
        self._ahead: tuple[int, Future[None]] | None = None  # the one on its way
        way.cut(shares)

    @property
    def memory(self) -> int:
        """Bytes of the memory for records and rows; memory that a host shares counts whole."""
        return self._way.memory

    def recut(self, shares: Sequence[Cells], rank: int) -> None:
        """Changes to another cut of the cells. Every rank calls it, between pieces."""
        self._drop()
        self._slab = None
        agree_on(self._world, None)  # no rank reads rows that others wrote
        self._way.cut(shares)

    def turn_to(self, piece: range) -> None:
        """Brings the slab of a piece here, and orders the next one. Every rank calls it, and meets the others when a slab begins.

        Raises
        ------
        ForcingError
            The store does not hold all of the piece, or the steps are not one piece.
        DamagedError
            A file of the store is missing or damaged; the same error on every rank.
        """
        slabs = self._reader.slabs
        slab = slabs.of_day(self._reader.days_of(piece).start)
        if slab == self._slab:
            return
        began = time.perf_counter()
        if self._ahead is None or self._ahead[0] != slab:
            self._drop()
            agree_on(self._world, None)  # no rank computes with memory that is written now
            self._order(slab)
        assert self._ahead is not None  # just ordered
        with span("wait"):
            found, self._ahead, self._slab = self._ahead[1].exception(), None, None
            agree_on(self._world, found)
        with span("exchange"):
            self.counters.add(sent=self._way.pass_on(slab))
        self._slab = slab
        self.counters.add(stall=time.perf_counter() - began)
        if slabs.end(slab) < self._reader.end:
            self._order(slab + 1)

    def stream(self, cells: range) -> "_SlabStream":
        """The forcing of some cells, counted from the first of the share; any thread may go through it."""
        return _SlabStream(self, cells)

    def tiles(self, steps: range, cells: range) -> Iterator[tuple[range, Packed]]:
        """The decoded rows of some cells; steps: of the piece last turned to, or a part of it."""
        days = self._reader.days_of(steps)
        if self._reader.slabs.of_day(days.start) != self._slab:
            raise Failure(f"Nobody turned to steps {steps.start} to {steps.stop - 1} before asking for them. This is a defect of Steppe.")
        row_of = self._reader.slabs.row_of(days)
        for lying in self._way.lying:
            if max(lying.cells.start, cells.start) < min(lying.cells.stop, cells.stop):
                yield lying.cells, self._reader.packed(lying.rows, row_of)

    def close(self) -> None:
        """Ends the thread and frees memory. The reader is not used after it."""
        self._drop()
        self._reader.close()

    def _order(self, slab: int) -> None:
        self._ahead = slab, self._reader.thread.submit(self._prepare, slab)

    def _prepare(self, slab: int) -> None:
        began = time.thread_time()
        self._way.prepare(slab, self._fetch)
        self.counters.add(reader=time.thread_time() - began)

    def _fetch(self, slab: int, tile: int, room: Room) -> None:
        with span("read"):
            self.counters.add(bytes=self._reader.slabs.read(slab, tile, room))
        began = time.thread_time()
        with span("decode"):
            self._reader.slabs.decode(slab, tile, room)
        self.counters.add(decode=time.thread_time() - began)

    def _drop(self) -> None:
        """Drops the slab on its way, after the last write to it."""
        if self._ahead is not None and not self._ahead[1].cancel():
            self._ahead[1].exception()
        self._ahead = None


class _SlabStream:
    """The stream of one thread through the slab in use."""

    def __init__(self, reader: SpreadReader, cells: range) -> None:
        self._reader, self._cells = reader, cells

    def tiles(self, steps: range) -> Iterator[tuple[range, Packed]]:
        """See `models.Stream`."""
        return self._reader.tiles(steps, self._cells)


class Halves:
    """Two slabs of whole tiles that the ranks of a host share. node: the host of each rank."""

    def __init__(self, slabs: Slabs, world: World, node: Sequence[int]) -> None:
        self._slabs, self._world, self._node = slabs, world, node
        self._numbers: list[list[int]] = []
        self.lying: list[Lying] = []

    def cut(self, shares: Sequence[Cells]) -> None:
        """See `Distribution`. Memory is made anew only if a host gets other tiles than before."""
        found = touched_by_hosts(self._slabs.cells, shares, self._node)
        numbers = [found[host] for host in self._node]  # the tiles that each rank has in memory
        if numbers != self._numbers:
            self._numbers = numbers
            self._make()
        self._share = shares[self._world.rank]
        self.lying = []

    def _make(self) -> None:
        me, dtype, shape = self._world.rank, self._slabs.dtype, (self._slabs.height, self._slabs.width)
        numbers = self._numbers[me]
        length = len(numbers) * prod(shape)
        ranks = [rank for rank, host in enumerate(self._node) if host == self._node[me]]
        whole = shared(self._world, self._node, 2 * length * dtype.itemsize)[: 2 * length * dtype.itemsize].view(dtype)
        self._halves = [whole[:length], whole[length:]]
        deals = dealt(numbers, self._slabs.changing, len(ranks), ranks.index(me))
        self._whole = [dict(zip(numbers, half.reshape(-1, *shape), strict=True)) for half in self._halves]
        self._records = SlabMemory()  # one tile after another is decoded
        self._rooms = [{tile: Room(whole[tile], self._records, some) for tile, some in deals.items()} for whole in self._whole]

    def prepare(self, slab: int, fetch: Fetch) -> None:
        """See `Distribution`."""
        for tile, room in self._rooms[slab % 2].items():
            fetch(slab, tile, room)

    def pass_on(self, slab: int) -> int:
        """See `Distribution`."""
        first, cells = spanned(self._share).start, self._slabs.cells
        self.lying = [
            Lying(range(cells[tile].start - first, cells[tile].stop - first), whole[:, : len(cells[tile])])
            for tile, whole in self._whole[slab % 2].items()
            if spanned(self._share, cells[tile])
        ]
        return 0

    @property
    def memory(self) -> int:
        """Bytes."""
        return sum(half.nbytes for half in self._halves) + self._records.nbytes


class Readers:
    """`number` ranks decode, each a part of the tiles, and send every rank of each tile its cells from the first to the last.

    able: the ranks that have the weather; default: all.
    """

    def __init__(self, slabs: Slabs, world: World, number: int, able: Sequence[int] = ()) -> None:
        self._slabs, self._world = slabs, world
        able = able or range(world.size)
        number = min(number, len(able))
        self._readers = [able[len(able) * k // number] for k in range(number)]
        tiles = len(slabs.cells)
        self._numbers = {rank: range(tiles * k // number, tiles * (k + 1) // number) for k, rank in enumerate(self._readers)}
        self._room = slabs.new_room() if world.rank in self._readers else None

    def cut(self, shares: Sequence[Cells]) -> None:
        """See `Distribution`."""
        me = self._world.rank
        first = spanned(shares[me]).start
        self._incoming, self._to_lie = {}, []
        for reader in self._readers:
            pieces = self._pieces(reader, shares[me])
            if pieces:
                self._incoming[reader], places = self._laid_out(pieces)
                cells = [range(piece.start - first, piece.stop - first) for _, piece in pieces]
                self._to_lie += [Lying(*each) for each in zip(cells, places, strict=True)]
        self._outgoing: dict[int, Array] = {}
        self._cuts: defaultdict[int, list[tuple[slice, Array]]] = defaultdict(list)  # tile -> columns of it, where they go
        for rank in range(self._world.size if me in self._readers else 0):
            pieces = self._pieces(me, shares[rank])
            if pieces:
                self._outgoing[rank], places = self._laid_out(pieces)
                for (tile, piece), place in zip(pieces, places, strict=True):
                    first = self._slabs.cells[tile].start
                    self._cuts[tile].append((slice(piece.start - first, piece.stop - first), place))

    def _pieces(self, reader: int, share: Cells) -> list[tuple[int, range]]:
        """Tiles of which a share gets cells from a reader, and these packed cells."""
        cells = self._slabs.cells
        return [(tile, spanned(share, cells[tile])) for tile in touched(cells, share) if tile in self._numbers[reader]]

    def _laid_out(self, pieces: Sequence[tuple[int, range]]) -> tuple[Array, list[Array]]:
        """A message, and the place of each piece in it."""
        height = self._slabs.height
        ends = height * np.cumsum([0, *(len(piece) for _, piece in pieces)])
        message = np.empty(int(ends[-1]), self._slabs.dtype)
        return message, [part.reshape(height, -1) for part in np.split(message, ends[1:-1])]

    def prepare(self, slab: int, fetch: Fetch) -> None:
        """See `Distribution`."""
        for tile in self._numbers.get(self._world.rank, ()):
            assert self._room is not None  # of a reader
            fetch(slab, tile, self._room)
            for columns, place in self._cuts[tile]:
                place[...] = self._room.rows[:, columns]

    def pass_on(self, slab: int) -> int:
        """See `Distribution`."""
        me, sent = self._world.rank, 0
        requests = [self._world.receive(message, rank, FORCING_TAG) for rank, message in self._incoming.items() if rank != me]
        for rank, message in self._outgoing.items():
            if rank == me:
                self._incoming[me][...] = message
            else:
                requests.append(self._world.send(message, rank, FORCING_TAG))
                sent += message.nbytes
        for request in requests:
            request.wait()
        return sent

    @property
    def lying(self) -> list[Lying]:
        """See `Distribution`."""
        return self._to_lie

    @property
    def memory(self) -> int:
        """Bytes."""
        messages = sum(message.nbytes for message in (*self._incoming.values(), *self._outgoing.values()))
        return messages + (self._room.nbytes if self._room else 0)


def dealt(tiles: Sequence[int], variables: int, ranks: int, rank: int) -> dict[int, slice]:
    """The part of tiles that a rank decodes: tile -> range of variables; the parts of all ranks differ by one record at most."""
    low, high = (len(tiles) * variables * k // ranks for k in (rank, rank + 1))
    mine = range(low // variables, -(-high // variables))
    return {tiles[k]: slice(max(low - k * variables, 0), min(high - k * variables, variables)) for k in mine if low < high}


def touched(cells: Sequence[range], share: Cells) -> list[int]:
    """The tiles that have cells in a share, in order."""
    return [tile for tile, of in enumerate(cells) if spanned(share, of)]


def touched_by_hosts(cells: Sequence[range], shares: Sequence[Cells], node: Sequence[int]) -> dict[int, list[int]]:
    """Host -> the tiles that have cells in a share of one of its ranks, in order. node: the host of each rank."""
    found: defaultdict[int, set[int]] = defaultdict(set)
    for host, share in zip(node, shares, strict=True):
        found[host].update(touched(cells, share))
    return {host: sorted(tiles) for host, tiles in found.items()}
