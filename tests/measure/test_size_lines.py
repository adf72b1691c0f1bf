import numpy as np
import pytest

from steppe.errors import Mistake
from steppe.measure import Document, fit, laws_of, lines_of, medians, record_fit
from steppe.measure.laws.formula import SIZES
from steppe.measure.laws.size_lines import fit_lines, fit_pieces
from steppe.measure.report.html_report import report_html
from tests.measure.made import points_of


def one(t0, rate, **more):
    return points_of(lambda p: t0 + 0 * p, lambda p: rate + 0 * p, ranks=(2,), **more)


def test_an_exact_line_is_found_to_the_digits_of_its_points():
    points = one(153.0, 0.63, noise=0.0, outliers=0.0, repeats=1)
    lines = fit_lines(points.sizes, *points.table())
    np.testing.assert_allclose([lines.t0[0], lines.rate[0]], [153e-6, 0.63e6], rtol=1e-10)
    assert lines.worst[0] < 1e-10


@pytest.mark.parametrize(("sizes", "worst"), [(SIZES[:2], "-"), (SIZES[:3], "%")])
def test_two_sizes_lie_on_their_line_which_says_nothing_of_the_fit(sizes, worst):
    table = lines_of([fit(one(153.0, 0.63, sizes=sizes))])
    assert table.splitlines()[-1].rstrip().endswith(worst)


def test_a_point_far_off_moves_the_line_less_than_its_error():
    points = one(153.0, 0.63, noise=0.02, outliers=0.0)
    times, weights = points.table()
    times[0, 7] *= 3.0
    lines = fit_lines(points.sizes, times, weights)
    assert abs(lines.t0[0] / 153e-6 - 1) < 0.02
    assert abs(lines.rate[0] / 0.63e6 - 1) < 0.02
    assert lines.worst[0] > 0.6


def test_small_messages_count_as_much_as_large_ones():
    """The complaint of Santos et al. (1997) about their own fit: the large times decided, the small ones were missed."""
    points = points_of(
        lambda p: -704 + 775 * p - 38 * p**2 + 1.94 * p**3,
        lambda p: -0.05 + 0.18 / np.log(p),
    )
    piece = fit(points).pieces[0]
    true = 560.0 + (-704 + 775 * 2 - 38 * 4 + 1.94 * 8 - 560.0) + 65536 / (-0.05 + 0.18 / np.log(2))
    found = (float(piece.t0.curve(2)[0]) + 65536 / float(piece.rate.curve(2)[0])) * 1e6
    assert abs(found / true - 1) < 0.05
    smallest = float(piece.t0.curve(2)[0]) * 1e6
    assert abs(smallest / (-704 + 775 * 2 - 38 * 4 + 1.94 * 8) - 1) < 0.05


def test_the_rank_of_errors_is_that_of_many_repetitions():
    """Standard errors of a line beside the scatter of lines through points made anew."""
    found = [fit_lines(points.sizes, *points.table()) for points in (one(231.0, 1.05, seed=seed, outliers=0.0) for seed in range(200))]
    for values, errors in (
        ([f.t0[0] for f in found], [f.t0_error[0] for f in found]),
        ([f.rate[0] for f in found], [f.rate_error[0] for f in found]),
    ):
        assert 0.8 < np.median(errors) / np.std(values) < 1.5


@pytest.mark.parametrize("p", [2, 4, 7])
def test_the_change_of_protocol_at_1024_bytes_is_found(p):
    """PARIX random communication (Santos et al. 1997, table 1)."""
    short = one(153 + 141 * p, 0.63 - 0.26 * np.log(p), sizes=SIZES[SIZES <= 1024], seed=p)
    long = one(413 + 273 * p, 1.05, sizes=SIZES[SIZES > 1024], seed=p + 100)
    joined = [np.concatenate([getattr(short, name), getattr(long, name)]) for name in ("n", "p", "t", "sigma", "repeats")]
    points = type(short)(*joined, known=True)
    found = fit_pieces(points)
    assert [lines.high for lines in found.lines] == [1024.0, 65536.0]
    assert found.sure
    assert abs(found.lines[0].rate[0] / ((0.63 - 0.26 * np.log(p)) * 1e6) - 1) < 0.03
    assert "The protocol changes after 1024 bytes." in fit(points).remarks


def test_a_straight_law_is_not_cut():
    cut = [fit_pieces(one(231.0, 1.05, seed=seed)) for seed in range(100)]
    assert sum(found.sure for found in cut) <= 4


def test_without_repeats_no_change_of_protocol_is_looked_for_and_it_is_said():
    points = medians(np.array([0.0, 8, 64, 512, 4096, 8192, 16384]), np.full(7, 2.0), np.array([1, 1, 1.1, 1.5, 9, 12, 20]) * 1e-6)
    found = fit(points)
    assert len(found.pieces) == 1
    assert "changes of protocol are not looked for" in found.remarks[0]
    known = medians(points.n, points.p, points.t, spread=0.03)
    assert known.known


def test_times_that_no_line_describes_are_told():
    n = np.array([0.0, 8, 64, 512, 4096, 16384])
    steep = fit(medians(n, np.full(6, 2.0), np.array([9, 1, 9, 1, 9, 400]) * 1e-6))
    assert steep.remarks[-1].startswith("No line describes 0 to 16384 bytes on 2 ranks: the best one misses a time by ")
    straight = fit(medians(n, np.full(6, 2.0), 1e-6 + n * 1e-9))
    assert not any("No line" in remark for remark in straight.remarks)


def test_sizes_too_small_for_a_rate_give_none_and_say_so():
    points = points_of(lambda p: 20 * p, lambda p: 10_000 + 0 * p, sizes=np.array([4.0, 8.0, 16.0]))
    piece = fit(points).pieces[0]
    assert piece.rate is None
    assert "does not grow with the size by more than it scatters" in piece.reasons[-1]


def test_a_missing_rate_has_its_reason_in_text_and_file_and_no_rate_is_negative():
    falling = fit(
        medians(np.array([8.0, 64, 1024, 8192]), np.full(4, 2.0), np.array([20.1, 19.8, 19.1, 18.1]) * 1e-6), {"operation": "scan"}
    )
    said = "No r_inf: on 2 ranks time does not grow with the size by more than it scatters. On 2 ranks the slope is not positive."
    assert laws_of(falling).startswith(f"scan: {said}")
    assert record_fit(falling).pieces[0].reasons == [f"{said} Measure larger messages."]
    assert lines_of([falling]).splitlines()[1].split()[-5:] == ["-", "-", "-", "-", "2.3%"]
    assert said in report_html(Document(made="2026-01-01", fits=[record_fit(falling)]))
    single = fit(medians(np.array([8.0, 64, 1024, 8]), np.array([2.0, 2, 2, 4]), np.array([20, 21, 40, 30]) * 1e-6))
    assert "No r_inf: 4 ranks have times of one size. Measure two sizes or more." in single.pieces[0].reasons


def test_a_table_says_that_its_intervals_are_95_percent():
    found = fit(one(153.0, 0.63))
    title, line = lines_of([found]).splitlines()
    assert title.count("+- 95 %") == 2
    assert float(line.split()[6]) == pytest.approx(1.96e6 * record_fit(found).pieces[0].lines[0].t0_error, rel=0.05)


@pytest.mark.parametrize(
    ("n", "p", "t", "said"),
    [
        ([8, 16], [2, 2], [1, -1], "t = -1 in line 2"),
        ([8, 16], [2, 0], [1, 1], "p = 0 in line 2"),
        ([8, np.nan], [2, 2], [1, 1], "n = nan in line 2"),
    ],
)
def test_values_out_of_their_limits_are_named(n, p, t, said):
    with pytest.raises(Mistake, match=said):
        medians(np.array(n, float), np.array(p, float), np.array(t, float))


def test_one_size_on_one_number_of_ranks_is_nothing_to_fit():
    with pytest.raises(Mistake, match="one size, 8 bytes, on 1 number of ranks"):
        fit(medians(np.full(3, 8.0), np.full(3, 2.0), np.array([1.0, 1.1, 1.2])))


def test_few_repeats_neither_narrow_the_intervals_nor_make_changes_of_protocol():
    """Their own scatter alone would: 0.6 of the intervals would hold the true value, and 0.7 of the lines be cut."""
    fits = [fit(one(20.0, 200.0, sizes=4.0 ** np.arange(11), outliers=0.0, repeats=5, seed=seed)) for seed in range(100)]
    lines = [found.pieces[0].lines for found in fits]
    assert np.mean([abs(line.t0[0] - 20e-6) < 1.96 * line.t0_error[0] for line in lines]) > 0.85
    assert np.mean([len(found.pieces) == 1 for found in fits]) > 0.7


def test_two_repeats_are_not_called_none():
    (said,) = (text for text in fit(one(20.0, 200.0, repeats=2)).remarks if "scatter by 3 %" in text)
    assert said.startswith("Fewer than 5 repeats of a size: their times are taken")


def test_a_time_below_zero_has_no_relative_residual():
    """What is left of an exchange behind work may be less than nothing."""
    points = one(20.0, 200.0, noise=0.0, outliers=0.0)
    times, weights = points.table()
    times[0, 0] = -1e-6
    assert fit_lines(points.sizes, times, weights).worst[0] < 1.0
