"""From the command to the help, to the first step, and to a picture, in CPU time of processes; the kernel cache is warm."""

import sys

import numpy as np

from benchmarks.figures import Figure
from benchmarks.queensland import FIRST_YEAR, FOLDER, STEPPE, run_file
from benchmarks.rounds import QUICK_ROUNDS, ROUNDS, alternate, measured, output, process_seconds

IMPORTS = "import numpy, numba, zarr"


def figures(quick: bool) -> list[Figure]:
    """Help alone; the imports that a run is held to; a run of one day, with its results and its checkpoint."""
    first_day = [STEPPE, "run", str(run_file(2)), "--fresh", "--quiet", "--until", f"{FIRST_YEAR}-01-01"]
    drawn = FOLDER / "run-drawn"
    output([STEPPE, "run", str(run_file(2)), "--output", str(drawn), "--fresh", "--quiet"])
    commands = {"steppe --help": [STEPPE, "--help"], IMPORTS: [sys.executable, "-c", IMPORTS], "steppe run, first day": first_day}
    commands["steppe plot, six maps"] = [STEPPE, "plot", str(drawn)]
    rounds = QUICK_ROUNDS if quick else ROUNDS
    samples = alternate({name: measured(process_seconds, command) for name, command in commands.items()}, rounds)
    times = {name: float(np.median(seconds)) for name, seconds in samples.items()}
    beyond = np.array(samples["steppe run, first day"]) - np.array(samples[IMPORTS])
    targets = {"steppe --help": 0.4, "steppe plot, six maps": 3.0}
    return [
        *(Figure(name, seconds, "s", at_most=targets.get(name), samples={"seconds": samples[name]}) for name, seconds in times.items()),
        Figure("first day beyond these imports", float(np.median(beyond)), "s", at_most=0.8),
    ]
