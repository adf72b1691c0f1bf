"""Which pages of a global array some points need: of the wind, or of the tracers.

A loop over the points notes the row of the tables of each, with its level or its column, which is one store a point. What the stencils read
around these is marked for all points together: of the wind whole lines of columns, of the tracers whole columns.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from steppe.array_types import Integers
from steppe.kernels import field_kernel
from steppe.models.handed import StoredPages
from steppe.models.transport.interpolation import LAYERS, TracerTables
from steppe.models.transport.paths import AFTER, BEFORE, COMPONENTS, PathPoints, WindTables, level_before, row_before, turned_column
from steppe.models.transport.sphere import BEYOND

Flags = NDArray[np.bool_]
STENCIL = 5  # rows of the tables that a point may read before or after the row that it is about


class PageMarks(NamedTuple):
    """Pages that are needed, marked. noted: of each row of the tables the levels or columns of points, False before."""

    shift: int
    table_rows: int
    noted: Flags
    pages: Flags


def mark_run(begin: int, length: int, shift: int, pages: Flags) -> None:
    """Marks the pages of a run of elements."""
    for page in range(begin >> shift, ((begin + length - 1) >> shift) + 1):
        pages[page] = True


@field_kernel
def mark_wind(n: int, tables: WindTables, points: PathPoints, marks: PageMarks) -> None:
    """Marks the pages that `paths.wind_at` reads for n points."""
    shift, noted, pages = marks.shift, marks.noted, marks.pages
    levels, width = tables.levels, BEFORE + tables.columns + AFTER
    k = 0
    for p in range(n):
        k = level_before(points.height[p], levels, tables.coordinate, k)
        noted[row_before(points.latitude[p], tables.latitudes, points.row[p]) * levels + k] = True
    for at in range(marks.table_rows * levels):
        if noted[at]:
            e, k = at // levels, at % levels
            for row in range(e - 1, e + 3):
                for component in range(COMPONENTS):
                    begin = ((tables.rows[row] * COMPONENTS + component) * levels + k) * width
                    mark_run(begin, (2 if k < levels - 1 else 1) * width, shift, pages)


@field_kernel
def mark_tracers(n: int, wide: int, tables: TracerTables, points: PathPoints, marks: PageMarks, cells: Flags) -> None:
    """Marks the pages that a kernel of `interpolation` reads for n points.

    wide: points of a line of its stencil. cells (rows, columns): False before.
    """
    shift, noted, pages = marks.shift, marks.noted, marks.pages
    columns, layers, before = tables.columns, max(tables.levels, LAYERS), wide // 2 - 1
    for p in range(n):
        noted[row_before(points.latitude[p], tables.latitudes, points.row[p]) * columns + points.column[p]] = True
    for at in range(marks.table_rows * columns):
        if noted[at]:
            e, c = at // columns, at % columns
            for row in range(e - before, e - before + wide):
                for column in range(c - before, c - before + wide):
                    turned = turned_column(column + columns if column < 0 else column, tables.shifts[row], columns)
                    cells[tables.rows[row] * columns + turned] = True
    for cell in range((marks.table_rows - 2 * BEYOND) * columns):
        if cells[cell]:
            row, column = cell // columns, cell % columns
            for tracer in range(tables.tracers):
                mark_run(((row * tables.tracers + tracer) * columns + column) * layers, layers, shift, pages)


class Reading:
    """An array (rows, ...) while no rank changes it: where its elements lie, and which pages lie on other hosts.

    rows: of the array, that of each row of the tables.
    """

    def __init__(self, seen: StoredPages, rows: Integers) -> None:
        self.seen, self.field = seen, seen.places
        self._table, self._shift = seen.raw()
        self.away: Flags = np.asarray(self._table == 0)  # before a page is stored
        self._stay = seen.room == np.count_nonzero(self.away)  # no stored page makes room for another one
        self.most = seen.room if self._stay else seen.room // 2
        """So many pages of other hosts may a part need: two parts are there at once."""
        length = self.field.size // (int(rows.max()) + 1)
        self._first, self._behind = rows * length >> self._shift, ((rows + 1) * length - 1 >> self._shift) + 1  # pages of each row
        self.look()

    def look(self) -> None:
        """Notes which rows of the tables lie on this host or are stored to stay, whole."""
        missing = np.append(0, np.cumsum((self._table == 0) if self._stay else self.away))
        self._here = missing[self._behind] == missing[self._first]

    def marks(self, each: int, pages: Flags) -> PageMarks:
        """To mark pages. each: so many levels or columns has a row."""
        return PageMarks(self._shift, self._here.size, np.zeros(self._here.size * each, np.bool_), pages)

    def is_near(self, points: PathPoints) -> bool:
        """True if what points read is here, at a glance; if not, it may be here as well."""
        first, last = int(points.row.min()) - STENCIL, int(points.row.max()) + STENCIL
        return bool(self._here[max(first, 0) : last + 1].all())
