"""The contract of every world. Each test is run by all ranks; `worlds` lists the kinds."""

from collections.abc import Callable

import numpy as np
import pytest

from steppe.comm import Serial, World
from steppe.errors import Failure

worlds: dict[str, Callable[[], World]] = {"serial": Serial}


@pytest.fixture(params=worlds)
def world(request: pytest.FixtureRequest) -> World:
    return worlds[request.param]()


def test_a_rank_is_one_of_its_world(world: World) -> None:
    assert 0 <= world.rank < world.size


def test_messages_of_one_tag_arrive_in_the_order_sent_and_tags_are_kept_apart(world: World) -> None:
    to, source = (world.rank + 1) % world.size, (world.rank - 1) % world.size
    first, second, other = np.empty(3), np.empty(3), np.empty(2, dtype=np.int64)
    requests = [world.receive(first, source, tag=7), world.receive(second, source, tag=7), world.receive(other, source, tag=8)]
    sent = [world.send(np.array([1, 2]), to, tag=8), world.send(np.full(3, 0.5), to, tag=7), world.send(np.full(3, 1.5), to, tag=7)]
    for request in (*requests, *sent):
        request.wait()
    assert first.tolist() == [0.5, 0.5, 0.5]
    assert second.tolist() == [1.5, 1.5, 1.5]
    assert other.tolist() == [1, 2]


def test_what_is_sent_may_change_as_soon_as_send_returns(world: World) -> None:
    to, source = (world.rank + 1) % world.size, (world.rank - 1) % world.size
    values, into = np.ones(1_000), np.empty(1_000)
    sent = world.send(values, to)
    values[:] = 2.0
    world.receive(into, source).wait()
    sent.wait()
    assert (into == 1.0).all()


def test_a_request_tests_true_when_it_would_not_wait_and_waits_twice(world: World) -> None:
    into = np.empty(1)
    request = world.receive(into, world.rank, tag=3)
    assert not request.test()
    sent = world.send(np.array([4.0]), world.rank, tag=3)
    request.wait()
    request.wait()
    sent.wait()
    assert request.test()
    assert sent.test()
    assert into[0] == 4.0


@pytest.mark.parametrize("message", [np.zeros(4), np.zeros((3, 1)), np.zeros(3, dtype=np.float32)])
def test_a_message_of_another_shape_or_dtype_is_refused(world: World, message: np.ndarray) -> None:
    sent = world.send(message, world.rank)
    with pytest.raises(Failure, match="expected float64"):
        world.receive(np.zeros(3), world.rank).wait()
    sent.wait()


def test_there_is_no_rank_beyond_the_last(world: World) -> None:
    for call in (world.send, world.receive):
        with pytest.raises(Failure, match=f"There is no rank {world.size}"):
            call(np.zeros(1), world.size)


def test_a_broadcast_gives_everyone_the_array_of_the_root(world: World) -> None:
    for root in range(world.size):
        values = np.array([world.rank, 10.0])
        world.broadcast(values, root)
        assert values.tolist() == [root, 10.0]


def test_arrays_of_any_length_are_gathered_as_copies_in_order_of_rank(world: World) -> None:
    for root in range(world.size):
        mine = np.arange(world.rank + 2)
        found = world.gather(mine, root)
        mine[:] = -1
        if world.rank == root:
            assert found is not None
            assert [part.tolist() for part in found] == [list(range(rank + 2)) for rank in range(world.size)]
        else:
            assert found is None


def test_integers_are_summed_exactly_and_extremes_taken_of_any_numbers(world: World) -> None:
    big = 2**60 // world.size
    assert world.reduce(np.array([big, world.rank]), "sum").tolist() == [big * world.size, world.size * (world.size - 1) // 2]
    assert world.reduce(np.array([world.rank + 0.5]), "min").tolist() == [0.5]
    assert world.reduce(np.array([world.rank + 0.5]), "max").tolist() == [world.size - 0.5]


def test_numbers_that_are_no_integers_are_not_summed(world: World) -> None:
    with pytest.raises(Failure, match="Only integers can be summed"):
        world.reduce(np.array([0.5]), "sum")


def test_a_reduction_leaves_what_it_was_given(world: World) -> None:
    mine = np.array([world.rank])
    world.reduce(mine, "max")[0] = 99
    assert mine.tolist() == [world.rank]


def test_all_agree_only_when_nobody_objects(world: World) -> None:
    world.barrier()
    assert world.agree(True)
    assert not world.agree(world.rank != world.size - 1)
