"""A scenario of a run as a Zarr version 3 group, though there are no such files: what any Zarr reader opens from an address.

    zarr.json               all descriptions: one request opens the group
    lat/c.0  time/c.0       coordinates, whole
    green/c.<step>.0.0      the map behind a step, counted from 0, as the engine gives it
    ozone/c.<step>.3.0.0    the same of level 3

A data set that stays open over a rewind keeps its past if its address has the number of the branch: main~1 in place of main.
Time has the length of the whole run from the beginning, and readers see NaN where there is no chunk yet. Names are looked up among those
that the run declared: no path is made of an address.
"""

import re
from collections.abc import Mapping

import numpy as np

from steppe.api import VariableInfo
from steppe.api.documents import ArrayHead, ScenarioStatus
from steppe.api.query import MapQuery
from steppe.array_types import Array
from steppe.control import Refused
from steppe.control.wire import Buffer
from steppe.grid import Points, Projected
from steppe.levels import layer
from steppe.service.encode import AXES
from steppe.service.moments import cf_times
from steppe.service.service import RunDescription, Service

VARYING = ("state", "forcing", "diagnostic")  # roles
CRS = "crs"
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
        _, values = coordinates_of(known).get(name, ((), None))
        if values is None or part != ".".join(["c", *["0"] * values.ndim]):
            raise Refused("unknown-path", f'The group has no "{name[:64]}/{part[:64]}".')
        return values.tobytes(), {}
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


def varies(variable: VariableInfo) -> bool:
    """Whether the group holds it: numbers that change with time."""
    return variable.role in VARYING and np.dtype(variable.dtype).kind == "f"


def coordinates_of(known: RunDescription) -> dict[str, tuple[tuple[str, ...], Array]]:
    """Name -> dimensions and values of what says where and when a value is."""
    grid = known.grid
    times, _ = cf_times(range(1, known.facts["steps"] + 1), known.facts)
    found: dict[str, tuple[tuple[str, ...], Array]] = {"time": (("time",), times.astype("<f8"))}
    found |= {name: ((name,), np.array(space.values, "<f8")) for name, space in known.variables.spaces.items()}
    if isinstance(grid, Points):
        return found | {"lat": (("cell",), grid.cell_lat.astype("<f8")), "lon": (("cell",), grid.cell_lon.astype("<f8"))}
    if isinstance(grid, Projected):
        found[CRS] = ((), np.zeros((), "<i4"))
    axes = grid.coordinates()
    return found | {name: ((name,), axes[name].astype("<f8")) for name in grid.shape}


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
    shape = known.grid.shape
    found = {
        name: _described(values.shape, values.shape, values.dtype, dims, _said(known, name))
        for name, (dims, values) in coordinates_of(known).items()
    }
    for variable in filter(varies, known.variables.values()):
        levels = {variable.levels.name: len(variable.levels.values)} if variable.levels else {}
        whole, chunk = (known.facts["steps"], *levels.values(), *shape.values()), (1, *(1 for _ in levels), *shape.values())
        dims = ("time", *levels, *shape)
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


def _said(known: RunDescription, coordinate: str) -> Mapping[str, object]:
    if coordinate == "time":
        _, said = cf_times([], known.facts)
        return said | ({"long_name": "step"} if known.facts["clock"]["step"] is None else {"standard_name": "time", "axis": "T"})
    if coordinate in known.variables.spaces:
        return known.variables.spaces[coordinate].attributes(coordinate)
    if coordinate == CRS:
        return dict(known.grid.crs) if isinstance(known.grid, Projected) else {}
    return dict(AXES[coordinate])


def _of_variable(known: RunDescription, variable: VariableInfo) -> dict[str, object]:
    said = {name: getattr(variable, name) for name in ("units", "long_name", "standard_name", "cell_methods")}
    if variable.rounded:
        said["comment"] = f"Steps that cannot be computed again quickly come from records, which are rounded to {variable.rounded}."
    if isinstance(known.grid, Points):
        said["coordinates"] = "lat lon"
    if isinstance(known.grid, Projected):
        said["grid_mapping"] = CRS
    return {name: text for name, text in said.items() if text}


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
        "fill_value": "NaN" if dtype.kind == "f" else 0,
        "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
        "attributes": attributes,
        "dimension_names": dims,
        "storage_transformers": [],
    }
