"""Time: a start, a step and a calendar; an index counts the steps from the start.

A step of whole days has the name of its first day, 2001-03-05; a shorter one has that of the instant of its end, 2001-03-05T06:00.
"""

import re
from dataclasses import dataclass
from datetime import date as Date
from datetime import datetime, timedelta
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

import cftime
import numpy as np

from steppe.array_types import Floats, Integers
from steppe.errors import RunFileError

STANDARD = ("standard", "proleptic_gregorian")
CALENDARS = (*STANDARD, "noleap", "360_day")
YEAR = {"noleap": 365.0, "360_day": 360.0} | dict.fromkeys(STANDARD, 365.25)  # [d] mean length
NANOSECONDS = range(1678, 2262)  # years that datetime64[ns] has
TICK = timedelta(microseconds=1)
DAY = timedelta(days=1)
EPOCH = "days since 1850-01-01"  # of every time axis that Steppe writes
_LENGTHS = {"second": 1, "minute": 60, "hour": 3600, "day": 86400}  # [s]
_LENGTH = re.compile(r"(\d+(?:\.\d+)?) (second|minute|hour|day)s?$")
_DAY = re.compile(r"(\d{1,4})-(\d\d?)-(\d\d?)", re.ASCII)
_ZONED = re.compile(r"(.*?[ T]\d{1,2}:\d\d(?::\d{1,2}(?:\.\d*)?)?) *(?:(?P<offset>([+-])(\d{1,2}):?(\d\d)?)(?::00)?|\(?(.*?)\)?)")
_INSTANT = re.compile(r"(\d{4}-\d\d-\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,6}))?)?)?$")


class CalendarFields(NamedTuple):
    """Calendar position of some steps: int64 arrays (steps,). day_of_year counts from 1."""

    day_of_year: Integers
    month: Integers
    year: Integers


def parse_date(value: str | Date | cftime.datetime, calendar: str = "standard") -> cftime.datetime:
    """A date of `calendar` from ISO text ("1990-01-31"), a Python date or a cftime date.

    Raises
    ------
    RunFileError
        The text is no date, or the calendar has no such day (29 February in "noleap").
    """
    if calendar not in CALENDARS:
        raise RunFileError(f'Calendar "{calendar}" is not known. Use one of {", ".join(CALENDARS)}.')
    text = value if isinstance(value, str) else day_text(value)
    found = _DAY.fullmatch(text)
    try:
        year, month, day = map(int, found.groups() if found else ())
        return cftime.datetime(year, month, day, calendar=calendar)
    except ValueError:
        raise RunFileError(f'"{text}" is not a date of the {calendar} calendar. Write one of it, such as 1990-01-30.') from None


def parse_instant(value: str | Date | cftime.datetime, calendar: str = "standard") -> cftime.datetime:
    """A date of `calendar` with the time of day, as 2001-03-05T06:00 or 2001-03-05T06:00:37.5; of a date alone its beginning.

    Raises
    ------
    RunFileError
        The text is no date or date-time, or the calendar has no such day.
    """
    text = value.isoformat() if isinstance(value, cftime.datetime | Date) else value
    found = _INSTANT.match(text)
    hour, minute, second = (int(part or 0) for part in found.group(2, 3, 4)) if found else (0, 0, 0)
    if not found or hour > 23 or minute > 59 or second > 59:
        raise RunFileError(f'"{text}" is not a date or a date-time. Write one such as 2001-03-05 or 2001-03-05T06:00, without a zone.')
    time = timedelta(hours=hour, minutes=minute, seconds=second, microseconds=int((found[5] or "").ljust(6, "0")))
    return parse_date(found[1], calendar) + time


def zoned(units: str) -> str:
    """Units of a time axis with the zone as cftime reads it, -06:00: it ignores other forms, as the "-6:00" of the CF conventions.

    Raises
    ------
    ValueError
        The zone is a name other than UTC.
    """
    found = _ZONED.fullmatch(units.strip())
    if not found:
        return units
    before, _, sign, hours, minutes, name = found.groups()
    if name and name.upper() not in ("Z", "UTC", "GMT", "0:00", "00:00"):
        raise ValueError(f'the zone "{name}" is not known; write it as +02:00')
    return f"{before} {sign}{int(hours):02d}:{minutes or '00'}" if sign else units


def offset_of(units: str) -> str:
    """The offset from UTC in the units of a time axis, as written there; "" without one."""
    found = _ZONED.fullmatch(units.strip())
    offset = found["offset"] if found else None
    return offset if offset and float(offset.replace(":", "")) else ""


def ticks_since_epoch(date: cftime.datetime) -> int:
    """Microseconds from the beginning of the time axes of files to a date."""
    return int((date - cftime.datetime(1850, 1, 1, calendar=date.calendar)) // TICK)


def length(text: str) -> timedelta:
    """A time such as "10 minutes", "37.5 seconds" or "1 day".

    Raises
    ------
    RunFileError
        The text is no such time, or it is no whole number of microseconds, or it is 0.
    """
    found = _LENGTH.match(text)
    ticks = Fraction(found[1]) * _LENGTHS[found[2]] * 1_000_000 if found else Fraction(0)
    if not ticks or ticks.denominator != 1 or ticks > timedelta.max // TICK:
        raise RunFileError(f'"{text}" is no length of time. Write a number of seconds, minutes, hours or days, such as "10 minutes".')
    return int(ticks) * TICK


def length_text(time: timedelta) -> str:
    """A time in the largest unit that gives a whole number, else in seconds: "10 minutes", "1 day", "37.5 seconds"."""
    for unit, seconds in reversed(_LENGTHS.items()):
        number, rest = divmod(time, timedelta(seconds=seconds))
        if not rest:
            return f"{number} {unit}{'s' if number != 1 else ''}"
    whole, ticks = divmod(time, timedelta(seconds=1))
    return f"{whole}.{ticks // TICK:06d}".rstrip("0") + " seconds"


def day_text(date: cftime.datetime | Date) -> str:
    """The day of a date, as 2001-03-05."""
    return str(date.isoformat())[:10]


def instant_text(date: cftime.datetime) -> str:
    """An instant, as 2001-03-05T06:00; with seconds and their fraction only where it has some."""
    text = f"{day_text(date)}T{date.hour:02d}:{date.minute:02d}"
    fraction = f".{date.microsecond:06d}".rstrip("0").rstrip(".")
    return f"{text}:{date.second:02d}{fraction}" if date.second or date.microsecond else text


def is_day(date: str | Date | cftime.datetime) -> bool:
    """Whether it names a day, without a time of day."""
    return len(date) <= 10 if isinstance(date, str) else isinstance(date, Date) and not isinstance(date, datetime)


@lru_cache
def _month_ends(year: int, calendar: str) -> Integers:
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
        return self.start + index * self.length

    def index(self, date: str | Date | cftime.datetime) -> int:
        """The step that begins at `date`: at an instant, or with the day where a date stands alone.

        Raises
        ------
        RunFileError
            The date lies between two steps or is no date of the calendar.
        """
        return self._steps_to((parse_date if is_day(date) else parse_instant)(date, self.calendar), date)

    def done(self, name: str | Date | cftime.datetime) -> int:
        """How many steps are done at the end of the step with this name. Of shorter steps a date alone is the whole day.

        Raises
        ------
        RunFileError
            The name lies between two steps or is no date of the calendar.
        """
        if self.of_days:
            return self.index(name) + 1
        return self._steps_to(parse_date(name, self.calendar) + DAY if is_day(name) else parse_instant(name, self.calendar), name)

    def least_done(self, name: str | Date | cftime.datetime) -> int:
        """The fewest steps that a name of the run may mean: 1, or 0 for the instant of the beginning where steps are shorter than a day."""
        return int(self.of_days or is_day(name))

    @property
    def length(self) -> timedelta:
        """How long a step is."""
        if self.step is None:
            raise RunFileError("This model iterates without time; it has no dates.")
        return self.step

    @property
    def of_days(self) -> bool:
        """Whether a step is one or more whole days."""
        return self.length >= DAY

    def name(self, index: int) -> str:
        """The name of step `index`: its first day, 2001-03-05, or of a step shorter than a day the instant of its end."""
        return day_text(self.date(index)) if self.of_days else instant_text(self.date(index + 1))

    def begin(self, index: int) -> str:
        """When step `index` begins: with a day, or at an instant where steps are shorter."""
        return (day_text if self.of_days else instant_text)(self.date(index))

    def after(self, steps: int) -> str:
        """The name of what is there after so many steps, that of the last of them; before the first, of days, one step before the run."""
        return (day_text if self.of_days else instant_text)(self.moment(steps))

    def moment(self, steps: int) -> cftime.datetime:
        """The date of `after`: the beginning of the last step where it is of days, the end of a shorter one.

        Calendars have no date before the year 1: 0 steps of days from its beginning have the date of the first one.
        """
        if not self.of_days:
            return self.date(steps)
        first = self.start - cftime.datetime(1, 1, 1, calendar=self.calendar) < self.length
        return self.date(max(steps - 1, 0) if first else steps - 1)

    def label(self, steps: int) -> np.datetime64 | cftime.datetime:
        """The same date as xarray decodes it from a file: datetime64[ns] where that can have it, cftime otherwise."""
        date = self.moment(steps)
        return np.datetime64(date.isoformat(), "ns") if self.calendar in STANDARD and date.year in NANOSECONDS else date

    @property
    def units(self) -> str:
        """Days since the start, as CF writes it."""
        since = str(self.start.isoformat())
        return f"days since {since[:10] if since.endswith('T00:00:00') else since.replace('T', ' ')}"

    @property
    def unit(self) -> str:
        """The word for a step where steps are counted: "day", or "step" where it has another length."""
        return "day" if self.step == DAY else "step"

    def _steps_to(self, date: cftime.datetime, said: object) -> int:
        whole, rest = divmod(date - self.start, self.length)
        if rest:
            near = f"{self.begin(whole)} and {self.begin(whole + 1)}"
            raise RunFileError(f"{said} lies between two steps of {length_text(self.length)}: {near} are the nearest.")
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

    def days_since_epoch(self, steps: Integers) -> Floats:
        """The beginnings of steps on the time axis of the files ("days since 1850-01-01" in this calendar)."""
        since = ticks_since_epoch(self.date(0))
        assert self.step is not None  # else there is no date
        days: Floats = (since + steps * (self.step // TICK)) / (DAY // TICK)
        return days


def time_attributes(name: str, of_days: bool) -> dict[str, str]:
    """The CF attributes of a time axis with bounds, but for its units and calendar. of_days: a time is the first day, not the end."""
    return {"standard_name": "time", "long_name": "first day" if of_days else "end", "axis": "T", "bounds": f"{name}_bnds"}
