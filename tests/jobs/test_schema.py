"""The JSON Schema of the run file: right run files pass, mistakes do not, and a model's own names and units are in it."""

import tomllib
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from steppe.cli.new import TEMPLATE
from steppe.cli.schema import schema_text
from steppe.jobs.schema import run_file_schema
from steppe.models import find_model, make_model
from tests.scenario import EXAMPLES, RUN

OF_PASTURE = run_file_schema(make_model(find_model("pasture")), find_model("pasture"))
OF_BUCKET = run_file_schema(make_model(find_model(str(EXAMPLES / "bucket.py"))), find_model(str(EXAMPLES / "bucket.py")))
OF_ALL = run_file_schema()


def as_json(value: Any) -> Any:
    """As editors hand TOML to a schema: dates are texts."""
    if isinstance(value, dict):
        return {key: as_json(item) for key, item in value.items()}
    if isinstance(value, list):
        return [as_json(item) for item in value]
    return value.isoformat() if hasattr(value, "isoformat") else value


def mistakes(text: str, schema: dict[str, Any]) -> list[str]:
    checker = jsonschema.Draft7Validator(schema, format_checker=jsonschema.FormatChecker())
    return [f"{'.'.join(map(str, error.path))}: {error.message}" for error in checker.iter_errors(as_json(tomllib.loads(text)))]


@pytest.mark.parametrize("schema", [OF_ALL, OF_PASTURE, OF_BUCKET], ids=["all", "pasture", "bucket"])
def test_it_is_a_schema(schema):
    jsonschema.Draft7Validator.check_schema(schema)


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.toml")), ids=lambda path: path.name)
def test_every_example_passes(path: Path):
    text = path.read_text()
    assert mistakes(text, OF_ALL) == []
    if 'model = "pasture"' in text:
        assert mistakes(text, OF_PASTURE) == []


def test_other_run_files_pass():
    assert mistakes(RUN, OF_ALL) == mistakes(RUN, OF_BUCKET) == []
    event = "[[event]]\ndate = 1995-10-01\nset = { irrigation = 20.0 }\nregion = { polygon = [[144, -24], [146, -24], [146, -22]] }\n"
    assert mistakes(RUN + event + "[initial]\nwater = 20\n", OF_BUCKET) == []
    for grid in ("rectangle = { north = 0, west = 140, rows = 2, columns = 4, cell = 0.5 }", "gaussian = 64"):
        assert mistakes(RUN.replace('file = "mask.zarr"', grid), OF_ALL) == []
    assert "#:schema {schema}" in TEMPLATE


@pytest.mark.parametrize(
    ("old", "new", "where"),
    [
        ("start = 1990-01-10", 'start = "spring"', "time.start"),
        ("start = 1990-01-10", "strat = 1990-01-10", "time"),
        ("[engine]", "[engines]", ""),
        ('file = "mask.zarr"', 'file = "mask.zarr"\nregion = "queensland"', "grid"),
        ('every = "1 month"', 'every = "monthly"', "output.every"),
        ("box = [144.0, -22.0, 145.0, -20.0]", "box = [144.0, -22.0]", "output.series.0.region"),
        ("threads = 2", "threads = 0", "engine.threads"),
        ("capacity = 120.0", "capacity = 12000.0", "parameters.capacity"),
        ("capacity = 120.0", "capacty = 120.0", "parameters"),
        ('variables = ["water", "runoff"]', 'variables = ["watr"]', "output.variables.0"),
    ],
)
def test_mistakes_are_found_where_they_are(old, new, where):
    assert old in RUN
    assert where in {found.partition(": ")[0] for found in mistakes(RUN.replace(old, new), OF_BUCKET)}


def test_parameters_carry_meaning_unit_limits_and_default():
    capacity = OF_BUCKET["properties"]["parameters"]["properties"]["capacity"]
    assert capacity["description"] == "Most water that the soil holds [mm]"
    assert capacity["default"] == 150
    assert capacity["anyOf"][0] == {"type": "number", "minimum": 1, "maximum": 1000}
    plants = OF_PASTURE["properties"]["parameters"]["properties"]["plant"]
    assert "mitchell" in plants["enum"]


def test_every_key_says_what_it_is():
    for name, section in OF_ALL["definitions"].items():
        for key, value in section["properties"].items():
            assert "description" in value or "$ref" in value or "$ref" in value.get("items", {}), f"{name}.{key}"


def test_a_name_that_is_recorded_says_its_unit():
    names = {
        choice["const"]: choice["description"]
        for choice in OF_BUCKET["definitions"]["OutputSection"]["properties"]["variables"]["items"]["anyOf"]
    }
    assert names["runoff"] == "Runoff [mm d-1]"


def test_without_a_model_any_name_may_stand():
    assert '"stocking_rate"' in schema_text("pasture")
    assert '"stocking_rate"' not in schema_text(None)


def test_events_and_records_offer_only_what_a_run_takes():
    variables = make_model(find_model("pasture")).variables
    offered = set(OF_PASTURE["definitions"]["EventSection"]["properties"]["set"]["properties"])
    assert offered == {name for name, variable in variables.items() if variable.settable}
    recorded = OF_PASTURE["definitions"]["OutputSection"]["properties"]["variables"]["items"]["anyOf"]
    assert "bad_code" in variables
    assert "bad_code" not in offered | {each["const"] for each in recorded}
