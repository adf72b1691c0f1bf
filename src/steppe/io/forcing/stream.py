"""The forcing for one computing thread: tile by tile, slab by slab, read ahead.

    reading thread     reads, and decodes if a processor is spare ──>  rooms in the order of tiles
    computing thread   decodes other rooms, and computes        <──  the first of them; it is free when the next is asked for

If no processor is spare, the reading thread helps only while it waits for a device: the computing thread reads data that the system has
in memory itself, at half the cost. It also reads a room that the reading thread has not begun when it is needed. After a jump in time
the waiting rooms are dropped. Rooms are made when they are first needed, and reused.
"""

import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future
from dataclasses import dataclass, field
from threading import Lock
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from steppe.array_types import Array
from steppe.io.forcing.slab import Room, Slabs
from steppe.packed import Packed
from steppe.timeline import span

WARM = 4  # tiles in a row that were in the system's memory: from then on they are not read ahead, until one was not
KEEP_BELOW = 4  # a slab asked for in more pieces than this is decoded once and kept, unless said otherwise


@dataclass
class ReadCounters:
    """The cost of reading so far.

    bytes: read from files. sent: bytes sent to other ranks. decode_seconds: CPU time of decoding, in all threads. stall_seconds:
    time that computing waited for bytes or rows, or for the ranks that read them. reader_seconds: CPU time of the reading thread, its
    decoding included.
    """

    bytes: int = 0
    sent: int = 0
    decode_seconds: float = 0.0
    stall_seconds: float = 0.0
    reader_seconds: float = 0.0
    _lock: Lock = field(default_factory=Lock, repr=False, compare=False)

    def add(self, bytes: int = 0, sent: int = 0, decode: float = 0.0, stall: float = 0.0, reader: float = 0.0) -> None:
        """Adds to each counter; several threads may call it at once."""
        with self._lock:
            self.bytes += bytes
            self.sent += sent
            self.decode_seconds += decode
            self.stall_seconds += stall
            self.reader_seconds += reader

    def as_dict(self) -> dict[str, float]:
        """The counters by name."""
        return {
            "bytes": self.bytes,
            "sent": self.sent,
            "decode_seconds": self.decode_seconds,
            "reader_seconds": self.reader_seconds,
            "stall_seconds": self.stall_seconds,
        }


class _Coming(NamedTuple):
    """A tile of a slab on its way; the future gives whether it was in the system's memory."""

    slab: int
    tile: int
    room: Room
    future: Future[bool]


class TileStream:
    """The forcing of some cells of a share, for one computing thread; `ForcingReader.stream` makes it.

    Parameters
    ----------
    cells
        The cells of each tile of the share, as positions in it.
    numbers
        The tiles of this stream, in the order in which they are computed.
    days_of
        Turns steps into days of one slab, or raises `ForcingError`.
    packed
        Makes the forcing that a model takes: of rows, and the place of each day in them.
    thread
        Reads ahead.
    depth
        Tiles in memory at once, the one in use among them.
    decode_ahead
        Whether the reading thread decodes, too.
    end
        The day after the last that will be asked for.
    keep_below
        A slab asked for in more pieces than this is decoded once and kept.
    """

    def __init__(
        self,
        slabs: Slabs,
        cells: Sequence[range],
        numbers: range,
        days_of: Callable[[range], range],
        packed: Callable[[Array, NDArray[np.int32]], Packed],
        thread: Executor,
        counters: ReadCounters,
        depth: int,
        decode_ahead: bool,
        end: int,
        keep_below: int = KEEP_BELOW,
    ) -> None:
        self._slabs, self._cells, self._numbers, self._days_of, self._packed = slabs, cells, numbers, days_of, packed
        self._keep_below = keep_below
        self._thread, self._counters, self._depth, self._decode_ahead, self._end = thread, counters, depth, decode_ahead, end
        self._coming: deque[_Coming] = deque()
        self._rooms: list[Room] = []  # all there are
        self._free: list[Room] = []
        self._kept: dict[int, Room] = {}  # tile -> its rows in the slab `_kept_slab`
        self._kept_slab: int | None = None
        self._warm = WARM

    @property
    def memory(self) -> int:
        """Bytes of all its rooms."""
        return sum(room.nbytes for room in self._rooms)

    def tiles(self, steps: range) -> Iterator[tuple[range, Packed]]:
        """Cells (positions in the share) and forcing of each tile over one piece. The arrays are valid until the next tile.

        Raises
        ------
        ForcingError
            The store does not hold all of `steps`, or they are not one piece.
        DamagedError
            A file of the store is missing or damaged; names file, variable and days.
        """
        days = self._days_of(steps)
        slab, row_of = self._slabs.of_day(days.start), self._slabs.row_of(days)
        if slab != self._kept_slab:
            self._free += self._kept.values()
            self._kept, self._kept_slab = {}, slab
        end = min(self._slabs.end(slab), self._end)
        keep = days.stop < end and self._keep_below * len(days) < self._slabs.length
        follows = slab if days.stop < end and not keep else slab + 1  # the slab that follows the last tile
        for tile in self._numbers:
            room = self._kept.get(tile)
            if room is None:
                room = self._take(slab, tile)
                if keep:
                    self._kept[tile] = room
            try:
                self._order(slab, tile, follows)
                yield self._cells[tile], self._packed(room.rows, row_of)
            finally:
                if tile not in self._kept:
                    self._free.append(room)

    def drop(self) -> None:
        """Drops the rooms on their way, after the last write to them."""
        for coming in self._coming:
            if not coming.future.cancel():
                coming.future.exception()  # being read now, which takes a millisecond; its result is not needed
            self._free.append(coming.room)
        self._coming.clear()

    def _take(self, slab: int, tile: int) -> Room:
        """The rows of a tile, read ahead or read now."""
        if self._coming and self._coming[0][:2] != (slab, tile):
            self.drop()
        coming = self._coming.popleft() if self._coming else None
        room = coming.room if coming else self._room()
        try:
            began = time.perf_counter()
            ahead = coming is not None and not coming.future.cancel()
            if coming and ahead:
                with span("wait"):
                    warm = coming.future.result()
            else:
                warm = self._read(slab, tile, room)
            self._warm = self._warm + 1 if warm else 0
            self._counters.add(stall=time.perf_counter() - began)
            if not (ahead and self._decode_ahead):
                self._decode(slab, tile, room)
        except BaseException:
            self._free.append(room)  # the next attempt reads again
            raise
        return room

    def _order(self, slab: int, tile: int, follows: int) -> None:
        """Orders the tiles after a tile from the reading thread."""
        if self._warm >= WARM and not self._decode_ahead:
            return
        if self._coming:
            slab, tile = self._coming[-1][:2]
        while len(self._coming) < self._depth - 1:
            slab, tile = self._after(slab, tile, follows)
            if self._slabs.end(slab) - self._slabs.length >= self._end:
                return
            room = self._room()
            self._coming.append(_Coming(slab, tile, room, self._thread.submit(self._ahead, slab, tile, room)))

    def _after(self, slab: int, tile: int, follows: int) -> tuple[int, int]:
        later = range(tile + 1, self._numbers.stop)
        if slab == self._kept_slab:
            later_here = [other for other in later if other not in self._kept]
            return (slab, later_here[0]) if later_here else (follows, self._numbers.start)
        return (slab, later[0]) if later else (slab + 1, self._numbers.start)

    def _room(self) -> Room:
        if not self._free:
            self._free.append(self._slabs.new_room())
            self._rooms.append(self._free[-1])
        return self._free.pop()

    def _ahead(self, slab: int, tile: int, room: Room) -> bool:
        """Reads a tile in the reading thread, and decodes it if a processor is spare."""
        began = time.thread_time()
        warm = self._read(slab, tile, room)
        if self._decode_ahead:
            self._decode(slab, tile, room)
        self._counters.add(reader=time.thread_time() - began)
        return warm

    def _read(self, slab: int, tile: int, room: Room) -> bool:
        """Reads a tile; returns whether it was in the system's memory."""
        for warm in (True, False):
            try:
                with span("read"):
                    self._counters.add(bytes=self._slabs.read(slab, tile, room, at_once=warm))
                break
            except BlockingIOError:
                pass
        return warm

    def _decode(self, slab: int, tile: int, room: Room) -> None:
        began = time.thread_time()
        with span("decode"):
            self._slabs.decode(slab, tile, room)
        self._counters.add(decode=time.thread_time() - began)
