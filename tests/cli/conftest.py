"""The commands as a user meets them: a folder to stand in, a width of the page, a run that is finished."""

import logging
import math
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import steppe
from steppe.cli import progress, run_command
from steppe.errors import Exit
from steppe.grid import read_grid
from steppe.ingest import generate
from tests.scenario import EXAMPLES, RUN, copied

Call = Callable[..., tuple[Exit, str, str]]
RUN_ON_POINTS = RUN.replace('file = "mask.zarr"', 'points = "points.csv"').partition("[[output.series]]")[0]


@pytest.fixture
def here(scenario, monkeypatch) -> Path:
    """The folder of a scenario, as working folder."""
    monkeypatch.chdir(scenario.parent)
    return scenario.parent


@pytest.fixture
def call(capfd, monkeypatch) -> Call:
    """Runs a command in this process: exit code, standard output, standard error."""
    monkeypatch.setattr(logging.getLogger("steppe"), "disabled", True)  # whether a command compiles depends on what the cache holds
    monkeypatch.setattr(progress, "SECONDS_BETWEEN_LINES", math.inf)  # and how long it takes on what else there is to do
    monkeypatch.setenv("COLUMNS", "100")

    def called(*arguments: str) -> tuple[Exit, str, str]:
        capfd.readouterr()
        code = run_command(list(arguments))
        return code, *capfd.readouterr()

    return called


@pytest.fixture(scope="session")
def finished(made_scenario, tmp_path_factory) -> Path:
    """The folder of a finished run; not to be changed."""
    run_file = copied(made_scenario, tmp_path_factory.mktemp("finished"))
    return steppe.run(run_file)


@pytest.fixture(scope="session")
def made_on_points(tmp_path_factory) -> Path:
    """The bucket at three places, for tests that start a process: it needs no xarray, and its kernel is compiled."""
    folder = tmp_path_factory.mktemp("points")
    (folder / "points.csv").write_text("id,lat,lon\na,-20.5,145.25\nb,-25.0,147.5\nc,-27.2,151.3\n")
    generate(folder / "weather.zarr", read_grid(points=folder / "points.csv"), "1990-01-01", "1991-05-15")
    shutil.copy(EXAMPLES / "bucket.py", folder)
    (folder / "run.toml").write_text(RUN_ON_POINTS)
    steppe.run(folder / "run.toml", folder / "compiled")
    shutil.rmtree(folder / "compiled")
    return folder


@pytest.fixture
def on_points(made_on_points, tmp_path) -> Path:
    """A folder of one's own with the bucket at three places."""
    return copied(made_on_points / "run.toml", tmp_path / "points").parent
