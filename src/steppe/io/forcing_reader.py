"""Feeding a run: the weather of a share of the cells, tile by tile, read and decoded ahead by one thread.

    store  -- read, check, decode -->  buffer of the next slab      (the thread)
                                       buffer of this slab    -->   model

Two buffers are all the memory there is: while the model works on one slab the thread fills the other. A tile's rows lie together, so that a
chunk is decoded straight to where the model reads it.
"""

import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from datetime import timedelta
from itertools import pairwise
from pathlib import Path
from threading import Lock
from types import TracebackType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steppe.clock import Clock
from steppe.errors import ForcingError
from steppe.grid import Grid
from steppe.io.axis import day_name, day_number
from steppe.io.forcing_store import ForcingStore, Stored
from steppe.io.slab import Slabs
from steppe.io.units import conversion
from steppe.packed import Packed
from steppe.variable import Variable

GREGORIAN = ("standard", "gregorian", "proleptic_gregorian")  # one calendar since 1582


@dataclass
class ReadCounters:
    """What reading has cost so far: bytes decoded, CPU seconds of the reading thread, seconds that a caller waited for it."""

    bytes: int = 0
    decode_seconds: float = 0.0
    stall_seconds: float = 0.0


class ForcingReader:
    """The inputs of a model from a forcing store.

    Parameters
    ----------
    path
        The store.
    share
        Packed cells of the grid to read.
    names
        Variables to read, in this order; None: all that change in time.
    clock
        Steps of one day.
    cadence
        Name -> "1 day" or "7 days". "7 days" of a daily variable are the means of the weeks of paper 000, rounded to the store's own
        resolution: day d of a year belongs to week min((d - 1) div 7, 51). Default: what the store holds.
    variables
        What the model declares of them; their units are converted to.
    grid
        The cells of the run, compared with the store's.
    steps
        The steps of the whole run, which the store must cover.

    Raises
    ------
    ForcingError
        Store and run do not fit: unknown variable, units, calendar, other cells, fewer days.
    DamagedError
        The store's descriptions cannot be read.
    """

    def __init__(
        self,
        path: Path,
        share: range,
        names: Sequence[str] | None,
        clock: Clock,
        cadence: Mapping[str, str] | None = None,
        *,
        variables: Mapping[str, Variable] | None = None,
        grid: Grid | None = None,
        steps: range | None = None,
    ) -> None:
        self.store = store = ForcingStore.open(path)
        self.names = tuple(store.variables if names is None else names)
        if grid is not None:
            store.check_grid(grid)
        _check_clock(store, clock)
        lines = [_line(store, store[name], (variables or {}).get(name)) for name in self.names]
        self._scale, self._offset = (np.array([line[side] for line in lines]) for side in (0, 1))
        self._slabs = Slabs(store, self.names, share, cadence or {})
        self._start = day_number(clock.start)
        self._end = self._slabs.days.stop
        if steps:
            self._check_period(steps)
            self._end = self._start + steps.stop
        self.tiles: Sequence[range] = [range(cells.start - share.start, cells.stop - share.start) for cells in self._slabs.cells]
        self.counters = ReadCounters()
        self._buffers = [self._slabs.new_buffer(), self._slabs.new_buffer()]
        self._held: int | None = None  # the slab in the first buffer
        self._coming: tuple[int, Future[None]] | None = None  # the slab that the thread puts into the second
        self._lock = Lock()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="forcing")

    @property
    def memory(self) -> int:
        """Bytes of both buffers."""
        return sum(tile.nbytes for buffer in self._buffers for tile in buffer)

    def pieces(self, steps: range) -> list[range]:
        """`steps` cut where one slab of the store ends and the next begins."""
        phase = self._slabs.origin - self._start
        cuts = [steps.start]
        while cuts[-1] < steps.stop:
            slab = (cuts[-1] - phase) // self._slabs.length
            cuts.append(min(steps.stop, phase + (slab + 1) * self._slabs.length))
        return [range(first, stop) for first, stop in pairwise(cuts)]

    def slab(self, steps: range, tile: int) -> Packed:
        """The forcing of one piece for one tile. The arrays are valid until another piece is asked for. Thread-safe.

        Raises
        ------
        ForcingError
            The store does not hold all of `steps`.
        DamagedError
            A file of it is missing or not what was written; names file, variable and days.
        """
        self._check_period(steps)
        days = range(self._start + steps.start, self._start + steps.stop)
        wanted = self._slabs.of_day(days.start)
        if self._slabs.of_day(days.stop - 1) != wanted:
            raise ForcingError(f"Steps {steps.start} to {steps.stop - 1} lie in two slabs of the store. Ask for the pieces of them.")
        with self._lock:
            if self._held != wanted:
                self._turn_to(wanted)
            rows = self._buffers[0][tile]
        return Packed(rows, self._slabs.row_of(days), self._scale, self._offset)

    def seek(self, step: int) -> None:
        """Begins to read at another step, after a rewind or a branch; what was read ahead is dropped."""
        wanted = self._slabs.of_day(self._start + step)
        with self._lock:
            if wanted != self._held:
                self._fetch(wanted)

    def close(self) -> None:
        """Ends the thread. The reader is not used after it."""
        self._thread.shutdown(wait=True, cancel_futures=True)

    def __enter__(self) -> "ForcingReader":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def _turn_to(self, wanted: int) -> None:
        """Waits until a slab is there, makes it the held one and begins to read the next."""
        began = time.perf_counter()
        coming = self._fetch(wanted)
        try:
            coming.result()
        except BaseException:
            self._coming = None  # another attempt reads again
            raise
        self.counters.stall_seconds += time.perf_counter() - began
        self._buffers.reverse()
        self._held, self._coming = wanted, None
        if self._slabs.origin + (wanted + 1) * self._slabs.length < self._end:
            self._fetch(wanted + 1)

    def _fetch(self, slab: int) -> Future[None]:
        """Has the thread read a slab into the second buffer, unless it is at it."""
        if self._coming is None or self._coming[0] != slab:
            # one thread: what it is reading now is finished, then overwritten
            self._coming = slab, self._thread.submit(self._read, slab, self._buffers[1])
        return self._coming[1]

    def _read(self, slab: int, buffer: list[NDArray[Any]]) -> None:
        began = time.thread_time()
        for tile, rows in enumerate(buffer):
            self.counters.bytes += self._slabs.fill(slab, tile, rows)
        self.counters.decode_seconds += time.thread_time() - began

    def _check_period(self, steps: range) -> None:
        days, calendar = self._slabs.days, self.store.calendar
        first, last = self._start + steps.start, self._start + steps.stop - 1
        if first not in days or last not in days:
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


def _line(store: ForcingStore, stored: Stored, variable: Variable | None) -> tuple[float, float]:
    """Scale and offset from raw values to the unit of the model."""
    if variable is None:
        return stored.scale, stored.offset
    to = conversion(stored.units, variable.units, f'"{store.path}", variable "{stored.name}",')
    return stored.scale * to.factor, stored.offset * to.factor + to.offset
