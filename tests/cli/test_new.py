"""`steppe new run`: a file that is right as it is."""

import shutil
from pathlib import Path

import pytest

from steppe.engine import read_run_file
from steppe.errors import Exit
from tests.scenario import EXAMPLES

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


def test_its_proposals_are_good_toml(call, folder):
    call("new", "run")
    Path("run.toml").write_text(uncommented(Path("run.toml").read_text()))
    run = read_run_file("run.toml")
    assert (run.engine.threads, run.engine.checkpoint) == (2, "auto")


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
