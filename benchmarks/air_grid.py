"""The air model on a grid: what a step costs and what of it, on ranks, and with chemistry that is dear in half of the columns."""

import json
import runpy
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.figures import Figure
from benchmarks.rounds import QUICK_ROUNDS, alternate, measured, output, ratio
from benchmarks.suites.memory import probe
from steppe.comm import find_library, find_mpiexec
from steppe.engine import Simulation
from steppe.engine.run_file import read_run_file
from steppe.models.air.mechanism_file import read_mechanism

SPECIES = read_mechanism("emep66").species
MORNING = 54  # step of 10 minutes at which 09:00 begins
EXAMPLE = Path(__file__).parents[1] / "examples" / "make_meteorology.py"
HOUR, SHORT, LATER = (f"2001-06-21T{hour:02}:00:00" for hour in (1, 3, 4))
RUN = """model = "air"
time = {{ start = 2001-06-21, end = 2001-06-21, step = "10 minutes" }}
forcing = {{ fields = "meteorology_{cells}.zarr" }}
parameters = {{ even_chemistry = "{even}" }}
output = {{ path = "out", variables = ["O3"], every = "1 hour", reduce = "last" }}
"""


def run_file(folder: Path, cells: int, even: str = "on", every: float = 60.0, hours: float = 24.0) -> Path:
    """The run of a grid of cells x cells x 32, and its meteorology."""
    store = folder / f"meteorology_{cells}.zarr"
    if not store.exists():
        fields = runpy.run_path(str(EXAMPLE))["meteorology"](cells, hours, every)
        chunks = {name: {"chunks": (1, *values.shape[1:])} for name, values in fields.items()}
        fields.to_zarr(store, mode="w", consolidated=False, encoding=chunks)
    path = folder / f"air_{cells}_{even}.toml"
    path.write_text(RUN.format(cells=cells, even=even))
    return path


def ranks(path: Path, n: int, steps: int, rounds: int, *more: str) -> dict[str, Any]:
    """What `benchmarks.programs.air_ranks` says: part -> rounds of seconds of each rank."""
    program = ["-m", "benchmarks.programs.air_ranks", str(path), str(MORNING), str(steps), str(rounds), *more]
    found: dict[str, Any] = json.loads(output([*find_mpiexec(find_library()), "-n", str(n), sys.executable, *program]))
    return found


def _two_at_once(path: Path, steps: int, rounds: int) -> dict[str, Any]:
    """The first of two runs of one rank each, beside each other."""
    with ThreadPoolExecutor(2) as threads:
        first, _ = (threads.submit(ranks, path, 1, steps, rounds, "asleep") for _ in range(2))
        return first.result()


def _greatest(found: dict[str, Any], part: str) -> float:
    """The median over rounds of the greatest of all ranks."""
    return float(np.median(np.max(found[part], axis=1)))


def _uneven(found: dict[str, Any], part: str) -> float:
    """The slowest rank's part over the mean, median over rounds."""
    times = np.array(found[part])
    return float(np.median(times.max(axis=1) / times.mean(axis=1)))


def figures(folder: Path, quick: bool) -> Iterator[Figure]:
    """All of them."""
    steps, rounds = (2, 1) if quick else (6, 5)
    small = run_file(folder, 32)
    one, two = ranks(small, 1, steps, rounds), ranks(small, 2, steps, rounds)
    whole = _greatest(one, "wall")
    note = f"{one['steps of a cell']:.2f} steps of a cell, lanes in use {100 * one['lanes in use']:.0f} %"
    yield Figure("air-32, one rank: a step", whole, "s", note=note, samples={"wall": [each[0] for each in one["wall"]]})
    yield Figure("air-32: cells x steps / s", 32**3 / whole)
    for part, least in (("chemistry", 60.0), ("sweeps", None), ("mixing", None)):
        yield Figure(f"air-32: {part}, of a step", 100.0 * _greatest(one, part) / whole, "%", at_least=least)
    halos = 100.0 * _greatest(two, "halos") / _greatest(two, "wall")
    yield Figure("air-32, two ranks: halos, of a step", halos, "%", at_most=8.0, note="with waiting for the other rank")
    yield Figure("air-32: one rank / two ranks", whole / _greatest(two, "wall"), at_least=1.8)
    apart = run_file(folder, 32, "off")
    for n in (2, 4):
        even, fixed = (ranks(path, n, steps, rounds, "dark", "asleep") for path in (small, apart))
        name = f"air-32, half in the dark, {n} ranks: slowest chemistry / mean"
        yield Figure(f"{name}, one queue", _uneven(even, "loop"), at_most=1.05, note="until no column is left")
        yield Figure(f"{name}, fixed shares", _uneven(fixed, "chemistry"), note="CPU time")
    alone, beside = ranks(small, 1, steps, rounds, "asleep"), _two_at_once(small, steps, rounds)
    wide = ranks(run_file(folder, 64), 4, steps, rounds, "asleep")
    note = f"CPU time of the slowest rank without waiting; steps of a cell {wide['steps of a cell']:.2f} and {alone['steps of a cell']:.2f}"
    taken = _greatest(beside, "cpu") / _greatest(alone, "cpu")
    yield Figure("32 x 32 on one while another one runs / alone", taken, note="what the machine's cores take from each other")
    yield Figure("64 x 64 on 4 ranks / 32 x 32 on one", _greatest(wide, "cpu") / _greatest(alone, "cpu"), at_most=1.1, note=note)
    yield from _beside_the_steps(small, folder, QUICK_ROUNDS)


def _beside_the_steps(path: Path, folder: Path, rounds: int) -> Iterator[Figure]:
    """Three hours: what recording costs a step, and memory beyond imports beside what `steppe check` announces."""

    def steps(variables: tuple[str, ...], every: str) -> float:
        changes = {"time.end": LATER, "output.variables": json.dumps(list(variables)), "output.every": json.dumps(every)}
        with Simulation(read_run_file(path, changes | {"engine.threads": "1"}), fresh=True) as simulation:
            simulation.step(until=HOUR)
            begin = time.perf_counter()
            simulation.step(until=LATER)
            return time.perf_counter() - begin

    samples = alternate({"hourly": measured(steps, SPECIES, "1 hour"), "once": measured(steps, ("O3",), "4 hours")}, rounds)
    more = ratio(samples["hourly"], samples["once"])
    note = f"three hours after the first; {more.spread}"
    yield Figure("air-32: 66 species recorded every hour, of a step", 100.0 * (more.value - 1.0), "%", at_most=3.0, note=note)
    short = folder / "short.toml"
    short.write_text(path.read_text().replace("end = 2001-06-21,", f"end = {SHORT},"))
    announced, found = probe(short, "estimate")["announced"], probe(short, "run")
    beyond = found["peak"] - found["after_imports"]
    yield Figure("air-32: peak beyond imports / announced by steppe check", beyond / announced, at_most=1.2, note=f"{beyond / 1e6:.1f} MB")
