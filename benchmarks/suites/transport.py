"""Transport: a step beside that of a C++ twin, its kernels on one host and on two, ranks beside halos and replication, and peers.

CPU times are of the thread that steps, or of all threads of a rank; wall times say something on an idle machine of two cores or more. The
wind is interpolated, all three components; it stays, so that a step reads no store, except where it says so.
"""

import json
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.figures import Figure
from benchmarks.machine import is_idle
from benchmarks.queensland import FOLDER, new_output
from benchmarks.rounds import QUICK_ROUNDS, ROUNDS, alternate, measured, output, ratio, thread_seconds
from benchmarks.suites.memory import probe
from benchmarks.transport_peers import mpdata, parcels
from benchmarks.transport_runs import DT, FORMS, POINTS, Run, wind, write_winds
from benchmarks.transport_twin import Times, TransportTwin, build
from steppe.arrays import ModelArrays
from steppe.arrays.layout import PAGE
from steppe.comm import BoxReach, Serial, find_library, find_mpiexec, placed, shared
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
    return [*_twin(rounds), *_places(rounds), _longer(rounds), *_ranks(rounds, quick), *_memory(), *_peers(rounds, quick)]


def _twin(rounds: int) -> Iterator[Figure]:
    """Whole steps of the model and of the twin, with one tracer and with several, and what they give."""
    fields = wind(COURANT)
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        twin, table = build(Path(folder)), _levels(Path(folder))
        yield same(twin, Path(folder))
        runs = {f"{scheme}, {n}": Run(fields, n, scheme=scheme) for scheme in ("ccm", "best") for n in (1, TRACERS)}
        every = _for_twin(fields, runs[f"ccm, {TRACERS}"].tracers)
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
    note = f"{found.spread}; with {TRACERS} tracers {more.value:.3g}"
    yield Figure("step with best / with ccm", found.value, "x", at_most=2.0, note=note)


def _a_step(step: Callable[[int], object]) -> float:
    return thread_seconds(lambda: step(STEPS)) / STEPS


def _levels(folder: Path) -> Path:
    """The levels of the model in the twin's form."""
    path = folder / "levels.csv"
    rows = "".join(f"{k},{a!r},{b!r}\n" for k, (a, b) in enumerate(zip(CCM_A, CCM_B, strict=True)))
    path.write_text(f"interface,a,b\n{rows}")
    return path


def _for_twin(fields: Mapping[str, Floats], tracers: Floats) -> Floats:
    """Wind and tracers as the twin takes them: rows from the south, in radii and eta a second."""
    given = np.stack([fields["u"] / RADIUS, fields["v"] / RADIUS, fields["omega"] / P0])
    return np.concatenate([given, tracers])[:, :, ::-1]


def same(twin: TransportTwin, folder: Path) -> Figure:
    """Both compute the same: all tracers after one step, and after eight without the fixer.

    The fixer changes a value by a tenth at most. If that is too little, the twin restores the mass of the beginning in later steps, the
    model that of the step before. So both are the same in one step.
    """
    apart, fields, table = [], wind(COURANT), _levels(folder)
    for fixer, steps in (("on", 1), ("off", 8)):
        run = Run(fields, TRACERS, fixer=fixer)
        theirs = twin.times(_for_twin(fields, run.tracers), DT, table, steps, fix=int(fixer == "on")).tracers
        run.step(steps)
        apart.append(float(np.abs(theirs[:, :, ::-1] - run.tracers).max()))
    note = f"of {TRACERS} tracers of range 1: after a step {apart[0]:.2g}, after 8 without the fixer {apart[1]:.2g}"
    return Figure("greatest difference from the twin's tracers", max(apart), at_most=1e-9, note=note)


class _Own:
    """A global array in memory of this process: of NumPy, or, as of two hosts, half of it shared and half of it pages that were stored."""

    room = 0

    def __init__(self, shape: Any, of_two: bool) -> None:
        size = int(np.prod(shape))
        half = -(-4 * size // PAGE) * PAGE  # bytes
        memory = placed(shared(Serial(), [0], half), np.array([[0, 0, half]]), 2 * half).view(np.float64) if of_two else np.zeros(size)
        self.places: Floats = memory[:size]

    def elsewhere(self, index: Any) -> NDArray[np.int64]:
        return np.empty(0, np.int64)

    def scatter(self, index: Any, value: Any) -> None:
        self.places[index] = value

    def raw(self) -> tuple[NDArray[np.int64], int]:
        return np.array([self.places.ctypes.data]), ONE_PAGE

    @contextmanager
    def read_only(self, cache: int) -> Iterator["_Own"]:
        yield self


class _OwnArrays(BoxReach):
    """A reach whose arrays of tracers and winds are `_Own`."""

    def __init__(self, box: Box, of_two: bool) -> None:
        super().__init__(Serial(), box, totals, ModelArrays(Serial()))
        self._of_two = of_two

    def array(self, shape: Any, dtype: Any = "float64", page: int = 65_536) -> Any:
        return super().array(shape) if len(shape) == 2 else _Own(shape, self._of_two)


def _places(rounds: int) -> Iterator[Figure]:
    """The kernels on a global array of one host, on an array of NumPy, and on the places of an array of two hosts.

    Each round has arrays of its own: where in memory they lie changes a time by a tenth.
    """
    samples: dict[str, dict[str, list[float]]] = {"carry": {}, "trace": {}}
    fields = wind(COURANT)
    for _ in range(rounds):
        runs = {"one host": Run(fields), "plain": Run(fields, reach=lambda box: _OwnArrays(box, False))}
        runs["two hosts"] = Run(fields, reach=lambda box: _OwnArrays(box, True))
        for run in runs.values():
            run.step(2)
        assert all(np.array_equal(run.tracers, runs["one host"].tracers) for run in runs.values())
        for what, work in {"carry": _carry, "trace": _trace}.items():
            for name, times in alternate({name: measured(work, run) for name, run in runs.items()}, QUICK_ROUNDS).items():
                samples[what].setdefault(name, []).extend(times)
    note = "one kernel on shared memory, and on memory of NumPy"
    for what, name in (("carry", "limited interpolation"), ("trace", "paths and wind")):
        found = ratio(samples[what]["one host"], samples[what]["plain"])
        yield Figure(f"{name}: global array / plain array", found.value, "x", at_most=1.05, note=f"{found.spread}; {note}")
        found = ratio(samples[what]["two hosts"], samples[what]["one host"])
        target = 1.3 if what == "carry" else None
        yield Figure(f"{name}: array of two hosts, once its pages came / of one", found.value, "x", at_most=target, note=found.spread)


def _middles(run: Run) -> Floats:
    return np.stack([run.model.state[f"path_{axis}"] for axis in ("x", "y", "z", "level")])


def _carry(run: Run) -> float:
    """Seconds to find where the paths begin, and what there was."""
    middles, found = _middles(run), [np.empty(run.tracers.shape[1:])]
    return thread_seconds(lambda: run.model._advection.carry(middles, found, "ccm", True))


def _trace(run: Run) -> float:
    """Seconds of three iterations of the middles."""
    middles = _middles(run)
    return thread_seconds(lambda: run.model._advection.trace(middles, 0.5 * DT, 3, None, "ccm"))


def _longer(rounds: int) -> Figure:
    """The wind stays, the step is twice as long: of one model, whose arrays stay where they are."""
    run = Run(wind(COURANT))
    samples = alternate({f"{dt:g} s": measured(_a_step, lambda n, dt=dt: run.step(n, dt)) for dt in (DT, 2.0 * DT)}, 2 * rounds)
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


class _Job(NamedTuple):
    ranks: int
    hosts: int
    courant: int
    flow: str
    by_wall: bool

    def __str__(self) -> str:
        return f"{self.ranks} ranks, {self.hosts} host{'s' * (self.hosts > 1)}, Courant {self.courant}, {self.flow}"

    def told(self, rounds: int) -> dict[str, dict[str, Any]]:
        """Of several jobs, one after the other: where in memory arrays lie changes a time by a tenth."""
        jobs = [told(*self[:4], max(2, rounds // 3), STEPS, *([] if self.by_wall else ["asleep"])) for _ in range(3)]
        for name, each in jobs[0].items():
            for key in ("wall", "cpu"):
                each[key] = [sample for job in jobs for sample in job[name][key]]
        return jobs[0]


def _ranks(rounds: int, quick: bool) -> Iterator[Figure]:
    """Global arrays beside halos and replication: 2 ranks by wall time on an idle machine, else by the greatest CPU time of a rank."""
    one = _Job(1, 1, 5, "jets", False).told(rounds)
    alone = float(np.median([sum(each) for each in one["arrays"]["cpu"]]))
    for ranks in (2, 4):
        for hosts in (1, 2):
            for courant in (5, 30):
                for flow in ("jets", "deforming") if (ranks, hosts, quick) == (2, 2, False) else ("jets",):
                    job = _Job(ranks, hosts, courant, flow, ranks == 2 and is_idle())
                    yield from _compared(job, job.told(rounds), alone)


def _compared(job: _Job, found: dict[str, dict[str, Any]], alone: float) -> Iterator[Figure]:
    """The figures of one job. alone: CPU seconds of a step on one rank. The jets are judged, the deforming flow is told beside them."""
    cpu, wall = ({name: np.array(each[key]) for name, each in found.items()} for key in ("cpu", "wall"))
    greatest = {name: each.max(axis=1) for name, each in cpu.items()}
    samples = {name: each.tolist() for name, each in (wall if job.by_wall else greatest).items()}
    by = "wall time" if job.by_wall else "greatest CPU time"
    note = "; ".join(
        f"{what} {', '.join(f'{name} {np.median(seconds) * 1e3:.1f}' for name, seconds in times.items())} ms"
        for what, times in {"CPU": greatest, "wall": wall}.items()
    )
    judged = job.flow == "jets"
    for name, least in (("halos", 1.0 if job.courant == 5 else 1.1), ("whole", 1.0)):
        times = ratio(samples[name], samples["arrays"])
        what = {"halos": "halos", "whole": "replication"}[name]
        told_beside = f"{times.spread}; {note}" if name == "halos" else times.spread
        target = least if judged else None
        yield Figure(f"{what} / arrays, {job}, {by}", times.value, "x", at_least=target, note=told_beside, samples=samples)
    for key, unit in (("memory", "MB a rank"), ("bytes", "MB a step between hosts"))[: job.hosts]:
        mine, *theirs = (found[name][key] / 1e6 for name in ("arrays", "halos", "whole"))
        told_beside = f"halos {theirs[0]:.2f}, replication {theirs[1]:.2f}"
        yield Figure(f"arrays, {job}", mine, unit, at_most=min(theirs) if judged else None, note=told_beside)
    if job.hosts > 1:
        counts = found["arrays"]
        note = f"{counts['messages']} messages, {counts['bytes'] / 1e6:.2f} MB, longest wait {counts['longest wait'] * 1e3:.1f} ms"
        yield Figure(f"pages fetched in a step, {job}", counts["pages"], note=note)
    if job.ranks == 4 and job.hosts == 1:
        each = np.median(cpu["arrays"], axis=0)
        yield Figure(f"CPU time of a rank, greatest / mean, {job}", float(each.max() / each.mean()), "x", at_most=1.05)
    if judged and job.courant == 5:
        every = float(np.median(cpu["arrays"].sum(axis=1)))
        limit = 2.0 if job.ranks == job.hosts == 2 else None
        yield Figure(f"CPU time of all ranks / of one alone, {job}", every / alone, "x", at_most=limit, note=f"alone {alone * 1e3:.1f} ms")
        times = float(np.median(samples["arrays"]))
        yield Figure(f"a step, {job}, {by}", times * 1e3, "ms", note=f"halos {np.median(samples['halos']) * 1e3:.1f} ms; {PAPER}")


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
    theirs = mpdata([60] if quick else [60, 120])[-1]
    for scheme in ("ccm", "best"):
        for rows in (16, 24, 32, 48, 64, 96):
            seconds, l2 = _lauritzen(scheme, rows)
            if l2 <= theirs.l2:
                break
        peer = f"{theirs.cpu:.3g} s of CPU on {theirs.rows} rows to l2 {theirs.l2:.3g}"
        note = f"{peer} / {seconds:.3g} s on {rows} rows to {l2:.3g}"
        yield Figure(f"PyMPDATA / ours to the same error, {scheme}", theirs.cpu / seconds, "x", at_least=1.0, note=note)
    run = Run(wind(COURANT))
    run.step(2)
    times = [_trace(run) for _ in range(2 * rounds)]
    ours, rate = 3 * POINTS / float(np.median(times)), float(np.median(parcels(rounds)["cpu"]))
    note = f"{ours:.3g} a second of CPU (with the step along the path, three components) / {rate:.3g}"
    yield Figure("velocity evaluations: ours / Parcels", ours / rate, "x", at_least=10.0, note=note, samples={"ours": times})


def _lauritzen(scheme: str, rows: int) -> tuple[float, float]:
    """CPU seconds and l2 of hills after a period, in as many steps as there are rows, of an hour each, on one level."""
    parameters = f'scheme = "{scheme}"\nwind = "deforming"\nlevels = 1\nperiod = {rows / 24.0!r}'
    path = _run_file(f"lauritzen-{scheme}-{rows}", rows, rows // 24 + 2, "", parameters, "[]")
    with Simulation(path, fresh=True) as sim:
        first = np.array(sim["hills"])
        sim.step(1)  # loads the machine code
        seconds = thread_seconds(lambda: sim.step(rows - 1)) * rows / (rows - 1)
        last, weights = np.array(sim["hills"]), np.cos(np.deg2rad(sim.grid.lat))[:, None]
    return seconds, float(np.sqrt((weights * (last - first) ** 2).sum() / (weights * first**2).sum()))
