"""A CF Zarr store of fields: its descriptions and coordinates.

winds.zarr                  version 2 or 3, of any chunks
  time  lat  lon  level     instants of the records; rows and columns of the grid, either way up; spaces of the model
  u  v  w                   (time, level, lat, lon), in any order of dims
  height                    (lat, lon): without time, one record that always holds
"""

import hashlib
import json
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import cftime
import numpy as np

from steppe.array_types import Floats
from steppe.clock import CALENDARS, zoned
from steppe.errors import ForcingError, GridError
from steppe.grid import FileLattice, Gaussian, Projected, Raster, is_axis, is_gaussian, read_lattice
from steppe.grid.projected import parse_crs, project

if TYPE_CHECKING:
    import xarray

PROLEPTIC = "proleptic_gregorian"
ALIASES = {"gregorian": "standard", PROLEPTIC: "standard", "365_day": "noleap"}  # the same days since 1582
REFORM = cftime.datetime(1582, 10, 15, calendar=PROLEPTIC)  # before it, standard dates are Julian
OFF = 0.1  # of an interval: months have their stamps on the 15th or the 16th; of a cell: datums differ by metres
MAGIC = (b"CDF", b"\x89HDF")  # of NetCDF 3 and 4


@dataclass(frozen=True, eq=False)
class FieldStore:
    """An open store, without the values of its variables."""

    path: Path
    dataset: "xarray.Dataset"

    @classmethod
    def open(cls, path: Path) -> "FieldStore":
        """Reads the descriptions and coordinates of a store.

        Raises
        ------
        ForcingError
            There is no Zarr store, or a NetCDF file is there; then the message has the line that converts it.
        """
        if not path.exists():
            raise ForcingError(f'There is no store of fields "{path}". Give a CF Zarr store on the grid of the run.')
        if path.is_file():
            with path.open("rb") as file:
                netcdf = file.read(4).startswith(MAGIC)
            if netcdf:
                line = f'xarray.open_dataset("{path}").to_zarr("{path.with_suffix(".zarr")}")'
                raise ForcingError(f'"{path}" is a NetCDF file, and fields are read from Zarr. Convert it in Python: {line}')
        import xarray  # takes half a second to load

        try:
            with warnings.catch_warnings():
                # a _FillValue and another missing_value: xarray takes both as missing
                warnings.filterwarnings("ignore", ".*has multiple fill values", xarray.SerializationWarning)
                found: xarray.Dataset = xarray.open_zarr(path, chunks=None, consolidated=False, decode_times=False)
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise ForcingError(f'"{path}" is no Zarr store ({reason(error)}). Give a CF Zarr store on the grid of the run.') from None
        if "steppe_format" in found.attrs:
            raise ForcingError(f'"{path}" is a forcing store of packed cells, not of fields. Write store = "{path}" under [forcing].')
        return cls(path, found)

    @property
    def attributes(self) -> Mapping[str, object]:
        """Attributes of the whole store."""
        return self.dataset.attrs

    @property
    def names(self) -> tuple[str, ...]:
        """Its variables."""
        return tuple(sorted(map(str, self.dataset.data_vars)))

    variables = names

    @property
    def maps(self) -> tuple[str, ...]:
        """Its variables of rows and columns."""
        kinds = "latitude", "longitude"
        on = {name: [any(is_axis(self.dataset[dim], kind) for dim in self.dataset[name].dims) for kind in kinds] for name in self.names}
        return tuple(name for name, found in on.items() if all(found))

    @cached_property
    def columns(self) -> dict[str, tuple[np.ndarray, str]]:
        """Its variables and coordinates of one dim, which is neither time nor place, or of none: name -> values (float64) and unit."""
        found = {}
        for name, values in self.dataset.variables.items():
            place = any(is_axis(self.dataset[dim], kind) for dim in values.dims for kind in ("latitude", "longitude"))
            times = any(self.time(str(dim)) is not None for dim in values.dims)
            if values.ndim < 2 and values.dtype.kind in "fiu" and not (place or times):
                found[str(name)] = values.values.astype(np.float64), str(values.attrs.get("units", ""))
        return found

    @cached_property
    def calendar(self) -> str:
        """The calendar of its times; "standard" if nothing changes in time.

        Raises
        ------
        ForcingError
            Steppe does not know it, or there are several.
        """
        found = {stated_calendar(time) for time in self._times}
        calendars = {ALIASES.get(each, each) for each in found} or {"standard"}
        if found == {PROLEPTIC} and any(_is_early(time) for time in self._times):
            return PROLEPTIC
        if len(calendars) > 1 or not calendars <= set(CALENDARS):
            told = ", ".join(f'"{each}"' for each in sorted(found))
            raise ForcingError(
                f'"{self.path}" has the calendar {told}, expected one of {", ".join(CALENDARS)}. Calendars are never converted.'
            )
        return calendars.pop()

    def off_stamps(self, name: str, last: bool) -> str:
        """A sentence if time bounds say that records of a variable are of intervals and their stamps lie elsewhere than a run takes them.

        last: each record holds from its stamp on; otherwise the run is linear between stamps, which should be the middles.
        """
        values = self.dataset[name]
        time = self._time_of(name)
        bounds = None if time is None else self.dataset.variables.get(str(time.attrs.get("bounds", "")))
        if time is None or bounds is None or bounds.shape != (time.size, 2) or "time: point" in str(values.attrs.get("cell_methods", "")):
            return ""
        begin, end = np.asarray(bounds.values, np.float64).T
        wanted, place = (begin, "beginning") if last else ((begin + end) / 2.0, "middle")
        off = int(np.count_nonzero(np.abs(time.values - wanted) > OFF * np.abs(end - begin)))
        if not off:
            return ""
        taken = "holds it from its stamp on" if last else "takes it at its stamp, linear between two"
        return (
            f'"{self.path}", variable "{name}": by "{time.attrs["bounds"]}" each value is of an interval, and the run {taken}. {off:,} of '
            f"{time.size:,} stamps are not the {place} of theirs. Write a store whose times are."
        )

    def apart(self, name: str) -> timedelta | None:
        """The usual time from one record of a variable to the next; None where it has no two, or no time that can be read."""
        time = self._time_of(name)
        if time is None or time.size < 2:
            return None
        try:
            zero, one = (cftime.num2date(number, zoned(time.attrs["units"]), self.calendar) for number in (0, 1))
            return float(np.sort(np.diff(time.values))[time.size // 2 - 1]) * (one - zero)  # type: ignore[no-any-return]
        except (ValueError, OverflowError):  # of a time that the reader refuses
            return None

    @property
    def period(self) -> tuple[cftime.datetime, cftime.datetime] | None:
        """The first and the last instant of its records; None if nothing changes in time.

        Raises
        ------
        ForcingError
            Its times cannot be read.
        """
        try:
            times = [time for time in self._times if time.size]
            ends = [cftime.num2date(time.values[[0, -1]], zoned(time.attrs["units"]), stated_calendar(time)) for time in times]
        except (ValueError, OverflowError) as error:
            raise ForcingError(f'"{self.path}": the times cannot be read ({reason(error)}). Write them as CF does.') from None
        return (max(first for first, _ in ends), min(last for _, last in ends)) if ends else None

    @property
    def digest(self) -> str:
        """SHA-256 (hex) of descriptions and coordinates. Values of fields do not count."""
        found = hashlib.sha256()
        for name in sorted(map(str, self.dataset.variables)):
            values = self.dataset[name]
            packed = {key: repr(values.encoding.get(key)) for key in ("scale_factor", "add_offset")}
            said = [name, values.dims, values.shape, str(values.dtype), {key: repr(what) for key, what in values.attrs.items()}, packed]
            found.update(json.dumps(said, sort_keys=True).encode())
            if name in self.dataset.coords and values.ndim < 2:
                found.update(np.ascontiguousarray(values.values).tobytes())
        return found.hexdigest()

    def grid(self) -> Raster | Projected:
        """Its rows and columns; every cell takes part.

        Raises
        ------
        GridError
            They are not evenly spaced longitudes and latitudes, Gaussian ones, or metres of a projection.
        """
        axes = self.dataset.coords.values()
        lat, lon = (next((each.values for each in axes if is_axis(each, kind)), np.empty(0)) for kind in ("latitude", "longitude"))
        if is_gaussian(lat.astype(np.float64)) and lon.size == 2 * lat.size:
            return Gaussian(lat.size, lon0=round(float(lon.min()), 5))  # as many digits as float32 has
        lattice = self._lattice
        y, x = float(lattice.lat[0]), float(lattice.lon[0])
        every = np.ones((lattice.lat.size, lattice.lon.size), bool)
        if lattice.crs is None:
            return Raster(y, lattice.dlat, x, lattice.dlon, every)
        return Projected.project(y, lattice.dlat, x, lattice.dlon, every, lattice.crs)

    def metres(self, grid: Projected) -> tuple[Floats, Floats]:
        """Its rows and columns [m], in the order of the file, if they are of the projection of a grid.

        Raises
        ------
        ForcingError
            The cells of the grid lie elsewhere in the projection of the store; zones of UTM have the same numbers.
        GridError
            Its axes are not evenly spaced, or it has no projection.
        """
        lattice = self._lattice
        row, column = np.divmod(grid.order[[0, -1]], grid.x.size)
        x, y = project(parse_crs(lattice.crs or {}), grid.cell_lon[[0, -1]], grid.cell_lat[[0, -1]])
        if not (np.hypot(x - grid.x[column], y - grid.y[row]) <= OFF * grid.dx).all():
            raise ForcingError(f'"{self.path}" is on another projection than the run. Regrid the store.')
        y, x = np.empty_like(lattice.lat), np.empty_like(lattice.lon)
        y[lattice.rows], x[lattice.columns] = lattice.lat, lattice.lon
        return y, x

    @cached_property
    def _lattice(self) -> FileLattice:
        try:
            return read_lattice(self.dataset)
        except GridError as error:
            raise GridError(f'"{self.path}": {error}') from None

    def time(self, dim: str) -> "xarray.DataArray | None":
        """The times of a dim; None if the dim is no time."""
        found = self.dataset.coords.get(dim)
        return found if found is not None and " since " in str(found.attrs.get("units", "")).lower() else None

    @property
    def _times(self) -> "list[xarray.DataArray]":
        """The times of all dims that have some."""
        return [time for dim in sorted(map(str, self.dataset.dims)) if (time := self.time(dim)) is not None]

    def _time_of(self, name: str) -> "xarray.DataArray | None":
        """The times of a variable; None if it does not change in time."""
        return next((time for dim in self.dataset[name].dims if (time := self.time(str(dim))) is not None), None)


def stated_calendar(time: "xarray.DataArray") -> str:
    """The calendar of times, as the store names it."""
    return str(time.attrs.get("calendar", "standard")).lower()


def _is_early(time: "xarray.DataArray") -> bool:
    """Whether some proleptic times are before the standard calendar had the same days. False of times that the reader refuses."""
    try:
        return bool(time.size) and bool(cftime.num2date(time.values.min(), zoned(time.attrs["units"]), PROLEPTIC) < REFORM)
    except (ValueError, OverflowError):
        return False


def reason(error: BaseException) -> str:
    """The first line of an error of another library."""
    return (str(error) or type(error).__name__).splitlines()[0]
