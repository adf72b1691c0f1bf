"""The pasture as Steppe runs it: compiled, on cells that all have the weather of one station, with everything recorded."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from steppe.clock import Clock
from steppe.models import CellModel, Packed, Records, pasture
from verification.pasture.cases import DECLARED, NAMES, Case, Weather

DIAGNOSTICS = pasture.Diagnostics._fields
EVERYTHING = (*pasture.State._fields, *DIAGNOSTICS)
TILE = 4096  # cells


class Cells(NamedTuple):
    """A share of so many cells."""

    n_cells: int


class Station:
    """The weather of one station for each of some cells. Like a store's, it comes in pieces, and in tiles of 4,096 cells."""

    names = NAMES
    in_turns = False

    def __init__(self, records: Weather, cells: int | range, piece: int = 400) -> None:
        self._cells = range(cells) if isinstance(cells, int) else cells
        self._records, self._piece = records, piece

    def pieces(self, steps: range) -> list[range]:
        cuts = sorted({steps.start, steps.stop, *range(0, steps.stop, self._piece)} & set(range(steps.start, steps.stop + 1)))
        return [range(low, high) for low, high in pairwise(cuts)]

    def turn_to(self, piece: range) -> None:
        pass

    def stream(self, cells: range) -> "Station":
        return Station(self._records, cells, self._piece)

    def tiles(self, steps: range) -> Iterator[tuple[range, Packed]]:
        values = self._records.values[steps.start : steps.stop].T.reshape(-1, 1)
        row_of = np.arange(len(values), dtype=np.int32).reshape(len(NAMES), len(steps))
        for first in range(self._cells.start, self._cells.stop, TILE):
            tile = range(first, min(self._cells.stop, first + TILE))
            yield tile, Packed(np.repeat(values, len(tile), axis=1), row_of, np.ones(len(NAMES)), np.zeros(len(NAMES)))


class Log:
    """Keeps some variables of every day: values[name] is (days, cells)."""

    most_steps = 1

    def __init__(self, names: tuple[str, ...], days: int, cells: int) -> None:
        self.values = {name: np.full((days, cells), np.nan) for name in names}

    def records(self, steps: range) -> list[Records]:
        slots = np.arange(steps.start, steps.stop, dtype=np.int32)
        return [Records(name, "last", slots, values) for name, values in self.values.items()]

    def finish(self, steps: range) -> None:
        pass


def words(o: pasture.Options) -> dict[str, str]:
    """Options as a run file has them."""
    return {name: choice.words[getattr(o, name)] for name, choice in DECLARED.choices.items()}


def model_of(case: Case, dtype: str, cells: int = 1, threads: int = 1, **state: Any) -> CellModel:
    """The model at the start of a case."""
    model = CellModel(pasture, dtype, threads)
    model.initialise(Cells(cells), case.parameters._asdict(), state, words(case.options))
    return model


def whole_run(case: Case, dtype: str, days: int | None = None) -> dict[str, np.ndarray]:
    """Every state and diagnostic (days,) of a case."""
    records = case.weather()
    n = len(records.dates) if days is None else days
    log = Log(EVERYTHING, n, 1)
    model_of(case, dtype).advance(range(n), Station(records, 1), Clock.daily(case.first), log)
    return {name: values[:, 0] for name, values in log.values.items()}
