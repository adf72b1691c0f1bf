"""A copy of a forcing store for keeping: the same chunks under zstd, a quarter smaller and read three times slower.

It is a forcing store like any other; a fast copy beside it (`steppe.io.forcing.pack_file`) makes it as fast.
"""

import json
import os
import shutil
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import numpy as np

from steppe.errors import ForcingError
from steppe.files import place, writing
from steppe.io.alone import alone
from steppe.io.coordinates import consolidate
from steppe.io.forcing.store import ForcingStore, Stored
from steppe.io.shard import compression, write_durable, write_shard
from steppe.io.shard_file import ShardFile, new_memory


class Archived(NamedTuple):
    """The copy that was made. before, after: bytes of the shards."""

    files: int
    before: int
    after: int


def archive_store(store: Path, target: Path, progress: Callable[[float], None] = lambda part: None) -> Archived:
    """Makes the copy. progress: gets the part that is done, 0 to 1.

    Raises
    ------
    ForcingError
        There is no forcing store at `store`, or something at `target` already.
    FolderError
        Another process is making `target`.
    DamagedError
        A shard is damaged.
    NoSpaceError, Failure
        The system refused. Nothing is left at `target`.
    """
    held = ForcingStore.open(store)
    with alone(target):
        if target.exists():
            raise ForcingError(f'"{target}" exists already. Remove it, or choose another name for the copy.')
        return _archived(store, held, target, progress)


def _archived(store: Path, held: ForcingStore, target: Path, progress: Callable[[float], None]) -> Archived:
    aside = target.with_name(target.name + ".tmp")
    shards = [(stored, file) for name, stored in held.variables.items() for file in sorted((store / name / "c").glob("*/*"))]
    done = before = after = 0
    try:
        with writing(target):
            shutil.rmtree(aside, ignore_errors=True)  # of an attempt that was killed
            shutil.copytree(store, aside, ignore=lambda folder, names: _left_out(store, held, Path(folder), names))
        for name, stored in held.variables.items():
            _describe(aside / name / "zarr.json", stored)
        with ThreadPoolExecutor(os.cpu_count()) as threads:
            for old, new in threads.map(lambda each: _recoded(aside, held.n_cells, *each), shards):
                done, before, after = done + 1, before + old, after + new
                progress(done / len(shards))
        consolidate(aside)
        with writing(target):
            place(aside, target)
    except BaseException:
        shutil.rmtree(aside, ignore_errors=True)
        raise
    return Archived(done, before, after)


def _left_out(store: Path, held: ForcingStore, folder: Path, names: list[str]) -> list[str]:
    """Names that are not copied: shards are made anew, and the fast copy belongs to the store alone."""
    if folder == store:
        return [name for name in names if name == "pack"]
    return [name for name in names if name == "c" and folder.parent == store and folder.name in held.variables]


def _describe(path: Path, stored: Stored) -> None:
    described = json.loads(path.read_bytes())
    coded = described["codecs"][0]["configuration"]["codecs"][1]["configuration"]
    coded |= compression(stored.layout._replace(codec="zstd"))
    write_durable(path, json.dumps(described, indent=2, ensure_ascii=False, allow_nan=False).encode())


def _recoded(aside: Path, n_cells: int, stored: Stored, file: Path) -> tuple[int, int]:
    """Writes one shard anew; bytes before and after."""
    layout, (i, j) = stored.layout, (int(file.parent.name), int(file.name))
    shard = ShardFile(str(file), layout)
    rows, columns = layout.chunk
    values = np.empty(layout.shard, layout.dtype)
    here = values[: stored.axis.rows - i * layout.shard[0], : n_cells - j * layout.shard[1]]
    chunk = np.empty(layout.chunk, layout.dtype)
    for k in range(-(-here.shape[0] // rows)):
        for m in range(-(-here.shape[1] // columns)):
            shard.decode(shard.read(k, m, new_memory), chunk)
            values[k * rows : (k + 1) * rows, m * columns : (m + 1) * columns] = chunk
    made = write_shard(aside, stored.name, (i, j), here, layout._replace(codec="zstd"))
    return file.stat().st_size, os.path.getsize(made)
