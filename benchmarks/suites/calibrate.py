"""A calibration through a server: back to the beginning, set, 30 days; what that costs beyond the 30 days themselves.

The run is Queensland. Beside it, in turn, the kernel alone: the same 30 days from the same state, with weather that is decoded already. The
loop is written in both ways that a person has: each order waited for, and all ordered at once with the last one waited for. Rounds rest in
between, so that none waits for the limit of orders a second.
"""

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

import steppe
from benchmarks.figures import Figure, MissingPeer
from benchmarks.queensland import FOLDER, STEPPE, run_file
from steppe.client import Run
from steppe.engine import Plan, Ranks, read_run_file

DAYS = 30
WARM, ROUNDS, QUICK_ROUNDS = 3, 40, 8
REST = 0.15  # [s]
SHOWN = "growth"
VARIED = "stocking_rate"


@contextmanager
def served() -> Iterator[Run]:
    """Queensland on a server of its own."""
    runs = str(run_file(2))
    socket, folder = FOLDER / "calibrate.sock", FOLDER / "calibrate"
    tokens = FOLDER / "calibrate.tokens"
    tokens.write_text("admin only-for-this-benchmark\n")
    tokens.chmod(0o600)
    command = [STEPPE, "serve", runs, "--uds", str(socket), "--token-file", str(tokens), "--set", f'output.path="{folder}"']
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    try:
        with steppe.connect(f"unix:{socket}", "only-for-this-benchmark") as run:
            yield run
    except steppe.SteppeError as error:
        raise MissingPeer(f"The server does not answer: {error}") from None
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(30)


class Kernel:
    """The days alone, in this process."""

    def __init__(self, run: Path) -> None:
        self._plan, self._ranks = Plan.of(read_run_file(run)), Ranks()
        self._root = self._ranks.begin(self._plan)
        first = self._ranks.begin(self._plan.again(), like=self._root)
        self._ranks.order(first, "open", output="", checkpoint="")
        self._ranks.order(first, "remember", entry=0)

    def milliseconds(self, value: float) -> tuple[float, float]:
        """Of `DAYS` from the beginning, with this value of what is varied: by the clock and of the processor."""
        part = self._ranks.begin(self._plan.again(), like=self._root)
        self._ranks.order(part, "recall", entry=0, output="")
        self._ranks.order(part, "set", name=VARIED, value=value, cells=None)
        busy = time.thread_time()
        taken = _milliseconds(lambda: self._ranks.order(part, "step", start=0, stop=DAYS, keep_last_step=True, beside=[]))
        busy = 1e3 * (time.thread_time() - busy)
        self._ranks.order(part, "close")
        return taken, busy


def figures(quick: bool) -> list[Figure]:
    """Milliseconds of each call, and of all beyond the kernel."""
    samples: dict[str, list[float]] = {}
    shutil.rmtree(FOLDER / "calibrate", ignore_errors=True)
    with served() as run:
        kernel, processes = Kernel(run_file(2)), [os.getpid(), *_behind(run)]
        for number in range(WARM + (QUICK_ROUNDS if quick else ROUNDS)):
            value = 0.1 + 0.001 * number
            before = sum(map(_busy, processes))
            waited: dict[str, Callable[[], object]] = {
                "restart": run.restart,
                "set": lambda value=value: run.set(VARIED, value),  # type: ignore[misc]
                f"step({DAYS})": lambda: run.step(DAYS),
            }
            taken = {name: _milliseconds(call) for name, call in waited.items()}
            taken["all three"] = sum(taken.values())
            taken["all three, processor"] = sum(map(_busy, processes)) - before
            taken["info"] = _milliseconds(run.info)
            taken["kernel"], taken["kernel, processor"] = kernel.milliseconds(value)
            taken["all three, ordered at once"] = _milliseconds(lambda value=value: _at_once(run, value))
            for name, spent in taken.items() if number >= WARM else ():  # the first ones load and measure
                samples.setdefault(name, []).append(spent)
            time.sleep(REST)
        asked = f'ask for "{SHOWN}"'  # afterwards: what somebody looks at is prepared with each step from then on
        for number in range(WARM + QUICK_ROUNDS):
            _at_once(run, 0.1 + 0.001 * number)
            spent = _milliseconds(lambda: run.get(SHOWN))
            if number >= WARM:
                samples.setdefault(asked, []).append(spent)
            time.sleep(REST)
    found = [Figure(name, float(np.median(each)), "ms", note=_quiet(each), samples={"ms": each}) for name, each in samples.items()]
    for name, alone in (("all three", "kernel"), ("all three, ordered at once", "kernel"), ("all three, processor", "kernel, processor")):
        beyond = [*map(float, np.array(samples[name]) - np.array(samples[alone]))]
        value, note = float(np.median(beyond)), _quiet(beyond)
        found.append(Figure(f"{name}, beyond the kernel", value, "ms", at_most=5.0, note=note, samples={"ms": beyond}))
    return found


def _at_once(run: Run, value: float) -> None:
    run.restart(wait=False)
    run.set(VARIED, value, wait=False)
    run.step(DAYS)


def _behind(run: Run) -> list[int]:
    """The processes of the server and of its engine."""
    engine = run.info().engine
    if engine is None:
        raise MissingPeer("The server has no engine.")
    parent = Path(f"/proc/{engine.pid}/stat").read_text().rpartition(")")[2].split()[1]
    return [engine.pid, int(parent)]


def _busy(process: int) -> float:
    """Milliseconds of the processor that a process has had, with all its threads."""
    threads = Path(f"/proc/{process}/task").glob("*/schedstat")
    return sum(int(each.read_text().split()[0]) for each in threads) / 1e6


def _quiet(samples: list[float]) -> str:
    return f"quietest tenth {np.quantile(samples, 0.1):.3g}"


def _milliseconds(call: Callable[[], object]) -> float:
    begin = time.perf_counter()
    call()
    return 1e3 * (time.perf_counter() - begin)
