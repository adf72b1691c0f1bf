"""What `steppe check` says of costs, in words."""

from pathlib import Path

import pytest

from steppe.engine import Event, Simulation, in_cell_days


@pytest.mark.parametrize(
    ("per_second", "text"),
    [
        (0.0, "0 cell-days/s"),
        (87.3, "87.3 cell-days/s"),
        (21_900, "21.9 k cell-days/s"),
        (999_700, "1 M cell-days/s"),
        (15_130_000, "15.1 M cell-days/s"),
        (2_500_000_000, "2,500 M cell-days/s"),
    ],
)
def test_a_rate_has_three_digits_and_is_never_zero_unless_it_is(per_second, text):
    assert in_cell_days(per_second) == text


def test_the_room_of_a_run_is_that_of_the_disk_it_writes_to(scenario: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    there = scenario.parent / "there"
    monkeypatch.setattr("steppe.engine.check.free_space", lambda path: 10 if path == there else 10**12)
    events: list[Event] = []
    with Simulation(scenario, there, on_event=events.append):
        pass
    (short,) = [event.text for event in events if event.kind == "warning"]
    assert f'to "{there}", where 10 B are free' in short
