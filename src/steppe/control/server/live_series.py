"""Live series of one run: every step since the first viewer began. Viewers of the same cells share one series.

viewers ── open ──> series ── Follow ──> engine ── SeriesRows ──> rows ── each viewer is called
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from steppe.control.framing import detach_cells
from steppe.control.wire import BEGINNING, Follow, Position, SeriesRows, Unfollow

if TYPE_CHECKING:
    from steppe.control.server.supervisor import Supervisor


class SeriesKey(NamedTuple):
    """The variable and cells of a series. cells: packed numbers, uint32, ascending; region: their mean by area, least, greatest value."""

    scenario: str
    name: str
    cells: bytes
    region: bool


@dataclass
class LiveSeries:
    """Rows of consecutive steps of one branch. asked: the branch in the `Follow` of the connected engine; position: of the last row."""

    number: int
    what: SeriesKey
    branch: int | None = None
    asked: int | None = None
    first: int = 1
    dtype: str = "<f4"
    columns: int = 1
    rows: bytearray = field(default_factory=bytearray)
    position: Position = BEGINNING
    viewers: set[Callable[[], None]] = field(default_factory=set)

    @property
    def end(self) -> int:
        """The step after the last."""
        return self.first + len(self.rows) // (np.dtype(self.dtype).itemsize * self.columns)

    def end_at(self, position: Position) -> int:
        """The step after the last whose row is right while the branch stands at a position: a change shows in the present step."""
        return self.end - (position.step == self.position.step and position > self.position)

    def values(self, first: int, stop: int) -> NDArray[np.generic]:
        """The rows of the steps `first` .. `stop` - 1; the caller knows that they are here."""
        size = np.dtype(self.dtype).itemsize * self.columns
        begin, end = (first - self.first) * size, (stop - self.first) * size
        return np.frombuffer(bytes(self.rows[begin:end]), self.dtype).reshape(-1, self.columns)

    def take(self, message: SeriesRows, body: bytes) -> None:
        """Stores rows. Repeated steps replace the old rows of these steps and of all later ones."""
        shape = message.branch, message.dtype, message.columns
        if shape != (self.branch, self.dtype, self.columns) or not self.first <= message.first <= self.end:
            (self.branch, self.dtype, self.columns), self.first, self.rows = shape, message.first, bytearray()
        size = np.dtype(self.dtype).itemsize * self.columns
        del self.rows[(message.first - self.first) * size :]
        self.rows += body
        self.position = message.position


class AllSeries:
    """The live series of one run."""

    def __init__(self, supervisor: Supervisor) -> None:
        self._supervisor, self._numbers = supervisor, count(1)
        self._series: dict[SeriesKey, LiveSeries] = {}

    def __len__(self) -> int:
        """The number of series."""
        return len(self._series)

    def open(self, what: SeriesKey, tell: Callable[[], None]) -> LiveSeries:
        """Adds a viewer. tell: called when there are more rows."""
        found = self._series.get(what) or self._series.setdefault(what, LiveSeries(next(self._numbers), what))
        found.viewers.add(tell)
        self.ask()
        return found

    def close(self, series: LiveSeries, tell: Callable[[], None]) -> None:
        """Removes a viewer."""
        series.viewers.discard(tell)
        if not series.viewers and self._series.get(series.what) is series:
            del self._series[series.what]
            if series.asked is not None:
                self._supervisor.send(Unfollow(series.number))

    def of_others(self, tell: Callable[[], None]) -> set[SeriesKey]:
        """The series of other viewers."""
        return {what for what, series in self._series.items() if series.viewers - {tell}}

    def ask(self) -> None:
        """Sends new and changed series to the engine, if their branches have caught up with what clients have seen."""
        for each in self._series.values():
            branch = self._supervisor.named(each.what.scenario)
            if branch is None or branch == each.asked or self._supervisor.position(branch) is None:
                continue
            each.asked = branch
            self._supervisor.send(*detach_cells(Follow(each.number, branch, each.what.name, each.what.region, each.what.cells)))

    @property
    def branches(self) -> set[int]:
        """The branches with a viewer."""
        return {branch for what in self._series if (branch := self._supervisor.named(what.scenario)) is not None}

    def came(self, message: SeriesRows, body: bytes) -> None:
        """Stores rows and calls the viewers."""
        for each in self._series.values():
            if each.number == message.number and each.asked == message.branch:
                each.take(message, body)
                for tell in [*each.viewers]:
                    tell()

    def kept(self, what: SeriesKey, branch: int) -> LiveSeries | None:
        """The series of a branch with its rows; None if there are none."""
        found = self._series.get(what)
        return found if found is not None and found.branch == branch and found.rows else None

    def reset(self) -> None:
        """Discards what the engine knew: it is gone, or another one has connected. Rows stay right."""
        for each in self._series.values():
            each.asked = None
