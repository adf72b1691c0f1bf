"""Transport: a step beside that of a C++ twin, its kernels by address and by table, ranks beside halos and replication, and peers.

CPU times are of the thread that steps, or of all threads of a rank; wall times say something on an idle machine of two cores or more. The
wind is interpolated, all three components; it stays, so that a step reads no store, except where it says so.
"""

import json
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.figures import Figure, MissingPeer
from benchmarks.machine import is_idle
from benchmarks.queensland import FOLDER, new_output
from benchmarks.rounds import QUICK_ROUNDS, ROUNDS, alternate, measured, output, ratio, thread_seconds
from benchmarks.suites.memory import probe
from benchmarks.transport_peers import cpu_to_error, mpdata, parcels
from benchmarks.transport_runs import DT, FORMS, POINTS, Run, wind, write_winds
from benchmarks.transport_twin import Times, TransportTwin, build
from steppe.arrays import ModelArrays
from steppe.comm import BoxReach, Serial, find_library, find_mpiexec
from steppe.comm.rank import LIBRARY_THREADS
from steppe.engine import Simulation
from steppe.grid import Box
from steppe.kernels.elements import ONE_PAGE
from steppe.kernels.sums import totals
from steppe.models.transport.levels import CCM_A, CCM_B, P0
from steppe.models.transport.winds import RADIUS

Floats = NDArray[np.float64]
STEPS = 4  # of a round
COURANT = 5.0
TRACERS = len(FORMS)
PAPER = "Paragon: 16.8 s a step on 16 processors, 11.2 s on 32, 19.2 s on 16 with halos"
RUN_FILE = """\
model = "transport"
time = {{ start = 2000-01-01, end = 2000-01-{day:02}, step = "1 hour" }}
grid = {{ gaussian = {rows} }}
{forcing}
[parameters]
{parameters}

[output]
path = "{output}"
variables = {variables}
every = "6 hours"
reduce = "last"

[engine]
threads = 1
"""


def figures(quick: bool) -> list[Figure]:
    """All of them."""
    rounds = QUICK_ROUNDS if quick else ROUNDS
    return [*_twin(rounds), *_tables(rounds), _longer(rounds), *_ranks(rounds, quick), *_memory(), *_peers(rounds, quick)]


def _twin(rounds: int) -> Iterator[Figure]:
    """Whole steps of the model and of the twin, with one tracer and with several, and what they give."""
    fields, levels = wind(COURANT), "".join(f"{k},{a!r},{b!r}\n" for k, (a, b) in enumerate(zip(CCM_A, CCM_B, strict=True)))
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        twin, table = build(Path(folder)), Path(folder) / "levels.csv"
        table.write_text(f"interface,a,b\n{levels}")
        given = np.stack([fields["u"] / RADIUS, fields["v"] / RADIUS, fields["omega"] / P0])
        yield _same(twin, given, table)
        runs = {f"{scheme}, {n}": Run(fields, n, scheme=scheme) for scheme in ("ccm", "best") for n in (1, TRACERS)}
        every = np.concatenate([given, runs[f"ccm, {TRACERS}"].tracers])[:, :, ::-1]
        forced = stack.enter_context(Simulation(_winds(days=10), fresh=True))
        peers: list[Times] = []

        def peer() -> float:
            peers.append(twin.times(every, DT, table, 2 * STEPS, fix=1))
            return peers[-1].step

        ways: dict[str, Callable[[], float]] = {name: measured(_a_step, run.step) for name, run in runs.items()}
        samples = alternate({**ways, "twin": peer, "with forcing": measured(_a_step, forced.step)}, rounds)
    samples["twin, further"] = [times.further for times in peers[1:]]
    for scheme in ("ccm", "best"):
        each = zip(samples[f"{scheme}, {TRACERS}"], samples[f"{scheme}, 1"], strict=True)
        samples[f"{scheme}, further"] = [(several - one) / (TRACERS - 1) for several, one in each]
    first, further = (float(np.median(samples[name])) for name in ("ccm, 1", "ccm, further"))
    found = ratio(samples["twin"], samples["ccm, 1"])
    note = f"{found.spread}; {np.median(samples['twin']) * 1e3:.1f} ms / {first * 1e3:.1f} ms, {POINTS:,} points"
    yield Figure("C++ twin's step / ours, T42 L18, ccm", found.value, "x", at_least=0.9, note=note, samples=samples)
    yield Figure("our step with one tracer", first / POINTS * 1e6, "us a point")
    found = ratio(samples["with forcing"], samples["ccm, 1"])
    yield Figure("a step with winds of a store, a record every 3 hours / without", found.value, "x", note=f"{found.spread}; of its thread")
    found = ratio(samples["ccm, further"], samples["ccm, 1"])
    theirs = ratio(samples["twin, further"], samples["twin"])
    note = f"{found.spread}; twin {theirs.value:.3g}; {further * 1e3:.1f} ms, twin {np.median(samples['twin, further']) * 1e3:.1f} ms"
    yield Figure("a further tracer / the step with the first, ccm", found.value, "x", at_most=0.22, note=note)
    found = ratio(samples["twin, further"], samples["ccm, further"])
    yield Figure("the twin's further tracer / ours", found.value, "x", note=found.spread)
    found, more = (ratio(samples[f"best, {n}"], samples[f"ccm, {n}"]) for n in (1, TRACERS))
    yield Figure("step with best / with ccm", found.value, "x", at_most=2.0, note=f"{found.spread}; with {TRACERS} tracers {more.value:.3g}")


def _a_step(step: Callable[[int], object]) -> float:
    return thread_seconds(lambda: step(STEPS)) / STEPS


def _same(twin: TransportTwin, given: Floats, table: Path) -> Figure:
    """Both compute the same: all tracers after one step, and after eight without the fixer.

    The fixer changes a value by a tenth at most. If that is too little, the twin restores the mass of the beginning in later steps, the
    model that of the step before. So both are the same in one step.
    """
    apart = []
    for fixer, steps in (("on", 1), ("off", 8)):
        run = Run(wind(COURANT), TRACERS, fixer=fixer)
        theirs = twin.times(np.concatenate([given, run.tracers])[:, :, ::-1], DT, table, steps, fix=int(fixer == "on")).tracers
        run.step(steps)
        apart.append(float(np.abs(theirs[:, :, ::-1] - run.tracers).max()))
    note = f"of {TRACERS} tracers of range 1: after a step {apart[0]:.2g}, after 8 without the fixer {apart[1]:.2g}"
    return Figure("greatest difference from the twin's tracers", max(apart), at_most=1e-9, note=note)


class _Own:
    """A global array that is a plain array of NumPy: of one piece, or with its pages in a table."""

    room = 0

    def __init__(self, shape: Any, page: int) -> None:
        self.values: Floats = np.zeros(int(np.prod(shape)))
        begin = self.values.ctypes.data
        self.whole = None if page else self.values
        self._shift = (page // 8).bit_length() - 1 if page else ONE_PAGE
        self._table = begin + np.arange(0, self.values.nbytes, page or self.values.nbytes)

    def scatter(self, index: Any, value: Any) -> None:
        self.values[index] = value

    def raw(self) -> tuple[NDArray[np.int64], int]:
        return self._table, self._shift

    @contextmanager
    def read_only(self, cache: int) -> Iterator["_Own"]:
        yield self


class _OwnArrays(BoxReach):
    """A reach whose arrays of tracers and winds are `_Own`; with pages, or 0 for one piece."""

    def __init__(self, box: Box, page: int) -> None:
        super().__init__(Serial(), box, totals, ModelArrays(Serial()))
        self._page = page

    def array(self, shape: Any, dtype: Any = "float64", page: int = 65_536) -> Any:
        return super().array(shape) if len(shape) == 2 else _Own(shape, self._page)


def _tables(rounds: int) -> Iterator[Figure]:
    """The kernels by the address of a global array, by that of a NumPy array, and by a table of pages of it."""
    fields = wind(COURANT)
    runs = {"flat": Run(fields), "plain": Run(fields, reach=lambda box: _OwnArrays(box, 0))}
    runs["pages"] = Run(fields, reach=lambda box: _OwnArrays(box, 65_536))
    for run in runs.values():
        run.step(3)
    assert all(np.array_equal(run.tracers, runs["flat"].tracers) for run in runs.values())
    carried, traced = ({name: measured(thread_seconds, measured(work, run)) for name, run in runs.items()} for work in (_carry, _trace))
    samples = {"carry": alternate(carried, 3 * rounds), "trace": alternate(traced, 3 * rounds)}
    note = "one kernel, which takes an address in both cases; of the array in shared memory, and of one of NumPy"
    for what, name in (("carry", "limited interpolation"), ("trace", "paths and wind")):
        found = ratio(samples[what]["flat"], samples[what]["plain"])
        yield Figure(f"{name}: global array / plain array", found.value, "x", at_most=1.05, note=f"{found.spread}; {note}")
        found = ratio(samples[what]["pages"], samples[what]["flat"])
        target = 1.3 if what == "carry" else None
        yield Figure(f"{name}: by a table of pages / flat", found.value, "x", at_most=target, note=found.spread, samples=samples[what])


def _middles(run: Run) -> Floats:
    return np.stack([run.model.state[f"path_{axis}"] for axis in ("x", "y", "z", "level")])


def _carry(run: Run) -> None:
    """Paths are there: where they begin, and what there was."""
    run.model._advection.carry(_middles(run), [np.empty(run.tracers.shape[1:])], "ccm", True)


def _trace(run: Run) -> None:
    """Three iterations of the middles."""
    run.model._advection.trace(_middles(run), 0.5 * DT, 3, None)


def _longer(rounds: int) -> Figure:
    """The wind stays, the step is twice as long."""
    fields = wind(COURANT)
    runs = {f"{dt:g} s": Run(fields, dt=dt) for dt in (DT, 2.0 * DT)}
    samples = alternate({name: measured(_a_step, run.step) for name, run in runs.items()}, 2 * rounds)
    short, long = samples.values()
    found = ratio(long, short)
    note = f"ratio, {found.spread}; Courant numbers {COURANT:g} and {2 * COURANT:g}"
    return Figure("a step twice as long takes", 100.0 * (found.value - 1.0), "% longer", at_most=5.0, note=note, samples=samples)


def told(ranks: int, *words: object) -> dict[str, dict[str, Any]]:
    """What so many ranks tell."""
    program = [sys.executable, "-m", "benchmarks.programs.transport_ranks", *map(str, words)]
    said = output([*find_mpiexec(find_library()), "-n", str(ranks), *program], dict.fromkeys(LIBRARY_THREADS, "1"))
    found: dict[str, dict[str, Any]] = json.loads(said.splitlines()[-1])
    return found


def _ranks(rounds: int, quick: bool) -> Iterator[Figure]:
    """Global arrays beside halos and replication: 2 ranks by wall time, 4 by the greatest CPU time of one."""
    spare = is_idle()
    for ranks in (2, 4):
        for hosts in (1, 2):
            for courant in (5, 30):
                for flow in ("jets", "deforming"):
                    if quick and flow == "deforming":
                        continue
                    found = told(ranks, hosts, courant, flow, rounds, STEPS)
                    yield from _compared(found, ranks, hosts, courant, flow, spare)


def _compared(found: dict[str, dict[str, Any]], ranks: int, hosts: int, courant: int, flow: str, spare: bool) -> Iterator[Figure]:
    """The figures of one job."""
    what = "wall time" if ranks == 2 else "greatest CPU time"
    where = f"{ranks} ranks, {hosts} host{'s' * (hosts > 1)}, Courant {courant}, {flow}"
    cpu = {name: np.array(each["cpu"]) for name, each in found.items()}
    samples = {name: each["wall"] if ranks == 2 else cpu[name].max(axis=1).tolist() for name, each in found.items()}
    greatest = {name: float(np.median(each.max(axis=1))) for name, each in cpu.items()}
    note = f"; greatest CPU time {', '.join(f'{name} {seconds * 1e3:.1f}' for name, seconds in greatest.items())} ms a step"
    if ranks == 2 and not spare:
        note += "; the machine is not idle, and ranks wait for each other"
    halos, whole = (ratio(samples[name], samples["arrays"]) for name in ("halos", "whole"))
    least = None if flow != "jets" else 1.0 if courant == 5 else 1.1
    yield Figure(f"halos / arrays, {where}, {what}", halos.value, "x", at_least=least, note=halos.spread + note, samples=samples)
    yield Figure(f"replication / arrays, {where}, {what}", whole.value, "x", at_least=1.0 if least else None, note=whole.spread)
    for key, unit in (("memory", "MB a rank"), ("bytes", "MB a step between hosts")):
        mine, theirs = found["arrays"][key] / 1e6, [found[name][key] / 1e6 for name in ("halos", "whole")]
        if hosts == 1 and key == "bytes":
            continue
        most = min(theirs) if flow == "jets" else None
        yield Figure(f"arrays, {where}", mine, unit, at_most=most, note=f"halos {theirs[0]:.2f}, replication {theirs[1]:.2f}")
    if hosts == 2:
        told = found["arrays"]
        note = f"{told['messages']} messages, longest wait {told['longest wait'] * 1e3:.1f} ms"
        yield Figure(f"pages fetched in a step, {where}", told["pages"], note=note)
    if ranks == 4 and hosts == 1:
        each = np.median(cpu["arrays"], axis=0)
        yield Figure(f"CPU time of a rank, greatest / mean, {where}", float(each.max() / each.mean()), "x", at_most=1.05)
    if ranks == 4 and hosts == 2 and courant == 5 and flow == "jets":
        note = f"halos {greatest['halos']:.3f} s; {PAPER}"
        yield Figure("a step on 4 ranks of 2 hosts", greatest["arrays"], "s", note=note)


def _winds(days: int, tracers: int = 1, **more: str) -> Path:
    """The run file of a run with winds of a store, which is there afterwards."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    store = FOLDER / "transport_winds.zarr"
    if not store.exists():
        beside = store.with_suffix(".partial")
        write_winds(beside, 8 * 11 + 1, 3, COURANT)
        beside.rename(store)
    names = [f"t{number}" for number in range(tracers)]
    table = ", ".join(f'{name} = "{form}"' for name, form in zip(names, FORMS, strict=False))
    parameters = f'scheme = "ccm"\ntracers = {{ {table} }}'
    return _run_file(f"winds-{tracers}", 64, days, f'[forcing]\nfields = "{store}"', parameters, str(names).replace("'", '"'))


def _run_file(name: str, rows: int, days: int, forcing: str, parameters: str, variables: str) -> Path:
    path = FOLDER / f"transport-{name}.toml"
    filled = {"rows": rows, "day": days, "forcing": forcing, "parameters": parameters, "variables": variables}
    path.write_text(RUN_FILE.format(output=new_output(), **filled))
    return path


def _memory() -> Iterator[Figure]:
    """A run of two days in a process of its own."""
    path = _winds(2, TRACERS)
    found = probe(path, "run")
    peak, announced = (found["peak"] - found["after_imports"]) / 1e6, probe(path, "estimate")["announced"] / 1e6
    note = f"{peak:.0f} of {announced:.0f} MB, {TRACERS} tracers with winds of a store"
    yield Figure("peak beyond imports / announced by steppe check", peak / announced, "x", at_most=1.3, note=note)


def _peers(rounds: int, quick: bool) -> Iterator[Figure]:
    """PyMPDATA by the time to the same error in Lauritzen's flow, Parcels by evaluations of a velocity."""
    theirs = mpdata([30, 60] if quick else [60, 120])
    for scheme, rows, steps in (("ccm", 64, 64), ("best", 120, 120)):
        seconds, l2 = _lauritzen(scheme, rows, steps)
        needed = cpu_to_error(theirs, l2)
        note = f"{needed:.3g} s / {seconds:.3g} s of CPU; " + ", ".join(f"{run.rows} rows: {run.cpu:.3g} s, l2 {run.l2:.3g}" for run in theirs)
        if l2 < min(run.l2 for run in theirs):
            note += "; beyond the finest by its own power"
        yield Figure(f"PyMPDATA / ours to an l2 of {l2:.3g}, {scheme} on {rows} rows", needed / seconds, "x", at_least=1.0, note=note)
    run = Run(wind(COURANT))
    run.step(2)
    times = [thread_seconds(lambda: _trace(run)) for _ in range(2 * rounds)]
    ours, peer = 3 * POINTS / float(np.median(times)), float(np.median(parcels(rounds)["cpu"]))
    note = f"{ours:.3g} a second of CPU (with the step along the path, three components) / {peer:.3g}"
    yield Figure("velocity evaluations: ours / Parcels", ours / peer, "x", at_least=10.0, note=note, samples={"ours": times})


def _lauritzen(scheme: str, rows: int, steps: int) -> tuple[float, float]:
    """CPU seconds and l2 of hills after a period on one level. The period is so long that its steps are of an hour."""
    parameters = f'scheme = "{scheme}"\nwind = "deforming"\nlevels = 1\nperiod = {steps / 24.0!r}'
    path = _run_file(f"lauritzen-{scheme}", rows, steps // 24 + 2, "", parameters, "[]")
    with Simulation(path, fresh=True) as sim:
        sim.step(1)
        sim.set("hills", sim["hills"])
    with Simulation(path, fresh=True) as sim:
        first = np.array(sim["hills"])
        seconds = thread_seconds(lambda: sim.step(steps))
        last = np.array(sim["hills"])
        weights = np.cos(np.deg2rad(sim.grid.lat))[:, None]
    if not np.isfinite(last).all():
        raise MissingPeer("The hills are no numbers.")
    return seconds, float(np.sqrt((weights * (last - first) ** 2).sum() / (weights * first**2).sum()))
