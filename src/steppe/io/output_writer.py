"""Writing the output of a run behind its back: whole shard by whole shard, in a thread.

A shard is encoded and written when its last record is in. `commit` also writes the unfinished ones, so that a checkpoint needs no
output of its own: `restore` reads their records back and goes on. A shard is a function of its records alone: after a kill and a
restart the store is the same to the byte as that of an uninterrupted run.

    put ──> buffer of a shard ──full──> thread: round, encode, write aside, synchronise, rename
                    ^                                                   │
                    └───────────── restore <──── store <────────────────┘
"""

import shutil
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steppe.errors import DamagedError, Failure, FolderError
from steppe.io.output import PRECISIONS, Group, Output, mark
from steppe.io.shard import layout_of, write_shard
from steppe.io.shard_file import read_chunk

Array = NDArray[Any]


class _Array:
    """One array on its way to the disk."""

    def __init__(self, folder: Path, group: Group, output: Output) -> None:
        self.folder = folder
        self.name = output.variable.name
        self.shape = (group.axis.rows, group.n_columns)
        self.layout = group.layout(output)
        self.bits = PRECISIONS[output.precision]
        self.buffer: Array | None = None  # records of the shard being filled, NaN where there is none yet
        self.count = 0  # records put
        self.committed = 0  # of those, durable
        self.written: Future[None] | None = None

    def empty(self, row: int) -> Array:
        """A buffer for shard row `row`, which is short where the array ends."""
        records = min(self.layout.shard[0], self.shape[0] - row * self.layout.shard[0])
        return np.full((records, self.shape[1]), np.nan, self.layout.dtype)

    def write(self, row: int, values: Array) -> None:
        """Encodes and writes the shards of one row; runs in the writer's thread."""
        width = self.layout.shard[1]
        for tile in range(-(-self.shape[1] // width)):
            part = values[:, tile * width : (tile + 1) * width]
            write_shard(self.folder, self.name, (row, tile), part if self.bits is None else bitround(part, self.bits), self.layout)

    def read(self, row: int, records: int) -> Array:
        """The first records of a shard row that was committed unfinished, as a buffer."""
        values = self.empty(row)
        rows, width = self.layout.chunk
        for i in range(-(-records // rows)):
            for tile in range(-(-self.shape[1] // width)):
                chunk = read_chunk(self.folder, self.name, (row * self.layout.chunks[0] + i, tile), self.layout)
                place = values[i * rows : min((i + 1) * rows, records), tile * width : (tile + 1) * width]
                place[...] = chunk[: place.shape[0], : place.shape[1]]
        return values

    def cut(self, records: int) -> None:
        """Removes what lies wholly after the first `records`, and left-overs of a killed writer; checks that the rest is there."""
        folder = self.folder / self.name / "c"
        needed = -(-records // self.layout.shard[0])
        for row in folder.iterdir() if folder.is_dir() else ():
            if int(row.name) >= needed:
                shutil.rmtree(row)
            else:
                for left_over in row.glob("*.tmp"):
                    left_over.unlink()
        for shard in range(needed):
            for tile in range(-(-self.shape[1] // self.layout.shard[1])):
                if not (folder / str(shard) / str(tile)).is_file():
                    raise DamagedError(
                        f'"{folder}/{shard}/{tile}" is missing: output before the checkpoint was removed. Start with --fresh.'
                    )


class OutputWriter:
    """Writes the groups of one store. Keys of its arrays: "growth" of the maps, "series/state/growth" of series "state".

    Raises
    ------
    FolderError
        The store at `path` holds other arrays.
    """

    def __init__(self, path: Path, groups: Sequence[Group]) -> None:
        self.path = path
        self.stall = 0.0  # seconds that `put` waited for the disk
        self._arrays: dict[str, _Array] = {}
        for group in groups:
            for output in group.outputs:
                array = _Array(path / group.name, group, output)
                self._arrays[f"{group.name}/{array.name}".lstrip("/")] = array
                if layout_of(array.folder, array.name) != array.layout:
                    raise FolderError(
                        f'"{array.folder / array.name}" is cut otherwise than this run needs. Choose another folder, or --fresh.'
                    )
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="output")

    @property
    def records(self) -> dict[str, int]:
        """Key -> number of records put: what `restore` needs to go on from here. Goes into the checkpoint."""
        return {key: array.count for key, array in self._arrays.items()}

    def put(self, key: str, first: int, values: Array) -> None:
        """Takes the next records of an array, (records, cells) or (records, regions); one of them may come as (cells,).

        Raises
        ------
        NoSpaceError, Failure
            Writing an earlier one failed.
        """
        array = self._arrays[key]
        records = np.atleast_2d(values)
        if first != array.count or first + len(records) > array.shape[0]:
            last = first + len(records) - 1
            raise Failure(
                f'Records {first} to {last} of "{key}" came, expected {array.count} of {array.shape[0]}. This is a defect of Steppe.'
            )
        for other in self._arrays.values():
            if other.written and other.written.done():
                other.written.result()
        while len(records):
            row, place = divmod(array.count, array.layout.shard[0])
            if array.buffer is None:
                array.buffer = array.empty(row)
            taken = array.buffer[place : place + len(records)]
            taken[...] = records[: len(taken)]
            array.count += len(taken)
            records = records[len(taken) :]
            if place + len(taken) == len(array.buffer):
                self._submit(array, row, array.buffer)
                array.buffer = None

    def commit(self) -> dict[str, int]:
        """Makes everything put so far durable.

        Returns
        -------
        dict
            Key -> number of records that can be read from now on, for the progress file.

        Raises
        ------
        NoSpaceError, Failure
            Writing failed; what was committed before is safe.
        """
        for array in self._arrays.values():
            if array.buffer is not None and array.count > array.committed:
                self._submit(array, (array.count - 1) // array.layout.shard[0], array.buffer)
        for array in self._arrays.values():
            if array.written:
                array.written.result()
            array.committed = array.count
        return self.records

    def restore(self, records: Mapping[str, int]) -> None:
        """Goes back to where `records` was taken: removes what was written later and reads unfinished shards back.

        Lower the counts of the progress file first, so that no reader looks for what is removed.

        Raises
        ------
        DamagedError
            A shard of the time before is missing or not what was written.
        FolderError
            `records` is of other arrays.
        """
        if records.keys() != self._arrays.keys():
            raise FolderError(
                f'The checkpoint has outputs {", ".join(records)}, "{self.path}" has {", ".join(self._arrays)}. Start with --fresh.'
            )
        if any(records[key] < array.shape[0] for key, array in self._arrays.items()):
            mark(self.path, "running")
        for key, array in self._arrays.items():
            array.cut(records[key])
            row, place = divmod(records[key], array.layout.shard[0])
            unfinished = place > 0 and records[key] < array.shape[0]
            array.buffer = array.read(row, place) if unfinished else None
            array.count = array.committed = records[key]

    def finish(self) -> dict[str, int]:
        """Commits the whole run and marks the store complete; returns what `commit` returns."""
        for key, array in self._arrays.items():
            if array.count != array.shape[0]:
                raise Failure(f'The run ends with {array.count} of {array.shape[0]} records of "{key}". This is a defect of Steppe.')
        committed = self.commit()
        mark(self.path, "complete")
        return committed

    def close(self) -> None:
        """Ends the thread; what was not committed is lost."""
        self._thread.shutdown(cancel_futures=True)

    def _submit(self, array: _Array, row: int, values: Array) -> None:
        before = perf_counter()
        if array.written:
            array.written.result()
        self.stall += perf_counter() - before
        array.written = self._thread.submit(array.write, row, values)


def bitround(values: NDArray[np.floating[Any]], bits: int) -> NDArray[np.float32]:
    """float32 values with `bits` bits of the mantissa kept, rounded half to even; NaN and infinities stay. Rounding twice changes nothing.

    Kloewer et al. (2021), Nature Computational Science 1, 713-724, doi:10.1038/s43588-021-00156-2.
    """
    raw = np.ascontiguousarray(values, dtype=np.float32).view(np.uint32)
    dropped = np.uint32(23 - bits)
    one = np.uint32(1)
    rounded = raw >> dropped
    rounded &= one  # 1 where the last kept bit is odd: a tie goes up to even
    rounded += raw
    rounded += (one << (dropped - one)) - one
    rounded &= ~((one << dropped) - one)
    special = ~np.isfinite(values)
    rounded[special] = raw[special]
    return rounded.view(np.float32)
