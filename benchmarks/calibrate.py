"""A calibration through a server: back to the beginning, set, 30 days, ask; what that costs beyond the 30 days themselves.

The run is Queensland; beside it the same 30 days in this process, in alternation. Rounds rest in between, so that none waits for the
limit of orders a second.
"""

import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np

import steppe
from benchmarks.figures import Figure, MissingPeer
from benchmarks.queensland import FOLDER, STEPPE, run_file
from steppe.client import Run

DAYS = 30
ROUNDS, QUICK_ROUNDS = 20, 8  # with those that warm up they fit into the two years
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


def figures(quick: bool) -> list[Figure]:
    """Milliseconds of each call, and of all beyond the kernel."""
    calls: dict[str, Callable[[Run, int], object]] = {
        "restart": lambda run, number: run.restart(),
        "set": lambda run, number: run.set(VARIED, 0.1 + 0.001 * number),
        f"step({DAYS})": lambda run, number: run.step(DAYS),
        "ask": lambda run, number: run.get(SHOWN),
    }
    samples: dict[str, list[float]] = {name: [] for name in (*calls, "kernel", "info")}
    for name in ("calibrate", "calibrate-alone"):
        shutil.rmtree(FOLDER / name, ignore_errors=True)
    with served() as run, steppe.Simulation(run_file(2), path=FOLDER / "calibrate-alone") as alone:
        for number in range(3 + (QUICK_ROUNDS if quick else ROUNDS)):
            taken = {name: _milliseconds(call, run, number) for name, call in calls.items()}
            taken["info"] = _milliseconds(run.info)
            alone.set(VARIED, 0.1 + 0.001 * number)
            taken["kernel"] = _milliseconds(alone.step, DAYS)
            for name, spent in taken.items() if number >= 3 else ():  # the first ones load and measure
                samples[name].append(spent)
            time.sleep(REST)
    median = {name: float(np.median(values)) for name, values in samples.items()}
    beyond = np.sum([samples[name] for name in calls], axis=0) - np.array(samples["kernel"])
    return [
        *(Figure(name, median[name], "ms", samples={"milliseconds": samples[name]}) for name in samples),
        Figure(
            "overhead of a run over its kernel",
            float(np.median(beyond)),
            "ms",
            at_most=5.0,
            samples={"milliseconds": [*map(float, beyond)]},
        ),
    ]


def _milliseconds(call: Callable[..., object], *arguments: object) -> float:
    begin = time.perf_counter()
    call(*arguments)
    return 1e3 * (time.perf_counter() - begin)
