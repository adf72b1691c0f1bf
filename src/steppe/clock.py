"""What time is: a start, a step and a calendar; an index counts the steps from the start."""

from dataclasses import dataclass
from datetime import date as Date
from datetime import timedelta
from functools import lru_cache
from typing import NamedTuple

import cftime
import numpy as np
from numpy.typing import NDArray

from steppe.errors import RunFileError

CALENDARS = ("standard", "proleptic_gregorian", "noleap", "360_day")
TICK = timedelta(microseconds=1)
EPOCH = "days since 1850-01-01"  # of every time axis that Steppe writes


class CalendarFields(NamedTuple):
    """Calendar position of some steps: int64 arrays (steps,). day_of_year counts from 1."""

    day_of_year: NDArray[np.int64]
    month: NDArray[np.int64]
    year: NDArray[np.int64]


def parse_date(value: str | Date | cftime.datetime, calendar: str = "standard") -> cftime.datetime:
    """A date of `calendar` from ISO text ("1990-01-31"), a Python date or a cftime date.

    Raises
    ------
    RunFileError
        The text is no date, or the calendar has no such day (29 February in "noleap").
    """
    if calendar not in CALENDARS:
        raise RunFileError(f'Calendar "{calendar}" is not known. Use one of {", ".join(CALENDARS)}.')
    text = value.isoformat() if isinstance(value, cftime.datetime | Date) else value
    try:
        year, month, day = (int(part) for part in text[:10].split("-"))
        return cftime.datetime(year, month, day, calendar=calendar)
    except ValueError:
        raise RunFileError(f'"{text}" is not a date of the {calendar} calendar. Write one of it, such as 1990-01-30.') from None


@lru_cache
def _month_ends(year: int, calendar: str) -> NDArray[np.int64]:
    """Days from the beginning of a year to the end of each month, (12,)."""
    begin = cftime.datetime(year, 1, 1, calendar=calendar)
    firsts = [cftime.datetime(year + month // 12, month % 12 + 1, 1, calendar=calendar) for month in range(1, 13)]
    return np.array([(first - begin).days for first in firsts])


@dataclass(frozen=True)
class Clock:
    """Steps of one length from a start, in a calendar. step None: the model iterates without time, an index is all there is."""

    start: cftime.datetime
    step: timedelta | None = timedelta(days=1)
    calendar: str = "standard"

    @classmethod
    def daily(cls, start: str | Date | cftime.datetime, calendar: str = "standard") -> "Clock":
        """A clock of one-day steps."""
        return cls(parse_date(start, calendar), timedelta(days=1), calendar)

    def date(self, index: int) -> cftime.datetime:
        """The date at which step `index` begins."""
        if self.step is None:
            raise RunFileError("This model iterates without time; it has no dates.")
        return self.start + index * self.step

    def index(self, date: str | Date | cftime.datetime) -> int:
        """The step that begins at `date`.

        Raises
        ------
        RunFileError
            The date lies between two steps or is no date of the calendar.
        """
        if self.step is None:
            raise RunFileError("This model iterates without time; it has no dates.")
        whole, rest = divmod(parse_date(date, self.calendar) - self.start, self.step)
        if rest:
            raise RunFileError(f"{date} lies between two steps of {self.step} from {self.start.isoformat()}.")
        return int(whole)

    def fields(self, steps: range) -> CalendarFields:
        """Day of year, month and year of each step; the days of a year are counted as they were, also when ten were left out (1582)."""
        first = self.date(steps.start)
        begins, years = [0], [first.year]
        since = first - cftime.datetime(first.year, 1, 1, calendar=self.calendar)
        assert self.step is not None  # else there is no date
        days = (since // TICK + np.arange(len(steps)) * (self.step // TICK)) // (timedelta(days=1) // TICK)
        while days.size and begins[-1] + _month_ends(years[-1], self.calendar)[-1] <= days[-1]:
            begins.append(begins[-1] + int(_month_ends(years[-1], self.calendar)[-1]))
            years.append(years[-1] + 1)
        at = np.searchsorted(begins, days, side="right") - 1
        days -= np.array(begins)[at]
        ends = np.array([_month_ends(year, self.calendar) for year in years])[at]
        return CalendarFields(days + 1, 1 + (days[:, None] >= ends).sum(axis=1), np.array(years)[at])

    def days_since_epoch(self, steps: NDArray[np.int64]) -> NDArray[np.float64]:
        """The beginnings of steps on the time axis of the files ("days since 1850-01-01" in this calendar)."""
        since = (self.date(0) - cftime.datetime(1850, 1, 1, calendar=self.calendar)) // TICK
        assert self.step is not None  # else there is no date
        days: NDArray[np.float64] = (since + steps * (self.step // TICK)) / (timedelta(days=1) // TICK)
        return days
