"""A scenario of a run as a Zarr version 3 group, though there are no such files: what any Zarr reader opens from an address.

    zarr.json               all descriptions: one request opens the group
    lat/c.0  time/c.0       coordinates, whole
    green/c.<step>.0.0      the map behind a step, counted from 0, as the engine gives it
    ozone/c.<step>.3.0.0    the same of level 3

A data set that stays open over a rewind keeps its past if its address has the number of the branch: main~1 in place of main.
Time has the length of the whole run from the beginning, and readers see the fill value where there is no chunk yet: NaN, and of whole
numbers the least of their type. Names are looked up among those that the run declared: no path is made of an address.
"""

import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import NamedTuple

import numpy as np

from steppe.api import VariableInfo
from steppe.api.documents import ArrayHead, ScenarioStatus
from steppe.api.query import MapQuery
from steppe.array_types import Array
from steppe.control import Refused
from steppe.control.wire import Buffer
from steppe.grid import Points, map_attributes, map_dimensions, map_values, references
from steppe.levels import flags, layer
from steppe.service.moments import cf_times
from steppe.service.service import RunDescription, Service

VARYING = ("state", "forcing", "diagnostic")  # roles
DESCRIPTION = "zarr.json"


def group_part(service: Service, run: str, scenario: str, part: str) -> dict[str, object]:
    """The description of the group; readers ask for other files of older versions first. Raises Refused, unknown-path."""
    known, found = service.known(run), _scenario(service, run, scenario)
    if part != DESCRIPTION:
        raise Refused("unknown-path", f'The group has no "{part[:64]}".')
    return group(known, found)


async def array_part(service: Service, run: str, scenario: str, name: str, part: str) -> dict[str, object] | tuple[Buffer, ArrayHead]:
    """The description of an array, or the bytes of a chunk of it and what the engine said of them; raises Refused, unknown-path."""
    known, stands = service.known(run), _scenario(service, run, scenario)
    if part == DESCRIPTION:
        described = arrays(known).get(name)
        if described is None:
            raise Refused("unknown-path", f'The group has no array "{name[:64]}".')
        return described
    variable = known.variables.get(name)
    if variable is None or not varies(variable):
        coordinate = coordinates_of(known).get(name)
        if coordinate is None or part != ".".join(["c", *["0" for _ in coordinate.dims]]):
            raise Refused("unknown-path", f'The group has no "{name[:64]}/{part[:64]}".')
        return coordinate.values().astype(_type_of(name)).tobytes(), {}
    found = chunk_of(part, known, variable)
    if found is None or found[0] >= stands["step"]:  # readers see the fill value
        raise Refused("unknown-path", f'"{name}" has no "{part[:64]}": scenario {stands["name"]} stands at step {stands["step"]}.')
    query = MapQuery(name=found[1], step=found[0] + 1, packed=isinstance(known.grid, Points))
    head, body = await service.run(run).get(stands["name"], query)
    given, declared = (np.dtype(name).newbyteorder("<") for name in (head["dtype"], variable.dtype))
    return (body if given == declared else np.frombuffer(body, given).astype(declared).tobytes()), head


def _scenario(service: Service, run: str, text: str) -> ScenarioStatus:
    """Where a scenario stands: by name, or with the number of its branch, as "main~2", which is the same after a rewind."""
    name, _, branch = text.partition("~")
    if not branch:
        return service.scenario(run, name)
    found = next((each for each in service.run(run).scenarios() if str(each["branch"]) == branch), None)
    if found is None:  # readers would take 404 for a map without values
        raise Refused("scenario-closed", f'The scenario "{text[:96]}" was removed. Open the data set again.', value=text[:96])
    return found


class Coordinate(NamedTuple):
    """A coordinate of the values in space or time; `values` computes it."""

    dims: tuple[str, ...]
    attributes: Mapping[str, object]
    values: Callable[[], Array]


def varies(variable: VariableInfo) -> bool:
    """Whether the group holds it: it changes with time."""
    return variable.role in VARYING


def coordinates_of(known: RunDescription) -> dict[str, Coordinate]:
    """Name -> dimensions, attributes and values of what says where and when a value is."""
    grid, times = known.grid, cf_times(range(1, known.facts["steps"] + 1), known.facts)
    found = {"time": Coordinate(("time",), times.attributes, partial(np.asarray, times.values))}
    if times.bounds is not None:
        found["time_bnds"] = Coordinate(("time", "bnds"), {}, partial(np.asarray, times.bounds))
    for name, space in known.variables.spaces.items():
        for each, array in space.arrays(name).items():
            found[each] = Coordinate(array.dims, array.attributes, partial(np.array, array.values, float))
    places = map_dimensions(grid)
    return found | {name: Coordinate(dims, map_attributes(grid, name), partial(map_values, grid, name)) for name, dims in places.items()}


def group(known: RunDescription, scenario: ScenarioStatus) -> dict[str, object]:
    """The description of the group, with those of its arrays."""
    facts = known.facts
    attributes = {
        "Conventions": "CF-1.12",
        "title": f"{facts.get('title') or facts['model']}, scenario {scenario['name']}",
        "source": f"Steppe, {facts['model']} {facts.get('version', '')}".strip(),
        "weather": facts.get("weather"),
        "steppe_steps_done": scenario["step"],
    }
    inside = {"kind": "inline", "must_understand": False, "metadata": arrays(known)}
    known_attributes = {name: value for name, value in attributes.items() if value is not None}
    return {"zarr_format": 3, "node_type": "group", "attributes": known_attributes, "consolidated_metadata": inside}


def arrays(known: RunDescription) -> dict[str, dict[str, object]]:
    """Name -> description of each array."""
    shape, coordinates = known.grid.shape, coordinates_of(known)
    levels = {name: len(space.values) for name, space in known.variables.spaces.items()}
    interfaces = max((len(space.interfaces) for space in known.variables.spaces.values()), default=0)
    lengths = {**levels, **shape, "interface": interfaces, "time": known.facts["steps"], "bnds": 2}
    found = {}
    for name, (dims, said, _) in coordinates.items():
        whole = tuple(lengths[dim] for dim in dims)
        found[name] = _described(whole, whole, _type_of(name), dims, said)
    for variable in filter(varies, known.variables.values()):
        dims = ("time", *([variable.levels.name] if variable.levels else []), *shape)
        whole, chunk = tuple(lengths[dim] for dim in dims), tuple(shape.get(dim, 1) for dim in dims)
        found[variable.name] = _described(whole, chunk, np.dtype(variable.dtype), dims, _of_variable(known, variable))
    return found


def chunk_of(part: str, known: RunDescription, variable: VariableInfo) -> tuple[int, str] | None:
    """The step, counted from 0, and the name of the variable or level of which a part of an array is the chunk; None: there is none."""
    number, level = "(0|[1-9][0-9]{0,8})", r"(?:\.(0|[1-9][0-9]{0,5}))" if variable.levels else "()"
    found = re.fullmatch(rf"c\.{number}{level}(?:\.0){{{len(known.grid.shape)}}}", part)
    if found is None or int(found[1]) >= known.facts["steps"]:
        return None
    name = layer(variable.name, int(found[2])) if variable.levels else variable.name
    return (int(found[1]), name) if name in known.variables else None


def _type_of(coordinate: str) -> np.dtype:
    return np.dtype("<i4" if coordinate == "crs" else "<f8")


def _of_variable(known: RunDescription, variable: VariableInfo) -> dict[str, object]:
    said = {name: getattr(variable, name) for name in ("units", "long_name", "standard_name", "cell_methods")}
    if variable.rounded:
        said["comment"] = f"Steps that cannot be computed again quickly come from records, which are rounded to {variable.rounded}."
    said |= references(map_dimensions(known.grid))
    dtype = np.dtype(variable.dtype)
    missing = {} if dtype.kind == "f" else {"_FillValue": int(np.iinfo(dtype).min)}  # xarray makes NaN of it
    return {name: text for name, text in said.items() if text} | flags(variable.classes) | missing


def _described(
    shape: tuple[int, ...], chunk: tuple[int, ...], dtype: np.dtype, dims: tuple[str, ...], attributes: Mapping[str, object]
) -> dict[str, object]:
    return {
        "zarr_format": 3,
        "node_type": "array",
        "shape": shape,
        "data_type": dtype.name,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": chunk}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "."}},
        "fill_value": attributes.get("_FillValue", "NaN" if dtype.kind == "f" else 0),
        "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
        "attributes": attributes,
        "dimension_names": dims,
        "storage_transformers": [],
    }
