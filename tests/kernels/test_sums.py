import subprocess
import sys
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from steppe.errors import Failure
from steppe.kernels import sums
from steppe.kernels.sums import (
    Extreme,
    Limbs,
    binned_sums,
    fixed_sum,
    greatest,
    largest_products,
    least,
    limb_sums,
    maximum,
    means_of,
    minimum,
    total,
    total_weight,
    values_of,
    weighted_means,
)

LARGEST = 1e6
untimed = settings(deadline=None)  # the first call compiles
numbers = st.floats(-LARGEST, LARGEST)
values = arrays(np.float64, st.integers(0, 60), elements=numbers)
pairs = st.lists(st.tuples(st.floats(-1e3, 1e3, width=32), st.floats(-1e3, 1e3)), max_size=40)


def alone(array: np.ndarray, operation: str) -> np.ndarray:
    return array


def exact(limbs: Limbs) -> Fraction:
    return Fraction((limbs.high << 30) + limbs.low) * Fraction(2) ** (limbs.exponent - 60)


@untimed
@given(values, st.randoms(use_true_random=False), st.integers(1, 5))
def test_any_order_and_any_split_give_the_same_bits(x: np.ndarray, random: Any, parts: int) -> None:
    shuffled = x.copy()
    random.shuffle(shuffled)
    whole = fixed_sum(x, None, LARGEST)
    split = Limbs(0, 0, 0, whole.exponent)
    for part in np.array_split(shuffled, parts):
        split = split + fixed_sum(part, None, LARGEST)
    assert split.value().hex() == whole.value().hex()
    assert whole.integers().sum() == split.integers().sum()


@untimed
@given(pairs)
def test_the_sum_is_that_of_exact_fractions(rows: list[tuple[float, float]]) -> None:
    x, weights = np.array([a for a, _ in rows], dtype=np.float32), np.array([b for _, b in rows])
    found = fixed_sum(x, weights, LARGEST)
    wanted = sum((Fraction(a * b) for a, b in rows), Fraction(0))
    assert abs(exact(found) - wanted) <= len(rows) * Fraction(2) ** (found.exponent - 61)
    assert found.bad == 0


@untimed
@given(values)
def test_the_value_is_rounded_once(x: np.ndarray) -> None:
    found = fixed_sum(x, None, LARGEST)
    assert found.value() == float(exact(found))


def test_weights_of_queensland_are_summed_to_21_digits() -> None:
    rng = np.random.default_rng(0)
    x, weights = (rng.random(15_195) * 3_000).astype(np.float32), rng.random(15_195)
    wanted = sum(Fraction(float(a) * float(b)) for a, b in zip(x, weights, strict=True))
    assert abs(exact(fixed_sum(x, weights, 3_000.0)) / wanted - 1) < Fraction(1, 10**20)


def test_compiled_and_interpreted_sums_are_the_same() -> None:
    x = np.random.default_rng(1).normal(size=500)
    x[[3, 5, 7]] = np.nan, np.inf, 1e9
    weights = np.linspace(-1.0, 2.0, 500)
    scales, limbs = np.array([2.0**20, 2.0**-20, 2.0**50]), np.zeros(3, np.int64)
    largest = np.zeros(1)
    with np.errstate(invalid="ignore", over="ignore"):
        sums.sum_rows.function(sums._CAREFUL, 1, 500, 0, 500, x, weights, np.array([1e3]), scales, limbs)
        sums.sum_rows.function(sums._LARGEST, 1, 500, 2, 498, x, weights[2:], largest, scales, limbs)
    assert fixed_sum(x, weights, 1e3) == Limbs(*limbs.tolist(), 10)
    assert largest_products(x[None], np.arange(2, 500), weights[2:]) == largest == abs(x[7] * weights[7])


@given(arrays(np.float64, (3, 20), elements=st.floats(-1e6, 1e6)), st.permutations(range(20)))
def test_a_mean_of_some_columns_is_exact_and_does_not_depend_on_their_order(values, order):
    weights = np.linspace(0.5, 1.5, 20)
    index = np.array(order[:13])
    found = weighted_means(values, index, weights[index])
    assert found.tobytes() == weighted_means(values, np.sort(index), weights[np.sort(index)]).tobytes()
    np.testing.assert_allclose(found, np.average(values[:, index], axis=1, weights=weights[index]), rtol=1e-9, atol=1e-9)


@untimed
@given(arrays(np.float64, (3, 20), elements=st.floats(allow_nan=True, allow_infinity=True)), st.integers(-2, 2))
def test_sums_that_trust_the_largest_value_are_those_that_look_at_each(values: np.ndarray, power: int) -> None:
    weights = np.full(20, 2.0**power)
    with np.errstate(over="ignore"):
        largest = largest_products(values, slice(0, 20), weights)
        careful = [fixed_sum(row, weights, size).integers().tolist() for row, size in zip(values, largest, strict=True)]
    assert limb_sums(values, slice(0, 20), weights, largest).tolist() == careful


@pytest.mark.parametrize("size", [2.0**k for k in range(1019, 1024)])
@pytest.mark.parametrize("bad", [sums.HUGE, -sums.HUGE, np.inf, np.nan])
def test_a_bad_value_beside_numbers_of_any_size_is_found(size: float, bad: float) -> None:
    values = np.array([[size, bad, -size]])
    largest = largest_products(values, slice(0, 3), np.ones(3))
    assert limb_sums(values, slice(0, 3), np.ones(3), largest).tolist() == [[0, 0, 1]]


@untimed
@given(
    arrays(np.float64, (3, 20), elements=st.floats(allow_nan=True, allow_infinity=True)),
    st.lists(st.integers(0, 19), max_size=20),
    st.integers(0, 20),
)
def test_ranks_that_have_some_columns_each_find_the_bits_of_one_that_has_all(values: np.ndarray, index: list[int], cut: int) -> None:
    weights, places = np.linspace(0.5, 1.5, len(index)), np.array(index, np.int64)
    parts = [(values[:, columns], places[where] - columns.start, weights[where]) for columns, where in _two_parts(places, cut)]
    with np.errstate(over="ignore"):
        sizes = np.abs(values[:, places] * weights)
    largest = np.maximum.reduce([largest_products(*part) for part in parts])
    assert largest.tolist() == sizes.max(axis=1, initial=0.0, where=sizes < sums.HUGE).tolist()
    limbs = np.add.reduce([limb_sums(*part, largest) for part in parts])
    assert limbs.tolist() == limb_sums(values, places, weights, largest).tolist()
    if index:
        total = total_weight(weights)
        assert means_of(limbs, largest, total).tobytes() == weighted_means(values, places, weights).tobytes()


def _two_parts(places: np.ndarray, cut: int) -> list[tuple[slice, np.ndarray]]:
    return [(slice(0, cut), places < cut), (slice(cut, 20), places >= cut)]


def test_a_mean_with_a_missing_value_is_missing() -> None:
    values = np.ones((2, 4))
    values[1, 2] = np.nan
    assert np.isnan(weighted_means(values, np.arange(4), np.ones(4))).tolist() == [False, True]
    assert weighted_means(values, np.array([0, 1, 3]), np.ones(3)).tolist() == [1.0, 1.0]


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 10.5, -10.5])
def test_bad_values_are_counted_and_left_out_and_the_sum_is_no_number(bad: float) -> None:
    found = fixed_sum(np.array([1.0, bad, 2.0, bad, 10.0, -10.0]), None, 10.0)
    assert (found.bad, exact(found)) == (2, 3)
    assert np.isnan(found.value())


@pytest.mark.parametrize("size", [0.0, 5e-324, 1e-300, 1e-30, 1.0, 2.0, 1e30, 1.7e308])
def test_every_size_of_number_can_be_summed(size: float) -> None:
    found = total(np.array([size, -size / 2.0, size / 2.0, -size]), alone)
    assert found == 0.0
    assert total(np.array([size]), alone) == pytest.approx(size, rel=2.0**-52, abs=1e-289)


def test_a_sum_beyond_all_numbers_is_infinite_and_a_number_next_to_infinite_is_bad() -> None:
    below = float(np.nextafter(sums.HUGE, 0.0))
    assert total(np.array([below, -below, below]), alone) == below
    assert total(np.array([below, below]), alone) == np.inf
    assert total(np.array([-below, -below]), alone) == -np.inf
    assert np.isnan(total(np.array([sums.HUGE, 1.0]), alone))


def test_2_to_the_32_values_of_the_largest_size_fit() -> None:
    one = fixed_sum(np.array([1.0]), None, 1.0)
    many = Limbs(one.high << 32, one.low << 32, 0, one.exponent)
    assert abs(many.integers()[0]) < 2**63
    assert many.value() == 2.0**32


def test_a_field_of_any_shape_and_stride_is_summed() -> None:
    x = np.arange(24.0).reshape(4, 6)
    assert fixed_sum(x[1:3, ::2], np.full((2, 3), 2.0), 100.0).value() == 2.0 * x[1:3, ::2].sum()


def test_sums_made_for_different_sizes_cannot_be_added() -> None:
    with pytest.raises(Failure, match="Use one largest value"):
        fixed_sum(np.ones(1), None, 1.0) + fixed_sum(np.ones(1), None, 100.0)


@pytest.mark.parametrize(("weights", "largest", "words"), [(np.ones(2), 1.0, "3 values were given 2 weights"), (None, np.inf, "finite")])
def test_a_sum_that_cannot_be_made_is_explained(weights: np.ndarray | None, largest: float, words: str) -> None:
    with pytest.raises(Failure, match=words):
        fixed_sum(np.ones(3), weights, largest)


@untimed
@given(arrays(np.float64, st.integers(0, 30), elements=st.sampled_from([np.nan, -2.0, 0.0, 3.0])), st.integers(1, 4))
def test_extremes_are_the_first_cell_that_has_them_for_any_split(x: np.ndarray, parts: int) -> None:
    cuts = np.linspace(0, x.size, parts + 1).astype(int)
    split = [(int(a), x[a:b]) for a, b in pairwise(cuts)]
    for extreme, combine, wanted in ((minimum, least, np.fmin.reduce), (maximum, greatest, np.fmax.reduce)):
        found = combine([extreme(part, first) for first, part in reversed(split)])
        value = wanted(x, initial=np.nan)
        if np.isnan(value):
            assert found.cell == -1
            assert np.isnan(found.value)
        else:
            assert found == Extreme(value, int(np.flatnonzero(x == value)[0]))


def test_importing_sums_does_not_import_the_compiler() -> None:
    code = "import sys, steppe.kernels.sums; sys.exit('numba' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@untimed
@given(values, st.integers(1, 7), st.integers(0, 60))
def test_sums_of_bins_are_the_sums_of_their_values_however_they_are_cut(x: np.ndarray, count: int, cut: int) -> None:
    bins = np.arange(x.size) % count
    parts = sum(binned_sums(x[part], bins[part], count, LARGEST) for part in (slice(0, cut), slice(cut, None)))
    expected = [fixed_sum(x[bins == number], None, LARGEST).value() for number in range(count)]
    np.testing.assert_array_equal(values_of(parts, LARGEST), expected)


def test_a_bin_with_what_is_no_number_has_no_sum() -> None:
    found = values_of(binned_sums(np.array([1.0, np.nan, 3.0]), np.array([0, 1, 0]), 3, 5.0), 5.0)
    np.testing.assert_array_equal(found, [4.0, np.nan, 0.0])


@untimed
@given(
    st.lists(st.tuples(st.integers(-(1 << 62), 1 << 62), st.integers(-(1 << 61), 1 << 61), st.integers(0, 1)), min_size=1, max_size=9),
    st.lists(st.tuples(st.integers(-(1 << 33), 1 << 33), st.integers(-(1 << 31), 1 << 31), st.just(0)), max_size=9),
    st.sampled_from([1e-3, 1.0, 5e5, 1e300]),
)
def test_the_sums_of_bins_are_rounded_once_like_any_sum(great: list[Any], small: list[Any], largest: float) -> None:
    limbs = np.array(great + small, np.int64)
    exponent = fixed_sum(np.zeros(1), None, largest).exponent
    expected = [Limbs(*row, exponent).value() for row in limbs.tolist()]
    np.testing.assert_array_equal(values_of(limbs, largest), expected)


@settings(deadline=None)
@given(st.floats(1e-250, 1e250), st.sampled_from([-1.0, 1.0]), st.integers(1, 20_000))
def test_the_total_of_one_number_is_the_product(number, sign, count):
    """`engine.rank_state` takes the product."""
    assert total(np.full(count, sign * number), lambda values, _: values) == count * (sign * number)
