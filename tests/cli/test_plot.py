"""`steppe plot`: one picture of a run."""

import shutil
import struct
from pathlib import Path

import pytest

import steppe
from steppe.errors import Exit


@pytest.fixture
def run(finished, tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    shutil.copytree(finished, tmp_path / "out")
    return tmp_path / "out"


def size(path: Path) -> tuple[int, int]:
    """Width and height of a PNG [pixel]."""
    head = path.read_bytes()[:24]
    assert head[:8] == b"\x89PNG\r\n\x1a\n"
    width, height = struct.unpack(">II", head[16:24])
    return width, height


def test_a_run_is_one_picture_in_its_folder(call, run):
    assert call("plot", "out") == (Exit.DONE, "out/picture.png\n", "")
    width, height = size(run / "picture.png")
    assert 1000 <= width <= 2400
    assert 600 <= height <= 3000
    assert 20_000 < (run / "picture.png").stat().st_size < 2_000_000


def test_one_variable_is_a_picture_of_its_own_under_the_name_that_is_given(call, run):
    call("plot", "out", "--variables", "runoff", "--output", "runoff.png")
    assert call("plot", "out", "--variables", "water", "--output", "water.png") == (Exit.DONE, "water.png\n", "")
    assert size(Path("water.png")) == size(Path("runoff.png"))
    assert Path("water.png").read_bytes() != Path("runoff.png").read_bytes()
    assert not (run / "picture.png").exists()


def test_several_variables_are_the_whole_again(call, run):
    call("plot", "out", "--output", "all.png")
    call("plot", "out", "--variables", "water", "--variables", "runoff", "--output", "both.png")
    assert size(Path("both.png")) == size(Path("all.png"))


def test_the_maps_of_a_day_are_others_than_the_means(call, run):
    call("plot", "out", "--output", "mean.png")
    assert call("plot", "out", "--date", "1990-06-15", "--output", "june.png")[0] == Exit.DONE
    assert Path("june.png").read_bytes() != Path("mean.png").read_bytes()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["out", "--variables", "watr"], 'has no map of "watr". Did you mean "water"?'),
        (["out", "--date", "1980-01-01"], "--date 1980-01-01 is not in the run"),
        (["nowhere"], 'There is no run folder or store at "nowhere".'),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_mistake_draws_nothing(call, run, arguments, sentence):
    code, said, wrong = call("plot", *arguments)
    assert (code, said) == (Exit.MISTAKE, "")
    assert sentence in wrong
    assert not list(run.parent.rglob("*.png"))


def test_a_run_without_results_is_told_apart_from_none(call, here):
    with steppe.Simulation("run.toml"):
        code, _, wrong = call("plot", "out")
    assert code == Exit.MISTAKE
    assert 'The run "out" has no results yet.' in wrong
