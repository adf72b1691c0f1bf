"""Makes a forcing store, whole or not at all; block by block, so memory stays bounded.

    with ForcingWriter(path, grid, [Written(WEATHER["rain"], axis)], about) as writer:
        for block in writer.blocks("rain"):
            writer.write("rain", block, values)       # (len(block.steps), len(block.cells)) in the variable's unit

The store is built in a folder beside its place, and renamed when it has every block. Otherwise nothing is left behind.
"""

import json
import shutil
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from importlib.metadata import version
from pathlib import Path
from types import TracebackType
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from steppe.array_types import Array
from steppe.errors import Failure, ForcingError
from steppe.files import place, writing
from steppe.grid import Gaussian, Grid, Points, Projected, Raster, tile_size
from steppe.io.alone import alone
from steppe.io.axis import Axis, day_name
from steppe.io.coordinates import consolidate, write_axis, write_coordinates, write_group
from steppe.io.forcing.store import FORMAT
from steppe.io.shard import Layout, create_array, write_durable, write_shard, write_small
from steppe.packed import MISSING
from steppe.variable import Variable

CHUNK_STEPS, SHARD_STEPS = 64, 384  # of a large grid; measured best of ten shapes for scan, series and map together
CHUNK_BYTES = 262_144  # a chunk of a small grid is made longer until it has these
SHARD_CELLS = 20_480  # at most, in whole tiles: the map of a day of a small grid lies in one shard, where readers are ten times as fast


class Written(NamedTuple):
    """The storage of one variable. dtype "int16" packs to `scale` and `offset`; a float dtype keeps the values.

    axis None: without time. day_shift: days by which the stamps of the source were moved. attributes: further ones.
    """

    variable: Variable
    axis: Axis | None
    dtype: str = "int16"
    scale: float = 0.1
    offset: float = 0.0
    day_shift: int = 0
    attributes: Mapping[str, object] = {}


class About(NamedTuple):
    """Attributes of a store. weather: "stations", "generated" or the name of a product. source: size and xxh3 of files."""

    title: str
    summary: str
    history: str
    weather: str = ""
    licence: str = ""
    source: Sequence[Mapping[str, object]] = ()
    attributes: Mapping[str, object] = {}


class ForcingBlock(NamedTuple):
    """Rows of a variable's axis and packed cells: one shard."""

    steps: range
    cells: range


def chunk_layout(n_cells: int, rows: int, dtype: str) -> Layout:
    """The layout of a (rows, cells) variable: chunks as wide as a tile, of 64 rows or more, up to a quarter of a megabyte."""
    width = min(tile_size(n_cells), n_cells)
    length = CHUNK_STEPS
    while length * width * np.dtype(dtype).itemsize < CHUNK_BYTES and length < rows:
        length *= 2
    tiles = min(max(1, SHARD_CELLS // width), -(-n_cells // width))
    shard = (length * -(-SHARD_STEPS // length), width * tiles)
    return Layout((length, width), shard, dtype, "shuffle", "lz4hc")


class ForcingWriter:
    """Makes a store. Use it in a `with` statement; leaving it without an exception puts the store in its place.

    Raises
    ------
    ForcingError
        There is something at `path` already.
    FolderError
        Another process is making a store there.
    """

    def __init__(self, path: Path, grid: Grid, variables: Sequence[Written], about: About, calendar: str = "standard") -> None:
        self.path = path
        self._refuse_existing()
        self._grid = grid
        self._aside = path.with_name(path.name + ".partial")
        self._variables = {written.variable.name: written for written in variables}
        self._layouts = {
            name: chunk_layout(grid.n_cells, written.axis.rows, written.dtype) for name, written in self._variables.items() if written.axis
        }
        self._left = {(name, block) for name in self._layouts for block in self.blocks(name)} | {
            (name, None) for name, written in self._variables.items() if written.axis is None
        }
        self._about = about
        self._calendar = calendar

    def __enter__(self) -> "ForcingWriter":
        with ExitStack() as stack:
            with writing(self.path):
                self.path.parent.mkdir(parents=True, exist_ok=True)
            stack.enter_context(alone(self.path))
            self._refuse_existing()  # another process may have made it meanwhile
            self._clear()  # of an earlier attempt that was killed
            stack.callback(self._clear)
            self._create()
            self._held = stack.pop_all()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        with self._held:
            if kind is not None:
                return
            if self._left:
                raise Failure(f'"{self.path}" was to be finished with {len(self._left)} blocks lacking. This is a defect.')
            consolidate(self._aside)
            with writing(self.path):
                place(self._aside, self.path)

    def _refuse_existing(self) -> None:
        if self.path.exists():
            raise ForcingError(f'"{self.path}" exists already. Remove it, or choose another path.')

    def _clear(self) -> None:
        shutil.rmtree(self._aside, ignore_errors=True)

    def blocks(self, name: str) -> list[ForcingBlock]:
        """The blocks in which a variable is written, all rows of some cells before the next cells."""
        written, layout = self._variables[name], self._layouts[name]
        rows = written.axis.rows if written.axis else 0
        return [
            ForcingBlock(range(row, min(row + layout.shard[0], rows)), range(cell, min(cell + layout.shard[1], self._grid.n_cells)))
            for cell in range(0, self._grid.n_cells, layout.shard[1])
            for row in range(0, rows, layout.shard[0])
        ]

    def write(self, name: str, block: ForcingBlock, values: Array) -> None:
        """Writes one block, (steps, cells) in the variable's unit.

        Raises
        ------
        ForcingError
            A value is missing, outside the variable's limits, or too great for the packed integers.
        NoSpaceError
            The disk is full.
        """
        written, layout = self._variables[name], self._layouts[name]
        if values.shape != (len(block.steps), len(block.cells)):
            expected = (len(block.steps), len(block.cells))
            raise Failure(f'A block of "{name}" was given {values.shape}, expected {expected}. This is a defect.')
        self._check(written, block, values)
        index = (block.steps.start // layout.shard[0], block.cells.start // layout.shard[1])
        write_shard(self._aside, name, index, self._pack(written, block, values), layout)
        self._left.discard((name, block))

    def write_static(self, name: str, values: Array) -> None:
        """Writes a variable without time, (cells,).

        Raises
        ------
        ForcingError
            A value is missing or outside the variable's limits.
        """
        written = self._variables[name]
        whole = ForcingBlock(range(1), range(self._grid.n_cells))
        self._check(written, whole, values[None])
        write_small(self._aside, name, self._pack(written, whole, values[None])[0], self._attributes(written), ("cell",))
        self._left.discard((name, None))

    def write_remark(self, name: str, values: Array, attributes: Mapping[str, object], dimensions: Sequence[str]) -> None:
        """Writes a small array beside the weather, such as flags of days; a run does not read it."""
        write_small(self._aside, name, values, attributes, dimensions)

    def add_attributes(self, name: str, attributes: Mapping[str, object]) -> None:
        """Adds attributes of a variable that are known only after its values."""
        path = self._aside / name / "zarr.json"
        described = json.loads(path.read_bytes())
        described["attributes"].update(attributes)
        write_durable(path, json.dumps(described, indent=2).encode())

    def _check(self, written: Written, block: ForcingBlock, values: Array) -> None:
        variable = written.variable
        wrong = ~((values >= variable.low) & (values <= variable.high))
        if wrong.any():
            raise ForcingError(
                f"{self._first(written, block, values, wrong)}, expected {variable.low:g} to {variable.high:g} {variable.units} "
                f"({int(wrong.sum())} such values in this block). Correct the source."
            )

    def _pack(self, written: Written, block: ForcingBlock, values: Array) -> Array:
        if written.dtype != "int16":
            return values.astype(written.dtype)
        packed = np.rint((values - written.offset) / written.scale)
        wrong = np.abs(packed) > -MISSING - 1
        if wrong.any():
            raise ForcingError(
                f"{self._first(written, block, values, wrong)}, too great for int16 at scale {written.scale:g}. "
                f"Take a scale of {np.abs(packed).max() * written.scale / (-MISSING - 1):.2g} or more."
            )
        return packed.astype(np.int16)

    def _first(self, written: Written, block: ForcingBlock, values: Array, wrong: NDArray[np.bool_]) -> str:
        """Names the first wrong value of a block."""
        step, cell = (int(i) for i in np.argwhere(wrong)[0])
        day = "" if written.axis is None else f"{day_name(int(written.axis.starts[block.steps[step]]), self._calendar)}, "
        at = block.cells[cell]
        return (
            f'"{self.path}", {day}cell {at} (latitude {self._grid.cell_lat[at]:g}, longitude {self._grid.cell_lon[at]:g}): '
            f"{written.variable.name} is {values[step, cell]:g}"
        )

    def _create(self) -> None:
        """Writes the descriptions of the group, the coordinates and the arrays."""
        grid, about = self._grid, self._about
        kind: dict[str, object] = {"kind": "points", "n": grid.n_cells}
        if isinstance(grid, Raster):
            kind = {
                "kind": "gaussian" if isinstance(grid, Gaussian) else "regular_lat_lon",
                "nlat": grid.nlat,
                "nlon": grid.nlon,
                "lat0": grid.lat0,
                "dlat": grid.dlat,
            }
            kind |= {"lon0": grid.lon0, "dlon": grid.dlon, "crs": "EPSG:4326"}
        if isinstance(grid, Projected):
            kind = {"kind": "projected", "ny": grid.y.size, "nx": grid.x.size, "y0": grid.y0, "dy": grid.dy, "x0": grid.x0, "dx": grid.dx}
        attributes = {
            "Conventions": "CF-1.11",
            "title": about.title,
            "summary": about.summary,
            "steppe_kind": "forcing",
            "steppe_format": FORMAT,
            "steppe_version": version("steppe"),
            "calendar": self._calendar,
            "grid": kind,
            "grid_digest": grid.digest,
            "cell_order": "list" if isinstance(grid, Points) else "strip64",
            "tile": tile_size(grid.n_cells),
            "source": [dict(file) for file in about.source],
            "history": about.history,
            "licence": about.licence,
            **({"weather": about.weather} if about.weather else {}),
            **about.attributes,
        }
        write_coordinates(self._aside, grid)
        for axis in {written.axis.name: written.axis for written in self._variables.values() if written.axis}.values():
            write_axis(self._aside, axis)
        for name, written in self._variables.items():
            if written.axis is not None:
                shape, dimensions = (written.axis.rows, grid.n_cells), (written.axis.name, "cell")
                fill = float(MISSING) if written.dtype == "int16" else float("nan")
                create_array(self._aside, name, shape, self._layouts[name], fill, self._attributes(written), dimensions)
        write_group(self._aside, attributes)

    def _attributes(self, written: Written) -> dict[str, object]:
        variable = written.variable
        attributes = variable.attributes() | variable.limits()
        attributes |= {"steppe_role": "forcing", "grid_mapping": "crs", "coordinates": "cell_lat cell_lon"}
        if variable.cell_methods:
            attributes["cell_methods"] = variable.cell_methods
        if written.axis is not None:
            attributes["day_shift"] = written.day_shift
        if written.dtype == "int16":
            attributes |= {"scale_factor": written.scale, "add_offset": written.offset, "_FillValue": int(MISSING)}
        return {**attributes, **written.attributes}
