"""Time axes of a forcing store: which days each row of a variable holds for. A row is valid on its days and nowhere else."""

from dataclasses import dataclass
from datetime import date as Date
from functools import cached_property

import cftime
import numpy as np
from numpy.typing import NDArray

from steppe.clock import EPOCH, day_text, parse_date
from steppe.errors import RunFileError

WEEKS = 52  # of a year: the last one has the eight or nine days that remain; paper 000


def day_number(date: cftime.datetime) -> int:
    """Days from 1850-01-01 to a date of any calendar."""
    return int(cftime.date2num(date, EPOCH, calendar=date.calendar))


def day_name(number: int, calendar: str) -> str:
    """The date of a day as people write it, 1990-01-31."""
    return day_text(cftime.num2date(number, EPOCH, calendar=calendar))


@dataclass(frozen=True, eq=False)
class Axis:
    """Rows of consecutive days: row i holds for the days starts[i] .. stops[i] - 1, counted from 1850-01-01; int64 (rows,)."""

    name: str
    starts: NDArray[np.int64]
    stops: NDArray[np.int64]
    calendar: str = "standard"

    @classmethod
    def daily(cls, first: int, days: int, calendar: str = "standard") -> "Axis":
        """A row a day, `days` of them from day `first`."""
        starts = np.arange(first, first + days, dtype=np.int64)
        return cls("time", starts, starts + 1, calendar)

    @classmethod
    def of_days(cls, start: str | Date, end: str | Date, calendar: str = "standard") -> "Axis":
        """A row a day from `start` to `end`, both inclusive.

        Raises
        ------
        RunFileError
            A date is none, or the end is before the start.
        """
        first, last = (day_number(parse_date(date, calendar)) for date in (start, end))
        if last < first:
            raise RunFileError(f"The period from {start} to {end} holds no day. The end is the last day, inclusive.")
        return cls.daily(first, last - first + 1, calendar)

    @classmethod
    def weekly(cls, first: int, days: int, calendar: str = "standard") -> "Axis":
        """A row a week: day d of a year (from 1) lies in week min((d - 1) div 7, 51), counted from 0. Cut off at both ends."""
        stop = first + days
        last_year = cftime.num2date(stop - 1, EPOCH, calendar=calendar).year
        year = cftime.num2date(first, EPOCH, calendar=calendar).year
        new_years = [day_number(cftime.datetime(y, 1, 1, calendar=calendar)) for y in range(year, last_year + 1)]
        starts = np.concatenate([day + 7 * np.arange(WEEKS, dtype=np.int64) for day in new_years])
        starts = starts[starts < stop]
        starts = np.maximum(starts[np.searchsorted(starts, first, side="right") - 1 :], first)
        return cls("time_weekly", starts, np.append(starts[1:], stop), calendar)

    @property
    def rows(self) -> int:
        """Number of rows."""
        return len(self.starts)

    @property
    def first(self) -> int:
        """First day."""
        return int(self.starts[0])

    @property
    def stop(self) -> int:
        """The day after the last."""
        return int(self.stops[-1])

    @cached_property
    def row_of_day(self) -> NDArray[np.int32]:
        """The row of each day from the first to the last, (days,)."""
        return np.repeat(np.arange(self.rows, dtype=np.int32), self.stops - self.starts)

    def rows_of(self, days: range) -> range:
        """The rows that hold for some days of the axis."""
        first, last = np.searchsorted(self.stops, [days.start, days.stop - 1], side="right")
        return range(int(first), int(last) + 1)

    @property
    def is_daily(self) -> bool:
        """Whether every row is one day."""
        return self.rows == self.stop - self.first

    def period(self) -> str:
        """First and last day as people write them."""
        return f"{day_name(self.first, self.calendar)} to {day_name(self.stop - 1, self.calendar)}"
