"""The JSON Schema of the run file, for editors: keys, meanings and choices; of a known model also its parameters, units and limits."""

from collections.abc import Iterable, Mapping
from math import isfinite
from types import ModuleType
from typing import Any

from steppe.engine.run_file import RunFile
from steppe.models import Choice, Model, sets_of
from steppe.variable import Role, Variable

Schema = dict[str, Any]

DRAFT = "http://json-schema.org/draft-07/schema#"  # the one that editors know
OF_A_STORE: Schema = {
    "type": "object",
    "properties": {"store": {"type": "string"}, "variable": {"type": "string"}},
    "required": ["store", "variable"],
    "additionalProperties": False,
}
PLACES: dict[str, Schema] = {  # how a region is written as a table
    "box": {"description": "West, south, east, north [degrees].", "minItems": 4, "maxItems": 4, "items": {"type": "number"}},
    "cell": {"description": "Longitude, latitude [degrees].", "minItems": 2, "maxItems": 2, "items": {"type": "number"}},
    "polygon": {"description": "Corners, longitude before latitude [degrees].", "minItems": 3, "items": {"type": "array"}},
}
ONE_OF = {
    "GridSection": ("region", "file", "points", "rectangle", "gaussian"),
    "ForcingSection": ("store", "stations", "fields"),
}  # exactly one of them is given


def run_file_schema(model: Model | None = None, module: ModuleType | None = None) -> Schema:
    """The schema of every run file, or of those of one model.

    Parameters
    ----------
    model
        The model that `make_model` gives for `module`; without it parameters and variables may have any name.
    """
    found = _plain(RunFile.model_json_schema())
    sections = found.pop("$defs")
    for section, keys in ONE_OF.items():
        sections[section]["oneOf"] = [{"required": [key]} for key in keys]
    region = [{"type": "string"}, *(_table(key, {"type": "array", **place}) for key, place in PLACES.items())]
    sections["EventSection"]["properties"]["region"]["anyOf"] = region
    sections["SeriesSection"]["properties"]["region"]["anyOf"] = [*region, {"type": "array", "items": {"anyOf": region}}]
    if model is not None and module is not None:
        _narrow(found, sections, model, sets_of(module))
    head = {"$schema": DRAFT, "title": "Run file of Steppe", "description": "Everything about a run."}
    return {**found, **head, "definitions": sections}  # so called in draft 07


def _table(key: str, value: Schema) -> Schema:
    return {"type": "object", "properties": {key: value}, "required": [key], "additionalProperties": False}


def _plain(value: object) -> Any:
    """The schema without null, which TOML does not have, and without titles that repeat the key."""
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if not isinstance(value, dict):
        return value.replace("#/$defs/", "#/definitions/") if isinstance(value, str) else value
    if "anyOf" in value:
        kinds = [kind for kind in value["anyOf"] if kind != {"type": "null"}]
        rest = {key: item for key, item in value.items() if key != "anyOf"}
        value = {**kinds[0], **rest} if len(kinds) == 1 else {**rest, "anyOf": kinds}
    found = {key: _plain(item) for key, item in value.items() if not (key == "title" and isinstance(item, str))}
    if found.get("default", 0) is None:
        del found["default"]
    if found.get("format") == "path":
        del found["format"]  # no format of JSON Schema
    return found


def _narrow(found: Schema, sections: Schema, model: Model, sets: Mapping[str, Mapping[str, object]]) -> None:
    """Adds the parameters, options and variables of a known model."""
    variables: Mapping[str, Variable] = model.variables
    choices: Mapping[str, Choice] = model.choices

    def of(*roles: Role) -> list[Variable]:
        return [v for v in variables.values() if v.role in roles]

    def put(keys: Schema, name: str, properties: Schema) -> None:
        keys[name] = {**keys[name], "properties": properties, "additionalProperties": False}

    named: Schema = {kind: {"enum": list(names), "description": f"A named set of {kind} parameters."} for kind, names in sets.items()}
    numbers = {v.name: _number(v) for v in of(Role.PARAMETER)}
    options = {name: {"enum": list(choice.words), "description": _words(choice)} for name, choice in choices.items()}
    either = {v.name: _or_store(v) for v in of(Role.PARAMETER)}
    land_type = {"description": "Which [[land_type]] each cell is.", "anyOf": [{"type": "integer"}, OF_A_STORE]}
    put(found["properties"], "parameters", {**named, **options, **either, "land_type": land_type})
    one_type = {
        "id": {"type": "integer", "description": "The number in the parameter land_type."},
        "name": {"type": "string", "description": "What it is called on maps."},
        **named,
        **numbers,
    }
    found["properties"]["land_type"]["items"] = {
        "type": "object",
        "properties": one_type,
        "required": ["id"],
        "additionalProperties": False,
    }
    recorded = {
        "type": "object",
        "properties": {"store": {"type": "string"}, "date": {"type": "string", "format": "date"}},
        "required": ["store", "date"],
    }
    said = '"default", a checkpoint folder of a run on the same grid, or the results of one and a date.'
    start = {"state": {"anyOf": [{"type": "string"}, {**recorded, "additionalProperties": False}], "description": said}}
    put(found["properties"], "initial", start | {v.name: _or_store(v) for v in of(Role.STATE)})
    put(sections["EventSection"]["properties"], "set", {v.name: _number(v) for v in variables.values() if v.settable})
    recordable = _names(v for v in variables.values() if v.recordable)
    for section in ("OutputSection", "MapsSection", "SeriesSection"):
        sections[section]["properties"]["variables"]["items"] = recordable
    cadence = sections["ForcingSection"]["properties"]["cadence"]
    put(sections["ForcingSection"]["properties"], "cadence", {v.name: cadence["additionalProperties"] for v in of(Role.FORCING)})


def _names(variables: Iterable[Variable]) -> Schema:
    """The schema of one of some names, each with its meaning."""
    return {"anyOf": [{"const": v.name, "description": _meaning(v)} for v in variables]}


def _words(choice: Choice) -> str:
    """The description of an option, with the meaning of each word."""
    words = "; ".join(f"{word}: {meaning}" for word, meaning in zip(choice.words, choice.meanings, strict=True))
    return f"{choice.long_name}. {words}."


def _number(v: Variable) -> Schema:
    limits = {key: limit for key, limit in (("minimum", v.low), ("maximum", v.high)) if isfinite(limit)}
    found: Schema = {"type": "integer" if v.whole else "number", "description": _meaning(v), **limits}
    return found if v.initial is None else {**found, "default": v.initial}


def _or_store(v: Variable) -> Schema:
    """A number, or a value for each cell from a store."""
    number = _number(v)
    outside: Schema = {key: number.pop(key) for key in ("description", "default") if key in number}
    return {**outside, "anyOf": [number, OF_A_STORE]}


def _meaning(v: Variable) -> str:
    return f"{v.long_name} [{v.units}]" + (f". {v.source}" if v.source else "")
