"""Reads a mechanism: one that comes with Steppe, or a file of either format."""

import json
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

import yaml

from steppe.errors import ModelError, nearest
from steppe.models.air.entry import Table
from steppe.models.air.mechanism import Mechanism
from steppe.models.air.openatmos_file import read_openatmos
from steppe.models.air.plain_file import read_plain

BUILTIN = ("emep66",)


def read_mechanism(name: str | Path) -> Mechanism:
    """The mechanism of a name, "emep66", or of a file (.yaml, .yml, .json) of either format; the contents say which one it is.

    Raises
    ------
    ModelError
        There is no such mechanism or file, it does not parse, or it is wrong; the message names the file, the reaction and the value.
    """
    if str(name) in BUILTIN:
        return _read((files("steppe.models.air") / "mechanisms" / f"{name}.yaml").read_text(encoding="utf-8"), f"{name}.yaml")
    path = Path(name)
    if path.suffix not in (".yaml", ".yml", ".json"):
        raise ModelError(f'There is no mechanism "{name}".{nearest(str(name), BUILTIN)} Or give a file: .yaml, .yml or .json.')
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ModelError(f'Mechanism "{path}" cannot be read: {getattr(error, "strerror", "it is no text in UTF-8")}.') from None
    return _read(text, str(path))


def _read(text: str, file: str) -> Mechanism:
    content = _parsed(text, file)
    whole = content if isinstance(content, dict) else {}
    species = whole.get("species")
    tables = isinstance(species, list) and any(isinstance(each, dict) for each in species)  # and not names, as in plain files
    return read_openatmos(content, file) if tables or "phases" in whole else read_plain(content, file)


class _Loader(yaml.SafeLoader):  # type: ignore[misc]
    """Makes tables that know their line, and refuses a name that stands twice in one."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> Any:
        keys = [key for key, _ in node.value]
        if (n := _second([str(key.value) for key in keys])) is not None:
            raise yaml.constructor.ConstructorError(problem=f'"{keys[n].value}" stands twice in a table', problem_mark=keys[n].start_mark)
        found = Table(super().construct_mapping(node, deep=True))
        found.line = node.start_mark.line + 1
        return found

    def construct_number(self, node: yaml.ScalarNode) -> Any:
        if ":" in node.value:
            problem = f"{node.value} is a number to the base of 60, as YAML reads it; write one without a colon"
            raise yaml.constructor.ConstructorError(problem=problem, problem_mark=node.start_mark)
        return self.construct_yaml_int(node) if node.tag.endswith("int") else self.construct_yaml_float(node)


_Loader.add_constructor("tag:yaml.org,2002:map", _Loader.construct_mapping)
for kind in ("int", "float"):
    _Loader.add_constructor(f"tag:yaml.org,2002:{kind}", _Loader.construct_number)


def _second(names: Sequence[str]) -> int | None:
    """The place at which a name stands again. Comments may."""
    first: dict[str, int] = {}
    return next((n for n, name in enumerate(names) if first.setdefault(name, n) != n and not name.startswith("__")), None)


def _parsed(text: str, file: str) -> object:
    """Of JSON or YAML."""

    def table(pairs: list[tuple[str, object]]) -> dict[str, object]:
        if (n := _second([name for name, _ in pairs])) is not None:
            raise ModelError(f'Mechanism "{file}": a table has "{pairs[n][0]}" twice. Remove one.')
        return dict(pairs)

    try:
        return json.loads(text, object_pairs_hook=table) if file.endswith(".json") else yaml.load(text, _Loader)
    except json.JSONDecodeError as error:
        raise ModelError(f'Mechanism "{file}", line {error.lineno}: this is no JSON: {error.msg}.') from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        at = f", line {mark.line + 1}" if mark else ""
        raise ModelError(f'Mechanism "{file}"{at}: this is no YAML: {getattr(error, "problem", None) or error}.') from None
