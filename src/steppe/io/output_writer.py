"""Writing the output of a run behind its back: whole shard by whole shard, in a thread.

A shard is encoded and written when its last record is in. `commit` also writes the unfinished ones, so that a checkpoint needs no
output of its own: `restore` reads their records back and goes on. A shard is a function of its records alone: after a kill and a
restart the store is the same to the byte as that of an uninterrupted run.

    put ──> one of two buffers ──full──> queue ──> thread: round, encode, write aside, rename
                    ^                                                   │
                    └───────────── restore <──── store <────────────────┘

Each array has two buffers and no more: when both wait to be written, `put` blocks, and counts how long. A commit only puts into the
queue what is to be done and returns; records that come meanwhile go to other rows of the buffer that the thread reads.

With many ranks each puts the records of its own cells, and `exchange` brings them to the rank that writes a tile, once a shard row and
before a commit: only that rank encodes and writes. Threads send no messages.
"""

import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steppe.comm import Request, Serial, World
from steppe.errors import DamagedError, Failure, FolderError, SteppeError
from steppe.grid import Deal
from steppe.io.checkpoint import STORE_TAG
from steppe.io.output import PRECISIONS, Group, Output, check_format, group_attributes, mark
from steppe.io.shard import layout_of, synchronise, write_shard, writing
from steppe.io.shard_file import read_chunk
from steppe.timeline import span

Array = NDArray[Any]
Then = Callable[[Mapping[str, int]], None]  # what follows a commit in the thread; takes the records that can be read


class _Buffer:
    """Room for the records of one shard row: tiles that this rank writes, and its cells of those that others write.

    reading: the last job of the thread that needs what it holds.
    """

    def __init__(self, rows: int, deal: Deal, dtype: str) -> None:
        self._deal = deal
        self.tiles: dict[int, Array] = {tile.tile: np.empty((rows, tile.width), dtype) for tile in deal.written}
        self.parts: dict[int, Array] = {
            held.tile: np.empty((rows, held.mine.stop - held.mine.start), dtype) for held in deal.held if held.writer != deal.rank
        }
        self.reading: Future[None] | None = None

    def put(self, place: int, records: Array) -> None:
        """Takes records of this rank's cells from row `place` on."""
        rows = slice(place, place + len(records))
        for tile, columns, mine, writer in self._deal.held:
            if writer == self._deal.rank:
                self.tiles[tile][rows, columns] = records[:, mine]
            else:
                self.parts[tile][rows] = records[:, mine]


class _Array:
    """One array on its way to the disk."""

    def __init__(self, folder: Path, group: Group, output: Output, deal: Deal) -> None:
        self.folder = folder
        self.name = output.variable.name
        self.shape = (group.axis.rows, group.n_columns)
        self.layout = group.layout(output)
        self.bits = PRECISIONS[output.precision]
        self.deal = deal
        self.count = 0  # records put
        self.exchanged = 0  # of those, with the ranks that write them
        self.committed = 0  # of those, in the queue or written
        self._buffers: list[_Buffer] = []

    def length(self, row: int) -> int:
        """Records of shard row `row`: fewer where the array ends."""
        return min(self.layout.shard[0], self.shape[0] - row * self.layout.shard[0])

    def buffer(self, row: int) -> _Buffer:
        """The buffer of shard row `row`; it may still be read for the row two before."""
        while len(self._buffers) <= row % 2:
            rows = self.length(len(self._buffers))
            self._buffers.append(_Buffer(rows, self.deal, self.layout.dtype))
        return self._buffers[row % 2]

    def write(self, row: int, records: int) -> list[Path]:
        """Encodes and writes the shards of one row, of which `records` are put; runs in the writer's thread."""
        files = []
        for tile, values in self.buffer(row).tiles.items():
            part = values[:records]
            if self.bits is not None:
                part = bitround(part, self.bits)
            if records < self.length(row):
                whole = np.full((self.length(row), part.shape[1]), np.nan, part.dtype)
                whole[:records] = part
                part = whole
            files.append(write_shard(self.folder, self.name, (row, tile), part, self.layout, durable=False))
        return files

    def read(self, row: int, records: int) -> None:
        """Fills the buffer with the first records of a shard row that was committed unfinished."""
        for tile, values in self.buffer(row).tiles.items():
            values[:records] = read_chunk(self.folder, self.name, (row, tile), self.layout)[:records, : values.shape[1]]

    def unexchanged(self) -> Iterator[tuple[int, slice]]:
        """Shard rows with records that are not with their writers, and which of the row."""
        length = self.layout.shard[0]
        for row in range(self.exchanged // length, -(-self.count // length)):
            yield row, slice(max(self.exchanged - row * length, 0), min(self.count - row * length, length))

    def cut(self, records: int) -> None:
        """Removes what lies wholly after the first `records`, and left-overs of a killed writer; checks that the rest is there."""
        folder = self.folder / self.name / "c"
        needed = -(-records // self.layout.shard[0])
        with writing(folder):
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

    Parameters
    ----------
    path
        The store.
    groups
        What it holds.
    behind
        Write in a thread; otherwise `put` and `commit` themselves write before they return.
    world, deals
        All ranks, and for each group which columns this one has and writes; default: a single rank has all.

    Raises
    ------
    FolderError
        The store at `path` holds other arrays, or a newer Steppe wrote it.
    """

    def __init__(
        self,
        path: Path,
        groups: Sequence[Group],
        behind: bool = True,
        world: World | None = None,
        deals: Sequence[Deal] | None = None,
    ) -> None:
        self.path = path
        self._world = world or Serial()
        self.stall = 0.0  # seconds that callers waited for the disk
        check_format(path, group_attributes(path))
        self._arrays: dict[str, _Array] = {}
        for group, deal in zip(groups, deals or [Deal.alone(group.n_columns) for group in groups], strict=True):
            for output in group.outputs:
                array = _Array(path / group.name, group, output, deal)
                self._arrays[f"{group.name}/{array.name}".lstrip("/")] = array
                if layout_of(array.folder, array.name) != array.layout:
                    raise FolderError(
                        f'"{array.folder / array.name}" is cut otherwise than this run needs. Choose another folder, or --fresh.'
                    )
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="output") if behind else None
        self._last: Future[None] | None = None  # job of the thread
        self._failure: BaseException | None = None  # of the first job that failed; none is done after it
        self._unsafe: dict[str, None] = {}  # files written since the last commit

    @property
    def records(self) -> dict[str, int]:
        """Key -> number of records put: what `restore` needs to go on from here. Goes into the checkpoint."""
        return {key: array.count for key, array in self._arrays.items()}

    def put(self, key: str, first: int, values: Array) -> None:
        """Takes the next records of an array, (records, own columns); one of them may come as (own columns,).

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
        if self._world.size == 1:  # of many, all go the same way until they say whether something failed
            self.check()
        while len(records):
            row, place = divmod(array.count, array.layout.shard[0])
            buffer = array.buffer(row)
            if place == 0:
                self._wait_for(buffer.reading)
            taken = min(len(records), array.length(row) - place)
            buffer.put(place, records[:taken])
            array.count += taken
            records = records[taken:]
            if place + taken == array.length(row) and self._world.size == 1:
                self._submit_row(array, row, place + taken)

    def exchange(self, everything: bool = False) -> None:
        """Brings records to the ranks that write them, and has whole shards written; every rank calls it after the same records.

        everything: also records of shards that are not full yet, for a commit. An array must not be put more than a shard row of
        records between two calls. What cannot be written is told later, by `check`: all ranks go the same way here.
        """
        if self._world.size == 1:
            return
        coming: list[tuple[Request, Array, Array, Any]] = []
        going: list[Request] = []
        moved = []
        for array in self._arrays.values():
            full = array.count == array.shape[0] or array.count // array.layout.shard[0] > array.exchanged // array.layout.shard[0]
            if array.count == array.exchanged or not (full or everything):
                continue
            moved.append(array)
            for row, rows in array.unexchanged():
                buffer = array.buffer(row)
                for tile in array.deal.written:
                    for peer, columns in tile.parts:
                        values = buffer.tiles[tile.tile][rows]
                        part = np.empty_like(values[:, columns], order="C")
                        coming.append((self._world.receive(part, peer, STORE_TAG), part, values, columns))
                for held in array.deal.held:
                    if held.writer != array.deal.rank:
                        going.append(self._world.send(buffer.parts[held.tile][rows], held.writer, STORE_TAG))
        with span("exchange"):
            for request, part, values, columns in coming:
                request.wait()
                values[:, columns] = part
            for request in going:
                request.wait()
        for array in moved:
            for row, rows in array.unexchanged():
                if rows.stop == array.length(row):
                    self._submit_row(array, row, rows.stop)
            array.exchanged = array.count

    def commit_behind(self, then: Then) -> None:
        """Begins to make everything put so far durable; `then` follows in the thread when it is, with the records that can be read.

        Every rank calls it. `then` is not done when something failed before.

        Raises
        ------
        NoSpaceError, Failure
            Writing an earlier record failed; what was committed before is safe. With many ranks `check` tells it.
        """
        if self._world.size == 1:
            self.check()
        self.exchange(everything=True)
        records = self.records
        for array in self._arrays.values():
            row, place = divmod(array.count, array.layout.shard[0])
            if array.count > array.committed and place and array.count < array.shape[0]:
                self._submit_row(array, row, place)
            array.committed = array.count
        self._submit(self._make_durable)
        self._submit(then, records)

    def do(self, job: Callable[[], None]) -> None:
        """Has the thread do something after all that it was asked for, unless some of that failed."""
        self._submit(job)

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
        self.commit_behind(lambda records: None)
        self.wait()
        return self.records

    def finish(self) -> dict[str, int]:
        """Commits the whole run and marks the store complete; gives what `commit` gives."""
        records = self.commit()
        self.mark_complete()
        return records

    def mark_complete(self) -> None:
        """Says in the store that the run has ended; one rank does it when everything is durable.

        Raises
        ------
        Failure
            A record is not in.
        """
        for key, array in self._arrays.items():
            if array.count != array.shape[0]:
                raise Failure(f'The run ends with {array.count} of {array.shape[0]} records of "{key}". This is a defect of Steppe.')
        mark(self.path, steppe_progress="complete")

    def wait(self) -> None:
        """Returns when all that was asked for is done.

        Raises
        ------
        NoSpaceError, Failure
            Some of it failed; what was committed before is safe.
        """
        self._wait_for(self._last)
        self.check()

    def check(self) -> None:
        """Raises what went wrong in the thread."""
        if self._failure:
            raise self._failure

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
        failure: SteppeError | None = None
        if self._world.rank == 0:
            try:
                self._cut(records)
            except SteppeError as error:
                failure = error
        if not self._world.agree(failure is None):
            raise failure or Failure(f'"{self.path}" could not be brought back to the checkpoint by rank 0.')
        for key, array in self._arrays.items():
            row, place = divmod(records[key], array.layout.shard[0])
            if place and records[key] < array.shape[0]:
                array.read(row, place)
            array.count = array.exchanged = array.committed = records[key]

    def _cut(self, records: Mapping[str, int]) -> None:
        if records.keys() != self._arrays.keys():
            raise FolderError(
                f'The checkpoint has outputs {", ".join(records)}, "{self.path}" has {", ".join(self._arrays)}. Start with --fresh.'
            )
        self.wait()
        if any(records[key] < array.shape[0] for key, array in self._arrays.items()):
            mark(self.path, steppe_progress="running")
        for key, array in self._arrays.items():
            array.cut(records[key])

    def close(self) -> None:
        """Ends the thread; what was not committed is lost."""
        if self._thread:
            self._thread.shutdown(cancel_futures=True)

    def _submit_row(self, array: _Array, row: int, records: int) -> None:
        def write() -> None:
            self._unsafe.update(dict.fromkeys(map(str, array.write(row, records))))

        array.buffer(row).reading = self._submit(write)

    def _make_durable(self) -> None:
        synchronise(self._unsafe, self.path)
        self._unsafe.clear()

    def _submit(self, job: Callable[..., None], *arguments: Any) -> Future[None] | None:
        if self._thread is None:
            before = perf_counter()
            self._do(job, *arguments)
            self.stall += perf_counter() - before
            if self._world.size == 1:
                self.check()
            return None
        self._last = self._thread.submit(self._do, job, *arguments)
        return self._last

    def _do(self, job: Callable[..., None], *arguments: Any) -> None:
        if self._failure is None:
            try:
                with span("write"):
                    job(*arguments)
            except BaseException as failure:
                self._failure = failure

    def _wait_for(self, job: Future[None] | None) -> None:
        if job and not job.done():
            before = perf_counter()
            with span("wait"):
                job.result()
            self.stall += perf_counter() - before


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
