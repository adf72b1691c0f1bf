import math
from typing import Any

import hypothesis.extra.numpy as hnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steppe.api import decode, encode_head


def facts(values: np.ndarray, **more: Any) -> dict[str, Any]:
    return {"variable": "green", "dtype": values.dtype.str, "shape": list(values.shape), "dims": [], **more}


@given(
    hnp.arrays(st.sampled_from(["<f4", "<f8", "<i2", "|u1"]), hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=5)),
    st.text(max_size=90),
)
def test_an_array_comes_back_as_a_view_that_begins_at_a_multiple_of_64(values: np.ndarray, units: str) -> None:
    head = encode_head(facts(values, units=units))
    assert len(head) % 64 == 0
    content = head + values.tobytes()
    said, read = decode(content)
    assert said == facts(values, units=units)
    assert read.dtype == values.dtype
    assert read.tobytes() == values.tobytes()
    assert read.shape == values.shape
    assert not read.flags.owndata


@given(st.binary(max_size=200))
def test_what_is_no_array_is_refused_in_words(content: bytes) -> None:
    with pytest.raises(ValueError, match=r"array of Steppe|An array of"):
        decode(content)


@pytest.mark.parametrize("cut", [0, 3, 4, 40, 64, 67, 71])
def test_an_array_that_is_cut_short_is_refused(cut: int) -> None:
    values = np.array([1.0, 2.0], "<f4")
    content = encode_head(facts(values)) + values.tobytes()
    with pytest.raises(ValueError, match=r"array of"):
        decode(content[:cut])
    with pytest.raises(ValueError, match="has 8 bytes, 9 came"):
        decode(content + b"x")


def test_what_is_not_finite_becomes_null() -> None:
    values = np.zeros(1, "<f4")
    said, _ = decode(encode_head(facts(values, missing=math.nan)) + values.tobytes())
    assert said["missing"] is None
