"""Small air runs in a folder, with meteorology of the example."""

import runpy
from functools import cache
from pathlib import Path
from typing import Any

import xarray

from tests.scenario import EXAMPLES


@cache
def _made(cells: int, levels: int, every: float, hours: float) -> xarray.Dataset:
    found: xarray.Dataset = runpy.run_path(str(EXAMPLES / "make_meteorology.py"))["meteorology"](cells, hours, every, levels)
    return found


def example(folder: Path) -> Path:
    """The run file of the example, on 12 x 12 x 6 cells, with its meteorology."""
    _made(12, 6, 60.0, 24.0).to_zarr(folder / "meteorology.zarr", mode="w", consolidated=False)
    text = (EXAMPLES / "air.toml").read_text().replace('"../runs/air"', '"out"').replace("../runs/", "")
    (folder / "run.toml").write_text(text)
    return folder / "run.toml"


def air_run(
    folder: Path, parameters: str = "", cells: int = 12, levels: int = 6, step: str = "10 minutes", more: str = "", hours: float = 24.0,
    change: Any = None, every: str = "1 hour",
) -> Path:  # fmt: skip
    """Writes a run of a day on so many cells and levels, and its meteorology, which `change` may change; gives the run file."""
    fields = _made(cells, levels, 60.0, hours)
    store = folder / "meteorology.zarr"
    if change or not store.exists():
        (change(fields.copy(deep=True)) if change else fields).to_zarr(store, mode="w", consolidated=False)
    path = folder / "run.toml"
    path.write_text(
        f"""model = "air"
time = {{ start = 2001-06-21, end = 2001-06-21, step = "{step}" }}
forcing = {{ fields = "meteorology.zarr" }}
{more}
[parameters]
{parameters}
[output]
path = "out"
variables = ["O3"]
every = "{every}"
reduce = "last"
"""
    )
    return path
