"""A run on a Gaussian grid, from the run file to results, and served: its latitudes are those of the quadrature everywhere."""

import json
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import httpx
import netCDF4
import numpy as np
import pytest
import xarray

import steppe
from steppe.cli import run_command
from steppe.client import RefusedError, Run
from steppe.grid import Gaussian
from tests.client.served import TOKENS, Served
from tests.engine.test_ranks import on_ranks
from tests.engine.test_simulation import digest

ROOT = Path(__file__).parents[2]
GRID = Gaussian(16)
RUN_FILE = f"""\
model = "{ROOT / "examples" / "diffusion.py"}"
time = {{ start = 2001-03-05, end = 2001-03-24 }}
grid = {{ gaussian = 16 }}
initial = {{ concentration = 1.0 }}

[[event]]
date = 2001-03-05
set = {{ concentration = 8.0 }}
region = {{ box = [-30, 40, 50, 90] }}

[output]
path = "out"
variables = ["concentration"]
every = "5 days"
reduce = "last"

[[output.series]]
name = "mean"
variables = ["concentration"]
"""


def written(folder: Path) -> Path:
    (folder / "run.toml").write_text(RUN_FILE)
    return folder / "run.toml"


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("gaussian")
    steppe.run(written(folder))
    return folder / "out"


def test_ranks_do_not_change_a_byte(finished: Path, tmp_path: Path) -> None:
    on_ranks(4, written(tmp_path), lambda simulation: simulation.run())
    assert digest(tmp_path / "out") == digest(finished)


def test_the_store_has_its_latitudes_their_edges_and_the_areas_of_the_quadrature(finished: Path) -> None:
    store = xarray.open_zarr(finished / "output.zarr", consolidated=False)
    np.testing.assert_array_equal(store["lat"], GRID.lat)
    np.testing.assert_array_equal(store["lat_bnds"], GRID.lat_bnds)
    np.testing.assert_array_equal(store["lon"], GRID.lon)
    np.testing.assert_array_equal(store["cell_area"], GRID.cell_area)
    assert store["lat"].attrs["bounds"] == "lat_bnds"


def test_opened_results_are_on_its_axes_and_the_mean_is_by_weights(finished: Path) -> None:
    with steppe.open(finished) as results, steppe.open(finished, "mean") as means:
        maps = steppe.unpack(results["concentration"], results)
        np.testing.assert_array_equal(maps["lat"], GRID.lat)
        _, weights = np.polynomial.legendre.leggauss(16)
        last = maps[-1].mean("lon") @ xarray.DataArray(weights / 2.0, dims="lat")
        assert float(means["concentration"][-1, 0]) == pytest.approx(float(last), rel=1e-13)


def test_it_is_checked_drawn_and_exported_and_a_geotiff_is_refused(finished: Path, capfd: pytest.CaptureFixture[str]) -> None:
    folder = finished.parent
    assert run_command(["check", str(folder / "run.toml")]) == 0
    assert "512 cells" in capfd.readouterr().out
    assert run_command(["plot", str(finished), "--output", str(folder / "map.png"), "--at", "87,10"]) == 0
    assert run_command(["export", str(finished), "--netcdf", str(folder / "all.nc")]) == 0
    with xarray.open_dataset(folder / "all.nc") as exported:
        np.testing.assert_array_equal(exported["lat"], GRID.lat)
        np.testing.assert_array_equal(exported["lat_bnds"], GRID.lat_bnds)
    capfd.readouterr()
    assert run_command(["export", str(finished), "--cog", str(folder / "maps")]) == 2
    assert "holds a Gaussian grid, and a GeoTIFF has even rows only. Export it with --netcdf or --csv." in capfd.readouterr().err


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    server = Served(written(tmp_path_factory.mktemp("served")))
    yield server
    server.stop()


@pytest.fixture(scope="module")
def run(server: Served) -> Iterator[Run]:
    with server.connect() as run:
        run.step(3)
        yield run


def test_a_served_map_and_its_parts_have_the_latitudes_of_their_rows(run: Run) -> None:
    np.testing.assert_array_equal(run.get("concentration")["lat"], GRID.lat)
    np.testing.assert_array_equal(run.get("concentration", stride=3)["lat"], GRID.lat[::3])
    np.testing.assert_array_equal(run.get("concentration", box=(0, 30, 90, 90))["lat"], GRID.lat[GRID.lat >= 30.0])
    np.testing.assert_array_equal(run.dataset()["lat"], GRID.lat)
    pixels = run.get("concentration", width=8)["lat"].values  # of four rows each
    np.testing.assert_allclose(pixels, (GRID.lat_bnds[::4, 0] + GRID.lat_bnds[3::4, 1]) / 2.0, rtol=1e-12)


EAST = [-22.5, -11.25, 0.0, 11.25, 22.5]  # columns of a box over the first meridian
ACROSS = {"box": (-25, 40, 25, 90)}


def test_a_box_over_the_first_meridian_has_its_columns_from_west_to_east(server: Served, run: Run) -> None:
    whole = run.get("concentration")
    rows = GRID.lat >= 40.0
    expected = whole.values[np.ix_(rows, [30, 31, 0, 1, 2])]
    for step in (1, 2):
        found = run.get("concentration", **ACROSS, stride=step)
        assert found["lon"].values.tolist() == EAST[::step]
        np.testing.assert_array_equal(found.values, expected[::step, ::step])
    pixels = run.get("concentration", **ACROSS, width=1)
    assert pixels["lon"].values.tolist() == [0.0]
    for form in ("json", "coverage-json", "netcdf"):
        address = f"{server.address}/api/v1/runs/out/data/concentration?format={form}&box=-25,40,25,90"
        content = httpx.get(address, headers={"Authorization": f"Bearer {TOKENS['view']}"}).content
        if form == "netcdf":
            with netCDF4.Dataset("x", memory=content) as data:
                assert data["lon"][:].tolist() == EAST
                assert data["lon_bnds"][0].tolist() == [-28.125, -16.875]
                np.testing.assert_array_equal(data["concentration"][0], expected)
        elif form == "json":
            assert json.loads(content)["box"][::2] == [-28.125, 28.125]
            np.testing.assert_array_equal(json.loads(content)["values"], expected)
        else:
            assert json.loads(content)["domain"]["axes"]["x"]["values"] == EAST


def test_one_number_of_the_whole_grid_is_not_set_in_a_region(run: Run) -> None:
    orders = len(run.log())
    with pytest.raises(RefusedError, match=r'^"rate" is one number for the whole grid\. Set it without a region\.'):
        run.set("rate", 0.2, **ACROSS)
    assert len(run.log()) == orders


@pytest.mark.parametrize("step", [2, 3, 4])
def test_a_table_of_a_box_over_the_first_meridian_has_the_columns_of_its_map(server: Served, run: Run, step: int) -> None:
    token = {"Authorization": f"Bearer {TOKENS['view']}"}
    address = f"{server.address}/api/v1/runs/out/data/concentration?format=csv&box=-25,40,25,90&stride={step}"
    table = np.array([line.split(",")[1:] for line in httpx.get(address, headers=token).text.splitlines()[1:]], float)
    there = run.get("concentration", **ACROSS, stride=step).stack(place=("lat", "lon"))
    expected = np.stack([there.lon, there.lat, there.values], axis=1)
    for each in (table, expected):
        each[:, 0] %= 360.0
    np.testing.assert_allclose(sorted(table.tolist()), sorted(expected.tolist()), rtol=1e-9)


def test_a_box_over_the_first_meridian_is_watched_and_set_as_it_was_got(run: Run) -> None:
    seen = next(run.watch("concentration", **ACROSS))
    assert seen["lon"].values.tolist() == EAST
    before = run.get("concentration", **ACROSS)
    np.testing.assert_allclose(seen.values, before.values, rtol=1e-3, atol=1e-3)
    run.set("concentration", before * 2.0, **ACROSS)
    np.testing.assert_array_equal(run.get("concentration", **ACROSS).values, before.values * 2.0)


def test_a_place_is_in_the_row_between_whose_edges_it_lies(run: Run) -> None:
    field = run.get("concentration").values
    for row in (0, 1, 7, 15):
        for latitude in (GRID.lat_bnds[row] * [0.999999, 1.000001] if row < 8 else GRID.lat_bnds[row] * [1.000001, 0.999999]).tolist():
            found = run.series("concentration", [(10.0, max(min(latitude, 90.0), -90.0))], date="2001-03-07")
            assert float(found.values[-1, 0]) == field[row, 1]


@pytest.mark.parametrize(("form", "query"), [("csv", ""), ("csv", "&width=8"), ("coverage-json", ""), ("coverage-json", "&width=8")])
def test_formats_with_places_have_exact_ones(server: Served, run: Run, form: str, query: str) -> None:
    expected = GRID.lat if not query else (GRID.lat_bnds[::4, 0] + GRID.lat_bnds[3::4, 1]) / 2.0
    request = urllib.request.Request(f"{server.address}/api/v1/runs/out/data/concentration?format={form}{query}")
    request.add_header("Authorization", f"Bearer {TOKENS['view']}")
    with urllib.request.urlopen(request) as answer:
        content = answer.read()
    if form == "csv":
        found = sorted({float(row.split(",")[2]) for row in content.decode().splitlines()[1:]}, reverse=True)
    else:
        found = json.loads(content)["domain"]["axes"]["y"]["values"]
    np.testing.assert_allclose(found, expected, rtol=1e-9)
