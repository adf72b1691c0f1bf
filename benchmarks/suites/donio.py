"""DONIO's test (paper 004, Tables 1 to 3): a file in memory beside the same file through the page cache, with two ranks.

An element-to-vertex list is written column by column by all ranks, interleaved, and read again. Three peers:

every write durable        O_DSYNC, as a file system without a cache: each write waits for the disk
0.2 ms a request           the latency of a network is added to each request to the disk, on both sides
page cache, one fsync      the fastest way without a file in memory; its fsync alone takes a third of its time
"""

import csv
import json
import sys
import tempfile
from collections.abc import Iterator
from typing import Any

import numpy as np
from tests.shared import SHARED

from benchmarks.figures import Figure, MissingPeer
from benchmarks.machine import is_idle
from benchmarks.programs.donio_ranks import PHASES
from benchmarks.rounds import QUICK_ROUNDS, ROUNDS, output, ratio
from steppe.comm import find_library, find_mpiexec

RANKS = 2
PAPER = SHARED / "reference" / "donio_tables.csv"
OURS, CACHED = "memory file", "page cache, one fsync"


def figures(quick: bool) -> list[Figure]:
    """The ratios of times, by grid; prints the tables of the paper with ours beside."""
    if not PAPER.exists():
        raise MissingPeer(f'The tables of the paper are not at "{PAPER}".')
    idle, rounds = is_idle(), QUICK_ROUNDS if quick else 2 * ROUNDS
    with tempfile.TemporaryDirectory(dir=".") as folder:  # on a disk: /tmp may be memory
        program = [sys.executable, "-m", "benchmarks.programs.donio_ranks", folder, str(rounds), "1" if quick else str(QUICK_ROUNDS)]
        told = json.loads(output([*find_mpiexec(find_library()), "-n", str(RANKS), *program]).splitlines()[-1])
    for grid, found in told.items():
        print(table(grid, found), flush=True)
    return [figure for grid, found in told.items() for figure in of_grid(grid, found, idle)]


def table(grid: str, found: dict[str, Any]) -> str:
    """Seconds by phase as in the paper: its own, then the medians of each way here."""
    lines = [
        f"{grid} vertices, {found['bytes']:,} bytes in {found['writes']:,} writes",
        f"{'':34}{'ranks':>6}{''.join(map('{:>10}'.format, PHASES))}",
    ]
    with PAPER.open() as file:
        for row in csv.DictReader(file):
            if row["grid"] == grid:
                if int(row["file_bytes"]) != found["bytes"]:
                    raise MissingPeer(f"The file of {grid} has {found['bytes']} bytes, in the paper {row['file_bytes']}.")
                lines.append(
                    _line(
                        f"Paragon, {row['library']}, Table {row['table']}",
                        row["processors"],
                        [float(row[f"{name}_s"]) for name in PHASES],
                        2,
                    )
                )
    for ways in (found["cached"], found["durable"]):
        for way, times in ways.items():
            lines.append(_line(way, str(RANKS), (np.median(times, axis=0) / 1e3).tolist(), 5))
    return "\n".join([*lines, ""])


def _line(name: str, ranks: str, seconds: list[float], digits: int) -> str:
    return f"{name:34}{ranks:>6}" + "".join(f"{each:10.{digits}f}" for each in seconds)


def of_grid(grid: str, found: dict[str, Any], idle: bool) -> Iterator[Figure]:
    """The figures of one grid. idle: the machine had no other work, so a single round means something."""
    cached, durable = ({way: np.array(times) for way, times in found[what].items()} for what in ("cached", "durable"))
    for name, ways, peer, mine, target in (
        ("every write durable", durable, "every write durable", OURS, 15.0),
        ("0.2 ms a request", durable, "page cache, 0.2 ms a request", "memory file, 0.2 ms a request", 15.0),
        (CACHED, cached, CACHED, OURS, 1.5),
        ("MPI-IO, one sync", cached, "MPI-IO, one sync", OURS, None),
        (f"{CACHED}, to a file that another program wrote", cached, CACHED, "memory file, image forgotten", None),
    ):
        yield _ratio(f"{grid}, {name} / memory file", ways[peer].sum(axis=1), ways[mine].sum(axis=1), target)
    both = [PHASES.index("write"), PHASES.index("read")]
    peer, mine = cached[CACHED], cached[OURS]
    yield _ratio(f"{grid}, {CACHED} / memory file, write and read", peer[:, both].sum(axis=1), mine[:, both].sum(axis=1), 3.0)
    worst = float((peer.sum(axis=1) / mine.sum(axis=1)).min())
    note = "" if idle else "machine not idle, for context"
    yield Figure(f"{grid}, {CACHED} / memory file, worst round", worst, "x", at_least=1.0 if idle else None, note=note)
    yield Figure(f"{grid}, different files that the ways made", len(found["checksums"]), at_most=1.0)


def _ratio(name: str, peer: np.ndarray, mine: np.ndarray, target: float | None) -> Figure:
    value, spread = ratio(peer.tolist(), mine.tolist())
    note = f"{np.median(peer):.1f} ms / {np.median(mine):.1f} ms, {spread}"
    return Figure(name, value, "x", at_least=target, note=note, samples={"peer ms": peer.tolist(), "memory file ms": mine.tolist()})
