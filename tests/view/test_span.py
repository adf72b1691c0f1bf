import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from steppe.view import Span, extremes, fit_of, following, levels_of, scale_of
from steppe.view.span import MARGIN, PATIENCE

NUMBERS = st.floats(-(2.0**100), 2.0**100, width=32)
MAPS = arrays(np.float32, st.integers(1, 40), elements=st.floats(width=32))


def seen(values, span=None):
    _, least, most = extremes(values)
    return following(span, least, most)


def shown(values, span, bits):
    """What a viewer makes of the levels, as it is told to."""
    known, _, _ = extremes(values)
    levels = levels_of(values, known, span, bits)
    scale, offset = scale_of(span, bits)
    found = float(offset) + float(scale) * levels.astype(np.float64)
    found[levels == (1 << bits) - 2] = np.nan
    return found, float(scale)


@given(MAPS, st.sampled_from([8, 16]), st.floats(1e-30, 1e30))
def test_an_automatic_span_tells_every_value_to_half_a_level(values, bits, size):
    values = (np.clip(values, -1e6, 1e6) * np.float32(size)).astype(np.float32)
    values = np.where(np.abs(values) < 1e37, values, np.nan)
    found, scale = shown(values, seen(values), bits)
    known = np.isfinite(values)
    assert (np.isnan(found) == ~known).all()
    assert (np.abs(found[known] - values[known].astype(np.float64)) <= scale / 2 * (1 + 1e-9)).all()


@pytest.mark.parametrize("values", [[1e300], [-1e300], [1e38, 1e300]])
def test_a_map_beyond_the_numbers_of_a_frame_has_the_span_at_their_end(values):
    span = seen(np.array(values))
    assert span.low < np.sign(values[0]) * 1e37 < span.high
    assert np.isfinite(shown(np.array(values), span, 16)[0]).all()


@given(NUMBERS, NUMBERS, st.lists(st.tuples(NUMBERS, NUMBERS), max_size=8))
def test_a_span_that_follows_holds_what_is_shown_in_it(first, second, more):
    span = None
    for ends in [(first, second), *more]:
        least, most = min(ends), max(ends)
        span = following(span, least, most)
        low, high = span.ends
        slack = 1e-6 * (high - low)
        assert low - slack <= least
        assert most <= high + slack
        assert span.low < span.high


@given(st.integers(1, 40), st.integers(1, 40), st.floats(0, 1), st.integers(1, 200))
def test_a_span_does_not_flicker(low, width, where, frames):
    begin = span = following(None, float(low), float(low + width))
    beyond = MARGIN * (span.high - span.low) * 0.999
    for number in range(frames):  # the ends move within the margin, and most of it is used
        least = span.low - beyond * ((number * where) % 1)
        span = following(span, least, span.high + beyond)
        assert span[:2] == begin[:2]


def test_a_span_changes_when_a_value_is_two_percent_outside_and_not_before():
    span = following(None, 0.0, 100.0)
    assert span[:2] == (0.0, 100.0)
    assert following(span, 0.0, 101.9)[:2] == (0.0, 100.0)
    wider = following(span, 0.0, 102.1)
    assert wider.low == 0.0
    assert 102.1 <= wider.high <= 140.0


def test_a_span_of_which_less_than_half_was_used_by_fifty_frames_becomes_narrower():
    span = following(None, 0.0, 100.0)
    for _ in range(PATIENCE - 1):
        span = following(span, 10.0, 30.0)
        assert span[:2] == (0.0, 100.0)
    assert following(span, 0.0, 60.0) == Span(0.0, 100.0)
    span = following(span, 5.0, 12.0)
    assert span[:2] == (5.0, 30.0)


@pytest.mark.parametrize("values", [[np.nan], [np.inf, -np.inf], [0.0], [7.5, 7.5], [1e-13, 3e-13], [3.4e38, -3.4e38], [1e-45]])
def test_a_span_of_little_or_strange_is_one(values):
    span = seen(np.array(values, np.float32))
    scale, offset = scale_of(span, 16)
    assert np.isfinite(scale)
    assert scale > 0
    assert np.isfinite(offset)


def test_a_fixed_span_stays_and_shows_what_lies_outside_as_its_ends():
    span = Span(10.0, 20.0, fixed=True)
    values = np.array([-5.0, 10.0, 15.0, 20.0, 99.0], np.float32)
    assert seen(values, span) == span
    assert shown(values, span, 8)[0].tolist() == pytest.approx([10.0, 10.0, 15.0, 20.0, 20.0], abs=10 / 253 / 2 * 1.0001)
    assert shown(values, span, 8)[0][[0, -1]] == pytest.approx([10.0, 20.0], rel=1e-6)


def test_whole_numbers_have_a_missing_one():
    values = np.array([3, np.iinfo(np.int32).min, 9], np.int32)
    found, scale = shown(values, seen(values), 16)
    assert np.isnan(found[1])
    assert abs(found[2] - 9) <= scale / 2


def test_the_fit_of_a_span_is_the_middle_of_what_is_shown() -> None:
    maps = [np.arange(1000.0), np.arange(1000.0) + np.where(np.arange(1000) % 2, 7.0, 0.0)]
    maps[0][5] = np.nan
    span = following(None, 0.0, 1006.0)
    levels = [levels_of(values, np.isfinite(values), span, 16) for values in maps]
    low, high, apart = fit_of(levels, span, 16)
    assert (low, high) == (pytest.approx(np.nanpercentile(maps, 2), abs=1.0), pytest.approx(np.nanpercentile(maps, 98), abs=1.0))
    assert apart == pytest.approx(7.0, abs=0.05)
    assert len(fit_of(levels[:1], span, 16)) == 2
    assert fit_of([np.full(4, (1 << 16) - 2, np.uint16)], span, 16) == ()


@pytest.mark.parametrize("bits", [8, 16])
def test_the_fit_of_a_plume_in_few_cells_is_from_its_least_to_its_greatest_value(bits: int) -> None:
    maps = np.zeros((2, 1000))
    maps[:, 7], maps[1, 9] = 80.0, 30.0
    span = following(None, 0.0, 80.0)
    levels = [levels_of(values, None, span, bits) for values in maps]
    assert fit_of(levels, span, bits) == pytest.approx((0.0, 80.0, 30.0), abs=float(scale_of(span, bits)[0]))
    constant = [levels_of(np.full(9, 5.0), None, following(None, 5.0, 5.0), bits)]
    assert fit_of(constant, following(None, 5.0, 5.0), bits) == pytest.approx((5.0, 5.0), rel=1e-6)
