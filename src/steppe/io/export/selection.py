"""The selection that is exported: variables, days and cells of a store, read block by block."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from steppe.array_types import Integers
from steppe.errors import DamagedError, Mistake, nearest
from steppe.grid import RegionLike
from steppe.io.axis import Axis
from steppe.io.folders.scenarios import Ensemble, listed
from steppe.io.output.store import group_attributes
from steppe.io.results.dataset import MAPS, locate, names_of
from steppe.io.results.records import StoredRecords
from steppe.io.shard import layout_of
from steppe.levels import numbered, parted

Progress = Callable[[float], None]  # gets the part that is done, 0 to 1

BLOCK_BYTES = 1 << 28  # of a block on the whole grid, at most
ROWS = 64  # records of a block: a chunk of daily values in a store, so that each is decoded once


class ExportBlock(NamedTuple):
    """Chosen records first, first + 1 ...: values (records, [levels,] chosen cells) in `ExportSource.dtype`, NaN where missing."""

    first: int
    values: NDArray[np.floating]


class Window(NamedTuple):
    """The rows and columns of a raster that a map shows, and the index in such a map (row-major) of each wanted cell."""

    rows: slice
    columns: slice
    place: Integers

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of a map."""
        return self.rows.stop - self.rows.start, self.columns.stop - self.columns.start

    def spread(self, values: NDArray[np.floating], fill: float) -> NDArray[np.floating]:
        """Values (..., wanted cells) as maps (..., rows, columns), `fill` where there is no such cell or no value."""
        maps = np.full((*values.shape[:-1], self.shape[0] * self.shape[1]), fill, values.dtype)
        maps[..., self.place] = np.where(np.isfinite(values), values, values.dtype.type(fill))
        return maps.reshape(*values.shape[:-1], *self.shape)


class ExportSource:
    """A selection of a store, or of the committed records of a run. Of an ensemble: the records that all scenarios with results have.

    Parameters
    ----------
    path
        A run folder, the folder of an ensemble, or a store.
    variables
        Their names, all that lie on cells when left out. "ozone[3]" is a level of ozone.
    levels
        Whether all levels of a variable are one array; otherwise each is one.
    start, end
        First and last day, inclusive: intervals that hold a day between them are taken. From the beginning, to the end when left out.
    region
        Cells, as `Grid.select` takes them.
    maps
        Name of an [[output.maps]] of the run, instead of the maps of [output].

    Raises
    ------
    FolderError, DamagedError
        There is no such store or name, or a file of it is missing.
    Mistake
        A variable is not there, a day is outside the store or not computed yet; a scenario has no results.
    GridError
        The region is unknown or holds no cell.
    """

    def __init__(
        self,
        path: Path,
        variables: list[str] | None = None,
        start: str | None = None,
        end: str | None = None,
        region: RegionLike = "all",
        maps: str = "",
        levels: bool = False,
    ) -> None:
        self.path = path
        self._start, self._end = start, end
        self.ensemble = Ensemble.read(path)
        self._stores = [StoredRecords.open(folder, maps, MAPS) for folder in _folders(path, self.ensemble)]
        self.store = self._stores[0]
        self.names = self._named(variables, levels)
        self.grid = self.store.grid
        self.cells = self.grid.select(region)
        self._whole = region == "all"
        self.axes: dict[str, Axis] = {}
        self._records: dict[str, slice] = {}
        for name in self.names:
            dim = self.time_of(name)
            if dim and dim not in self.axes:
                whole = self.store.whole[dim]
                rows = [store.axes[other].rows for store in self._stores for other in self.names if self.time_of(other) == dim]
                records = self._records[dim] = self._between(whole, min(filter(None, rows), default=0))
                self.axes[dim] = whole.part(records)

    def _named(self, wanted: list[str] | None, levels: bool) -> list[str]:
        held = sorted([*self.store.variables, *self.store.static])
        wanted = None if wanted is None else [numbered(name, self.store.levels) for name in wanted]
        for name in wanted or []:
            if name not in self.store.axes and name not in held:
                raise Mistake(f'"{self.path}" holds no variable "{name}" on its cells.{nearest(name, held)}')
        if not held:
            named = names_of(self.path, "maps")
            other = f"Choose one of its maps with --maps ({', '.join(named)})." if named else "Series are exported with --csv."
            raise Mistake(f'"{self.path}" holds no variable on cells. {other}')
        found = dict.fromkeys(wanted or held)
        return list(found if levels else dict.fromkeys(each for name in found for each in self.store.of_levels(name)))

    def _between(self, axis: Axis, committed: int) -> slice:
        """The records that hold a day from start to end."""
        wanted = (self._start, self._end)
        found = axis.between(*wanted)
        if found is None:
            given = " to ".join(day for day in dict.fromkeys(wanted) if day)
            raise Mistake(f'{given} is not in "{self.path}", which holds {axis.period()}. Days are written as 1990-01-31.')
        if found.start >= found.stop:
            raise Mistake(
                f'"{self.path}" has no record for {self._start or self._end}: the first one is {axis.name_of(0)}, '
                f"the last one {axis.name_of(-1)}. Ask for one of these or for one between them."
            )
        stop = found.stop if self._end else min(found.stop, committed)
        if stop > committed or found.start >= stop:
            so_far = f"up to {axis.end_of(committed - 1)}" if committed else "nothing"
            raise Mistake(
                f'"{self.path}" holds {axis.period()}, but the run has written {so_far} yet. Wait for it or go on with it, '
                "or ask for days that are there."
            )
        return slice(found.start, stop)

    def time_of(self, name: str) -> str:
        """The time dimension of a variable; empty when it has none."""
        return self.store.axes[name].name if name in self.store.axes else ""

    def records(self, name: str) -> int:
        """The number of wanted records of a variable; 1 if it has no time."""
        dim = self.time_of(name)
        return self.axes[dim].rows if dim else 1

    def rows_of_a_block(self) -> int:
        """Records that are read at a time: a power of two, a multiple of the chunks of a file."""
        levels = max([len(self.store.levels[name][1].values) for name in self.names if name in self.store.levels], default=1)
        most = max(1, min(ROWS, BLOCK_BYTES // (8 * levels * self.grid.active.size)))
        return 1 << (most.bit_length() - 1)

    def dtype(self, name: str) -> str:
        """Of the values of a variable: float64 where the store has that, else float32, which holds all that is packed in the store."""
        return "float64" if self.time_of(name) and layout_of(self.store.path, parted(name)[0]).dtype == "float64" else "float32"

    def blocks(self, name: str, cells: Integers | None = None, scenario: int = 0) -> Iterator[ExportBlock]:
        """The wanted values of a variable, in the wanted cells or others, in order of time; of an ensemble those of one scenario.

        Raises
        ------
        DamagedError
            A part of the store cannot be read.
        """
        cells = self.cells if cells is None else cells
        dim = self.time_of(name)
        if not dim:
            yield ExportBlock(0, self.store.small(name)[None, cells].astype(self.dtype(name)))
            return
        begin, rows = self._records[dim].start, self.rows_of_a_block()
        every = cells.size == self.grid.n_cells
        for first in range(0, self.records(name), rows):
            stop = min(first + rows, self.records(name))
            try:
                values = self._stores[scenario].read(name, slice(begin + first, begin + stop), None if every else cells)
            except DamagedError as error:
                axis = self.axes[dim]
                raise DamagedError(f'Variable "{name}", {axis.begin_of(first)} to {axis.end_of(stop - 1)}: {error}') from None
            if not len(values):  # a scenario that met a bad cell at its start has none
                values = np.full((stop - first, *values.shape[1:]), np.nan, values.dtype)
            yield ExportBlock(first, values.astype(self.dtype(name), copy=False))

    def window(self) -> Window:
        """The part of the raster that maps show: all of it, or the box about the cells of a region."""
        rows, columns = (len(self.store.small(dim)) for dim in self.store.raster)
        place = self.store.small("cell").astype(np.int64)
        if self._whole:
            return Window(slice(0, rows), slice(0, columns), place)
        row, column = np.divmod(place[self.cells], columns)
        top, left, bottom, right = (int(number) for number in (row.min(), column.min(), row.max(), column.max()))
        inside = (row - top) * (right + 1 - left) + column - left
        return Window(slice(top, bottom + 1), slice(left, right + 1), inside)

    def attributes(self, name: str) -> dict[str, object]:
        """The CF attributes of a variable, without those that only its place in the store needs."""
        own = ("coordinates", "grid_mapping", "cell_measures", "steppe_role", "_FillValue", "scale_factor", "add_offset")
        return {key: value for key, value in self.store.attributes[name].items() if key not in own}

    @property
    def unfinished(self) -> str:
        """The scenarios of an ensemble that are not at the end of the run, in words."""
        return listed(self.ensemble.unfinished()) if self.ensemble else ""

    @property
    def about(self) -> Mapping[str, object]:
        """Attributes of the store: its model and weather."""
        return group_attributes(locate(self.path)[0]) if self.ensemble else self.store.about


def refuse_ensemble(path: Path) -> None:
    """Raises `Mistake` for an ensemble: the form has no place for scenarios."""
    if ensemble := Ensemble.read(path):
        one = ensemble.members[0].folder
        raise Mistake(
            f'"{path}" is an ensemble of {len(ensemble.members):,} scenarios. Export all of them with --netcdf, or one of them: "{one}".'
        )


def _folders(path: Path, ensemble: Ensemble | None) -> list[Path]:
    if ensemble is None:
        return [path]
    if missing := [member.name for member in ensemble.members if not member.folder.is_dir()]:
        raise Mistake(f'"{path}": {", ".join(missing)} of its scenarios have no results yet. Start the same `steppe ensemble` again.')
    return [member.folder for member in ensemble.members]
