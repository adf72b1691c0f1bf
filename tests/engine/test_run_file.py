from pathlib import Path

import numpy as np
import pytest

from steppe.api.requests import NewRun
from steppe.engine import Plan, Simulation, read_run_file
from steppe.errors import RunFileError
from steppe.jobs.admit import table_of
from tests.scenario import EXAMPLES

SMALLEST = """\
model = "pasture"
[time]
start = 1990-01-01
end = 1990-12-31
[grid]
region = "queensland"
[output]
path = "out"
"""


def read(folder: Path, text: str, changes: dict[str, str] | None = None):
    path = folder / "run.toml"
    path.write_text(text)
    return read_run_file(path, changes)


def test_an_instant_without_seconds_is_named_with_what_is_right(tmp_path):
    (tmp_path / "run.toml").write_text("[time]\nstart = 2001-03-05T12:00\n")
    with pytest.raises(RunFileError, match='An instant needs seconds or quotes: "2001-03-05T12:00"'):
        read_run_file(tmp_path / "run.toml")


def test_paths_are_relative_to_the_file(tmp_path):
    run = read(tmp_path, SMALLEST + '[forcing]\nstore = "w.zarr"\n[parameters]\ntrees = { store = "land.zarr", variable = "trees" }\n')
    assert run.output.path == tmp_path / "out"
    assert run.forcing.store == tmp_path / "w.zarr"
    assert run.parameters["trees"]["store"] == str(tmp_path / "land.zarr")


@pytest.mark.parametrize(
    ("state", "read_as"), [('"default"', "default"), ('"first/checkpoints/0000000060"', "{}/first/checkpoints/0000000060"), ('"/a"', "/a")]
)
def test_a_checkpoint_to_begin_with_is_found_from_the_run_file(tmp_path, state, read_as):
    run = read(tmp_path, SMALLEST + f"[initial]\nstate = {state}\n")
    assert run.initial == {"state": read_as.format(tmp_path)}
    assert read(tmp_path, run.as_toml()) == run


def test_a_model_in_a_file_is_found_from_the_run_file(tmp_path):
    assert read(tmp_path, SMALLEST.replace("pasture", "mine.py")).model == str(tmp_path / "mine.py")


def test_the_text_with_all_defaults_means_the_same(tmp_path):
    run = read(
        tmp_path, SMALLEST + "[[output.series]]\nname = 'a'\nvariables = ['growth']\n[[event]]\ndate = 1990-02-01\nset = { burn = 1.0 }\n"
    )
    assert read(tmp_path, run.as_toml()) == run


def test_keys_can_be_changed_from_outside(tmp_path):
    run = read(tmp_path, SMALLEST, {"engine.threads": "3", "output.every": "10 days", "parameters.plant": "mitchell"})
    assert (run.engine.threads, run.output.every, run.parameters["plant"]) == (3, "10 days", "mitchell")


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("start =", "strat =", 'Key "time.strat" is not known. Did you mean "start"?'),
        ("end = 1990-12-31", "end = 1989-12-31", "time.end 1989-12-31 is before time.start 1990-01-01"),
        ("end = 1990-12-31", 'end = "soon"', "Key \"time.end\" = 'soon' is not a date; write it as 1990-01-31."),
        (
            'region = "queensland"',
            'region = "queensland"\nfile = "a.zarr"',
            'Table [grid]: give exactly one of "region", "file", "points", "rectangle" and "gaussian".',
        ),
        ('path = "out"', 'path = "out"\nevery = "1 moon"', "Key \"output.every\" = '1 moon' is not of the form"),
        ('path = "out"', 'path = "out"\nprecision = "3 bits"', "Key \"output.precision\" = '3 bits' does not fit"),
        ('path = "out"', "", 'Key "output.path" is missing.'),
        ("[time]", "[time", "is not valid TOML"),
        ("[time]", 'output = { path = "out" }\n[time]', "The table output is written in one line"),
    ],
)
def test_a_mistake_is_named_with_its_key(tmp_path, old, new, sentence):
    with pytest.raises(RunFileError) as error:
        read(tmp_path, SMALLEST.replace(old, new))
    assert sentence in str(error.value)
    assert str(tmp_path / "run.toml") in str(error.value)


def test_a_date_in_quotes_is_that_date(tmp_path):
    bare = SMALLEST + "[[event]]\ndate = 1990-02-01\nset = { burn = 1.0 }\n"
    quoted = bare
    for date in ("1990-01-01", "1990-12-31", "1990-02-01"):
        quoted = quoted.replace(date, f'"{date}"')
    assert read(tmp_path, quoted) == read(tmp_path, bare)
    assert read(tmp_path, SMALLEST.replace("1990-12-31", '"1990-02-30"')).time.end == "1990-02-30"
    for wrong in ("1990-04-31", "1990-13-01", "19901231", "1990-12-31 "):
        with pytest.raises(RunFileError, match=f"'{wrong}' is not a date; write it as 1990-01-31"):
            read(tmp_path, SMALLEST.replace("1990-12-31", f'"{wrong}"'))


def test_a_byte_order_mark_is_no_part_of_the_text(tmp_path):
    assert read(tmp_path, "\ufeff" + SMALLEST).model == "pasture"
    assert table_of(NewRun(name="a", toml="\ufeff" + SMALLEST))["model"] == "pasture"


def test_what_is_no_run_file_is_refused():
    with pytest.raises(RunFileError, match=r"A run begins with a run file: its path, .* This is a dict\."):
        Simulation({"model": "pasture"})


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(RunFileError, match="cannot be read"):
        read_run_file(tmp_path / "none.toml")


def test_a_rectangle_is_the_raster_of_its_edges_and_its_cell(tmp_path):
    (tmp_path / "run.toml").write_text(
        f"""\
model = "{EXAMPLES / "diffusion.py"}"
time = {{ start = 1990-01-01, end = 1990-01-05 }}
grid = {{ rectangle = {{ north = 60, west = -10, rows = 40, columns = 80, cell = 0.5 }} }}
output = {{ path = "out", variables = ["concentration"], every = "1 day", reduce = "last" }}
"""
    )
    plan = Plan.of(tmp_path / "run.toml", cores=1)
    assert plan.grid.active.shape == (40, 80)
    assert plan.grid.active.all()
    np.testing.assert_array_equal(plan.grid.lat_bnds[[0, -1], [0, 1]], [60.0, 40.0])
    np.testing.assert_array_equal(plan.grid.lon_bnds[[0, -1], [0, 1]], [-10.0, 30.0])
    assert plan.provenance["title"] == "Diffusion over 40 x 80 cells"


@pytest.mark.parametrize("name", ["zarr.json", "ü" * 128])
def test_a_name_that_can_be_no_folder_of_the_store_is_refused(scenario, name):
    with pytest.raises(RunFileError, match=rf'"output.series\[1\].name" = \'{name}\' is no name of a folder in the store'):
        read_run_file(scenario, {"output.series": f'[{{ name = "{name}", variables = ["runoff"] }}]'})
