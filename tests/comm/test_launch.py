import os
import subprocess
import sys
from pathlib import Path

import pytest

from steppe.comm.launch import Launch, Library, check_pair, check_ranks, check_size, find_launch, find_library, find_mpiexec
from steppe.errors import Mistake
from tests.comm.mpis import PYTHONS, each_mpi, mpiexec_of, python_of, run_ranks

MPICH = Library("MPICH", "MPICH Version: 5.0.2", Path("/nowhere/lib/libmpi.so.12"))
OPEN_MPI = Library("Open MPI", "Open MPI v5.0.11", Path("/nowhere/lib/libmpi.so.40"))

# what launchers leave in the environment of rank 1 of 4, by their own words (MPICH, Open MPI: printed by `mpiexec -n 4 env`)
HYDRA = {"PMI_RANK": "1", "PMI_SIZE": "4", "PMI_FD": "9", "HYDI_CONTROL_FD": "7", "MPI_LOCALRANKID": "1", "MPI_LOCALNRANKS": "4"}
PRTERUN = {"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "4", "PMIX_RANK": "1", "PMIX_NAMESPACE": "prterun-vm-1@1"}
SRUN = {"SLURM_JOB_ID": "7", "SLURM_PROCID": "1", "SLURM_NTASKS": "4", "SLURM_STEP_ID": "0"}
LAUNCHES = {
    "MPICH": (HYDRA, Launch("MPICH", 1, 4)),
    "Open MPI": (PRTERUN, Launch("Open MPI", 1, 4)),
    "srun without PMI": (SRUN, Launch("Slurm", 1, 4)),
    "srun with PMI 2": (SRUN | {"PMI_RANK": "1", "PMI_SIZE": "4"}, Launch("PMI", 1, 4)),
    "srun with PMIx": (SRUN | {"PMIX_RANK": "1"}, Launch("Slurm", 1, 4)),
    "Open MPI within an allocation": (SRUN | PRTERUN, Launch("Open MPI", 1, 4)),
    "a launcher of PMIx that is not known": ({"PMIX_RANK": "1"}, Launch("PMIx", 1, 0)),
    "Intel MPI": ({"MPI_LOCALRANKID": "1", "MPI_LOCALNRANKS": "4"}, Launch("Intel MPI", 1, 4)),
    "a terminal": ({"PATH": "/usr/bin"}, None),
    "a batch script": ({"SLURM_JOB_ID": "7", "SLURM_PROCID": "0", "SLURM_NTASKS": "4"}, None),
    "a batch script with a step": (SRUN | {"SLURM_PROCID": "0", "SLURM_STEP_ID": "4294967291"}, None),
    "a single task": (SRUN | {"SLURM_PROCID": "0", "SLURM_NTASKS": "1"}, None),
    "mpiexec -n 1": (HYDRA | {"PMI_RANK": "0", "PMI_SIZE": "1"}, None),
}


@pytest.mark.parametrize("name", LAUNCHES)
def test_a_rank_knows_its_launcher(name: str) -> None:
    environment, expected = LAUNCHES[name]
    assert find_launch(environment) == expected


@each_mpi
def test_ranks_of_real_launchers_know_theirs(mpi: str) -> None:
    code = "import os; from steppe.comm import find_launch as f; os.write(1, f'{f().rank} {f().size} {f().launcher}\\n'.encode())"
    done = run_ranks(mpi, 3, "-c", code)
    maker = "Open MPI" if mpi == "openmpi" else "MPICH"
    assert sorted(done.stdout.splitlines()) == [f"{rank} 3 {maker}" for rank in range(3)], done.stderr


def test_another_number_of_ranks_than_started_is_a_mistake() -> None:
    check_ranks(4, Launch("MPICH", 1, 4))
    check_ranks(4, Launch("PMIx", 1, 0))
    with pytest.raises(Mistake, match="MPICH started this as 3 ranks, --ranks says 7"):
        check_ranks(7, Launch("MPICH", 1, 3))


def test_a_launcher_starts_ranks_of_its_own_library_only() -> None:
    check_pair(Launch("MPICH", 0, 2), MPICH)
    check_pair(Launch("Open MPI", 0, 2), OPEN_MPI)
    check_pair(Launch("MPICH", 0, 2), Library("Intel MPI", "Intel(R) MPI Library 2021", None))
    for launcher in ("Slurm", "PMI", "PMIx"):
        check_pair(Launch(launcher, 0, 2), OPEN_MPI)
    with pytest.raises(Mistake, match=r"mpiexec of MPICH started 2 processes, but the MPI library is Open MPI .*: each would run alone"):
        check_pair(Launch("MPICH", 0, 2), OPEN_MPI)
    with pytest.raises(Mistake, match=r"mpiexec of Open MPI started 2 processes, but the MPI library is MPICH"):
        check_pair(Launch("Open MPI", 0, 2), MPICH)
    with pytest.raises(Mistake, match=r"\(PMI\) started 2 processes, but the MPI library, MPICH .*, sees 1"):
        check_size(Launch("PMI", 0, 2), MPICH, 1)


@each_mpi
def test_the_mpiexec_is_that_of_the_library(mpi: str) -> None:
    command = mpiexec_of(mpi)
    place = Path(command[0]).resolve()
    if mpi == "system":
        assert PYTHONS[mpi].parents[2] not in place.parents
    else:
        assert place.parent == PYTHONS[mpi].parent.resolve()
    version = subprocess.run([command[0], "--version"], capture_output=True, text=True).stdout
    assert ("Open MPI" in version) == (mpi == "openmpi")


def test_the_first_mpiexec_on_the_path_is_not_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mpiexec_of("installed")
    wrong = tmp_path / "mpiexec"
    wrong.write_text("#!/bin/sh\n")
    wrong.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    assert Path(find_mpiexec(find_library())[0]) != wrong


def test_an_mpiexec_can_be_named_with_options() -> None:
    assert find_mpiexec(MPICH, {"STEPPE_MPIEXEC": "srun --mpi=pmi2"}) == ["srun", "--mpi=pmi2"]
    with pytest.raises(Mistake, match="STEPPE_MPIEXEC is mpiexec 'x, which has a quote that is not closed"):
        find_mpiexec(MPICH, {"STEPPE_MPIEXEC": "mpiexec 'x"})


def test_the_mpiexec_of_a_library_of_the_system_lies_beside_it_or_on_the_path(tmp_path: Path) -> None:
    for folder, name in (("lib", "libmpi.so.40"), ("bin", "mpiexec"), ("other", "mpiexec")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / name).write_text("")
        (tmp_path / folder / name).chmod(0o755)
    beside = Library("Open MPI", "Open MPI v4.1", tmp_path / "lib" / "libmpi.so.40")
    assert find_mpiexec(beside, {})[:2] == [str(tmp_path / "bin" / "mpiexec"), "--oversubscribe"]
    far = Library("another MPI", "another", tmp_path / "x" / "libmpi.so")
    (tmp_path / "bin" / "mpiexec").unlink()
    assert find_mpiexec(far, {"PATH": str(tmp_path / "other")}) == [str(tmp_path / "other" / "mpiexec")]


def test_without_an_mpiexec_the_sentence_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(Mistake, match=r"no mpiexec for MPICH .* Name it in STEPPE_MPIEXEC. `pip install mpich` brings one"):
        find_mpiexec(Library("MPICH", "MPICH 3", tmp_path / "libmpi.so"), {"PATH": str(tmp_path)})


def test_without_a_library_the_sentence_says_what_to_do() -> None:
    code = "import steppe.comm as c; import sys; sys.modules['mpi4py'] = None; c.find_library()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "Mistake: There is no MPI library for several ranks" in done.stderr
    assert "--threads" in done.stderr


@each_mpi
def test_info_shows_the_library_and_its_mpiexec(mpi: str) -> None:
    python = python_of(mpi)
    done = subprocess.run([python, "-m", "steppe", "info", "--mpi"], capture_output=True, text=True)
    shown = dict(line.split(": ", 1) for line in done.stdout.splitlines())
    assert shown["library"] == ("Open MPI" if mpi == "openmpi" else "MPICH")
    assert Path(shown["file"]).name.startswith("libmpi")
    assert shown["mpiexec"].split()[0] == mpiexec_of(mpi)[0]
    assert shown["python"] == python


def test_one_process_imports_no_mpi() -> None:
    code = "import sys, steppe.comm as c; c.find_launch(); w = c.open_world(); sys.exit('mpi4py' in sys.modules or w.size != 1)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
