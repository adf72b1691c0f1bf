"""What was measured on."""

import os
import platform
import shutil
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

from benchmarks.rounds import output

LIBRARIES = ("steppe", "numpy", "numba", "llvmlite", "zarr", "xarray")
LOOK, IDLE = 0.5, 0.1  # [s] of a look at the processors, and the share that others may take for wall-clock times to mean something


def describe() -> dict[str, Any]:
    """Processor, cores, memory, load and versions."""
    facts = dict(line.split("\t: ", 1) for line in Path("/proc/cpuinfo").read_text().splitlines() if "\t: " in line)
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return {
        "processor": facts.get("model name", platform.machine()),
        "cores": len(os.sched_getaffinity(0)),
        "memory_gigabytes": round(pages / 1e9, 1),
        "load": os.getloadavg()[0],
        "system": platform.platform(),
        "python": platform.python_version(),
        "compiler": output(["g++", "--version"]).splitlines()[0] if shutil.which("g++") else "none",
        **{name: version(name) for name in LIBRARIES},
    }


def is_idle() -> bool:
    """Whether wall-clock times mean something now. The load of the last minute would be that of the benchmark itself."""
    busy, every = _ticks()
    time.sleep(LOOK)
    more, later = _ticks()
    return more - busy < IDLE * (later - every)


def _ticks() -> tuple[int, int]:
    """What all processors have worked since the start, and that with their rest."""
    ticks = [int(word) for word in Path("/proc/stat").read_text().splitlines()[0].split()[1:9]]
    return sum(ticks) - ticks[3] - ticks[4], sum(ticks)
