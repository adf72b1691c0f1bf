"""Dates of requests as steps of a run."""

from types import SimpleNamespace

import pytest

from steppe.control import Refused
from steppe.service.maps import steps_of


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


def test_a_day_alone_names_its_end() -> None:
    assert steps("1990-01-02") == (8, 8)


def test_a_range_may_begin_on_the_day_on_which_a_run_begins() -> None:
    assert steps("1990-01-01/1990-01-02", "1990-01-01T18:00:00") == (1, 5)
    with pytest.raises(Refused, match="1989-12-31 lies outside the run"):
        steps("1989-12-31/1990-01-02", "1990-01-01T18:00:00")
