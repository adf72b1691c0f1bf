"""What writing costs: results behind the run, shards, checkpoints, and somebody who looks meanwhile."""

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
from numcodecs import blosc

from benchmarks.figures import Figure
from benchmarks.machine import is_idle
from benchmarks.queensland import FOLDER, STEPPE, new_output, run_file
from benchmarks.rounds import QUICK_ROUNDS, ROUNDS, alternate, digest_of, measured, output, pinned, ratio
from steppe.comm import BoxReach, Serial
from steppe.engine import Plan, Simulation, read_run_file
from steppe.engine.intervals import edges
from steppe.engine.recorder import IntervalRecorder
from steppe.grid import Ownership, tile_size, tiles
from steppe.io import Checkpoint, Draft, OutputWriter, create_store, open_results
from steppe.io.checkpoints.contents import Digests, TileRun
from steppe.io.output.array import bitround
from steppe.io.output.store import SPEED
from steppe.io.shard import CODECS, FILTERS, Layout, write_shard
from steppe.kernels.sums import totals

VARIABLES = ["growth", "soil_water_index", "total_standing_dry_matter"]
RANKS = 3
STATE = (30, 280_000)  # fields and cells of Australia on 0.05 degree, float64


def figures(quick: bool) -> list[Figure]:
    """All of them; the whole runs take the longest."""
    rounds = QUICK_ROUNDS if quick else ROUNDS - 2
    years = 2 if quick else 10
    idle = is_idle()  # wall times are judged only then
    return [
        *behind(years, rounds, idle),
        *strategies(years, rounds),
        *looked_at(years, rounds, idle),
        *shards(years, rounds),
        *checkpoints(rounds),
    ]


def plan(years: int) -> Plan:
    """Queensland with three variables written every day."""
    changes = {
        "output.variables": json.dumps(VARIABLES),
        "output.every": '"1 day"',
    }
    return Plan.of(read_run_file(run_file(years), changes))


def written(clock: Callable[[], float], years: int, folder: Path) -> float:
    """Seconds of a run with its results in `folder`."""
    with Simulation(plan(years), folder) as simulation:
        begin = clock()
        simulation.run()
        return clock() - begin


def thrown_away(clock: Callable[[], float], years: int) -> float:
    """Seconds of the same steps, with the same reading and reductions, whose records nobody keeps."""
    whole = plan(years)
    reader, recorder = whole.reader(), IntervalRecorder(whole.grid.n_cells)
    for name in VARIABLES:
        recorder.want(name, "mean", edges("1 day", whole.clock, whole.steps), lambda first, values: None)
    share, _, neighbours = whole.decomposed().of(0)
    reach = BoxReach(Serial(), neighbours, totals)
    whole.model.initialise(share, whole.chosen.values, whole.initial, whole.chosen.options, reach)
    begin = clock()
    step = 0
    while step < whole.steps:
        piece = reader.pieces(range(step, min(step + 64, whole.steps)))[0]
        whole.model.advance(piece, reader, whole.clock, recorder)
        step = piece.stop
    seconds = clock() - begin
    reader.close()
    return seconds


NEIGHBOUR = """
import numpy as np
from numcodecs import blosc
blosc.use_threads = False
values = np.random.default_rng(0).normal(size=(384, 2048)).astype("f4").cumsum(0)
while True:
    blosc.compress(values, b"lz4", 5, blosc.SHUFFLE)
"""


def beside_a_neighbour(clock: Callable[[], float], years: int) -> float:
    """The same while another process compresses: what processors that are busy at once take from each other, whatever the program."""
    neighbour = subprocess.Popen([sys.executable, "-c", NEIGHBOUR])
    try:
        time.sleep(0.5)
        return thrown_away(clock, years)
    finally:
        neighbour.kill()
        neighbour.wait()


def behind(years: int, rounds: int, idle: bool) -> list[Figure]:
    """Target 9: three daily variables written, beside the same run that throws its records away."""
    wall, cpu = (
        {"written": measured(alone, clock, years), "thrown away": measured(thrown_away, clock, years)}
        for clock in (time.perf_counter, time.process_time)
    )
    wall = alternate(wall | {"neighbour": measured(beside_a_neighbour, time.perf_counter, years)}, rounds)
    with pinned():
        cpu = alternate(cpu, rounds)
    spare, full = (ratio(samples["written"], samples["thrown away"]) for samples in (wall, cpu))
    beside = ratio(wall["written"], wall["neighbour"])
    name = "3 daily variables written behind"
    return [
        Figure("daily records thrown away, wall", float(np.median(wall["thrown away"])), "s"),
        Figure(f"{name}, spare core", 100 * (spare.value - 1), "% of wall", at_most=5 if idle else None, note=spare.spread, samples=wall),
        Figure("... beyond what a neighbour who compresses costs", 100 * (beside.value - 1), "% of wall", note=beside.spread),
        Figure(f"{name}, one core", 100 * (full.value - 1), "% of CPU", at_most=15, note=full.spread, samples=cpu),
    ]


def strategies(years: int, rounds: int) -> list[Figure]:
    """By name, on some ranks of this machine: who writes, and whether steps wait for it. The bytes are the same."""
    stalls, bytes_of = dict[str, list[float]](), dict[str, str]()

    def run(writers: str, behind: str) -> float:
        keys = {
            "output.variables": json.dumps(VARIABLES),
            "output.every": '"1 day"',
            "engine.writers": json.dumps(writers),
            "engine.write_behind": behind,
        }
        changes = [part for key, value in keys.items() for part in ("--set", f"{key}={value}")]
        folder = new_output()
        command = [STEPPE, "run", str(run_file(years)), "--json", "--ranks", str(RANKS), "--output", str(folder), *changes]
        found = json.loads(output(command))
        name = f"{writers}, {behind}"
        stalls.setdefault(name, []).append(found["stall_out_seconds"])
        bytes_of[name] = digest_of(folder / "output.zarr")
        shutil.rmtree(folder)
        return float(found["seconds"])

    names = {f"{who}, {behind}": (who, behind) for who in ("private", "aggregate:2", "gather") for behind in ("true", "false")}
    samples = alternate({name: measured(run, *each) for name, each in names.items()}, rounds)
    return [
        *(
            Figure(
                f"run on {RANKS} ranks, {writers}, {'async' if behind == 'true' else 'sync'}",
                float(np.median(samples[name])),
                "s",
                note=f"{np.median(stalls[name]):.2f} s waiting",
                samples=samples,
            )
            for name, (writers, behind) in names.items()
        ),
        Figure("strategies that wrote other bytes", len(set(bytes_of.values())) - 1, at_most=0),
    ]


def looked_at(years: int, rounds: int, idle: bool) -> list[Figure]:
    """Target 12: the run while somebody opens its store and takes a mean five times a second."""
    looks: list[int] = []
    failures: list[str] = []

    def with_reader(clock: Callable[[], float]) -> float:
        folder = new_output()
        with reader(str(folder / "output.zarr")) as found:
            seconds = written(clock, years, folder)
        looks.append(found["looks"])
        failures.extend(found["failures"])
        shutil.rmtree(folder)
        return seconds

    figures = []
    for clock, unit, judged in ((time.process_time, "% of CPU", True), (time.perf_counter, "% of wall", idle)):
        samples = alternate({"looked at": measured(with_reader, clock), "alone": measured(alone, clock, years)}, rounds)
        slower = ratio(samples["looked at"], samples["alone"])
        limit = 3 if judged else None
        figures.append(
            Figure("run slowed by a reader at 5 Hz", 100 * (slower.value - 1), unit, at_most=limit, note=slower.spread, samples=samples)
        )
    return [
        *figures,
        Figure("looks that failed or saw half a value", len(failures), f"of {sum(looks)}", at_most=0, note="; ".join(failures[:1])),
    ]


def alone(clock: Callable[[], float], years: int) -> float:
    """Seconds of the run by itself."""
    folder = new_output()
    seconds = written(clock, years, folder)
    shutil.rmtree(folder)  # days come to half a gigabyte
    return seconds


@contextmanager
def reader(store: str) -> Iterator[dict[str, Any]]:
    """A process that looks; what it found is there afterwards."""
    found: dict[str, Any] = {}
    command = [sys.executable, "-m", "benchmarks.suites.store.reader", store]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        time.sleep(1.5)  # its imports
        yield found
        found.update(json.loads(process.communicate("\n")[0]))


def shards(years: int, rounds: int) -> list[Figure]:
    """Target 9: a shard beside blosc and write() alone, on records of the run; and what its values come to."""
    width = tile_size(15_208)
    folder = new_output()
    written(time.perf_counter, years, folder)
    with open_results(folder) as found:
        records = [np.ascontiguousarray(found[name][:384, :width].to_numpy()) for name in VARIABLES]
    place = new_output()
    layout = Layout(records[0].shape, records[0].shape, "float32", "shuffle")
    times = count()  # as in a run nobody writes a shard where one is, which would be made durable

    def ours() -> float:
        row, begin = next(times), time.process_time()
        for number, values in enumerate(records):
            write_shard(place, "ours", (row, number), values, layout, durable=False)
        return time.process_time() - begin

    def bare() -> float:
        row, begin = next(times), time.process_time()
        for number, values in enumerate(records):
            with open(place / f"bare-{row}-{number}", "wb", buffering=0) as file:
                file.write(blosc.compress(values, b"lz4", CODECS["lz4"], FILTERS["shuffle"], 0, 4))
        return time.process_time() - begin

    def rounded() -> float:
        row, begin = next(times), time.process_time()
        for number, values in enumerate(records):
            write_shard(place, "rounded", (row, number), bitround(values, 12), layout._replace(shuffle="bitshuffle"), durable=False)
        return time.process_time() - begin

    size = sum(values.nbytes for values in records)
    samples = alternate({"bare": bare, "exact": ours, "12 bits": rounded}, 3 * rounds)
    rate = {name: size / float(np.median(times)) for name, times in samples.items()}
    against = ratio(samples["bare"], samples["exact"])
    speeds = {name: f"{rate[name] / 1e6:.0f} MB/s, announced {SPEED[name] / 1e6:.0f}" for name in SPEED}

    def bytes_of(folder: str) -> float:
        each = [file.stat().st_size for file in (place / folder).rglob("*") if file.is_file()]
        return sum(each) / len(each) * len(records) / size

    return [
        Figure("shard written / blosc and write()", against.value, "x", at_least=0.8, note=against.spread, samples=samples),
        Figure("exact: on disk / in memory", bytes_of("ours"), note=speeds["exact"]),
        Figure("12 bits: on disk / in memory", bytes_of("rounded"), note=speeds["12 bits"]),
    ]


def checkpoints(rounds: int) -> list[Figure]:
    """Target 10, on a state of the size of Australia's."""
    state = {f"state/{k}": np.random.default_rng(k).normal(size=STATE[1]) for k in range(STATE[0])}
    size = sum(values.nbytes for values in state.values())
    place = FOLDER / "checkpoints"
    store = FOLDER / "empty.zarr"
    if not store.exists():
        create_store(store, [], {})
    writer, draft, copies = OutputWriter(store, []), Draft(), {name: np.empty_like(values) for name, values in state.items()}
    deal = Ownership.alone(STATE[1])

    def kept(step: int) -> Path:
        aside = Checkpoint.begin(place, step)
        return Checkpoint.seal(aside, draft.contents, draft.write(aside), {}, {})

    steps = iter(range(1, 1_000_000))

    def pause() -> float:
        begin = time.thread_time()  # it waits for nothing
        draft.copy(state, deal)
        writer.commit_behind(lambda records: Checkpoint.prune(kept(next(steps))))
        seconds = time.thread_time() - begin
        writer.wait()
        return seconds

    def copy() -> float:
        begin = time.thread_time()
        for name, values in state.items():
            np.copyto(copies[name], values)
        return time.thread_time() - begin

    def whole() -> float:
        begin = time.perf_counter()
        draft.copy(state, deal)
        path = kept(next(steps))
        seconds = time.perf_counter() - begin
        Checkpoint.prune(path)  # as the file of dd is removed, after the clock
        return seconds

    def dd() -> float:
        begin = time.perf_counter()
        output(["dd", "if=/dev/zero", f"of={FOLDER}/dd", "bs=1M", f"count={size >> 20}", "conv=fsync"])
        seconds = time.perf_counter() - begin
        os.unlink(f"{FOLDER}/dd")
        return seconds

    def hashed() -> float:
        stretches = TileRun.of(range(len(tiles(STATE[1]))), STATE[1])
        digests, begin = Digests(stretches, STATE[1]), time.thread_time()
        for values in state.values():
            digests.add(stretches[0], values)
        digests.found()
        return time.thread_time() - begin

    samples = alternate({"pause": pause, "memcpy": copy}, 3 * rounds)
    disk = alternate({"checkpoint": whole, "dd": dd, "hash": hashed}, rounds)
    writer.close()
    visible, total, share = (
        ratio(samples["pause"], samples["memcpy"]),
        ratio(disk["dd"], disk["checkpoint"]),
        ratio(disk["hash"], disk["checkpoint"]),
    )
    return [
        Figure("state of a checkpoint", size / 1e6, "MB"),
        Figure("visible pause / memcpy", visible.value, "x", at_most=1.2, note=visible.spread, samples=samples),
        Figure("checkpoint / dd conv=fsync, bandwidth", total.value, "x", at_least=0.8, note=total.spread, samples=disk),
        Figure("hash of a checkpoint", 100 * share.value, "%", at_most=5, note=share.spread),
    ]
