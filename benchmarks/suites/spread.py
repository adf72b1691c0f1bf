"""Forcing to the ranks: the pasture over Queensland on 1, 2 and 4 ranks, its weather coming in each way; real stations, packed in bits."""

import json
import os
import sys

import numpy as np

from benchmarks.figures import Figure
from benchmarks.machine import is_idle
from benchmarks.programs.spread_rank import ALONE, SPREADS
from benchmarks.queensland import run_file
from benchmarks.rounds import output
from benchmarks.suites.store.data import copies
from steppe.comm import find_library, find_mpiexec
from steppe.errors import Mistake

RANKS = (1, 2, 4)
ROUNDS, QUICK_ROUNDS = 5, 1
MOST_WAITING = 0.05  # of the step loop, where a processor is spare


def figures(quick: bool) -> list[Figure]:
    """Wall time of the step loop, with what the slowest rank waited and what was sent in its note; waiting of what "auto" takes."""
    path, store = run_file(2 if quick else 10), copies()["bits"]
    rounds, found = QUICK_ROUNDS if quick else ROUNDS, []
    try:
        mpiexec, kind = find_mpiexec(find_library()), "over MPI"
    except Mistake:
        mpiexec, kind = [], "as threads"
    for ranks in RANKS:
        program = [sys.executable, "-m", "benchmarks.programs.spread_rank", str(path), str(store), str(rounds)]
        command = [*mpiexec, "-n", str(ranks), *program, "0"] if mpiexec else [*program, str(ranks)]
        told = json.loads(output(command).splitlines()[-1])
        name = f"{ranks} ranks {kind}" if ranks > 1 else "1 rank"
        for spread in (ALONE, *SPREADS):
            walls, stalls = ([sample[what] for sample in told[spread]] for what in ("wall", "stall"))
            sent = told[spread][0]["sent"] / 1e6
            waited = float(np.median(np.array(stalls) / np.array(walls)))
            chosen = f" ({told['chosen']})" if spread == "auto" else ""
            predicted = told["predicted"].get(spread)
            note = f"{waited:.1%} waiting, {sent:.0f} MB sent" + (f", {predicted:.2f} ms a slab predicted" if predicted else "")
            found.append(Figure(f"{name}, {spread}{chosen}", float(np.median(walls)), "s", note=note, samples={"wall": walls}))
            if spread == "auto":
                spare = ranks < len(os.sched_getaffinity(0)) and is_idle()
                limit = MOST_WAITING if spare else None
                note = "" if spare else "no processor spare, for context"
                found.append(Figure(f"{name}, waiting / step loop, auto", waited, at_most=limit, note=note))
    return found
