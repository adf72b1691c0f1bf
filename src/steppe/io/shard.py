"""Shards: two-dimensional arrays (time, cell) in files that are whole or absent, checked at every read.

One shard is one file of the Zarr version 3 array `<group>/<name>`, codec `sharding_indexed`; any Zarr reader opens it:

    c/<i>/<j>   chunk 0,0 | chunk 0,1 | ... | chunk n,m | index: offset and length of each chunk, 16 bytes a chunk | CRC32C
                    └ blosc(lz4) of the little-endian values, CRC32C

A shard is written beside its place and renamed, and never changed afterwards: a reader finds a whole shard or none, also after a kill.
The bytes depend on the values alone. Reading verifies both checksums, as zarr-python does.
"""

import json
import os
import struct
from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import google_crc32c
import numpy as np
from numcodecs import blosc
from numpy.typing import ArrayLike

from steppe.array_types import Array
from steppe.errors import DamagedError, Failure, Mistake
from steppe.files import make_folder, sync, write_whole, writing

if TYPE_CHECKING:
    from zarr.abc.buffer import Buffer
    from zarr.storage import MemoryStore

FILTERS = {"shuffle": blosc.SHUFFLE, "bitshuffle": blosc.BITSHUFFLE}
# Codec and level of blosc. lz4: for output of a run. lz4hc: for arrays that are written once and read often; readers see lz4. It is a
# quarter smaller, decoded faster, and six times slower to write. zstd: for copies that are seldom read.
CODECS = {"lz4": 5, "lz4hc": 3, "zstd": 6}
ABSENT = 2**64 - 1  # offset and length of a chunk that was never written; Zarr specification ZEP 2
RESIDUE = 0x48674BC7  # CRC32C of any bytes followed by their own little-endian CRC32C; RFC 3720 B.4 names the polynomial

# Blosc's own threads write the blocks of a chunk in the order in which they finish: other bytes each time. zarr-python sets this too.
blosc.use_threads = False


class Layout(NamedTuple):
    """Chunks, shards and codec of an array: chunk and shard as (steps, cells), a shard being a multiple of a chunk.

    An array with levels has them between steps and cells, and is not cut along them. shuffle: "shuffle" or "bitshuffle". codec: of
    `CODECS`.
    """

    chunk: tuple[int, ...]
    shard: tuple[int, ...]
    dtype: str
    shuffle: str
    codec: str = "lz4"

    @property
    def chunks(self) -> tuple[int, int]:
        """Chunks of a whole shard along steps and cells."""
        return self.shard[0] // self.chunk[0], self.shard[-1] // self.chunk[-1]


def create_array(
    group_path: Path,
    name: str,
    shape: tuple[int, ...],
    layout: Layout,
    fill: float,
    attributes: Mapping[str, Any],
    dimensions: Sequence[str],
) -> None:
    """Writes the description (zarr.json) of an array without any values.

    shape (steps, [levels,] cells). fill: value of records that are not written. dimensions: their names.
    """
    from zarr import create_array as create
    from zarr.codecs import BloscCodec, BytesCodec, Crc32cCodec

    files: dict[str, Buffer] = {}
    create(
        _memory(files),
        shape=shape,
        chunks=layout.chunk,
        shards=layout.shard,
        dtype=layout.dtype,
        serializer=BytesCodec(endian="little"),
        compressors=[BloscCodec(**compression(layout), typesize=np.dtype(layout.dtype).itemsize), Crc32cCodec()],
        fill_value=fill,
        attributes=dict(attributes),
        dimension_names=list(dimensions),
    )
    _write_all(group_path / name, files)


def write_small(group_path: Path, name: str, values: ArrayLike, attributes: Mapping[str, Any], dimensions: Sequence[str]) -> None:
    """Writes a whole array of any dimension as a single chunk: a coordinate, a grid mapping, names (a list of text)."""
    from zarr import create_array as create
    from zarr.codecs import ZstdCodec

    array = np.asarray(values)
    if array.dtype.kind == "U":
        array = array.astype(np.dtypes.StringDType())
    files: dict[str, Buffer] = {}
    create(
        _memory(files),
        data=array,
        chunks=tuple(max(length, 1) for length in array.shape),
        compressors=[ZstdCodec(level=3, checksum=True)],
        # An axis may have its fill value (0, say) as a value; it must be written, too.
        config={"write_empty_chunks": True},
        attributes=dict(attributes),
        dimension_names=list(dimensions),
    )
    _write_all(group_path / name, files)


def write_shard(group_path: Path, name: str, index: tuple[int, int], values: Array, layout: Layout, durable: bool = True) -> str:
    """Writes one shard, or replaces it; returns its file.

    Parameters
    ----------
    index
        Of the shard along (time, cell).
    values
        (steps, [levels,] cells) of `layout.dtype`; smaller than the shard only where the array ends.
    durable
        Without it a new shard survives a crash of the machine only after `synchronise`, which takes for a hundred shards the time of a
        few. Every reader sees it whole at once. A shard that replaces another is always durable.

    Raises
    ------
    NoSpaceError
        The disk is full; an earlier shard in this place is untouched.
    """
    fits = values.ndim == len(layout.shard) and all(length <= most for length, most in zip(values.shape, layout.shard, strict=True))
    if not fits or values.dtype != np.dtype(layout.dtype):
        raise Failure(
            f'A shard of "{name}" was given {values.dtype} {values.shape}, expected {layout.dtype} of at most {layout.shard}. '
            "This is a defect of Steppe."
        )
    entries = np.full((*layout.chunks, 2), ABSENT, dtype="<u8")
    parts: list[bytes] = []
    position = 0
    for place, coded in _encoded(values, layout):
        entries[place] = position, len(coded) + 4
        parts += coded, _checksum(coded)
        position += len(coded) + 4
    parts += entries.tobytes(), _checksum(entries.tobytes())
    path = shard_path(group_path, name, index, values.ndim)
    _write(path, parts, durable, within=f"{group_path}/{name}")  # a store that was moved away is not made anew
    return path


def layout_of(group_path: Path, name: str) -> Layout:
    """The layout of an array, from its zarr.json.

    Raises
    ------
    DamagedError
        There is no such array, or its description cannot be read.
    Mistake
        The array has another shape or other codecs than Steppe writes.
    """
    path = group_path / name / "zarr.json"
    try:
        described = json.loads(path.read_bytes())
    except (OSError, ValueError) as error:
        raise DamagedError(f'"{path}" cannot be read ({error}). Restore the store.') from None
    try:
        sharding = described["codecs"][0]["configuration"]
        to_bytes, compressor, checksum = sharding["codecs"]
        settings = compressor["configuration"]
        chunk, shard = tuple(sharding["chunk_shape"]), tuple(described["chunk_grid"]["configuration"]["chunk_shape"])
        chain = [codec["name"] for codec in (*described["codecs"], to_bytes, compressor, checksum, *sharding["index_codecs"])]
        known = (
            chain == ["sharding_indexed", "bytes", "blosc", "crc32c", "bytes", "crc32c"]
            and sharding.get("index_location", "end") == "end"
            and to_bytes["configuration"]["endian"] == "little"
            and settings["shuffle"] in FILTERS
            and settings["cname"] in CODECS
            and chunk[1:-1] == shard[1:-1]
            and len(shard) in (2, 3)
        )
    except (KeyError, IndexError, ValueError, TypeError):
        known = False
    if not known:
        raise Mistake(f'"{path}" describes an array that Steppe did not write: its codecs differ. Make the store with `steppe ingest`.')
    return Layout(chunk, shard, described["data_type"], settings["shuffle"], settings["cname"])


def write_durable(path: Path, data: bytes, aside: Path | None = None) -> None:
    """Writes a file so that after a crash it holds the old bytes or the new ones, and makes its folders.

    aside: the path where it is made, if it must not be seen beside its place.

    Raises
    ------
    NoSpaceError
        The disk is full; the old file is untouched.
    """
    _write(os.fspath(path), [data], True, aside)


def synchronise(files: Collection[str], root: Path) -> None:
    """Makes files that were written without `durable` survive a crash of the machine, with all folders between them and `root`.

    They are given as text: a long run writes thousands between two commits, and a Path takes a kilobyte.

    Raises
    ------
    Failure
        The system could not write one of them.
    """
    folders, top = dict[str, None](), os.fspath(root)
    for folder in map(os.path.dirname, files):
        while folder not in folders and folder.startswith(top):
            folders[folder] = None
            folder = os.path.dirname(folder)
    for path in chain(files, folders):
        with writing(path):
            sync(path)


def _write(path: str, parts: Sequence[bytes], durable: bool, aside: Path | None = None, within: str = "") -> None:
    with writing(path):
        make_folder(os.path.dirname(path) or ".", durable=durable, within=within)
        write_whole(path, parts, durable=durable, aside=aside or path + ".tmp", cached=False)


def shard_path(group_path: Path, name: str, index: tuple[int, int], dims: int = 2) -> str:
    """The file of a shard of an array of so many dims; text, since a Path takes a quarter of the time of reading a chunk."""
    return f"{group_path}/{name}/c/{index[0]}/{'0/' * (dims - 2)}{index[1]}"


def compression(layout: Layout) -> dict[str, Any]:
    """The configuration of blosc for the chunks of an array, as its description has it.

    Raises
    ------
    Failure
        The layout is not valid.
    """
    if layout.shuffle not in FILTERS or any(shard % chunk for shard, chunk in zip(layout.shard, layout.chunk, strict=True)):
        raise Failure(
            f"{layout} is no layout: a shard is a multiple of a chunk, shuffle one of {', '.join(FILTERS)}. This is a defect of Steppe."
        )
    return {"cname": layout.codec, "clevel": CODECS[layout.codec], "shuffle": layout.shuffle}


def _encoded(values: Array, layout: Layout) -> Iterator[tuple[tuple[int, int], bytes]]:
    """Place and bytes of each chunk of a shard, in order; several processors encode many chunks."""
    rows, columns, height, width = layout.chunk[0], layout.chunk[-1], values.shape[0], values.shape[-1]
    places = [(i, j) for i in range(-(-height // rows)) for j in range(-(-width // columns))]
    blocks = (values[i * rows : (i + 1) * rows, ..., j * columns : (j + 1) * columns] for i, j in places)
    if len(places) == 1:
        yield places[0], _encode(next(blocks), layout)
        return
    yield from zip(places, _encoders().map(lambda block: _encode(block, layout), blocks), strict=True)


@cache
def _encoders() -> ThreadPoolExecutor:
    """Threads for all shards that are written at once, one a processor."""
    return ThreadPoolExecutor(os.cpu_count(), thread_name_prefix="encode")


def _encode(block: Array, layout: Layout) -> bytes:
    if block.shape != layout.chunk:
        whole = np.zeros(layout.chunk, block.dtype)
        whole[: block.shape[0], ..., : block.shape[-1]] = block
        block = whole
    little = np.ascontiguousarray(block, dtype=block.dtype.newbyteorder("<"))
    coded: bytes = blosc.compress(little, layout.codec.encode(), CODECS[layout.codec], FILTERS[layout.shuffle], 0, little.itemsize)
    return coded


def _checksum(data: bytes) -> bytes:
    return struct.pack("<I", google_crc32c.value(data))


def _memory(files: "dict[str, Buffer]") -> "MemoryStore":
    from zarr.storage import MemoryStore

    return MemoryStore(files)


def _write_all(folder: Path, files: "dict[str, Buffer]") -> None:
    for key in sorted(files, key=lambda name: name == "zarr.json"):  # the description last: it makes the array visible
        write_durable(folder / key, files[key].to_bytes())
