"""People who watch a run: what they cost it, how old their frames are, beside a bare loop of sends; and the page in a browser.

a processor for the engine, pinned there │ another for the server, the bare loop, all viewers and the browser
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import xarray

import steppe
from benchmarks.figures import Figure, MissingPeer
from benchmarks.peers import ROOT
from benchmarks.programs.server_program import TOKEN
from benchmarks.queensland import FOLDER, STEPPE, run_file
from benchmarks.rounds import ratio
from benchmarks.suites import live_page

ENGINE, SERVER = 1, 0  # processors
ROWS, COLUMNS = 186, 156
CROWDS = ((1000, 5), (50, 60))  # viewers, frames a second
STATE, DIAGNOSTIC = "green_leaf", "soil_water_index"  # the one lies there, the other is computed once more for whoever looks
PIECE, QUICK_PIECE = 7000, 700  # steps of a round: nearly all, beside which it is nothing how soon a busy server hears of the last
ROUNDS, QUICK_ROUNDS = 5, 2
SECONDS = 1.2  # of a round of frames
MOMENTS = f"""\
model = "{ROOT / "benchmarks" / "programs" / "live_model.py"}"
time = {{ start = 1000-01-01, end = 2999-12-31 }}
grid = {{ file = "moments.zarr" }}
output = {{ path = "moments", variables = [], every = "1 year" }}
"""


def figures(quick: bool) -> list[Figure]:
    """Medians of rounds that alternate."""
    allowed = os.sched_getaffinity(0)
    if not {ENGINE, SERVER} <= allowed:
        raise MissingPeer(f"Processors {SERVER} and {ENGINE} are needed; there are {sorted(allowed)}.")
    os.sched_setaffinity(0, {SERVER})
    rounds = QUICK_ROUNDS if quick else ROUNDS
    try:
        with served("watched", run_file(2 if quick else 20)) as run:
            piece = QUICK_PIECE if quick else PIECE
            ways = [(*crowd, rounds, piece, variable) for crowd in CROWDS for variable in (STATE, DIAGNOSTIC)]
            found = [each for way in ways for each in _slowing(run, *way)]
            found += live_page.figures(run, rounds, quick)
        with served("moments", _moments()) as run:
            found += [each for crowd in CROWDS for each in _ages(run, *crowd, rounds)]
            found += _stopped(run, rounds)
    finally:
        os.sched_setaffinity(0, allowed)
    return found


# ---- what they cost the run --------------------------------------------------------------------------------------------------------------
def _slowing(run: "Served", viewers: int, rate: int, rounds: int, piece: int, variable: str) -> list[Figure]:
    name = f"{viewers:,} viewers at {rate}/s of {variable}"
    samples: dict[str, list[float]] = {"cpu": [], "cpu alone": [], "wall": [], "wall alone": []}
    frames = []
    with run.crowd(viewers, variable) as crowd:
        for number in range(rounds + 1):
            for alone in (True, False):
                crowd.do("rest") if alone else crowd.do(f"watch {rate} 8 {viewers}")
                time.sleep(0.3)
                wall, cpu = run.step(piece)
                if number:  # the first round warms
                    samples["wall" + " alone" * alone].append(wall)
                    samples["cpu" + " alone" * alone].append(cpu)
        crowd.do(f"watch {rate} 8 {viewers}")
        run.start()
        time.sleep(0.8)
        frames.append(crowd.do("measure 2")["frames"] / viewers)
        run.stop()
    cpu, wall = (ratio(samples[kind], samples[f"{kind} alone"]) for kind in ("cpu", "wall"))
    return [
        Figure(f"{name}, CPU of the run's thread", 100 * (cpu.value - 1), "%", at_most=5.0, note=cpu.spread, samples=samples),
        Figure(f"{name}, the clock of the run", 100 * (wall.value - 1), "%", at_most=5.0, note=wall.spread),
        Figure(f"{name}, frames each gets", float(np.median(frames)), "/s", note="of a run at full speed"),
    ]


# ---- how old frames are, what they cost the server ---------------------------------------------------------------------------------------
def _ages(run: "Served", viewers: int, rate: int, rounds: int) -> list[Figure]:
    name = f"{viewers:,} viewers at {rate}/s of {ROWS * COLUMNS:,} cells in 16 bits"
    cost: dict[str, list[float]] = {"server": [], "bare": []}
    ages, frames, client = [], [], []
    with run.crowd(viewers, "moment") as crowd, _bare(rate, viewers) as (bare, peer):
        run.start(speed=rate)
        for number in range(rounds + 1):
            crowd.do(f"watch {rate} 16 {viewers}")
            mine = _measured(crowd, run.server.pid)
            crowd.do("rest")
            peer.do(f"watch {rate} 16 {viewers}")
            other = _measured(peer, bare)
            peer.do("rest")
            if number:
                cost["server"].append(mine["server"] / mine["frames"])
                cost["bare"].append(other["server"] / other["frames"])
                ages.append(mine["p99"])
                frames.append(mine["frames"] / viewers)
                client.append(mine["cpu"])
            if mine["lost"]:
                raise MissingPeer(f"{mine['lost']:.0f} viewers lost their connection.")
        run.stop()
    beside = ratio(cost["server"], cost["bare"])
    used = 100 * np.median(cost["server"]) * np.median(frames) * viewers
    note = f"viewers themselves {100 * np.median(client):.0f} % of it; {np.median(frames):.3g} frames/s each"
    return [
        Figure(f"{name}, p99 age", float(np.median(ages)), "ms", at_most=500.0, samples={"p99": ages}),
        Figure(f"{name}, server", float(used), "% of a processor", at_most=30.0 if viewers == 1000 else None, note=note),
        Figure(f"{name}, CPU beside a bare loop of sends", beside.value, "x", at_most=1.5, note=beside.spread, samples=cost),
    ]


def _stopped(run: "Served", rounds: int, viewers: int = 100, rate: int = 10, stopped: int = 10) -> list[Figure]:
    """Some read nothing: the others, and the memory that they take."""
    name = f"{stopped} of {viewers} viewers stopped"
    ages: dict[str, list[float]] = {"all read": [], "some stopped": []}
    growth = []
    with run.crowd(viewers, "moment") as crowd:
        run.start(speed=rate)
        crowd.do(f"watch {rate} 16 {viewers}")
        for number in range(rounds + 1):
            crowd.do("go")
            crowd.do("measure 0.5")
            before, reading = _memory(run.server.pid), crowd.do(f"measure {SECONDS}")
            crowd.do(f"stop {stopped}")
            crowd.do("measure 0.5")
            standing = crowd.do(f"measure {SECONDS}")
            if number:
                ages["all read"].append(reading["p99"])
                ages["some stopped"].append(standing["p99"])
                growth.append((_memory(run.server.pid) - before) / stopped / (2 * ROWS * COLUMNS))
        run.stop()
    beside = ratio(ages["some stopped"], ages["all read"])
    return [
        Figure(f"{name}, p99 age of the others beside all reading", beside.value, "x", at_most=1.1, note=beside.spread, samples=ages),
        Figure(f"{name}, memory of each in frames", float(np.median(growth)), "", at_most=2.0, samples={"frames": growth}),
    ]


def _measured(crowd: "Crowd", server: int) -> dict[str, float]:
    crowd.do("measure 0.5")
    used = _seconds(server)
    found = crowd.do(f"measure {SECONDS}")
    return {**found, "server": (_seconds(server) - used) / SECONDS}


def _seconds(process: int) -> float:
    """CPU seconds of all threads of a process."""
    return sum(_thread_seconds(process, int(thread)) for thread in os.listdir(f"/proc/{process}/task"))


def _thread_seconds(process: int, thread: int) -> float:
    return int(Path(f"/proc/{process}/task/{thread}/schedstat").read_text().split()[0]) / 1e9


def _memory(process: int) -> int:
    """Bytes of a process that are in memory."""
    return int(Path(f"/proc/{process}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


# ---- processes ---------------------------------------------------------------------------------------------------------------------------
class Crowd:
    """Viewers in a process of their own."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process

    def do(self, words: str) -> dict[str, float]:
        """Has them do something; gives what they say of it."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(words + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise MissingPeer(f"The viewers ended at `{words}`.")
        return dict(json.loads(line))


class Served:
    """A server whose engine has a processor of its own."""

    def __init__(self, server: "subprocess.Popen[str]", address: str, name: str) -> None:
        self.server, self.address, self._name = server, address, name
        self._run = steppe.connect(address, TOKEN)
        while self._run.info().engine is None or not self._run.info().steps:
            time.sleep(0.1)
        engine = self._run.info().engine
        assert engine is not None
        self._engine = engine.pid

    def step(self, steps: int, speed: float | None = None) -> tuple[float, float]:
        """Seconds, by the clock and of the run's own thread, that so many steps take. speed: of them a second at most."""
        at = max(each.step for each in self._run.info().scenarios if each.name == "main")
        if at + steps > (self._run.info().steps or 0):
            self._run.restart()
        begin, used = time.perf_counter(), _thread_seconds(self._engine, self._engine)
        self._run.step(steps, speed=speed, progress=False)
        return time.perf_counter() - begin, _thread_seconds(self._engine, self._engine) - used

    def start(self, speed: float | None = None) -> None:
        """Has the run begin anew and go on to its end, and does not wait."""
        self._run.restart()
        self._run.step(end=True, speed=speed, wait=False)

    def stop(self) -> None:
        """Has it stand still."""
        self._run.pause()

    @contextmanager
    def crowd(self, viewers: int, variable: str) -> Iterator[Crowd]:
        """Viewers of this run."""
        with _crowd(self.address, viewers, f"/api/v1/runs/{self._name}/live", variable) as crowd:
            yield crowd


@contextmanager
def _crowd(*words: object) -> Iterator[Crowd]:
    with _program("viewers", *map(str, words)) as process:
        assert process.stdout is not None
        if not process.stdout.readline():
            raise MissingPeer("The viewers could not connect.")
        yield Crowd(process)


@contextmanager
def _bare(rate: int, viewers: int) -> Iterator[tuple[int, Crowd]]:
    """The bare loop: its process, and its viewers."""
    with _program("bare", str(rate), "16", str(ROWS * COLUMNS)) as process:
        assert process.stdout is not None
        port = process.stdout.readline().strip()
        with _crowd(f"http://127.0.0.1:{port}/", viewers, "/", "moment") as crowd:
            yield process.pid, crowd


@contextmanager
def _program(*words: str) -> Iterator["subprocess.Popen[str]"]:
    command = [sys.executable, "-m", "benchmarks.programs.live_program", *words]
    with ExitStack() as stack:
        process = stack.enter_context(subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True))
        stack.callback(process.kill)
        yield process


@contextmanager
def served(name: str, run: Path, more: Sequence[str] = ()) -> Iterator[Served]:
    """A server of its own, that takes as many viewers as there are."""
    folder, tokens = FOLDER / name, FOLDER / f"{name}.tokens"
    shutil.rmtree(folder, ignore_errors=True)
    tokens.write_text(f"admin {TOKEN}\n")
    tokens.chmod(0o600)
    command: list[Any] = [STEPPE, "serve", run, "--bind", "127.0.0.1:0", "--token-file", tokens, "--many"]
    command += ["--set", f'output.path="{folder}"', "--launcher", f"taskset -c {ENGINE}", *more]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            words = process.stdout.readline().split()
            if not words:
                raise MissingPeer("`steppe serve` did not start.")
            yield Served(process, words[-1].rstrip("/"), name)
        finally:
            process.send_signal(signal.SIGINT)


def _moments() -> Path:
    """The run file of the field that says when it was made."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    lat, lon = -10.0 - 0.05 * np.arange(ROWS), 112.0 + 0.05 * np.arange(COLUMNS)
    axes = {"lat": ("lat", lat, {"units": "degrees_north"}), "lon": ("lon", lon, {"units": "degrees_east"})}
    mask = xarray.Dataset({"land_mask": (("lat", "lon"), np.ones((ROWS, COLUMNS), "int8"))}, axes)
    mask.to_zarr(FOLDER / "moments.zarr", mode="w", consolidated=False)
    path = FOLDER / "moments.toml"
    path.write_text(MOMENTS)
    return path
