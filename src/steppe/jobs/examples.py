"""Runs to try Steppe with: they need no file and no network."""

import atexit
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

from steppe.engine.script_session import Event
from steppe.engine.simulation import Simulation
from steppe.errors import FolderError, ModelError, nearest
from steppe.files import place
from steppe.grid import Raster, builtin_grid

START, END = "1990-01-01", "1991-12-31"
COARSER = 4  # cells of the built-in grid of Queensland along a side of a cell: 0.4 degree, 943 cells
PASTURE = f"""\
# The Pasture Model over Queensland on {COARSER / 10:g} degree. The weather is generated: no day of it is real.
model = "pasture"

[time]
start = {START}
end = {END}                           # inclusive

[forcing]
store = "weather.zarr"                     # the grid of the run is that of its weather

[parameters]                               # `steppe describe pasture` shows all of them
plant = "native"
soil = "roma-red-earth"
stocking_rate = 0.1                        # animals a hectare
animal_weight = 400.0                      # kg

[output]
path = "run"
variables = ["growth", "total_standing_dry_matter", "soil_water_index"]
every = "1 month"
reduce = "mean"

[[output.series]]
name = "means"
variables = ["rainfall", "growth", "total_standing_dry_matter"]
every = "1 day"
region = "all"
"""
EXAMPLES = {"pasture": PASTURE}
"""Name of an example -> its run file."""


def example(name: str = "pasture", folder: Path | str | None = None, *, on_event: Callable[[Event], None] | None = None) -> Simulation:
    """A small run to try Steppe with: two years of one of Steppe's models, on generated weather. It needs no file and no network.

    Parameters
    ----------
    name
        "pasture": the Pasture Model on 943 cells of Queensland.
    folder
        Keeps weather.zarr, run.toml and the run folder there; a folder with an example is opened again and its run continued.
        Default: a temporary folder, which is removed when Python ends.
    on_event
        As of `Simulation`.

    Raises
    ------
    ModelError
        There is no example of this name.
    FolderError
        `folder` holds something else, or cannot be written.
    """
    if name not in EXAMPLES:
        raise ModelError(f'There is no example "{name}".{nearest(name, EXAMPLES)} For a model of your own: steppe new model NAME.')
    made = _temporary(name) if folder is None else Path(folder)
    if not (made / "run.toml").exists():
        _write(made, EXAMPLES[name])
    return Simulation(made / "run.toml", on_event=on_event)


def _temporary(name: str) -> Path:
    above = Path(tempfile.mkdtemp(prefix="steppe-example-"))
    atexit.register(shutil.rmtree, above, ignore_errors=True)
    return above / name


def _write(folder: Path, text: str) -> None:
    """Makes the folder of an example, whole or not at all."""
    from steppe.ingest import generate

    if folder.exists() and not (folder.is_dir() and not any(folder.iterdir())):
        raise FolderError(f'"{folder}" is there already and holds no example. Choose an empty or a new folder.')
    aside = folder.with_name(folder.name + ".tmp")
    try:
        shutil.rmtree(aside, ignore_errors=True)
        aside.mkdir(parents=True)
        (aside / "run.toml").write_text(text, encoding="utf-8")
        generate(aside / "weather.zarr", _coarse(builtin_grid("queensland"), COARSER), START, END)
        place(aside, folder)
    except OSError as error:
        raise FolderError(f'"{folder}" cannot be written: {error.strerror}. Choose another folder.') from None
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def _coarse(grid: Raster, n: int) -> Raster:
    """The raster with cells `n` times as wide and as high; a cell is active where most cells in it are. Rows and columns left over go."""
    rows, columns = grid.nlat // n, grid.nlon // n
    share = grid.active[: rows * n, : columns * n].reshape(rows, n, columns, n).mean(axis=(1, 3))
    middle = (n - 1) / 2
    return Raster(grid.lat0 + middle * grid.dlat, n * grid.dlat, grid.lon0 + middle * grid.dlon, n * grid.dlon, np.asarray(share > 0.5))
