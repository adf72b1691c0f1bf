"""Times made from a law, as if they were measured, and series of given times."""

from collections.abc import Callable, Sequence

import numpy as np

from steppe.array_types import Floats
from steppe.measure import SamplePoints
from steppe.measure.laws.formula import SIZES, made_points
from steppe.measure.records import measured

FEW = (2, 4, 8, 12, 16)
MANY = tuple(range(2, 17))


def points_of(
    t0: Callable[[Floats], Floats],
    rate: Callable[[Floats], Floats] | None = None,
    ranks: tuple[int, ...] = FEW,
    sizes: Floats = SIZES,
    seed: int = 1,
    noise: float = 0.05,
    outliers: float = 0.05,
    repeats: int = 100,
) -> SamplePoints:
    """Points of t0 (p) [us] and rate (p) [MB/s]; without a rate of one size."""
    chosen = sizes if rate is not None else sizes[:1]
    p, n = (grid.reshape(-1).astype(float) for grid in np.meshgrid(ranks, chosen, indexing="ij"))
    times = t0(p) * 1e-6 + (n / (rate(p) * 1e6) if rate is not None else 0.0)
    return made_points(times * np.ones_like(p), n, p, noise, outliers, repeats, seed)


def series_of(
    group: str,
    operation: str,
    variant: str,
    size: int,
    times: Floats,
    block: int,
    converged: bool,
    p: int = 1,
    work: float = 0.0,
    unit: str = "",
    passes: Sequence[int] = (),
    placement: str = "",
    start: measured.Start = "barrier",
) -> measured.Measured:
    """A series of block times [s], its name in single words."""
    name = measured.SeriesName(group, operation, variant, placement, start, p, size)
    return measured.series_of(name, times, block, converged, passes, work, unit)
