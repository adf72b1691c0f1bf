"""Dates of requests as steps of a run."""

from types import SimpleNamespace

import pytest

from steppe.control import Refused
from steppe.service.maps import steps_of
from steppe.service.moments import cf_times, check_yearly


def steps(time: str, start: str = "1990-01-01T00:00:00", hours: int = 6) -> tuple[int, int]:
    """The first and the last step of a request, of a run of 40 steps that has done 36."""
    facts = {"clock": {"start": start, "step": 3600.0 * hours, "calendar": "standard"}, "steps": 40}
    found = steps_of(time, SimpleNamespace(facts=facts), {"step": 36, "name": "main"}, 100)  # type: ignore[arg-type,typeddict-item]
    assert found is not None
    return found[0], found[-1]


def test_a_range_of_days_has_all_of_their_steps() -> None:
    assert steps("1990-01-02/1990-01-03") == (5, 12)
    assert steps("1990-01-02/1990-01-02") == (5, 8)
    assert steps("1990-01-02/1990-01-03T06:00") == (5, 9)
    assert steps("1990-01-02T06:00/1990-01-03") == (5, 12)
    assert steps("1990-01-02T00:00/1990-01-03") == (4, 12)
    assert steps("1990-01-02/1990-01-03", hours=24) == (2, 3)
    assert steps("1990-01-03/1990-01-05", hours=48) == (2, 3)


@pytest.mark.parametrize(("seconds", "unit", "length"), [(864000.0, "days", 10), (129600.0, "hours", 36), (37.5, "milliseconds", 37500)])
def test_the_times_of_steps_are_whole_numbers_of_a_unit_that_divides_a_step(seconds: float, unit: str, length: int) -> None:
    facts = {"clock": {"start": "1990-01-01T06:00:00", "step": seconds, "calendar": "standard"}, "steps": 40}
    found = cf_times([1, 2, 40], facts)  # type: ignore[arg-type]
    assert found.bounds is not None
    assert found.attributes["units"] == f"{unit} since 1990-01-01 06:00:00"
    assert found.bounds.tolist() == [[0, length], [length, 2 * length], [39 * length, 40 * length]]


def test_a_day_alone_names_its_end() -> None:
    assert steps("1990-01-02") == (8, 8)


def test_a_range_may_begin_on_the_day_on_which_a_run_begins() -> None:
    assert steps("1990-01-01/1990-01-02", "1990-01-01T18:00:00") == (1, 5)
    with pytest.raises(Refused, match="1989-12-31 lies outside the run"):
        steps("1989-12-31/1990-01-02", "1990-01-01T18:00:00")


def yearly(day: str, days: int, years: int = 6) -> str:
    """A day of every year, of a run from 2000 on."""
    facts = {"clock": {"start": "2000-01-01T00:00:00", "step": 86400.0 * days, "calendar": "standard"}, "steps": 365 * years // days}
    return check_yearly(day, facts, "$.when.yearly")  # type: ignore[arg-type]


def test_a_step_must_begin_on_the_day_of_a_yearly_change_in_every_year_that_has_the_day() -> None:
    assert [yearly("01-01", 1), yearly("02-29", 1)] == ["01-01", "02-29"]
    with pytest.raises(Refused, match=r"No step of 7 days begins on 01-01 in 2001, 2002, 2003, 2004\. Give a date of each year"):
        yearly("01-01", 7)
    with pytest.raises(Refused, match="in 2001, 2002, 2003, 2004, 2006 and 3 more") as refused:
        yearly("01-01", 7, 10)
    assert refused.value.code == "date-wrong"
    assert yearly("01-08", 7, 1) == "01-08"
    with pytest.raises(Refused, match="No year of the run has a step that begins on 01-02"):
        yearly("01-02", 7, 1)
