"""Time axes of a store: which days each row of a variable holds for. A row is valid on its days and nowhere else.

Results of steps shorter than a day have rows between instants, float64 days. A row shorter than a day has the name of its end.
"""

from dataclasses import dataclass, replace
from datetime import date as Date
from functools import cached_property
from typing import Any

import cftime
import numpy as np
from numpy.typing import NDArray

from steppe.array_types import Array, Floats, Integers
from steppe.clock import DAY, EPOCH, TICK, day_text, instant_text, is_day, parse_date, parse_instant, ticks_since_epoch
from steppe.errors import RunFileError

WEEKS = 52  # of a year: the last one has the eight or nine days that remain; paper 000


def day_number(date: cftime.datetime) -> int:
    """Days from 1850-01-01 to a date of any calendar."""
    return int(cftime.date2num(date, EPOCH, calendar=date.calendar))


def day_name(number: int, calendar: str) -> str:
    """The date of a day, as 1990-01-31."""
    return day_text(cftime.num2date(number, EPOCH, calendar=calendar))


def ticks_of(days: Floats) -> Integers:
    """Microseconds of days and their fractions. Days and fractions are multiplied apart: one product has too few bits."""
    whole, part = np.floor(days), days - np.floor(days)
    found: Integers = whole.astype(np.int64) * (DAY // TICK) + np.rint(part * (DAY // TICK)).astype(np.int64)
    return found


@dataclass(frozen=True, eq=False)
class Axis:
    """Rows of consecutive days: row i holds for the days starts[i] .. stops[i] - 1, counted from 1850-01-01; int64 (rows,).

    Where a row begins or ends within a day float64: row i holds from after the instant starts[i] to stops[i]. step: of the run that wrote
    it [days]. by_end: a row has the name of the instant of its end, else that of its begin.
    """

    name: str
    starts: Array
    stops: Array
    calendar: str = "standard"
    step: float = 1.0
    by_end: bool = False

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
            A date is not a date, or the end is before the start.
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

    @property
    def whole_days(self) -> bool:
        """Whether the rows begin and end with days."""
        return self.starts.dtype.kind != "f"

    @property
    def times(self) -> Array:
        """The coordinate: the begin of each row, or its end."""
        return self.stops if self.by_end else self.starts

    @property
    def steps(self) -> Integers:
        """Steps of each row."""
        steps: Integers = np.rint((self.stops - self.starts) / self.step).astype(np.int64)
        return steps

    def begin_of(self, row: int) -> str:
        """The first day of a row, or the instant at which it begins."""
        return self._text(self.starts[row])

    def end_of(self, row: int) -> str:
        """The last day of a row, or the instant of its end."""
        return self._text(self.stops[row] - 1 if self.whole_days else self.stops[row])

    def name_of(self, row: int) -> str:
        """The name of a row: its first day, or the instant of its begin or end."""
        return self._text(self.times[row])

    def part(self, rows: slice) -> "Axis":
        """Some of the rows."""
        return replace(self, starts=self.starts[rows], stops=self.stops[rows])

    def between(self, start: str | Date | None, end: str | Date | None) -> slice | None:
        """The rows that hold for a part of the time from `start` to `end`, both inclusive; None if one of the two lies outside.

        Raises
        ------
        RunFileError
            One of them is not a date of the calendar, or has a time of day while the rows are days; or the start is after the end.
        """
        low, high = self.starts[0], self.stops[-1]
        if start:
            begin, after = self._span(start)
            low = low if is_day(start) and begin < low < after else begin  # a run may begin and end within a day
        if end:
            before, stop = self._span(end)
            high = high if is_day(end) and before < high < stop else stop
        if start and end and low >= high:
            raise RunFileError(f"The period from {start} to {end} holds nothing: its start is after its end. Exchange the two.")
        if not np.nextafter(self.starts[0], -np.inf) <= low < high <= self.stops[-1]:
            return None
        return slice(int(np.searchsorted(self.stops, low, side="right")), int(np.searchsorted(self.starts, high, side="left")))

    def end_after(self, date: str | Date) -> float:
        """The end of a day, or the instant itself: where the row that ends with it ends."""
        return self._span(date)[1] if is_day(date) else self._instant(date)

    def _span(self, date: str | Date) -> tuple[float, float]:
        """The ends of a date: rows that hold for it end after the first and begin before the second.

        An instant is the end of the row of its name or its begin, as `by_end` says; the end of all rows belongs to the last one.
        """
        if is_day(date):
            day = day_number(parse_date(date, self.calendar))
            return day, day + 1
        instant = self._instant(date)
        if self.by_end or instant == self.stops[-1]:
            return np.nextafter(instant, -np.inf), instant
        return instant, np.nextafter(instant, np.inf)

    def _instant(self, date: str | Date) -> float:
        if self.whole_days:
            raise RunFileError(f"{date} lies within a day, and these are records of days. Write a date, such as {str(date)[:10]}.")
        return ticks_since_epoch(parse_instant(date, self.calendar)) / (DAY // TICK)

    def _text(self, number: Any) -> str:
        if self.whole_days:
            return day_name(int(number), self.calendar)
        return instant_text(cftime.datetime(1850, 1, 1, calendar=self.calendar) + int(ticks_of(number)) * TICK)

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
        """First and last day, as 1990-01-01 to 1990-12-31."""
        return f"{self.begin_of(0)} to {self.end_of(-1)}"
