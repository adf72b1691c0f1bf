"""The peak of a run's memory beyond its imports, beside the sum of the buffers that `steppe check` announces, for 2 and for 20 years."""

import json
import sys
from pathlib import Path

import numpy as np

from benchmarks.figures import Figure
from benchmarks.peers import ROOT
from benchmarks.queensland import run_file
from benchmarks.rounds import QUICK_ROUNDS, alternate, measured, output

PROBE = str(ROOT / "benchmarks" / "programs" / "memory_probe.py")


def probe(path: Path, what: str) -> dict[str, int]:
    """What the probe prints of a run file."""
    found: dict[str, int] = json.loads(output([sys.executable, PROBE, str(path), what]))
    return found


def figures(quick: bool) -> list[Figure]:
    """A short run and a long one, in alternation; memory hardly varies, so few rounds do."""
    lengths = (1, 2) if quick else (2, 20)

    def beyond(years: int) -> float:
        found = probe(run_file(years), "run")
        return (found["peak"] - found["after_imports"]) / 1e6

    samples = alternate({f"{years} years": measured(beyond, years) for years in lengths}, QUICK_ROUNDS)
    short, long = (float(np.median(samples[f"{years} years"])) for years in lengths)
    announced = probe(run_file(lengths[-1]), "estimate")["announced"] / 1e6
    return [
        Figure("announced by steppe check", announced, "MB"),
        Figure(f"peak beyond imports, {lengths[-1]} years", long, "MB", samples=samples),
        Figure("peak / announced", long / announced, "x", at_most=1.2),
        Figure(f"difference of {lengths[-1]} and {lengths[0]} years", abs(long - short), "MB", at_most=1.0),
    ]
