import re
from datetime import date, datetime, timedelta

import cftime
import numpy as np
import pytest
import xarray
from hypothesis import given, settings
from hypothesis import strategies as st

from steppe.clock import CALENDARS, EPOCH, Clock, parse_date, parse_instant
from steppe.errors import RunFileError
from steppe.io.axis import Axis


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


SHORT = [timedelta(minutes=10), timedelta(seconds=37.5), timedelta(hours=6), timedelta(microseconds=40)]


@given(
    st.sampled_from(CALENDARS),
    st.integers(1600, 2300),
    st.integers(0, 86399),
    st.sampled_from([*SHORT, timedelta(days=1), timedelta(days=10)]),
    st.integers(0, 10**5),
)
@settings(deadline=None)
def test_the_name_of_a_step_parses_back_to_the_step(calendar: str, year: int, second: int, step: timedelta, index: int) -> None:
    begin = 0 if step >= timedelta(days=1) else second
    clock = Clock(cftime.datetime(year, 3, 1, calendar=calendar) + timedelta(seconds=begin), step, calendar)
    assert clock.done(clock.name(index)) == index + 1
    assert clock.index(clock.begin(index)) == index
    assert clock.done(clock.after(index + 1)) == index + 1
    assert parse_instant(clock.name(index), calendar) == clock.moment(index + 1)


def test_a_step_of_whole_days_has_the_name_of_its_first_day() -> None:
    daily, ten = Clock.daily("2001-03-05"), Clock(parse_date("2001-03-05"), timedelta(days=10))
    assert (daily.name(0), daily.name(1), daily.begin(1)) == ("2001-03-05", "2001-03-06", "2001-03-06")
    assert (ten.name(0), ten.name(1), ten.begin(1)) == ("2001-03-05", "2001-03-15", "2001-03-15")
    assert [daily.after(steps) for steps in range(3)] == ["2001-03-04", "2001-03-05", "2001-03-06"]
    assert [ten.after(steps) for steps in range(3)] == ["2001-02-23", "2001-03-05", "2001-03-15"]


@pytest.mark.parametrize("calendar", CALENDARS)
def test_no_step_has_a_date_before_the_year_1(calendar: str) -> None:
    assert [Clock.daily("0001-01-01", calendar).after(steps) for steps in range(3)] == ["0001-01-01", "0001-01-01", "0001-01-02"]
    assert [Clock.daily("0001-01-02", calendar).after(steps) for steps in range(2)] == ["0001-01-01", "0001-01-02"]


def test_a_step_shorter_than_a_day_has_the_name_of_the_instant_of_its_end() -> None:
    clock = Clock(parse_date("2001-03-05"), timedelta(minutes=10))
    assert (clock.name(35), clock.begin(36)) == ("2001-03-05T06:00", "2001-03-05T06:00")
    assert [clock.after(steps) for steps in range(2)] == ["2001-03-05T00:00", "2001-03-05T00:10"]
    assert clock.name(143) == "2001-03-06T00:00"


def test_a_name_has_seconds_only_where_they_are_needed() -> None:
    clock = Clock(parse_date("2001-03-05"), timedelta(seconds=37.5))
    assert [clock.name(index) for index in (0, 1, 7)] == ["2001-03-05T00:00:37.5", "2001-03-05T00:01:15", "2001-03-05T00:05"]


def test_of_short_steps_a_date_alone_is_done_at_its_end_and_begins_at_midnight() -> None:
    clock = Clock(parse_date("2001-03-05"), timedelta(minutes=10))
    assert (clock.done("2001-03-05"), clock.index("2001-03-05")) == (144, 0)
    assert (clock.done("2001-03-05T00:00"), clock.done("2001-03-05T00:00:00")) == (0, 0)


def test_an_instant_between_two_short_steps_is_refused() -> None:
    clock = Clock(parse_date("2001-03-05"), timedelta(minutes=10))
    with pytest.raises(RunFileError, match="2001-03-05T06:05 lies between two steps of 10 minutes"):
        clock.done("2001-03-05T06:05")


@pytest.mark.parametrize(
    "text", ["2001-03-05T24:00", "2001-03-05T06", "2001-03-05T06:00Z", "2001-03-05T06:00+02:00", "5 March", "2001-3-5"]
)
def test_a_text_that_is_no_instant_is_refused_by_name(text: str) -> None:
    with pytest.raises(RunFileError, match=f'"{re.escape(text)}" is not a date or a date-time'):
        parse_instant(text)


@pytest.mark.parametrize("text", ["1990-01-01T18:00", "1990-01-310", "1990-01-3x", "1990-01-3 ", "1990-01", ""])
def test_a_text_that_is_no_date_is_refused_whole(text: str) -> None:
    with pytest.raises(RunFileError, match=f'^"{text}" is not a date of the standard calendar'):
        parse_date(text)
    with pytest.raises(RunFileError, match=f'^"{text}" is not a date of the standard calendar'):
        Axis.of_days("1980-01-01", text)
    assert parse_date("1990-1-3") == parse_date(date(1990, 1, 3)) == parse_date(datetime(1990, 1, 3, 18))


def test_the_units_name_the_time_of_a_start_that_is_not_midnight() -> None:
    assert Clock.daily("2001-03-05").units == "days since 2001-03-05"
    assert Clock(parse_instant("2001-03-05T06:00"), timedelta(minutes=10)).units == "days since 2001-03-05 06:00:00"


@pytest.mark.parametrize("start", ["2001-03-05", "1500-01-01", "1677-06-01", "2262-06-01"])
@pytest.mark.parametrize("calendar", CALENDARS)
@pytest.mark.filterwarnings("ignore:Unable to decode time axis")  # of xarray, for dates beyond nanoseconds
def test_the_label_of_a_map_is_the_date_that_xarray_reads_from_a_file(start: str, calendar: str) -> None:
    clock = Clock.daily(start if calendar != "360_day" else f"{start[:8]}01", calendar)
    days = clock.days_since_epoch(np.arange(2, 3)).astype(np.int64)
    file = xarray.Dataset({"time": ("time", days, {"units": EPOCH, "calendar": calendar})})
    (read,) = xarray.decode_cf(file)["time"].values
    assert clock.label(3) == read
    assert isinstance(clock.label(3), np.datetime64) == isinstance(read, np.datetime64)
