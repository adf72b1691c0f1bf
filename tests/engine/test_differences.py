"""A folder of another run is refused with the values that differ."""

import re

import pytest

from steppe.engine import Plan, Simulation
from steppe.errors import FolderError
from steppe.models import pasture
from tests.scenario import EXAMPLES

EVENT = "\n[[event]]\ndate = 1990-03-01\nset = { irrigation = 50.0 }\n"


@pytest.fixture
def begun(scenario):
    """A run file whose run was begun."""
    Simulation(scenario).close()
    return scenario


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("capacity = 120.0", "capacity = 90.0", "other parameters: parameters.capacity is 120.0 there, 90.0 here. "),
        ("capacity = 120.0", "", "other parameters: parameters.capacity is 120.0 there, not given here. "),
        ("end = 1991-03-05", "end = 1991-03-06", 'other time: time.end is "1991-03-05" there, "1991-03-06" here. '),
        ("threads = 2", 'dtype = "float64"', 'engine.dtype is "float32" there, "float64" here. '),
        ('"1 month"', '"10 days"', 'other output: output.every is "1 month" there, "10 days" here. '),
        ("[engine]", f"{EVENT}[engine]", "other events: event[1].date is not given there, "),
    ],
)
def test_values_there_and_here_are_told(begun, old, new, said):
    begun.write_text(begun.read_text().replace(old, new, 1))
    with pytest.raises(FolderError, match=re.escape(said)):
        Simulation(begun)


def test_many_differences_are_counted(begun):
    text = begun.read_text().replace("capacity = 120.0", "capacity = 90.0").replace("1991-03-05", "1991-03-06")
    begun.write_text(text.replace('reduce = "mean"', "").replace('"1 month"', '"1 week"').replace("[engine]", EVENT + EVENT + "[engine]"))
    with pytest.raises(FolderError, match=r"parameters\.capacity is .*; and \d more\. Put"):
        Simulation(begun)


def test_where_the_run_files_agree_the_source_or_the_data_changed(begun):
    model = begun.parent / "bucket.py"
    model.write_text((EXAMPLES / "bucket.py").read_text().replace("def step(", "def step(  # the same\n    ", 1) + "\n# a comment\n")
    source = model.read_text()
    model.write_text(source.replace("0.0", "0.1", 1))
    with pytest.raises(FolderError, match=r'other .*model.*: .*the run files agree, so the source of model ".*bucket\.py" has changed'):
        Simulation(begun)


def test_a_run_of_another_steppe_is_told_by_its_version_and_can_begin_again_at_its_checkpoint(begun, monkeypatch):
    begun.write_text(
        begun.read_text().replace('model = "bucket.py"', 'model = "pasture"').replace("capacity = 120.0", "").replace('"water", ', "")
    )
    begun.write_text(begun.read_text().replace(', "water"', "").replace('"out"', '"theirs"'))
    with monkeypatch.context() as patched:
        patched.setattr(pasture, "VERSION", "0.9")
        with Simulation(begun) as sim:
            sim.step(3)
    with pytest.raises(
        FolderError, match=r'source of model "pasture" has changed \(version 0\.9 there, 1\.\d here\)\. .*version of Steppe'
    ) as refused:
        Simulation(begun)
    assert "begin a new run at one of its checkpoints (`[initial] state`), choose another folder" in str(refused.value)
    with pytest.raises(FolderError, match=r'engine.dtype is "float32" there, "float64" here\. Put it back as it was, choose'):
        Simulation(Plan.of(begun, {"engine.dtype": '"float64"'}))
    begun.write_text(begun.read_text().replace('"theirs"', '"ours"') + '\n[initial]\nstate = "theirs/checkpoints/0000000003"\n')
    with Simulation(begun) as sim:
        sim.step()


def test_without_its_run_file_the_digests_are_told(begun):
    (begun.parent / "out/run.toml").unlink()
    begun.write_text(begun.read_text().replace("capacity = 120.0", "capacity = 90.0"))
    with pytest.raises(FolderError, match=r'other parameters: parameters is "[0-9a-f]{16}" there and "[0-9a-f]{16}" in this run\. '):
        Simulation(begun)
