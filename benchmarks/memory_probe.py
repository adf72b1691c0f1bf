"""One run in a process of its own; prints JSON: bytes after the imports, at the peak, and what `steppe check` announces."""

import json
import os
import resource
import sys
from pathlib import Path

import llvmlite.binding  # noqa: F401  what a run imports late counts as an import
import xarray  # noqa: F401
import zarr.storage  # noqa: F401

from steppe.engine import Plan, Simulation, estimate, read_run_file


def resident() -> int:
    """Bytes of this process in memory now."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def main(run_file: str, what: str) -> None:
    """what: "run", or "estimate" in a process of its own, since it computes too."""
    plan_file = read_run_file(run_file)
    if what == "estimate":
        print(json.dumps({"announced": estimate(Plan.of(plan_file)).memory}))
        return
    after_imports = resident()
    with Simulation(Plan.of(plan_file), fresh=True) as simulation:
        simulation.run()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(json.dumps({"after_imports": after_imports, "peak": peak}))


if __name__ == "__main__":
    main(*sys.argv[1:])
