"""Ranks that begin by the clock."""

import numpy as np

from steppe.measure import Document, compare, compared_text, read_document
from steppe.measure.messages.plan import plan
from steppe.measure.messages.windows import Windows, often_last
from tests.comm.mpis import each_mpi
from tests.measure.made import series_of
from tests.measure.ranks import printed, records, two_cores


def test_the_last_of_the_first_missed_time_is_counted_and_not_those_that_follow_from_it():
    windows = Windows(None, 3)
    begun = np.zeros((3, 8))
    begun[1, 2] = 90e-6
    begun[:, 3] = 95e-6, 70e-6, 60e-6  # all were kept from it by rank 1
    begun[2, 6] = 5e-6
    late = windows._count(begun)
    assert np.flatnonzero(late).tolist() == [2, 3, 6]
    assert windows.last == [0, 1, 1]
    np.testing.assert_allclose(windows.lost, [0.0, 90e-6, 5e-6])
    assert (windows.taken, windows.late) == (8, 3)


def test_a_rank_that_is_the_last_far_more_often_is_named_and_few_missed_times_name_nobody():
    (said,) = often_last([2, 1, 30], [1e-3, 1e-3, 1e-3])
    assert said.startswith("Rank 2 was the last in 91% of the 33 times that ranks did not begin together, and 33% of the time they lost")
    (said,) = often_last([30, 25], [0.1, 2.3])
    assert said.startswith("Rank 1 was the last in 45% of the 55 times that ranks did not begin together, and 96% of the time they lost")
    assert often_last([10, 25], [1e-2, 2e-2]) == []
    assert often_last([0, 4], [0.0, 1.0]) == []
    assert often_last([0, 0], [0.0, 0.0]) == []


def test_series_that_began_otherwise_are_not_compared():
    times = 1e-5 * np.exp(0.05 * np.random.default_rng(1).standard_normal(100))
    both = [series_of("collective", "barrier", "", 0, times, 1, True, p=2, start=start) for start in ("barrier", "window")]
    first, second = (Document(made="2026-01-01", series=[one]) for one in both)
    found = compare(first, second)
    assert (found.matches, len(found.only_first), len(found.only_second)) == ([], 1, 1)
    assert "Only in the second: barrier, begun by the clock (0 bytes)." in compared_text(found)
    assert compare(second, second).matches[0].ratio == 1.0


SKEWED = """
import json
import numpy as np
from steppe.comm import find_launch
from steppe.comm.raw import open_raw
from steppe.measure.messages.messages import Messages
from steppe.measure.messages.plan import Task
from tests.measure.skewed import skew
raw = open_raw(find_launch())
held = skew(raw, 3e-3, 10e-6) if raw.rank == 1 else None
messages = Messages(raw, 0.02, 0.3, 64, "window")
found = []
for n in range(40):  # other programs may hold a core for a second, and ranks on one core do not begin together
    messages.clocks.burst()
    one = messages.measure(Task("collective", "allreduce", "", 2, 8))
    if one is not None and one.statistics.n >= 30:
        found.append(one)
    if len(found) == 3:
        break
if raw.rank == 0:
    print(json.dumps(dict(start=[one.start for one in found], block=[one.block for one in found],
                          medians=[one.statistics.median for one in found], kept=[one.statistics.n for one in found],
                          taken=messages._windows.taken, late=messages._windows.late)))
raw.close()
"""


@two_cores
@each_mpi
def test_ranks_begin_together_although_their_clocks_differ(mpi):
    """By 3 ms: a rank that took its own clock for all ranks' would always be late, or the others wait for it."""
    (found,) = records(mpi, 2, SKEWED)
    assert found["start"] == ["window"] * 3
    assert found["block"] == [1] * 3
    assert all(0.0 < median < 1e-3 for median in found["medians"])
    assert found["taken"] - found["late"] >= sum(found["kept"])


SLEEPS = """
from steppe.comm import find_launch
from steppe.comm.raw import open_raw
from steppe.measure.messages.messages import Messages
from steppe.measure.messages.plan import Task
from tests.measure.skewed import sleep
raw = open_raw(find_launch())
held = sleep(raw, 10e-3, 15e-3) if raw.rank == 1 else None
messages = Messages(raw, 0.0, 0.2, 64, "window")
for n in range(10):
    messages.clocks.burst()
    messages.measure(Task("collective", "barrier", "", 2, 0))
warnings = messages.warnings()
if raw.rank == 0:
    print("\\n".join(warnings), messages._windows.last, messages._windows.lost)
raw.close()
"""


@two_cores
@each_mpi
def test_sleeping_rank_named(mpi):
    said = printed(mpi, 2, "-c", SLEEPS)
    (warning,) = [line for line in said.splitlines() if "was the last in" in line]
    assert warning.startswith("Rank 1 was the last in"), said


QUICK = """
import sys
from steppe.cli import run_command
from steppe.measure.messages import session
kept = ("", "non-blocking", "non-blocking, behind work", "ping-pong")
session.plan = lambda *a, plan=session.plan, **k: [task for task in plan(*a, **k) if task.variant in kept]
sys.exit(run_command(["measure", "messages", "--quick", "--passes", "1", "--start", "window", "--json", sys.argv[1]]))
"""


@two_cores
def test_a_quick_measurement_by_the_clock_says_so_of_each_collective_series(tmp_path):
    path = tmp_path / "a.json"
    said = printed("installed", 2, "-c", QUICK, str(path), limit=280)
    document = read_document(path)
    assert all(one.start == ("window" if one.group == "collective" and not one.variant else "barrier") for one in document.series)
    there = {f"{one.operation}, {one.bytes} bytes, 2 ranks" for one in document.series if one.group == "collective" and not one.variant}
    wanted = {f"{task.operation}, {task.bytes} bytes, 2 ranks" for task in plan(2, quick=True, huge=False) if task.group == "collective"}
    assert there
    assert all(title in " ".join(document.warnings) for title in wanted - there)
    assert "begun by the clock, 2 ranks" in said
    (offset,) = document.clock["offsets"]
    assert (offset.rank, len(offset.bursts) > 40) == (1, True)
