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

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from time import perf_counter, sleep
from typing import Any

import numpy as np

from steppe.comm import MessageRequest, Serial, World
from steppe.comm.world import STORE_TAG
from steppe.errors import Failure, FolderError, SteppeError
from steppe.grid import Ownership
from steppe.io.output.array import Array, OutputArray
from steppe.io.output.store import Group, check_format, group_attributes, mark
from steppe.io.shard import layout_of, synchronise
from steppe.timeline import span

NAPS = (*(0.001 / 2**k for k in range(4, 0, -1)), *[0.001] * 50)  # [s]
UNSAFE = 64  # files that a commit may have to wait for, about: each time that some are made durable costs as much as writing some
Then = Callable[[Mapping[str, int]], None]  # what follows a commit in the thread; takes the records that can be read


class OutputWriter:
    """Writes the groups of one store. Keys of its arrays: "growth" of the maps, "series/state/growth" of series "state".

    Parameters
    ----------
    path
        The store; None: it is not there yet, and nothing is written before `settle`.
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
        check_format(path, group_attributes(path))
        for array in self._arrays.values():
            array.folder = path / array.group
            if layout_of(array.folder, array.name) != array.layout:
                raise FolderError(
                    f'"{array.folder / array.name}" has another type or other chunks than this run needs. '
                    "Choose another folder, or start with --fresh."
                )

    def begin_at(self, records: Mapping[str, int]) -> None:
        """Counts from `records` on; those before are elsewhere."""
        for key, array in self._arrays.items():
            array.count = array.exchanged = array.committed = records[key]

    def whole_rows(self, records: Mapping[str, int]) -> tuple[dict[str, int], dict[str, int]]:
        """Key of each array -> shard rows that are full with the first `records`, and the records in these."""
        rows = {key: array.whole(records[key]) for key, array in self._arrays.items()}
        return rows, {key: min(records[key], rows[key] * array.layout.shard[0]) for key, array in self._arrays.items()}

    @property
    def row_ends(self) -> dict[str, int]:
        """Key of each array -> the number of records with which the shard row that is being filled is full."""
        of = ((key, array.count // array.layout.shard[0] + 1, array) for key, array in self._arrays.items())
        return {key: min(row * array.layout.shard[0], array.shape[0]) for key, row, array in of}

    def settle(self, path: Path, source: Path, records: Mapping[str, int]) -> None:
        """Takes a store that holds the whole shards of the first `records`, after `begin_at` them; the rest of them are read from another.

        Raises
        ------
        DamagedError
            A shard of the time before is missing or not what was written.
        """
        self._take(path)
        for key, array in self._arrays.items():
            row, place = divmod(records[key], array.layout.shard[0])
            if place and records[key] < array.shape[0]:
                array.read(row, place, source / array.group)
                array.committed = records[key] - place  # a commit writes them here as well

    @property
    def records(self) -> dict[str, int]:
        """Key -> number of records put: what `restore` needs to go on from here. Goes into the checkpoint."""
        return {key: array.count for key, array in self._arrays.items()}

    def put(self, key: str, first: int, values: Array) -> None:
        """Takes the next records of an array, (records, [levels,] own columns); one of them may come without the first dimension.

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

    def room(self, key: str) -> Array | None:
        """Where the next record of an array, (1, [levels,] own columns), may be filled in before it is put: then `put` copies nothing.

        None where several ranks have or write the columns.
        """
        array = self._arrays[key]
        row, place = divmod(array.count, array.layout.shard[0])
        buffer = array.buffer(row)
        if place == 0:
            self._wait_for(buffer.reading)
        return None if buffer.whole is None else buffer.whole[place : place + 1]

    def exchange(self, everything: bool = False) -> None:
        """Brings records to the ranks that write them, and has whole shards written; every rank calls it after the same records.

        everything: also records of shards that are not full yet, for a commit. An array must not be put more than a shard row of
        records between two calls. What cannot be written is told later, by `check`: all ranks go the same way here.
        """
        if self._world.size == 1:
            return
        coming: dict[int, list[tuple[Array, Any]]] = {}  # of each rank: the rows and columns where its records go
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

    def _pass(self, coming: Mapping[int, Sequence[tuple[Array, Any]]], going: Mapping[int, Sequence[Array]]) -> None:
        """Fills columns of arrays and sends others, all between two ranks in one message."""
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

    def _submit_row(self, array: OutputArray, row: int, records: int) -> None:
        def write() -> None:
            if len(self._unsafe) >= UNSAFE:
                self._make_durable()
            self._unsafe.update(dict.fromkeys(array.write(row, records)))

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


def _bytes(arrays: Sequence[Array]) -> Array:
    return np.concatenate([np.ravel(array).view(np.uint8) for array in arrays])


def _doze(request: MessageRequest) -> None:
    """Sleeps while a message does not come, but not for long: who sends it may have no processor as long as others wait for it awake."""
    for nap in NAPS:
        if request.test():
            return
        sleep(nap)
