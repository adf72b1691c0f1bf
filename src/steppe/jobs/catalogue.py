"""The declarations of all installed models as JSON: `python -m steppe.jobs.catalogue`, for a server, which loads no model."""

import json
import sys
from contextlib import redirect_stdout
from dataclasses import asdict
from importlib.metadata import entry_points
from typing import Any

from steppe.engine.options import described
from steppe.errors import SteppeError, in_words
from steppe.models import Model, find_model, make_model, sets_of
from steppe.models.registry import OWN

MANY = 20  # names of one kind, which then have one line


def entry_of(name: str, made: Model | None = None) -> dict[str, Any]:
    """Name, version, declarations of all variables, options and named parameter sets of a model; without infinities.

    made: the model of this name of a run; default: that of a run whose [parameters] are empty.

    Raises
    ------
    ModelError
        There is no such model.
    """
    module = find_model(name)
    made = made or make_model(module)
    options = described(module, made.choices)
    sets = {kind: list(names) for kind, names in sets_of(module).items()}
    variables = [{**asdict(variable), "role": variable.role.value} for variable in made.variables.values()]
    spaces = {name: asdict(space) for name, space in made.spaces.items()}
    whole = {"name": made.name, "version": made.version, "variables": variables, "spaces": spaces, "options": options, "sets": sets}
    found: dict[str, object] = _finite(whole)
    return found


def grouped(variables: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The variables of `entry_of`; more than 20 of one kind, `boundary_NO`, `boundary_NO2` and so on, are one."""
    alike: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for variable in variables:
        alike.setdefault((variable["name"].rpartition("_")[0], variable["role"]), []).append(variable)
    found = []
    for (kind, _), group in alike.items():
        if kind and len(group) > MANY:
            text = f"{len(group)} of them, such as `{group[0]['name']}`: {group[0]['long_name']}"
            found.append({**group[0], "name": f"{kind}_...", "long_name": text, "source": ""})
        else:
            found += group
    return found


def catalogue() -> dict[str, dict[str, object]]:
    """All models that are installed, by the name that a run file gives them; one that cannot be loaded has only a `problem`."""
    found = {}
    for name in sorted({*OWN, *(entry.name for entry in entry_points(group="steppe.models"))}):
        try:
            found[name] = entry_of(name)
        except Exception as error:  # code of another package may raise anything
            found[name] = {"name": name, "problem": str(error) if isinstance(error, SteppeError) else in_words(error)}
    return found


def _finite(value: object) -> Any:
    """The same without infinities, which JSON does not have."""
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and value in (float("inf"), -float("inf")) else value


if __name__ == "__main__":
    with redirect_stdout(sys.stderr):  # what a model prints while it is loaded is no part of the catalogue
        found = catalogue()
    sys.stdout.write(json.dumps(found))
