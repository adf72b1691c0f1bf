"""Runs of known cases, as a user makes them: by a run file."""

import csv
import os
import tempfile
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from tests.models.transport.driven import air
from tests.shared import shared_path

import steppe
from steppe.models.transport import Transport

FULL = not os.environ.get("CI")  # otherwise those cases that take less than some seconds
DAYS = 16, 15, 12  # of a period: the first in which the steps divide a day is taken; no result depends on it
VARIANTS = {"free": ("off", "off"), "free, fixed": ("off", "on"), "limited": ("on", "off"), "limited, fixed": ("on", "on")}
FIELDS = {"gauss": "hills", "cos": "bells", "slot": "slotted"}  # names in the references: names of forms

Row = dict[str, str]
Values = dict[str, NDArray[np.float64]]


class Outcome(NamedTuple):
    """first, middle, last: tracers (levels, rows, columns) at the beginning, half-way and at the end. mass: of air, of the same shape."""

    first: Values
    middle: Values
    last: Values
    mass: NDArray[np.float64]


def references(name: str) -> list[Row]:
    """The rows of a table of reference solutions."""
    text = shared_path(f"reference/transport/{name}.csv").read_text(encoding="utf-8")
    return list(csv.DictReader(line for line in text.splitlines() if not line.startswith("#")))


def grid(rows: int, kind: str = "latlon") -> str:
    """A grid of a run file with so many rows, twice as many columns, the first of them at longitude 0.

    kind: "gauss"; "latlon", rows beside the poles; "poles", one more row, the first and the last on the poles.
    """
    if kind == "gauss":
        return f"{{ gaussian = {rows} }}"
    cell = 180.0 / rows
    north, rows_in_all = (90.0 + cell / 2, rows + 1) if kind == "poles" else (90.0, rows)
    return f"{{ rectangle = {{ north = {north!r}, west = {-cell / 2!r}, rows = {rows_in_all}, columns = {2 * rows}, cell = {cell!r} }} }}"


def named(rows: int, kind: str) -> str:
    """A grid, as tables name it."""
    return {("gauss", 64): "T42", ("gauss", 128): "T85"}.get((kind, rows), f"{180.0 / rows:g} degree")


def days_of(steps: int) -> int:
    """A period in days, of which so many steps are steps that divide a day."""
    return next(days for days in DAYS if steps % days == 0 and 86_400 % (steps // days) == 0)


def text(value: Any) -> str:
    """A value of a run file."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {text(each)}" for key, each in value.items()) + " }"
    return f'"{value}"' if isinstance(value, str) else str(value)


def opened(folder: Path, where: str, steps: int, days: int, tracers: tuple[str, ...], forcing: str = "", **parameters: Any):
    """A simulation of some tracers, each a form."""
    table = {"levels": 1, **parameters, "tracers": dict.fromkeys(tracers, "") | {name: name for name in tracers}}
    if forcing:
        table.pop("levels")
    seconds = days * 86_400 // steps
    path = folder / "run.toml"
    path.write_text(
        f'model = "transport"\ntime = {{ start = 2000-01-01, end = 2000-01-{days:02d}, step = "{seconds} seconds" }}\ngrid = {where}\n'
        + (f'[forcing]\nfields = "{forcing}"\n' if forcing else "")
        + "[parameters]\n"
        + "".join(f"{name} = {text(value)}\n" for name, value in table.items())
        + f'[output]\npath = "{folder}/out"\nvariables = ["{tracers[0]}"]\nevery = "{days} days"\nreduce = "last"\n'
    )
    return steppe.Simulation(path)


@cache
def outcome(where: str, steps: int, days: int, tracers: tuple[str, ...], variant: str, forcing: str = "", **parameters: Any) -> Outcome:
    """What comes of a period."""
    limiter, fixer = VARIANTS[variant]
    with tempfile.TemporaryDirectory() as folder:
        said = {"limiter": limiter, "fixer": fixer, "scheme": "ccm", **parameters}
        with opened(Path(folder), where, steps, days, tracers, forcing, **said) as simulation:
            model = simulation.model
            assert isinstance(model, Transport)

            def values() -> Values:
                return {name: model.state[name].copy() for name in tracers}

            first = values()
            simulation.step(steps // 2)
            middle = values()
            simulation.step(steps - steps // 2)
            return Outcome(first, middle, values(), air(model))


def lauritzen(rows: int, kind: str, steps: int, variant: str, **parameters: Any) -> Outcome:
    """Lauritzen's flow: all four tracers in one run."""
    days = days_of(steps)
    said = {"wind": "deforming", "period": float(days), **parameters}
    return outcome(grid(rows, kind), steps, days, ("hills", "bells", "slotted", "correlated"), variant, **said)
