"""Memory of a rank that the other ranks of its host see."""

import numpy as np
import pytest

from steppe.arrays import ModelArrays
from steppe.comm import Serial
from steppe.errors import ArrayError, Failure
from steppe.testing import run_threads


def test_each_rank_of_a_host_sees_the_arrays_of_all_of_them_in_order():
    def rank(world):
        mine, all_of_host = ModelArrays(world).beside((world.rank + 1, 3))
        assert mine.shape == (world.rank + 1, 3)
        assert not mine.any()
        world.barrier()
        mine[...] = world.rank + 10.0
        world.barrier()
        return [(each.shape, set(each.ravel().tolist())) for each in all_of_host], any(each is mine for each in all_of_host)

    found = run_threads(4, rank, 60.0, ["a", "b", "a", "a"])
    of_a = [((n + 1, 3), {n + 10.0}) for n in (0, 2, 3)]
    assert found == [(of_a, True), ([((2, 3), {11.0})], True), (of_a, True), (of_a, True)]


def test_it_begins_on_lines_of_the_cache_and_has_any_dtype():
    def rank(world):
        _, found = ModelArrays(world).beside((3,), "int16")
        return [each.dtype.name for each in found], [each.ctypes.data % 64 for each in found]

    assert run_threads(2, rank, 60.0) == [(["int16", "int16"], [0, 0])] * 2


def test_a_rank_alone_has_its_own():
    mine, found = ModelArrays(Serial()).beside((2, 2))
    assert [each is mine for each in found] == [True]


def test_ranks_that_ask_for_other_dtypes_are_refused():
    with pytest.raises(ArrayError, match="beside those of other ranks"):
        run_threads(2, lambda world: ModelArrays(world).beside((2,), [np.float64, np.int32][world.rank]), 60.0)


@pytest.mark.parametrize("shape", [(-1,), (2, -3), (2.5,)])
def test_a_shape_that_cannot_be_is_refused(shape):
    arrays = ModelArrays(Serial())
    for make in (arrays.common, arrays.beside):
        with pytest.raises(ArrayError, match=r"a shape has whole numbers|has a negative length"):
            make(shape)


def test_more_memory_than_a_host_has_is_refused():
    with pytest.raises(Failure, match=r"cannot share .* MB of memory"):
        ModelArrays(Serial()).common((2**40, 2**40))
