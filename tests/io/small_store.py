"""A small forcing store whose values are known: 403 cells, two tiles, three slabs, packed integers."""

from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from steppe.clock import parse_date
from steppe.grid import Raster
from steppe.io.axis import Axis, day_number
from steppe.io.forcing.variables import WEATHER
from steppe.io.forcing.writer import About, ForcingWriter, Written

START, DAYS = "1990-01-01", 1100
ABOUT = About("A test", "Known values.", "made by a test", "stations")


def small_grid() -> Raster:
    """20 x 24 cells of 0.1 degree without a corner."""
    active = np.ones((20, 24), dtype=bool)
    active[:7, 13:] = False
    return Raster(-20.05, -0.1, 140.05, 0.1, active)


def small_axis() -> Axis:
    return Axis.daily(day_number(parse_date(START)), DAYS)


@cache
def small_values() -> dict[str, NDArray[np.float64]]:
    """Rain, tmin and tmax (days, cells) in steps of 0.1."""
    grid, numbers = small_grid(), np.random.default_rng(7)
    rain = np.round(numbers.gamma(0.3, 8.0, (DAYS, grid.n_cells)), 1)
    tmin = np.round(numbers.normal(15.0, 4.0, (DAYS, grid.n_cells)), 1)
    return {"rain": rain, "tmin": tmin, "tmax": np.round(tmin + numbers.uniform(0.0, 15.0, tmin.shape), 1)}


def write_small_store(path: Path, dtype: str = "int16") -> dict[str, NDArray[np.float64]]:
    """Writes the store; its values."""
    grid, axis, values = small_grid(), small_axis(), small_values()
    with ForcingWriter(path, grid, [Written(WEATHER[name], axis, dtype) for name in values], ABOUT) as writer:
        for name, table in values.items():
            for block in writer.blocks(name):
                writer.write(name, block, table[block.steps.start : block.steps.stop, block.cells.start : block.cells.stop])
    return values
