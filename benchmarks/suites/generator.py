"""How fast weather is generated: a piece of 0.05 degree on one thread, what of it is interpolation, and a whole shard of a store."""

import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks.figures import Figure
from benchmarks.rounds import QUICK_ROUNDS, ROUNDS, alternate, measured, thread_seconds
from steppe.grid import Raster
from steppe.ingest import generate
from steppe.ingest.generate import PIECE_DAYS
from steppe.ingest.generator import Generator
from steppe.ingest.generator.lattice import Patch
from steppe.ingest.generator.weather import FINE, LARGE, MIDDLE, SLOW, SMALL

AUSTRALIA = 280_000 * 365  # [1] land cells of 0.05 degree times the days of a year
FIELDS = {SLOW: 1, LARGE: 4, MIDDLE: 4, SMALL: 1, FINE: 1}  # interpolated for each day
FIRST = 51_134  # 1990-01-01


def raster(rows: int, columns: int) -> Raster:
    """Cells of 0.05 degree in inland Queensland."""
    return Raster(-22.0, -0.05, 143.0, 0.05, np.ones((rows, columns), dtype=bool))


def figures(quick: bool) -> list[Figure]:
    """One piece and its interpolation in alternation; then a store, once."""
    rounds = QUICK_ROUNDS if quick else ROUNDS
    piece = raster(32, 64)
    generator = Generator(piece.cell_lat, piece.cell_lon, seed=1)
    patches = {lattice: Patch(lattice, piece.cell_lat, piece.cell_lon) for lattice in FIELDS}
    noise = {lattice: patch.noise(FIRST, PIECE_DAYS + 2, seed=1)[0] for lattice, patch in patches.items()}

    def whole() -> float:
        return thread_seconds(lambda: generator.weather(FIRST, PIECE_DAYS))

    def interpolation() -> float:
        return thread_seconds(lambda: [patches[lattice].spread(noise[lattice]) for lattice, times in FIELDS.items() for _ in range(times)])

    samples = alternate({"piece": measured(whole), "interpolation": measured(interpolation)}, rounds)
    seconds, fields = (float(np.median(samples[name])) for name in ("piece", "interpolation"))
    each = seconds / (piece.n_cells * PIECE_DAYS)
    days, grid = (64, raster(64, 64)) if quick else (384, raster(160, 128))
    with tempfile.TemporaryDirectory() as folder:
        store = min(seconds_of_store(Path(folder) / f"{k}.zarr", grid, days) for k in range(QUICK_ROUNDS))
    return [
        Figure("a cell-day of six variables, one thread", each * 1e9, "ns", samples=samples),
        Figure(
            "of it, interpolating eleven fields", fields / seconds, "", note="the rest is arithmetic on whole arrays: memory bounds both"
        ),
        Figure("a year of Australia at 0.05 degree, made", each * AUSTRALIA, "s CPU", at_most=120.0),
        Figure(
            "the same, made, packed and written",
            store / (grid.n_cells * days) * AUSTRALIA,
            "s CPU",
            at_most=180.0,
            note="one shard, scaled",
        ),
    ]


def seconds_of_store(path: Path, grid: Raster, days: int) -> float:
    """CPU time of all threads for a store of so many days."""
    last = str(np.datetime64("1990-01-01") + (days - 1))
    begin = time.process_time()
    generate(path, grid, "1990-01-01", last)
    return time.process_time() - begin
