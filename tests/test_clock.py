from datetime import timedelta

import cftime
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steppe.clock import CALENDARS, EPOCH, Clock, parse_date


@pytest.mark.parametrize("calendar", CALENDARS)
@pytest.mark.parametrize("start", ["1583-01-01", "1900-01-01", "1999-12-20", "2000-02-27"])
@pytest.mark.parametrize("step", [timedelta(days=1), timedelta(hours=7), timedelta(days=10)], ids=str)
def test_the_fields_of_steps_are_those_of_their_dates(calendar: str, start: str, step: timedelta) -> None:
    clock = Clock(parse_date(start, calendar), step, calendar)
    days = cftime.date2num([clock.date(index) for index in range(900)], EPOCH, calendar=calendar)
    assert clock.days_since_epoch(np.arange(900)).tolist() == pytest.approx(days.tolist(), abs=1e-9)
    for steps in (range(0), range(1), range(3, 900), range(60, 70)):
        found = clock.fields(steps)
        dates = [clock.date(index) for index in steps]
        assert found.day_of_year.tolist() == [date.dayofyr for date in dates]
        assert found.month.tolist() == [date.month for date in dates]
        assert found.year.tolist() == [date.year for date in dates]


@given(
    st.sampled_from(CALENDARS),
    st.integers(1610, 2300),  # no piece begins in 1582, whose days cftime counts in another way
    st.sampled_from([timedelta(days=1), timedelta(days=10), timedelta(hours=8), timedelta(hours=7)]),
    st.integers(0, 800),
    st.integers(0, 800),
)
@settings(deadline=None)
def test_a_piece_of_steps_may_end_at_the_first_step_of_a_year(calendar: str, year: int, step: timedelta, before: int, length: int) -> None:
    clock = Clock(cftime.datetime(year, 1, 1, calendar=calendar) - before * step, step, calendar)
    for stop in (before, before + 1, before + 2):
        found = clock.fields(steps := range(max(0, before - length), stop))
        dates = [clock.date(index) for index in steps]
        assert found.day_of_year.tolist() == [date.dayofyr for date in dates]
        assert found.month.tolist() == [date.month for date in dates]
        assert found.year.tolist() == [date.year for date in dates]
