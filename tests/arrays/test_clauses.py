"""Global arrays keep their contract on one rank, on ranks that are threads and on ranks that are processes, on any hosts."""

import subprocess
import sys

import pytest

from steppe.comm import Serial, World
from steppe.testing import run_threads
from tests.arrays.clauses import CLAUSES
from tests.comm.mpis import each_mpi, run_ranks

HOSTS = [["a"] * 3, ["a", "b", "a", "b"], ["a", "b", "c"]]


@pytest.mark.parametrize("clause", CLAUSES)
def test_one_rank(clause: str) -> None:
    CLAUSES[clause](Serial())


@pytest.mark.parametrize("hosts", HOSTS, ids="".join)
@pytest.mark.parametrize("clause", CLAUSES)
def test_ranks_as_threads(clause: str, hosts: list[str]) -> None:
    def rank(world: World) -> None:
        CLAUSES[clause](world)
        world.barrier()  # until then its host answers the others

    run_threads(len(hosts), rank, hosts=hosts)


@each_mpi
@pytest.mark.parametrize("hosts", [1, 2])
def test_ranks_as_processes(hosts: int, mpi: str) -> None:
    """All clauses in one job: as tests of their own they would start one on each worker of pytest."""
    done = run_ranks(mpi, 3, "-m", "tests.arrays.clauses", str(hosts))
    assert (sorted(done.stdout.split()), done.returncode) == (sorted(CLAUSES), 0), done.stderr


FORKED = """
import os
from steppe.arrays import GlobalArray, open_world
array = GlobalArray(open_world(), 3)
if os.fork() == 0:
    try:
        array.gather([0])
    except Exception as error:
        print(f"{type(error).__name__}: {error}", flush=True)
    os._exit(0)
os.wait()
print(array.gather([0]))
"""


def test_a_copy_of_the_process_may_not_use_an_array() -> None:
    said = subprocess.run([sys.executable, "-c", FORKED], capture_output=True, text=True, check=True).stdout.splitlines()
    assert said[0].startswith('ArrayError: "array 1" was made by process ')
    assert said[0].endswith("after a fork only its maker may use it.")
    assert said[1] == "[0.]"
