"""Air quality: the chemistry of 4,096 cells beside that of KPP (code made for the mechanism, in Fortran) and of MICM (musica); the model on
a grid (`air_grid`); and the paper's table of output (`air_writers`).

All compute the same cells with the same rates for 600 s, in one thread, at a tolerance at which their greatest relative error (species
above 1e5 molecule cm-3) is at most 5e-3, or at the next that was tried. Times are CPU times of the solver alone.
"""

import json
import tempfile
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks import air_grid, air_kpp, air_writers
from benchmarks.air_cells import SECONDS, Cells, greatest_error
from benchmarks.figures import Figure
from benchmarks.peers import peer_python
from benchmarks.rounds import QUICK_ROUNDS, ROUNDS, alternate, output, ratio, thread_seconds
from steppe.measure.processor.arithmetic import DEPTH, multiply_add_of
from steppe.models.air.program import Program

Floats = NDArray[np.float64]
CELLS = 4096
ERROR = 5e-3
ATOL, FIRST = 1e4, 5.0  # [molecule cm-3], [s]
OURS, KPP = 2e-2, 1.4e-2  # relative tolerances, the largest with that error; both are RODAS3, and make as many steps
MICM = ((3e-2, 64), (1e-2, 64), (1e-2, 256), (1e-2, 1024))  # relative tolerance, and cells of a state: the best one counts
PROGRAM = Path(__file__).parents[1] / "programs" / "air_micm.py"
SWEEPS = 20_000  # of the numbers that the peak is measured with
T3E = 4.0  # [%] of the peak of a Cray T3E, as the paper on the air-quality benchmark reports


def figures(quick: bool, kpp: Path | None = None) -> list[Figure]:
    """All of them. kpp: a folder with a build of KPP (bin/kpp)."""
    rounds = QUICK_ROUNDS if quick else ROUNDS
    cells = Cells(512 if quick else CELLS)
    exact, _ = cells.after(1e-7, 1.0, 0.5)
    with tempfile.TemporaryDirectory() as folder:
        whole = air_grid.figures(Path(folder), quick), air_writers.figures(Path(folder), quick)
        return [*_beside(cells, exact, Path(folder), kpp, rounds), *chain(*whole)]


def _beside(cells: Cells, exact: Floats, folder: Path, kpp: Path | None, rounds: int) -> Iterator[Figure]:
    species, n = cells.mechanism.species, cells.c.shape[1]
    program = air_kpp.build(folder, species, cells.equations, kpp)
    kept: dict[str, Any] = {}

    def ours() -> float:
        return thread_seconds(lambda: kept.update(ours=cells.after(OURS, ATOL, FIRST)))

    def theirs() -> float:
        kept["kpp"] = air_kpp.run(program, cells.c, cells.k, SECONDS, KPP, ATOL, FIRST, 1)
        return float(kept["kpp"].seconds[0])

    def micm(rtol: float, group: int) -> float:
        kept[f"micm {rtol:g} {group}"] = found = _micm(cells, folder, rtol, group)
        return float(found["seconds"])

    runs = {"ours": ours, "kpp": theirs} | {f"micm {r:g} {g}": lambda r=r, g=g: micm(r, g) for r, g in MICM}
    samples = alternate(runs, rounds)
    c, outcome = kept["ours"]
    steps = float((outcome.steps + outcome.rejected).mean())
    error = greatest_error(c, exact)
    used = 100.0 * steps * len(outcome.steps) / outcome.iterations
    yield Figure("chemistry: greatest error", error, at_most=ERROR, note=f"{steps:.2f} steps; lanes in use {used:.0f} %")
    yield Figure("KPP: greatest error", greatest_error(kept["kpp"].c, exact), note=f"{kept['kpp'].steps:.2f} steps")
    beside = ratio(samples["kpp"], samples["ours"])
    yield Figure("KPP / chemistry", beside.value, at_least=2.0, note=beside.spread, samples=samples)
    errors = {name: greatest_error(found["c"], exact) for name, found in kept.items() if name.startswith("micm")}
    good = [name for name in errors if errors[name] <= max(ERROR, 1.05 * error)] or [min(errors, key=lambda name: errors[name])]
    best = min(good, key=lambda name: float(np.median(samples[name])))
    for name, found in errors.items():
        speed = n / float(np.median(samples[name]))
        yield Figure(
            f"MICM, rtol and cells of a state {name[5:]}: cells / s", speed, note=f"error {found:.2g}, {kept[name]['steps']:.1f} steps"
        )
    beside = ratio(samples[best], samples["ours"])
    yield Figure(f"MICM ({best[5:]}) / chemistry", beside.value, at_least=3.0, note=beside.spread)
    seconds = float(np.median(samples["ours"]))
    yield Figure("chemistry: cells / s", n / seconds)
    yield Figure("chemistry: of a cell and step", 1e6 * seconds / (n * steps), "us")
    run, numbers = multiply_add_of(np.float64)
    peak = 2.0 * numbers.size * DEPTH * SWEEPS / min(thread_seconds(lambda: run(SWEEPS)) for _ in range(5))
    used = operations(cells.program) * n * steps / seconds
    yield Figure("chemistry: share of the processor's peak", 100.0 * used / peak, "%", note=f"a T3E of 1996: {T3E:g} %")


def operations(program: Program) -> float:
    """Multiplications, additions and divisions of a step of a cell whose rates are constant."""
    codes, species = program.codes, program.species
    changes = program.varying_yields_at  # terms of dy/dt
    at, pairs, terms = program.elements_at, 0, 0
    for _ in range(program.elements):
        terms += int(codes[at + 3])
        at += 4 + int(codes[at + 3])
        pairs += int(codes[at])
        at += 1 + 2 * int(codes[at])
    speeds, solves, stages = 3 * 2 * program.processes, 4 * (2 * program.elements - species), 30 * species
    return float(3 * 2 * changes + speeds + 2 * terms + 2 * pairs + program.elements + solves + stages)


def _micm(cells: Cells, folder: Path, rtol: float, group: int) -> dict[str, Any]:
    told = {
        "species": cells.mechanism.species, "equations": cells.equations, "seconds": SECONDS, "rtol": rtol, "atol": ATOL, "first": FIRST,
        "group": group, "rounds": 1,
    }  # fmt: skip
    cases, found = folder / "cases.npz", folder / "found.npz"
    np.savez(cases, told=json.dumps(told), c=cells.c, k=cells.k)
    said = json.loads(output([peer_python("peers-air"), str(PROGRAM), str(cases), str(found)]))
    return {"seconds": said["seconds"][0], "steps": said["steps"], "c": np.load(found)["c"]}
