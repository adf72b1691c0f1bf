"""Writes docs/notation.md from what `steppe describe` reports of the shipped models and of the examples: `python scripts/notation.py`."""

import json
import re
import sys
from collections import Counter
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "notation.md"
IS_MODEL = re.compile(r"^(MODEL = |def step\()", re.MULTILINE)
HEAD = """# Notation

This page lists every name of the shipped models and of the examples, with its unit. `python scripts/notation.py` writes it from the
declarations of the models. `steppe describe MODEL` shows one model with its defaults and limits; [pasture.md](pasture.md) has the options.

## Names
A state is carried from step to step. A forcing comes from the weather or an event. A parameter is given for a run, a derived constant
follows from the parameters, and a diagnostic is computed in a step. The source is the paper, table or file of the value; the code of a
model names the source of each equation.
"""
LEVELS = """
## Levels
A variable *on each level* has one value a cell for each of these values.
"""
UNITS = """
## Units
Units are texts of UDUNITS: `mm d-1` is millimetre a day; `1` is a number without a unit.
"""


def models() -> list[str]:
    """What `steppe describe` takes for each model: the name of a shipped one, the path of an example."""
    from steppe.models.registry import OWN

    return [*sorted(OWN), *sorted(str(path) for path in (ROOT / "examples").glob("*.py") if IS_MODEL.search(path.read_text()))]


def described(model: str) -> dict[str, Any]:
    """The declarations of a model.

    Raises
    ------
    SystemExit
        `steppe describe` fails; it prints the reason.
    """
    from steppe.cli import run_command

    with redirect_stdout(StringIO()) as printed:
        if run_command(["describe", model, "--json"]):
            raise SystemExit(f"steppe describe {model} fails.")
    found: dict[str, Any] = json.loads(printed.getvalue())
    return found


def page() -> str:
    """The text of docs/notation.md."""
    from steppe.jobs.catalogue import grouped

    entries = [described(model) for model in models()]
    users: dict[tuple[str, ...], list[str]] = {}
    for entry in entries:
        for variable in grouped(entry["variables"]):
            users.setdefault(_row(variable, entry["spaces"]), []).append(entry["name"])
    rows = [(f"`{name}`", f"`{unit}`", *rest[:2], ", ".join(users[name, unit, *rest]), rest[2]) for name, unit, *rest in sorted(users)]
    units = Counter(unit for _, unit, *_ in users)
    spaces = [(name, space, entry["name"]) for entry in entries for name, space in entry["spaces"].items()]
    levels = [(f"`{name}`", f"`{space['units']}`", _values(space), model) for name, space, model in spaces]
    parts = [
        (HEAD, ("name", "unit", "meaning", "role", "models", "source"), rows),
        (LEVELS, ("name", "unit", "values", "models"), levels),
        (UNITS, ("unit", "names that have it"), [(f"`{unit}`", str(units[unit])) for unit in sorted(units)]),
    ]
    return "\n".join(f"{text}\n{_table(head, rows)}" for text, head, rows in parts)


def _row(variable: dict[str, Any], spaces: dict[str, Any]) -> tuple[str, ...]:
    """Name, unit, meaning, role and source of a variable."""
    meaning = variable["long_name"] + "".join(f", on each {dim}" for dim in variable["dims"] if dim in spaces)
    if variable["standard_name"]:
        meaning += f" (CF: `{variable['standard_name']}`)"
    return variable["name"], variable["units"], meaning, variable["role"], variable["source"]


def _values(space: dict[str, Any]) -> str:
    """The values of levels, with their CF name and direction."""
    notes = [f"CF: `{space['standard_name']}`"] * bool(space["standard_name"]) + [f"positive {space['positive']}"] * bool(space["positive"])
    return ", ".join(f"{value:g}" for value in space["values"]) + (f" ({', '.join(notes)})" if notes else "")


def _table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    return "".join(f"| {' | '.join(row)} |\n" for row in (head, ("---",) * len(head), *rows))


if __name__ == "__main__":
    PAGE.write_text(page())
    sys.stdout.write(f"{PAGE} is written.\n")
