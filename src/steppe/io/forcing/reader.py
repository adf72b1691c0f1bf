"""The weather of a share of the cells, tile by tile: read ahead by one thread, and decoded next to the kernel.

    store ── read, check ──>  records of the next tiles  ── decode ──>  rows of one tile  ──>  kernel
             one thread       a few a computing thread                  where it is used

There is a slab of all cells only if a client steps day by day: then each slab is decoded once and kept.
"""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from threading import Lock
from types import TracebackType

import numpy as np
from numpy.typing import NDArray

from steppe.array_types import Array
from steppe.clock import Clock
from steppe.errors import ForcingError
from steppe.grid import Cells, Grid, spanned
from steppe.io.axis import day_name, day_number
from steppe.io.forcing.slab import Slabs
from steppe.io.forcing.store import Constant, ForcingStore, Stored
from steppe.io.forcing.stream import KEEP_BELOW, ReadCounters, TileStream
from steppe.io.forcing.units import conversion
from steppe.packed import Packed
from steppe.variable import Variable

DEPTH = 4  # tiles that a computing thread has in memory: the one in use and three on their way
GREGORIAN = ("standard", "gregorian", "proleptic_gregorian")  # one calendar since 1582


class ForcingReader:
    """The inputs of a model from a forcing store.

    Parameters
    ----------
    store
        Its path, or the open store.
    share
        Packed cells of the grid to read, ascending.
    names
        Variables to read, in this order; None: all that change in time. One without time has its value on every day.
    clock
        Steps of one day.
    cadence
        Name -> "1 day" or "7 days". "7 days" of a daily variable are the means of the weeks of paper 000, rounded to the store's own
        resolution: day d of a year belongs to week min((d - 1) div 7, 51). Default: the cadence of the store.
    variables
        Their declarations by the model; values are converted to these units.
    grid
        The cells of the run, which must be those of the store.
    steps
        The steps of the whole run, which the store must cover.
    decode_ahead
        Whether the reading thread decodes, too: right if a processor is spare for it.

    Raises
    ------
    ForcingError
        Store and run differ: unknown variable, units, calendar, other cells, fewer days.
    DamagedError
        The store's descriptions cannot be read.
    """

    in_turns = False

    def __init__(
        self,
        store: Path | ForcingStore,
        share: Cells,
        names: Sequence[str] | None,
        clock: Clock,
        cadence: Mapping[str, str] | None = None,
        *,
        variables: Mapping[str, Variable] | None = None,
        grid: Grid | None = None,
        steps: range | None = None,
        decode_ahead: bool = True,
    ) -> None:
        self.store = store = store if isinstance(store, ForcingStore) else ForcingStore.open(store)
        self.names = tuple(store.variables if names is None else names)
        if grid is not None:
            store.check_grid(grid)
        _check_clock(store, clock)
        held = [store.constant(name) if name in store.static else store[name] for name in self.names]
        lines = [_line(store, each, (variables or {}).get(each.name)) for each in held]
        self._scale, self._offset = (np.array([line[side] for line in lines]) for side in (0, 1))
        self.slabs = Slabs(store, self.names, share, cadence or {})
        self._start = day_number(clock.start)
        self.end = self.slabs.days.stop  # the day after the last that will be asked for
        if steps:
            self._check_period(steps)
            self.end = self._start + steps.stop
        self._first_cell = spanned(share).start
        self.counters = ReadCounters()
        self._decode_ahead = decode_ahead
        self._keep_below = KEEP_BELOW
        self._streams: dict[range, TileStream] = {}
        self._lock = Lock()
        self.thread = ThreadPoolExecutor(1, thread_name_prefix="forcing")

    @property
    def memory(self) -> int:
        """Bytes of the memory for records and decoded rows; complete after the first tiles."""
        return self.slabs.memory + sum(stream.memory for stream in self._streams.values())

    @property
    def tiles(self) -> Sequence[range]:
        """The cells of each tile, counted from the first cell of the share."""
        return [range(cells.start - self._first_cell, cells.stop - self._first_cell) for cells in self.slabs.cells]

    def pieces(self, steps: range) -> list[range]:
        """`steps` cut where one slab of the store ends and the next begins."""
        pieces, first, phase = [], steps.start, self.slabs.origin - self._start
        while first < steps.stop:
            slab = (first - phase) // self.slabs.length
            stop = min(steps.stop, phase + (slab + 1) * self.slabs.length)
            pieces.append(range(first, stop))
            first = stop
        return pieces

    def turn_to(self, piece: range) -> None:
        """Does nothing: streams read when they are asked."""

    def keep_slabs(self) -> None:
        """Keeps each slab whole after it is decoded, for slabs that are asked for in pieces; called before the first step."""
        self._keep_below = 1

    def recut(self, shares: Sequence[Cells], rank: int) -> None:
        """Changes to the share of a rank in another cut of the cells. No stream may be in use."""
        for stream in self._streams.values():
            stream.drop()
        self._streams.clear()
        self._first_cell = spanned(shares[rank]).start
        self.slabs.recut(shares[rank])

    def stream(self, cells: range) -> TileStream:
        """The stream of the forcing of some cells for one thread, counted from the first cell of the share; one stream for the same cells.

        It gives whole tiles: a tile in which `cells` begin or end has cells of the neighbours, too. If the share is no range, a tile also
        has cells of other shares.
        """
        with self._lock:
            if cells not in self._streams:
                inside = [k for k, tile in enumerate(self.tiles) if tile.start < cells.stop and cells.start < tile.stop]
                numbers = range(inside[0], inside[-1] + 1) if inside else range(0)
                way = self.slabs, self.tiles, numbers, self.days_of, self.packed
                self._streams[cells] = TileStream(*way, self.thread, self.counters, DEPTH, self._decode_ahead, self.end, self._keep_below)
            return self._streams[cells]

    def close(self) -> None:
        """Ends the thread and frees all memory. The reader is not used after it."""
        self.thread.shutdown(wait=True, cancel_futures=True)
        self._streams.clear()
        self.slabs.close()

    def __enter__(self) -> "ForcingReader":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def packed(self, rows: Array, row_of: NDArray[np.int32]) -> Packed:
        """The forcing as a model takes it: rows of a tile, and the row of each variable on each day."""
        return Packed(rows, row_of, self._scale, self._offset)

    def days_of(self, steps: range) -> range:
        """The days of a piece, counted from 1850-01-01.

        Raises
        ------
        ForcingError
            The store does not hold all of them, or they are not one piece.
        """
        self._check_period(steps)
        days = range(self._start + steps.start, self._start + steps.stop)
        if self.slabs.of_day(days.start) != self.slabs.of_day(days.stop - 1):
            raise ForcingError(f"Steps {steps.start} to {steps.stop - 1} lie in two slabs of the store. Ask for the pieces of them.")
        return days

    def _check_period(self, steps: range) -> None:
        days = self.slabs.days
        first, last = self._start + steps.start, self._start + steps.stop - 1
        if first not in days or last not in days:
            calendar = self.store.calendar
            raise ForcingError(
                f"The run needs {day_name(first, calendar)} to {day_name(last, calendar)}, but "
                f'"{self.store.path}" holds {day_name(days.start, calendar)} to {day_name(days.stop - 1, calendar)}. '
                "Shorten the run, or make a longer store."
            )


def _check_clock(store: ForcingStore, clock: Clock) -> None:
    if clock.step != timedelta(days=1):
        raise ForcingError(f'"{store.path}" holds days, the model makes steps of {clock.step}. Take a model with daily steps.')
    if clock.calendar != store.calendar and not (clock.calendar in GREGORIAN and store.calendar in GREGORIAN):
        raise ForcingError(
            f'"{store.path}" has the calendar "{store.calendar}", the run "{clock.calendar}". Calendars are never converted; '
            "take the calendar of the forcing."
        )


def _line(store: ForcingStore, stored: Stored | Constant, variable: Variable | None) -> tuple[float, float]:
    """Scale and offset from raw values to the unit of the model."""
    if variable is None:
        return stored.scale, stored.offset
    to = conversion(stored.units, variable.units, f'"{store.path}", variable "{stored.name}"')
    return stored.scale * to.factor, stored.offset * to.factor + to.offset
