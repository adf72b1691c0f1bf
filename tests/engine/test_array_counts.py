"""What the global arrays of a model need and send is told by `check`, at the end of a run, and by a served run."""

from pathlib import Path

import pytest

from steppe.arrays import counts_text
from steppe.engine import Plan, Session, Simulation, read_run_file
from steppe.engine.check import estimate
from steppe.jobs.report import summary
from steppe.testing import run_threads
from tests.engine.sessions import OWN, on_session, to
from tests.models.test_contract import CARRIED, of_field

BYTES = 2 * 12 * 20 * 8  # of the array and of the common memory of the model


@pytest.fixture
def run_file(tmp_path: Path) -> Path:
    return of_field(tmp_path, CARRIED, "c")


def test_a_check_counts_the_memory_of_arrays(run_file: Path) -> None:
    cost = estimate(Plan.of(read_run_file(run_file), cores=1))
    assert cost.arrays == BYTES
    assert f"global arrays {BYTES / 1000:.2f} kB, " in cost.as_text()


def test_a_run_tells_its_arrays_after_its_end(run_file: Path) -> None:
    with Simulation(run_file) as simulation:
        assert simulation.array_counts == {}
        simulation.run()
    assert simulation.array_counts["bytes"] == BYTES
    found = summary(simulation)
    assert found.as_dict()["arrays"] == simulation.array_counts
    assert found.as_text().splitlines()[-1] == "arrays: 1 array, 0.0 MB, no message between hosts"


@pytest.mark.parametrize("ranks", [1, 2])
def test_a_session_tells_the_arrays_of_all_its_branches(run_file: Path, ranks: int) -> None:
    def work(session: Session) -> dict[str, float]:
        session.load(1, OWN)
        assert session.array_counts == {}
        to(session, 3)
        return session.array_counts

    found = on_session(run_file, work, ranks=ranks)
    assert (found["arrays"], found["bytes"], found["messages"]) == (1, BYTES, 0)


def test_messages_between_hosts_are_added_over_ranks_and_told() -> None:
    from steppe.arrays import ModelArrays
    from steppe.comm import World

    def rank(world: World) -> dict[str, float]:
        maker = ModelArrays(world)
        array = maker.array(40_000)
        array.gather(range(40_000))
        found = maker.counts()
        world.barrier()
        return found

    one, other = run_threads(2, rank, hosts=["a", "b"])
    assert (one["arrays"], one["messages"], one["sent"]) == (other["arrays"], other["messages"], other["sent"])
    assert one["messages"] == 2
    assert counts_text(one).startswith("1 array, 0.3 MB; 2 messages between hosts, 0.3 MB, longest wait ")
