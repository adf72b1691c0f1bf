"""Field models: a step beside its exchange and kernel, records beside a copy of the state, field kernels, forcing, and memory.

All are times of the thread that steps, in CPU time: what is encoded, written and read behind it needs another core, and has a row of its
own. The waiting of a step for its forcing is wall time, which says something on an idle machine of two cores or more.
"""

import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from benchmarks.figures import Figure
from benchmarks.machine import is_idle
from benchmarks.programs import fields_model, fields_winds
from benchmarks.queensland import FOLDER, new_output
from benchmarks.rounds import QUICK_ROUNDS, ROUNDS, alternate, measured, ratio, thread_seconds
from benchmarks.suites.memory import probe
from steppe.engine import Simulation
from steppe.kernels import field_kernel

STEPS = 16  # of a round
COPIES = 8  # places that the state is copied to in turn: as records do, a copy goes to memory, not to the cache
RUN_FILE = """\
model = "{model}"
time = {{ start = 2001-03-05, end = 2001-03-{day:02}, step = "5 minutes" }}
grid = {{ rectangle = {{ north = 60, west = 0, rows = {cells}, columns = {cells}, cell = 0.5 }} }}
{more}
[output]
path = "{output}"
variables = {variables}
every = "5 minutes"
reduce = "last"

[engine]
checkpoint = "none"
threads = 1
"""


@field_kernel
def carry(rows: int, columns: int, share: float, wind: NDArray[np.float64], now: NDArray[np.float64], new: NDArray[np.float64]) -> None:
    """First-order upwind along rows."""
    for row in range(rows):
        for column in range(1, columns - 1):
            here = row * columns + column
            west, east = share * wind[here], share * wind[here + 1]
            flow = max(west, 0.0) * now[here - 1] + min(west, 0.0) * now[here]
            flow -= max(east, 0.0) * now[here] + min(east, 0.0) * now[here + 1]
            new[here] = now[here] + flow


def figures(quick: bool) -> list[Figure]:
    """All of them."""
    rounds = QUICK_ROUNDS if quick else ROUNDS
    return [*_steps(rounds), _kernel(10 * rounds), *_forcing(rounds), *_memory()]


def _run_file(name: str, module: Any, variables: list[str], days: int = 1, more: str = "") -> Path:
    """A run of so many days, of 288 steps each."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    path, model = FOLDER / f"{name}.toml", Path(module.__file__)
    filled = {"cells": module.CELLS, "more": more, "output": new_output(), "variables": variables}
    path.write_text(RUN_FILE.format(model=model, day=4 + days, **filled).replace("'", '"'))
    return path


def _air(name: str, variables: list[str], days: int = 1) -> Path:
    return _run_file(name, fields_model, variables, days)


def _steps(rounds: int) -> Iterator[Figure]:
    """Steps without records and with all, their exchange and kernel bare, and a copy of the state, each of one thread."""
    with ExitStack() as stack:
        plain = stack.enter_context(Simulation(_air("plain", [], days=3), fresh=True))
        full = stack.enter_context(Simulation(_air("full", fields_model.SPECIES, days=3), fresh=True))
        model: Any = plain.model
        places, behind = [np.empty_like(model.now) for _ in range(COPIES)], []

        def bare() -> None:
            for _ in range(STEPS):
                model.reach.exchange([model.now], model._parities).finish()
                model.compute(model.box.own)

        def copies() -> None:
            for place in range(STEPS):
                np.copyto(places[place % COPIES], model.now)

        def recorded() -> float:
            begin = time.process_time()
            mine = thread_seconds(lambda: full.step(STEPS))
            full.outputs.writer.wait()
            behind.append(time.process_time() - begin - mine)
            return mine

        copies()
        full.step(2 * max(full.outputs.writer.row_ends.values()))  # from then on its buffers are memory that was used before
        full.outputs.writer.wait()
        runs: Mapping[str, Callable[[], float]] = {
            "bare": measured(thread_seconds, bare),
            "step": measured(thread_seconds, lambda: plain.step(STEPS)),
            "recorded": recorded,
            "copy": measured(thread_seconds, copies),
        }
        samples = alternate(runs, rounds)
        behind.append(-time.process_time())
        full.outputs.writer.commit()
        behind[-1] += time.process_time()
    each = {name: float(np.median(times)) / STEPS * 1e3 for name, times in samples.items()}
    note = ", ".join(f"{name} {milliseconds:.3g} ms" for name, milliseconds in each.items())
    found = ratio(samples["step"], samples["bare"])
    yield Figure("step of 66 x 32 levels / its exchange and kernel", found.value, "x", at_most=1.15, note=found.spread, samples=samples)
    longer = [recorded - step for recorded, step in zip(samples["recorded"], samples["step"], strict=True)]
    found = ratio(longer, samples["copy"])
    yield Figure("all recorded, longer by / a copy of the state", found.value, "x", at_most=1.0, note=f"{found.spread}; {note}")
    a_step = sum(behind) / (len(behind) - 1) / STEPS
    yield Figure("encoding and writing behind a step", a_step * 1e3, "ms of CPU", samples={"seconds": behind})


def _kernel(rounds: int) -> Figure:
    """A field kernel beside the same function under njit, both warm."""
    shape, random = (2000, 500), np.random.default_rng(3)
    wind, now = ((random.random(shape) - 0.5) for _ in range(2))
    new, other, njit = np.zeros(shape), np.zeros(shape), numba.njit(carry.function)
    runs = {
        "field kernel": measured(thread_seconds, lambda: carry(*shape, 0.25, wind, now, new)),
        "njit": measured(thread_seconds, lambda: njit(*shape, 0.25, wind.ravel(), now.ravel(), other.ravel())),
    }
    samples = alternate(runs, rounds)
    found = ratio(samples["field kernel"], samples["njit"])
    differ = float(np.abs(new - other).max())
    note = f"{found.spread}; greatest difference of results {differ:.2g}"
    return Figure("field kernel / the same loop under njit", found.value, "x", at_most=1.1, note=note, samples=samples)


def _forcing(rounds: int) -> Iterator[Figure]:
    """Steps of 100 ms with a record each of four fields on levels and five maps, and the same steps without."""
    store = FOLDER / "winds.zarr"
    if not store.exists():
        fields_winds.write_store(store, 290, 5)
    more = {"with": f'[forcing]\nfields = "{store}"\n', "without": "[parameters]\nreads = false\n"}
    with ExitStack() as stack:
        runs = {
            name: stack.enter_context(Simulation(_run_file(name, fields_winds, [], more=text), fresh=True)) for name, text in more.items()
        }
        behind: dict[str, list[float]] = {name: [] for name in runs}
        mine: dict[str, list[float]] = {name: [] for name in runs}

        def seconds(name: str) -> float:
            whole, wall = time.process_time(), time.perf_counter()
            mine[name].append(thread_seconds(lambda: runs[name].step(STEPS)))
            wall = time.perf_counter() - wall
            behind[name].append((time.process_time() - whole - mine[name][-1]) / STEPS)
            return wall

        samples = alternate({name: measured(seconds, name) for name in runs}, rounds)
    spare = is_idle() and len(os.sched_getaffinity(0)) > 1
    mine = {name: times[1:] for name, times in mine.items()}  # without the round that does not count
    for what, times in {"CPU time of its thread": mine, "wall time": samples}.items():
        found = ratio(times["with"], times["without"])
        target = 1.0 if spare and what == "wall time" else None
        note = f"ratio, {found.spread}; {'a' if spare else 'no'} core is spare"
        yield Figure(
            f"a record a step of 100 ms, {what}", 100.0 * (found.value - 1.0), "% longer", at_most=target, note=note, samples=times
        )
    yield Figure("reading behind a step", float(np.median(behind["with"])) * 1e3, "ms of CPU", samples=behind)


def _memory() -> Iterator[Figure]:
    """The whole run with every record written, in a process of its own."""
    path = _air("memory", fields_model.SPECIES)
    found = probe(path, "run")
    peak, announced = (found["peak"] - found["after_imports"]) / 1e6, probe(path, "estimate")["announced"] / 1e6
    yield Figure(
        "peak beyond imports, all recorded / announced", peak / announced, "x", at_most=1.2, note=f"{peak:.0f} of {announced:.0f} MB"
    )
