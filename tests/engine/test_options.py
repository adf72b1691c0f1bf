"""Options that a model picks by what the weather holds are reported, each with its reason."""

import json
from pathlib import Path

import pytest

from steppe.cli import run_command
from steppe.clock import parse_date
from steppe.engine import Plan, options_text
from steppe.errors import Exit, ModelError
from steppe.io import read_identity
from steppe.io.axis import Axis, day_number
from steppe.io.forcing.variables import WEATHER
from steppe.io.forcing.writer import ForcingWriter, Written
from steppe.io.results.records import StoredRecords
from steppe.jobs.picture import notes_of
from tests.io.small_store import ABOUT, DAYS, START, small_grid, small_values, write_small_store
from tests.scenario import EXAMPLES

RUN = """\
model = "own.py"
[time]
start = 1990-01-01
end = 1990-02-28
[grid]
file = "weather.zarr"
[forcing]
store = "weather.zarr"
[parameters]
[output]
path = "out"
variables = ["water"]
every = "1 month"
"""
OPTIONS = """
from steppe.models import Choice, Pick

DEMAND = Choice("Where the demand of the air comes from", {"given": "the forcing pan", "fixed": "5 mm a day"})
SOIL = Choice("Kind of soil", {"loam": "holds water", "sand": "leaks"})

class Options(NamedTuple):
    demand: Annotated[int, DEMAND] = 0
    soil: Annotated[int, SOIL] = 0

def choose(available):
    return {"demand": Pick("given", "the weather holds pan") if "pan" in available else Pick("fixed", "the weather holds no pan")}

def requirements(o):
    return ("rain", "pan") if o.demand == 0 else ("rain",)

"""
PICKED = "demand = fixed (the weather holds no pan)"


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """A bucket with options, and weather of rain, tmin and tmax."""
    text = (
        (EXAMPLES / "bucket.py")
        .read_text()
        .replace("def step(s: State, f: Forcing, p: Parameters)", OPTIONS + "def step(s: State, f: Forcing, p: Parameters, o: Options)")
    )
    text = text.replace("high=50)]", "high=50, initial=0)]").replace("min(wet, f.pan *", "min(wet, (5.0 if o.demand == 1 else f.pan) *")
    (tmp_path / "own.py").write_text(text)
    write_small_store(tmp_path / "weather.zarr")
    (tmp_path / "run.toml").write_text(RUN)
    return tmp_path / "run.toml"


def test_check_summary_info_and_picture_name_the_options_and_the_reasons(own, capfd, monkeypatch):
    monkeypatch.chdir(own.parent)
    assert run_command(["check", "run.toml"]) == Exit.DONE
    assert f"options: {PICKED}\n" in capfd.readouterr().out
    assert run_command(["check", "run.toml", "--json"]) == Exit.DONE
    assert json.loads(capfd.readouterr().out)["options"] == PICKED
    assert run_command(["run", "run.toml", "--set", "parameters.soil=sand"]) == Exit.DONE
    both = f"{PICKED}; soil = sand (set in the run file)"
    assert f"options: {both}\n" in capfd.readouterr().out
    assert run_command(["info", "out"]) == Exit.DONE
    assert f"options: {both}\n" in capfd.readouterr().out
    assert read_identity(own.parent / "out")["options"] == "demand=fixed soil=sand"
    assert f"Options: {both}." in notes_of(StoredRecords.open(own.parent / "out").about)
    assert run_command(["plot", "out"]) == Exit.DONE


def test_the_run_file_goes_before_the_model(own):
    own.write_text(own.read_text().replace("[parameters]", '[parameters]\ndemand = "fixed"\nsoil = "loam"'))
    assert options_text(Plan.of(own).chosen) == "demand = fixed (set in the run file); soil = loam (set in the run file)"


def test_options_at_their_defaults_are_not_listed(own):
    text = (own.parent / "own.py").read_text()
    (own.parent / "own.py").write_text(
        text[: text.index("def choose(")] + text[text.index("def requirements(") :].replace('("rain", "pan")', '("rain",)')
    )
    assert options_text(Plan.of(own).chosen) == ""


@pytest.mark.parametrize(
    ("pick", "sentence"),
    [
        ('{"demnd": Pick("fixed", "no pan")}', r'picks the option "demnd", which is not declared. Did you mean "demand"?'),
        ('{"demand": "fixed"}', r"gives 'fixed' for the option \"demand\". Give Pick\(word, reason\)\."),
        ('{"demand": Pick("fxed", "no pan")}', r'"fxed" is not one of the choices given, fixed. Did you mean "fixed"?'),
    ],
)
def test_a_pick_that_is_not_declared_is_refused(own, pick, sentence):
    text = (own.parent / "own.py").read_text()
    begin, end = text.index("    return {"), text.index("def requirements(")
    (own.parent / "own.py").write_text(f"{text[:begin]}    return {pick}\n\n{text[end:]}")
    with pytest.raises(ModelError, match=sentence):
        Plan.of(own)


def test_pasture_reports_what_it_does_without_humidity_and_pan(own):
    values = small_values() | {"radiation": 20.0 + 0.0 * small_values()["tmin"]}
    grid, axis = small_grid(), Axis.daily(day_number(parse_date(START)), DAYS)
    with ForcingWriter(own.parent / "four.zarr", grid, [Written(WEATHER[name], axis) for name in values], ABOUT) as writer:
        for name, table in values.items():
            for block in writer.blocks(name):
                writer.write(name, block, table[block.steps.start : block.steps.stop, block.cells.start : block.cells.stop])
    changes = {"model": '"pasture"', "output.variables": '["growth"]', "forcing.store": '"four.zarr"'}
    changes |= {"parameters.plant": '"mitchell"', "parameters.soil": '"open-downs"', "parameters.stocking_rate": "0.1"}
    plan = Plan.of(own, changes)
    assert options_text(plan.chosen) == (
        "humidity = minimum_temperature (the weather holds neither vp nor deficit); pan = radiation (the weather holds no pan)"
    )
    assert plan.provenance["options"] == options_text(plan.chosen)
