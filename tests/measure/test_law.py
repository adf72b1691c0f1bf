import numpy as np
import pytest

from steppe.errors import Mistake
from steppe.measure import fit, predict
from steppe.measure.laws.family import EXPONENTS, FAMILIES, RATE_FAMILIES, Curve, fit_family
from steppe.measure.laws.law import choose_law, leading_term
from tests.measure.made import FEW, MANY, points_of

P = np.array(MANY, float)
TRUE = {
    "const": (7.0,),
    "linear": (41.0, 42.0),
    "log": (231.0, 126.0),
    "rounds": (12.0, 20.0),
    "root": (20.0, 5.0),
    "p log p": (10.0, 3.0),
    "log2": (5.0, 2.0, 9.0),
    "quadratic": (118.0, 144.0, 3.0),
    "cubic": (-329.0, 409.0, -52.0, 2.52),
    "power": (256.0, 101.0),
    "1/linear": (0.4, 2.4),
    "1/rounds": (0.7, 1.5),
    "1/log": (-0.05, 0.18),
}


@pytest.mark.parametrize("family", RATE_FAMILIES, ids=lambda family: family.name)
def test_every_family_finds_its_own_coefficients(family):
    exponent = 1.22 if family.has_exponent else np.nan
    exact, twice = Curve(family, TRUE[family.name], exponent)(P), 0.5 if family.inverse else 2.0
    found = fit_family(family, P, np.stack([exact, 2 * exact]), 0.01 * np.abs(exact))
    np.testing.assert_allclose(found.coefficients, [TRUE[family.name], twice * np.array(TRUE[family.name])], rtol=1e-6)
    if family.has_exponent:
        assert found.exponent.tolist() == [EXPONENTS[np.abs(EXPONENTS - 1.22).argmin()]] * 2
    assert found.misfit.max() < 1e-3
    assert np.allclose(found.curve()(P), exact)


def test_what_one_rank_does_for_all_is_told_from_a_power():
    rate = 1.0 / (0.3 + 0.8 * P)
    law, _ = choose_law(P, rate, 0.005 * rate, RATE_FAMILIES)
    assert law.curve.family.name == "1/linear"
    assert float(law.curve(64.0)[0]) == pytest.approx(1.0 / (0.3 + 0.8 * 64.0), rel=1e-6)
    assert law.curve.formula() == "1 / (0.3 + 0.8 p)"
    assert law.curve.formula(1e3) == "1 / (300 + 800 p)"
    assert law.leading_term == "1/p"


def test_a_tree_grows_by_rounds_and_not_smoothly():
    p = np.arange(2.0, 17.0)
    time = 4.0 + 10.0 * np.ceil(np.log2(p))
    law, _ = choose_law(p, time, 0.01 * time)
    assert law.curve.family.name == "rounds"
    assert law.curve([17.0, 32.0, 33.0]) == pytest.approx([54.0, 54.0, 64.0])
    alike = p[7:14]  # 9 to 15: four rounds each
    assert choose_law(alike, time[7:14], 0.01 * time[7:14])[0].curve.family.name == "const"


def test_a_law_reads_as_people_write_it():
    family = next(one for one in FAMILIES if one.name == "cubic")
    law = fit_family(family, P, (-329 + 409 * P - 52 * P**2 + 2.52 * P**3)[None], np.ones_like(P)).curve()
    assert law.formula() == "-329 + 409 p - 52 p^2 + 2.52 p^3"
    assert leading_term(law, 16.0) == "p^3"


def test_two_numbers_of_ranks_are_refused():
    law, why = choose_law(np.array([2.0, 4.0]), np.array([1.0, 2.0]), np.array([0.01, 0.01]))
    assert law is None
    assert why == ["2 values of p: a law in p needs at least 3."]
    found = fit(points_of(lambda p: 41 + 42 * p, lambda p: 1.05 + 0 * p, ranks=(2, 4)))
    assert found.pieces[0].t0 is None
    with pytest.raises(Mistake, match=r"nothing can be said about p = 8\. 2 values of p"):
        predict(found, 8, 8)


def test_the_intervals_of_the_coefficients_hold_what_they_promise():
    inside = []
    for seed in range(40):
        points = points_of(lambda p: 231 + 126 * np.log(p), ranks=MANY, seed=seed, outliers=0.0)
        law = fit(points).pieces[0].t0
        if law.curve.family.name == "log":
            inside += [low <= true <= high for (low, high), true in zip(law.intervals, (231e-6, 126e-6), strict=True)]
    assert len(inside) > 70
    assert np.mean(inside) > 0.88


def test_a_change_of_mechanism_is_found_and_nothing_is_predicted_beyond_it():
    """MPI_Barrier (Santos et al. 1997, section 5): 1,286 us at 16 ranks, less than the 1,478 at 12; the law holds up to 12."""

    def barrier(p):
        return np.where(p <= 12, -329 + 409 * p - 52 * p**2 + 2.52 * p**3, 1286.0)

    found = fit(points_of(barrier, ranks=(*range(2, 13), 16)), {"operation": "barrier"})
    law = found.pieces[0].t0
    assert law.change == 12
    assert "Another mechanism is at work above p = 12" in law.doubts[0]
    assert law.curve.family.name == "cubic"
    assert abs(float(law.curve(12)[0]) / 1445.6e-6 - 1) < 0.02
    with pytest.raises(Mistake, match="Another mechanism"):
        predict(found, 4, 16)


def test_a_law_that_does_not_change_is_said_to_in_none_of_twenty():
    for seed in range(20):
        law = fit(points_of(lambda p: 256 + 101 * p**1.22, ranks=MANY, seed=seed)).pieces[0].t0
        assert law.change is None


def test_points_that_no_family_describes_are_said_to_be():
    """A library that is fast at powers of two only."""
    points = points_of(lambda p: np.where(np.isin(p, (2, 4, 8, 16)), 100.0, 300.0), ranks=MANY)
    doubts = fit(points).pieces[0].t0.doubts
    assert any("No family describes the points" in doubt for doubt in doubts)


def test_a_few_points_that_several_families_describe_are_said_to_be_too_few():
    for seed in range(5):
        law = fit(points_of(lambda p: 256 + 101 * p**1.22, ranks=(2, 3, 4), repeats=5, noise=0.2, seed=seed)).pieces[0].t0
        assert "3 values of p are too few to hold a law against them." in law.doubts


def test_families_that_describe_the_points_alike_and_part_beyond_them_are_named():
    law = fit(points_of(lambda p: 231 + 126 * np.log(p), ranks=FEW, repeats=5, noise=0.3)).pieces[0].t0
    (doubt,) = [doubt for doubt in law.doubts if "too few to choose a family" in doubt]
    assert law.curve.family.name in doubt
    assert "at p = 32." in doubt


def test_a_prediction_far_beyond_the_machine_says_how_far():
    found = fit(points_of(lambda p: 231 + 126 * np.log(p), lambda p: 1.05 + 0 * p))
    near, far = predict(found, 1000, 20), predict(found, 1000, 128)
    assert near.low < near.time < near.high
    true = (231 + 126 * np.log(128) + 1000 / 1.05) * 1e-6
    assert far.low < true < far.high
    assert far.high - far.low > near.high - near.low
    assert any("8 times what was measured" in doubt for doubt in far.doubts)
    assert not any("times what was measured" in doubt for doubt in near.doubts)


def test_a_rate_that_would_reach_zero_is_not_predicted():
    found = fit(points_of(lambda p: 500 + 10 * p, lambda p: -0.05 + 0.18 / np.log(p), ranks=FEW))
    with pytest.raises(Mistake, match="the law of r_inf, 1/log, is not above zero at p = 64"):
        predict(found, 1000, 64)
