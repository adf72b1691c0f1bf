"""One run in a process of its own; prints JSON: bytes after the imports, at the peak, and what `steppe check` announces."""

import json
import sys
from pathlib import Path

import numpy as np
import xarray  # noqa: F401  what a run imports late counts as an import
import zarr.storage  # noqa: F401

import steppe.models.pasture  # noqa: F401
from steppe.engine import Plan, Simulation, estimate, read_run_file
from steppe.kernels.sums import fixed_sum


def memory(what: str) -> int:
    """Bytes of this process in memory: now ("VmRSS") or at most so far ("VmHWM").

    ru_maxrss will not do: a process takes it over from the one that started it.
    """
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return int(status[what].split()[0]) * 1024


def main(run_file: str, what: str) -> None:
    """what: "run", or "estimate" in a process of its own, since it computes too."""
    plan_file = read_run_file(run_file)
    if what == "estimate":
        print(json.dumps({"announced": estimate(Plan.of(plan_file)).memory}))
        return
    fixed_sum(np.ones(1), None, 1.0)  # links one small kernel: the 12 MB of LLVM's own code that this touches belong to the imports
    after_imports = memory("VmRSS")
    with Simulation(Plan.of(plan_file), fresh=True) as simulation:
        simulation.run()
    print(json.dumps({"after_imports": after_imports, "peak": memory("VmHWM")}))


if __name__ == "__main__":
    main(*sys.argv[1:])
