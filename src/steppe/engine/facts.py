"""The description of a run in types of JSON, for programs that have neither its files nor its model."""

from collections.abc import Sequence
from math import isfinite

import numpy as np

from steppe.api.documents import RunFacts
from steppe.control.wire import BEGINNING
from steppe.engine.plan import Plan
from steppe.grid import as_plain
from steppe.levels import Space
from steppe.variable import Variable, vectors

AS_DECLARED = ("name", "units", "dtype", "long_name", "standard_name", "whole", "initial", "source", "cell_methods", "heading")
WIDE = ("rainfall", "precipitation", "snowfall", "runoff", "river")  # in CF names of what spans powers of ten


def facts_of(plan: Plan, since: Sequence[int] = BEGINNING) -> RunFacts:
    """Model, identity, declarations of variables, grid, clock, parameters as the run begins, those that the run file names, options,
    events of the run file.

    Of a variable `low` and `high` are None where there is no limit; `settable` says whether it can be set, `rounded` to what
    its records are rounded, `map` what its map shows: a "field" of numbers, "classes", or "" for one number of the whole grid; `vector`
    is the name of the one that it is a component of, or "", and `toward` where its positive values point; `levels` name and coordinate
    of its levels, or None. since: see `RunFacts`.
    """
    clock, model = plan.clock, plan.model
    whole = {part for parts in vectors(plan.variables).values() for part in parts}
    own = model.variables.keys() - plan.of_weather
    single = {name for each in plan.maps if each.precision == "float32" for name in each.variables}
    return {
        "model": model.name,
        "version": model.version,
        "digest": model.digest,
        "title": plan.provenance["title"],
        "weather": plan.provenance["weather"],
        "identity": plan.identity,
        "variables": [
            _of_variable(variable, variable.name in single, variable.name in own, variable.name in whole)
            | {"levels": _of_levels(plan.variables.levels(variable.name))}
            for variable in plan.variables.values()
        ],
        "grid": as_plain(plan.grid),
        "clock": {
            "start": clock.start.isoformat(),
            "step": None if clock.step is None else clock.step.total_seconds(),
            "calendar": clock.calendar,
            "units": clock.units,
        },
        "steps": plan.steps,
        "parameters": {name: "per cell" if np.ndim(value) else float(value) for name, value in plan.chosen.values.items()},
        "options": dict(plan.chosen.options),
        "dtype": plan.dtype,
        "on_bad_cell": plan.run.engine.on_bad_cell,
        "given": [name for name in plan.variables if any(name in table for table in (plan.run.parameters, *plan.run.land_type))],
        "outputs": list(dict.fromkeys(name for each in (*plan.maps, *plan.run.output.series) for name in each.variables)),
        "planned": [
            {"step": each.step, "set": each.values, "cells": None if each.cells is None else len(each.cells)} for each in plan.actions
        ],
        "since": since,
    }


def _of_levels(levels: tuple[str, Space] | None) -> dict[str, object] | None:
    if levels is None:
        return None
    name, space = levels
    said = {key: getattr(space, key) for key in ("units", "standard_name", "positive", "long_name")}
    pairs = {key: [list(pair) for pair in getattr(space, key)] for key in ("bounds", "interfaces")}
    return {"name": name, "values": list(space.values), **pairs, **said}


def _of_variable(variable: Variable, single: bool, own: bool, whole: bool) -> dict[str, object]:
    vector, toward = (variable.component if whole else None) or ("", "")
    return {
        **{key: getattr(variable, key) for key in AS_DECLARED},
        "role": variable.role.value,
        "dims": list(variable.dims),
        "low": variable.low if isfinite(variable.low) else None,
        "high": variable.high if isfinite(variable.high) else None,
        "settable": own and variable.settable,
        "settable_by": list(variable.settable_by),
        "map": ("classes" if variable.classes else "field") if variable.dims else "",
        "classes": {str(number): name for number, name in variable.classes.items()},
        "logarithmic": variable.logarithmic or any(word in variable.standard_name for word in WIDE),
        "vector": vector,
        "toward": toward,
        "rounded": "float32" if single and variable.dtype == "float64" else "",
    }
