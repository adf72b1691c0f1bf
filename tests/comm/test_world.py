"""Every world keeps the contract: one rank, ranks as threads, ranks as processes, and what is counted or replayed."""

from pathlib import Path

import numpy as np
import pytest

from steppe.comm import Serial, World
from steppe.errors import Failure
from steppe.testing import RecordingWorld, ReplayWorld, run_threads
from tests.comm.contract import CONTRACT
from tests.comm.mpis import each_mpi, run_ranks

WHOLE = 1 << 30
WAYS = {"one host": (1, WHOLE, 1), "two hosts, small parts": (2, 64, 1), "no sockets": (1, WHOLE, 0)}


@pytest.mark.parametrize("clause", CONTRACT)
def test_one_rank(clause: str) -> None:
    CONTRACT[clause](Serial())


@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 7])
@pytest.mark.parametrize("clause", CONTRACT)
def test_ranks_as_threads(clause: str, ranks: int) -> None:
    run_threads(ranks, CONTRACT[clause])


@each_mpi
@pytest.mark.parametrize("way", WAYS)
def test_ranks_as_processes(way: str, mpi: str) -> None:
    """All clauses in one job: as tests of their own they would start one on each worker of pytest."""
    done = run_ranks(mpi, 3, "-m", "tests.comm.contract", *map(str, WAYS[way]))
    assert (sorted(done.stdout.split()), done.returncode) == (sorted(CONTRACT), 0), done.stderr


@pytest.mark.parametrize("clause", CONTRACT)
def test_recorded_ranks(clause: str) -> None:
    run_threads(3, lambda world: CONTRACT[clause](RecordingWorld(world, keep=True)))


REPLAYED = [clause for clause in CONTRACT if "another_length" not in clause and "tests_true" not in clause]


@pytest.mark.parametrize("clause", REPLAYED)
def test_one_rank_runs_again_alone(clause: str, tmp_path: Path) -> None:
    def rank(world: World) -> None:
        recorded = RecordingWorld(world, keep=True)
        CONTRACT[clause](recorded)
        recorded.save(tmp_path / f"{world.rank}.npz")

    run_threads(3, rank)
    for number in range(3):
        CONTRACT[clause](ReplayWorld(tmp_path / f"{number}.npz"))


def test_messages_bytes_and_time_are_counted_by_tag_and_call() -> None:
    def rank(world: World) -> dict[str, tuple[int, int]]:
        recorded = RecordingWorld(world)
        requests = [recorded.receive(np.empty(10), 1 - world.rank, tag=tag) for tag in (7, 7, 8)]
        requests += [recorded.send(np.zeros(10), 1 - world.rank, tag=tag) for tag in (7, 7, 8)]
        for request in requests:
            request.wait()
        recorded.gather(np.zeros(3, dtype=np.float32))
        assert all(count.seconds > 0 for count in recorded.counts.values())
        return {kind: (count.calls, count.bytes) for kind, count in recorded.counts.items()}

    expected = {"receive 7": (2, 160), "receive 8": (1, 80), "send 7": (2, 160), "send 8": (1, 80), "gather": (1, 12)}
    assert run_threads(2, rank) == [expected, expected]


def test_a_rank_that_does_something_else_than_was_recorded_is_told(tmp_path: Path) -> None:
    def rank(world: World) -> None:
        recorded = RecordingWorld(world, keep=True)
        recorded.send(np.ones(2), 1 - world.rank, tag=5).wait()
        recorded.receive(np.empty(2), 1 - world.rank, tag=5).wait()
        recorded.reduce(np.ones(1), "max")
        recorded.save(tmp_path / f"{world.rank}.npz")

    run_threads(2, rank)
    with pytest.raises(Failure, match=r"Rank 1 gives something else than was recorded: send.0.5.1 is float64 \(2,\) of other values"):
        ReplayWorld(tmp_path / "1.npz").send(np.array([1.0, 2.0]), 0, tag=5)
    with pytest.raises(Failure, match=r"there is no send.0.6.1"):
        ReplayWorld(tmp_path / "1.npz").send(np.ones(2), 0, tag=6)
    with pytest.raises(Failure, match=r"there is no collective.1.barrier"):
        ReplayWorld(tmp_path / "1.npz").barrier()
