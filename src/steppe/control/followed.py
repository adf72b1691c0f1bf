"""Series of what people follow, as the server keeps them: every step since somebody began, one for all who follow the same.

viewers ── open ──> series ── Follow ──> engine ── Followed ──> rows ── each viewer is told of those that are new
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from steppe.control.channels import Desk
from steppe.control.wire import Follow, Followed, Unfollow, following


class What(NamedTuple):
    """What is followed. cells: packed numbers, uint32, ascending; region: their mean by area, least and greatest value."""

    scenario: str
    name: str
    cells: bytes
    region: bool


@dataclass
class Series:
    """Rows of steps side by side, of one branch. asked: the branch that this engine was told to follow."""

    number: int
    what: What
    branch: int | None = None
    asked: int | None = None
    first: int = 1
    dtype: str = "<f4"
    columns: int = 1
    rows: bytearray = field(default_factory=bytearray)
    viewers: set[Callable[[], None]] = field(default_factory=set)

    @property
    def end(self) -> int:
        """The step behind the last."""
        return self.first + len(self.rows) // (np.dtype(self.dtype).itemsize * self.columns)

    def values(self, first: int, stop: int) -> NDArray[np.generic]:
        """The rows of the steps `first` .. `stop` - 1, which are there."""
        size = np.dtype(self.dtype).itemsize * self.columns
        begin, end = (first - self.first) * size, (stop - self.first) * size
        return np.frombuffer(bytes(self.rows[begin:end]), self.dtype).reshape(-1, self.columns)

    def take(self, message: Followed, body: bytes) -> None:
        """Takes rows; steps that were made again replace what was told of them and of all behind."""
        shape = message.branch, message.dtype, message.columns
        if shape != (self.branch, self.dtype, self.columns) or not self.first <= message.first <= self.end:
            (self.branch, self.dtype, self.columns), self.first, self.rows = shape, message.first, bytearray()
        size = np.dtype(self.dtype).itemsize * self.columns
        del self.rows[(message.first - self.first) * size :]
        self.rows += body


class AllFollowed:
    """Those of one run."""

    def __init__(self, desk: Desk) -> None:
        self._desk, self._numbers = desk, count(1)
        self._series: dict[What, Series] = {}

    def __len__(self) -> int:
        """How many there are."""
        return len(self._series)

    def open(self, what: What, tell: Callable[[], None]) -> Series:
        """Begins to follow. tell: is called when there are more rows."""
        found = self._series.get(what) or self._series.setdefault(what, Series(next(self._numbers), what))
        found.viewers.add(tell)
        self.ask()
        return found

    def close(self, series: Series, tell: Callable[[], None]) -> None:
        """Follows no longer."""
        series.viewers.discard(tell)
        if not series.viewers and self._series.get(series.what) is series:
            del self._series[series.what]
            if series.asked is not None:
                self._desk.send(Unfollow(series.number))

    def of_others(self, tell: Callable[[], None]) -> set[What]:
        """What others follow."""
        return {what for what, series in self._series.items() if series.viewers - {tell}}

    def ask(self) -> None:
        """Tells the engine what is followed, where that is news and the branch stands where people have seen it."""
        for each in self._series.values():
            branch = self._desk.named(each.what.scenario)
            if branch is None or branch == each.asked or self._desk.position(branch) is None:
                continue
            each.asked = branch
            self._desk.send(*following(Follow(each.number, branch, each.what.name, each.what.region, each.what.cells)))

    @property
    def branches(self) -> set[int]:
        """Branches that somebody follows."""
        return {branch for what in self._series if (branch := self._desk.named(what.scenario)) is not None}

    def came(self, message: Followed, body: bytes) -> None:
        """Takes rows; who follows is told."""
        for each in self._series.values():
            if each.number == message.number and each.asked == message.branch:
                each.take(message, body)
                for tell in [*each.viewers]:
                    tell()

    def kept(self, what: What, branch: int) -> Series | None:
        """What is known of a branch, for who asks for all steps."""
        found = self._series.get(what)
        return found if found is not None and found.branch == branch and found.rows else None

    def again(self) -> None:
        """There is another engine, or none; what was told stays right."""
        for each in self._series.values():
            each.asked = None
