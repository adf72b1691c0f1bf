"""Dates of requests as steps of the run, and back."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import timedelta
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steppe.clock import Clock, parse_date
from steppe.errors import RunFileError, SteppeError
from steppe.server.problems import Wrong


@lru_cache(64)
def _clock(start: str, seconds: float | None, calendar: str) -> Clock:
    return Clock(parse_date(start, calendar), None if seconds is None else timedelta(seconds=seconds), calendar)


def clock_of(facts: Mapping[str, Any]) -> Clock:
    """The clock that an engine described: {start, step: seconds or null, calendar}."""
    said = facts["clock"]
    return _clock(said["start"], said["step"], said["calendar"])


def step_behind(date: str, facts: Mapping[str, Any], position: str) -> int:
    """The step that is reached when a date is done, 1 ... steps of the run: a date names the state at its end.

    Raises
    ------
    Wrong
        date-outside-forcing: the calendar has no such date, or it is not one of the run.
    """
    return step_before(date, facts, position) + 1


def step_before(date: str, facts: Mapping[str, Any], position: str) -> int:
    """The step at whose beginning a date begins, 0 ... steps of the run - 1: where what happens on that date takes effect.

    Raises
    ------
    Wrong
        date-outside-forcing: the calendar has no such date, or it is not one of the run.
    """
    clock, steps = clock_of(facts), int(facts["steps"])
    if clock.step is None:
        raise Wrong("date-outside-forcing", "This model iterates without time. Name a step.", value=date, position=position)
    span = [clock.date(0).isoformat()[:10], clock.date(steps - 1).isoformat()[:10]]
    try:
        if date.startswith("0000"):  # there is none in most calendars
            raise RunFileError(f"{date} is no date. Years begin with 0001.")
        step = clock.index(date)
    except SteppeError as error:
        raise Wrong("date-outside-forcing", str(error), value=date, allowed=span, position=position) from None
    if not 0 <= step < steps:
        text = f"{date} lies outside the run, which goes from {span[0]} to {span[1]}."
        raise Wrong("date-outside-forcing", text, value=date, allowed=span, nearest=span[step >= 0], position=position)
    return step


def check_yearly(day: str, facts: Mapping[str, Any], position: str) -> str:
    """A month-day that the run has.

    Raises
    ------
    Wrong
        date-outside-forcing: no year of the run has it.
    """
    clock, steps = clock_of(facts), int(facts["steps"])
    if clock.step is None:
        raise Wrong("date-outside-forcing", "This model iterates without time. Name a step.", value=day, position=position)
    for year in range(clock.date(0).year, clock.date(steps - 1).year + 1):
        with suppress(SteppeError):
            if 0 <= clock.index(f"{year:04d}-{day}") < steps:
                return day
    span = [clock.date(0).isoformat()[:10], clock.date(steps - 1).isoformat()[:10]]
    text = f"No year of the run has a step that begins on {day}; it goes from {span[0]} to {span[1]}."
    raise Wrong("date-outside-forcing", text, value=day, allowed=span, position=position)


def date_of(step: int, facts: Mapping[str, Any]) -> str | None:
    """The date that is done at a step, the first date at step 0; None for models without time."""
    said = facts["clock"]
    return _date(said["start"], said["step"], said["calendar"], step)


def cf_times(steps: Sequence[int], facts: Mapping[str, Any]) -> tuple[NDArray[np.float64], dict[str, str]]:
    """The times of steps that are done, as CF has them: the beginning of each, in days, with units and calendar; without time the steps."""
    clock, done = facts["clock"], np.asarray(steps, np.float64)
    if clock["step"] is None:
        return done, {"units": "1"}
    return (done - 1) * (clock["step"] / 86400.0), {"units": f"days since {clock['start'][:10]}", "calendar": clock["calendar"]}


@lru_cache(4096)
def _date(start: str, seconds: float | None, calendar: str, step: int) -> str | None:
    clock = _clock(start, seconds, calendar)
    return None if clock.step is None else clock.date(max(step - 1, 0)).isoformat()[:10]
