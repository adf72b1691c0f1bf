"""The map of a stream, checked before the engine gets the request, and its place on the grid."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from steppe.api import Stream
from steppe.api.query import MapQuery
from steppe.control import Refused
from steppe.errors import GridError
from steppe.grid import window_of
from steppe.service import regions

if TYPE_CHECKING:
    from steppe.server.context import ServerContext

LARGEST, SMALLEST = 1e37, 1e-30  # of a range, and how wide, that float32 tells
PIXELS = 1 << 16  # rows or columns of a frame, whose head has 16 bits for them


class StreamMap(NamedTuple):
    """The map of a stream. query: the part of a variable; span: fixed ends of the colours; told: its description for the viewer."""

    query: MapQuery
    span: tuple[float, float] | None
    told: dict[str, object]


def stream_map(context: ServerContext, run: str, stream: Stream) -> StreamMap:
    """The map of a stream.

    Raises
    ------
    Refused
        There is no such scenario or variable, the region holds no cell, or a range is none.
    """
    context.scenario(run, stream.scenario)
    variable = context.variable(run, stream.variable, stream.level, position="$.watch")
    if stream.width is not None and stream.stride > 1:
        raise Refused("bad-field", 'Give "width" or "stride", not both.', position="$.watch")
    span = None
    if not isinstance(stream.range, str):
        low, high = stream.range
        if max(abs(low), abs(high)) > LARGEST or high - low < SMALLEST or not np.float32(low) < np.float32(high):
            text = f"A range needs low < high within float32, it is {low:g} to {high:g}."
            raise Refused("out-of-range", text, value=list(stream.range), position="$.watch")
        span = low, high
    grid = context.known(run).grid
    try:
        inside = None if stream.box is None else regions.select(grid, {"box": list(stream.box)}).astype(np.int64)
        window = window_of(grid, inside, stream.width, None, stream.stride, stream.box)
    except GridError as error:
        raise Refused("region-invalid", str(error), position="$.watch") from None
    if max(window.shape) >= PIXELS:
        raise Refused(
            "out-of-range", f"{window.shape} rows and columns are too many. Give a width.", allowed=PIXELS - 1, position="$.watch"
        )
    query = MapQuery(name=variable.name, box=stream.box, width=stream.width, stride=window.stride)
    told = {
        "scenario": stream.scenario,
        "variable": variable.name,
        "units": variable.units,
        "stride": window.stride,
        "rows": window.shape[0],
        "columns": window.shape[1],
        "bounds": list(window.bounds),
        "row": window.rows.start,
        "column": window.columns.start,
    }
    told |= {} if window.lat is None else {"lat": window.lat}
    return StreamMap(query, span, told)
