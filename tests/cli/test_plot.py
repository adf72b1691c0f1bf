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


def test_cells_and_regions_have_pictures_of_their_own(call, run):
    call("plot", "out", "--variable", "water", "--output", "whole.png")
    for name, arguments in {
        "at": ("--at", "-22,144", "--at", "-22.5,143.5"),
        "region": ("--region", "144,-23,145.5,-21.5"),
        "scale": ("--scale", "0,500"),
    }.items():
        assert call("plot", "out", "--variable", "water", "--output", f"{name}.png", *arguments) == (Exit.DONE, f"{name}.png\n", "")
    assert len({Path(f"{name}.png").read_bytes() for name in ("whole", "at", "region", "scale")}) == 4


def test_a_forcing_store_is_drawn_too(call, here):
    assert call("plot", "weather.zarr", "--variable", "rain", "--date", "1990-02-01", "--output", "rain.png")[0] == Exit.DONE
    assert size(Path("rain.png"))[0] > 500


def test_a_picture_that_cannot_be_written_leaves_nothing(call, run):
    code, _, wrong = call("plot", "out", "--output", "no/a.png")
    assert code == Exit.MISTAKE
    assert 'there is no folder "no"' in wrong


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["out", "--variables", "watr"], 'has no map of "watr". Did you mean "water"?'),
        (["out", "--date", "1980-01-01"], "--date 1980-01-01 is not in the run"),
        (["out", "--scale", "20,0"], '--scale "20,0" is no range.'),
        (["out", "--scale", "0,inf"], '--scale "0,inf" is no range. Give two finite numbers, the lower before the upper, as 0,20.'),
        (["out", "--scale=-inf,inf"], '--scale "-inf,inf" is no range.'),
        (["out", "--scale", "nan,1"], '--scale "nan,1" is no range.'),
        (["out", "--at", "144,-22"], '--at "144,-22" is no place.'),
        (["out", "--at", "-21,144"], "in the sea or outside the mask"),
        (["out", "--region", "atlantis"], 'Region "atlantis" is not known.'),
        (["out", "--output", "a.jpg"], '--output "a.jpg" is no name of a PNG file. Give a name that ends in .png.'),
        (["out", "--output", ""], "The value of --output is empty. Leave it out, or set the variable of the shell"),
        (["run.toml"], 'There is no run folder or store at "run.toml".'),
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
