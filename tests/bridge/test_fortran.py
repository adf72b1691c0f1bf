"""Programs in Fortran over two sites: compiled with Debian's MPICH, which knows nothing of the bridge."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.bridge.worlds import PROGRAMS, Site, world

FORMS = {"mpif.h": 1, "mpi": 2, "mpi_f08": 3}


@pytest.mark.parametrize("form", FORMS)
def test_a_program_in_fortran_sees_one_world(folder: Path, form: str) -> None:
    compiler = shutil.which("mpif90.mpich")
    if not compiler:
        assert "CI" not in os.environ, "CI lacks gfortran and libmpich-dev"
        pytest.skip("no mpif90.mpich: apt-get install gfortran libmpich-dev")
    program = folder / f"ranks-{form}"
    flags = [f"-DFORM={FORMS[form]}", "-Wall", "-J", str(folder)]
    subprocess.run([compiler, *flags, "-o", program, PROGRAMS / "ranks.F90"], check=True)
    with world(folder, [Site("a", 2, [program]), Site("b", 1, [program])]) as running:
        ended = running.end()
    assert [(one.code, one.errors) for one in ended] == [(0, ""), (0, "")], ended
    *seen, error = ended[0].output.splitlines()
    assert seen == ["rank 0 of 3 from 2: 2 20 200", "sum 3 30 300, backwards 2, limit T 67108863"]
    assert error.startswith("steppe bridge: MPI_Win_create on MPI_COMM_WORLD, which spans the sites a, b, is not supported.")
