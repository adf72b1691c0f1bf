"""A variable whose numbers name classes: its records carry the names, and pictures, films and images have a colour for each."""

from io import BytesIO
from pathlib import Path

import av
import netCDF4
import numpy as np
import pytest
from PIL import Image

import steppe
from steppe.api import array_of, read_frame
from steppe.engine import Session
from steppe.errors import Exit
from steppe.view.colour import OTHER, SHADES
from tests.engine.sessions import OWN, on_session, query, to

MODEL = '''"""Ground that dries."""
from typing import Annotated, NamedTuple

from steppe.models import Var

NAME = "ground"
VERSION = "1"


class State(NamedTuple):
    water: Annotated[float, Var("mm", "Soil water", initial=95)]
    kind: Annotated[float, Var("1", "Kind of ground", initial=7, classes={7: "wet", 3: "rather moist", 1: "dry"})]


class Forcing(NamedTuple):
    rain: Annotated[float, Var("mm d-1", "Rain", initial=0)]


class Parameters(NamedTuple):
    lost: Annotated[float, Var("mm d-1", "Water that is lost", initial=10)]


class Diagnostics(NamedTuple):
    left: Annotated[float, Var("mm", "Water that is left")]


def step(s: State, f: Forcing, p: Parameters) -> tuple[State, Diagnostics]:
    water = max(s.water - p.lost, 0.0)
    return State(water, 7.0 if water > 50.0 else 3.0 if water > 20.0 else 1.0), Diagnostics(water)
'''
RUN = """
model = "ground.py"
[time]
start = 2001-01-01
end = 2001-01-06
[grid]
rectangle = { north = 4.0, west = 10.0, rows = 4, columns = 4, cell = 1.0 }
[[event]]
date = 2001-01-02
set = { water = 30.0 }
region = { box = [10.0, 0.0, 12.0, 4.0] }
[output]
path = "out"
variables = ["kind"]
every = "2 days"
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("ground.py").write_text(MODEL)
    Path("run.toml").write_text(RUN + 'reduce = "last"\n')
    return tmp_path


def colour(number: int) -> np.ndarray:
    return np.rint(255 * SHADES[[1, 3, 7].index(number)]).astype(int)


def share(picture: np.ndarray, wanted: np.ndarray, near: int = 2) -> float:
    return float((np.abs(picture.astype(int) - wanted).max(axis=2) <= near).mean())


def test_pictures_films_and_files_of_classes_name_them(call, here) -> None:
    assert call("run", "run.toml", "--quiet")[0] == Exit.DONE
    kinds = steppe.open(here / "out").kind
    assert kinds.attrs["flag_values"] == [7, 3, 1]
    assert kinds.attrs["flag_meanings"] == "wet rather_moist dry"
    assert kinds.isel(time=-1).values.tolist() == [1.0, 1.0, 3.0, 3.0] * 4

    call("export", "out", "--netcdf", "out.nc")
    with netCDF4.Dataset("out.nc") as file:
        flags = file["kind"].flag_values
        assert (flags.dtype, flags.tolist()) == (file["kind"].dtype, [7.0, 3.0, 1.0])

    call("plot", "out", "--output", "last.png", "--date", "2001-01-06")
    with Image.open("last.png") as file:
        picture = np.asarray(file.convert("RGB"))
    assert share(picture, colour(1)) > 0.1  # the west; the east is moist
    assert share(picture, colour(3)) > 0.1
    assert share(picture, colour(7)) == 0.0

    code, said, _ = call("plot", "out", "--movie", "film.mp4")
    assert (code, "colours of classes" in said) == (Exit.DONE, True)
    with av.open("film.mp4") as film:
        first, *_, last = (frame.to_ndarray(format="rgb24") for frame in film.decode(video=0))
    assert share(first, colour(7), 12) > share(last, colour(7), 12) + 0.05  # the legend has all of them in each frame
    assert share(last, colour(3), 12) > share(first, colour(3), 12) + 0.05


def test_the_picture_of_a_period_has_the_class_that_lasted_longest(call, here) -> None:
    call("run", "run.toml", "--quiet")
    call("plot", "out", "--output", "all.png")
    with Image.open("all.png") as file:
        picture = np.asarray(file.convert("RGB"))
    assert share(picture, colour(7)) > 0.1  # the east: wet, wet, moist
    assert share(picture, colour(1)) > 0.1


def test_pixels_of_classes_are_the_first_cell_in_values_and_in_frames(here) -> None:
    def work(session: Session) -> None:
        session.load(1, OWN)
        to(session, 6)
        asked = {"name": "kind", "width": 1, "height": 4}
        assert array_of(*session.get(1, query(asked))).ravel().tolist() == [1.0] * 4  # a mean would be 2
        _, join = session.frames((1,), query({"name": "kind", "width": 1}), 16, None)
        assert np.round(read_frame(bytes(join())).values, 3).ravel().tolist() == [1.0]

    on_session(here / "run.toml", work)


def test_a_mean_of_classes_is_warned_of(call, here) -> None:
    assert "numbers of the classes" not in "".join(call("check", "run.toml")[1:])
    Path("run.toml").write_text(RUN)
    assert 'reduce = "mean" takes together the numbers of the classes of "kind": take "last".' in "".join(call("check", "run.toml")[1:])
    Path("run.toml").write_text(RUN.replace("2 days", "1 day"))
    assert "numbers of the classes" not in "".join(call("check", "run.toml")[1:])


def test_an_image_has_the_colours_of_the_classes(here) -> None:
    with steppe.Simulation("run.toml") as run:
        run.run(until="2001-01-05")
        run.set("kind", 5.0, region={"box": [13.0, 0.0, 14.0, 1.0]})
        with Image.open(BytesIO(run.image("kind"))) as file:
            pixels = np.asarray(file.convert("RGB"))
        with Image.open(BytesIO(run.image("kind", width=2))) as file:
            small = np.asarray(file.convert("RGB"))
        kinds = run["kind"].values
    assert kinds[-1, -1] == 5.0
    assert pixels[-1, -1].tolist() == np.rint(255 * SHADES[OTHER]).tolist()
    assert pixels[0, 0].tolist() == colour(int(kinds[0, 0])).tolist()
    assert pixels[0, -1].tolist() == colour(int(kinds[0, -1])).tolist()
    assert small[0, 0].tolist() == colour(int(kinds[0, 0])).tolist()  # one of its cells, not a number between
    assert small[1, 1].tolist() == colour(int(kinds[2, 2])).tolist()
