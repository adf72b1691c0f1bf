"""Transport with the winds of a store: masses, what goes without vertical motion, and storms."""

import re

import numpy as np
import pytest
import xarray

from steppe.cli import run_command
from steppe.engine import Plan, Simulation
from steppe.errors import ForcingError, RunFileError
from steppe.grid import Gaussian, Raster
from steppe.io import StoredRecords, open_results, unpack
from tests.io.test_export import check_cf
from tests.models.transport.driven import Driven
from tests.models.transport.winds import write_winds

RUN = """\
model = "transport"
time = {{ start = 2000-01-01, end = 2000-01-02, step = "{step}" }}
grid = {{ gaussian = 16 }}
forcing = {{ fields = "winds.zarr" }}
parameters = {{ wind = "forcing", scheme = "{scheme}", tracers = {{ hills = "hills", slotted = "slotted", even = "one" }} }}
output = {{ path = "out", variables = ["column_hills"], every = "1 day", reduce = "last" }}
"""


def run_file(folder, scheme="best", step="6 hours"):
    (folder / "run.toml").write_text(RUN.format(scheme=scheme, step=step))
    return folder / "run.toml"


@pytest.mark.parametrize("scheme", ["best", "ccm"])
def test_the_mass_of_a_tracer_is_that_of_air_of_the_surface_pressure_before(scheme, tmp_path):
    write_winds(tmp_path / "winds.zarr")
    with Simulation(run_file(tmp_path, scheme, "1 hour")) as run:
        area, found = run.grid.cell_area, []
        for _ in range(2):
            run.step()
            assert run.get("ps_before").min() > 90_000.0
            found.append([float((run.get(f"column_{name}") * area).sum()) for name in ("hills", "slotted")])
    np.testing.assert_allclose(found[1], found[0], rtol=1e-13)


def test_results_hold_the_pressure_of_hybrid_levels(tmp_path):
    write_winds(tmp_path / "winds.zarr")
    series = ', series = [{ name = "s", variables = ["hills"], every = "1 day", reduce = "last" }] }\n'
    path = run_file(tmp_path)
    path.write_text(path.read_text().replace('["column_hills"]', '["hills", "ps"]').rstrip(" }\n") + series)
    assert run_command(["run", str(path), "--quiet"]) == 0
    with xarray.open_zarr(tmp_path / "winds.zarr", consolidated=False) as winds:
        ends = 1e5 * winds["hyai"].values, winds["hybi"].values
    with open_results(tmp_path / "out") as found:
        assert set(found.data_vars) == {"hills", "ps"}
        np.testing.assert_allclose((found["hyai"], found["hybi"]), ends, rtol=1e-15)
        pressure = found["hyam"] + found["hybm"] * found["ps"]
        assert found["hybrid"].encoding["formula_terms"] == "ap: hyam b: hybm ps: ps"
        at_ends = ends[0][:, None, None] + ends[1][:, None, None] * found["ps"].values
        np.testing.assert_allclose(pressure, 0.5 * (at_ends[1:] + at_ends[:-1]), rtol=1e-13)
        assert set(unpack(found).data_vars) == {"hills", "ps"}
    with open_results(tmp_path / "out", "s") as found:
        assert {"hyai", "hybi", "hyam", "hybm"} < set(found.coords)
        assert "hybrid" not in found  # which would need ps
    assert run_command(["export", str(tmp_path / "out"), "--netcdf", str(tmp_path / "out.nc")]) == 0
    check_cf(tmp_path / "out.nc")
    with xarray.open_dataset(tmp_path / "out.nc") as exported:
        np.testing.assert_array_equal(exported["hyam"] + exported["hybm"] * exported["ps"].isel(lat=3, lon=5), pressure[..., 3 * 32 + 5])


def test_winds_without_omega_move_no_air_through_the_levels_and_the_run_says_so(tmp_path, capsys):
    write_winds(tmp_path / "winds.zarr", vertical=False)
    path = run_file(tmp_path)
    assert run_command(["check", str(path)]) == 0
    said = capsys.readouterr().out
    assert run_command(["describe", str(path)]) == 0
    for shown in (said, capsys.readouterr().out):
        assert "vertical = none (there is no vertical motion: the winds hold no omega)" in shown
    assert re.search(r"^level: \d+, [\d.]+ hPa to [\d.]+ hPa, nominal pressure$", said, re.M)
    with Simulation(path) as run:
        heights = run.get("path_level")
        run.step(2)
        np.testing.assert_array_equal(run.get("path_level"), heights)


@pytest.mark.parametrize(("word", "moves"), [("omega", True), ("none", False)])
def test_a_run_chooses_whether_omega_moves_air(word, moves, tmp_path):
    write_winds(tmp_path / "winds.zarr")
    plan = Plan.of(run_file(tmp_path), {"parameters.vertical": word})
    assert ("omega" in plan.variables) == moves
    with Simulation(plan) as run:
        heights = run.get("path_level")
        run.step()
        assert np.array_equal(run.get("path_level"), heights) != moves


def test_omega_that_is_asked_for_and_not_there_is_named(tmp_path):
    write_winds(tmp_path / "winds.zarr", vertical=False)
    with pytest.raises(ForcingError, match='has no variable "omega", which model "transport" needs'):
        Plan.of(run_file(tmp_path), {"parameters.vertical": "omega"})


def test_gaussian_winds_give_the_run_their_grid(tmp_path):
    grid = Gaussian(8, lon0=11.25)
    write_winds(tmp_path / "winds.zarr", grid=grid)
    path = run_file(tmp_path)
    path.write_text(path.read_text().replace("grid = { gaussian = 16 }\n", ""))
    with Simulation(path) as run:
        assert run.grid == grid
        run.run()
    assert StoredRecords.open(tmp_path / "out").grid == grid


@pytest.mark.parametrize("first", [-355.0, -275.0, -175.0])
def test_a_grid_may_begin_at_any_longitude(first):
    """Also west of -180; the second of the slotted cylinders lies at 150 degrees to the west."""
    found = []
    for west in (5.0, first):
        grid = Raster(85.0, -10.0, west, 10.0, np.ones((18, 36), bool))
        run = Driven(grid, 6 * 3600.0, None, {"wind": "deforming"}, levels=1, tracers={"slotted": "slotted"})
        begin, _ = run["slotted"].copy(), run.step(8)
        found.append((begin, run["slotted"].copy()))
    for expected, other in zip(*found, strict=True):
        np.testing.assert_allclose(np.roll(other, round((first - 5.0) / 10.0), axis=-1), expected, atol=1e-12)


@pytest.mark.parametrize("scheme", ["best", "ccm"])
def test_a_storm_of_1000_metres_a_second_leaves_tracers_in_their_range(scheme, tmp_path):
    write_winds(tmp_path / "winds.zarr", strength=1000.0 / 1.6)  # four waves of 0.4 at most
    with Simulation(Plan.of(run_file(tmp_path, scheme, "1 day"), {"parameters.fixer": "off"})) as run:
        run.step(2)
        assert np.abs(run.get("u")).max() > 700.0
        assert run.get("slotted").min() >= 0.1
        assert run.get("slotted").max() <= 1.0
        np.testing.assert_array_equal(run.get("even"), 1.0)


def test_a_run_with_winds_takes_them_and_names_no_other_wind(tmp_path):
    write_winds(tmp_path / "winds.zarr")
    path = run_file(tmp_path)
    path.write_text(path.read_text().replace('wind = "forcing", ', ""))
    plan = Plan.of(path)
    assert (plan.chosen.options["wind"], plan.chosen.reasons["wind"]) == ("forcing", "the run has winds")
    assert {"u", "v", "omega", "ps"} <= set(plan.variables)
    with pytest.raises(RunFileError, match="Remove the"):
        Plan.of(path, {"parameters.wind": "rotation"})
    with Simulation(plan) as run, Simulation(run_file(tmp_path), tmp_path / "named") as named:
        run.step()
        named.step()
        np.testing.assert_array_equal(run.get("hills"), named.get("hills"))


@pytest.mark.parametrize("name", ["period", "angle"])
def test_a_parameter_of_winds_that_are_formulas_is_refused_beside_those_of_a_store(name, tmp_path):
    write_winds(tmp_path / "winds.zarr")
    path = run_file(tmp_path)
    path.write_text(path.read_text().replace("parameters = { ", f"parameters = {{ {name} = 6.0,"))
    with pytest.raises(RunFileError, match=f'"{name}" is not known'):
        Plan.of(path)


def test_one_long_distance_of_two_is_a_gap(tmp_path):
    write_winds(tmp_path / "winds.zarr")
    with xarray.open_zarr(tmp_path / "winds.zarr", decode_times=False, consolidated=False) as winds:
        some = winds.isel(time=[0, 1, 4]).load()
    hours = np.diff(some["time"])
    some.drop_encoding().to_zarr(tmp_path / "winds.zarr", mode="w", consolidated=False)
    assert hours[1] == 3 * hours[0]
    path = run_file(tmp_path)
    path.write_text(path.read_text().replace("end = 2000-01-02", "end = 2000-01-01"))
    with pytest.raises(ForcingError, match=r"has no record between .* \(1 such\)"):
        Plan.of(path).reader()
