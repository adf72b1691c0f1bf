"""The forcing store: weather of the cells of a grid, a Zarr version 3 group that any CF reader opens.

    weather.zarr/
      zarr.json                     grid, its digest, order of cells, source and quality of the weather
      time  time_bnds               int32 days since 1850-01-01; other axes (time_weekly ...) beside it
      cell  cell_lat  cell_lon ...  coordinates of the packed cells
      rain  tmin  tmax ...          (time, cell) integers with scale_factor and add_offset, or floats; no value is ever missing
      distance_to_nearest_donor     (cell,) static
      pack/                         a copy of the shards that is faster to read (`pack_file`); it may be removed

`ForcingStore.open` reads the descriptions; `ForcingWriter` makes a store, `ForcingReader` gives its values to a run.
"""

import hashlib
import json
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numcodecs import zstd

from steppe.array_types import Array, Floats
from steppe.errors import DamagedError, ForcingError, nearest
from steppe.grid import Grid
from steppe.io.axis import Axis, day_name
from steppe.io.shard import Layout, layout_of
from steppe.io.shard_file import read_chunk

PLAIN_CODECS = [  # of numbers by `write_small`
    {"name": "bytes", "configuration": {"endian": "little"}},
    {"name": "zstd", "configuration": {"level": 3, "checksum": True}},
]
FORMAT = 1  # of forcing stores; a reader refuses a greater one


class Stored(NamedTuple):
    """The description of a variable that changes in time: value = raw x scale + offset [units]."""

    name: str
    units: str
    layout: Layout
    axis: Axis
    scale: float
    offset: float
    low: float
    high: float


class Constant(NamedTuple):
    """A variable without time: value = raw x scale + offset [units]; raw (cells,)."""

    name: str
    units: str
    raw: Array
    scale: float
    offset: float


@dataclass(frozen=True, eq=False)
class ForcingStore:
    """An open store: descriptions, not the values. attributes: of the group. static: names of variables without time."""

    path: Path
    attributes: Mapping[str, Any]
    variables: Mapping[str, Stored]
    static: tuple[str, ...]
    cell_lat: Floats
    cell_lon: Floats

    @classmethod
    def open(cls, path: Path) -> "ForcingStore":
        """Reads the descriptions and coordinates of a store.

        Raises
        ------
        ForcingError
            There is no store, it is not a forcing store, or a newer Steppe made it.
        DamagedError
            A description or a coordinate cannot be read.
        """
        attributes = _group_attributes(path)
        names = sorted(folder.name for folder in path.iterdir() if (folder / "zarr.json").is_file())
        described = {name: json.loads((path / name / "zarr.json").read_bytes()) for name in names}
        data = {name: what for name, what in described.items() if what["attributes"].get("steppe_role") == "forcing"}
        calendar = attributes["calendar"]
        axes = {name: _axis(path, name, calendar) for name in {what["dimension_names"][0] for what in data.values()} - {"cell"}}
        variables = {
            name: _stored(path, name, what["attributes"], axes[what["dimension_names"][0]])
            for name, what in data.items()
            if what["dimension_names"] != ["cell"]
        }
        static = tuple(name for name in data if name not in variables)
        return cls(path, attributes, variables, static, read_small(path, "cell_lat"), read_small(path, "cell_lon"))

    @staticmethod
    def is_at(path: Path) -> bool:
        """Whether there is a forcing store."""
        with suppress(ForcingError, DamagedError):
            return bool(_group_attributes(path))
        return False

    @property
    def n_cells(self) -> int:
        """Number of cells."""
        return len(self.cell_lat)

    @property
    def names(self) -> tuple[str, ...]:
        """All variables: those that change in time, then those that do not."""
        return (*self.variables, *self.static)

    @property
    def period(self) -> tuple[str, str]:
        """First and last day that all variables have, as texts such as 1990-01-31 in the calendar of the store.

        Raises
        ------
        ForcingError
            The store has no variable that changes in time.
        """
        axes = [stored.axis for stored in self.variables.values()]
        if not axes:
            raise ForcingError(f'"{self.path}" has no weather, only variables without time: {", ".join(self.static)}. Give another store.')
        first, last = max(int(axis.starts[0]) for axis in axes), min(int(axis.stops[-1]) for axis in axes) - 1
        return day_name(first, self.calendar), day_name(last, self.calendar)

    @property
    def calendar(self) -> str:
        """Calendar of all its time axes."""
        return str(self.attributes["calendar"])

    @property
    def digest(self) -> str:
        """SHA-256 (hex) of all descriptions: equal if a run continues with the same forcing.

        They have size and xxh3 of every source file, or the seed, and the method. Shards do not count: a changed or lost shard is damage,
        which reading finds, and the run continues when the shard is restored.
        """
        found = hashlib.sha256()
        for name in ("", *sorted(path.parent.name for path in self.path.glob("*/zarr.json") if path.parent.name != "pack")):
            found.update(f"{name}\n".encode() + (self.path / name / "zarr.json").read_bytes())
        return found.hexdigest()

    def __getitem__(self, name: str) -> Stored:
        """The description of a variable that changes in time.

        Raises
        ------
        ForcingError
            There is no such variable.
        """
        if name not in self.variables:
            raise ForcingError(f'"{self.path}" has no variable "{name}" that changes in time.{nearest(name, self.variables)}')
        return self.variables[name]

    def constant(self, name: str) -> Constant:
        """A variable without time, its values read.

        Raises
        ------
        DamagedError
            They cannot be read.
        """
        attributes = json.loads((self.path / name / "zarr.json").read_bytes())["attributes"]
        scale, offset = float(attributes.get("scale_factor", 1.0)), float(attributes.get("add_offset", 0.0))
        return Constant(name, attributes["units"], read_small(self.path, name), scale, offset)

    def check_grid(self, grid: Grid, advice: str = "Make a store for this grid.") -> None:
        """Checks that the store is for exactly the cells of `grid`. advice: a sentence for the message.

        Raises
        ------
        ForcingError
            It is for other cells; the message names the difference.
        """
        if self.attributes["grid_digest"] == grid.digest:
            return
        here = set(zip(np.round(self.cell_lat, 6), np.round(self.cell_lon, 6), strict=True))
        there = set(zip(np.round(grid.cell_lat, 6), np.round(grid.cell_lon, 6), strict=True))
        lacking = there - here
        if lacking:
            latitude, longitude = sorted(lacking)[0]
            raise ForcingError(
                f'"{self.path}" is for another grid of {self.n_cells} cells: {len(lacking)} of the {grid.n_cells} cells of this run '
                f"have no weather in it, the first at latitude {latitude:g}, longitude {longitude:g}. {advice}"
            )
        raise ForcingError(
            f'"{self.path}" is for a grid of {self.n_cells} cells in another order or mask than the {grid.n_cells} of this run. {advice}'
        )

    def chunk(self, name: str, index: tuple[int, int], out: Array | None = None) -> Array:
        """Raw values of one whole chunk of a variable, counted along (time, cell), also if the array ends inside it.

        Raises
        ------
        DamagedError
            The file is missing or damaged; the message names file, variable and days.
        """
        try:
            return read_chunk(self.path, name, index, self.variables[name].layout, out)
        except DamagedError as error:
            raise self.named(error, name, index[0]) from None

    def named(self, error: DamagedError, name: str, row: int) -> DamagedError:
        """The same error with variable and days, for a row of chunks."""
        stored = self.variables[name]
        first = row * stored.layout.chunk[0]
        last = min(first + stored.layout.chunk[0], stored.axis.rows) - 1
        days = (day_name(int(stored.axis.starts[first]), self.calendar), day_name(int(stored.axis.stops[last]) - 1, self.calendar))
        return DamagedError(f'Variable "{name}", days {days[0]} to {days[1]}: {error}')


def read_small(path: Path, name: str) -> Array:
    """All values of a coordinate or a static variable.

    Numbers are read as `write_small` wrote them, since importing zarr takes longer than starting a rank; all else is read by zarr.

    Raises
    ------
    DamagedError
        It is missing or cannot be read.
    """
    folder = path / name
    try:
        described = json.loads((folder / "zarr.json").read_bytes())
        shape, chunk = described["shape"], described["chunk_grid"]["configuration"]["chunk_shape"]
        if described["codecs"] == PLAIN_CODECS and shape == chunk and re.fullmatch(r"u?int\d+|float\d+", str(described["data_type"])):
            data = zstd.decompress(folder.joinpath("c", *("0" for _ in shape)).read_bytes())
            return np.array(np.frombuffer(data, np.dtype(described["data_type"]).newbyteorder("<")), described["data_type"]).reshape(shape)
        import zarr

        return np.asarray(zarr.open_array(folder, mode="r")[...])
    except (OSError, ValueError, RuntimeError, KeyError) as error:
        raise DamagedError(f'"{folder}" cannot be read ({error}). Restore the store, or make it again.') from None


def read_static(path: Path, variable: str, grid: Grid) -> Floats:
    """A variable without time from a store for `grid`, float64 (cells,).

    Raises
    ------
    ForcingError
        There is no such store or variable, or the store is for another grid.
    DamagedError
        The values cannot be read.
    """
    store = ForcingStore.open(path)
    if variable not in store.static:
        raise ForcingError(f'"{path}" has no variable "{variable}" without time.{nearest(variable, store.static)}')
    store.check_grid(grid)
    found = store.constant(variable)
    return found.raw.astype(np.float64) * found.scale + found.offset


def _group_attributes(path: Path) -> Mapping[str, Any]:
    try:
        attributes = json.loads((path / "zarr.json").read_bytes())["attributes"]
    except (FileNotFoundError, NotADirectoryError):
        if path.is_file():
            raise ForcingError(f'"{path}" is a file, no forcing store. `steppe ingest netcdf {path.name} -o STORE` makes one.') from None
        raise ForcingError(f'There is no forcing store "{path}". Make one with `steppe ingest`.') from None
    except (ValueError, KeyError) as error:
        raise DamagedError(f'"{path}/zarr.json" cannot be read ({error}). Restore the store, or make it again.') from None
    if attributes.get("steppe_kind") != "forcing":
        raise ForcingError(f'"{path}" is not a forcing store of Steppe. Make one with `steppe ingest`.')
    found = attributes.get("steppe_format")
    if not isinstance(found, int) or found > FORMAT:
        raise ForcingError(f'"{path}" has steppe_format {found}, this Steppe reads up to {FORMAT}. Install a newer Steppe.')
    return dict(attributes)


def _axis(path: Path, name: str, calendar: str) -> Axis:
    bounds = read_small(path, f"{name}_bnds").astype(np.int64)
    axis = Axis(name, bounds[:, 0], bounds[:, 1], calendar)
    wrong = np.flatnonzero((axis.stops[:-1] != axis.starts[1:]) | (axis.stops[:-1] <= axis.starts[:-1]))
    if wrong.size:
        day = day_name(int(axis.starts[wrong[0]]), calendar)
        raise ForcingError(f'"{path}": {name}_bnds has a gap or an overlap after {day}. Make the store again.')
    return axis


def _stored(path: Path, name: str, attributes: Mapping[str, Any], axis: Axis) -> Stored:
    scale, offset = float(attributes.get("scale_factor", 1.0)), float(attributes.get("add_offset", 0.0))
    low, high = float(attributes.get("valid_min", -np.inf)), float(attributes.get("valid_max", np.inf))
    return Stored(name, attributes["units"], layout_of(path, name), axis, scale, offset, low, high)
