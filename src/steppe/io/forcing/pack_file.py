"""The derived cache of a forcing store: its values in a form that is read faster. It may be removed at any moment.

    weather.zarr/pack/rain/0.1.sbp     of the shard rain/c/0/1:
        magic, kind, chunk and chunks of the shard; size, time and digest of the shard | offset, length, XXH3 of each record | CRC32C
        records: a chunk each, plain integers ("raw") or in few bits ("bits", `steppe.kernels.bitpack`)

A raw record is read to the memory of the kernel: nothing is decoded. A record in bits is a third as long, and decoded at ten thousand
million values a second, which pays if the store is larger than memory. A file counts only while its shard is the one that it was made
of: size and time of the shard are the same, or else the digest of the checksums of all its chunks.
"""

import os
import struct
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Literal, NamedTuple

import google_crc32c
import numpy as np
import xxhash

from steppe.array_types import Array, Bytes
from steppe.errors import DamagedError
from steppe.io.coordinates import write_group
from steppe.io.forcing.store import ForcingStore, Stored
from steppe.io.shard import ABSENT, Layout, shard_path, write_durable
from steppe.io.shard_file import Place, ShardFile, new_memory, open_file, read_at
from steppe.kernels import bitpack

Kind = Literal["raw", "bits"]
KINDS: tuple[Kind, ...] = ("raw", "bits")
MAGIC = b"steppe02"
HEAD = struct.Struct("<8s5IQQ16s")  # magic, kind, chunk, chunks, size, time in ns and digest of the shard
ENTRY = struct.Struct("<QQQ")  # offset, length, XXH3 of a record: verified at a third of the cost of CRC32C, which is a tenth of a scan


class PackSource(NamedTuple):
    """Size, time and digest of a shard: they differ if another shard is in its place."""

    size: int
    time: int
    digest: bytes


class PackFile:
    """An open file of the cache, read like a `ShardFile`.

    Raises
    ------
    DamagedError
        It is damaged, or made of another shard.
    """

    def __init__(self, path: str, layout: Layout) -> None:
        self.path = path
        self._file = open_file(path)
        chunks = layout.chunks[0] * layout.chunks[1]
        head = np.empty(HEAD.size + ENTRY.size * chunks + 4, np.uint8)
        if read_at(self._file, path, 0, head) != len(head) or google_crc32c.value(head[:-4]) != int(head[-4:].view("<u4")[0]):
            raise DamagedError(f'"{path}" is damaged: its head has a wrong checksum. {ADVICE}')
        magic, kind, *cut, size, time, digest = HEAD.unpack(head[: HEAD.size].tobytes())
        if magic != MAGIC or tuple(cut) != (*layout.chunk, *layout.chunks):
            raise DamagedError(f'"{path}" was made by another version of Steppe, or of another shard. {ADVICE}')
        self.kind = KINDS[kind]
        self.plain, self.in_bits = self.kind == "raw", self.kind == "bits"
        self.source = PackSource(size, time, digest)
        self._entries = [*ENTRY.iter_unpack(head[HEAD.size : -4].tobytes())]
        self._across = layout.chunks[1]

    def __del__(self) -> None:
        if hasattr(self, "_file"):
            os.close(self._file)

    def read(self, i: int, j: int, place: Place, at_once: bool = False) -> Bytes:
        """The record of a chunk. at_once: raises rather than wait for a device.

        Raises
        ------
        DamagedError
            The file is cut short or changed.
        BlockingIOError
            The system does not have it in memory.
        """
        offset, length, checksum = self._entries[i * self._across + j]
        into = place(length)
        if read_at(self._file, self.path, offset, into, at_once) != length or xxhash.xxh3_64_intdigest(into.data) != checksum:
            raise DamagedError(f'"{self.path}" is damaged: record {i}, {j} has a wrong checksum. {ADVICE}')
        return into

    def is_good(self) -> bool:
        """Whether the checksum of every record is right."""
        try:
            for k, (_, length, _) in enumerate(self._entries):
                if length:
                    self.read(*divmod(k, self._across), new_memory)
        except DamagedError:
            return False
        return True

    def decode(self, record: Bytes, out: Array) -> None:
        """The values of a record that was read, into a C-contiguous array of the chunk's shape and dtype."""
        if self.plain:
            out.reshape(-1).view(np.uint8)[:] = record
        else:
            bitpack.unpack([(record, out)])


ADVICE = "It is a copy: remove it, or make it again with `steppe forcing pack`."


def pack_path(store: Path, name: str, index: tuple[int, int]) -> str:
    """The file of the cache that belongs to a shard."""
    return f"{store}/pack/{name}/{index[0]}.{index[1]}.sbp"


def open_fastest(store: Path, stored: Stored, index: tuple[int, int]) -> ShardFile | PackFile:
    """A shard for fast reading: its file of the cache, unless that is missing or stale; else the shard.

    Raises
    ------
    DamagedError
        The shard is missing, or a file is damaged.
    """
    return open_packed(store, stored, index) or ShardFile(shard_path(store, stored.name, index), stored.layout)


def open_packed(store: Path, stored: Stored, index: tuple[int, int]) -> PackFile | None:
    """The file of the cache that belongs to a shard; None if there is none, or it belongs to an earlier shard.

    Raises
    ------
    DamagedError
        The file is damaged.
    """
    path, shard = pack_path(store, stored.name, index), shard_path(store, stored.name, index)
    if not os.path.exists(path) or not os.path.exists(shard):
        return None
    file, now = PackFile(path, stored.layout), os.stat(shard)
    same = (file.source.size, file.source.time) == (now.st_size, now.st_mtime_ns)
    return file if same or file.source.digest == ShardFile(shard, stored.layout).digest() else None


def shards_of(store: ForcingStore) -> Iterator[tuple[Stored, tuple[int, int]]]:
    """Every shard of the variables of a store that change in time."""
    for stored in store.variables.values():
        down, across = -(-stored.axis.rows // stored.layout.shard[0]), -(-store.n_cells // stored.layout.shard[1])
        for i in range(down):
            for j in range(across):
                yield stored, (i, j)


def kind_for(stored: Stored, kind: Kind) -> Kind:
    """The packing of a variable when `kind` is asked for: only whole blocks of int16 are packed in few bits."""
    return kind if stored.layout.dtype == "int16" and stored.layout.chunk[1] % bitpack.BLOCK == 0 else "raw"


def write_pack(store: Path, stored: Stored, index: tuple[int, int], kind: Kind) -> int:
    """Makes the file of the cache for one shard unless it has a good one of this kind; returns its size in bytes.

    Raises
    ------
    DamagedError
        The shard is missing or damaged.
    NoSpaceError
        The disk is full.
    """
    path = pack_path(store, stored.name, index)
    kind = kind_for(stored, kind)
    try:
        there = open_packed(store, stored, index)
    except DamagedError:
        there = None
    if there is not None and there.kind == kind and there.is_good():
        return os.path.getsize(path)
    shard = shard_path(store, stored.name, index)
    found, layout = os.stat(shard) if os.path.exists(shard) else None, stored.layout
    file = ShardFile(shard, layout)
    assert found is not None  # or there is no ShardFile
    records, entries = [], []
    offset = HEAD.size + ENTRY.size * layout.chunks[0] * layout.chunks[1] + 4
    values: Array = np.empty(layout.chunk, layout.dtype)
    for i in range(layout.chunks[0]):
        for j in range(layout.chunks[1]):
            if file.entry(i, j)[0] == ABSENT:
                entries.append(ENTRY.pack(offset, 0, xxhash.xxh3_64_intdigest(b"")))
                continue
            file.decode(file.read(i, j, new_memory), values)
            record = values.tobytes() if kind == "raw" else bitpack.pack(values)
            entries.append(ENTRY.pack(offset, len(record), xxhash.xxh3_64_intdigest(record)))
            records.append(record)
            offset += len(record)
    source = PackSource(found.st_size, found.st_mtime_ns, file.digest())
    head = HEAD.pack(MAGIC, KINDS.index(kind), *layout.chunk, *layout.chunks, *source) + b"".join(entries)
    write_durable(Path(path), b"".join([head, struct.pack("<I", google_crc32c.value(head)), *records]))
    return offset


class PackedStore(NamedTuple):
    """The cache of a store that was made: files, their bytes, and those of the shards."""

    kind: Kind
    files: int
    bytes: int
    of: int


def pack_store(path: Path, kind: Kind | None = None, tell: Callable[[int, int], None] = lambda done, of: None) -> PackedStore:
    """Makes the missing and stale files of the cache of a store. kind None: "raw" if that fits in half the memory.

    tell: gets the number of files that are done, and of all.

    Raises
    ------
    ForcingError
        There is no such store.
    DamagedError
        A shard is missing or damaged.
    NoSpaceError
        The disk is full.
    """
    store = ForcingStore.open(path)
    shards = list(shards_of(store))
    chosen: Kind = kind or ("raw" if 2 * raw_bytes(store) <= os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") else "bits")
    write_group(path / "pack", {"steppe_kind": "pack"})  # so that other readers of Zarr see an empty group
    with ThreadPoolExecutor(2) as threads:
        sizes = []
        for size in threads.map(lambda shard: write_pack(path, shard[0], shard[1], chosen), shards):
            sizes.append(size)
            tell(len(sizes), len(shards))
    of = sum(os.path.getsize(shard_path(path, stored.name, index)) for stored, index in shards)
    return PackedStore(chosen, len(sizes), sum(sizes), of)


def raw_bytes(store: ForcingStore) -> int:
    """Bytes of all values that change in time, as plain integers."""
    return sum(stored.axis.rows * store.n_cells * np.dtype(stored.layout.dtype).itemsize for stored in store.variables.values())


def check_pack(store: ForcingStore) -> tuple[int, int]:
    """Compares every record of the cache with its shard; returns the numbers of good and of stale files.

    Raises
    ------
    DamagedError
        A file differs from its shard, or cannot be read.
    """
    good = stale = 0
    for stored, index in shards_of(store):
        packed = open_packed(store.path, stored, index)
        if packed is None:
            stale += os.path.exists(pack_path(store.path, stored.name, index))
            continue
        shard, layout = ShardFile(shard_path(store.path, stored.name, index), stored.layout), stored.layout
        files: tuple[ShardFile | PackFile, ...] = (shard, packed)
        both: list[Array] = [np.empty(layout.chunk, layout.dtype) for _ in files]
        for i in range(layout.chunks[0]):
            for j in range(layout.chunks[1]):
                if shard.entry(i, j)[0] == ABSENT:
                    continue
                for file, values in zip(files, both, strict=True):
                    file.decode(file.read(i, j, new_memory), values)
                if both[0].tobytes() != both[1].tobytes():
                    raise DamagedError(f'"{packed.path}" holds other values than its shard. {ADVICE}')
        good += 1
    return good, stale
