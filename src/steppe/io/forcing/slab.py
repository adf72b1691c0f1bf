"""Slabs: values of some days, of all chunks that a share of the cells touches, laid out as a model reads them.

days   |---- slab 0 ----|---- slab 1 ----|---- slab 2 ----|        a slab is as long as a chunk of the daily variables
rows of one tile, one slab:   rain: one a day | tmin: one a day | pan: its weeks | ...          (rows, columns of a chunk)

A tile of a slab is read in two steps, so that one thread may read and another decode: `Slabs.read` fills a `Room` with the records of all
its chunks, `Slabs.decode` makes rows of them. A record of plain integers is read to the place of its rows. A tile is always decoded
whole; the model gets its columns of the share.
"""

from collections.abc import Mapping, Sequence
from threading import Lock, local
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from steppe.array_types import Array, Bytes
from steppe.errors import DamagedError, ForcingError, nearest
from steppe.grid import Cells, spanned
from steppe.io.axis import Axis
from steppe.io.forcing.pack_file import PackFile, open_fastest
from steppe.io.forcing.store import Constant, ForcingStore, Stored
from steppe.io.shard_file import Place, ShardFile
from steppe.kernels.bitpack import unpack_at
from steppe.packed import MISSING

SLAB_DAYS = 64  # if no variable is daily
CADENCES = ("1 day", "7 days")
OPEN_FILES = 256  # at most; the two rows of shards that are in use, of six variables of Australia at 0.05 degree, are 168
MOST_SLABS = 8  # that threads use or read ahead at once
ALL = slice(None)
BLOCK = 1 << 19  # bytes: memory for records grows by whole ones


class _Source(NamedTuple):
    """The rows of one variable in a tile: `room` rows of `axis` from row `base` on; mean: they are means of the days of the store."""

    stored: Stored
    axis: Axis
    chunks: tuple[int, int]  # of a shard
    daily: bool
    mean: bool
    base: int
    room: int


class _Record(NamedTuple):
    """A record that was read, of a row of chunks."""

    file: ShardFile | PackFile
    row: int
    data: Bytes | None  # None: it is at the place of its rows already
    address: int  # of data


class SlabMemory:
    """Memory for records, one behind another, that is reused. It grows by blocks, and never shrinks."""

    def __init__(self) -> None:
        self._blocks: list[Bytes] = []
        self._addresses: list[int] = []
        self.last = 0  # address of the last record
        self.clear()

    def clear(self) -> None:
        """Drops all records; their memory is used again."""
        self._block, self._used = 0, 0

    def __call__(self, length: int) -> Bytes:
        """The next `length` bytes, of one block."""
        while self._block < len(self._blocks) and self._used + length > len(self._blocks[self._block]):
            self._block, self._used = self._block + 1, 0
        if self._block == len(self._blocks):
            self._blocks.append(np.empty(max(length, BLOCK), np.uint8))
            self._addresses.append(self._blocks[-1].ctypes.data)
        first, self._used = self._used, self._used + length
        self.last = self._addresses[self._block] + first
        return self._blocks[self._block][first : self._used]

    @property
    def nbytes(self) -> int:
        """Bytes of all blocks."""
        return sum(block.nbytes for block in self._blocks)


class Room:
    """Memory in which one tile of one slab is read and decoded. rows (rows, cells of the tile): valid after decoding.

    whole (rows, columns): all columns of its chunks, of which `rows` is a part. memory: for its records; rooms may share it unless they
    are read at the same time. some: the variables that are read here, of those that change in time, if other rooms have the rest.
    """

    def __init__(self, whole: Array, memory: SlabMemory, some: slice = ALL) -> None:
        self.whole, self.memory, self.some = whole, memory, some
        self._address = int(whole.ctypes.data)
        self.rows = whole
        self.records: list[list[_Record]] = []  # of each variable

    def turn_to(self, columns: slice) -> None:
        """Prepares for a tile whose cells have these columns of its chunks."""
        self.rows = self.whole[:, columns]
        self.records = []
        self.memory.clear()

    def address(self, row: int) -> int:
        """The address of a row of all columns."""
        return self._address + row * int(self.whole.strides[0])

    def place(self, base: int, rows: int) -> Place:
        """The memory that a plain record is read to: some rows of the tile."""
        return lambda length: self.whole[base : base + rows].reshape(-1).view(np.uint8)

    @property
    def nbytes(self) -> int:
        """Bytes of rows and records."""
        return self.whole.nbytes + self.memory.nbytes


class Slabs:
    """The slabs of some variables of a store for a share of its cells.

    length: days of a slab. days: those that all variables hold. cells: packed cells of each tile of the share. height, width, dtype: of
    the rows of a tile, with all columns of a chunk. changing: how many variables change in time.

    Raises
    ------
    ForcingError
        The variables cannot be read together, or the store cannot give the cadence.
    """

    def __init__(self, store: ForcingStore, names: Sequence[str], share: Cells, cadence: Mapping[str, str]) -> None:
        self.store = store
        held = [store[name] for name in names if name not in store.static]
        if not held:
            raise ForcingError(f'"{store.path}" holds no variable that changes in time. Name a store of weather.')
        _check_together(store, held)
        daily = [stored for stored in held if stored.axis.is_daily]
        first = max(stored.axis.first for stored in held)
        self.days = range(first, min(stored.axis.stop for stored in held))
        if not self.days:
            raise ForcingError(f'"{store.path}" holds no day for all of {", ".join(names)}: their periods do not meet. Make it again.')
        self.origin = daily[0].axis.first if daily else first
        self.length = daily[0].layout.chunk[0] if daily else SLAB_DAYS
        self.width = held[0].layout.chunk[1]
        self._sources: list[_Source] = []
        self._constants: list[tuple[int, Constant]] = []  # row of a tile, its values
        self.dtype = np.dtype(held[0].layout.dtype)
        self.height = 0
        for name in names:
            if name in store.static:
                self._constants.append((self.height, _constant(store, name, held[0])))
                self.height += 1
            else:
                self._sources.append(self._source(store[name], cadence.get(name)))
                self.height += self._sources[-1].room
        self.changing = len(self._sources)
        self._order = [names.index(source.stored.name) for source in self._sources]
        self._constant_rows = [(names.index(constant.name), row) for row, constant in self._constants]
        unknown = set(cadence) - set(names)
        if unknown:
            name = sorted(unknown)[0]
            raise ForcingError(f'A cadence is given for "{name}", which is not read.{nearest(name, names)}')
        self._files: dict[tuple[str, int, int], ShardFile | PackFile] = {}
        self.recut(share)
        self._lock = Lock()
        self._own = local()  # scratch of each thread
        self._scratches: list[SlabMemory] = []  # of all threads
        self._needed: dict[int, list[tuple[range, range]]] = {}  # of the last slabs

    def recut(self, share: Cells) -> None:
        """Changes to another share of the cells. Each tile that it touches is read from its first to its last cell there.

        Tiles of the share before must not be in use any more.
        """
        whole = spanned(share)
        cuts = range(whole.start // self.width * self.width, whole.stop, self.width)
        self.cells = [cells for cut in cuts if (cells := spanned(share, range(cut, cut + self.width)))]
        columns = [cells.start // self.width for cells in self.cells]
        across = sum(len({column // source.stored.layout.chunks[1] for column in columns}) + 1 for source in self._sources)
        self._most_files = min(2 * across, OPEN_FILES)

    @property
    def memory(self) -> int:
        """Bytes of the scratch memory of threads, without the rooms."""
        return sum(scratch.nbytes for scratch in self._scratches)

    def new_room(self) -> Room:
        """A room for any tile of a slab."""
        return Room(np.empty((self.height, self.width), self.dtype), SlabMemory())

    def close(self) -> None:
        """Closes all files."""
        self._files.clear()

    def of_day(self, day: int) -> int:
        """The slab that holds a day, counted from 1850-01-01."""
        return (day - self.origin) // self.length

    def end(self, slab: int) -> int:
        """The day after the last of a slab."""
        return self.origin + (slab + 1) * self.length

    def row_of(self, days: range) -> NDArray[np.int32]:
        """Row of each variable on each of some days of one slab, (variables, days)."""
        span = self._span(self.of_day(days.start))
        found = np.empty((len(self._sources) + len(self._constants), len(days)), np.int32)
        for k, row in self._constant_rows:
            found[k] = row
        for k, source in zip(self._order, self._sources, strict=True):
            if source.daily:  # chunks are decoded whole: rows count from the slab's first day
                found[k] = source.base + (days.start - self.origin) % self.length + np.arange(len(days))
            else:
                rows = source.axis.row_of_day[days.start - source.axis.first : days.stop - source.axis.first]
                found[k] = source.base + rows - source.axis.rows_of(span).start
        return found

    def read(self, slab: int, tile: int, room: Room, at_once: bool = False) -> int:
        """Reads and verifies the records of one tile of one slab; returns the bytes read. at_once: raises rather than wait for a device.

        Raises
        ------
        DamagedError
            A file is missing or damaged; names file, variable and days.
        BlockingIOError
            The system does not have them in memory.
        """
        cells = self.cells[tile]
        column, first = divmod(cells.start, self.width)
        room.turn_to(slice(first, first + len(cells)))
        total = 0
        for source, (chunk_rows, _) in zip(self._sources[room.some], self._needs(slab)[room.some], strict=True):
            records = []
            for row in chunk_rows:
                (shard_i, i), (shard_j, j) = divmod(row, source.chunks[0]), divmod(column, source.chunks[1])
                try:
                    file = self._files.get((source.stored.name, shard_i, shard_j)) or self._open(source.stored, shard_i, shard_j)
                    in_place = source.daily and file.plain
                    data = file.read(i, j, room.place(source.base, self.length) if in_place else room.memory, at_once)
                    total += len(data)
                    records.append(_Record(file, row, None if in_place else data, room.memory.last))
                except DamagedError as error:
                    raise self.store.named(error, source.stored.name, row) from None
            room.records.append(records)
        return total

    def decode(self, slab: int, tile: int, room: Room) -> None:
        """Makes rows of the records that were read.

        Raises
        ------
        DamagedError
            A record is of another size than the description of the store says.
        """
        in_bits: list[int] = []
        for source, records, (_, wanted) in zip(self._sources[room.some], room.records, self._needs(slab)[room.some], strict=True):
            rows, width = source.stored.layout.chunk
            if source.daily:  # rows have the layout of the chunk
                in_bits += self._decode_plain(source, records, room.whole[source.base : source.base + rows], room.address(source.base))
                continue
            scratch = self._scratch()
            held = scratch(len(records) * rows * width * self.dtype.itemsize).view(self.dtype).reshape(-1, width)
            if coded := self._decode_plain(source, records, held, scratch.last):
                unpack_at(coded, (rows, width))
            begin = records[0].row * rows
            raw = held[wanted.start - begin : wanted.stop - begin]
            if source.mean:
                raw = _means(raw, source.axis, source.axis.rows_of(self._span(slab)), wanted.start + source.axis.first)
            room.whole[source.base : source.base + len(raw)] = raw
        if in_bits:
            unpack_at(in_bits, (self.length, self.width))  # many at once: a call takes as long as reading a record
        cells = self.cells[tile]
        for row, constant in self._constants:
            room.rows[row] = constant.raw[cells.start : cells.stop]

    def _decode_plain(self, source: _Source, records: Sequence[_Record], held: Array, address: int) -> list[int]:
        """Decodes the chunks of some records into `held`, one below another; returns addresses of packed records and their rows."""
        rows, width = source.stored.layout.chunk
        in_bits: list[int] = []
        for k, (file, row, data, packed) in enumerate(records):
            if data is not None and file.in_bits:
                in_bits += packed, address + k * rows * width * self.dtype.itemsize
            elif data is not None:
                try:
                    file.decode(data, held[k * rows : (k + 1) * rows])
                except DamagedError as error:
                    raise self.store.named(error, source.stored.name, row) from None
        return in_bits

    def _scratch(self) -> SlabMemory:
        """Memory of this thread, empty."""
        if not hasattr(self._own, "memory"):
            self._own.memory = SlabMemory()
            self._scratches.append(self._own.memory)
        memory: SlabMemory = self._own.memory
        memory.clear()
        return memory

    def _needs(self, slab: int) -> list[tuple[range, range]]:
        """For each source the rows of chunks that a slab needs, and the rows of the axis of the store."""
        needs = self._needed.get(slab)
        if needs is None:
            needs = [self._need(source, slab) for source in self._sources]
            self._needed = dict([*self._needed.items()][-MOST_SLABS + 1 :]) | {slab: needs}  # a new one: threads look into the old one
        return needs

    def _need(self, source: _Source, slab: int) -> tuple[range, range]:
        axis = source.axis
        if source.daily:
            return range(slab, slab + 1), range(slab * self.length, (slab + 1) * self.length)
        wanted = axis.rows_of(self._span(slab))
        if source.mean:
            wanted = range(int(axis.starts[wanted.start]) - axis.first, int(axis.stops[wanted.stop - 1]) - axis.first)
        length = source.stored.layout.chunk[0]
        return range(wanted.start // length, -(-wanted.stop // length)), wanted

    def _open(self, stored: Stored, i: int, j: int) -> ShardFile | PackFile:
        """Opens a shard, unless another thread has done so meanwhile; closes the ones that were opened first."""
        with self._lock:
            if (stored.name, i, j) not in self._files:
                self._files[stored.name, i, j] = open_fastest(self.store.path, stored, (i, j))
            file = self._files[stored.name, i, j]
            if len(self._files) > self._most_files:
                del self._files[next(iter(self._files))]
        return file

    def _span(self, slab: int) -> range:
        """The days of a slab that all variables hold."""
        first = self.origin + slab * self.length
        return range(max(first, self.days.start), min(first + self.length, self.days.stop))

    def _source(self, stored: Stored, cadence: str | None) -> _Source:
        axis, mean = stored.axis, False
        if cadence is not None:
            if cadence not in CADENCES:
                raise ForcingError(f'Cadence "{cadence}" of "{stored.name}" is not known. Write "1 day" or "7 days".')
            if cadence == "1 day" and not axis.is_daily:
                raise ForcingError(f'"{self.store.path}" holds no daily "{stored.name}", so its cadence cannot be "1 day". Leave it out.')
            if cadence == "7 days" and axis.is_daily:
                axis, mean = Axis.weekly(axis.first, axis.rows, axis.calendar), True
        if axis.is_daily:
            return _Source(stored, axis, stored.layout.chunks, True, mean, self.height, self.length)
        slabs = range(self.of_day(self.days.start), self.of_day(self.days.stop - 1) + 1)
        room = max(len(axis.rows_of(self._span(slab))) for slab in slabs)
        return _Source(stored, axis, stored.layout.chunks, False, mean, self.height, room)


def _constant(store: ForcingStore, name: str, beside: Stored) -> Constant:
    found = store.constant(name)
    if found.raw.dtype != np.dtype(beside.layout.dtype):
        raise ForcingError(
            f'"{store.path}": "{name}" is {found.raw.dtype}, "{beside.name}" {beside.layout.dtype}; a run reads forcing of one kind. '
            f'Give "{name}" as a parameter, or store it as {beside.layout.dtype}.'
        )
    return found


def _means(raw: Array, axis: Axis, wanted: range, first: int) -> Array:
    """Means of the raw days of some rows of `axis`, rounded to the integers of the store; missing if one of its days is.

    raw (days, cells): the days from `first` on.
    """
    found = np.empty((len(wanted), raw.shape[1]), raw.dtype)
    for row, mean in zip(wanted, found, strict=True):
        part = raw[int(axis.starts[row]) - first : int(axis.stops[row]) - first]
        if raw.dtype == np.int16:
            np.rint(part.sum(axis=0, dtype=np.int32) / len(part), out=mean, casting="unsafe")
            mean[part.min(axis=0) == MISSING] = MISSING
        else:
            part.mean(axis=0, out=mean)
    return found


def _check_together(store: ForcingStore, held: Sequence[Stored]) -> None:
    for stored in held:
        if stored.layout.dtype != held[0].layout.dtype or stored.layout.chunk[1] != held[0].layout.chunk[1]:
            raise ForcingError(
                f'"{store.path}": "{stored.name}" is {stored.layout.dtype} in chunks of {stored.layout.chunk[1]} cells, "{held[0].name}" '
                f"{held[0].layout.dtype} of {held[0].layout.chunk[1]}; a run reads variables of one kind. Make it again with --exact."
            )
    daily = [stored for stored in held if stored.axis.is_daily]
    for stored in daily:
        if stored.axis.first != daily[0].axis.first or stored.layout.chunk[0] != daily[0].layout.chunk[0]:
            raise ForcingError(f'"{store.path}": "{stored.name}" and "{daily[0].name}" have different time axes. Make the store again.')
