"""`steppe check`: all that can be wrong, and what it costs; nothing is written."""

import json

import pytest

from steppe.errors import Exit
from tests.air import air_run
from tests.errors import damage


def listed(folder) -> dict[str, int]:
    return {str(path.relative_to(folder)): path.stat().st_mtime_ns for path in folder.rglob("*")}


def test_a_good_run_file_shows_its_cost_and_writes_nothing(call, here):
    before = listed(here)
    code, said, wrong = call("check", "run.toml")
    assert (code, wrong) == (Exit.DONE, "")
    lines = said.splitlines()
    assert lines[0] == "144 cells, 420 days, 60,480 cell-days"
    assert lines[1].startswith("memory ")
    assert lines[2].startswith("results ")
    assert lines[3].startswith("time under a second at ")
    assert [line for line in lines[4:] if not line.startswith("compiling took ")] == ["Nothing is wrong."]
    assert listed(here) == before


def test_as_json_the_cost_is_numbers(call, here):
    code, said, _ = call("check", "run.toml", "--json")
    found = json.loads(said)
    assert code == Exit.DONE
    assert found["problems"] == []
    assert (found["cost"]["cells"], found["cost"]["steps"]) == (144, 420)
    numbers = ("state", "parameters", "read_ahead", "write_buffers", "results", "checkpoint", "seconds")
    assert all(found["cost"][name] > 0 for name in numbers)


def test_every_bad_value_of_the_weather_is_found(call, here):
    damage.negative_rain(here)
    code, said, wrong = call("check", "run.toml")
    assert code == Exit.MISTAKE
    assert said == "Problems: 1.\n"
    assert "rain" in wrong
    assert "1990-01-03" in wrong


@pytest.mark.parametrize("what", ["the weather", "the run file"])
def test_problems_as_json_are_sentences(call, here, what):
    changes = ["--set", "time.end=1999-01-01"] if what == "the run file" else []
    if what == "the weather":
        damage.negative_rain(here)
    code, said, wrong = call("check", "run.toml", "--json", *changes)
    found = json.loads(said)
    assert (code, wrong) == (Exit.MISTAKE, "")
    assert len(found["problems"]) == 1
    assert found["cost"] is None
    assert ("1999-01-01" if changes else "1990-01-03") in found["problems"][0]


def test_a_change_of_the_run_file_is_checked_too(call, here):
    code, _, wrong = call("check", "run.toml", "--set", "output.every=1 mnth")
    assert code == Exit.MISTAKE
    assert 'Key "output.every"' in wrong
    code, said, _ = call("check", "run.toml", "--set", "time.end=1990-01-19")
    assert code == Exit.DONE
    assert said.startswith("144 cells, 10 days, 1,440 cell-days\n")


@pytest.mark.parametrize("place", ["run.toml", "run.toml/out", "weather.zarr", "."])
def test_a_place_that_the_run_would_refuse_is_refused(call, here, place):
    code, said, wrong = call("check", "run.toml", "--set", f"output.path={place}")
    assert (code, said) == (Exit.MISTAKE, "")
    assert wrong == call("run", "run.toml", "--set", f"output.path={place}")[2]
    assert wrong.endswith(("Choose another folder for the output.\n", "Choose an empty or a new folder for the output.\n"))


def test_a_folder_of_another_run_is_refused_as_the_run_refuses_it(call, here):
    assert call("run", "run.toml", "--set", "time.end=1990-01-19", "--quiet")[0] == Exit.DONE
    assert call("check", "run.toml", "--set", "time.end=1990-01-19")[0] == Exit.DONE
    code, said, wrong = call("check", "run.toml", "--set", "time.end=1990-01-29")
    assert (code, said) == (Exit.MISTAKE, "")
    assert 'time.end is "1990-01-19" there, "1990-01-29" here' in wrong
    assert wrong == call("run", "run.toml", "--set", "time.end=1990-01-29")[2]
    assert call("run", "run.toml", "--set", "time.end=1990-01-19")[0] == Exit.DONE  # nothing was touched


@pytest.mark.parametrize(
    ("changes", "warned"),
    [
        (['output.variables=["water", "runoff", "water"]'], '[output]: variables has "water" twice; it is recorded once.'),
        (
            ['output.series=[{ name = "means", variables = ["water"], region = ["all", "all"] }]'],
            '[[output.series]] "means": region has all twice; it is recorded once.',
        ),
        (["output.variables=[]", "output.series=[]"], "[output] records nothing: variables is empty"),
    ],
)
def test_an_output_that_is_hardly_meant_is_warned_of(call, here, changes, warned):
    code, said, wrong = call("check", "run.toml", *(word for change in changes for word in ("--set", change)))
    assert (code, said.splitlines()[-1]) == (Exit.DONE, "Nothing else is wrong.")
    assert warned in wrong


def test_fields_that_a_run_does_not_read_are_listed_and_nearly_named_emissions_warned_of(call, tmp_path):
    def changed(fields):
        fields["emision_CO"] = fields["ps"]
        return fields.assign(humidity=fields["T"])

    run = air_run(tmp_path, cells=8, levels=4, change=changed)
    code, said, wrong = call("check", str(run))
    assert code == Exit.DONE
    assert f'Not read from "{tmp_path}/meteorology.zarr": emision_CO, humidity.' in said.splitlines()
    assert wrong == 'steppe: The meteorology has "emision_CO", which is not read. Did you mean "emission_CO"?\n'
    assert json.loads(call("check", str(run), "--json")[1])["not_read"] == ["emision_CO", "humidity"]
