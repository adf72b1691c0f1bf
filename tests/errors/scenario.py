"""The small whole run to which mistakes are done."""

import shutil
from pathlib import Path

import numpy as np

from steppe.grid import read_grid
from steppe.ingest import generate
from tests.scenario import write_mask

RUN = """\
model = "pasture"

[time]
start = 1990-01-10
end = 1990-06-05

[grid]
file = "mask.zarr"

[forcing]
store = "weather.zarr"

[parameters]
plant = "mitchell"
soil = "open-downs"
stocking_rate = 0.1

[output]
path = "out"
variables = ["growth", "runoff"]
every = "1 month"

[[output.series]]
name = "means"
variables = ["growth"]
every = "1 day"
region = "all"

[engine]
threads = 2
"""


def make(folder: Path) -> None:
    """Writes mask, weather and run file."""
    mask = np.ones((7, 6), dtype=bool)
    mask[0, 0] = False
    write_mask(folder / "mask.zarr", mask)
    generate(folder / "weather.zarr", read_grid(file=folder / "mask.zarr"), "1990-01-01", "1990-08-15")
    (folder / "run.toml").write_text(RUN)


def copy(made: Path, folder: Path) -> None:
    """A scenario of one's own."""
    shutil.copytree(made, folder)
