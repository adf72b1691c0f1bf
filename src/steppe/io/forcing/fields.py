"""The inputs of a field model: values of its box at each step, from records that a thread reads ahead.

    own   each rank reads the chunks that its box, with halos, touches
    one   rank 0 reads whole records and sends each rank its box

                  record 7      8      9            one thread reads the next record while a step is computed
    step 41, 42, 43 ──┴─────────┘      on its way   between two records linear in time, or the last

Parts of a run on one rank have one reader, so branches that stand at one step use the records that are in memory.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from itertools import pairwise
from math import prod

import numpy as np

from steppe.array_types import Array
from steppe.clock import TICK, Clock, ticks_since_epoch
from steppe.comm import World, agreed
from steppe.comm.world import FORCING_TAG
from steppe.errors import ForcingError
from steppe.grid import Box, Grid, Projected, Raster, last
from steppe.io.forcing.field import Between, Field
from steppe.io.forcing.field_store import FieldStore
from steppe.io.forcing.scan import ForcingProblem
from steppe.io.forcing.stream import ReadCounters
from steppe.levels import Space
from steppe.timeline import span
from steppe.variable import Variable

HALVES = {"begin": 0, "middle": 1, "end": 2}  # of a step, from its beginning
KEPT = 3  # blocks of records of a field: two in use, one on its way

Key = tuple[str, int]  # a variable, and a block of its records
Maps = Callable[[slice, slice], Array]  # rows and columns of the grid -> (..., rows, columns)


class FieldReader:
    """The inputs of a field model from a store of fields.

    Parameters
    ----------
    store
        The store.
    variables
        The needed variables, as the model declares them.
    clock, steps
        The steps of the whole run, which the records must cover.
    grid
        The cells of the run.
    at
        The instant of a step at which the values hold: "begin", "middle" or "end".
    spaces
        The spaces of the model, for dims before rows and columns; see `Field`.

    Raises
    ------
    ForcingError
        Store and run differ: see `Field`, and `Field.check_period`.
    """

    def __init__(
        self,
        store: FieldStore,
        variables: Mapping[str, Variable],
        clock: Clock,
        steps: range,
        grid: Grid,
        at: str = "middle",
        spaces: Mapping[str, Space] | None = None,
    ) -> None:
        if not isinstance(grid, Raster | Projected):
            raise ForcingError(f'"{store.path}" has fields, which need a grid of rows and columns. Write [grid] rectangle, or file.')
        self.names, self.in_turns, self.counters = tuple(variables), False, ReadCounters()
        self._grid, self._fields = grid, {name: Field(store, variable, grid, spaces or {}) for name, variable in variables.items()}
        self._length = clock.length // TICK
        self._start = ticks_since_epoch(clock.date(0)) + self._length * HALVES[at] // 2
        self._used: dict[str, range] = {}  # the blocks that the run needs
        for name, field in self._fields.items():
            ends = self._tick(steps.start), self._tick(steps.stop - 1)
            field.check_period(*ends)
            self._used[name] = range(field.at(ends[0]).first // field.block, field.at(ends[1]).last // field.block + 1)
        self._held: dict[Key, Array] = {}  # (records, *leading, *box.local)
        self._coming: dict[Key, Future[Array]] = {}
        self._kept: set[Key] = set()  # those of both
        self._box: Box | None = None
        self._world: World | None = None  # None for a single rank; with several ranks these are their boxes
        self._boxes: Sequence[Box] = ()
        self._one = False  # rank 0 reads for all
        self.thread = ThreadPoolExecutor(1, thread_name_prefix="forcing")

    @property
    def memory(self) -> int:
        """Bytes of the records in memory and on their way, and of a block while it is read; known after the first step."""
        sizes = {name: max((values.nbytes for (of, _), values in self._held.items() if of == name), default=0) for name in self._fields}
        return sum(size * min(KEPT, len(self._used[name])) for name, size in sizes.items()) + max(sizes.values(), default=0)

    def pieces(self, steps: range) -> list[range]:
        """`steps` cut where a record ends and the next begins."""
        ticks = self._start + self._length * np.arange(steps.start, steps.stop)
        numbers = [np.searchsorted(field.ticks, ticks, side="right") for field in self._fields.values() if field.ticks is not None]
        changes = [np.flatnonzero(np.diff(each)) + 1 + steps.start for each in numbers]
        cuts = [steps.start, *np.unique(np.concatenate(changes)).tolist()] if changes else [steps.start]
        return [range(first, stop) for first, stop in pairwise([*cuts, steps.stop])]

    def spread(self, world: World, boxes: Sequence[Box], one: bool) -> None:
        """Divides reading among several ranks with these boxes; all call it before the first step. one: rank 0 reads for all."""
        self._world, self._boxes, self._box, self._one, self.in_turns = world, boxes, boxes[world.rank], one, True

    def turn_to(self, piece: range) -> None:
        """With several ranks: brings the records of a piece here. Every rank calls it, and meets the others if a record is new.

        Raises
        ------
        BadCellError
            A value is missing or outside its limits; the same on every rank.
        DamagedError
            A chunk cannot be read; the same on every rank.
        """
        assert self._world is not None, "only where `in_turns`"
        wanted = self._wanted(self._at(piece.start))
        if new := [key for key in wanted if key not in self._held]:
            with agreed(self._world):
                found = {key: self._come(key) for key in new if self._reads}
            self._held |= {key: self._sent(self._world, key, found.get(key)) for key in new} if self._one else found
        self._keep(wanted)

    def fill(self, box: Box, step: int, values: Mapping[str, Array]) -> None:
        """Fills arrays (*leading, *box.local) and their halos with the values of a step. Behind walls are those of the other side.

        Raises
        ------
        BadCellError
            A value is missing or outside its limits.
        DamagedError
            A chunk cannot be read.
        """
        now = self._at(step)
        if not self.in_turns:
            self._box, wanted = box, self._wanted(now)
            self._held |= {key: self._come(key) for key in wanted if key not in self._held}
            self._keep(wanted)
        for name, (before, after, weight) in now.items():
            into, low = values[name], self._record(name, before)
            if weight:  # values that are equal in both records keep their bits
                np.subtract(self._record(name, after), low, out=into)
                into *= into.dtype.type(weight)
                into += low
            else:
                into[...] = low

    def problems(self) -> list[ForcingProblem]:
        """The faults of all values that the run would read; a fault of a field is one problem."""
        found: dict[tuple[str, str], ForcingProblem] = {}
        for field in self._fields.values():
            for block in self._used[field.name]:
                for each in field.problems(block, *self._everywhere):
                    key = field.name, each.fault
                    found[key] = found[key]._replace(number=found[key].number + each.number) if key in found else each
        return list(found.values())

    def close(self) -> None:
        """Ends the thread and frees all memory. The reader is not used after it."""
        self.thread.shutdown(wait=True, cancel_futures=True)
        self._held, self._coming = {}, {}

    def _tick(self, step: int) -> int:
        return self._start + self._length * step

    def _at(self, step: int) -> dict[str, Between]:
        return {name: field.at(self._tick(step)) for name, field in self._fields.items()}

    def _record(self, name: str, record: int) -> Array:
        block = self._fields[name].block
        found: Array = self._held[name, record // block][record % block]
        return found

    def _wanted(self, now: Mapping[str, Between]) -> list[Key]:
        """The blocks of a step; the same for all steps of a piece."""
        ends = [(name, each.first // self._fields[name].block, each.last // self._fields[name].block) for name, each in now.items()]
        return [(name, block) for name, first, end in ends for block in range(first, end + 1)]

    def _keep(self, wanted: Sequence[Key]) -> None:
        """Drops other blocks, and orders the next ones to be read."""
        kept = {*wanted, *((name, block + 1) for name, block in wanted if block + 1 in self._used[name])}
        if kept == self._kept:
            return
        self._kept = kept
        self._held = {key: values for key, values in self._held.items() if key in kept}
        for key in [key for key in self._coming if key not in kept]:
            self._coming.pop(key).cancel()
        if self._reads:
            self._coming |= {key: self.thread.submit(self._read, key) for key in sorted(kept) if key not in {*self._held, *self._coming}}

    @property
    def _reads(self) -> bool:
        return not self._one or (self._world is not None and self._world.rank == 0)

    def _come(self, key: Key) -> Array:
        """Waits for a block of records: of the own box, or whole if rank 0 sends it."""
        began = time.perf_counter()
        future = self._coming.pop(key, None) or self.thread.submit(self._read, key)
        with span("wait"):
            found = future.result()
        self.counters.add(stall=time.perf_counter() - began)
        return found

    def _read(self, key: Key) -> Array:
        began, (name, block) = time.thread_time(), key
        field = self._fields[name]
        with span("read"):
            if self._one:
                found = field.read(block, *self._everywhere)
            else:
                assert self._box is not None, "a step was asked for"
                found = in_box(self._box, partial(field.read, block), field.variable.parity)
        self.counters.add(bytes=found.nbytes, reader=time.thread_time() - began)
        return found

    @property
    def _everywhere(self) -> tuple[slice, slice]:
        rows, columns = self._grid.active.shape
        return slice(0, rows), slice(0, columns)

    def _sent(self, world: World, key: Key, maps: Array | None) -> Array:
        """Receives the own part of a block of records from rank 0."""
        field, mine = self._fields[key[0]], self._boxes[world.rank]
        if maps is None:
            into = np.empty((field.length(key[1]), *field.leading, *mine.local), field.dtype)
            with span("exchange"):
                world.receive(into, 0, FORCING_TAG).wait()
            return into
        parts = [in_box(box, lambda rows, columns: maps[..., rows, columns], field.variable.parity) for box in self._boxes]
        with span("exchange"):
            for request in [world.send(part, rank, FORCING_TAG) for rank, part in enumerate(parts) if rank]:
                request.wait()
        self.counters.add(sent=sum(part.nbytes for part in parts[1:]))
        return parts[0]


def in_box(box: Box, maps: Maps, parity: int = 1) -> Array:
    """Values of the grid as an array of a box with halos, (..., *box.local).

    maps: called once for each rectangle of the grid; for one of the far side of the Earth only if this side does not hold it.
    parity -1: values change sign beyond a pole. Behind walls are the values of the other side.
    """
    largest = max(box.sources, key=lambda piece: prod(part.stop - part.start for part in piece.theirs)).theirs
    near, (north, west) = maps(*largest), (part.start for part in largest)
    values = np.empty((*near.shape[:-2], *box.local), near.dtype)
    for piece in box.sources:
        rows, columns = piece.theirs
        inside = all(whole.start <= part.start and part.stop <= whole.stop for whole, part in zip(largest, piece.theirs, strict=True))
        part = (
            near[..., rows.start - north : rows.stop - north, columns.start - west : columns.stop - west] if inside else maps(rows, columns)
        )
        y, x = (slice(None, None, -1 if flip else 1) for flip in piece.flips)
        values[last(piece.mine)] = part[..., y, x] * (-1 if piece.parity < 0 and parity < 0 else 1)
    for mirror in box.mirrors:
        values[last(mirror.target)] = values[last(mirror.source)]
    return values
