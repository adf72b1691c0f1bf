"""Writes the output of a run in a thread behind it, by whole shards.

A shard is encoded and written when it has its last record. `commit` also writes unfinished shards, so a checkpoint has no output of its
own: `restore` reads these records back. A shard depends on its records alone: after a kill and a restart the store has the bytes of an
uninterrupted run.

    put ──> one of two buffers ──full──> queue ──> thread: round, encode, write aside, rename
                    ^                                                   │
                    └───────────── restore <──── store <────────────────┘

Each array has two buffers: while both wait to be written, `put` blocks, and counts the time. A commit fills the queue and returns; later
records go to other rows of the buffer that the thread reads.

With many ranks each puts the records of its own cells. `exchange` brings them to the rank that writes a tile, once a shard row and before
a commit; only that rank encodes and writes. Threads send no messages.
"""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from time import perf_counter, sleep

import numpy as np

from steppe.array_types import Array
from steppe.comm import MessageRequest, Serial, World
from steppe.comm.world import STORE_TAG
from steppe.errors import Failure, FolderError, SteppeError
from steppe.grid import Ownership
from steppe.grid.ownership import Columns
from steppe.io.output.array import Buffer, OutputArray
from steppe.io.output.store import Group, check_format, group_attributes, mark
from steppe.io.shard import layout_of, synchronise
from steppe.timeline import span

NAPS = (*(0.001 / 2**k for k in range(4, 0, -1)), *[0.001] * 50)  # [s]
UNSAFE = 64  # files that a commit waits for, about: to make some durable costs as much as to write some
Then = Callable[[Mapping[str, int]], None]  # called in the thread after a commit, with the records that can be read


class OutputWriter:
    """Writes the groups of one store. Keys of its arrays: "growth" of the maps, "series/state/growth" of series "state".

    Parameters
    ----------
    path
        The store; None: nothing is written before `settle`.
    groups
        Its groups.
    behind
        Whether a thread writes; otherwise `put` and `commit` write before they return.
    world, deals
        All ranks, and for each group the columns that this one has and writes; default: one rank with all columns.

    Raises
    ------
    FolderError
        The store at `path` has other arrays, or a newer Steppe wrote it.
    """

    def __init__(
        self,
        path: Path | None,
        groups: Sequence[Group],
        behind: bool = True,
        world: World | None = None,
        deals: Sequence[Ownership] | None = None,
    ) -> None:
        self._world = world or Serial()
        self.stall = 0.0  # seconds that callers waited for the disk
        self._arrays: dict[str, OutputArray] = {}
        for group, deal in zip(groups, deals or [Ownership.alone(group.n_columns) for group in groups], strict=True):
            for output in group.outputs:
                array = OutputArray(Path(), group, output, deal)
                self._arrays[f"{group.name}/{array.name}".lstrip("/")] = array
        self.path = Path()
        if path is not None:
            self._take(path)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="output") if behind else None
        self._last: Future[None] | None = None  # job of the thread
        self._failure: BaseException | None = None  # of the first job that failed; none is done after it
        self._unsafe: dict[str, None] = {}  # files written since the last commit

    def _take(self, path: Path) -> None:
        self.path = path
        writes = [array for array in self._arrays.values() if array.deal.written]
        if writes or self._world.rank == 0:  # another rank, which writes nothing, may not see the store
            check_format(path, group_attributes(path))
        for array in self._arrays.values():
            array.folder = path / array.group
        for array in writes:
            if layout_of(array.folder, array.name) != array.layout:
                raise FolderError(
                    f'"{array.folder / array.name}" has another type or other chunks than this run needs. '
                    "Choose another folder, or start with --fresh."
                )

    def begin_at(self, records: Mapping[str, int]) -> None:
        """Begins after `records`, which are in another store."""
        for key, array in self._arrays.items():
            array.count = array.exchanged = array.committed = records[key]

    def whole_rows(self, records: Mapping[str, int]) -> tuple[dict[str, int], dict[str, int]]:
        """Key of each array -> shard rows that the first `records` fill, and the records in these."""
        rows = {key: array.whole(records[key]) for key, array in self._arrays.items()}
        return rows, {key: min(records[key], rows[key] * array.layout.shard[0]) for key, array in self._arrays.items()}

    @property
    def row_ends(self) -> dict[str, int]:
        """Key of each array -> the number of records at which the current shard row is full."""
        of = ((key, array.count // array.layout.shard[0] + 1, array) for key, array in self._arrays.items())
        return {key: min(row * array.layout.shard[0], array.shape[0]) for key, row, array in of}

    def settle(self, path: Path, source: Path, records: Mapping[str, int]) -> None:
        """Continues in a store with the whole shards of the first `records`, after `begin_at`; reads their other records from `source`.

        Raises
        ------
        DamagedError
            An earlier shard is missing or damaged.
        """
        self._take(path)
        for key, array in self._arrays.items():
            row, place = divmod(records[key], array.layout.shard[0])
            if place and records[key] < array.shape[0]:
                array.read(row, place, source / array.group)
                array.committed = records[key] - place  # a commit writes them here as well

    @property
    def records(self) -> dict[str, int]:
        """Key -> number of records put; the checkpoint has it for `restore`."""
        return {key: array.count for key, array in self._arrays.items()}

    def put(self, key: str, first: int, values: Array) -> None:
        """Takes the next records of an array, (records, [levels,] own columns); a single one may lack the first dimension.

        Raises
        ------
        NoSpaceError, Failure
            Writing an earlier one failed.
        """
        array = self._arrays[key]
        records = values if values.ndim == len(array.shape) else values[None]
        if first != array.count or first + len(records) > array.shape[0]:
            last = first + len(records) - 1
            raise Failure(
                f'Records {first} to {last} of "{key}" came, expected {array.count} of {array.shape[0]}. This is a defect of Steppe.'
            )
        if self._world.size == 1:  # many ranks take the same path until they agree on a failure
            self.check()
        while len(records):
            row, place, buffer = self._next(array)
            taken = min(len(records), array.length(row) - place)
            buffer.put(place, records[:taken])
            array.count += taken
            records = records[taken:]
            if place + taken == array.length(row) and self._world.size == 1:
                self._submit_row(array, row, place + taken)

    def room(self, key: str) -> Array | None:
        """The buffer for the next record of an array, (1, [levels,] own columns): a record that is filled in there is not copied by `put`.

        None if several ranks have or write the columns.
        """
        _, place, buffer = self._next(self._arrays[key])
        return None if buffer.whole is None else buffer.whole[place : place + 1]

    def _next(self, array: OutputArray) -> tuple[int, int, Buffer]:
        """The shard row of the next record, its place there, and the buffer, which the thread reads no more."""
        row, place = divmod(array.count, array.layout.shard[0])
        buffer = array.buffer(row)
        if place == 0:
            self._wait_for(buffer.reading)
        return row, place, buffer

    def exchange(self, everything: bool = False) -> None:
        """Brings records to the ranks that write them, and orders whole shards to be written; every rank calls it after the same records.

        everything: also records of shards that are not full yet, for a commit. Between two calls an array may get at most a shard row of
        records. `check` reports a failed write later: all ranks take the same path here.
        """
        if self._world.size == 1:
            return
        coming: dict[int, list[tuple[Array, Columns]]] = {}  # of each rank: the rows and columns where its records go
        going: dict[int, list[Array]] = {}
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
                        coming.setdefault(peer, []).append((buffer.tiles[tile.tile][rows], columns))
                for held in array.deal.held:
                    if held.writer != array.deal.rank:
                        going.setdefault(held.writer, []).append(buffer.parts[held.tile][rows])
        with span("exchange"):
            self._pass(coming, going)
        for array in moved:
            for row, rows in array.unexchanged():
                if rows.stop == array.length(row):
                    self._submit_row(array, row, rows.stop)
            array.exchanged = array.count

    def _pass(self, coming: Mapping[int, Sequence[tuple[Array, Columns]]], going: Mapping[int, Sequence[Array]]) -> None:
        """Receives columns of arrays and sends others, in one message between two ranks."""
        parts = {peer: [np.empty_like(rows[..., columns], order="C") for rows, columns in targets] for peer, targets in coming.items()}
        rooms = {peer: _bytes(arrays) for peer, arrays in parts.items()}
        awaited = [self._world.receive(room, peer, STORE_TAG) for peer, room in rooms.items()]
        awaited += [self._world.send(_bytes(arrays), peer, STORE_TAG) for peer, arrays in going.items()]
        for request in awaited:
            _doze(request)
            request.wait()
        for peer, targets in coming.items():
            at = 0
            for (rows, columns), part in zip(targets, parts[peer], strict=True):
                rows[..., columns] = rooms[peer][at : at + part.nbytes].view(part.dtype).reshape(part.shape)
                at += part.nbytes

    def commit_behind(self, then: Then) -> None:
        """Orders all records to be made durable; then the thread calls `then` with the records that can be read.

        Every rank calls it. `then` is not called after a failure.

        Raises
        ------
        NoSpaceError, Failure
            Writing an earlier record failed; earlier commits are safe. With many ranks `check` raises it.
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
        """Orders a job of the thread after all earlier ones; it is not done if one of them failed."""
        self._submit(job)

    def commit(self) -> dict[str, int]:
        """Makes all records durable.

        Returns
        -------
        dict
            Key -> number of records that can be read from now on, for the progress file.

        Raises
        ------
        NoSpaceError, Failure
            Writing failed; earlier commits are safe.
        """
        self.commit_behind(lambda records: None)
        self.wait()
        return self.records

    def finish(self) -> dict[str, int]:
        """Commits the whole run, marks the store complete, and returns as `commit`."""
        records = self.commit()
        self.mark_complete()
        return records

    def mark_complete(self) -> None:
        """Marks the run in the store as complete; one rank calls it when all is durable.

        Raises
        ------
        Failure
            A record is missing.
        """
        for key, array in self._arrays.items():
            if array.count != array.shape[0]:
                raise Failure(f'The run ends with {array.count} of {array.shape[0]} records of "{key}". This is a defect of Steppe.')
        mark(self.path, steppe_progress="complete")

    def wait(self) -> None:
        """Waits for all ordered jobs.

        Raises
        ------
        NoSpaceError, Failure
            A job failed; earlier commits are safe.
        """
        self._wait_for(self._last)
        self.check()

    def check(self) -> None:
        """Raises the failure of the thread, if there is one."""
        if self._failure:
            raise self._failure

    def restore(self, records: Mapping[str, int]) -> None:
        """Goes back to the numbers `records`: removes later records, and reads unfinished shards back.

        Lower the counts of the progress file first, so that no reader expects the removed shards.

        Raises
        ------
        DamagedError
            An earlier shard is missing or damaged.
        FolderError
            `records` has other arrays.
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
        """Ends the thread; records that were not committed are lost."""
        if self._thread:
            self._thread.shutdown(cancel_futures=True)

    def _submit_row(self, array: OutputArray, row: int, records: int) -> None:
        def write() -> None:
            if len(self._unsafe) >= UNSAFE:
                self._make_durable()
            self._unsafe.update(dict.fromkeys(array.write(row, records)))

        array.buffer(row).reading = self._submit(write)

    def _make_durable(self) -> None:
        synchronise(self._unsafe, self.path)
        self._unsafe.clear()

    def _submit(self, job: Callable[..., None], *arguments: object) -> Future[None] | None:
        if self._thread is None:
            before = perf_counter()
            self._do(job, *arguments)
            self.stall += perf_counter() - before
            if self._world.size == 1:
                self.check()
            return None
        self._last = self._thread.submit(self._do, job, *arguments)
        return self._last

    def _do(self, job: Callable[..., None], *arguments: object) -> None:
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


def _bytes(arrays: Sequence[Array]) -> Array:
    return np.concatenate([np.ravel(array).view(np.uint8) for array in arrays])


def _doze(request: MessageRequest) -> None:
    """Waits for a message in short sleeps: its sender may need the processor of a rank that would wait awake."""
    for nap in NAPS:
        if request.test():
            return
        sleep(nap)
