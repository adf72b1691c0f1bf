"""Keys as NumPy has them, as flat indices."""

import tracemalloc
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some
from hypothesis.extra.numpy import array_shapes, basic_indices, integer_array_indices

from steppe.arrays import GlobalArray
from steppe.arrays.element_inputs import flat_index
from steppe.comm import Serial
from steppe.errors import ArrayError, IndexOutOfRangeError

SHAPES = array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=6)


@given(some.data())
def test_a_key_gives_the_elements_that_numpy_gives(data: some.DataObject) -> None:
    shape = data.draw(SHAPES)
    keys = [basic_indices(shape, allow_newaxis=True)]
    if shape and 0 not in shape:
        arrays = integer_array_indices(shape, dtype=data.draw(some.sampled_from([np.int8, np.int64, np.uint16])))
        keys += [
            arrays,
            arrays.map(lambda key: (slice(None, None, -2), *key[1:])),
            some.just(np.arange(np.prod(shape)).reshape(shape) % 3 == 1),
        ]
    key = data.draw(some.one_of(keys))
    expected = np.arange(np.prod(shape, dtype=int)).reshape(shape)[key]
    found = flat_index("a", shape, key)
    assert (found.shape, found.tolist()) == (np.shape(expected), expected.tolist())


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        (np.s_[10:20:3], [10, 13, 16, 19]),
        (np.s_[-1], 10**15 - 1),
        (np.s_[3, None], [3]),
        (np.s_[[5, -2]], [5, 10**15 - 2]),
        (np.s_[10:0:-4], [10, 6, 2]),
    ],
)
def test_a_few_elements_of_a_large_array_take_little_memory(key: Any, expected: Any) -> None:
    assert flat_index("a", (10**15,), key).tolist() == expected


def test_an_index_array_a_dimension_takes_little_memory() -> None:
    assert flat_index("a", (10**9, 10**6), (np.array([5, -2], np.int8), 7)).tolist() == [5 * 10**6 + 7, (10**9 - 2) * 10**6 + 7]


@pytest.mark.parametrize(
    "key",
    [
        *(3, -4, np.s_[0, 4], np.s_[[0, 3], [1, 1]], np.s_[[0, 1], [0, -5]], np.s_[0, 0, 0], np.s_[[1, 2], [0, 1, 2]]),
        *(np.s_[::0], np.s_[:0.5], "a"),
    ],
)
def test_a_key_that_does_not_fit_is_refused(key: Any) -> None:
    with pytest.raises(IndexOutOfRangeError, match=r'"wind" of shape \(3, 4\): '):
        flat_index("wind", (3, 4), key)
    with pytest.raises(IndexOutOfRangeError, match=r'"wind" of shape \(3, 4\): '):
        GlobalArray(Serial(), (3, 4), name="wind")[key]


def test_elements_of_one_host_are_set_without_an_index_for_each() -> None:
    array = GlobalArray(Serial(), (1000, 1000), name="wind")
    tracemalloc.start()
    array[10:] = 3.0
    assert tracemalloc.get_traced_memory()[1] < 1_000_000
    tracemalloc.stop()
    assert (array[9:11].sum(), array[...].sum()) == (3000.0, 3.0 * 990_000)
    for key, value, said in (
        (1000, 1.0, '"wind" of shape (1000, 1000): index 1000 is out of bounds'),
        (np.s_[:2], np.ones(3), '"wind" of shape (1000, 1000): could not broadcast'),
        (array[...] > -1.0, np.ones((1, 10**6)), '"wind" of shape (1000, 1000): NumPy boolean array indexing assignment requires'),
        (0, 1j, '"wind" holds float64, it was given values of complex128'),
    ):
        with pytest.raises(ArrayError) as error:
            array[key] = value
        assert str(error.value).startswith(said)
    with array.read_only(), pytest.raises(ArrayError, match="is read-only"):
        array[0] = 1.0
