"""An ensemble is one data set, also while some of its scenarios are unfinished."""

import shutil
from pathlib import Path

import numpy as np
import pytest
import xarray

import steppe
from steppe.engine import Plan
from steppe.errors import DamagedError, FolderError, Mistake
from steppe.io.export import ExportSource, write_geotiff, write_netcdf, write_series
from steppe.io.results.checked import CheckedArray
from steppe.jobs import picture
from steppe.jobs.ensemble import Scenario, run_ensemble
from steppe.jobs.info import overview
from steppe.jobs.picture import PictureChoices, draw
from tests.io.test_export import check_cf
from tests.scenario import copied

SCENARIOS = [Scenario("small", {"capacity": 80.0}), Scenario("large", {"capacity": 200.0, "water": 50.0}), Scenario("as-it-is", {})]


@pytest.fixture(scope="module")
def made(made_scenario, tmp_path_factory) -> Path:
    """The folder of a finished ensemble; not to be changed."""
    run_file = copied(made_scenario, tmp_path_factory.mktemp("ensemble"))
    assert run_ensemble(Plan.of(steppe.read_run_file(run_file)), SCENARIOS)
    return run_file.parent / "out"


@pytest.fixture
def interrupted(made, tmp_path) -> Path:
    """The folder of an ensemble of which one scenario was stopped earlier and one has not begun."""
    shutil.copytree(made.parent, tmp_path / "again", ignore=shutil.ignore_patterns("out"))
    run_file, far = tmp_path / "again" / "run.toml", []
    assert not run_ensemble(
        Plan.of(steppe.read_run_file(run_file)), SCENARIOS, tell=far.append, stop=lambda: bool(far) and far[-1].step > 100
    )
    out = run_file.parent / "out"
    shutil.rmtree(out / "branches" / "2")
    shutil.copytree(made / "branches" / "2", out / "branches" / "2")
    shutil.rmtree(out / "branches" / "4")
    return out


@pytest.mark.parametrize("series", ["", "means"])
def test_an_ensemble_is_one_data_set_with_the_results_of_each_scenario(made, series):
    found = steppe.open(made, series)
    assert list(found["scenario"].values) == ["small", "large", "as-it-is"]
    for number, name in enumerate(found["scenario"].values, 2):
        alone = steppe.open(made / "branches" / str(number), series)
        one = found.sel(scenario=name)
        assert set(one.data_vars) == set(alone.data_vars)
        for variable, values in alone.data_vars.items():
            assert one[variable].attrs == values.attrs
            np.testing.assert_array_equal(one[variable].values, values.values)
            assert one[variable].dims == values.dims


def test_the_columns_of_the_table_are_coordinates_with_units(made):
    found = steppe.open(made)
    np.testing.assert_array_equal(found["capacity"], [80.0, 200.0, np.nan])
    np.testing.assert_array_equal(found["set_water"], [np.nan, 50.0, np.nan])  # "water" is what was recorded
    assert found["capacity"].dims == found["set_water"].dims == ("scenario",)
    assert found["capacity"].attrs["units"] == found["set_water"].attrs["units"] == "mm"
    assert found["capacity"].attrs["long_name"] == "Most water that the soil holds"
    assert found["scenario"].attrs["standard_name"] == "realization"
    assert found.attrs["steppe_progress"] == "complete"
    assert "unfinished_scenarios" not in found.attrs


def test_values_of_an_ensemble_are_read_when_they_are_used_and_of_the_wanted_scenarios_alone(made, monkeypatch):
    read = []
    real = CheckedArray.read
    monkeypatch.setattr(CheckedArray, "read", lambda self, key: (read.append(self._group.parts[-2]), real(self, key))[1])
    found = steppe.open(made)
    assert read == []
    assert found["water"].sel(scenario="large").isel(time=3, cell=[5, 7]).values.shape == (2,)
    assert read == ["3"]


def test_maps_over_scenarios_are_unpacked(made):
    found = steppe.open(made)
    maps = steppe.unpack(found["water"].isel(time=[0, -1]), found)
    assert maps.dims == ("scenario", "time", "lat", "lon")
    assert np.isnan(maps.values[:, :, 0, 0]).all()
    assert np.isfinite(maps.values).sum() == 3 * 2 * found.sizes["cell"]


def test_an_ensemble_can_be_stored_as_netcdf_by_xarray(made, tmp_path):
    found = steppe.open(made)
    found.to_netcdf(tmp_path / "all.nc")
    with xarray.open_dataset(tmp_path / "all.nc") as again:
        np.testing.assert_array_equal(again["water"], found["water"])
        np.testing.assert_array_equal(again["capacity"], found["capacity"])


def test_unfinished_scenarios_are_named_and_have_no_values_yet(interrupted):
    found = steppe.open(interrupted, "means")
    whole = steppe.open(interrupted / "branches" / "2", "means")
    stopped = steppe.open(interrupted / "branches" / "3", "means")
    records = stopped.sizes["time"]
    assert 0 < records < whole.sizes["time"] == found.sizes["time"]
    np.testing.assert_array_equal(found["water"][0], whole["water"])
    np.testing.assert_array_equal(found["water"][1, :records], stopped["water"])
    assert np.isnan(found["water"][1, records:]).all()
    assert np.isnan(found["water"][2]).all()
    assert "small" not in found.attrs["unfinished_scenarios"]
    assert "large (until before 1990-" in found.attrs["unfinished_scenarios"]
    assert "as-it-is (nothing yet)" in found.attrs["unfinished_scenarios"]


def test_info_says_whether_an_ensemble_is_complete(made, interrupted):
    found = overview(made)
    assert found["ensemble"] == {
        "state": "complete",
        "scenarios": 3,
        "finished": 3,
        "table": {
            "capacity": "80 to 200 mm, Most water that the soil holds, set by 2 of 3 scenarios",
            "set_water": "50 to 50 mm, Soil water, set before the first step, set by 1 of 3 scenarios",
        },
    }
    assert found["dimensions"]["scenario"] == 3
    assert "progress" not in found
    assert found["bytes"] > overview(made / "branches" / "2")["bytes"]
    found = overview(interrupted)
    assert (found["ensemble"]["state"], found["ensemble"]["finished"]) == ("unfinished", 1)
    assert found["ensemble"]["unfinished"]["as-it-is"] == "nothing yet"


def test_a_file_that_is_missing_in_a_scenario_is_an_error(interrupted):
    (interrupted / "branches" / "2" / "output.zarr" / "water" / "c" / "0" / "0").unlink()
    with pytest.raises(DamagedError, match=r"branches/2/output\.zarr/water/c/0/0"):
        steppe.open(interrupted)


def test_a_list_of_scenarios_that_was_changed_is_an_error(interrupted):
    listed = interrupted / "ensemble.json"
    listed.write_text(listed.read_text().replace("80.0", "90.0"))
    with pytest.raises(DamagedError, match=r"ensemble.json.*the same `steppe ensemble` writes it again"):
        steppe.open(interrupted)
    listed.unlink()
    assert run_ensemble(Plan.of(steppe.read_run_file(interrupted.parent / "run.toml")), SCENARIOS)
    assert overview(interrupted)["ensemble"]["state"] == "complete"


def test_an_ensemble_without_results_is_told_apart(interrupted):
    shutil.rmtree(interrupted / "output.zarr")
    with pytest.raises(FolderError, match="has no results yet"):
        steppe.open(interrupted)


@pytest.fixture
def drawn(monkeypatch) -> dict:
    """What is handed to the drawing of a picture, which is drawn all the same."""
    seen, real = {}, picture.draw_run

    def draw_run(path, title, maps, series, notes):
        seen.update(title=title, maps=maps, series=series, notes=notes)
        real(path, title, maps, series, notes)

    monkeypatch.setattr(picture, "draw_run", draw_run)
    return seen


def test_the_picture_of_an_ensemble_has_its_scenarios_and_the_median_of_its_maps(made, drawn, tmp_path):
    assert draw(made, tmp_path / "all.png", PictureChoices(["water"])).stat().st_size > 10_000
    series = steppe.open(made, "means")["water"]
    titles = [f"Soil water, means: {region}" for region in series["region"].values]
    assert [line.title for line in drawn["series"]] == titles
    months = series.isel(region=1).resample(time="MS").mean().values
    np.testing.assert_allclose(drawn["series"][1].values, months, rtol=1e-12)
    assert drawn["series"][1].scenarios == ["small", "large", "as-it-is"]
    found = steppe.open(made)
    days = (found["time_bnds"][:, 1] - found["time_bnds"][:, 0]).astype(float)
    means = found["water"].astype("float64").weighted(days).mean("time")
    (water,) = drawn["maps"]
    np.testing.assert_allclose(water.values[np.isfinite(water.values)], means.median("scenario"), rtol=1e-12)
    assert water.title == "Soil water, median of 3 scenarios"
    assert any(note.startswith("3 scenarios: each a line") for note in drawn["notes"])


def test_the_picture_of_an_ensemble_has_a_panel_for_each_place(made, drawn, tmp_path):
    draw(made, tmp_path / "at.png", PictureChoices(["water"], at=[(144.0, -22.0), (143.5, -22.5)]))
    assert [line.title for line in drawn["series"]] == ["Soil water: 22°S 144°E", "Soil water: 22.5°S 143.5°E"]
    found = steppe.open(made)["water"]
    cell = np.flatnonzero(np.isclose(found["cell_lat"], -22.0) & np.isclose(found["cell_lon"], 144.0))
    np.testing.assert_array_equal(drawn["series"][0].values, found.isel(cell=cell[0]))


def test_the_picture_names_unfinished_scenarios(interrupted, drawn, tmp_path):
    draw(interrupted, tmp_path / "some.png")
    (note,) = (note for note in drawn["notes"] if "Unfinished" in note)
    assert "large (until before 1990-" in note
    assert "as-it-is (nothing yet)" in note
    assert drawn["maps"][0].title.endswith("median of 2 scenarios")
    stopped = steppe.open(interrupted / "branches" / "3", "means")
    line = drawn["series"][0].values
    assert np.isfinite(line[0]).all()
    assert np.isfinite(line[1]).sum() == len(np.unique(stopped["time.month"]))


def test_the_picture_of_a_run_in_an_ensemble_is_that_of_a_run(made, drawn, tmp_path):
    draw(made / "branches" / "3", tmp_path / "one.png")
    assert {type(line).__name__ for line in drawn["series"]} == {"LinePlot"}


def test_an_ensemble_is_exported_as_one_netcdf_file(made, tmp_path):
    told = []
    write_netcdf(ExportSource(made, region="all"), tmp_path / "all.nc", "made by a test", progress=told.append)
    check_cf(tmp_path / "all.nc")
    opened = steppe.open(made)
    with xarray.open_dataset(tmp_path / "all.nc", decode_coords="all") as found:
        assert found["water"].dims == ("scenario", "time", "lat", "lon")
        np.testing.assert_array_equal(found["water"], steppe.unpack(opened["water"], opened))
        for name in ("scenario", "capacity", "set_water"):
            np.testing.assert_array_equal(found[name], opened[name])
            assert found[name].attrs.items() >= {"long_name": opened[name].attrs["long_name"]}.items()
        assert {"capacity", "set_water"} < set(found["water"].coords)
        assert "unfinished_scenarios" not in found.attrs
        assert found.attrs["steppe_run"] == opened.attrs["steppe_run"]
    assert told[-1] == 1.0


def test_the_netcdf_file_of_an_unfinished_ensemble_has_the_records_of_all(interrupted, tmp_path):
    with pytest.raises(Mistake, match=r"as-it-is of its scenarios have no results yet"):
        ExportSource(interrupted)
    shutil.copytree(interrupted / "branches" / "3", interrupted / "branches" / "4")
    records = steppe.open(interrupted / "branches" / "3").sizes["time"]
    write_netcdf(ExportSource(interrupted), tmp_path / "some.nc", "made by a test")
    with xarray.open_dataset(tmp_path / "some.nc", decode_coords="all") as found:
        assert found.sizes["time"] == records > 0
        assert np.isfinite(found["water"]).any(("lat", "lon")).all()
        assert "large (until before 1990-" in found.attrs["unfinished_scenarios"]


def test_forms_without_scenarios_say_how_an_ensemble_is_exported(made, tmp_path):
    with pytest.raises(Mistake, match=r'is an ensemble of 3 scenarios\. Export all of them with --netcdf, or one of them: ".*branches/2"'):
        write_series(made, "means", tmp_path / "a.csv")
    with pytest.raises(Mistake, match="is an ensemble of 3 scenarios"):
        write_geotiff(ExportSource(made, ["water"], "1990-02-01", "1990-02-01"), tmp_path / "a.tif")
    assert list(tmp_path.iterdir()) == []


def test_a_run_and_an_ensemble_never_share_a_folder(scenario, interrupted):
    steppe.run(scenario)
    with pytest.raises(FolderError, match="holds the results of a run"):
        run_ensemble(Plan.of(steppe.read_run_file(scenario)), SCENARIOS)
    run_file = interrupted.parent / "run.toml"
    with pytest.raises(FolderError, match=r"holds an ensemble\. Choose another folder"):
        steppe.Simulation(run_file)
    with steppe.Simulation(run_file, fresh=True) as simulation:
        simulation.step(40)
    assert steppe.open(interrupted)["water"].dims == ("time", "cell")
