"""The parts of a scenario's Zarr group, as `zarr_view` describes it."""

from typing import Any

import msgspec
import numpy as np

from steppe.control import Refused
from steppe.grid import Points
from steppe.server import zarr_view
from steppe.server.asked import Asked, Buffer, Headers, Reply
from steppe.server.routes.data import rounding

DESCRIPTION = "zarr.json"
CHUNK = b"application/octet-stream"


async def zarr_group(asked: Asked) -> Reply:
    """GET zarr/{scenario}/{part}: the description of the group; readers ask for other files of older versions first."""
    run = asked.parameters["run"]
    known, scenario = asked.house.known(run), asked.house.scenario(run, asked.parameters["scenario"])
    if asked.parameters["part"] != DESCRIPTION:
        raise _nothing(f'The group has no "{asked.parameters["part"][:64]}".')
    return Reply(200, msgspec.json.encode(zarr_view.group(known, scenario)))


async def zarr_array(asked: Asked) -> Reply:
    """GET zarr/{scenario}/{array}/{part}: the description of an array or a chunk of it."""
    run, name, part = (asked.parameters[key] for key in ("run", "array", "part"))
    known, scenario = asked.house.known(run), asked.house.scenario(run, asked.parameters["scenario"])
    if part == DESCRIPTION:
        described = zarr_view.arrays(known).get(name)
        if described is None:
            raise _nothing(f'The group has no array "{name[:64]}".')
        return Reply(200, msgspec.json.encode(described))
    variable = known.variables.get(name)
    if variable is None or not zarr_view.varies(variable):
        _, values = zarr_view.coordinates_of(known).get(name, ((), None))
        if values is None or part != ".".join(["c", *["0"] * values.ndim]):
            raise _nothing(f'The group has no "{name[:64]}/{part[:64]}".')
        return _chunk(values.tobytes())
    found = zarr_view.chunk_of(part, known, variable)
    if found is None or found[0] >= scenario["step"]:
        raise _nothing(f'"{name}" has no "{part[:64]}": scenario {scenario["name"]} stands at step {scenario["step"]}.')
    request: dict[str, Any] = {"name": found[1], "step": found[0] + 1}
    if isinstance(known.grid, Points):
        request["packed"] = True
    head, body = await asked.run.get(scenario["name"], request)
    given, declared = (np.dtype(name).newbyteorder("<") for name in (head["dtype"], variable.dtype))
    return _chunk(body if given == declared else np.frombuffer(body, given).astype(declared).tobytes(), rounding(head))


def _chunk(body: Buffer, headers: Headers = ()) -> Reply:
    return Reply(200, b"", CHUNK, headers, (body,))


def _nothing(text: str) -> Refused:
    """What a reader takes for values that are not there yet."""
    return Refused("unknown-path", text)
