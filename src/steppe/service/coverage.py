"""Arrays as CoverageJSON (OGC 21-069r2): what they are of, in degrees east and north, dates and units, in one document.

Rows and columns are a Grid, cells a MultiPoint or, over time, a MultiPointSeries, series at places a collection of PointSeries.
"""

from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np

from steppe.api import VariableInfo, has_value
from steppe.api.documents import RunFacts
from steppe.array_types import Array
from steppe.clock import STANDARD
from steppe.control import Refused
from steppe.levels import Space, parted
from steppe.service.moments import clock_of
from steppe.service.service import RunDescription

CRS84 = "http://www.opengis.net/def/crs/OGC/1.3/CRS84"
STANDARD_NAMES = "http://vocab.nerc.ac.uk/standard_name/"
CALENDARS = "https://cfconventions.org/cf-conventions/cf-conventions.html#calendar-"
Json = dict[str, object]


def of_grid(values: Array, variable: VariableInfo, steps: Sequence[int], lat: Array, lon: Array, known: RunDescription) -> bytes:
    """Rows and columns. values: (steps, rows, columns), or (rows, columns) of one step; lat, lon: their centres [degrees]."""
    axes = {"x": _axis(lon), "y": _axis(lat), **_height(variable, known)}
    return _document(values, variable, steps, axes, ["y", "x"], "Grid", known)


def of_cells(values: Array, variable: VariableInfo, steps: Sequence[int], lat: Array, lon: Array, known: RunDescription) -> bytes:
    """Cells one by one. values: (steps, cells), or (cells,) of one step; lat, lon: their centres [degrees]."""
    height = _height(variable, known)
    above = [value for axis in height.values() for value in axis["values"]]
    points = [[x, y, *above] for x, y in zip(lon.tolist(), lat.tolist(), strict=True)]
    composite = {"dataType": "tuple", "coordinates": ["x", "y", *height], "values": points}
    kind = "MultiPoint" if len(steps) == 1 else "MultiPointSeries"
    return _document(values, variable, steps, {"composite": composite}, ["composite"], kind, known)


def of_series(
    values: Array, variable: VariableInfo, steps: Sequence[int], places: Sequence[tuple[float, float]], known: RunDescription
) -> bytes:
    """A collection of one series a place. values: (steps, places); places: longitude and latitude [degrees]."""
    time, height = _time(steps, known.facts), _height(variable, known)
    if not time:
        raise _timeless()
    coverages = [
        {
            "type": "Coverage",
            "domain": {"type": "Domain", "axes": {"x": {"values": [x]}, "y": {"values": [y]}, **height, **time}},
            "ranges": {variable.name: _range(np.ascontiguousarray(values[:, number]), ["t"])},
        }
        for number, (x, y) in enumerate(places)
    ]
    shared = {"domainType": "PointSeries", "parameters": _parameters(variable), "referencing": _referencing(True, variable, known)}
    return msgspec.json.encode({"type": "CoverageCollection", **shared, "coverages": coverages})


def _document(
    values: Array, variable: VariableInfo, steps: Sequence[int], axes: Json, names: list[str], kind: str, known: RunDescription
) -> bytes:
    time = _time(steps, known.facts)
    if time:
        values, names = values.reshape(len(steps), *values.shape[-len(names) :]), ["t", *names]
    elif len(steps) > 1:
        raise _timeless()
    domain = {"type": "Domain", "domainType": kind, "axes": axes | time, "referencing": _referencing(bool(time), variable, known)}
    coverage = {"type": "Coverage", "domain": domain, "parameters": _parameters(variable)}
    return msgspec.json.encode(coverage | {"ranges": {variable.name: _range(values, names)}})


def _timeless() -> Refused:
    return Refused("not-acceptable", "This model iterates without time, and CoverageJSON knows no steps without dates. Ask for one step.")


def _axis(degrees: Array) -> Json:
    return {"values": degrees.tolist()}


def _time(steps: Sequence[int], facts: RunFacts) -> Json:
    """The axis of the beginnings of what was done last, as in NetCDF; none for a model without time.

    With hours and zone also where steps are days: readers want them, though the standard does not.
    """
    clock = clock_of(facts)
    if clock.step is None:
        return {}
    return {"t": {"values": [f"{clock.moment(step).isoformat()}Z" for step in steps]}}


def _level(variable: VariableInfo, known: RunDescription) -> tuple[str, Space, float] | None:
    """Name, levels and value of the level of a map, if it is a height, a depth or a pressure."""
    name, level = parted(variable.name)
    levels = known.variables.levels(name)
    return (*levels, levels[1].values[level]) if level is not None and levels and levels[1].positive else None


def _height(variable: VariableInfo, known: RunDescription) -> dict[str, dict[str, list[float]]]:
    """The axis of that level; none of other maps."""
    level = _level(variable, known)
    return {"z": {"values": [level[2]]}} if level else {}


def _referencing(timed: bool, variable: VariableInfo, known: RunDescription) -> list[Json]:
    found: list[Json] = [{"coordinates": ["x", "y"], "system": {"type": "GeographicCRS", "id": CRS84}}]
    if level := _level(variable, known):
        name, space, _ = level
        axis = {"name": {"en": space.long_name or name}, "direction": space.positive, "unit": {"symbol": space.units}}
        found.append({"coordinates": ["z"], "system": {"type": "VerticalCRS", "cs": {"csAxes": [axis]}}})
    if timed:
        calendar = known.facts["clock"]["calendar"]
        name = "Gregorian" if calendar in STANDARD else CALENDARS + calendar
        found.append({"coordinates": ["t"], "system": {"type": "TemporalRS", "calendar": name}})
    return found


def _parameters(variable: VariableInfo) -> Json:
    """The parameter, with its unit, or with the numbers and names of its classes."""
    observed: Json = {"label": {"en": variable.long_name or variable.name}}
    if variable.standard_name:
        observed["id"] = STANDARD_NAMES + variable.standard_name
    parameter: Json = {"type": "Parameter", "observedProperty": observed}
    if variable.classes:
        observed["categories"] = [{"id": f"#{number}", "label": {"en": name}} for number, name in variable.classes.items()]
        parameter["categoryEncoding"] = {f"#{number}": int(number) for number in variable.classes}
    else:  # the standard forbids a unit beside categories
        parameter["unit"] = {"symbol": variable.units}
    return {variable.name: parameter}


def _range(values: Array, names: Sequence[str]) -> Json:
    kind = "float" if values.dtype.kind == "f" else "integer"
    return {"type": "NdArray", "dataType": kind, "axisNames": names, "shape": values.shape, "values": decimals(values)}


def decimals(values: Array) -> list[Any]:
    """The values in C order, each to become the shortest decimal that gives it back; what is no value becomes null.

    float32 has decimals of its own, so it must not pass through float64.
    """
    if values.dtype == np.float32:
        texts = [text if text not in ("nan", "inf", "-inf") else "null" for text in map(str, values.ravel())]
        return [msgspec.Raw(text.encode()) for text in texts]
    found: list[Any] = values.ravel().tolist()  # of floats NaN becomes null by itself
    if values.dtype.kind == "f":
        return found
    return [each if there else None for each, there in zip(found, has_value(values).flat, strict=True)]
