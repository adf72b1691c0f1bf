import numpy as np
import pytest
from msgspec.structs import replace

from steppe.measure import Document, compare, compared_text
from steppe.measure.report.comparison import Match
from tests.measure.made import series_of


def document(*series, **more):
    return Document(made="2026-01-01", series=list(series), **more)


def one(times, operation="read", size=8, group="files"):
    return series_of(group, operation, "cold", size, np.asarray(times, float), 1, True)


def drifting(random, blocks=40, passes=5, noise=0.02, drift=0.2, median=1e-5):
    """Times whose passes the machine favours or not; the blocks of each are alike."""
    favours = median * np.exp(drift * random.standard_normal(passes))
    times = np.concatenate([favour * np.exp(noise * random.standard_normal(blocks)) for favour in favours])
    return series_of("files", "read", "cold", 8, times, 1, True, passes=[blocks] * passes)


def noisy(random, n=60, noise=0.1, median=1e-5, memory=0.0):
    """Log-normal times; memory: correlation of neighbours."""
    steps = random.standard_normal(n)
    for i in range(1, n):
        steps[i] = memory * steps[i - 1] + np.sqrt(1 - memory**2) * steps[i]
    return median * np.exp(noise * steps)


@pytest.mark.parametrize(("n", "noise", "memory"), [(30, 0.3, 0.0), (60, 0.1, 0.0), (240, 0.3, 0.7)])
def test_the_same_machine_is_neither_faster_nor_slower(n, noise, memory):
    random = np.random.default_rng(3)
    runs = [document(*(one(noisy(random, n, noise, memory=memory), size=size) for size in range(400))) for _ in range(2)]
    words = [match.word for match in compare(*runs).matches]
    assert len(words) == 400
    assert sum(word in ("faster", "slower") for word in words) <= 20


def test_intervals_hold_the_true_ratio_as_often_as_they_say():
    random = np.random.default_rng(5)
    runs = [document(*(one(noisy(random, 60, 0.2, median), size=size) for size in range(600))) for median in (1e-5, 1.3e-5)]
    inside = [match.low <= 1.3 <= match.high for match in compare(*runs).matches]
    assert 0.92 <= np.mean(inside) <= 0.99


def test_blocks_of_a_pass_share_what_the_machine_did_then():
    random = np.random.default_rng(7)
    runs = [document(*(replace(drifting(random), bytes=size) for size in range(300))) for _ in range(2)]
    found = compare(*runs)
    assert sum(match.word in ("faster", "slower") for match in found.matches) <= 15
    assert np.mean([match.low <= 1.0 <= match.high for match in found.matches]) >= 0.93
    unaware = (
        [replace(one, passes=[]) for one in runs[0].series],
        [replace(one, passes=[]) for one in runs[1].series],
    )
    assert np.mean([match.low <= 1.0 <= match.high for match in compare(document(*unaware[0]), document(*unaware[1])).matches]) < 0.85


def test_what_a_pass_meets_is_not_thought_to_vary_from_series_to_series():
    random = np.random.default_rng(11)
    inside = []
    for _ in range(60):
        runs = []
        for _ in range(2):
            favours = np.exp(0.1 * random.standard_normal(5))
            times = [np.concatenate([favour * np.exp(0.02 * random.standard_normal(30)) for favour in favours]) for _ in range(20)]
            runs.append(document(*(series_of("memory", "copy", "", i, one, 1, True, passes=[30] * 5) for i, one in enumerate(times))))
        _, low, high = compare(*runs).groups["memory"]
        inside.append(low <= 1.0 <= high)
    assert np.mean(inside) >= 0.85


def test_a_run_in_which_others_had_the_cores_calls_nothing_slower():
    random = np.random.default_rng(1)
    runs = [document(one(noisy(random)), clock={"others": 0.01}), document(one(noisy(random, median=2e-5)), clock={"others": 0.3})]
    found = compare(*runs)
    assert [match.word for match in found.matches] == ["cannot tell"]
    assert found.remarks == ["Others had the cores for 30% of the time in the second run: nothing is called faster or slower."]
    assert compare(runs[0], replace(runs[1], clock={"others": 0.02})).matches[0].word == "slower"
    assert compare(runs[0], replace(runs[1], clock={"away": 0.3})).remarks == found.remarks  # as files of messages have it


def test_times_that_are_longer_now_and_then_are_not_called_slower():
    random = np.random.default_rng(1)
    times = noisy(random, n=200, noise=0.02)
    longer = times * np.where(np.arange(200) % 4, 1.5, 1.0)
    (match,) = compare(document(one(times)), document(one(longer))).matches
    assert match.low > 1.05
    assert match.word == "cannot tell"


def test_what_differs_is_found_and_what_has_no_match_is_listed():
    random = np.random.default_rng(1)
    first = document(
        one(noisy(random), size=1),
        one(noisy(random, n=1_000, noise=0.02), size=2),
        one(noisy(random), size=3),
        machine={"cpu": "a", "cores": 2, "mpi": {"name": "MPICH", "version": "4"}, "ranks": ["a:0", "a:1"]},
    )
    second = document(
        one(noisy(random, median=1.5e-5), size=1),
        one(noisy(random, n=1_000, noise=0.02), size=2),
        one(noisy(random), size=4),
        machine={"cpu": "b", "cores": 2, "mpi": {"name": "MPICH", "version": "5"}, "ranks": ["a:0"]},
        complete=False,
    )
    found = compare(first, second)
    assert [match.word for match in found.matches] == ["slower", "same"]
    assert [match.word for match in compare(second, first).matches] == ["faster", "same"]
    assert found.matches[0].ratio == pytest.approx(1.5, rel=0.06)
    ratio, low, high = found.groups["files"]
    assert low < ratio < high
    assert ratio == pytest.approx(np.sqrt(found.matches[0].ratio * found.matches[1].ratio))
    said = compared_text(found)
    assert said.startswith("The second run was stopped before its end.\ncpu: a | b\nmpi version: 4 | 5\nranks: a:0 a:1 | a:0\n")
    assert "Second beside first: 1 same, 1 slower." in said
    assert "Only in the first: read, cold (3 bytes).\nOnly in the second: read, cold (4 bytes)." in said


def test_of_series_without_a_match_five_are_named_and_the_rest_counted():
    series = [one([1e-5] * 5, operation=f"op{i:02}", size=size) for i in range(12) for size in range(9)]
    lines = compared_text(compare(document(*series), document(one([1e-5] * 5, operation="other")))).splitlines()
    (line,) = [line for line in lines if line.startswith("Only in the first: ")]
    assert line.startswith("Only in the first: op00, cold (0, 1, 2, 3, 4 and 4 more bytes); op01, cold (")
    assert line.endswith("; op04, cold (0, 1, 2, 3, 4 and 4 more bytes) and 7 more.")
    assert "Only in the second: other, cold (8 bytes)." in lines


def test_what_is_left_of_an_operation_behind_work_may_be_nothing():
    """The clock's cost is taken off: such times lie around 0."""
    random = np.random.default_rng(1)
    less, more = (one(median * random.standard_normal(200)) for median in (1e-9, 1e-6))
    (match,) = compare(document(less), document(more)).matches
    assert match.word == "cannot tell"
    assert 0.0 < match.low <= match.ratio <= match.high < np.inf


@pytest.mark.parametrize(
    ("low", "high", "word"),
    [(0.96, 1.04, "same"), (0.94, 1.04, "cannot tell"), (1.04, 1.2, "cannot tell"), (1.06, 1.2, "slower"), (0.8, 0.94, "faster")],
)
def test_words_need_the_whole_interval(low, high, word):
    first, second = one(np.full(30, 1.0)), one(np.full(30, (low + high) / 2))
    assert Match(first, second, (low + high) / 2, low, high).word == word
