"""Slabs: what a store's chunks of some days hold for a share of the cells, laid out as a model reads it.

days   |---- slab 0 ----|---- slab 1 ----|---- slab 2 ----|        a slab is as long as a chunk of the daily variables
rows of one tile, one slab:   rain: one a day | tmin: one a day | pan: its weeks | ...          (rows, cells of the tile)
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from steppe.errors import ForcingError, nearest
from steppe.io.axis import Axis
from steppe.io.forcing_store import ForcingStore, Stored
from steppe.packed import MISSING

SLAB_DAYS = 64  # when nothing is daily
CADENCES = ("1 day", "7 days")


class _Source(NamedTuple):
    """Where one variable lies in a tile's rows: from row `base` on, `room` rows of `axis`; mean: formed from the days of the store."""

    stored: Stored
    axis: Axis
    mean: bool
    base: int
    room: int


class Slabs:
    """The slabs of some variables of a store for a share of its cells.

    length: days of a slab. days: those that all variables hold. cells: packed cells of each tile of the share.

    Raises
    ------
    ForcingError
        The variables cannot be read together, or the cadence is not one that the store can give.
    """

    def __init__(self, store: ForcingStore, names: Sequence[str], share: range, cadence: Mapping[str, str]) -> None:
        self.store = store
        held = [store[name] for name in names]
        if not held:
            raise ForcingError(f'"{store.path}" holds no variable that changes in time. Name a store of weather.')
        _check_together(store, held)
        daily = [stored for stored in held if stored.axis.is_daily]
        first = max(stored.axis.first for stored in held)
        self.days = range(first, min(stored.axis.stop for stored in held))
        if not self.days:
            raise ForcingError(f'"{store.path}" holds no day for all of {", ".join(names)}: their periods do not meet. Make it again.')
        self.origin = daily[0].axis.first if daily else first
        self.length = daily[0].layout.chunk[0] if daily else SLAB_DAYS
        self._width = held[0].layout.chunk[1]
        cuts = range(share.start // self._width * self._width, share.stop, self._width) if share else range(0)
        self.cells = [range(max(share.start, cut), min(share.stop, cut + self._width)) for cut in cuts]
        self._sources: list[_Source] = []
        self._height = 0
        for stored in held:
            source = self._source(stored, cadence.get(stored.name))
            self._sources.append(source)
            self._height += source.room
        unknown = set(cadence) - set(names)
        if unknown:
            name = sorted(unknown)[0]
            raise ForcingError(f'A cadence is given for "{name}", which is not read.{nearest(name, names)}')

    def new_buffer(self) -> list[NDArray[Any]]:
        """Room for one slab: (rows, cells) for each tile."""
        return [np.empty((self._height, len(cells)), self._sources[0].stored.layout.dtype) for cells in self.cells]

    def of_day(self, day: int) -> int:
        """The slab that holds a day, counted from 1850-01-01."""
        return (day - self.origin) // self.length

    def row_of(self, days: range) -> NDArray[np.int32]:
        """Row of each variable on each of some days of one slab, (variables, days)."""
        span = self._span(self.of_day(days.start))
        found = np.empty((len(self._sources), len(days)), np.int32)
        for k, source in enumerate(self._sources):
            if source.axis.is_daily:  # chunks are decoded whole: rows count from the slab's first day
                found[k] = source.base + (days.start - self.origin) % self.length + np.arange(len(days))
            else:
                rows = source.axis.row_of_day[days.start - source.axis.first : days.stop - source.axis.first]
                found[k] = source.base + rows - source.axis.rows_of(span).start
        return found

    def fill(self, slab: int, tile: int, out: NDArray[Any]) -> int:
        """Reads and decodes one slab of one tile into `out`; the number of bytes decoded.

        Raises
        ------
        DamagedError
            A file is missing or not what was written.
        """
        days, cells = self._span(slab), self.cells[tile]
        column = cells.start // self._width
        part = slice(cells.start % self._width, cells.start % self._width + len(cells))
        for stored, axis, mean, base, _ in self._sources:
            if axis.is_daily:
                place = out[base : base + self.length]
                if len(cells) == self._width:
                    self.store.chunk(stored.name, (slab, column), place)
                else:
                    place[:] = self.store.chunk(stored.name, (slab, column))[:, part]
                continue
            wanted = axis.rows_of(days)
            found = self._means(stored, axis, wanted, column) if mean else self.store.rows(stored.name, wanted, column)
            out[base : base + len(wanted)] = found[:, part]
        return int(out.nbytes)

    def _span(self, slab: int) -> range:
        """The days of a slab that all variables hold."""
        first = self.origin + slab * self.length
        return range(max(first, self.days.start), min(first + self.length, self.days.stop))

    def _source(self, stored: Stored, cadence: str | None) -> _Source:
        axis, mean = stored.axis, False
        if cadence is not None:
            if cadence not in CADENCES:
                raise ForcingError(f'Cadence "{cadence}" of "{stored.name}" is not known. Write "1 day" or "7 days".')
            if cadence == "1 day" and not axis.is_daily:
                raise ForcingError(f'"{self.store.path}" holds no daily "{stored.name}", so its cadence cannot be "1 day". Leave it out.')
            if cadence == "7 days" and axis.is_daily:
                axis, mean = Axis.weekly(axis.first, axis.rows, axis.calendar), True
        if axis.is_daily:
            return _Source(stored, axis, mean, self._height, self.length)
        slabs = range(self.of_day(self.days.start), self.of_day(self.days.stop - 1) + 1)
        room = max(len(axis.rows_of(self._span(slab))) for slab in slabs)
        return _Source(stored, axis, mean, self._height, room)

    def _means(self, stored: Stored, axis: Axis, wanted: range, column: int) -> NDArray[Any]:
        """Mean of the raw days of some rows of `axis`, rounded to the store's integers; missing when one of its days is."""
        days = range(int(axis.starts[wanted.start]) - axis.first, int(axis.stops[wanted.stop - 1]) - axis.first)
        raw = self.store.rows(stored.name, days, column)
        found = np.empty((len(wanted), raw.shape[1]), raw.dtype)
        for row, mean in zip(wanted, found, strict=True):
            part = raw[int(axis.starts[row]) - axis.first - days.start : int(axis.stops[row]) - axis.first - days.start]
            if raw.dtype == np.int16:
                np.rint(part.sum(axis=0, dtype=np.int32) / len(part), out=mean, casting="unsafe")
                mean[part.min(axis=0) == MISSING] = MISSING
            else:
                part.mean(axis=0, out=mean)
        return found


def _check_together(store: ForcingStore, held: Sequence[Stored]) -> None:
    for stored in held:
        if stored.layout.dtype != held[0].layout.dtype or stored.layout.chunk[1] != held[0].layout.chunk[1]:
            raise ForcingError(
                f'"{store.path}": "{stored.name}" is {stored.layout.dtype} in chunks of {stored.layout.chunk[1]} cells, "{held[0].name}" '
                f"{held[0].layout.dtype} of {held[0].layout.chunk[1]}; a run reads variables of one kind. Make the store again."
            )
    daily = [stored for stored in held if stored.axis.is_daily]
    for stored in daily:
        if stored.axis.first != daily[0].axis.first or stored.layout.chunk[0] != daily[0].layout.chunk[0]:
            raise ForcingError(f'"{store.path}": "{stored.name}" and "{daily[0].name}" have different time axes. Make the store again.')
