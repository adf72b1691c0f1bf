"""The memory of this machine, and the states of its processes, as the system tells them. It needs no package."""

import math
from pathlib import Path

MEMORY, GROUP, OWN = Path("/proc/meminfo"), Path("/sys/fs/cgroup"), Path("/proc/self/cgroup")


def free_memory() -> float:
    """Bytes that this host, or a container or batch job of this process, can still give; infinity where the system does not say."""
    found = host_memory("MemAvailable") or math.inf
    for group in _groups():
        used = group / "memory.current"
        if used.is_file():
            cache = _count_of(group / "memory.stat", "inactive_file")  # of files: it counts as used, but the system gives it up at once
            found = min(found, _limit_of(group) - float(used.read_text()) + cache)
    return found


def host_memory(what: str) -> int:
    """Bytes of MemTotal or MemAvailable of this host, 0 where the system does not name it."""
    return _count_of(MEMORY, f"{what}:") * 1024


def _count_of(file: Path, what: str) -> int:
    """The number behind a word at the beginning of a line, 0 where the file has none."""
    lines = file.read_text(encoding="utf-8").splitlines() if file.is_file() else []
    return next((int(line.split()[1]) for line in lines if line.startswith(f"{what} ")), 0)


def container_memory() -> float:
    """The most bytes that the container or batch job of this process may use; infinity without a limit."""
    return min(map(_limit_of, _groups()))


def _groups() -> list[Path]:
    """The control groups (version 2) of this process, the smallest first; the limits of all of them hold."""
    lines = OWN.read_text(encoding="utf-8").splitlines() if OWN.is_file() else []
    path = Path(next((line[4:] for line in lines if line.startswith("0::/")), ""))
    return [GROUP / path, *(GROUP / parent for parent in path.parents)]


def _limit_of(group: Path) -> float:
    limit = group / "memory.max"
    text = limit.read_text().strip() if limit.is_file() else ""
    return float(text) if text.isdigit() else math.inf


def process_state(process: int) -> str:
    """The state of a process of this host as proc(5) has it: T stopped, Z a zombie; "" once it has ended."""
    try:
        return Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
    except OSError:
        return ""
