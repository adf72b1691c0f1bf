"""Halos: start and finish beside a bare pair of messages of the same bytes, on two ranks; and how long a plan takes among 10,000."""

import json
import sys
import time
from typing import Any

import numpy as np

from benchmarks.figures import Figure
from benchmarks.rounds import QUICK_ROUNDS, ROUNDS, output
from steppe.comm import find_library, find_mpiexec
from steppe.grid import Boxes, Domain, choose_dims

RANKS = 10_000


def figures(quick: bool) -> list[Figure]:
    """An exchange may take the time of its copies and three bare pairs."""
    rounds = 10 * (QUICK_ROUNDS if quick else 3 * ROUNDS)
    cases = measured(2, "messages", rounds)
    long = {name: float(np.median(values)) for name, values in cases.pop("long").items()}
    found = []
    for case, samples in cases.items():
        size = int(samples.pop("bytes")[0])
        exchange, bare, copies = (np.array(samples[name]) for name in ("exchange", "bare pair", "copies"))
        note = ", ".join(f"{name} {np.median(values):.1f} us" for name, values in samples.items())
        value = float(np.median((exchange - copies) / bare))
        found.append(Figure(f"exchange of {case}, {size:,} bytes", value, "bare pairs", at_most=3.0, note=note, samples=samples))
    note = f"unpoked {long['unpoked']:.0f} us, no work {long['no work']:.0f} us"
    found.append(Figure("wait for 512,000 bytes behind work, poked", long["poked"], "us", note=note))
    return [*found, field_model(quick), *plans()]


def measured(ranks: int, what: str, rounds: int) -> Any:
    """What so many ranks tell."""
    program = [sys.executable, "-m", "benchmarks.programs.exchange_ranks", what, str(rounds)]
    command = [*find_mpiexec(find_library()), "-n", str(ranks), *program]
    return json.loads(output(command))


def field_model(quick: bool) -> Figure:
    """What halos cost a field model: CPU time of two ranks over that of one."""
    rounds = QUICK_ROUNDS if quick else ROUNDS
    seconds: dict[int, list[float]] = {1: [], 2: []}
    for _ in range(QUICK_ROUNDS):
        for ranks, samples in seconds.items():
            samples += measured(ranks, "model", rounds)
    one, two = (float(np.median(samples)) for samples in seconds.values())
    note = f"ten steps of 1000 x 1000 cells: one rank {one:.2f} s, two {two:.2f} s; waiting for a rank that has lost its core counts"
    return Figure("shallow water, CPU of two ranks / one", two / one, "x", note=note)


def plans() -> list[Figure]:
    """Two and three axes, every edge kind that one block has."""
    found = []
    for name, shape, edges in (
        ("sphere of 1000 x 2000", {"y": 1000, "x": 2000}, {"y": "pole", "x": "periodic"}),
        ("220 x 220 x 220, periodic", {"z": 220, "y": 220, "x": 220}, dict.fromkeys("zyx", "periodic")),
    ):
        lengths, halo = tuple(shape.values()), dict.fromkeys(shape, 2)
        boxes = Boxes(Domain.of(shape, edges), halo, [choose_dims(lengths, tuple(halo.values()), RANKS)])
        seconds = []
        for rank in range(RANKS):
            begin = time.thread_time()
            boxes[rank]
            seconds.append(time.thread_time() - begin)
        each = np.array(seconds) * 1e3
        found.append(
            Figure(f"plan of a rank of 10,000, {name}", float(np.median(each)), "ms", at_most=20.0, note=f"all {each.sum() / 1e3:.1f} s")
        )
    return found
