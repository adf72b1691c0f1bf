"""The measured machine: processor, memory, system, and its use by other programs."""

import os
import platform
import time
from pathlib import Path
from typing import TYPE_CHECKING

from steppe.comm import host_memory
from steppe.comm.launch import find_library

if TYPE_CHECKING:
    from steppe.comm.raw import Raw

CLOCKSOURCE = Path("/sys/devices/system/clocksource/clocksource0/current_clocksource")
CACHES = Path("/sys/devices/system/cpu/cpu0/cache")
UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


def describe_machine() -> dict[str, object]:
    """Processor, its cores and those that this process may use, its largest cache and the memory [bytes], kernel, source of the clock."""
    facts = [line.partition(":") for line in read_text(Path("/proc/cpuinfo")).splitlines()]
    return {
        "cpu": next((text.strip() for name, _, text in facts if name.startswith("model name")), platform.machine()),
        "cores": os.cpu_count(),
        "allowed": sorted(os.sched_getaffinity(0)),
        "cache": largest_cache(),
        "memory": host_memory("MemTotal"),
        "kernel": platform.release(),
        "clocksource": read_text(CLOCKSOURCE),
    }


def describe_library(raw: "Raw") -> dict[str, str]:
    """The MPI library of the ranks and its thread level."""
    library = find_library()
    return {"name": library.name, "version": library.version, "thread_level": raw.thread_level, "path": str(library.file)}


def largest_cache() -> int:
    """Bytes of the largest cache of a core, 0 where the system does not name it."""
    sizes = [text for path in CACHES.glob("index*/size") if (text := read_text(path))]
    return max((int(size[:-1]) * UNITS[size[-1]] for size in sizes if size[-1] in UNITS), default=0)


def read_text(path: Path) -> str:
    """The text of a file of the system without white space around it; empty where there is no such file."""
    try:
        return path.read_text(encoding="utf-8").strip()
    except OSError:
        return ""


class Others:
    """The use of the cores by other programs, and by other virtual machines of the host, since this object was made."""

    def __init__(self) -> None:
        self._begin = _taken()

    def share(self) -> float:
        """Their share of the time in which this process could have run; 0 where the system does not measure it."""
        waited, used, stolen, all_ = (now - then for now, then in zip(_taken(), self._begin, strict=True))
        return (waited / (waited + used) if waited + used > 0 else 0.0) + (stolen / all_ if all_ > 0 else 0.0)


def _taken() -> tuple[float, float, float, float]:
    """Seconds in which threads of this process waited for a core, and ran; stolen time and all time of the cores."""
    waits = [float(text.split()[1]) for path in Path("/proc/self/task").glob("*/schedstat") if (text := read_text(path))]
    cores = [float(number) for number in read_text(Path("/proc/stat")).partition("\n")[0].split()[1:9]]
    return 1e-9 * sum(waits), time.process_time(), cores[7] if len(cores) > 7 else 0.0, sum(cores)
