"""One CF file or Zarr store of maps: its lattice, days and variables; values are read on demand."""

import errno
import resource
import warnings
from collections.abc import Hashable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import cftime
import numpy as np

from steppe.array_types import Array, Floats, Integers, Singles
from steppe.clock import CALENDARS, EPOCH, offset_of, zoned
from steppe.errors import DamagedError, Failure, ForcingError, GridError
from steppe.grid import FileLattice, read_lattice
from steppe.io.axis import day_name
from steppe.io.forcing.field_store import ALIASES, MAGIC, PROLEPTIC, stated_calendar
from steppe.io.forcing.valid_range import Span, unpacked_limits, valid_range

if TYPE_CHECKING:
    import xarray

CHUNK_CACHE = 4_000_000  # bytes a variable; the library's own 64 MB do not help, for every chunk is read once
ROUNDING = 1e-5  # [d] of a time in single precision or in seconds
GREGORIAN = -97598  # 1582-10-15, the first day on which the standard calendar is the proleptic one
LONGEST = 9  # days of a map: weeks, of which the last of a year may have the days that remain


class Days(NamedTuple):
    """The days of the maps of a file, (maps,). numbers: the first day of each, counted from 1850-01-01 in a calendar; lengths: in days.

    source: "time bounds" or "time stamps".
    """

    numbers: Integers
    lengths: Integers
    calendar: str
    source: str


class CfFile:
    """An open file. Values are read map by map, with scale, offset and missing values as CF has them.

    offsets: those from UTC of times whose days were asked for, as "+10:00"; their days are those of UTC.

    Raises
    ------
    ForcingError
        It is no NetCDF file or Zarr store, or its latitudes and longitudes are no even lattice.
    DamagedError
        It is one, but cannot be read.
    Failure
        The process may open no more files.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._dataset = _open(path)
        try:
            self.lattice: FileLattice = read_lattice(self._dataset)
        except GridError as error:
            raise ForcingError(f'"{path}": {error}') from None
        self._days: dict[str, Days] = {}
        self.offsets: set[str] = set()  # from UTC, of times whose days were asked for

    @property
    def variables(self) -> dict[str, Mapping[str, object]]:
        """Name -> attributes of every variable that has rows and columns and one more dimension that is time; limits of its own values."""
        found: dict[str, Mapping[str, object]] = {}
        for name, values in self._dataset.data_vars.items():
            if set(self.lattice.dims) <= set(values.dims) and self._time_of(values) is not None:
                found[str(name)] = {**values.attrs, **unpacked_limits(values)}
        return found

    def valid_range(self, name: str) -> Span:
        """The limits of a variable outside which its values are missing."""
        return valid_range(self._dataset[name])

    @property
    def maps(self) -> list[str]:
        """The variables that have three dimensions or more, whatever these are."""
        return [str(name) for name, values in self._dataset.data_vars.items() if values.ndim > 2]

    def unfit(self, name: str) -> str:
        """The reason why a variable of the file is not among `variables`; empty if the file has none of this name."""
        if name not in self._dataset.data_vars:
            return ""
        values = self._dataset[name]
        sizes = ", ".join(f"{dim}: {size}" for dim, size in values.sizes.items())
        units = {dim: values[dim].attrs.get("units") for dim in values.dims if dim not in self.lattice.dims and dim in values.coords}
        told = "".join(f', and "{dim}" has ' + (f'the unit "{unit}"' if unit else "no unit") for dim, unit in units.items())
        wanted = f'a time whose unit is such as "days since 2000-01-01", {" and ".join(self.lattice.dims)}'
        more = "dataset.isel chooses one place of any other"
        return f'"{self.path}": variable "{name}" has the dimensions ({sizes}){told}. Expected are {wanted}; {more}.'

    @property
    def attributes(self) -> Mapping[str, object]:
        """Attributes of the whole file."""
        return self._dataset.attrs

    def days(self, name: str) -> Days:
        """The days of a variable. Time bounds decide where there are any, else the date of the stamp.

        Raises
        ------
        ForcingError
            The time is not a CF time, a map is neither of a day nor of a week, or days are missing, double or out of order.
        """
        time = self._time_of(self._dataset[name])
        assert time is not None
        if time not in self._days:
            self._days[time] = self._read_days(time)
        return self._days[time]

    def maps_at_once(self, name: str) -> int:
        """The number of maps in one chunk of the file, which is decompressed as a whole."""
        values = self._dataset[name]
        chunk = values.encoding.get("preferred_chunks") or {}
        return int(chunk.get(self._time_of(values), 1))

    def read(self, name: str, maps: slice, rows: range, columns: range) -> Singles:
        """Some maps of a part of the lattice, from north to south and west to east: float32 (maps, rows, columns), NaN where missing.

        Raises
        ------
        DamagedError
            The file cannot be read there.
        """
        values = self._dataset[name]
        time = self._time_of(values)
        lattice = self.lattice
        row_of, column_of = lattice.rows[rows.start : rows.stop], lattice.columns[columns.start : columns.stop]
        window = [(int(along.min()), int(along.max()) + 1) for along in (row_of, column_of)]
        where: dict[Hashable, slice] = {time: maps, lattice.dims[0]: slice(*window[0]), lattice.dims[1]: slice(*window[1])}
        try:
            found = values.isel({dim: where.get(dim, 0) for dim in values.dims}).transpose(time, *lattice.dims).values
        except (OSError, RuntimeError, ValueError) as error:
            days = self.days(name)
            ends = [day_name(int(day), days.calendar) for day in days.numbers[maps][[0, -1]]]
            raise DamagedError(
                f'"{self.path}", variable "{name}", days {ends[0]} to {ends[1]} cannot be read ({error}). Get the file again.'
            ) from None
        array = np.asarray(found, np.float32)
        ordered: Singles = array[:, _along(row_of - window[0][0])][:, :, _along(column_of - window[1][0])]
        return ordered

    def close(self) -> None:
        """Lets the file go."""
        self._dataset.close()

    def _time_of(self, values: "xarray.DataArray") -> str | None:
        """The time dimension of a variable whose other dimensions, but rows and columns, have one place each."""
        more = [str(dim) for dim in values.dims if dim not in self.lattice.dims]
        times = [dim for dim in more if dim in self._dataset.coords and " since " in str(self._dataset[dim].attrs.get("units", "")).lower()]
        if len(times) != 1 or any(values.sizes[dim] != 1 for dim in more if dim != times[0]):
            return None
        return times[0]

    def _read_days(self, time: str) -> Days:
        stamps = self._dataset[time]
        stated = stated_calendar(stamps)
        calendar = ALIASES.get(stated, stated)
        if calendar not in CALENDARS:
            raise ForcingError(f'"{self.path}": the calendar of "{time}" is "{calendar}". Known: {", ".join(CALENDARS)}.')
        if offset := offset_of(str(stamps.attrs["units"])):
            self.offsets.add(offset)
        if not stamps.size:
            raise ForcingError(f'"{self.path}" holds no day: "{time}" is empty.')
        bounds = self._dataset.variables.get(stamps.attrs.get("bounds", ""))
        if bounds is None:
            low = np.floor(self._numbers(stamps, stamps.values) + ROUNDING)
            lengths, source = np.ones(low.size, np.int64), "time stamps"
        else:
            low, high = self._numbers(stamps, np.asarray(bounds.values)).T
            lengths, source = np.rint(high - low).astype(np.int64), "time bounds"
            wrong = np.flatnonzero((np.abs(high - low - lengths) > ROUNDING) | (lengths < 1) | (lengths > LONGEST))
            if wrong.size:
                at = int(wrong[0])
                length, advice = high[at] - low[at], "Make them daily first."
                if (np.diff(np.floor(low)) >= 1.0).all() and length < 1.0:
                    advice = (
                        "If bounds are the first and the last stamp of a whole day, as cdo daymean writes them, take them away: "
                        f"ncatted -a bounds,{time},d,, FILE."
                    )
                raise ForcingError(
                    f'"{self.path}": the map of {day_name(int(low[at]), calendar)} is of {length:g} days, expected daily or weekly maps. '
                    f"{advice}"
                )
            low = np.floor(low + 0.5 + ROUNDING)  # the day that holds most of the first 24 hours
        days = low.astype(np.int64)
        if calendar == "standard" and stated == PROLEPTIC and days.min() < GREGORIAN:
            raise ForcingError(
                f'"{self.path}" has days before 1582-10-15 in the calendar "{stated}", and a store has Julian ones there. Give later days.'
            )
        steps = np.diff(days)
        wrong = np.flatnonzero(steps < lengths[:-1])
        if wrong.size:
            at = int(wrong[0])
            name, before = day_name(int(days[at + 1]), calendar), day_name(int(days[at]), calendar)
            what = "comes twice" if 0 <= steps[at] < lengths[at] else f"comes after {before}"
            raise ForcingError(
                f'"{self.path}": {name} {what} (map {at + 2} of {days.size}; {wrong.size} such). '
                "Every day must be there once, in order; make sub-daily maps daily first."
            )
        return Days(days, lengths, calendar, source)

    def _numbers(self, stamps: "xarray.DataArray", values: Array) -> Floats:
        """Times as days since 1850-01-01. Calendars of equal days since 1582 differ where "units" begins before."""
        units, calendar = str(stamps.attrs["units"]), stated_calendar(stamps)
        lacking = np.argwhere(~np.isfinite(values))
        if len(lacking):
            raise ForcingError(
                f'"{self.path}": {len(lacking)} of {values.size} times in "{stamps.name}" or its bounds are missing, the first at map '
                f"{int(lacking[0][0]) + 1}. Every map needs its day; correct the file."
            )
        try:
            dates = cftime.num2date(values, zoned(units), calendar)
            return np.asarray(cftime.date2num(dates, EPOCH, calendar=calendar), dtype=np.float64)
        except (ValueError, OverflowError) as error:
            raise ForcingError(f'"{self.path}": "{stamps.name}" in "{units}" is no time of the {calendar} calendar ({error}).') from None


def _along(places: Integers) -> slice | Integers:
    """Places 0 .. n - 1 of an axis as a slice, if they rise or fall throughout: a slice copies nothing."""
    step = np.diff(places)
    if (step == 1).all():
        return slice(None)
    return slice(None, None, -1) if (step == -1).all() else places


def _open(path: Path) -> "xarray.Dataset":
    import xarray  # at ingest only

    if not path.exists():
        raise ForcingError(f'There is no "{path}". Give NetCDF files or Zarr stores of daily maps.')
    try:
        with warnings.catch_warnings():
            # a _FillValue and another missing_value: both are missing, and xarray takes them so
            warnings.filterwarnings("ignore", ".*has multiple fill values", xarray.SerializationWarning)
            if path.is_dir():
                stored: xarray.Dataset = xarray.open_zarr(path, chunks=None, consolidated=False, decode_times=False)
                return stored
            with path.open("rb") as file:
                start = file.read(4)
            if not start.startswith(MAGIC):
                raise ForcingError(f'"{path}" is no NetCDF file: it begins with {start!r}. Get the file again, or give another.')
            return _open_netcdf(path)
    except (OSError, RuntimeError, ValueError, KeyError) as error:
        if getattr(error, "errno", None) == errno.EMFILE:
            most = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
            raise Failure(
                f'"{path}" cannot be opened: {most} files are open, the most that a process may have here, and all files of maps are open '
                "together. Raise the limit with ulimit -n, or join the files."
            ) from None
        reason = str(error).split("\n")[0]
        if path.is_dir():
            raise ForcingError(f'"{path}" is no Zarr store of maps ({reason}). Of a folder of NetCDF files give the files.') from None
        raise DamagedError(f'"{path}" cannot be read ({reason}). It may be cut short; get the file again.') from None


def _open_netcdf(path: Path) -> "xarray.Dataset":
    import netCDF4
    import xarray

    kept = netCDF4.get_chunk_cache()
    netCDF4.set_chunk_cache(CHUNK_CACHE)
    try:
        return xarray.open_dataset(path, engine="netcdf4", decode_times=False, cache=False)
    finally:
        netCDF4.set_chunk_cache(*kept)
