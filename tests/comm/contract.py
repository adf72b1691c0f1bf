"""The contract of every world: what each rank does, and finds. `python -m tests.comm.contract` runs all of it as one rank of an MPI job."""

import json
import os
import sys
import time
import traceback
from collections.abc import Callable

import numpy as np
import pytest

from steppe.comm import World, cores_of_rank, find_launch, open_world
from steppe.errors import Failure


def a_rank_is_one_of_its_world(world: World) -> None:
    assert 0 <= world.rank < world.size


def messages_of_one_tag_arrive_in_the_order_sent_and_tags_are_kept_apart(world: World) -> None:
    to, source = (world.rank + 1) % world.size, (world.rank - 1) % world.size
    first, second, other = np.empty(3), np.empty(3), np.empty(2, dtype=np.int64)
    requests = [world.receive(first, source, tag=7), world.receive(second, source, tag=7), world.receive(other, source, tag=8)]
    sent = [world.send(np.array([1, 2]), to, tag=8), world.send(np.full(3, 0.5), to, tag=7), world.send(np.full(3, 1.5), to, tag=7)]
    for request in (*requests, *sent):
        request.wait()
    assert first.tolist() == [0.5, 0.5, 0.5]
    assert second.tolist() == [1.5, 1.5, 1.5]
    assert other.tolist() == [1, 2]


def standing_messages_pass_again_and_again_between_the_same_arrays(world: World) -> None:
    to, source = (world.rank + 1) % world.size, (world.rank - 1) % world.size
    into, out, short = np.empty(1_000), np.empty(1_000), np.empty(3, dtype=np.int64)
    messages = world.persistent([(source, into), (source, short)], [(to, out), (to, np.arange(3))], tag=7)
    for turn in range(4):
        messages.expect()
        out[:] = 10 * world.rank + turn
        messages.send()
        while not messages.test():
            pass
        messages.wait()
        assert (into == 10 * source + turn).all()
        assert short.tolist() == [0, 1, 2]
    messages.close()
    world.barrier()


def a_standing_message_of_another_length_is_refused(world: World) -> None:
    messages = world.persistent([(world.rank, np.zeros(3))], [(world.rank, np.zeros(2))])
    messages.expect()
    messages.send()
    with pytest.raises(Failure, match=rf"Rank {world.rank} got .* from rank {world.rank}, tag 0, expected float64 \(3,\)"):
        messages.wait()


def what_is_sent_may_change_as_soon_as_send_returns(world: World) -> None:
    to, source = (world.rank + 1) % world.size, (world.rank - 1) % world.size
    values, into = np.ones(1_000), np.empty(1_000)
    sent = world.send(values, to)
    values[:] = 2.0
    world.receive(into, source).wait()
    sent.wait()
    assert (into == 1.0).all()


def a_request_tests_true_when_it_would_not_wait_and_waits_twice(world: World) -> None:
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


def a_message_of_another_length_is_refused(world: World) -> None:
    for length in (2, 4):
        sent = world.send(np.zeros(length), world.rank)
        with pytest.raises(Failure, match=rf"Rank {world.rank} got .* from rank {world.rank}, tag 0, expected float64 \(3,\)"):
            world.receive(np.zeros(3), world.rank).wait()
        sent.wait()


def only_whole_arrays_that_may_change_are_filled(world: World) -> None:
    frozen = np.zeros(2)
    frozen.flags.writeable = False
    for target in (np.zeros((4, 4))[:, 1], frozen):
        for call in (lambda into: world.receive(into, world.rank), world.broadcast, world.call):
            with pytest.raises(Failure, match="fills a contiguous, writeable array"):
                call(target)


def there_is_no_rank_beyond_the_last(world: World) -> None:
    for call in (world.send, world.receive):
        with pytest.raises(Failure, match=f"There is no rank {world.size}: the world has"):
            call(np.zeros(1), world.size)


def a_broadcast_gives_everyone_the_array_of_the_root(world: World) -> None:
    for root in range(world.size):
        values = np.array([world.rank, 10.0])
        world.broadcast(values, root)
        assert values.tolist() == [root, 10.0]


def a_call_gives_everyone_the_array_of_rank_0(world: World) -> None:
    for n in range(20):
        values = np.array([n if world.rank == 0 else -1, 10])
        world.call(values)
        assert values.tolist() == [n, 10]
        time.sleep(0.003 * ((n + world.rank) % 3 == 0))  # some ranks wait already, some come late


def arrays_of_any_length_are_gathered_as_copies_in_order_of_rank(world: World) -> None:
    for root in range(world.size):
        mine = np.arange(world.rank + 2)
        found = world.gather(mine, root)
        mine[:] = -1
        if world.rank == root:
            assert found is not None
            assert [part.tolist() for part in found] == [list(range(rank + 2)) for rank in range(world.size)]
        else:
            assert found is None


def arrays_of_lengths_that_all_know_are_gathered(world: World) -> None:
    lengths = [3 * rank for rank in range(world.size)]
    found = world.gather(np.full(lengths[world.rank], world.rank, dtype=np.int16), lengths=lengths)
    if world.rank == 0:
        assert found is not None
        assert [part.tolist() for part in found] == [[rank] * length for rank, length in enumerate(lengths)]
    else:
        assert found is None


def gathered_arrays_keep_their_shapes_and_some_may_be_empty(world: World) -> None:
    found = world.gather(np.full((world.rank, 2, 3), world.rank, dtype=np.float32))
    if world.rank == 0:
        assert found is not None
        assert [part.shape for part in found] == [(rank, 2, 3) for rank in range(world.size)]
        assert all((part == rank).all() and part.dtype == np.float32 for rank, part in enumerate(found))


def receives_are_filled_in_the_order_in_which_they_were_started(world: World) -> None:
    to, source = (world.rank + 1) % world.size, (world.rank - 1) % world.size
    first, second = np.empty(1), np.empty(1)
    requests = [world.receive(first, source), world.receive(second, source)]
    sent = [world.send(np.array([number]), to) for number in (1.0, 2.0)]
    for request in (*reversed(requests), *sent):
        request.wait()
    assert (first[0], second[0]) == (1.0, 2.0)


def large_arrays_go_whole_by_every_way(world: World) -> None:
    to, source = (world.rank + 1) % world.size, (world.rank - 1) % world.size
    values, into = np.arange(1_000.0) + world.rank, np.empty((100, 10))
    requests = [world.receive(into, source, tag=2), world.send(values.reshape(100, 10), to, tag=2)]
    for request in requests:
        request.wait()
    assert (into.ravel() == np.arange(1_000.0) + source).all()
    world.broadcast(values)
    assert (values == np.arange(1_000.0)).all()
    assert (world.reduce(np.arange(1_000) + world.rank, "max") == np.arange(1_000) + world.size - 1).all()
    found = world.gather(np.full(3 if world.rank == 1 else 500, world.rank))
    if world.rank == 0:
        assert found is not None
        assert all((part == rank).all() and part.size == (3 if rank == 1 else 500) for rank, part in enumerate(found))


def empty_arrays_are_messages_too(world: World) -> None:
    into = world.receive(np.empty((0, 3)), world.rank)
    world.send(np.empty((0, 3)), world.rank).wait()
    into.wait()
    world.broadcast(np.empty(0))
    assert world.reduce(np.empty(0), "max").size == 0


def integers_are_summed_exactly_and_extremes_taken_of_any_numbers(world: World) -> None:
    big = 2**60 // world.size
    assert world.reduce(np.array([big, world.rank]), "sum").tolist() == [big * world.size, world.size * (world.size - 1) // 2]
    assert world.reduce(np.array([world.rank + 0.5]), "min").tolist() == [0.5]
    assert world.reduce(np.array([world.rank + 0.5]), "max").tolist() == [world.size - 0.5]


def a_value_that_is_nan_on_one_rank_is_nan_for_all(world: World) -> None:
    for dtype in np.float32, np.float64:
        for bad in range(world.size):
            mine = np.array([np.nan if world.rank == bad else world.rank - 1.5, -np.nan if world.rank == bad else np.inf], dtype)
            mine = np.append(mine, np.array([-np.inf, world.rank - 1.5], dtype))
            least, greatest = world.reduce(mine, "min"), world.reduce(mine, "max")
            assert least.dtype == greatest.dtype == dtype
            assert np.isnan([least[:2], greatest[:2]]).all()
            assert (least[2:].tolist(), greatest[2:].tolist()) == ([-np.inf, -1.5], [-np.inf, world.size - 2.5])


def numbers_that_are_no_integers_are_not_summed(world: World) -> None:
    with pytest.raises(Failure, match="Only integers can be summed"):
        world.reduce(np.array([0.5]), "sum")


def each_rank_gets_the_part_that_every_rank_has_for_it(world: World) -> None:
    parts = [np.full(world.rank + to, 10 * world.rank + to) for to in range(world.size)]
    found = world.exchange(parts)
    assert [part.tolist() for part in found] == [[10 * one + world.rank] * (one + world.rank) for one in range(world.size)]
    with pytest.raises(Failure, match="was given"):
        world.exchange([np.zeros(1)] * (world.size + 1))


def the_byte_order_of_an_array_does_not_matter(world: World) -> None:
    for order in "<>", "><", ">>":
        mine = np.array([world.rank + 0.5], f"{order[world.rank % 2]}f8")
        for lengths in (None, [1] * world.size):
            found = world.gather(mine, lengths=lengths)
            if world.rank == 0:
                assert found is not None
                assert [part.tolist() for part in found] == [[rank + 0.5] for rank in range(world.size)]
        assert [part.tolist() for part in world.exchange([mine] * world.size)] == [[rank + 0.5] for rank in range(world.size)]
        assert world.reduce(mine, "max").tolist() == [world.size - 0.5]


def objects_of_python_are_no_message(world: World) -> None:
    given = np.array([{}, None])
    for wrong in (
        lambda: world.gather(given),
        lambda: world.exchange([given] * world.size),
        lambda: world.reduce(given, "max"),
        lambda: world.broadcast(given),
        lambda: world.receive(given, 0),
    ):
        with pytest.raises(Failure, match="A message carries numbers, this array holds Python objects"):
            wrong()


def a_rank_that_waits_can_look_at_the_others(world: World) -> None:
    assert world.reduce(np.array([world.rank]), "max", watch=lambda: None).tolist() == [world.size - 1]


def a_reduction_leaves_what_it_was_given(world: World) -> None:
    mine = np.array([world.rank])
    world.reduce(mine, "max")[0] = 99
    assert mine.tolist() == [world.rank]


def all_agree_only_when_nobody_objects(world: World) -> None:
    world.barrier()
    assert world.agree(True)
    assert not world.agree(world.rank != world.size - 1)


def cores_are_shared_by_the_ranks_of_a_host(world: World) -> None:
    cores = len(os.sched_getaffinity(0))
    assert cores_of_rank(world, "one host") == max(1, cores // world.size)
    assert cores_of_rank(world, f"host {world.rank // 2}") == max(1, cores // (1 if world.rank == 2 * (world.size // 2) else 2))


CONTRACT: dict[str, Callable[[World], None]] = {
    function.__name__: function
    for function in list(globals().values())
    if callable(function) and getattr(function, "__module__", "") == __name__
}


def main(hosts: int, part: int, sockets: bool) -> None:
    """Runs the contract; rank 0 prints each clause that was kept, any rank that finds one broken ends the job.

    Parameters
    ----------
    hosts
        On how many hosts the ranks are to think they are.
    part
        Largest message that goes in one piece [bytes].
    sockets
        Whether ranks can be roused by sockets.
    """
    from steppe.comm import layout, mpi, passing, wake

    layout.PART = mpi.PART = passing.PART = part
    if not sockets:
        wake.Wake._bind = lambda self: False
    launch = find_launch()
    assert launch is not None
    world = open_world(f"host {launch.rank % hosts}")
    assert world._wake.works == sockets
    for name, clause in CONTRACT.items():
        try:
            clause(world)
        except BaseException:
            world.abort(f"{name} on rank {world.rank}: {json.dumps(traceback.format_exc())}")
        world.barrier()
        if world.rank == 0:
            print(name, flush=True)
    world.close()


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
