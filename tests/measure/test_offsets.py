"""Clocks of ranks: simulated readings, whose truth is known, and real ranks."""

import numpy as np
import pytest

from steppe.measure import Document
from steppe.measure.messages.offsets import MOST, SAME, beyond, crooked_clocks, fit_clock, record_clocks, reference, turns
from steppe.measure.records.document import document_of, plain_values
from steppe.measure.report.html_report import report_html
from steppe.measure.report.message_text import clocks_text
from tests.comm.mpis import each_mpi
from tests.measure.ranks import records, two_cores

OFFSET, DRIFT = 3e-3, 10e-6


def burst(random, when, offset=OFFSET, drift=DRIFT, trip=20e-6, kept=10):
    """Readings of a clock that is `offset` ahead at 0; 3 of 10 messages are delayed by 200 us on average."""
    ways = trip / 2.0 * (1.0 + 0.05 * random.random((2, 100)))
    ways += random.exponential(200e-6, (2, 100)) * (random.random((2, 100)) < 0.3)
    true = when + np.arange(100) * 3e-5
    before, theirs, after = true, true + ways[0], true + ways.sum(axis=0)
    shown = [before + offset + drift * before, theirs, after + offset + drift * after]
    found = np.stack(shown, axis=1)
    return found[np.argsort(found[:, 2] - found[:, 0])[:kept]]


def test_offset_and_drift_of_simulated_clocks_are_found_within_their_bounds():
    random = np.random.default_rng(1)
    off, moves = [], []
    for _ in range(300):
        found = fit_clock([burst(random, when) for when in np.linspace(0.0, 60.0, 7)])
        off.append(abs(found.offset - OFFSET - DRIFT * found.at))
        moves.append(abs(found.drift - DRIFT))
        assert off[-1] < found.offset_bound < 12e-6
        assert moves[-1] < found.drift_bound < 1e-6
        assert found.linear
        assert abs(found.shown(100.0) - 100.0 - OFFSET - DRIFT * 100.0) < 2e-6
    assert np.quantile(off, 0.95) < 0.3e-6
    assert np.quantile(moves, 0.95) < 0.01e-6


def test_one_burst_tells_an_offset_and_no_drift():
    found = fit_clock([burst(np.random.default_rng(2), 5.0)])
    assert abs(found.offset - OFFSET - DRIFT * 5.0) < found.offset_bound
    assert (found.drift, found.drift_bound, found.known_drift) == (0.0, np.inf, 0.0)
    offsets, drifts = record_clocks([SAME, found])
    assert ([one.rank for one in offsets], drifts) == ([1], [])


def test_a_drift_that_is_not_sure_moves_no_clock():
    random = np.random.default_rng(3)
    found = fit_clock([burst(random, when, drift=0.0) for when in (0.0, 0.1)])
    assert found.known_drift == 0.0
    assert found.shown(1_000.0) - 1_000.0 == pytest.approx(found.offset)


def test_a_clock_that_was_set_is_not_linear_and_named():
    random = np.random.default_rng(4)
    found = fit_clock([burst(random, when, OFFSET + (500e-6 if when > 30 else 0.0)) for when in np.linspace(0.0, 60.0, 7)])
    assert not found.linear
    (said,) = crooked_clocks([SAME, found])
    assert said.startswith("The clock of rank 1 is not linear beside rank 0's")
    assert crooked_clocks([SAME, fit_clock([burst(random, when) for when in (0.0, 30.0, 60.0)])]) == []


def test_along_a_tree_offsets_drifts_and_bounds_add_up():
    """Rank 1 is 3 ms ahead of rank 0 and gains 10 ppm; rank 3 is 2 ms behind rank 1 and loses 4 ppm on it."""
    random = np.random.default_rng(5)
    times = np.linspace(0.0, 60.0, 7)
    near = fit_clock([burst(random, when) for when in times])
    far = fit_clock([burst(random, when + OFFSET + DRIFT * when, -2e-3, -4e-6) for when in times])
    found = beyond(near, far)
    for when in (0.0, 30.0, 60.0):
        shown = when + OFFSET + DRIFT * when
        assert abs(found.shown(when) - (shown - 2e-3 - 4e-6 * shown)) < 1e-6
    assert found.offset_bound >= near.offset_bound + far.offset_bound
    assert found.drift_bound == near.drift_bound + far.drift_bound
    ahead = found.bursts[:, 1] - (1e-3 + 6e-6 * found.bursts[:, 0])
    assert (np.abs(ahead) < found.bursts[:, 2]).all()


@pytest.mark.parametrize("size", [2, 3, 7, 32, 33, 64, 100])
def test_every_rank_asks_once_a_rank_that_is_known_and_free(size):
    known = {0}
    for asking in turns(size):
        asked = [reference(rank, size) for rank in asking]
        assert len({*asked, *asking}) == 2 * len(asking)
        assert known.issuperset(asked)
        known |= set(asking)
    assert known == set(range(size))
    assert len(turns(size)) == (size - 1 if size <= MOST else (size - 1).bit_length())


def test_what_is_known_of_clocks_is_printed_kept_and_drawn():
    random = np.random.default_rng(6)
    lines = [SAME, *(fit_clock([burst(random, when, rank * 1e-3) for when in np.linspace(0.0, 60.0, 7)]) for rank in range(1, 9))]
    offsets, drifts = record_clocks(lines)
    text = clocks_text({"offsets": offsets, "drift": drifts})
    assert "clock of rank 8 beside rank 0's: +8300." in text
    assert "; it gains +10 us a second +- " in text
    assert "clocks of 2 more ranks are nearer to rank 0's" in text
    document = Document(made="2026-01-01", clock={"cost": 1e-8, "offsets": offsets, "drift": drifts})
    again = document_of(plain_values(document))
    assert again == document
    assert [one.rank for one in again.clock["drift"]] == list(range(1, 9))
    html = report_html(document)
    assert "gained on rank 0&#x27;s clock [us], with bounds" in html or "gained on rank 0's clock [us], with bounds" in html
    assert "it gains +10 us a second" in html


def test_a_document_keeps_some_of_many_bursts_the_first_and_the_last():
    random = np.random.default_rng(7)
    line = fit_clock([burst(random, when) for when in np.arange(500.0)])
    ((one,), _) = record_clocks([SAME, line])
    assert len(one.bursts) == 100
    assert [one.bursts[i][0] for i in (0, -1)] == pytest.approx([0.0, 499.0], abs=0.01)
    assert len(record_clocks([SAME, fit_clock([burst(random, 0.0), burst(random, 1.0)])])[0][0].bursts) == 2


REAL = """
import json, time
import numpy as np
from steppe.comm import find_launch
from steppe.comm.raw import open_raw
from steppe.measure.messages import offsets
from tests.measure.skewed import skew
raw = open_raw(find_launch())
offsets.MOST = {most}
ahead, begin = float(np.median([raw.now() - time.monotonic() for _ in range(1001)])), raw.now()
held = skew(raw, {offset}, {drift}) if raw.rank == 1 else None
clocks = offsets.Clocks(raw, 2e-8)
for _ in range({bursts}):
    clocks.burst()
    time.sleep(0.3)
told = [json.loads(text) for text in raw.texts(json.dumps([ahead, begin]))]
if raw.rank == 0:
    for rank, one in enumerate(clocks.lines()):
        print(json.dumps(dict(at=one.at, offset=one.offset, bound=one.offset_bound, drift=one.drift, drift_bound=one.drift_bound,
                              crooked=one.crooked, ahead=told[rank][0] - told[0][0], begin=told[rank][1] - told[rank][0] + told[0][0])))
raw.close()
"""


def real(mpi, ranks=2, offset=0.0, drift=0.0, bursts=8, most=32):
    return records(mpi, ranks, REAL.format(offset=offset, drift=drift, bursts=bursts, most=most))


@two_cores
@each_mpi
def test_offset_zero_on_one_node(mpi):
    """Beside the steady clock that ranks of a host share; some libraries begin theirs at 0."""
    _, one = real(mpi)
    assert abs(one["offset"] - one["ahead"]) < one["bound"] + 1e-6
    assert abs(one["drift"]) < one["drift_bound"]
    assert one["bound"] < 1e-3


@two_cores
@each_mpi
def test_drift_injected(mpi):
    _, one = real(mpi, offset=OFFSET, drift=DRIFT)
    assert abs(one["drift"] - DRIFT) < 1e-6
    true = one["ahead"] + OFFSET + DRIFT * (one["at"] - one["begin"])
    assert abs(one["offset"] - true) < one["bound"] + 1e-6
    assert one["crooked"] <= 3.0


@two_cores
def test_offsets_along_a_tree_of_real_ranks():
    """Rank 3 asks rank 1, whose clock is wrong."""
    found = real("installed", ranks=4, offset=OFFSET, bursts=2, most=2)
    for rank, one in enumerate(found):
        assert abs(one["offset"] - one["ahead"] - (OFFSET if rank == 1 else 0.0)) < one["bound"] + 1e-6, rank
