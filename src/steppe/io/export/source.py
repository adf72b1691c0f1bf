"""What is exported: some variables of a store, on some of its days, in some of its cells, read block by block."""

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from steppe.clock import parse_date
from steppe.errors import DamagedError, Mistake, nearest
from steppe.grid import Grid, Points, RegionLike, read_grid
from steppe.io.axis import Axis, day_name, day_number
from steppe.io.results import open_results

if TYPE_CHECKING:
    import xarray

Array = NDArray[Any]
Progress = Callable[[float], None]  # told the part that is done, 0 to 1

BLOCK_BYTES = 1 << 28  # of a block on the whole grid, at most
ROWS = 64  # records of a block: a chunk of daily values in a store, so that each is decoded once


class Block(NamedTuple):
    """Records first, first + 1 ... of the chosen ones: values (records, chosen cells) float32, NaN where missing."""

    first: int
    values: NDArray[np.float32]


class Window(NamedTuple):
    """The rows and columns of a raster that a map shows, and the index in such a map (row-major) of each wanted cell."""

    rows: slice
    columns: slice
    place: NDArray[np.int64]

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of a map."""
        return self.rows.stop - self.rows.start, self.columns.stop - self.columns.start

    def spread(self, values: NDArray[np.float32], fill: float) -> NDArray[np.float32]:
        """Values (records, wanted cells) as maps (records, rows, columns), `fill` where there is no such cell or no value."""
        maps = np.full((len(values), self.shape[0] * self.shape[1]), fill, np.float32)
        maps[:, self.place] = np.where(np.isfinite(values), values, np.float32(fill))
        return maps.reshape(-1, *self.shape)


class Source:
    """A store, or what a run has committed so far, and what of it is wanted.

    Parameters
    ----------
    path
        A run folder or a store.
    variables
        Their names, all that lie on cells when left out.
    start, end
        First and last day, inclusive: intervals that hold a day between them are taken. From the beginning, to the end when left out.
    region
        Cells, as `Grid.select` takes them.

    Raises
    ------
    FolderError, DamagedError
        There is no such store, or a file of it is missing.
    Mistake
        A variable is not there, a day is outside the store or not computed yet.
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
    ) -> None:
        self.path = path
        self._start, self._end = start, end
        self.store = path if (path / "zarr.json").is_file() else path / "output.zarr"
        self.dataset = open_results(path)
        self.names = self._named(variables)
        self.cells = self.grid.select(region)
        self._whole = region == "all"
        self.axes: dict[str, Axis] = {}
        self._records: dict[str, slice] = {}
        for dim in dict.fromkeys(filter(None, map(self.time_of, self.names))):
            whole = read_axis(self.store, dim)
            records = self._records[dim] = self._between(whole, self.dataset.sizes[dim])
            self.axes[dim] = Axis(dim, whole.starts[records], whole.stops[records], whole.calendar)

    @cached_property
    def grid(self) -> Grid:
        """The grid of the store."""
        dataset = self.dataset
        if "compress" in dataset["cell"].attrs:
            return read_grid(file=self.store)
        return Points(tuple(map(str, dataset["cell_id"].values)), dataset["cell_lat"].to_numpy(), dataset["cell_lon"].to_numpy())

    def __enter__(self) -> "Source":
        return self

    def __exit__(self, *exception: object) -> None:
        self.dataset.close()

    def _named(self, wanted: list[str] | None) -> list[str]:
        held = sorted(str(name) for name, array in self.dataset.data_vars.items() if "cell" in array.dims)
        for name in wanted or []:
            if name not in held:
                raise Mistake(f'"{self.path}" holds no variable "{name}" on its cells.{nearest(name, held)}')
        if not held:
            raise Mistake(f'"{self.path}" holds no variable on cells. Series are exported with --csv.')
        return list(dict.fromkeys(wanted or held))

    def _between(self, axis: Axis, committed: int) -> slice:
        """The records that hold a day from start to end."""
        wanted = (self._start, self._end)
        found = days_between(axis, *wanted)
        if found is None:
            given = " to ".join(day for day in dict.fromkeys(wanted) if day)
            raise Mistake(f'{given} is not in "{self.path}", which holds {axis.period()}. Days are written as 1990-01-31.')
        stop = found.stop if self._end else min(found.stop, committed)
        if stop > committed or found.start >= stop:
            so_far = f"up to {day_name(int(axis.stops[committed - 1]) - 1, axis.calendar)}" if committed else "nothing"
            raise Mistake(
                f'"{self.path}" holds {axis.period()}, but the run has written {so_far} yet. Wait for it or go on with it, '
                "or ask for days that are there."
            )
        return slice(found.start, stop)

    def time_of(self, name: str) -> str:
        """The time dimension of a variable; empty when it has none."""
        return next((str(dim) for dim in self.dataset[name].dims if dim != "cell"), "")

    def records(self, name: str) -> int:
        """Records that are wanted of a variable; 1 of one without time."""
        dim = self.time_of(name)
        return self.axes[dim].rows if dim else 1

    def rows_of_a_block(self) -> int:
        """Records that are read at a time."""
        return max(1, min(ROWS, BLOCK_BYTES // (8 * self.grid.active.size)))

    def blocks(self, name: str, cells: NDArray[np.int64] | None = None) -> Iterator[Block]:
        """The wanted values of a variable, in the wanted cells or others, in order of time.

        Raises
        ------
        DamagedError
            A part of the store cannot be read.
        """
        cells = self.cells if cells is None else cells
        array, dim = self.dataset[name], self.time_of(name)
        near = slice(int(cells.min()), int(cells.max()) + 1)  # whole chunks: picking cells one by one reads no less
        begin = self._records[dim].start if dim else 0
        rows = self.rows_of_a_block()
        for first in range(0, self.records(name), rows):
            stop = min(first + rows, self.records(name))
            part = {"cell": near} | ({dim: slice(begin + first, begin + stop)} if dim else {})
            try:
                values = array.isel(part).transpose(..., "cell").to_numpy()
            except (ValueError, RuntimeError, OSError) as error:
                raise DamagedError(
                    f'"{self.store}" cannot be read: variable "{name}", {self._said(dim, first, stop)} ({_one_line(error)}). '
                    "Restore the store, or run again with --fresh."
                ) from error
            yield Block(first, np.atleast_2d(values)[:, cells - near.start].astype(np.float32))

    def _said(self, dim: str, first: int, stop: int) -> str:
        if not dim:
            return "which has no time"
        axis = self.axes[dim]
        return f"{day_name(int(axis.starts[first]), axis.calendar)} to {day_name(int(axis.stops[stop - 1]) - 1, axis.calendar)}"

    def window(self) -> Window:
        """The part of the raster that maps show: all of it, or the box about the cells of a region."""
        rows, columns = (self.dataset.sizes[dim] for dim in axes_of(self.dataset))
        row, column = np.divmod(self.grid.order[self.cells], columns)
        if self._whole:
            return Window(slice(0, rows), slice(0, columns), self.grid.order)
        top, left, bottom, right = (int(number) for number in (row.min(), column.min(), row.max(), column.max()))
        place = (row - top) * (right + 1 - left) + column - left
        return Window(slice(top, bottom + 1), slice(left, right + 1), place)

    def attributes(self, name: str) -> dict[str, Any]:
        """The CF attributes of a variable, without those that only its place in the store needs."""
        own = ("coordinates", "grid_mapping", "cell_measures", "steppe_role")
        return {key: value for key, value in self.dataset[name].attrs.items() if key not in own}

    @property
    def about(self) -> Mapping[str, Any]:
        """Attributes of the store: what made it, of what."""
        return self.dataset.attrs


def read_axis(store: Path, dim: str) -> Axis:
    """A whole time axis of a store or of a group in it, committed or not."""
    import zarr

    bounds = zarr.open_array(store / f"{dim}_bnds", mode="r")
    days = np.asarray(bounds[:], dtype=np.int64)
    return Axis(dim, days[:, 0], days[:, 1], str(bounds.attrs.get("calendar", "standard")))


def days_between(axis: Axis, start: str | None, end: str | None) -> slice | None:
    """The records of an axis that hold a day from start to end, both inclusive; None when one of the two lies outside.

    Raises
    ------
    RunFileError
        One of them is no date of the calendar.
    """
    first = day_number(parse_date(start, axis.calendar)) if start else axis.first
    last = day_number(parse_date(end, axis.calendar)) if end else axis.stop - 1
    if not axis.first <= first <= last < axis.stop:
        return None
    found = axis.rows_of(range(first, last + 1))
    return slice(found.start, found.stop)


def axes_of(dataset: "xarray.Dataset") -> tuple[str, ...]:
    """The names of the axes of a raster, rows before columns; none for points."""
    return tuple(str(dataset["cell"].attrs.get("compress", "")).split())


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())[:160]
