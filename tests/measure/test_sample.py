import os
import subprocess
import sys
import time

import numpy as np
import pytest

from steppe.measure.records.sample import FIRST_LOOK, MOST_BLOCKS, count_outliers, figures, is_enough, median_interval, modes
from steppe.measure.timing.machine import Others
from tests.measure.made import series_of


def lognormal(random, sigma, size):
    return np.exp(sigma * random.standard_normal(size)) * 1e-6


def test_the_interval_of_the_median_holds_it_in_95_of_100_series():
    random = np.random.default_rng(1)
    inside = [low <= 1e-6 <= high for low, high in (median_interval(lognormal(random, 0.3, 120)) for _ in range(4_000))]
    assert 0.93 < np.mean(inside) < 0.97


@pytest.mark.parametrize("sigma", [0.05, 0.3])
def test_stopping_when_it_is_narrow_keeps_the_promise(sigma):
    random, inside = np.random.default_rng(2), []
    for _ in range(600):
        times = lognormal(random, sigma, FIRST_LOOK)
        while not is_enough(times, 0.02) and times.size < MOST_BLOCKS:
            times = np.concatenate([times, lognormal(random, sigma, times.size)])
        low, high = median_interval(times)
        inside.append(low <= 1e-6 <= high)
    assert 0.92 < np.mean(inside) < 0.985


def test_neighbours_that_are_alike_widen_the_interval():
    random, inside = np.random.default_rng(3), []
    for _ in range(400):
        slow = np.repeat(random.standard_normal(24), 10)
        times = np.exp(0.2 * slow + 0.02 * random.standard_normal(240)) * 1e-6
        low, high = median_interval(times)
        inside.append(low <= 1e-6 <= high)
    assert np.mean(inside) > 0.85


@pytest.mark.parametrize(("share", "factor"), [(0.2, 2.0), (0.23, 10.0), (0.5, 1.3)])
def test_two_modes_are_found_with_their_shares(share, factor):
    random, found = np.random.default_rng(4), 0
    for _ in range(100):
        times = lognormal(random, 0.03, 500) * np.where(random.random(500) < share, factor, 1.0)
        both = modes(times)
        if both:
            short, long = both
            found += abs(long.share - share) < 0.08 and abs(long.median / short.median / factor - 1) < 0.05
    assert found >= 95


@pytest.mark.parametrize("kind", ["log-normal", "skewed", "outliers"])
def test_one_mode_is_not_split(kind):
    random, split = np.random.default_rng(5), 0
    for _ in range(100):
        times = lognormal(random, 0.05, 500)
        if kind == "skewed":
            times = 1e-6 * (1 + random.gamma(2.0, 0.05, 500))
        if kind == "outliers":
            times *= np.where(random.random(500) < 0.05, random.uniform(3, 10, 500), 1.0)
        split += bool(modes(times))
    assert split <= 5


def test_two_passes_that_differ_give_an_interval_of_a_size_that_can_be_read():
    one = series_of("memory", "copy", "", 8, np.repeat([1e-6, 1e-3], 30), 1, True, passes=[30, 30])
    assert 10.0 < one.statistics.half_width / one.statistics.median < 100.0  # 12.7 times half of ln 1000, not e to the power of it


def test_outliers_are_counted_and_kept():
    times = np.concatenate([np.linspace(1.0, 1.1, 95), np.full(5, 9.0)])
    found = figures(times)
    assert (found.n, count_outliers(times), found.maximum) == (100, 5, 9.0)


def test_fewer_than_thirty_blocks_are_never_enough():
    assert not is_enough(np.full(29, 1.0), 0.02)
    assert is_enough(np.full(30, 1.0), 0.02)


def test_others_on_our_cores_are_noticed():
    core = min(os.sched_getaffinity(0))
    work = f"import os; os.sched_setaffinity(0, {{{core}}}); print(flush=True)\nwhile True: pass"
    command = [sys.executable, "-c", work]
    before, rivals = os.sched_getaffinity(0), [subprocess.Popen(command, stdout=subprocess.PIPE) for _ in range(2)]
    try:
        for rival in rivals:
            assert rival.stdout is not None
            rival.stdout.readline()  # it is at work
        os.sched_setaffinity(0, {core})
        others, end = Others(), time.monotonic() + 1.0
        while time.monotonic() < end:
            pass
        assert others.share() > 0.4
    finally:
        os.sched_setaffinity(0, before)
        for rival in rivals:
            rival.kill()
            rival.communicate()
