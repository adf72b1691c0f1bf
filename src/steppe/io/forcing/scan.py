"""Checks every value of a forcing store: missing, outside limits, tmin above tmax."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from steppe.array_types import Array, Floats
from steppe.io.axis import day_name
from steppe.io.forcing.store import ForcingStore, Stored
from steppe.io.forcing.units import conversion
from steppe.packed import MISSING
from steppe.variable import Role, Variable


class ForcingProblem(NamedTuple):
    """A fault of one variable: the number of such values, and the first of them (day, packed cell, value in the unit of the store)."""

    file: Path
    variable: str
    fault: str
    number: int
    day: str
    cell: int
    latitude: float
    longitude: float
    value: float

    def __str__(self) -> str:
        """The problem as one line of text."""
        more = f" and {self.number - 1} more" if self.number > 1 else ""
        day = f"{self.day}, " if self.day else ""
        return (
            f'"{self.file}", {self.variable}, {day}cell {self.cell} (latitude {self.latitude:g}, longitude {self.longitude:g}): '
            f"{self.value:g} {self.fault}{more}"
        )


def limits_of(store: ForcingStore) -> dict[str, Variable]:
    """The variables of a store as it describes them itself, for `scan` without a model."""
    held = store.variables.values()
    return {s.name: Variable(s.name, ("time", "cell"), s.units, s.layout.dtype, Role.FORCING, s.name, low=s.low, high=s.high) for s in held}


def scan(path: Path, variables: Mapping[str, Variable]) -> list[ForcingProblem]:
    """The problems of the values of `variables` in a store: missing, below or above their limits, tmin above tmax.

    A fault of a variable is one problem, for any number of values. Variables that the store lacks are skipped.

    Raises
    ------
    ForcingError
        There is no such store, or its units do not convert.
    DamagedError
        A file of it is missing or damaged.
    """
    store = ForcingStore.open(path)
    found: dict[tuple[str, str], ForcingProblem] = {}
    for name, variable in variables.items():
        if name in store.variables:
            _scan_variable(store, store[name], variable, found)
    if {"tmin", "tmax"} <= set(variables) & set(store.variables) and store["tmin"].layout == store["tmax"].layout:
        for index in _chunks(store, store["tmin"]):
            tmin, tmax = (_values(store, store[name], index) for name in ("tmin", "tmax"))
            _add(found, store, store["tmin"], index, tmin, tmin > tmax, "is above tmax")
    return list(found.values())


def _scan_variable(store: ForcingStore, stored: Stored, variable: Variable, found: dict[tuple[str, str], ForcingProblem]) -> None:
    to = conversion(stored.units, variable.units, f'"{store.path}", variable "{stored.name}"')
    low, high = ((limit - to.offset) / to.factor for limit in (variable.low, variable.high))
    for index in _chunks(store, stored):
        values = _values(store, stored, index)
        _add(found, store, stored, index, values, np.isnan(values), "is missing")
        _add(found, store, stored, index, values, values < low, f"is below {low:g} {stored.units}")
        _add(found, store, stored, index, values, values > high, f"is above {high:g} {stored.units}")


def _chunks(store: ForcingStore, stored: Stored) -> Sequence[tuple[int, int]]:
    rows, cells = stored.layout.chunk
    return [(i, j) for i in range(-(-stored.axis.rows // rows)) for j in range(-(-store.n_cells // cells))]


def _values(store: ForcingStore, stored: Stored, index: tuple[int, int]) -> Floats:
    """The values of a chunk in the unit of the store, up to the end of the array; NaN where missing."""
    rows, cells = stored.layout.chunk
    raw = store.chunk(stored.name, index)[: stored.axis.rows - index[0] * rows, : store.n_cells - index[1] * cells]
    values = raw * stored.scale + stored.offset
    return np.where(raw == MISSING, np.nan, values) if raw.dtype == np.int16 else values.astype(np.float64)


def _add(
    found: dict[tuple[str, str], ForcingProblem],
    store: ForcingStore,
    stored: Stored,
    index: tuple[int, int],
    values: Array,
    wrong: NDArray[np.bool_],
    fault: str,
) -> None:
    """Adds the wrong values of a chunk to their problem."""
    count = int(np.count_nonzero(wrong))
    if not count:
        return
    key = (stored.name, fault)
    if key in found:
        found[key] = found[key]._replace(number=found[key].number + count)
        return
    row, column = (int(i) for i in np.argwhere(wrong)[0])
    cell = index[1] * stored.layout.chunk[1] + column
    day = day_name(int(stored.axis.starts[index[0] * stored.layout.chunk[0] + row]), store.calendar)
    latitude, longitude = float(store.cell_lat[cell]), float(store.cell_lon[cell])
    found[key] = ForcingProblem(store.path, stored.name, fault, count, day, cell, latitude, longitude, float(values[row, column]))
