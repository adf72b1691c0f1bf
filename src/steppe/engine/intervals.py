"""The begins and ends of the intervals of an output, as steps of the clock."""

import cftime
import numpy as np

from steppe.array_types import Integers
from steppe.clock import DAY, TICK, Clock, length_text
from steppe.engine.run_file import Every
from steppe.errors import RunFileError


def edges(every: Every, clock: Clock, steps: int) -> Integers:
    """Steps at which intervals begin, and `steps` as the last end: (intervals + 1,) int64.

    Months and years begin with the calendar's; the first and the last interval may be cut by the run. Days and what is shorter are counted
    from the start.

    Raises
    ------
    RunFileError
        The interval is no whole number of steps.
    """
    if clock.step is None:
        return np.append(np.arange(0, steps, every.number), steps)
    if every.unit in ("day", "length"):
        time = every.number * (DAY if every.unit == "day" else TICK)
        length, rest = divmod(time, clock.step)
        if rest or not length:
            raise RunFileError(f"An interval of {length_text(time)} is no whole number of steps of {length_text(clock.step)}.")
        return np.append(np.arange(0, steps, length), steps)
    found = [0]
    start = clock.date(0)
    month = 1 if every.unit == "year" else start.month
    begin = cftime.datetime(start.year, month, 1, calendar=clock.calendar)
    months = every.number * (12 if every.unit == "year" else 1)
    while True:
        year, month0 = divmod(begin.year * 12 + begin.month - 1 + months, 12)
        begin = cftime.datetime(year, month0 + 1, 1, calendar=clock.calendar)
        step = -int((start - begin) // clock.step)
        if step >= steps:
            return np.array([*found, steps], dtype=np.int64)
        if step > found[-1]:  # a step may be longer than a month
            found.append(step)
