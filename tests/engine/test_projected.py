"""A run on a raster of a projection, from the maps of a regional climate model to the picture."""

import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import xarray

import steppe
from steppe.cli import run_command
from steppe.engine import Simulation
from steppe.errors import Exit, ForcingError, ModelError
from steppe.grid import Points, Raster, read_grid
from steppe.ingest import Choices, Product, ingest_maps
from steppe.io import unpack
from steppe.jobs.picture import draw
from tests.engine.test_ranks import on_ranks
from tests.grid.test_projected import ALBERS, MASK
from tests.grid.test_projected import write as write_mask
from tests.scenario import EXAMPLES

RUN = """\
model = "bucket.py"
[time]
start = 1990-01-01
end = 1990-02-28
[grid]
file = "weather.zarr"
[forcing]
store = "weather.zarr"
[output]
path = "out"
variables = ["water", "rain"]
every = "1 month"
[[output.series]]
name = "mean"
variables = ["rain"]
region = "all"
"""
SPREAD = """\
import numpy as np
from steppe.models import FieldModel, Needs, Role, Variable

class Spread(FieldModel):
    name, version = "spread", "1"
    needs = Needs(unit="boxes", halo={"y": 0, "x": 1})
    variables = {"smoke": Variable("smoke", ("y", "x"), "1", "float64", Role.STATE, "smoke", initial=1.0)}

    def compute(self, where):
        y, x = where
        west = y, slice(x.start - 1, x.stop - 1)
        self.new[0][where] = np.where(self.active[west], self.now[0][west] + 1.0, 1.0)
        self.new[0][where] = np.minimum(self.new[0][where], 2.0)

MODEL = Spread
"""
SPREAD_RUN = """\
model = "spread.py"
time = { start = 1990-01-01, end = 1990-01-03 }
grid = { file = "mask.nc" }
output = { path = "out", variables = ["smoke"], every = "1 day", reduce = "last" }
"""
Y, X = -2_700_000.0 - 5000.0 * np.arange(30), 1_000_000.0 + 5000.0 * np.arange(80)
CHOICES = Choices(day_shift={"rain": 0, "pan": 0})
PRODUCT = Product("a test", "a regional model")


def rain_and_pan() -> dict[str, np.ndarray]:
    rain = np.round(np.abs(np.arange(59)[:, None, None] % 5 + np.arange(30)[:, None] * 0.1 + np.arange(80) * 0.2), 1)
    return {"pr": np.where(MASK, rain, np.nan), "evap_pan": np.where(MASK, 5.0, np.nan) + 0.0 * rain}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("projected")
    data = {name: (("time", "y", "x"), values, {"units": "mm", "grid_mapping": "albers"}) for name, values in rain_and_pan().items()}
    axes = {
        "time": ("time", np.arange(59), {"units": "days since 1990-01-01"}),
        "y": ("y", Y, {"standard_name": "projection_y_coordinate", "units": "m"}),
        "x": ("x", X, {"standard_name": "projection_x_coordinate", "units": "m"}),
    }
    xarray.Dataset({**data, "albers": ((), 0, ALBERS)}, axes).to_netcdf(folder / "model.nc")
    ingest_maps([folder / "model.nc"], folder / "weather.zarr", None, CHOICES, PRODUCT)
    shutil.copy(EXAMPLES / "bucket.py", folder)
    (folder / "run.toml").write_text(RUN)
    return folder


def test_the_store_keeps_the_projection_and_the_places(made):
    with xarray.open_zarr(made / "weather.zarr", consolidated=False) as dataset:
        assert dataset["crs"].attrs["grid_mapping_name"] == "albers_conical_equal_area"
        assert dataset["rain"].attrs["grid_mapping"] == "crs"
        assert dataset["cell"].attrs["compress"] == "y x"
        assert dataset["y"].attrs["standard_name"] == "projection_y_coordinate"
    assert read_grid(file=made / "weather.zarr") == read_grid(file=write_mask(made / "mask.nc"))


def test_a_grid_out_of_a_store_needs_no_library_of_projections(made):
    text = "import sys, pathlib, steppe.grid as g; g.read_grid(file=pathlib.Path('weather.zarr')); print('pyproj' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", text], cwd=made, check=True, capture_output=True, text=True)
    assert done.stdout == "False\n"


def test_a_run_gives_maps_of_the_projection(made, tmp_path, monkeypatch):
    shutil.copytree(made, tmp_path / "run")
    monkeypatch.chdir(tmp_path / "run")
    assert run_command(["run", "run.toml", "--quiet"]) == Exit.DONE
    with steppe.open("out") as dataset:
        maps = unpack(dataset["rain"], dataset)
        assert maps.dims == ("time", "y", "x")
        np.testing.assert_allclose(maps["x"], X)
        np.testing.assert_allclose(maps.values[0], rain_and_pan()["pr"][:31].mean(axis=0), rtol=1e-5)
        assert dataset["crs"].attrs["standard_parallel"] == ALBERS["standard_parallel"]
    assert draw(Path("out"), Path("a.png")).stat().st_size > 10_000
    sim = steppe.Simulation("run.toml", "other")
    sim.step(3)
    water = sim["water"]
    assert water.dims == ("y", "x")
    for turned in (
        water[::-1],
        water[::-1].rename(y="row").assign_coords(row=("row", Y[::-1], {"standard_name": "projection_y_coordinate"})),
    ):
        sim.set("water", 0.0)
        sim.set("water", turned)
        np.testing.assert_array_equal(sim["water"], water)
    with pytest.raises(ModelError, match=r'"water" has the dims \(lat, lon\), and not the coordinates .* expected \(y, x\)'):
        sim.set("water", water.rename(y="lat", x="lon").drop_attrs())
    sim.close()


def test_maps_of_a_projection_serve_coarser_cells_points_and_degrees(made, tmp_path):
    file = made / "model.nc"
    coarse = read_grid(file=write_mask(tmp_path / "coarse.nc", np.ones((15, 40), bool), Y[::2] - 2500.0, X[::2] + 2500.0))
    ingest_maps([file], tmp_path / "coarse.zarr", coarse, CHOICES._replace(intersect=True), PRODUCT)
    with steppe.open(tmp_path / "coarse.zarr") as dataset:
        assert dataset["rain"].attrs["regridding"] == "area mean"
        blocks = rain_and_pan()["pr"].reshape(59, 15, 2, 40, 2).transpose(0, 1, 3, 2, 4).reshape(59, 600, 4)
        expected = np.nanmean(blocks[:, dataset["cell"].values], axis=2)
        np.testing.assert_allclose(dataset["rain"].values, expected, atol=0.0501)
    own = read_grid(file=made / "weather.zarr")
    points = Points(("p",), own.cell_lat[500:501] + 0.005, own.cell_lon[500:501] - 0.005)
    ingest_maps([file], tmp_path / "points.zarr", points, CHOICES, PRODUCT)
    with steppe.open(tmp_path / "points.zarr") as one, steppe.open(made / "weather.zarr") as every:
        np.testing.assert_allclose(one["rain"].values[:, 0], every["rain"].values[:, 500], atol=1e-5)
    lat, lon = float(own.cell_lat.mean()), float(own.cell_lon.mean())
    raster = Raster(lat, -0.1, lon, 0.1, np.ones((2, 2), bool))
    with pytest.raises(
        ForcingError, match=r'those of the projection "albers_conical_equal_area", the grid\'s those of latitude and longitude'
    ):
        ingest_maps([file], tmp_path / "degrees.zarr", raster, CHOICES, PRODUCT)
    report = ingest_maps([file], tmp_path / "degrees.zarr", raster, CHOICES._replace(methods={"": "nearest"}, intersect=True), PRODUCT)
    assert 1 <= report.cells <= 4


def test_a_model_with_neighbours_runs_on_the_cells_of_a_projected_mask(tmp_path: Path) -> None:
    write_mask(tmp_path / "mask.nc")
    (tmp_path / "spread.py").write_text(SPREAD)
    grid = read_grid(file=tmp_path / "mask.nc")
    found = []
    for ranks in (1, 3):
        (tmp_path / "run.toml").write_text(SPREAD_RUN.replace('"out"', f'"{ranks}"'))
        on_ranks(ranks, tmp_path / "run.toml", Simulation.run)
        with steppe.open(tmp_path / f"{ranks}") as results:
            found.append(results["smoke"].values)
    assert found[0].tobytes() == found[1].tobytes()
    smoke = grid.unpack(found[0][-1])
    west = np.pad(MASK, ((0, 0), (1, 0)), mode="edge")[:, :-1]  # whether the neighbour to the west counts; behind a wall as before it
    np.testing.assert_array_equal(smoke[MASK], np.where(west, 2.0, 1.0)[MASK])
