"""Whole years of days, counted in months."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from steppe.array_types import Integers
from steppe.ingest.meteorology import Values


@dataclass(frozen=True)
class Months:
    """The days and months from 1 January of `first_year` to 31 December of `last_year`, standard calendar, both counted from 0."""

    first_year: int
    last_year: int

    @property
    def years(self) -> int:
        """Number of years."""
        return self.last_year - self.first_year + 1

    @cached_property
    def dates(self) -> NDArray[np.datetime64]:
        """Date of every day, (days,)."""
        return np.arange(f"{self.first_year}-01-01", f"{self.last_year + 1}-01-01", dtype="datetime64[D]")

    @cached_property
    def starts(self) -> Integers:
        """First day of every month, and the day after the last month, (months + 1,)."""
        months = np.arange(f"{self.first_year}-01", f"{self.last_year + 1}-02", dtype="datetime64[M]")
        starts: Integers = (months.astype("datetime64[D]") - self.dates[0]).astype(np.int64)
        return starts

    @cached_property
    def day_of_year(self) -> Integers:
        """1 on 1 January, (days,)."""
        days: Integers = (self.dates - self.dates.astype("datetime64[Y]")).astype(np.int64) + 1
        return days

    def name(self, month: int) -> str:
        """The month as text, "1990-01"."""
        return f"{self.first_year + month // 12}-{month % 12 + 1:02d}"

    def day(self, date: np.datetime64) -> int:
        """The number of the day of a date."""
        return int((date - self.dates[0]).astype(np.int64))

    def sums(self, days: Values) -> Values:
        """Sums of daily values (days, ...) over each month, (months, ...)."""
        return np.add.reduceat(days, self.starts[:-1], axis=0)

    def pieces(self, days: range) -> list[tuple[int, range]]:
        """The months that `days` touch, each with its days among them."""
        first, last = np.searchsorted(self.starts, (days.start, days.stop - 1), side="right") - 1
        starts = self.starts
        return [
            (month, range(max(days.start, int(starts[month])), min(days.stop, int(starts[month + 1])))) for month in range(first, last + 1)
        ]

    def interpolate(self, monthly: Values, days: range) -> Values:
        """Values (12, places) of the middle of each month, linearly between, on `days`: (days, places)."""
        month = np.searchsorted(self.starts, np.arange(days.start, days.stop), side="right") - 1
        middle = (self.starts[:-1] + self.starts[1:]) / 2.0
        half_day = np.arange(days.start, days.stop) + 0.5
        # before the first and after the last middle the nearest two months serve: their year has the same length to a day
        earlier = np.where(half_day < middle[month], month - 1, month)
        before = np.where(earlier < 0, middle[0] - 31.0, middle[np.maximum(earlier, 0)])
        after = np.where(earlier + 1 >= middle.size, middle[-1] + 31.0, middle[np.minimum(earlier + 1, middle.size - 1)])
        share = (half_day - before) / (after - before)
        weights = np.zeros((len(days), 12))
        weights[np.arange(len(days)), earlier % 12] = 1.0 - share
        weights[np.arange(len(days)), (earlier + 1) % 12] += share
        values: Values = weights @ monthly
        return values
