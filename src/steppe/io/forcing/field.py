"""One variable of a store of fields as a model needs it, checked against the run, and parts of its records.

Only the chunks that hold the wanted rows and columns of a record are read. Records of one chunk are read together.
"""

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from math import isfinite, prod
from typing import TYPE_CHECKING, NamedTuple

import cftime
import numpy as np

from steppe.array_types import Array, Integers
from steppe.clock import EPOCH, TICK, instant_text, length_text, zoned
from steppe.errors import BadCellError, DamagedError, ForcingError
from steppe.grid import UNEVEN, Projected, Raster, is_axis
from steppe.io.forcing.field_store import FieldStore, reason, stated_calendar
from steppe.io.forcing.scan import ForcingProblem
from steppe.io.forcing.units import SAME, conversion
from steppe.io.forcing.valid_range import mark_missing, valid_range
from steppe.levels import Space
from steppe.variable import Variable

if TYPE_CHECKING:
    import xarray

BLOCK = 1 << 25  # [bytes] of records that are read together, where they lie in one chunk
GAP = 1.5  # times the usual distance of records; months differ by less
SECOND, NOISE = 1_000_000, 1000  # [microseconds] how near a second an instant is one: of thirds of a day float64 has no exact number
TAKES_GRID = ", or remove [grid]: the run then takes its grid"
IN_STORE = 'Correct the attribute "units" in the store, in a spelling of UDUNITS; units are never guessed.'
NUMBERED = "If they are numbers of the levels, in the order of the model, write the store without this coordinate: drop_vars of xarray."
MAKE = "Make a store of the levels of the model."
EQUAL = 1e-5  # of a level: more than the rounding of a float32


class Between(NamedTuple):
    """The records between which an instant lies, and the weight of the second."""

    first: int
    last: int
    weight: float


class _Dims(NamedTuple):
    """The dims of a variable of a store. time: None where it has none. leading: those that are left."""

    time: str | None
    leading: tuple[str, ...]
    lat: str
    lon: str


class Field:
    """One variable of a store as a model needs it: its unit and dtype, rows from the north, columns from the west.

    ticks (records,): the instant of each, microseconds since 1850; None: one record that always holds. block: how many records are read
    together. leading: lengths of the dims before rows and columns.

    Parameters
    ----------
    store, variable, grid
        The store, which must have it; its declaration by the model; the grid of the run.
    spaces
        Name of a dim of the model -> its coordinate, with `values` and `units`; other dims are not compared.
    or_else
        What can be done beside another store if its grid is not that of the run, for the error.

    Raises
    ------
    ForcingError
        Its dims, units, times, rows, columns or levels differ from those of the model or the run.
    """

    def __init__(
        self, store: FieldStore, variable: Variable, grid: Raster | Projected, spaces: Mapping[str, Space], or_else: str = TAKES_GRID
    ) -> None:
        self.name, self.variable, self.dtype, self.calendar = variable.name, variable, np.dtype(variable.dtype), store.calendar
        self._or_else = or_else
        self._path, self._where, self._grid = store.path, f'"{store.path}", variable "{variable.name}"', grid
        self._values = store.dataset[variable.name]
        self._line = conversion(str(self._values.attrs.get("units", "")), variable.units, self._where, daily=False, cure=IN_STORE)
        self._span = valid_range(self._values)
        self._dims = dims = self._dims_of(store)
        if isinstance(grid, Projected):
            y, x = store.metres(grid)
            self._rows = self._places("rows", y, grid.y, -grid.dy)
            self._columns = self._places("columns", x, grid.x, grid.dx)
        else:
            latitudes, longitudes = (store.dataset[dim].values.astype(np.float64) for dim in dims[2:])
            self._rows = self._places("latitudes", latitudes, grid.lat, -grid.dlat)
            self._columns = self._places("longitudes", longitudes, grid.lon, grid.dlon)
        self._turns = tuple(self._turn(store, dim, name, spaces.get(name)) for dim, name in zip(dims.leading, variable.dims, strict=False))
        self.leading = tuple(int(self._values.sizes[dim]) for dim in dims.leading)
        self.ticks = None if dims.time is None else self._ticks(store.dataset[dims.time])
        self.records = 1 if self.ticks is None else len(self.ticks)
        together = (self._values.encoding.get("preferred_chunks") or {}).get(dims.time, 1)
        self.block = max(1, min(together, BLOCK // (prod(self.leading) * grid.active.size * self.dtype.itemsize)))

    @property
    def time(self) -> str | None:
        """The dim of the records."""
        return self._dims.time

    def check_period(self, first: int, last: int) -> None:
        """Checks that records cover all instants from `first` to `last` [microseconds since 1850].

        Raises
        ------
        ForcingError
            The first record is too late, the last too early, or records are missing between.
        """
        if self.ticks is None:
            return
        apart = np.diff(self.ticks)
        if (apart <= 0).any():
            at = int(np.argmax(apart <= 0))
            told = f"the record of {self.instant(at + 1)} comes after that of {self.instant(at)}"
            raise ForcingError(f"{self._where}: {told}. Sort the records; each instant must be there once.")
        usual = int(np.sort(apart)[(apart.size - 1) // 2]) if apart.size else 0
        end = int(self.ticks[-1]) + (max(usual - 1, 0) if self.variable.between == "last" else 0)
        if not self.ticks[0] <= first <= last <= end:
            told = f"from {self.instant(0)} to {self.instant(-1)}, but the run needs {self._text(first)} to {self._text(last)}"
            raise ForcingError(f"{self._where} has records {told}. Shorten the run, or make a longer store.")
        used = slice(self.at(first).first, self.at(last).last + 1)
        gaps = np.flatnonzero(np.diff(self.ticks[used]) > GAP * usual) + used.start
        if gaps.size:
            told = f"between {self.instant(gaps[0])} and {self.instant(gaps[0] + 1)}, others are {length_text(usual * TICK)} apart"
            raise ForcingError(f"{self._where} has no record {told} ({gaps.size} such). Add the missing records.")

    def at(self, tick: int) -> Between:
        """The records from which the value at an instant is made."""
        if self.ticks is None:
            return Between(0, 0, 0.0)
        first = bisect_right(self.ticks, tick) - 1
        last = first if self.variable.between == "last" else min(first + 1, self.records - 1)
        begin, end = int(self.ticks[first]), int(self.ticks[last])
        return Between(first, last, (tick - begin) / (end - begin) if last > first else 0.0)

    def instant(self, record: int) -> str:
        """The instant of a record, as text."""
        return "always" if self.ticks is None else self._text(int(self.ticks[record]))

    def length(self, block: int) -> int:
        """The number of records of a block; the last may have fewer."""
        return int(min(self.block, self.records - block * self.block))

    def read(self, block: int, rows: slice, columns: slice) -> Array:
        """The records of a block over some rows and columns of the grid: (records, *leading, rows, columns).

        Raises
        ------
        BadCellError
            A value is missing or outside the limits of the variable.
        DamagedError
            A chunk of the store cannot be read.
        """
        values = self.block_of(block, rows, columns)
        for problem in self.problems(block, rows, columns, values):
            raise BadCellError(f"{problem}. Correct it where the store is made; `steppe check` finds all such values.")
        return values

    def problems(self, block: int, rows: slice, columns: slice, values: Array | None = None) -> Iterator[ForcingProblem]:
        """The faults of the values of a block, one problem a fault; cells without a part in the run do not count."""
        values = self.block_of(block, rows, columns) if values is None else values
        low, high = self.variable.low, self.variable.high
        least, most = float(values.min()), float(values.max())
        if low <= least and most <= high and isfinite(least) and isfinite(most):
            return
        active = self._grid.active[rows, columns]
        missing = "is missing (or outside the valid range of the store)" if np.isfinite(self._span).any() else "is missing"
        faults = {missing: np.isnan(values), f"is below {low:g}": values < low, f"is above {high:g}": values > high}
        faults["is not finite"] = np.isinf(values) & ~(values < low) & ~(values > high)
        for fault, wrong in faults.items():
            wrong &= active
            if wrong.any():
                yield self._problem(fault, block, wrong, values, rows.start, columns.start)

    def _problem(self, fault: str, block: int, wrong: Array, values: Array, north: int, west: int) -> ForcingProblem:
        record, *place, row, column = (int(i) for i in np.argwhere(wrong)[0])
        cell = int(np.flatnonzero(self._grid.order == (row + north) * self._grid.active.shape[1] + column + west)[0])
        what = self.name
        for dim, turn, i in zip(self._dims.leading, self._turns, place, strict=True):
            labels = self._values[dim]
            what += f" at {dim} {labels.values[turn][i]:g} {labels.attrs.get('units', '')}".rstrip()
        latitude, longitude = float(self._grid.cell_lat[cell]), float(self._grid.cell_lon[cell])
        value = float(values[(record, *place, row, column)])
        day = self.instant(block * self.block + record)
        return ForcingProblem(self._path, what, fault, int(np.count_nonzero(wrong)), day, cell, latitude, longitude, value)

    def block_of(self, block: int, rows: slice, columns: slice) -> Array:
        """As `read`, whatever the values are."""
        parts = [self._part(block, self._rows[rows], part) for part in _runs(self._columns[columns])]
        values = np.concatenate(parts, axis=-1) if len(parts) > 1 else parts[0]
        if self._line != SAME:
            values *= self.dtype.type(self._line.factor)
            values += self.dtype.type(self._line.offset)
        return values

    def _part(self, block: int, rows: Array, columns: Array) -> Array:
        """Neighbouring rows and columns of the file, either way round."""
        time, leading, lat, lon = self._dims
        first = block * self.block
        where: dict[str, slice] = {lat: slice(int(rows.min()), int(rows.max()) + 1), lon: slice(int(columns.min()), int(columns.max()) + 1)}
        if time is not None:
            where[time] = slice(first, first + self.length(block))
        try:
            found = self._values.variable.isel(where).transpose(*([time] if time else []), *leading, lat, lon).values
        except Exception as error:  # each codec raises errors of its own
            period = " to ".join(dict.fromkeys((self.instant(first), self.instant(first + self.length(block) - 1))))
            told = f"{self._where}, {period}, cannot be read ({reason(error)})"
            raise DamagedError(f"{told}. A chunk may be cut short: get the store again.") from None
        found = found if time is not None else found[None]
        values: Array = found[(slice(None), *self._turns, slice(None, None, _way(rows)), slice(None, None, _way(columns)))]
        values = np.require(values, self.dtype, ["C", "W"])
        mark_missing(values, self._span)
        return values

    def _dims_of(self, store: FieldStore) -> _Dims:
        names = [str(dim) for dim in self._values.dims]
        coords = {dim: store.dataset[dim] for dim in names if dim in store.dataset.coords}
        kinds = ("y", "x") if isinstance(self._grid, Projected) else ("latitude", "longitude")
        lat, lon = ([dim for dim in coords if is_axis(coords[dim], kind)] for kind in kinds)
        times = [dim for dim in names if store.time(dim) is not None]
        leading, own = tuple(dim for dim in names if dim not in (*lat, *lon, *times)), self.variable.dims[:-2]
        if len(lat) != 1 or len(lon) != 1 or len(times) > 1 or len(leading) != len(own):
            told, wanted = ", ".join(names), ", ".join(("time", *own, *kinds))
            if "time" in names and not times:
                raise ForcingError(f'{self._where}: its "time" has no unit. Expected one such as "hours since 2000-01-01 00:00".')
            raise ForcingError(f"{self._where} has the dims ({told}), expected ({wanted}), or these without time. Correct the store.")
        return _Dims(times[0] if times else None, own if set(own) == set(leading) else leading, lat[0], lon[0])

    def _places(self, what: str, found: Array, wanted: Array, spacing: float) -> Array:
        """The places of rows or columns of the grid in the file: neighbours, either way round."""

        def off(one: Array, other: Array) -> Array:
            apart = np.abs(one - other)
            return np.asarray(np.minimum(apart % 360.0, -apart % 360.0) if what == "longitudes" else apart)

        first = int(np.argmin(off(found, wanted[0])))
        for step in (1, -1):
            at = first + step * np.arange(wanted.size)
            if what == "longitudes" and wanted.size <= found.size:
                at %= found.size
            if at.min() >= 0 and at.max() < found.size and (off(found[at], wanted) <= UNEVEN * spacing).all():
                return at
        raise ForcingError(
            f"{self._where} is on another grid: its {found.size} {what} go from {found[0]:.7g} to {found[-1]:.7g}, those of the run are "
            f"{wanted.size} from {wanted[0]:.7g} to {wanted[-1]:.7g}. Regrid the store{self._or_else}."
        )

    def _turn(self, store: FieldStore, dim: str, name: str, space: Space | None) -> slice:
        """The slice of a dim of the file that gives the order of a space of the model."""
        if space is None:
            return slice(None)
        labels, where = store.dataset[dim], f'{self._where}: "{dim}" and "{name}" of the model'
        if dim not in store.dataset.coords:  # then only the number of levels can be compared
            return turned(labels.values, None, np.arange(len(space.values)), space.units, where)
        return turned(labels.values, str(labels.attrs.get("units", "")) or None, space.values, space.units, where)

    def _ticks(self, time: "xarray.DataArray") -> Integers:
        """The instants of records: whole units and fractions apart, for their product has too few bits."""
        values, units, calendar = time.values, str(time.attrs["units"]), stated_calendar(time)
        try:
            zero, one = (cftime.num2date(number, zoned(units), calendar) for number in (0, 1))
        except ValueError as error:
            raise ForcingError(f'{self._where}: "{time.name}" in "{units}" is no time of the {calendar} calendar ({error}).') from None
        if not np.isfinite(values).all():
            raise ForcingError(f'{self._where}: a time in "{time.name}" is missing. Every record needs its instant.')
        since, unit = (zero - cftime.num2date(0, EPOCH, calendar)) // TICK, (one - zero) // TICK
        whole = np.floor(values)
        parts = (values - whole).astype(np.float64)  # int32 holds no microseconds
        ticks: Integers = since + whole.astype(np.int64) * unit + np.rint(parts * unit).astype(np.int64)
        seconds = (ticks + SECOND // 2) // SECOND * SECOND
        return np.where(np.abs(ticks - seconds) < NOISE, seconds, ticks)

    def _text(self, tick: int) -> str:
        return instant_text(cftime.datetime(1850, 1, 1, calendar=self.calendar) + tick * TICK)


def turned(found: Array, found_units: str | None, values: Sequence[float] | Array, units: str, where: str) -> slice:
    """The slice of a dim of a file that gives the order of a space: as it is, or backwards.

    found, found_units: coordinates of the file and their unit, None if the file has none.

    Examples
    --------
    >>> turned(np.array([100.0, 850.0, 1000.0]), "hPa", (100000.0, 85000.0, 10000.0), "Pa", "u")
    slice(None, None, -1)

    Raises
    ------
    ForcingError
        The coordinates differ, or their units do not convert.
    """
    wanted, numbered = np.asarray(values), len(found) == len(values) > 1 and bool((np.abs(np.diff(found)) == 1).all())
    line = conversion(found_units or units, units, where, cure=NUMBERED if numbered else IN_STORE)
    for turn in (slice(None), slice(None, None, -1)):
        if len(found) == len(wanted) and np.allclose(found[turn] * line.factor + line.offset, wanted, rtol=EQUAL, atol=0.0):
            return turn
    told, expected = (", ".join(f"{value:g}" for value in each[:8]) + (" ..." if len(each) > 8 else "") for each in (found, wanted))
    told = f"{len(found)} of {told} {found_units or ''}".rstrip()
    raise ForcingError(f"{where} differ: {told}, expected {len(wanted)} of {expected} {units}. {NUMBERED if numbered else MAKE}")


def _runs(places: Array) -> list[Array]:
    """Places cut where two are not neighbours: columns that go round the Earth begin elsewhere in the file."""
    return np.split(places, np.flatnonzero(np.abs(np.diff(places)) != 1) + 1)


def _way(places: Array) -> int:
    return -1 if places.size > 1 and places[1] < places[0] else 1
