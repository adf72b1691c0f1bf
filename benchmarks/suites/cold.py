"""Sixteen processes that all need a kernel which nobody has compiled, on one shared folder, as ranks of a node begin."""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks.figures import Figure
from benchmarks.peers import ROOT

MANY, ROUNDS, QUICK_ROUNDS = 16, 20, 2
# One step of a small model; what is left of it, and whether this process has compiled.
PROCESS = """
import sys
from examples import bucket
from tests.models.cells import CLOCK, NOTHING, MemoryInputs, started, weather
model = started(bucket, 300)
model.advance(range(5), MemoryInputs(weather(300, 5)), CLOCK, NOTHING)
print(model.state["water"].tobytes().hex(), "numba" in sys.modules)
"""


def figures(quick: bool) -> list[Figure]:
    """Failures, compilers and time over many rounds, each with an empty folder."""
    failed, compilers, seconds = 0, [], []
    results = set()
    for _ in range(QUICK_ROUNDS if quick else ROUNDS):
        with tempfile.TemporaryDirectory(dir=ROOT / "build") as folder:
            begin = time.perf_counter()
            answers = _round(Path(folder))
            seconds.append(time.perf_counter() - begin)
        failed += sum(len(answer) != 2 for answer in answers)
        compilers.append(sum(answer[-1:] == ["True"] for answer in answers))
        results |= {answer[0] for answer in answers if answer}
    return [
        Figure(f"processes that failed, of {MANY * len(seconds)}", failed, at_most=0),
        Figure("different results", len(results), at_most=1),
        Figure(f"most that compiled, of {MANY} cold at once", max(compilers), at_most=1),
        Figure("until the last has made a step", float(np.median(seconds)), "s", samples={"seconds": seconds}),
    ]


def _round(folder: Path) -> list[list[str]]:
    """What each process printed, word by word; nothing when it failed."""
    environment = {**os.environ, "STEPPE_CACHE": str(folder), "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", PROCESS]
    processes = [subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True, cwd=ROOT) for _ in range(MANY)]
    printed = [process.communicate()[0].split() for process in processes]
    return [words if process.returncode == 0 else [] for process, words in zip(processes, printed, strict=True)]
