"""Values on their way from maps to a store: read, brought onto the grid, checked, written.

Variables are written one after the other, a shard's days at a time, so that each map of a file is decompressed once and memory stays
bounded: `BUFFER` for the cells of these days, `READ` for what is read at a time.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from steppe.array_types import Singles
from steppe.clock import YEAR
from steppe.errors import ForcingError
from steppe.grid import Grid
from steppe.ingest.map_series import Rows
from steppe.ingest.regrid import Regrid
from steppe.io.axis import day_name
from steppe.io.forcing.variables import SCALE, WEATHER
from steppe.io.forcing.writer import ForcingBlock, ForcingWriter

BUFFER = 120_000_000  # values (480 MB): 384 days of 312,500 cells; with more cells the maps are read again for the next ones
READ = 2_000_000  # values read at a time (8 MB), or one chunk of the file if that is more, ...
LARGEST_CHUNK = 64_000_000  # ... up to this (256 MB); beyond, a chunk is decompressed several times
LOST = 0.01  # of the rain of the files
ROUNDING = 1e-3  # [degC] by which means of equal temperatures may differ


class Transfer:
    """Values on their way from files to a store. clipped: variable -> number of values that were set to a limit."""

    def __init__(self, rows: Mapping[str, Rows], ways: Mapping[str, Regrid], grid: Grid, clip: bool, packed: bool) -> None:
        self._rows, self._ways, self._grid, self._clip, self._packed = rows, ways, grid, clip, packed
        self.clipped: defaultdict[str, int] = defaultdict(int)
        self._rain = self._rain_of_files = 0.0

    def write(self, writer: ForcingWriter, progress: Callable[[float], None]) -> None:
        """Writes all variables."""
        every = sum(rows.axis.rows for rows in self._rows.values())
        done = 0.0
        for name in self._rows:
            blocks = sorted(writer.blocks(name), key=lambda block: (block.steps.start, block.cells.start))
            for steps, group in groupby(blocks, key=lambda block: block.steps):
                passes = _passes(list(group))
                for blocks_together in passes:
                    cells = range(blocks_together[0].cells.start, blocks_together[-1].cells.stop)
                    buffer = np.empty((len(steps), len(cells)), np.float32)
                    for batch in self._batches(name, steps):
                        values = self._checked(name, batch)[:, cells.start : cells.stop]
                        buffer[batch.start - steps.start : batch.stop - steps.start] = values
                        if name == "rain":
                            self._count_rain(values)
                        done += len(batch) / len(passes)
                        progress(done / every)
                    for block in blocks_together:
                        writer.write(name, block, buffer[:, block.cells.start - cells.start : block.cells.stop - cells.start])

    def _count_rain(self, values: Singles) -> None:
        stored = np.rint(values / np.float32(SCALE)) * SCALE if self._packed else values
        self._rain += float(stored.sum(dtype=np.float64))
        self._rain_of_files += float(values.sum(dtype=np.float64))

    def lost_rain(self) -> list[str]:
        """A sentence if packing changes rain by more than `LOST`."""
        if abs(self._rain - self._rain_of_files) <= LOST * self._rain_of_files:
            return []
        part = f"{100.0 * self._rain / self._rain_of_files:.3g} %"
        return [f"rain in steps of {SCALE:g} mm d-1 is {part} of that of the files; --exact keeps all of it"]

    def mean_annual_rain(self) -> float | None:
        """Mean of all cells and days [mm a-1], None without rain."""
        if "rain" not in self._rows:
            return None
        axis = self._rows["rain"].axis
        return self._rain / self._grid.n_cells / axis.rows * YEAR[axis.calendar]

    def _batches(self, name: str, days: range) -> list[range]:
        way, rows = self._ways[name], self._rows[name]
        map_size = len(way.rows) * len(way.columns)
        chunk = rows.maps_at_once()
        size = max(1, READ // map_size)
        if chunk * map_size <= LARGEST_CHUNK:
            size = -(-size // chunk) * chunk
        return rows.batches(days, size)

    def _values(self, name: str, days: range) -> Singles:
        """Values of all cells on some days, (days, cells), as the files have them."""
        way, rows = self._ways[name], self._rows[name]
        found = [way(rows.read(batch, way.rows, way.columns)) for batch in self._batches(name, days)]
        return found[0] if len(found) == 1 else np.concatenate(found)

    def _checked(self, name: str, days: range) -> Singles:
        """Values that are present and within their limits; those of tmin are not above tmax."""
        variable = self._rows[name].series.variable
        values = self._values(name, days)
        missing = ~np.isfinite(values)
        if missing.any():
            empty = bool(missing[missing.any(axis=1)][0].all()) and self._rows[name].series.is_daily
            remedy = "fill days without any value by --fill previous or --fill climatology" if empty else "take a grid without such cells"
            self._refuse(name, days, values, missing, "a value in every cell", f"Correct the file, or {remedy}.")
        limits = f"{variable.low:g} to {variable.high:g} {variable.units}"
        values = self._limited(name, days, values, variable.low, variable.high, limits)
        if name == "tmin" and "tmax" in self._rows and np.array_equal(self._rows["tmax"].axis.starts, self._rows["tmin"].axis.starts):
            tmax = np.clip(self._values("tmax", days), WEATHER["tmax"].low, WEATHER["tmax"].high)  # if it is beyond, it is refused itself
            values = self._limited(name, days, values, variable.low, tmax + np.float32(ROUNDING), "not more than tmax of the day")
        return values

    def _limited(self, name: str, days: range, values: Singles, low: float, high: float | Singles, expected: str) -> Singles:
        outside = (values < low) | (values > high)
        if not outside.any():
            return values
        if not self._clip:
            self._refuse(
                name, days, values, outside, expected, "Correct the file or its units, or put such values to the limit with --clip."
            )
        self.clipped[name] += int(outside.sum())
        limited: Singles = np.clip(values, low, high).astype(np.float32)
        return limited

    def _refuse(self, name: str, days: range, values: Singles, wrong: NDArray[np.bool_], expected: str, remedy: str) -> None:
        rows = self._rows[name]
        step, cell = (int(i) for i in np.argwhere(wrong)[0])
        day = days[step]
        value = float(values[step, cell])
        limited = np.isfinite([part.span for part in rows.series.parts]).any()
        missing = "missing, or outside the valid range that the file states" if limited else "missing"
        found = missing if np.isnan(value) else f"{value:g} {rows.series.variable.units}"
        raise ForcingError(
            f"{rows.file(day)}, {day_name(int(rows.axis.starts[day]), rows.axis.calendar)}, cell {cell} (latitude "
            f"{self._grid.cell_lat[cell]:g}, longitude {self._grid.cell_lon[cell]:g}): {name} is "
            f"{found} ({int(wrong[step].sum())} such cells on this day), "
            f"expected {expected}. {remedy}"
        )


def _passes(blocks: Sequence[ForcingBlock]) -> list[list[ForcingBlock]]:
    """Blocks of the same days, cut into groups whose values fit into the buffer."""
    found: list[list[ForcingBlock]] = []
    for block in blocks:
        if not found or len(block.steps) * (block.cells.stop - found[-1][0].cells.start) > BUFFER:
            found.append([])
        found[-1].append(block)
    return found
