import threading

import numpy as np
import pytest

from steppe.comm import Serial, World
from steppe.errors import Failure, ForcingError
from steppe.testing import Threads, run_threads


def test_every_rank_returns_what_it_found() -> None:
    assert run_threads(3, lambda world: (world.rank, world.size)) == [(0, 3), (1, 3), (2, 3)]


def test_the_first_error_is_raised_and_the_others_get_a_failure_where_they_wait() -> None:
    ended: dict[int, str] = {}

    def rank(world: Threads) -> None:
        if world.rank == 1:
            raise ForcingError("no rain")
        try:
            world.barrier() if world.rank == 0 else world.receive(np.empty(1), 1).wait()
        except Failure as error:
            ended[world.rank] = str(error)

    with pytest.raises(ForcingError, match="no rain"):
        run_threads(3, rank)
    assert ended == {rank: f"Rank {rank} ends because rank 1 failed: ForcingError: no rain" for rank in (0, 2)}
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("rank ")]


def test_a_rank_that_polls_learns_of_the_failure() -> None:
    def rank(world: Threads) -> None:
        if world.rank == 1:
            raise SystemExit(3)
        request = world.receive(np.empty(1), 1)
        while not request.test():
            pass

    with pytest.raises(SystemExit):
        run_threads(2, rank)


def test_a_deadlock_is_an_error_with_a_sentence() -> None:
    with pytest.raises(Failure, match=r"has waited 0.1 s for a message from rank \d, tag 4"):
        run_threads(2, lambda world: world.receive(np.empty(1), 1 - world.rank, tag=4).wait(), limit=0.1)
    with pytest.raises(Failure, match=r"Rank 0 has waited 0.1 s for the other ranks in barrier"):
        run_threads(2, lambda world: world.barrier() if world.rank == 0 else None, limit=0.1)


def test_ranks_in_different_collective_calls_are_told_so() -> None:
    def rank(world: Threads) -> None:
        world.barrier() if world.rank == 0 else world.gather(np.empty(1))

    with pytest.raises(Failure, match="The ranks disagree: rank"):
        run_threads(2, rank)


def test_a_message_that_nobody_received_is_a_failure() -> None:
    with pytest.raises(Failure, match="Rank 1 sent rank 0 a message, tag 9, that was never received"):
        run_threads(2, lambda world: world.send(np.ones(1), 0, tag=9) if world.rank == 1 else None)


@pytest.mark.parametrize("message", [np.zeros((3, 1)), np.zeros(3, dtype=np.int64)])
def test_a_message_of_another_shape_or_dtype_is_refused_where_it_can_be_seen(message: np.ndarray) -> None:
    def rank(world: World) -> None:
        world.send(message, world.rank)
        with pytest.raises(Failure, match="expected float64"):
            world.receive(np.zeros(3), world.rank).wait()

    rank(Serial())
    run_threads(2, rank)
