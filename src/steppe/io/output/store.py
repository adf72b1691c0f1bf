"""The output store of a run: its contents and layout. Any Zarr reader can read it at any moment.

    output.zarr/                    maps: variables (time, cell) or (time, level, cell) in the dtype of the model, one time axis
      zarr.json                     provenance; steppe_progress "running" or "complete"
      time  time_bnds  cell  lat  lon  cell_lat ...
      growth  soil_water_index ...
      maps/<name>/                  more maps, a time axis of their own; coordinates as above
      series/<name>/                series: variables (time, region) float64, a time axis of their own
        time  time_bnds  region  growth ...

Maps and series are *groups*, and `OutputWriter` writes both. Arrays have their full length from the start, and NaN in records that are
not written yet, so their shape never changes. A shard has the records of up to 384 days, or of more if these are few, for one tile of
cells. It is one chunk: zarr-python then reads index and values at once, so a reader never mixes two versions of a file that a commit
replaces.
"""

import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from math import prod
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from steppe.errors import DamagedError, Failure, FolderError
from steppe.files import place, writing
from steppe.grid import Grid, tile_size
from steppe.io.axis import Axis
from steppe.io.coordinates import consolidate, write_axis, write_coordinates, write_group, write_space
from steppe.io.shard import Layout, create_array, write_durable, write_small
from steppe.levels import Space
from steppe.variable import Variable

FORMAT = 1  # of output stores; a reader refuses a greater one
CONVENTIONS = "CF-1.12"  # the first that knows of rounding
SHARD_STEPS = 384  # of a shard, at most, unless its records are few:
SHARD_RECORDS = 12  # then so many, since each file costs as much as many records, where those of all cells are no more than
FEW_BYTES = 4 << 20  # in memory
SHARD_BYTES = 4 << 20  # of a shard in memory, at most
SINGLE = 23  # bits of the mantissa of float32
PRECISIONS = {"exact": None, "float32": SINGLE, "12 bits": 12}  # bits of the mantissa; 23: relative error 6e-8, 12: 1.2e-4
# Cost of values, for predictions: bytes on disk per byte in memory, and bytes in memory that one core encodes and writes in a second.
# Measured on the variables of the pasture model; `scripts/bench store` prints them.
SIZE = {"float64": 0.68, "float32": 0.65, "12 bits": 0.36}
SPEED = {"float64": 0.9e9, "float32": 0.9e9, "12 bits": 0.5e9}
QUANTIZATION = "bitround"  # the algorithm, and the variable that describes the rounding of others; CF-1.12, 8.4
A_DAY = " d-1"  # how the unit of a rate ends whose sum is an amount
METHODS = {
    "mean": "time: mean",
    "sum": "time: sum",
    "min": "time: minimum",
    "max": "time: maximum",
    "last": "time: point (end of the interval)",
}


@dataclass(frozen=True, slots=True)
class Output:
    """A variable that is written. method: reduction over time, of `METHODS`. area: CF method over a region ("mean"), for series.

    levels: name and coordinate of its levels; None if it has none.
    """

    variable: Variable
    method: str = "mean"
    precision: str = "exact"
    area: str = ""
    levels: tuple[str, Space] | None = None

    @property
    def dtype(self) -> str:
        """Type of the numbers in the store. A mean over a region is float64; a map has the dtype of its variable unless it is rounded."""
        if self.area:
            return "float64"
        return self.variable.dtype if self.precision == "exact" else "float32"

    @property
    def bits(self) -> int | None:
        """The bits of the mantissa that are kept; None: values are exact."""
        exact = self.precision == "float32" and self.dtype == self.variable.dtype
        return None if exact else PRECISIONS[self.precision]

    @property
    def kind(self) -> str:
        """The kind of values, which decides their size on disk: a key of `SIZE` and `SPEED`."""
        return self.precision if self.bits not in (None, SINGLE) else self.dtype

    @property
    def leading(self) -> tuple[int, ...]:
        """Lengths of a record before its columns: the number of levels, if it has some."""
        return (len(self.levels[1].values),) if self.levels else ()

    def attributes(self) -> dict[str, object]:
        """CF attributes of the array."""
        found = self.variable.attributes()
        if self.method == "sum":  # a rate becomes an amount; the standard name is that of the rate
            found.pop("standard_name", None)
            found["units"] = self.variable.units.removesuffix(A_DAY)
        found["cell_methods"] = f"{METHODS[self.method]} area: {self.area}" if self.area else METHODS[self.method]  # in this order
        return found | ({"quantization": QUANTIZATION, "quantization_nsb": self.bits} if self.bits else {})


class OutputCost(NamedTuple):
    """The cost of results. values: bytes in memory; files: bytes on disk, about; seconds: of one core to write them, about."""

    values: int
    files: int
    seconds: float


@dataclass(frozen=True, eq=False)
class Group:
    """Variables on one time axis. columns: the grid of maps, or the names of the regions of series.

    name: "" for the maps at the root, "maps/<name>" for others, "series/<name>". The axis is called "time". room: bytes of both buffers of
    an array with levels; a shard has fewer records if they are large, one at least.
    """

    axis: Axis
    columns: Grid | tuple[str, ...]
    outputs: tuple[Output, ...]
    name: str = ""
    room: int = SHARD_BYTES << 6

    def __post_init__(self) -> None:
        if not self.is_maps and any(output.precision != "exact" for output in self.outputs):
            raise Failure(f'Series "{self.name}" is to be rounded; series are written exactly. This is a defect of Steppe.')

    @property
    def is_maps(self) -> bool:
        """Whether it holds cells, not regions."""
        return not isinstance(self.columns, tuple)

    @property
    def n_columns(self) -> int:
        """Number of cells or regions."""
        return len(self.columns) if isinstance(self.columns, tuple) else self.columns.n_cells

    @property
    def memory(self) -> int:
        """Bytes of the buffers of its writer at most: for each output a shard that is being filled and one that is being written."""
        return sum(
            min(2 * layout.shard[0], self.axis.rows) * prod(layout.shard[1:-1]) * self.n_columns * np.dtype(layout.dtype).itemsize
            for layout in map(self.layout, self.outputs)
        )

    def cost(self) -> "OutputCost":
        """The cost of its records."""
        sizes = [(prod(self.shape(output)) * np.dtype(output.dtype).itemsize, output.kind) for output in self.outputs]
        return OutputCost(
            sum(size for size, _ in sizes),
            round(sum(size * SIZE[kind] for size, kind in sizes)),
            sum(size / SPEED[kind] for size, kind in sizes),
        )

    def shape(self, output: Output) -> tuple[int, ...]:
        """Shape of the array of an output: records, levels if it has some, columns."""
        return self.axis.rows, *output.leading, self.n_columns

    def layout(self, output: Output) -> Layout:
        """Chunks and shards of the array of an output. All levels of a tile are in one chunk."""
        width = min(tile_size(self.n_columns), self.n_columns)
        size = np.dtype(output.dtype).itemsize * prod(output.leading)
        few = min(SHARD_RECORDS, FEW_BYTES // (size * self.n_columns))
        interval = max(1, SHARD_STEPS // int(self.axis.steps.max()), few)
        fitting = [n for n in range(1, interval + 1) if interval % n == 0 and n * width * size <= SHARD_BYTES]
        if output.levels:
            fitting = [n for n in fitting if 2 * n * size * self.n_columns <= self.room]
        shape = min(max(fitting, default=1), self.axis.rows), *output.leading, width
        return Layout(shape, shape, output.dtype, "shuffle" if output.kind == output.dtype else "bitshuffle")


def create_store(path: Path, groups: Sequence[Group], attributes: Mapping[str, object]) -> None:
    """Makes a store with coordinates, without values; it appears whole. attributes: provenance, for the root.

    Raises
    ------
    FolderError
        There is something at `path` already.
    NoSpaceError
        The disk is full.
    """
    if path.exists():
        raise FolderError(f'"{path}" exists already. Choose another folder, or start with --fresh.')
    aside = path.with_name(path.name + ".tmp")
    with writing(aside):
        if aside.exists():
            shutil.rmtree(aside)  # of an earlier attempt that was killed
    described = {"Conventions": CONVENTIONS, "steppe_kind": "output", "steppe_format": FORMAT, "steppe_progress": "running"}
    write_group(aside, {**described, **attributes})
    for group in groups:
        _create_group(aside, group, {name: value for name, value in attributes.items() if not name.startswith("steppe_")})
    for name in dict.fromkeys(("", *(group.name for group in groups))):  # the root first: its copies are of descriptions alone
        consolidate(aside / name)
    with writing(path):
        place(aside, path)


def group_attributes(path: Path) -> dict[str, Any]:
    """The attributes of a Zarr group.

    Raises
    ------
    DamagedError
        Its description cannot be read.
    """
    return dict(description(path)["attributes"])


def check_format(path: Path, attributes: Mapping[str, object], format: int = FORMAT) -> None:
    """Checks that this Steppe can read a store with these attributes.

    Raises
    ------
    FolderError
        A newer Steppe wrote it.
    """
    found = attributes.get("steppe_format", 0)
    if not isinstance(found, int) or found > format:
        raise FolderError(f'"{path}" has steppe_format {found}, this Steppe reads up to {format}. Install a newer Steppe.')


def mark(path: Path, **changes: object) -> None:
    """Changes attributes of a store, such as steppe_progress, "running" or "complete"."""
    described = description(path)
    changed = described["attributes"] | changes
    if changed != described["attributes"]:
        _describe(path, described | {"attributes": changed})


def description(path: Path) -> dict[str, Any]:
    """The content of zarr.json of a group or an array; it always has "attributes".

    Raises
    ------
    DamagedError
        It cannot be read.
    """
    try:
        described: dict[str, Any] = json.loads((path / "zarr.json").read_bytes())
        described["attributes"] = described.get("attributes", {})
    except (OSError, ValueError, TypeError, AttributeError) as error:
        raise DamagedError(f'"{path}/zarr.json" cannot be read ({error}). Restore the store.') from None
    return described


def _describe(path: Path, described: Mapping[str, object]) -> None:
    text = json.dumps(described, indent=2, ensure_ascii=False, allow_nan=False).encode()
    write_durable(path / "zarr.json", text, path.with_name(f"{path.name}.json.tmp"))  # zarr-python warns of other files in a group


def _create_group(store: Path, group: Group, about: Mapping[str, object]) -> None:
    folder = store / group.name
    if group.name:
        for parent in folder.relative_to(store).parents:
            if parent.name:
                write_group(store / parent, {})
        write_group(folder, {"Conventions": CONVENTIONS, **about})
    if isinstance(group.columns, tuple):
        dimension, refers = "region", {}
        write_small(folder, "region", list(group.columns), {"long_name": "region"}, ("region",))
    else:
        dimension, names = "cell", group.columns.coordinates()
        refers = {"grid_mapping": "crs", "coordinates": " ".join(name for name in names if name in ("cell_id", "cell_lat", "cell_lon"))}
        if "cell_area" in names:
            refers["cell_measures"] = "area: cell_area"
        write_coordinates(folder, group.columns)
    write_axis(folder, group.axis)
    if any(output.bits for output in group.outputs):
        made_by = {"algorithm": "bitround", "implementation": f"steppe version {version('steppe')}"}
        write_small(folder, QUANTIZATION, np.int32(0), made_by, ())
    for name, space in dict(output.levels for output in group.outputs if output.levels).items():
        write_space(folder, name, space, [output.variable.name for output in group.outputs])
    for output in group.outputs:
        dimensions = ("time", *([output.levels[0]] if output.levels else []), dimension)
        attributes = output.attributes() | refers
        create_array(folder, output.variable.name, group.shape(output), group.layout(output), np.nan, attributes, dimensions)
