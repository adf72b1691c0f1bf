"""A small whole run for tests: a raster with holes, generated weather, the bucket model; seconds to make, milliseconds to run."""

import shutil
from pathlib import Path

import numpy as np
import pytest
import xarray

from steppe.grid import read_grid
from steppe.ingest import generate

EXAMPLES = Path(__file__).parents[1] / "examples"
RUN = """\
model = "bucket.py"

[time]
start = 1990-01-10
end = 1991-03-05

[grid]
file = "mask.zarr"

[forcing]
store = "weather.zarr"

[parameters]
capacity = 120.0

[output]
path = "out"
variables = ["water", "runoff"]
every = "1 month"

[[output.series]]
name = "means"
variables = ["runoff", "water"]
every = "1 day"
region = ["all", { box = [144.0, -22.0, 145.0, -20.0] }]

[engine]
threads = 2
"""


def write_mask(path: Path, mask: np.ndarray, size: float = 0.25) -> None:
    """A CF raster of a quarter degree south-east of 20 S, 143 E; or of cells of another size."""
    lat, lon = (start + step * np.arange(n) for start, step, n in ((-20.0, -size, mask.shape[0]), (143.0, size, mask.shape[1])))
    described = {"lat": ("lat", lat, {"units": "degrees_north"}), "lon": ("lon", lon, {"units": "degrees_east"})}
    xarray.Dataset({"land_mask": (("lat", "lon"), mask.astype("int8"))}, described).to_zarr(path, consolidated=False)


def make_scenario(folder: Path, shape: tuple[int, int] = (14, 11), size: float = 0.25, end: str = "1991-05-15") -> Path:
    """Writes mask, weather from January 1990 on, model and run file into `folder`; gives the run file."""
    mask = np.ones(shape, dtype=bool)
    mask[3:6, 2:5] = mask[0, 0] = False
    write_mask(folder / "mask.zarr", mask, size)
    generate(folder / "weather.zarr", read_grid(file=folder / "mask.zarr"), "1990-01-01", end)
    shutil.copy(EXAMPLES / "bucket.py", folder / "bucket.py")
    (folder / "run.toml").write_text(RUN)
    return folder / "run.toml"


def make_years(folder: Path, years: int) -> Path:
    """The same of some hundreds of cells, from January 1990 on for so many years, on one thread; gives the run file."""
    run_file = make_scenario(folder, (22, 20))
    generate(folder / "years.zarr", read_grid(file=folder / "mask.zarr"), "1990-01-01", f"{1990 + years}-12-31")
    text = (
        run_file.read_text().replace("start = 1990-01-10", "start = 1990-01-01").replace("end = 1991-03-05", f"end = {1989 + years}-12-31")
    )
    run_file.write_text(text.replace("weather.zarr", "years.zarr").replace("threads = 2", "threads = 1"))
    return run_file


def copied(run_file: Path, folder: Path) -> Path:
    """The run file of a copy of the scenario."""
    shutil.copytree(run_file.parent, folder, dirs_exist_ok=True)
    return folder / run_file.name


@pytest.fixture(scope="session")
def made_scenario(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The scenario, made once; not to be changed."""
    return make_scenario(tmp_path_factory.mktemp("scenario"))


@pytest.fixture(scope="session")
def made_wide_scenario(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same over more cells, three tiles of them; made once."""
    return make_scenario(tmp_path_factory.mktemp("wide"), (26, 27))


@pytest.fixture
def wide_scenario(made_wide_scenario: Path, tmp_path: Path) -> Path:
    """A run file of one's own over more cells."""
    return copied(made_wide_scenario, tmp_path / "wide")


@pytest.fixture
def scenario(made_scenario: Path, tmp_path: Path) -> Path:
    """A run file of one's own."""
    return copied(made_scenario, tmp_path / "scenario")
