"""Changes of variables: checked and converted before they go into the journal, so that no replay depends on a unit or a polygon."""

import math

import numpy as np

from steppe.api import Change, VariableInfo
from steppe.api.documents import ChangeArguments
from steppe.array_types import Array, Floats
from steppe.control import Refused
from steppe.service import regions, uploads
from steppe.service.service import Service
from steppe.variable import Role, Variable


async def arguments_of(service: Service, run: str, change: Change) -> ChangeArguments:
    """The arguments of a `set` order: {variable, operation, value | upload, cells}, in the variable's own unit. Cells are stored.

    Raises
    ------
    Refused
        The variable cannot be set, or value, unit, region or array do not fit it; uploads-full.
    """
    arguments, cells = await checked(service, run, change)
    if cells is not None:
        arguments["cells"] = await service.in_thread(uploads.keep, service.run(run).folder, cells.astype("<u4").tobytes(), service.limits)
    return arguments


async def checked(service: Service, run: str, change: Change) -> tuple[ChangeArguments, regions.Cells | None]:
    """The arguments of a `set` order but for the cells, and the packed cells, None for all. Raises Refused.

    Nothing is stored but an array of another unit, as one of the variable's.
    """
    variable = service.variable(run, change.variable, change.level, every=True, position="$.level")
    if not variable.settable:
        names = ", ".join(variable.settable_by)
        by_weather = variable.role == "forcing"
        why = "cannot be set: the weather holds it" if by_weather else f"is computed ({variable.role}) and cannot be set"
        text = f'"{variable.name}" {why}.' + (f" Set {names} in its place." if names else "")
        raise Refused("derived-variable", text, variable=variable.name, settable_by=variable.settable_by)
    grid = service.known(run).grid
    cells = None if change.region == "all" else await service.in_thread(regions.cells_of, grid, change.region)
    if cells is not None and not variable.dims:
        text = f'"{variable.name}" is one number for the whole grid. Set it without a region.'
        raise Refused("region-invalid", text, variable=variable.name, position="$.region")
    count = grid.n_cells if cells is None else len(cells)
    value, upload = change.value, change.upload or ""
    if value is not None:
        if _of_another_unit(change, variable):
            value = float(await service.in_thread(_converted, value, change, variable))
        _check(value, change, variable)
    else:
        upload = await service.in_thread(_checked_upload, service, run, change, variable, count)
    arguments: ChangeArguments = {
        "variable": variable.name,
        "operation": change.operation,
        "value": value,
        "upload": upload,
        "cells": "",
        "region": repr_region(change),
        "given": {"value": change.value, "units": change.units or variable.units},
    }
    return arguments, cells


def previewed(service: Service, run: str, change: ChangeArguments, chosen: regions.Cells | None, before: Floats) -> dict[str, object]:
    """The effect of a change: the number of cells that it reaches, their means by area, and the allowed values.

    chosen: its packed cells, None for all; before: the values of all cells, (cells,), or those of each level one behind the other.

    Means are of the cells that have a value; None where none has.
    """
    known = service.known(run)
    cells = np.arange(known.grid.n_cells) if chosen is None else chosen
    variable, here = known.variables[change["variable"]], before.reshape(-1, known.grid.n_cells)[:, cells]
    by: float | Array | None = change["value"]
    if change["upload"]:
        by = np.frombuffer(uploads.read(service.run(run).folder, change["upload"]), np.dtype(variable.dtype).newbyteorder("<"))
    assert by is not None, "a value or an upload is given"
    after = {"set": np.broadcast_to(by, here.shape), "scale": here * by, "add": here + by}[change["operation"]]
    weights = known.grid.cell_area[cells]
    return {
        "cells": len(cells),
        "before": _mean(here, weights),
        "after": _mean(after, weights),
        "outside": int(_declared(variable).unfit(after).sum()),
    }


def _mean(values: Floats, weights: Floats) -> float | None:
    there = np.isfinite(values)
    if not there.any():
        return None
    least = values[there].min()  # so that the mean of equal values is that value
    return float(least + np.average(values[there] - least, weights=np.broadcast_to(weights, values.shape)[there]))


def repr_region(change: Change) -> str | dict[str, list[object]]:
    """The region as it was given, for readers of the journal; long ones are cut."""
    if isinstance(change.region, str):
        return change.region
    found = {name: getattr(change.region, name) for name in ("box", "polygon", "cell", "cells")}
    return {name: list(value)[:1000] for name, value in found.items() if value is not None}


def _of_another_unit(change: Change, variable: VariableInfo) -> bool:
    """Whether a value or an array must be converted; raises Refused for a factor with a unit."""
    if change.units and change.operation == "scale":
        raise Refused("unit-wrong", "A factor has no unit. Leave units away.", value=change.units, position="$.units")
    return change.units not in (None, variable.units)


def _converted(value: float | Array, change: Change, variable: VariableInfo) -> float | Array:
    from cf_units import Unit  # half a second, and most requests use the variable's own unit

    try:
        given, own = Unit(change.units), Unit(variable.units)
        zero = given.convert(0.0, own) if change.operation == "add" else 0.0  # a difference of 1 degC is one of 1 K
        converted: float | Array = given.convert(value, own) - float(zero)
        return converted
    except ValueError:
        text = f'"{change.units}" does not convert to "{variable.units}", the unit of "{variable.name}".'
        raise Refused("unit-wrong", text, variable=variable.name, value=change.units, allowed=variable.units, position="$.units") from None


def _declared(info: VariableInfo) -> Variable:
    """The variable as the model declares it, which knows the values that it may have."""
    low, high = (-math.inf if info.low is None else info.low), (math.inf if info.high is None else info.high)
    role, dims = Role(info.role), tuple(info.dims)
    return Variable(info.name, dims, info.units, info.dtype, role, info.long_name, low=low, high=high, whole=info.whole)


def _check(values: float | Array, change: Change, info: VariableInfo) -> None:
    """Whether values may be put into a variable; what a sum or a product gives, the engine checks."""
    found = np.atleast_1d(values)
    if not np.isfinite(found).all():
        at = int(np.argmin(np.isfinite(found)))
        text, position = (f"Value {at} of the array", at) if np.ndim(values) else ("A value", "$.value")
        raise Refused("out-of-range", f"{text} is no finite number.", variable=info.name, position=position)
    variable = _declared(info)
    if change.operation == "set" and (unfit := variable.unfit(found)).any():
        wrong, allowed = float(found[unfit][0]), [info.low, info.high]
        raise Refused("out-of-range", variable.refusal(wrong), variable=info.name, value=wrong, allowed=allowed, position="$.value")


def _checked_upload(service: Service, run: str, change: Change, variable: VariableInfo, count: int) -> str:
    """The name of an array in the variable's unit, once its size and its values are checked."""
    folder, name = service.run(run).folder, str(change.upload)
    content = uploads.read(folder, name)
    dtype = np.dtype(variable.dtype).newbyteorder("<")
    if len(content) != count * dtype.itemsize:
        text = f"The array has {len(content):,} bytes; {count:,} cells of {dtype.name} have {count * dtype.itemsize:,}."
        raise Refused("array-shape", text, variable=variable.name, value=len(content), allowed=count * dtype.itemsize, position="$.upload")
    values: Array = np.frombuffer(content, dtype)
    converts = _of_another_unit(change, variable)
    if converts:
        values = np.asarray(_converted(values.astype(np.float64), change, variable)).astype(dtype)
    _check(values, change, variable)
    return uploads.keep(folder, values.tobytes(), service.limits) if converts else name
