"""The declarations of a model that Steppe serves. The rest is refused by name when a model is opened, so that nothing is ignored.

every model     a variable under its own name, float32 or float64 (a state also int32), a unit of UDUNITS, dims of its kind, whole vectors
field models    also: forcing that the weather must hold, diagnostics, parameters of one number or a map; all of them with levels,
                which are a space of the model
"""

import re
from collections.abc import Iterator, Mapping
from functools import cache
from math import inf
from numbers import Integral

from steppe.clock import DAY, length
from steppe.errors import ModelError, RunFileError
from steppe.levels import Space
from steppe.models.contract import Model
from steppe.models.declare import Choice
from steppe.models.field_model import FieldModel
from steppe.variable import Role, Variable, vectors

DIMS = {"cells": ("cell",), "boxes": ("y", "x")}  # of a value for each cell, by the unit that a model needs
AXES = ("time", "lat", "lon", "cell", "crs", "bnds", "region", "scenario")
TAKEN = {  # names of axes and groups of a store, and keys of run files
    *AXES,
    *("time_bnds", "lat_bnds", "lon_bnds", "cell_lat", "cell_lon", "cell_area", "maps", "series", "state", "land_type"),
}
RESERVED = {*AXES, "x", "y", "station", "point"}  # dims of results, and axes
LEVELLED = (Role.STATE, Role.DIAGNOSTIC, Role.FORCING, Role.PARAMETER)  # may have levels
BETWEEN, FORCING_AT = ("linear", "last"), ("begin", "middle", "end")
FLOATS = ("float32", "float64")
PREFIXES = ("", "c", "h", "k", "m", "M", "G")
COMMON = {
    *("1", "%", "d", "day", "days", "h", "hour", "min", "year", "ha", "degC", "degree", "degrees", "degrees_north", "degrees_east", "rad"),
    *(prefix + unit for prefix in PREFIXES for unit in ("m", "s", "g", "Pa", "J", "W", "K", "mol", "V", "N")),
}
TERM = re.compile(r"(.*?[^-+\d])(-?\d)?")  # a symbol and its power, as in "m-2"


def check_served(model: Model) -> None:
    """Refuses a model that declares what Steppe would ignore.

    Raises
    ------
    ModelError
        The message names the model, the variable, what it declares, and what is possible.
    """
    for problem in _problems(model):
        raise ModelError(f'Model "{model.name}": {problem}')


def _problems(model: Model) -> Iterator[str]:
    if model.needs.unit not in DIMS:
        yield f'Needs(unit="{model.needs.unit}") is not known. Write "cells" or "boxes".'
    if isinstance(model, FieldModel) and model.needs.unit != "boxes":
        yield 'a field model needs boxes. Write needs = Needs(unit="boxes", halo={"y": 1, "x": 1}).'
    cost = model.needs.cost
    if cost is not None and not (isinstance(cost, int | float) and 0.0 < cost < inf):
        yield f"Needs(cost={cost!r}) is no time. Write the seconds that a cell and step take, such as 25e-9, or leave it away."
    variables = getattr(model, "variables", None)  # which an author may have written in any way
    if not hasattr(variables, "items"):
        yield f"variables is {variables!r:.80}. Write name -> Variable, such as {{variable.name: variable for variable in declared}}."
    yield from _of_spaces(model)
    for name, variable in model.variables.items():
        yield from _of_variable(name, variable, DIMS[model.needs.unit], model.spaces)
    try:
        vectors(model.variables)
    except ModelError as error:
        yield str(error)
    if isinstance(model, FieldModel):
        yield from _of_field_model(model)
    yield from _of_needs(model)
    yield from _of_choices(model)


def _of_spaces(model: Model) -> Iterator[str]:
    for name, space in model.spaces.items():
        if type(space) is not Space:  # which an author may have written in any way
            yield f'spaces["{name}"] is {space!r}. Write Space(values, units).'
        elif name in RESERVED or name in model.variables or not name.isidentifier():
            yield f'spaces["{name}"]: this name is taken, or no identifier. Choose another, such as "level".'
        elif not is_unit(space.units):
            yield f'spaces["{name}"] has the unit "{space.units}", which UDUNITS does not know. Write "hPa", say, or "1" for none.'


def _of_variable(name: str, variable: Variable, dims: tuple[str, ...], spaces: Mapping[str, Space]) -> Iterator[str]:
    if type(variable) is not Variable:  # which an author may have written in any way
        yield f'variables["{name}"] is {variable!r:.80}. Write Variable(name, dims, units, dtype, role, long_name).'
    if name != variable.name:
        yield f'variables["{name}"] declares the name "{variable.name}". Give both the same name.'
    if not f"_{name}".isidentifier():
        yield f'"{name}" is no name of a variable: files and run files take letters, digits and "_". Choose another one.'
    if name in TAKEN:
        yield f'"{name}" is a name that files or run files use for something else. Choose another one.'
    if not is_unit(variable.units):
        yield f'"{name}" has the unit "{variable.units}", which UDUNITS does not know. Write a unit such as "kg m-2 d-1", or "1" for none.'
    if variable.dtype not in FLOATS and not (variable.role is Role.STATE and variable.dtype == "int32"):
        yield f'"{name}" has the dtype "{variable.dtype}". Steppe computes in float32 or float64.'
    if variable.parity not in (1, -1):
        yield f'"{name}" has the parity {variable.parity}. Write -1 for what changes sign beyond a pole, otherwise 1.'
    level = variable.dims[:-2] if len(variable.dims) == 3 and variable.role in LEVELLED else ()
    if variable.dims != (*level, *dims) and (variable.dims or variable.role is not Role.PARAMETER):
        more = ', and ("level", "y", "x") where "level" is in `spaces`' if len(dims) == 2 and variable.role in LEVELLED else ""
        yield f'"{name}" has the dims {_listed(variable.dims)}. Steppe supports {_listed(dims)}: one number a cell{more}.'
    elif level and level[0] not in spaces:
        yield (
            f'"{name}" has the dim "{level[0]}", which is no space of the model. '
            f'Declare spaces = {{"{level[0]}": Space((1000.0, 850.0), "hPa")}}.'
        )


def _of_field_model(model: FieldModel) -> Iterator[str]:
    states = [variable for variable in model.variables.values() if variable.role is Role.STATE]
    if not states:
        yield "it declares no state. Declare at least one Variable with Role.STATE."
    if type(model).compute is FieldModel.compute and type(model).step is FieldModel.step:
        yield "it has no method `compute`. Write it: one step of a rectangle of cells. Or write `step`."
    if model.asked and type(model).derive is FieldModel.derive:
        yield f"it computes {', '.join(sorted(model.asked)[:3])} when asked (`asked`), and has no method `derive`. Write it."
    for variable in model.variables.values():
        name, role = variable.name, variable.role
        if role is Role.DERIVED:
            yield f'"{name}" is declared as derived. A field model computes such numbers itself: remove "{name}", or declare a parameter.'
        if role is Role.FORCING and variable.initial is not None:
            yield f'forcing "{name}" has an initial value. A field model reads its forcing from the weather at each step: write no initial.'
        if variable.between not in BETWEEN or (variable.between != BETWEEN[0] and role is not Role.FORCING):
            yield f'"{name}" has between = "{variable.between}". Of forcing write {_words(BETWEEN)}; write nothing for other variables.'
        if role is Role.PARAMETER and variable.dtype != "float64":
            yield f'parameter "{name}" has the dtype "{variable.dtype}". Parameters are float64: write that.'
        if role is Role.STATE and variable.dtype not in FLOATS:
            yield f'"{name}" has the dtype "{variable.dtype}". A field is float32 or float64.'


def _of_needs(model: Model) -> Iterator[str]:
    if model.needs.step is not None:
        try:
            step = length(model.needs.step)
            if DAY % step and step % DAY:
                yield f'Needs(step="{model.needs.step}") does not divide a day without remainder, and is no number of days.'
        except RunFileError as error:
            yield f'Needs(step="{model.needs.step}"): {error}'
    if model.needs.forcing_at not in FORCING_AT:
        yield f'Needs(forcing_at="{model.needs.forcing_at}") is not known. Write {_words(FORCING_AT)}.'
    if not model.needs.neighbours:
        return
    halo = {} if model.needs.halo is None else model.needs.halo
    if not hasattr(halo, "values") or not all(isinstance(width, Integral) for width in halo.values()):  # as above
        yield f'Needs(halo={halo!r}) is no whole number for each dim. Write halo={{"y": 1, "x": 1}}.'
    for dim in halo:
        if dim not in DIMS["boxes"]:
            yield f'Needs(halo=...) names the dim "{dim}". A model of boxes has the dims {_listed(DIMS["boxes"])}.'
    for dim in DIMS["boxes"]:
        if dim not in halo:
            yield f'Needs(halo=...) gives no width for the dim "{dim}". Write halo={{"y": 1, "x": 1}}; 0 is a width, too.'


def _of_choices(model: Model) -> Iterator[str]:
    for name, choice in model.choices.items():  # which an author may have written in any way
        if type(choice) is not Choice:
            yield f'option "{name}" is {choice!r}. Write Choice("What it chooses", {{"this": "its meaning", "that": "its meaning"}}).'
        if name in model.variables and model.variables[name].role is Role.PARAMETER:  # a run file names both under [parameters]
            yield f'option "{name}" has the name of a parameter. Choose another one.'


def _listed(dims: tuple[str, ...]) -> str:
    return "(" + ", ".join(f'"{dim}"' for dim in dims) + ")"


def _words(known: tuple[str, ...]) -> str:
    return " or ".join(f'"{word}"' for word in known)


@cache
def is_unit(text: str) -> bool:
    """Whether UDUNITS knows a unit, as in "kg m-2 d-1". The most usual ones need no library, which takes a fifth of a second to load.

    Examples
    --------
    >>> is_unit("kg ha-1 d-1"), is_unit("furlongs per fortnite"), is_unit("")
    (True, False, False)
    """
    terms = text.split(" ")
    if all(term == "1" or ((found := TERM.fullmatch(term)) and found[1] in COMMON) for term in terms):
        return True
    from cf_units import Unit

    try:
        unit = Unit(text)
    except ValueError:
        return False
    return not (unit.is_unknown() or unit.is_no_unit())
