"""The C program and ours measure the same series; nothing is said of how fast."""

import shutil
import sys

import numpy as np
import pytest
from benchmarks.figures import MissingPeer
from benchmarks.messages import suite
from benchmarks.messages.osu import Osu

has_compiler = pytest.mark.skipif(shutil.which("cc") is None and shutil.which("gcc") is None, reason="no C compiler")


@has_compiler
def test_both_programs_tell_the_same_series_and_as_many_means(tmp_path):
    library, mpiexec = suite._places("MPICH", suite.PYTHONS["MPICH"])
    referee = suite._compiled(library, tmp_path / "referee")
    start = [*mpiexec, "-n", "2"]
    theirs = suite._printed([*start, str(referee), "20", "3"])()
    ours = suite._printed([*start, sys.executable, "-m", "benchmarks.messages.program", "20", "3"])()
    assert list(ours) == list(theirs) == list(suite.TITLES)
    assert all(len(times[name]) == 3 and min(times[name]) > 0 for times in (ours, theirs) for name in times)


def test_a_ratio_of_medians_lies_in_its_interval_and_half_as_slow_again_is_seen():
    random = np.random.default_rng(1)
    theirs = 1e-6 * np.exp(0.03 * random.standard_normal((15, 11)))
    same, half_more = 1e-6 * np.exp(0.03 * random.standard_normal((15, 11))), 1.5 * theirs
    ratio, low, high = suite.median_ratio(same, theirs)
    assert 0.95 < low < ratio < high < 1.05
    assert suite.median_ratio(half_more, theirs)[1] > 1.4
    assert [figure.passed for figure in suite._judged("here", {"barrier": half_more}, {"barrier": theirs})] == [False, False]
    assert [figure.passed for figure in suite._judged("here", {"barrier": theirs}, {"barrier": theirs})] == [True, True]


def test_a_folder_without_osu_programs_is_a_missing_peer(tmp_path):
    with pytest.raises(MissingPeer, match="There is no osu_latency below"):
        Osu(tmp_path)
