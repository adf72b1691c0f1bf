"""Australia at 0.05 degree: one year is run and measured, a hundred are predicted from it."""

import json
import sys
from pathlib import Path

import numpy as np

from benchmarks.figures import Figure
from benchmarks.machine import is_idle
from benchmarks.queensland import FOLDER, STEPPE
from benchmarks.rounds import output
from benchmarks.suites.store.data import shards_size, size
from steppe.io import ForcingStore
from steppe.io.forcing.pack_file import raw_bytes

PROBE = "benchmarks.suites.store.australia_probe"
YEARS, THREADS = 100, 2
RUN_FILE = f"""\
model = "pasture"
time = {{ start = 1990-01-01, end = 1990-12-31 }}
grid = {{ region = "australia" }}
forcing = {{ store = "australia.zarr" }}
parameters = {{ plant = "mitchell", soil = "open-downs", stocking_rate = 0.1, kangaroo_density = 10.0, intake_yield = 300.0 }}

[output]
path = "run-australia"
variables = ["rainfall", "total_standing_dry_matter", "growth", "soil_water_index"]
every = "1 month"

[engine]
threads = {THREADS}
"""


def run_file() -> Path:
    """The run file; its store of one generated year, with the fast copy in bits, is there afterwards."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    store = FOLDER / "australia.zarr"
    if not store.exists():
        partial = store.with_suffix(".partial")
        output([STEPPE, "ingest", "generate", str(partial), "--region", "australia", "--start", "1990-01-01", "--end", "1990-12-31"])
        partial.rename(store)
    output([STEPPE, "forcing", "pack", str(store), "--bits"])
    path = FOLDER / "australia.toml"
    path.write_text(RUN_FILE)
    return path


def figures(quick: bool) -> list[Figure]:
    """One year in a process of its own, some times; what a hundred would take of time and of disk."""
    path = run_file()
    found = [json.loads(output([sys.executable, "-m", PROBE, str(path)])) for _ in range(2 if quick else 5)]
    middle = {name: float(np.median([each[name] for each in found])) for name in found[0]}
    store = ForcingStore.open(FOLDER / "australia.zarr")
    days = next(iter(store.variables.values())).axis.rows
    cell_days, whole = store.n_cells * days, store.n_cells * 36_525
    times = whole / cell_days
    shards, bits = shards_size(store), size(store.path / "pack")
    results = size(FOLDER / "run-australia" / "output.zarr")
    idle = is_idle()
    note = f"{THREADS} threads" if idle else "machine not idle, for context"
    clock, busy = whole / cell_days * middle["wall"], whole / cell_days * middle["cpu"] / THREADS
    return [
        Figure("Australia, one year", cell_days / 1e6, "M cell-days", note=f"{store.n_cells:,} cells"),
        Figure("one year, by the clock", middle["wall"], "s", note=f"{middle['start']:.1f} s before the first step"),
        Figure(
            "one year, CPU of all threads", middle["cpu"], "s", note=f"{cell_days / middle['cpu'] / 1e6:.3g} M cell-days a second of CPU"
        ),
        Figure(
            "peak memory of the process",
            middle["peak"] / 1e9,
            "GB",
            at_most=2.0,
            note=f"announced beyond the program: {middle['announced'] / 1e6:.0f} MB",
        ),
        Figure("waiting / computing", middle["stall"] / (THREADS * middle["wall"] - middle["stall"])),
        Figure(
            "weather of a year, shards",
            shards / 1e6,
            "MB",
            note=f"{shards / cell_days:.2f} bytes a cell-day; {raw_bytes(store) / 1e6:.0f} MB as plain integers",
        ),
        Figure("weather of a year, bits", bits / 1e6, "MB", note=f"{bits / cell_days:.2f} bytes a cell-day"),
        Figure("results of a year", results / 1e6, "MB"),
        Figure(
            "predicted: 100 years, CPU / threads", busy / 60, "minutes", at_most=6.0, note=f"on {THREADS} processors; {whole:.3g} cell-days"
        ),
        Figure("predicted: 100 years, by the clock", clock / 60, "minutes", at_most=6.0 if idle else None, note=note),
        Figure(
            "predicted: weather of 100 years",
            times * (shards + bits) / 1e9,
            "GB",
            note=f"shards {times * shards / 1e9:.1f}, bits {times * bits / 1e9:.1f}",
        ),
    ]
