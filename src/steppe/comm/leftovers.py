"""Shared memory that killed ranks left behind.

MPICH names the memory that the ranks of a host share after the job. A job that Slurm requeues keeps its name: where its ranks were
killed, the next ones would find the memory of the dead and wait for them for ever.
"""

import os
import time
from pathlib import Path

FOLDER, PROCESSES = Path("/dev/shm"), Path("/proc")
NAMES = "mpich_*"


def sweep(folder: Path = FOLDER) -> None:
    """Removes what MPICH left of this user's dead ranks on this host (Linux); called by a rank before MPI is initialised.

    What is younger than this process may be of a rank of its own job that was faster; what a process has mapped is in use.
    """
    left = [*folder.glob(NAMES)]
    born = _born() if left else 0.0
    old = {file for file in left if _time_of(file) < born}
    if not old:
        return
    for process in PROCESSES.glob("[0-9]*"):
        try:
            maps = (process / "maps").read_text()
        except OSError:
            continue  # another user's, whose memory is not ours, or it has just ended
        old = {file for file in old if str(file) not in maps}
    for file in old:
        file.unlink(missing_ok=True)


def _time_of(file: Path) -> float:
    """When a file of ours was made; never, when it is not ours or another rank has removed it."""
    try:
        facts = file.stat()
    except FileNotFoundError:
        return float("inf")
    return facts.st_mtime if facts.st_uid == os.geteuid() else float("inf")


def _born() -> float:
    """When this process began, as files tell time."""
    of_boot = (PROCESSES / "self" / "stat").read_text().rpartition(")")[2].split()[19]  # [clock ticks], proc(5)
    age = time.clock_gettime(time.CLOCK_BOOTTIME) - int(of_boot) / os.sysconf("SC_CLK_TCK")
    return time.time() - age
