from datetime import timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steppe.clock import Clock
from steppe.engine.intervals import edges
from steppe.errors import RunFileError


def test_months_begin_with_the_calendar_and_the_ends_of_the_run_cut_them():
    clock = Clock.daily("1990-01-10")
    assert edges("1 month", clock, 60).tolist() == [0, 22, 50, 60]


def test_years_and_several_months_begin_with_the_year_of_the_start():
    clock = Clock.daily("1990-11-30")
    found = [str(clock.date(int(step)))[:10] for step in edges("1 year", clock, 800)[:-1]]
    assert found == ["1990-11-30", "1991-01-01", "1992-01-01", "1993-01-01"]
    found = [str(clock.date(int(step)))[:10] for step in edges("3 months", clock, 200)[:-1]]
    assert found == ["1990-11-30", "1991-02-01", "1991-05-01"]


def test_a_leap_day_has_its_place_in_the_calendar_that_has_it():
    assert edges("1 month", Clock.daily("1992-02-01"), 40).tolist() == [0, 29, 40]
    assert edges("1 month", Clock.daily("1992-02-01", "noleap"), 40).tolist() == [0, 28, 40]


def test_days_may_be_a_fraction_where_steps_are_shorter():
    start = Clock.daily("1990-01-01").start
    assert edges("0.25 days", Clock(start, timedelta(hours=3)), 7).tolist() == [0, 2, 4, 6, 7]
    assert edges("1.5 days", Clock(start, timedelta(hours=12)), 7).tolist() == [0, 3, 6, 7]
    with pytest.raises(RunFileError, match=r'every = "0\.1 days" is no whole number of steps of 3 hours'):
        edges("0.1 days", Clock(start, timedelta(hours=3)), 7)


def test_half_a_step_is_no_interval():
    clock = Clock(Clock.daily("1990-01-01").start, step=3 * Clock.daily("1990-01-01").step)
    with pytest.raises(RunFileError, match="no whole number of steps"):
        edges("1 day", clock, 10)


@given(
    st.integers(1, 2000), st.integers(1, 40), st.sampled_from(["day", "month", "year"]), st.sampled_from(["standard", "noleap", "360_day"])
)
def test_intervals_cover_the_run_without_gap_or_overlap(steps, number, unit, calendar):
    found = edges(f"{number} {unit}", Clock.daily("1987-05-17", calendar), steps)
    assert found[0] == 0
    assert found[-1] == steps
    assert (np.diff(found) > 0).all()
