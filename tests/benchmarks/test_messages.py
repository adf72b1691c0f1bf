"""The C program and ours measure the same series; nothing is said of how fast."""

import shutil
import sys

import numpy as np
import pytest
from benchmarks.figures import MissingPeer
from benchmarks.suites.messages import suite
from benchmarks.suites.messages.builds import Imb, Osu

has_compiler = pytest.mark.skipif(shutil.which("cc") is None and shutil.which("gcc") is None, reason="no C compiler")


@has_compiler
def test_both_programs_tell_the_same_series_and_as_many_means(tmp_path):
    library, mpiexec = suite._places("MPICH", suite.PYTHONS["MPICH"])
    referee = suite._compiled(library, tmp_path / "referee")
    start = [*mpiexec, "-n", "2"]
    theirs = suite._printed([*start, str(referee), "20", "3"])()
    ours = suite._printed([*start, sys.executable, "-m", "benchmarks.suites.messages.program", "20", "3"])()
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


@pytest.mark.parametrize("kind", [Osu, Imb])
def test_a_folder_without_its_programs_is_a_missing_peer(kind, tmp_path):
    with pytest.raises(MissingPeer, match=f"There is no .* give the folder of a build of {kind.name}"):
        kind(tmp_path)


SAID = {  # what the programs print, as far as it is read
    Osu: {
        "latency8": "# OSU MPI Latency Test\n# Size          Latency (us)\n8                       0.31\n",
        "bandwidth": "# OSU MPI Bandwidth Test\n1048576             10485.76\n",
        "allreduce": "# Size       Avg Latency(us)\n8                       0.52\n",
        "barrier": "# Avg Latency(us)\n             0.44\n",
    },
    Imb: {
        "latency8": " #bytes #repetitions t[usec] Mbytes/sec\n   8    2000   0.31   25.8\n",
        "bandwidth": "       #bytes #repetitions   Mbytes/sec      Msg/sec\n      1048576           20     10485.76        10000\n",
        "allreduce": "   0   2000   0.15   0.19   0.17\n   8   2000   0.50   0.54   0.52\n",
        "barrier": " #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]\n         2000         0.43         0.45         0.44\n",
    },
}


@pytest.mark.parametrize("kind", SAID, ids=lambda kind: kind.name)
def test_what_other_programs_print_is_read(kind):
    build = object.__new__(kind)
    values = {
        name: build._value(name, [line.split() for line in said.splitlines() if line[:1] != "#"]) for name, said in SAID[kind].items()
    }
    assert values == {"latency8": 0.31, "bandwidth": 10485.76, "allreduce": 0.52, "barrier": 0.44}
    assert build._value("latency8", []) is None
