import numpy as np
import pytest

from steppe.measure.timing.ticks import Pace, StepWatch, ranks_away, read_ticks


def test_ticks_tell_step_cost_and_what_was_taken_away():
    differences = np.full(1_000, 30e-9)
    differences[::7] = 20e-9
    differences[::5] = 0.0
    differences[500] = 2e-3
    found = read_ticks(differences)
    assert (found.resolution, found.cost) == (20e-9, 30e-9)
    assert 0.98 < found.away < 1.0
    assert abs(found.gaps - 1 / differences.sum()) < 1e-6


def test_a_clock_that_is_set_is_named_with_time_and_size():
    now = {"steady": 100.0, "wall": 5_000.0}
    watch = StepWatch(lambda: now["wall"], lambda: now["steady"])
    for second in range(10):
        now["steady"] += 1.0
        now["wall"] += 1.0 + (0.25 if second == 6 else 20e-6)
        watch.look()
    assert len(watch.steps) == 1
    assert watch.words() == ["The clock of this host was set by +250 ms, 7 s after the beginning."]


def test_a_process_that_is_put_aside_between_two_clocks_sees_no_clock_that_is_set():
    time_, readings = [100.0], iter([4e-3 * (k in (3, 31)) for k in range(200)])

    def shown() -> float:
        time_[0] += 1e-7 + next(readings)
        return time_[0]

    watch = StepWatch(lambda: shown() + 1_000.0, shown)
    for _ in range(5):
        watch.look()
    assert watch.steps == []


def test_a_rank_that_is_away_is_named_and_a_busy_machine_names_none():
    assert ranks_away([0.001, 0.12, 0.002])[0].startswith("Rank 1 was not running for 12.0% of the time, the others for 0.2% at most")
    assert ranks_away([0.10, 0.12, 0.09]) == []
    assert ranks_away([0.0001, 0.004]) == []


def test_a_rank_that_sleeps_on_a_busy_machine_is_named_too():
    assert ranks_away([0.9, 0.4])[0].startswith("Rank 0 was not running for 90.0% of the time")


def test_a_timing_clock_that_goes_wrong_is_named_with_its_error():
    now = [0.0]
    right, wrong = (Pace(lambda gain=gain: 7.0 + now[0] * (1 + gain), lambda: now[0]) for gain in (4e-4, 1e-3))
    now[0] = 20.0
    assert right.words() == []
    assert right.apart() == pytest.approx(4e-4)
    assert wrong.words() == ["The timing clock gains +1 ms in a second of this host's own clock: all times are wrong by as much."]
