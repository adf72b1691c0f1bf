import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steppe.kernels.bitpack import BLOCK, _text, pack, unpack


def there_and_back(table: np.ndarray) -> tuple[np.ndarray, int]:
    packed = np.frombuffer(pack(table), np.uint8).copy()
    out = np.empty_like(table)
    unpack([(packed, out)])
    return out, len(packed)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 16), st.integers(0, 16), st.integers(1, 3), st.integers(1, 3), st.integers(0, 2**32 - 1))
def test_any_table_comes_back(first_bits: int, bits: int, rows: int, blocks: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    table = np.empty((rows, blocks, 16, 64), np.uint16)
    table[:, :, 0] = random.integers(0, 2**first_bits, (rows, blocks, 64))
    table[:, :, 1:] = random.integers(0, 2**bits, (rows, blocks, 15, 64))
    table = np.cumsum(table, axis=2, dtype=np.uint16) + np.uint16(random.integers(0, 65536))
    table = table.reshape(rows, -1).view(np.int16)
    np.testing.assert_array_equal(there_and_back(table)[0], table)


def test_extremes_and_missing_values_come_back() -> None:
    table = np.tile(np.array([-32768, 32767, 0, -1], np.int16), BLOCK // 2).reshape(2, BLOCK)
    table[1, 5:900] = -32768
    np.testing.assert_array_equal(there_and_back(table)[0], table)


@pytest.mark.parametrize(("most", "bits_each"), [(1, 0), (2, 3), (16, 6), (1000, 12)])
def test_small_differences_take_few_bits(most: int, bits_each: int) -> None:
    steps = np.random.default_rng(1).integers(0, most, (4, 16, 64)).astype(np.int16)
    found, length = there_and_back(steps.reshape(4, BLOCK))
    np.testing.assert_array_equal(found, steps.reshape(4, BLOCK))
    assert length <= 4 * (10 + 64 + 15 * 64 * bits_each / 8 + 128)


def test_the_unpacking_is_straight_vector_code() -> None:
    from steppe.kernels import cache

    assert len(cache.object_of(_text())) > 1000
    assert "<64 x i16>" in _text()
    assert " call " not in _text()
