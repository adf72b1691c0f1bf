"""mpi4py's own tests, as its source distribution has them, over sites: what the bridge does not refuse passes.

`refused_of_mpi4py.txt` has the names of tests that are left out, one pattern a line, in the order of these reasons:
    attached buffers of a communicator (MPI_Comm_attach_buffer); MPI_Intercomm_create_from_groups, which needs sessions; error handlers
    of sessions; MPI_Cancel of a send inside a site, in which MPICH 5.0.2 may crash, also without the bridge, once a receive from any
    source has been there before (it takes the record of that receive, which says "by UCX", for the send)
Modules about windows, files, spawned processes, sessions and partitioned messages, which are refused too, are not among `MODULES`.
"""

import re
import subprocess
import sys
import tarfile
from importlib.metadata import version
from pathlib import Path

import pytest
from tests.bridge.worlds import Site, world

REFUSED = Path(__file__).with_name("refused_of_mpi4py.txt")
MODULES = {
    "messages": "p2p_buf p2p_obj p2p_buf_matched p2p_obj_matched request status errhandler datatype pack msgspec msgzero threads util_pkl5",
    "communicators": "comm comm_inter comm_topo group attributes op info environ",
    "collectives": "cco_buf cco_obj cco_vec cco_nb_buf cco_nb_vec cco_pr_buf cco_pr_vec",
    "neighbours": "cco_ngh_buf cco_ngh_obj cco_pr_ngh_buf cco_buf_inter cco_obj_inter cco_vec_inter",
}
LONGEST = 280  # [s] of one world


@pytest.fixture(scope="session")
def suite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the tests of the mpi4py that is installed."""
    folder = tmp_path_factory.mktemp("mpi4py")
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps", "--no-binary", "mpi4py"]
    subprocess.run([*pip, "--dest", folder, f"mpi4py=={version('mpi4py')}"], check=True)
    with tarfile.open(next(folder.glob("*.tar.gz"))) as archive:
        archive.extractall(folder, filter="data")
    return next(folder.glob("*/test"))


@pytest.mark.usefixtures("gateway_program")
@pytest.mark.parametrize(
    ("modules", "ranks"), [*((modules, (2, 1)) for modules in MODULES), ("communicators", (1, 1, 1)), ("collectives", (1, 1, 1))]
)
def test_mpi4py_passes_its_own_tests_over_sites(suite: Path, tmp_path: Path, modules: str, ranks: tuple[int, ...]) -> None:
    tmp_path.chmod(0o700)
    wanted = rf"test_({'|'.join(MODULES[modules].split())})\.py"
    command = [sys.executable, suite / "main.py", "-v", "-i", wanted, "--xfile", REFUSED]
    sites = [Site(name, n, command) for name, n in zip("abc", ranks, strict=False)]
    with world(tmp_path, sites, delay=0.0002) as running:
        ended = running.end(LONGEST)
    text = "\n".join(one.output + one.errors for one in ended)
    assert [one.code for one in ended] == [0] * len(ranks), "\n".join(re.findall(r"^(?:FAIL|ERROR): .*", text, re.MULTILINE)) or text
    run = [int(number) for number in re.findall(r"^Ran (\d+) tests", text, re.MULTILINE)]
    assert len(run) == sum(ranks)
    assert min(run) > 10
