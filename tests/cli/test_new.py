"""`steppe new`: files that are right as they are."""

import json
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import steppe
from steppe.engine import read_run_file
from steppe.errors import Exit, GridError
from steppe.grid import read_grid
from tests.ingest.daily_maps import UNITS, known_maps, write_maps
from tests.scenario import EXAMPLES
from tests.transport import globe

POINTS = "id,lat,lon\ndalby,-27.16,151.26\nroma,-26.55,148.77\nlongreach,-23.44,144.25\n"


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "points.csv").write_text(POINTS)
    return tmp_path


def uncommented(text: str) -> str:
    """The same file with every proposal taken up that can stand beside what is there."""
    lines = text.splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("# [engine]"))
    return "\n".join([*lines[:start], *(line.removeprefix("# ") for line in lines[start:])]) + "\n"


def test_the_file_that_it_writes_is_read_and_goes_to_the_run_folder_of_its_name(call, folder):
    code, said, _ = call("new", "run", "--output", "dalby.toml")
    assert code == Exit.DONE
    assert said == "dalby.toml is written. Next: steppe check dalby.toml\n"
    run = read_run_file("dalby.toml")
    assert (run.model, run.grid.region) == ("pasture", "queensland")
    assert run.output.path == folder / "dalby"
    assert run.output.variables == ["soil_water_index", "total_standing_dry_matter", "total_cover", "growth"]
    assert run.parameters == {"plant": "native", "soil": "narayen-ref"}


@pytest.mark.parametrize("name", ['a"b', "x\\b", "Weide 🌧"])
def test_any_name_of_a_file_is_good_toml(call, folder, name):
    assert call("new", "run", "--output", f"{name}.toml")[0] == Exit.DONE
    assert read_run_file(f"{name}.toml").output.path == folder / name
    shutil.copy(EXAMPLES / "bucket.py", f"{name}.py")
    assert call("new", "run", f"{name}.py", "--output", "run.toml")[0] == Exit.DONE
    assert tomllib.loads(Path("run.toml").read_text())["model"] == f"{name}.py"


def test_its_proposals_are_good_toml(call, folder):
    call("new", "run")
    Path("run.toml").write_text(uncommented(Path("run.toml").read_text()))
    run = read_run_file("run.toml")
    assert (run.engine.threads, run.engine.checkpoint) == (2, "auto")


@pytest.mark.parametrize("model", ["transport", "shallow_water.py"])
def test_a_model_of_fields_gets_the_globe_and_hours_and_nothing_is_wrong(call, folder, model):
    shutil.copy(EXAMPLES / "shallow_water.py", folder)
    assert call("new", "run", model)[0] == Exit.DONE
    code, said, _ = call("check", "run.toml")
    assert (code, "Nothing is wrong" in said) == (Exit.DONE, True), said


@pytest.mark.parametrize("model", ["pasture", "bucket.py"])
def test_with_weather_made_for_it_there_is_nothing_to_complain_of(call, folder, model):
    shutil.copy(EXAMPLES / "bucket.py", folder)
    assert call("new", "run", model)[0] == Exit.DONE
    text = Path("run.toml").read_text().replace('region = "queensland"', 'points = "points.csv"').replace("1999-12-31", "1990-12-31")
    Path("run.toml").write_text(text)
    assert (
        call("ingest", "generate", "weather.zarr", "--points", "points.csv", "--start", "1990-01-01", "--end", "1990-12-31")[0] == Exit.DONE
    )
    code, said, wrong = call("check", "run.toml")
    assert (code, wrong) == (Exit.DONE, "")
    assert said.endswith("Nothing is wrong.\n")


def test_own_maps_become_a_store_a_run_file_and_a_run_that_works_the_first_time(call, folder, tmp_path_factory, monkeypatch):
    monkeypatch.setenv("STEPPE_CACHE", str(tmp_path_factory.mktemp("cache")))
    write_maps(folder / "own.nc", {name: known_maps(name, 90) for name in UNITS})
    assert call("ingest", "netcdf", "own.nc", "-o", "own.zarr", "--day-shift", "rain=0", "--day-shift", "pan=0")[0] == Exit.DONE
    (folder / "runs").mkdir()
    shutil.copy(EXAMPLES / "bucket.py", folder)
    assert call("new", "run", "bucket.py", "--weather", "own.zarr", "--output", "runs/own.toml")[0] == Exit.DONE
    run = read_run_file("runs/own.toml")
    assert (run.grid, str(run.time.start), str(run.time.end)) == (None, "1990-01-01", "1990-03-31")
    assert call("run", "runs/own.toml", "--quiet")[0] == Exit.DONE
    with steppe.open("own.zarr") as weather, steppe.open("runs/own") as results:
        assert results.sizes["cell"] == weather.sizes["cell"]


def test_the_grid_of_the_weather_is_the_default_of_points_too(call, folder):
    days = ("--start", "1990-01-01", "--end", "1990-03-01")
    assert call("ingest", "generate", "w.zarr", "--points", "points.csv", *days)[0] == Exit.DONE
    assert call("new", "run", "--weather", "w.zarr")[0] == Exit.DONE
    assert steppe.Plan.of("run.toml").grid == read_grid(points=Path("points.csv")) == read_grid(file=Path("w.zarr"))
    code, said, wrong = call("check", "run.toml")
    assert (code, wrong) == (Exit.DONE, "")
    assert said.endswith("Nothing is wrong.\n")


@pytest.mark.parametrize(("model", "kind"), [("tracers.py", ()), ("transport", ("--globe",))])
def test_a_model_of_fields_takes_the_grid_and_the_hours_of_its_fields(call, folder, model, kind):
    shutil.copy(EXAMPLES / "tracers.py", folder)
    subprocess.run([sys.executable, EXAMPLES / "make_winds.py", "winds.zarr", *kind], check=True)
    assert call("new", "run", model, "--weather", "winds.zarr")[0] == Exit.DONE
    plan = steppe.Plan.of("run.toml")
    assert plan.forcing.path == folder / "winds.zarr"
    assert (plan.clock.name(0), plan.clock.name(plan.steps - 1)) == (
        ("2000-01-01T01:00", "2000-01-13T00:00") if kind else ("2001-03-05T01:00", "2001-03-06T00:00")
    )
    assert plan.grid.shape == ({"lat": 64, "lon": 128} if kind else {"lat": 48, "lon": 96})
    assert plan.chosen.options.get("wind", "") == ("forcing" if kind else "")


def test_fields_of_one_instant_are_refused_with_what_makes_them_steady(call, folder):
    globe(8, 4).isel(time=[0]).to_zarr("winds.zarr", consolidated=False)
    code, _, wrong = call("new", "run", "transport", "--weather", "winds.zarr")
    assert code == Exit.MISTAKE
    assert "records from 2000-01-01T00:00 to 2000-01-01T00:00, which hold no whole hour" in wrong
    assert not Path("run.toml").exists()


def test_weather_that_the_model_cannot_use_is_refused_before_anything_is_written(call, folder):
    write_maps(folder / "rain.nc", {"daily_rain": known_maps("daily_rain", 5)})
    assert call("ingest", "netcdf", "rain.nc", "-o", "rain.zarr", "--day-shift", "rain=0")[0] == Exit.DONE
    code, _, wrong = call("new", "run", "--weather", "rain.zarr")
    assert code == Exit.MISTAKE
    assert '"rain.zarr" has no tmin, tmax, radiation, which model "pasture" needs; it holds rain.' in wrong
    assert not Path("run.toml").exists()


def test_a_file_of_maps_as_the_grid_is_refused_with_what_to_do(call, folder):
    write_maps(folder / "rain.nc", {"daily_rain": known_maps("daily_rain", 5)})
    with pytest.raises(
        GridError, match=r"maps that change in time \(daily_rain\) and no mask\. Make a forcing store .* leave \[grid\] out"
    ):
        read_grid(file=folder / "rain.nc")


def test_a_model_file_is_named_as_seen_from_the_run_file(call, folder):
    shutil.copy(EXAMPLES / "bucket.py", folder)
    (folder / "runs").mkdir()
    assert call("new", "run", "bucket.py", "--output", "runs/b.toml")[0] == Exit.DONE
    assert read_run_file("runs/b.toml").model == str(folder / "runs" / "../bucket.py")


def test_a_file_that_is_there_stays_as_it_is(call, folder):
    Path("run.toml").write_text("mine")
    code, said, wrong = call("new", "run")
    assert (code, said) == (Exit.MISTAKE, "")
    assert wrong == 'steppe: "run.toml" is there already; it stays as it is. Give another name with --output.\n'
    assert Path("run.toml").read_text() == "mine"


def test_a_folder_that_is_not_there_is_a_mistake(call, folder):
    code, _, wrong = call("new", "run", "--output", "no/run.toml")
    assert code == Exit.MISTAKE
    assert '"no/run.toml" cannot be written: No such file or directory.' in wrong


def test_an_unknown_model_writes_nothing(call, folder):
    code, _, wrong = call("new", "run", "pastures")
    assert code == Exit.MISTAKE
    assert 'Did you mean "pasture"?' in wrong
    assert not Path("run.toml").exists()


def test_editors_find_what_helps_them_where_the_first_line_says(call, folder):
    (folder / "runs").mkdir()
    call("new", "run", "--output", "runs/dalby.toml")
    line = Path("runs/dalby.toml").read_text().splitlines()[0]
    assert line == "#:schema .steppe/pasture.json"
    schema = json.loads((folder / "runs" / line.removeprefix("#:schema ")).read_text())
    assert "stocking_rate" in schema["properties"]["parameters"]["properties"]


def test_a_first_model_runs_at_once_and_passes_its_test(call, folder, monkeypatch):
    code, said, wrong = call("new", "model", "my_grass")
    assert (code, wrong) == (Exit.DONE, "")
    assert sorted(path.name for path in Path("my_grass").iterdir()) == [
        "my_grass.py",
        "places.csv",
        "run.toml",
        "test_my_grass.py",
        "weather.zarr",
    ]
    assert len(Path("my_grass/my_grass.py").read_text().splitlines()) <= 60
    monkeypatch.chdir("my_grass")
    proposed = [line.split("#")[0].split() for line in said.splitlines()[1:]]
    assert [words[0] for words in proposed] == ["cd", "steppe", "steppe", "python"]
    assert call(*proposed[1][1:])[0] == Exit.DONE
    with steppe.open(proposed[2][-1]) as results:
        grass, growth = results["grass"].values, results["growth"].values
        assert grass.shape == (24, 4)
        assert (growth.max(axis=0) > 1.0).all()
        assert (grass > 0.0).all()
        assert results.attrs["weather"] == "generated"
    done = subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"], capture_output=True, text=True, check=False)
    assert "3 passed" in done.stdout, done.stdout + done.stderr


def test_what_it_writes_is_in_good_form(call, folder):
    call("new", "model", "my_grass")
    for command in (["check", "--select", "E,F,W,B,UP,RUF,PT"], ["format", "--check"]):
        config = ["--isolated", "--line-length", "140"]
        done = subprocess.run([sys.executable, "-m", "ruff", *command, *config, "my_grass"], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("name", ["my-grass", "2grass", "class", "json", "numpy", "steppe", "a/b"])
def test_a_name_that_python_cannot_import_is_refused(call, folder, name):
    code, _, wrong = call("new", "model", name)
    assert code == Exit.MISTAKE
    assert f'"{name}" cannot name a model' in wrong
    assert sorted(path.name for path in folder.iterdir()) == ["points.csv"]


def test_a_folder_that_is_there_stays_as_it_is(call, folder):
    Path("grass").mkdir()
    code, _, wrong = call("new", "model", "grass")
    assert code == Exit.MISTAKE
    assert wrong == 'steppe: "grass" is there already; it stays as it is. Give another name with --output.\n'
    assert not list(Path("grass").iterdir())
    assert call("new", "model", "grass", "--output", "no/grass")[0] == Exit.MISTAKE
