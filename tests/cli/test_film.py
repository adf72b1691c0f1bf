"""`steppe plot --movie`: the records of a run as a film."""

import shutil
import sys
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest
from matplotlib.image import imread

import steppe
from steppe.errors import Exit

RIGHT = slice(900, 1280)  # columns of a frame that hold the bar of colours and nothing of this map
FOOT = slice(640, 720)


@pytest.fixture
def run(finished, tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    shutil.copytree(finished, tmp_path / "out")
    return tmp_path / "out"


def frames(path: Path) -> list[np.ndarray]:
    """All frames of a film, (height, width, 3)."""
    with av.open(str(path)) as file:
        return [frame.to_ndarray(format="rgb24") for frame in file.decode(video=0)]


def colours_of(picture: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The colours of pixels, (colour, 3), and how often each is there."""
    found, counts = np.unique(picture.reshape(-1, 3) @ np.array([1 << 16, 1 << 8, 1]), return_counts=True)
    return np.stack([found >> 16, found >> 8 & 255, found & 255], axis=1), counts


def test_each_record_of_a_run_is_a_frame_of_an_mp4_that_every_player_reads(call, run):
    code, said, _ = call("plot", "out", "--movie", "film.mp4", "--variable", "water")
    assert code == Exit.DONE
    records = steppe.open(run).sizes["time"]
    assert said.startswith(f"film.mp4: {records} frames, {records / 10:.1f} s, colours from 0 to ")
    with av.open("film.mp4") as file:
        stream = file.streams.video[0]
        assert (stream.codec_context.name, stream.codec_context.pix_fmt) == ("h264", "yuv420p")
        assert (stream.width, stream.height, stream.average_rate) == (1280, 720, Fraction(10))
        assert sum(1 for _ in file.decode(stream)) == records
    assert Path("film.mp4").read_bytes().find(b"moov") < Path("film.mp4").read_bytes().find(b"mdat")  # it begins before all is there


def test_colours_hold_for_the_whole_film_and_values_change(call, run):
    call("plot", "out", "--movie", "film.mp4", "--variable", "runoff", "--to", "1990-06-30")
    first, *others = (frame.astype(int) for frame in frames(Path("film.mp4")))
    moved = np.stack([np.abs(frame - first).max(axis=2) for frame in others]).max(axis=0) > 40
    assert moved[100:600, 400:900].any()  # the map
    assert moved[:80, RIGHT].any()  # the date
    assert not moved[80:, RIGHT].any()  # the bar and its numbers
    assert not moved[FOOT].any()  # and what the foot says of them


def test_the_frame_of_a_record_has_the_colours_of_its_picture(call, run):
    call("plot", "out", "--variable", "water", "--date", "1990-06-15", "--scale", "0,100", "--output", "june.png")
    arguments = ["--variable", "water", "--from", "1990-06-15", "--to", "1990-06-15", "--scale", "0,100"]
    assert call("plot", "out", "--movie", "june.mp4", *arguments)[0] == Exit.DONE
    (frame,) = frames(Path("june.mp4"))
    picture = np.rint(255 * imread("june.png")[..., :3]).astype(int)
    shown, counts = colours_of(frame[np.ptp(frame.astype(int), axis=2) > 25])
    frequent = shown[counts > 0.02 * counts.sum()]
    drawn, _ = colours_of(picture)
    assert len(frequent) >= 2
    assert all(np.abs(drawn - colour).max(axis=1).min() <= 6 for colour in frequent)  # of 256: what the encoder may lose


def test_period_rate_and_size_are_those_that_are_asked_for(call, run):
    arguments = ["--from", "1990-02-10", "--to", "1990-05-01", "--fps", "25", "--size", "640x360"]
    code, said, _ = call("plot", "out", "--movie", "film.mp4", *arguments)
    assert (code, said.partition(", colours")[0]) == (Exit.DONE, "film.mp4: 4 frames, 0.2 s")
    assert [frame.shape for frame in frames(Path("film.mp4"))] == [(360, 640, 3)] * 4


def test_points_have_films_too(call, on_points, monkeypatch):
    monkeypatch.chdir(on_points)
    made = steppe.run(on_points / "run.toml")
    assert call("plot", str(made), "--movie", "film.mp4", "--quiet") == (Exit.DONE, "", "")
    assert len(frames(Path("film.mp4"))) == steppe.open(made).sizes["time"]


def test_a_film_that_cannot_be_finished_leaves_the_old_one(call, run):
    call("plot", "out", "--movie", "film.mp4", "--variable", "water", "--to", "1990-03-01")
    before = Path("film.mp4").read_bytes()
    chunk = next(path for path in (run / "output.zarr" / "water" / "c").rglob("*") if path.is_file())
    chunk.write_bytes(chunk.read_bytes()[:-50])
    assert call("plot", "out", "--movie", "film.mp4", "--variable", "water")[0] == Exit.FAILURE
    assert Path("film.mp4").read_bytes() == before
    assert [path.name for path in Path().iterdir() if "film" in path.name] == ["film.mp4"]


def test_without_the_encoder_it_is_said_what_to_install(call, run, monkeypatch):
    monkeypatch.setitem(sys.modules, "av", None)
    code, _, wrong = call("plot", "out", "--movie", "film.mp4")
    assert code == Exit.MISTAKE
    assert 'A film needs av, not found in this installation. Type in the clone of Steppe: pip install ".[film]"' in wrong


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--movie", "film.avi"], '--movie "film.avi" is no name of an MP4 file.'),
        (["--movie", "film.mp4", "--variable", "watr"], 'has no map of "watr". Did you mean "water"?'),
        (["--movie", "film.mp4", "--variable", "water", "--variable", "runoff"], "A film shows one variable, and 2 are given."),
        (["--movie", "film.mp4", "--from", "1980-01-01"], '--from 1980-01-01 is not in the run "out"'),
        (["--movie", "film.mp4", "--from", "1990-09-01", "--to", "1990-02-01"], "holds no record"),
        (["--movie", "film.mp4", "--fps", "0"], "--fps 0 is out of range."),
        (["--movie", "film.mp4", "--size", "1281x720"], '--size "1281x720" is no size of a film.'),
        (["--movie", "film.mp4", "--date", "1990-02-01"], "--date is an option of pictures."),
        (["--movie", "no/film.mp4"], 'there is no folder "no"'),
        (["--fps", "20"], "--fps is an option of films."),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_mistake_makes_no_film(call, run, arguments, sentence):
    code, said, wrong = call("plot", "out", *arguments)
    assert (code, said) == (Exit.MISTAKE, "")
    assert sentence in wrong
    assert not list(run.parent.rglob("*.mp4"))
