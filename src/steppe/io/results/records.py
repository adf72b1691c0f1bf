"""Records of a run or of a forcing store as plain arrays, for programs that do without xarray; only committed records are read.

`open_results` reads the same records as a dataset. Both verify both checksums of each chunk.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from steppe.array_types import Array, Integers
from steppe.errors import FolderError
from steppe.grid import Gaussian, Grid, Points, Raster
from steppe.grid.region import DIGITS
from steppe.io.axis import Axis
from steppe.io.forcing.store import read_small
from steppe.io.output.store import description, group_attributes
from steppe.io.results.dataset import KINDS, is_packed, locate, readable_records
from steppe.io.shard import layout_of
from steppe.io.shard_file import read_chunk
from steppe.levels import Space, layer, parted


@dataclass(frozen=True, eq=False)
class StoredRecords:
    """A group of variables. about: attributes of the store. attributes: of everything in the group, coordinates too.

    variables: those with records, (time, cell) or (time, region), or with levels after time. axes: variable -> the readable part of its
    time axis. whole: time axis -> all of it, written or not. static: variables (cell,) without time. levels: variable -> name and
    coordinate of its levels. `axes` and `attributes` also have each level, as "ozone[3]".
    """

    path: Path
    about: Mapping[str, object]
    variables: tuple[str, ...]
    axes: Mapping[str, Axis]
    whole: Mapping[str, Axis]
    static: tuple[str, ...]
    attributes: Mapping[str, Mapping[str, object]]
    levels: Mapping[str, tuple[str, Space]]

    @classmethod
    def open(cls, path: Path, name: str = "", kinds: Sequence[str] = KINDS) -> "StoredRecords":
        """The maps of a run folder or a store, or the series or other maps of a name; with the kinds `MAPS` only maps.

        Raises
        ------
        FolderError
            There is no store at `path`, or no group of this name in it; or the store is that of another program.
        DamagedError
            A description or an axis cannot be read.
        """
        store, group = locate(path, name, kinds)
        about = group_attributes(store)
        if "steppe_format" not in about:
            raise FolderError(f'"{path}" is no store of Steppe. Open it with xarray.open_zarr("{path}").')
        described = {file.parent.name: description(file.parent) for file in sorted(group.glob("*/zarr.json"))}
        dims = {name: what.get("dimension_names") or [] for name, what in described.items()}
        values = {name: str(of[0]) for name, of in dims.items() if is_packed(of)}
        whole = {axis: _axis(group, axis, described[axis]) for axis in set(values.values())}
        counts = readable_records(store, group)
        axes = {}
        for variable, axis in values.items():
            rows = slice(0, whole[axis].rows if counts is None else counts.get(variable, 0))
            axes[variable] = whole[axis].part(rows)
        attributes = {name: what["attributes"] for name, what in described.items()}
        hybrid = dims.get("hyai") == ["interface"]
        levels = {
            name: (of[1], _space(group, of[1], attributes[of[1]], hybrid)) for name, of in dims.items() if name in values and len(of) == 3
        }
        static = tuple(name for name, of in dims.items() if list(of) == ["cell"] and attributes[name].get("steppe_role") == "forcing")
        for name, (_, space) in levels.items():
            for level in range(len(space.values)):
                axes[layer(name, level)] = axes[name]
                long_name = f"{attributes[name]['long_name']}, {space.label(level)}"
                attributes[layer(name, level)] = {**attributes[name], "long_name": long_name}
        return cls(group, about, tuple(values), axes, whole, static, attributes, levels)

    @property
    def names(self) -> list[str]:
        """The variables, but of one with levels each level."""
        return [each for name in self.variables for each in self.of_levels(name)]

    def of_levels(self, name: str) -> list[str]:
        """The levels of a variable, or the variable itself."""
        return [layer(name, level) for level in range(len(self.levels[name][1].values))] if name in self.levels else [name]

    @property
    def raster(self) -> tuple[str, ...]:
        """The axes of the raster that the cells are packed from, rows before columns; none for points."""
        return tuple(str(self.attributes["cell"].get("compress", "")).split())

    @cached_property
    def grid(self) -> Grid:
        """The grid of the cells. The cells of a raster without latitudes and longitudes as axes are points.

        Raises
        ------
        DamagedError
            A coordinate cannot be read.
        """
        if self.raster != ("lat", "lon"):
            lat, lon = self.small("cell_lat"), self.small("cell_lon")
            ids = self.small("cell_id") if "cell_id" in self.attributes else range(len(lat))
            return Points(tuple(map(str, ids)), lat, lon)
        lat, lon, rows, columns = (self.small(name) for name in ("lat", "lon", "lat_bnds", "lon_bnds"))
        active = np.zeros((len(lat), len(lon)), dtype=bool)
        active.ravel()[self.small("cell")] = True
        on_pole = lat[0] == 90.0  # where the row is cut
        if abs(lat[0] - rows[0].mean()) > 1e-6 and not on_pole:  # on no other raster a latitude lies beside the middle of its edges
            return Gaussian(len(lat), active, float(lon[0]))
        north, south = (lat[0] if on_pole else rows[0, 0]), (lat[-1] if lat[-1] == -90.0 else rows[-1, 1])
        high = len(lat) - (0.5 if on_pole else 0.0) - (0.5 if lat[-1] == -90.0 else 0.0)
        dlat, dlon = _spacing(north, south, high), _spacing(columns[0, 0], columns[-1, 1], len(lon))
        return Raster(float(lat[0]), dlat, float(lon[0]), dlon, active)

    def small(self, name: str) -> Array:
        """All values of a coordinate.

        Raises
        ------
        DamagedError
            It cannot be read.
        """
        return read_small(self.path, name)

    def read(self, name: str, records: slice, columns: Integers | None = None) -> Array:
        """Some records of a variable in its unit, NaN where missing; float64, float32 where the store has that.

        (records, columns), or (records, levels, columns) of all levels of a variable. columns: indices of cells or regions, all when left
        out.

        Raises
        ------
        DamagedError
            A file is missing, cut short or changed.
        """
        first, stop, _ = records.indices(self.axes[name].rows)
        name, level = parted(name)
        layout, attributes = layout_of(self.path, name), self.attributes[name]
        wanted = np.arange(description(self.path / name)["shape"][-1]) if columns is None else columns
        stop = max(first, stop)
        packed = np.dtype(layout.dtype).kind != "f"
        between = () if level is not None else layout.chunk[1:-1]
        found = np.empty((stop - first, *between, wanted.size), np.float64 if packed else layout.dtype)
        for j in np.unique(wanted // layout.chunk[-1]):
            places = np.flatnonzero(wanted // layout.chunk[-1] == j)
            here: Array | slice = places
            inside: Array | slice = wanted[places] % layout.chunk[-1]
            if columns is None:  # copied in one piece
                here, inside = slice(places[0], places[-1] + 1), slice(0, places.size)
            for i in range(first // layout.chunk[0], -(-stop // layout.chunk[0])):
                chunk = read_chunk(self.path, name, (i, int(j)), layout)
                chunk = chunk if level is None else chunk[:, level]
                begin = i * layout.chunk[0]
                rows = slice(max(first - begin, 0), min(stop - begin, layout.chunk[0]))
                found[begin + rows.start - first : begin + rows.stop - first, ..., here] = chunk[rows][..., inside]
        if packed and "_FillValue" in attributes:
            found[found == attributes["_FillValue"]] = np.nan
        if "scale_factor" in attributes:
            found *= attributes["scale_factor"]
        if "add_offset" in attributes:
            found += attributes["add_offset"]
        return found


def _space(group: Path, name: str, said: Mapping[str, object], hybrid: bool) -> Space:
    """The levels that a coordinate says. hybrid: they have coefficients."""
    bounds = read_small(group, f"{name}_bnds").tolist() if "bounds" in said else ()
    words = {key: str(said.get(key, "")) for key in ("standard_name", "positive", "long_name")}
    ends = tuple(zip(*(read_small(group, end).tolist() for end in ("hyai", "hybi")), strict=True)) if hybrid else ()
    return Space(tuple(read_small(group, name).tolist()), str(said.get("units", "1")), bounds=bounds, interfaces=ends, **words)


def _spacing(first: float, last: float, cells: float) -> float:
    """The size of cells between two edges or centres: the decimals that count, or more if these would move the last cell."""
    size = float(last - first) / cells
    short = round(size, DIGITS)
    return short if abs(short - size) * cells < 2.0 * 10.0**-DIGITS else size


def _axis(group: Path, name: str, described: Mapping[str, Any]) -> Axis:
    times, days = read_small(group, name), read_small(group, f"{name}_bnds")
    days = days if days.dtype.kind == "f" else days.astype(np.int64)
    by_end = bool((times == days[:, 1]).all())
    return Axis(name, days[:, 0], days[:, 1], str(described["attributes"].get("calendar", "standard")), by_end=by_end)
