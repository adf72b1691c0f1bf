"""`steppe describe`: a model's variables, units, limits, sources, options and sets."""

import json

import pytest

from steppe.errors import Exit
from steppe.models.pasture import EXPORTS
from tests.scenario import EXAMPLES


def rows(said: str, title: str) -> dict[str, str]:
    """Name -> line of the table of a role."""
    lines = iter(said.splitlines())
    assert title in [line.strip() for line in lines if line.strip() == title] or pytest.fail(f"no table {title}")
    lines = iter(said.splitlines())
    for line in lines:
        if line.strip() == title:
            break
    next(lines)
    found = {}
    for line in lines:
        if not line.strip():
            break
        found[line.split()[0]] = line
    return found


def test_pasture_shows_what_people_look_at_with_units(call):
    code, said, wrong = call("describe", "pasture")
    assert (code, wrong) == (Exit.DONE, "")
    assert said.startswith("pasture 1.1: The Pasture Model: ")
    shown = {**rows(said, "state"), **rows(said, "diagnostic")}
    assert len(EXPORTS) == 18
    assert set(EXPORTS) <= set(shown)
    assert " kg ha-1 d-1 " in shown["growth"]
    assert " mm " in shown["soil_water_1"]
    assert {"rain", "tmin", "tmax", "radiation", "burn"} <= set(rows(said, "forcing"))
    assert "APSIM 6.1" in rows(said, "parameter")["curve_number"]
    assert rows(said, "option")["runoff"].split()[:2] == ["runoff", "cn"]
    assert "intensity: rainfall intensity against the" in said
    assert "plant sets: native, " in said
    assert "soil sets: narayen-ref, " in said


def test_pasture_as_json_has_the_same_variables(call):
    code, said, _ = call("describe", "pasture", "--json")
    assert code == Exit.DONE
    found = json.loads(said)
    variables = {variable["name"]: variable for variable in found["variables"]}
    assert set(EXPORTS) <= set(variables)
    assert (variables["growth"]["units"], variables["growth"]["role"]) == ("kg ha-1 d-1", "diagnostic")
    assert variables["stocking_rate"]["low"] == 0.0
    assert variables["stocking_rate"]["high"] is None
    assert found["options"]["runoff"]["default"] == "cn"
    assert found["options"]["runoff"]["long_name"] == "How runoff is computed"
    assert list(found["options"]["runoff"]["words"]) == ["cn", "intensity"]
    assert "mitchell" in found["sets"]["plant"]


def test_text_in_brackets_is_shown_as_it_is_written(call, tmp_path):
    text = (EXAMPLES / "diffusion.py").read_text()
    assert "share passed to a neighbour" in text
    (tmp_path / "own.py").write_text(text.replace("share passed to a neighbour", "share [bold]passed", 1))
    code, said, _ = call("describe", str(tmp_path / "own.py"))
    assert (code, "share [bold]passed" in said) == (Exit.DONE, True)


def test_a_model_in_a_file_is_described_as_one_of_steppes_own(call):
    code, said, _ = call("describe", str(EXAMPLES / "bucket.py"))
    assert code == Exit.DONE
    assert said.startswith("bucket 1.0: ")
    assert "0 to 1000" in rows(said, "state")["water"]
    assert " 150 " in rows(said, "parameter")["capacity"]
    assert set(rows(said, "diagnostic")) == {"runoff", "actual_evaporation", "drainage"}


def test_a_model_with_neighbours_is_described_too(call):
    code, said, _ = call("describe", str(EXAMPLES / "diffusion.py"))
    assert code == Exit.DONE
    assert " kg m-3 " in rows(said, "state")["concentration"]
    assert "0 to 0.25" in rows(said, "parameter")["rate"]


@pytest.mark.parametrize(
    ("model", "sentence"),
    [("pastur", 'There is no model "pastur". Did you mean "pasture"?'), ("no.py", 'There is no model file "no.py".')],
)
def test_an_unknown_model_is_a_mistake(call, model, sentence):
    code, said, wrong = call("describe", model)
    assert (code, said) == (Exit.MISTAKE, "")
    assert sentence in wrong


def test_a_model_without_a_docstring_is_described_by_its_name_and_variables(call, tmp_path):
    text = (EXAMPLES / "bucket.py").read_text()
    (tmp_path / "bare.py").write_text(text[text.index("from typing") :])
    code, said, wrong = call("describe", str(tmp_path / "bare.py"))
    assert (code, wrong) == (Exit.DONE, "")
    assert said.startswith("bucket 1.0: Bucket water balance\n")
    (tmp_path / "field.py").write_text("from examples.diffusion import Diffusion\nMODEL = Diffusion\n")
    code, said, _ = call("describe", str(tmp_path / "field.py"))
    assert (code, said.startswith("diffusion 1: A concentration that spreads; it asks")) == (Exit.DONE, True)


def test_brackets_of_a_description_are_text(call, tmp_path):
    text = (EXAMPLES / "bucket.py").read_text()
    (tmp_path / "own.py").write_text(f'"""Water [mm], not [/m] :droplet:."""\n{text[text.index("from typing") :]}')
    code, said, _ = call("describe", str(tmp_path / "own.py"))
    assert code == Exit.DONE
    assert said.startswith("bucket 1.0: Water [mm], not [/m] :droplet:.\n")


def test_a_run_file_shows_the_variables_and_levels_of_its_model(call):
    code, said, wrong = call("describe", str(EXAMPLES / "transport.toml"))
    assert (code, wrong) == (Exit.DONE, "")
    assert {"hills", "slotted", "radon", "age"} <= set(rows(said, "state"))
    assert " s-1 " in rows(said, "parameter")["source_radon"]
    assert "level: 4.8093 hPa, " in said
    found = json.loads(call("describe", str(EXAMPLES / "transport.toml"), "--json")[1])
    assert {"hills", "column_radon"} <= {variable["name"] for variable in found["variables"]}
    assert len(found["spaces"]["level"]["values"]) == 18
