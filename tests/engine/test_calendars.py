"""A year of 360 days, from the files of a climate model to the picture: nothing on the way counts by our own calendar."""

import shutil
import warnings
from pathlib import Path

import numpy as np
import pytest
import xarray

import steppe
from steppe.cli import run_command
from steppe.engine.plan import Plan
from steppe.errors import Exit, RunFileError
from steppe.grid import read_grid
from steppe.ingest import Choices, Product, ingest_maps
from steppe.jobs.info import overview
from steppe.jobs.picture import PictureChoices, draw
from tests.ingest.daily_maps import known_maps, write_maps
from tests.scenario import EXAMPLES

RUN = """\
model = "bucket.py"
[time]
start = "1990-02-30"
end = 1991-11-30
[grid]
file = "weather.zarr"
[forcing]
store = "weather.zarr"
[[event]]
date = "1991-02-29"
set = { irrigation = 30.0 }
[output]
path = "out"
variables = ["water", "runoff"]
every = "1 month"
[[output.series]]
name = "means"
variables = ["water"]
every = "1 day"
"""
DAYS = 720


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Weather of 1990 and 1991 in the 360_day calendar, and a run of it."""
    folder = tmp_path_factory.mktemp("calendar")
    maps = {"daily_rain": known_maps("daily_rain", DAYS), "evap_pan": known_maps("evap_pan", DAYS)}
    file = write_maps(folder / "model.nc", maps, calendar="360_day")
    ingest_maps([file], folder / "weather.zarr", None, Choices(day_shift={"rain": 0, "pan": 0}), Product("a test", "a climate model"))
    shutil.copy(EXAMPLES / "bucket.py", folder)
    (folder / "run.toml").write_text(RUN)
    return folder


@pytest.fixture
def folder(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copytree(made, tmp_path / "run")
    monkeypatch.chdir(tmp_path / "run")
    return tmp_path / "run"


def test_months_have_thirty_days_and_results_say_so(folder):
    assert run_command(["check", "run.toml"]) == Exit.DONE
    assert run_command(["run", "run.toml", "--quiet"]) == Exit.DONE
    with steppe.open("out") as dataset:
        assert dataset["time"].dt.calendar == "360_day"
        assert [str(day)[:10] for day in dataset["time"].values[:3]] == ["1990-02-30", "1990-03-01", "1990-04-01"]
        lengths = [span.days for span in dataset["time_bnds"].values[:, 1] - dataset["time_bnds"].values[:, 0]]
        assert lengths == [1, *[30] * 21]
    with xarray.open_zarr("out/output.zarr/series/means", consolidated=False) as dataset:
        assert dataset.sizes["time"] == 631
        assert str(dataset["time"].values[-1])[:10] == "1991-11-30"


def test_an_event_happens_on_a_day_that_our_calendar_lacks(folder):
    run_command(["run", "run.toml", "--quiet"])
    text = Path("run.toml").read_text()
    Path("dry.toml").write_text(text.replace("irrigation = 30.0", "irrigation = 0.0").replace('"out"', '"dry"'))
    run_command(["run", "dry.toml", "--quiet"])
    with steppe.open("out", series="means") as wet, steppe.open("dry", series="means") as dry:
        differs = np.flatnonzero((wet["water"] != dry["water"]).values.any(axis=-1))
        assert str(wet["time"].values[differs[0]])[:10] == "1991-02-29"


def test_a_run_stopped_on_a_30th_of_february_goes_on_to_the_same_bytes(folder):
    run_command(["run", "run.toml", "--quiet"])
    arguments = ["run", "run.toml", "--quiet", "--output", "parts"]
    assert run_command([*arguments, "--until", "1991-02-30"]) in (Exit.DONE, Exit.STOPPED)
    assert run_command(arguments) == Exit.DONE
    for file in sorted(Path("out/output.zarr").rglob("c/*/*")):
        assert file.read_bytes() == (Path("parts") / file.relative_to("out")).read_bytes()


def test_results_are_summed_up_and_drawn(folder, capfd):
    run_command(["run", "run.toml"])
    assert "1991" in capfd.readouterr().out
    assert overview(Path("out"))["time"] == "1990-02-30 until before 1991-12-01"
    assert draw(Path("out"), Path("a.png"), PictureChoices(date="1991-02-30")).stat().st_size > 10_000


def test_a_day_that_the_calendar_of_the_weather_lacks_is_refused(folder):
    with pytest.raises(RunFileError, match=r'"1990-05-31" is not a date of the 360_day calendar\. Write one of it, such as 1990-01-30'):
        Plan.of("run.toml", {"time.end": "1990-05-31"})


def test_the_grid_of_a_climate_model_is_that_of_its_weather(made):
    assert read_grid(file=made / "weather.zarr").n_cells == 42


def test_dates_before_the_reform_of_the_calendar_are_read_without_a_warning(tmp_path):
    text = f"""\
model = "{Path(__file__).parents[1] / "models" / "lorenz.py"}"
time = {{ start = 1500-01-01, end = 1500-01-03 }}
grid = {{ rectangle = {{ north = 1, west = 0, rows = 1, columns = 2, cell = 1.0 }} }}
output = {{ path = "out", variables = ["x"], every = "1 day", reduce = "last" }}
"""
    (tmp_path / "run.toml").write_text(text)
    steppe.run(tmp_path / "run.toml")
    with warnings.catch_warnings(record=True) as told, steppe.open(tmp_path / "out") as found:
        assert found.time.values[0].isoformat().startswith("1500-01-01")
    assert not told
