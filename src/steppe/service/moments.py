"""Dates of requests as steps of the run, and back."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import timedelta
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from steppe.api.documents import RunFacts
from steppe.array_types import Floats
from steppe.clock import DAY, TICK, Clock, is_day, length_text, parse_date, parse_instant, time_attributes
from steppe.control import Refused
from steppe.errors import RunFileError, SteppeError, some

UNITS = {  # of CF times, which are whole numbers of the first that divides a step: readers decode fractions one nanosecond early
    "days": DAY,
    "hours": timedelta(hours=1),
    "minutes": timedelta(minutes=1),
    "seconds": timedelta(seconds=1),
    "milliseconds": timedelta(milliseconds=1),
    "microseconds": TICK,
}


@lru_cache(64)
def _clock(start: str, seconds: float | None, calendar: str) -> Clock:
    return Clock(parse_instant(start, calendar), None if seconds is None else timedelta(seconds=seconds), calendar)


def clock_of(facts: RunFacts) -> Clock:
    """The clock that an engine described: {start, step: seconds or null, calendar}."""
    said = facts["clock"]
    return _clock(said["start"], said["step"], said["calendar"])


def step_behind(date: str, facts: RunFacts, position: str) -> int:
    """The step that is reached when a date is done, 1 ... steps of the run: a date names the state at its end. Of steps shorter than a day
    the instant of the beginning names step 0.

    Raises
    ------
    Refused
        date-wrong: the calendar or the run has no such date; date-outside-forcing: it lies outside the run.
    """
    clock, steps = _dated(date, facts, position)
    return _inside(clock.done, date, range(clock.least_done(date), steps + 1), clock, steps, position)


def step_from(date: str, facts: RunFacts, position: str) -> int:
    """The first step of a range that begins with a date: the first that ends within a day, or the one that an instant names.

    Raises
    ------
    Refused
        date-wrong: the calendar or the run has no such date; date-outside-forcing: it lies outside the run.
    """
    if not is_day(date):
        return step_behind(date, facts, position)
    clock, steps = _dated(date, facts, position)
    # A run may begin within the day.
    return _inside(lambda day: max(clock.index(day) + 1, min(clock.done(day), 1)), date, range(1, steps + 1), clock, steps, position)


def step_before(date: str, facts: RunFacts, position: str) -> int:
    """The step at whose beginning a date begins, 0 ... steps of the run - 1: where what happens on that date takes effect.

    Raises
    ------
    Refused
        date-wrong: the calendar or the run has no such date; date-outside-forcing: it lies outside the run.
    """
    clock, steps = _dated(date, facts, position)
    return _inside(clock.index, date, range(steps), clock, steps, position)


def _dated(value: str, facts: RunFacts, position: str) -> tuple[Clock, int]:
    """The clock of a run with dates, and its steps."""
    clock = clock_of(facts)
    if clock.step is None:
        raise Refused("date-wrong", "This model iterates without time. Name a step.", value=value, position=position)
    return clock, int(facts["steps"])


def _inside(find: Callable[[str], int], date: str, allowed: range, clock: Clock, steps: int, position: str) -> int:
    span = [clock.begin(0), clock.name(steps - 1)]
    try:
        if date.startswith("0000"):  # there is none in most calendars
            raise RunFileError(f"{date} is no date. Years begin with 0001.")
        step = find(date)
    except SteppeError as error:
        raise Refused("date-wrong", str(error), value=date, position=position) from None
    if step not in allowed:
        text = f"{date} lies outside the run, which goes from {span[0]} to {span[1]}."
        raise Refused("date-outside-forcing", text, value=date, allowed=span, nearest=span[step >= allowed.start], position=position)
    return step


def check_yearly(day: str, facts: RunFacts, position: str) -> str:
    """A month-day on which a step begins in each year of the run that has it.

    Raises
    ------
    Refused
        date-outside-forcing: no year of the run has it; date-wrong: in some years it lies between the begins of two steps.
    """
    clock, steps = _dated(day, facts, position)
    begin, end = clock.date(0), clock.date(steps)
    good, lacking = list[str](), list[str]()
    for year in range(begin.year, end.year + 1):
        with suppress(SteppeError):  # no such day in this year
            date = parse_date(f"{year:04d}-{day}", clock.calendar)
            if begin <= date < end:
                (good if clock.date((date - begin) // clock.length) == date else lacking).append(str(year))
    span = [clock.begin(0), clock.name(steps - 1)]
    if not good:
        text = f"No year of the run has a step that begins on {day}; it goes from {span[0]} to {span[1]}."
        raise Refused("date-outside-forcing", text, value=day, allowed=span, position=position)
    if lacking:
        text = f"No step of {length_text(clock.length)} begins on {day} in {some(lacking, 5)}. Give a date of each year instead."
        raise Refused("date-wrong", text, value=day, position=position)
    return day


def date_of(step: int, facts: RunFacts) -> str | None:
    """The date that is done at a step, of days at step 0 the one before the run; None for models without time."""
    said = facts["clock"]
    return _date(said["start"], said["step"], said["calendar"], step)


def begin_of(step: int, facts: RunFacts) -> str | None:
    """When a step begins, as `step_before` takes it; None for models without time."""
    clock = clock_of(facts)
    return None if clock.step is None else clock.begin(step)


class CfTimes(NamedTuple):
    """Moments of steps as CF has them: values (steps,) and bounds (steps, 2), with their attributes; without time the steps."""

    values: Floats
    bounds: Floats | None
    attributes: dict[str, str]


def cf_times(steps: Sequence[int], facts: RunFacts) -> CfTimes:
    """The moments of steps that are done."""
    clock, done = clock_of(facts), np.asarray(steps, np.float64)
    if clock.step is None:
        return CfTimes(done, None, {"units": "1", "long_name": "step"})
    unit = next(name for name, length in UNITS.items() if not clock.step % length)
    bounds = np.stack([done - 1, done], axis=1) * (clock.step // UNITS[unit])
    said = {"units": clock.units.replace("days", unit, 1), "calendar": clock.calendar, **time_attributes("time", clock.of_days)}
    return CfTimes(bounds[:, 0 if clock.of_days else 1], bounds, said)


@lru_cache(4096)
def _date(start: str, seconds: float | None, calendar: str, step: int) -> str | None:
    clock = _clock(start, seconds, calendar)
    return None if clock.step is None else clock.after(step)
