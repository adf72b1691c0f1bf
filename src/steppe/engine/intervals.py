"""The begins and ends of the intervals of an output, as steps of the clock."""

import cftime
import numpy as np

from steppe.array_types import Integers
from steppe.clock import DAY, Clock, length, length_text
from steppe.errors import RunFileError


def edges(text: str, clock: Clock, steps: int) -> Integers:
    """Steps at which intervals such as "1 month" begin, and `steps` as the last end: (intervals + 1,) int64.

    Months and years begin with the calendar's; the first and the last interval may be cut by the run. Days and what is shorter are counted
    from the start.

    Raises
    ------
    RunFileError
        The interval is no whole number of steps.
    """
    number, unit = text.rstrip("s").split()
    if clock.step is None:
        return np.append(np.arange(0, steps, int(number)), steps)
    if unit not in ("month", "year"):
        count, rest = divmod(7 * int(number) * DAY if unit == "week" else length(text), clock.step)
        if rest or not count:
            raise RunFileError(f'every = "{text}" is no whole number of steps of {length_text(clock.step)}.')
        return np.append(np.arange(0, steps, count), steps)
    found = [0]
    start = clock.date(0)
    month = 1 if unit == "year" else start.month
    begin = cftime.datetime(start.year, month, 1, calendar=clock.calendar)
    months = int(number) * (12 if unit == "year" else 1)
    while True:
        year, month0 = divmod(begin.year * 12 + begin.month - 1 + months, 12)
        begin = cftime.datetime(year, month0 + 1, 1, calendar=clock.calendar)
        step = -int((start - begin) // clock.step)
        if step >= steps:
            return np.array([*found, steps], dtype=np.int64)
        if step > found[-1]:  # a step may be longer than a month
            found.append(step)
