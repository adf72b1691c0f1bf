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
    """Removes the shared memory of this user's dead ranks on this host (Linux). A rank calls it before MPI is initialised.

    A file younger than this process may belong to a faster rank of the same job; a mapped file is in use. Both stay.
    """
    left = [*folder.glob(NAMES)]
    born = _born() if left else 0.0
    old = {file for file in left if _time_of(file) < born}
    if not old:
        return
    for process in PROCESSES.glob("[0-9]*"):
        try:
            maps = (process / "maps").read_text(encoding="utf-8", errors="replace")
        except OSError:
            continue  # a process of another user, or one that has just ended
        old = {file for file in old if str(file) not in maps}
    for file in old:
        file.unlink(missing_ok=True)


def _time_of(file: Path) -> float:
    """The time at which a file of this user was made; infinity for any other file, or a removed one."""
    try:
        facts = file.stat()
    except FileNotFoundError:
        return float("inf")
    return facts.st_mtime if facts.st_uid == os.geteuid() else float("inf")


def _born() -> float:
    """The start of this process, in seconds since 1970."""
    of_boot = (PROCESSES / "self" / "stat").read_text().rpartition(")")[2].split()[19]  # [clock ticks], proc(5)
    age = time.clock_gettime(time.CLOCK_BOOTTIME) - int(of_boot) / os.sysconf("SC_CLK_TCK")
    return time.time() - age
