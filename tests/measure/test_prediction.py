"""Predictions and laws of times with acknowledgements are one way; sizes far beyond the measured ones are doubted."""

import re

import numpy as np
import pytest

from steppe.errors import Mistake
from steppe.measure import Document, SamplePoints, fit, fit_again, laws_of, lines_of, medians, predict, prediction_text, record_fit
from steppe.measure.report.html_report import report_html
from steppe.measure.report.pictures import _one_way
from tests.measure.made import FEW, points_of


def exact(ranks):
    """20 us and 1 us for each rank beyond 2, at 100 MB/s, without noise."""
    return points_of(lambda p: 18 + p, lambda p: 100 + 0 * p, ranks=ranks, noise=0.0, outliers=0.0)


@pytest.mark.parametrize("ranks", [(2,), FEW])
def test_a_prediction_of_acknowledged_times_is_one_way_as_the_table(ranks):
    found = fit_again(record_fit(fit(exact(ranks), {"operation": "x"}, "ack")))
    p = ranks[-1]
    one, none = predict(found, 1e5, p), predict(found, 0, p)
    assert none.time == pytest.approx((18 + p) / 2 * 1e-6, rel=1e-6)
    assert one.time == pytest.approx((18 + p) / 2 * 1e-6 + 1e5 / 100e6, rel=1e-6)
    assert one.low <= one.time <= one.high
    shown = lines_of([found]).splitlines()[-1].split()[4]
    assert float(shown) == pytest.approx(none.time * 1e6, rel=1e-3)
    assert f" bytes on {p:g} ranks: 1" in (said := prediction_text(found, one))
    assert " us one way, 95 %: " in said


@pytest.mark.parametrize("protocol", ["oneway", "pingpong"])
def test_other_predictions_have_no_such_label(protocol):
    found = fit(exact((2,)), {}, protocol)
    assert "one way" not in prediction_text(found, predict(found, 8, 2))


def test_the_law_of_t0_is_one_way_in_text_and_html():
    found = fit(exact(FEW), {"operation": "x"}, "ack")
    html = report_html(Document(made="2026-01-01", fits=[record_fit(found)]))
    for title in ("time one way [us], and t0 + n / r_inf", "bytes / time one way [MB/s]", "t0(p) one way [us], its law and 95 %"):
        assert title in html
    assert "there and back" not in html
    for text in (laws_of(found), html):
        assert [float(number) for number in re.search(r"t0\(p\) = (\S+) \+ (\S+) p us", text).groups()] == pytest.approx([9.0, 0.5])
    assert re.search(r"\n  95 %: 1: (\S+) to (\S+); p: ", laws_of(found))[1].startswith(("8.", "9"))


def test_the_pictures_of_acknowledged_times_are_one_way():
    drawn = _one_way(record_fit(fit(exact(FEW), {"operation": "x"}, "ack")))
    points = drawn.points
    np.testing.assert_allclose(points.t, ((18 + points.p) / 2 + points.n / 100) * 1e-6, rtol=1e-6)
    assert drawn.pieces[0].lines[0].t0 == pytest.approx(10e-6)


@pytest.mark.parametrize(("ranks", "most"), [((2,), 2), (FEW, 10)])
def test_a_size_far_beyond_the_measured_ones_is_doubted(ranks, most):
    found = fit(exact(ranks))
    largest = found.points.sizes[-1]
    assert not any("bytes is" in doubt for doubt in predict(found, most * largest, 2).doubts)
    (doubt,) = [doubt for doubt in predict(found, 100 * largest, 2).doubts if "bytes is" in doubt]
    assert doubt == "6553600 bytes is 100 times what was measured; the interval takes the line for granted."


def test_less_than_was_measured_is_doubted_and_one_rank_refused():
    found = fit(points_of(lambda p: 18 + p, lambda p: 100 + 0 * p, ranks=(4, 8, 12, 16)))
    assert any(doubt.startswith("p = 2 is less than was measured") for doubt in predict(found, 8, 2).doubts)
    with pytest.raises(Mistake, match=r"about p = 1\. Times were measured on 4 ranks and more\."):
        predict(found, 8, 1)


def test_times_of_two_ranks_say_so_and_not_only_that_they_do_not_grow():
    flat = medians(*np.array([(n, 2, t) for n in (8, 16, 64) for t in np.linspace(4.9e-6, 5.1e-6, 9)]).T)
    with pytest.raises(Mistake, match=r"about p = 4\. Times were measured on 2 ranks alone\."):
        predict(fit(flat), 8, 4)
    assert lines_of([fit(medians(*np.array([(n, 2, 5e-6) for n in (8, 16, 64)]).T))]).split()[-3:-1] == ["-", "-"]


def test_a_time_below_zero_is_not_predicted():
    points = medians(*np.array([(n, 2, (n / 100 - 1) * 1e-6) for n in (512, 1024, 4096)]).T)
    with pytest.raises(Mistake, match=r"the line gives -1 us for 0 bytes, which cannot be\. Measure such sizes"):
        predict(fit(points), 0, 2)


def test_errors_far_greater_than_times_leave_a_prediction():
    points = exact((2,))
    wide = SamplePoints(points.n, points.p, points.t, points.sigma * 1e16 ** (np.arange(points.n.size) > 0), points.repeats, True)
    assert predict(fit(wide), 1000, 2).high > 1.0
