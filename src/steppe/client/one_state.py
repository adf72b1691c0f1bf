"""All levels of a variable, which are asked for one after the other, at one state of the run."""

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from msgspec.structs import replace

from steppe.api.query import MapQuery
from steppe.client.refusals import NotAtHandError, RefusedError

if TYPE_CHECKING:
    import xarray

TIMES = 8  # that all levels are asked for


class MapAnswer(NamedTuple):
    """A map of a run. state: names the state that it is of, as its ETag does; step: that of the state."""

    state: str
    step: int
    values: "xarray.DataArray"


async def of_one_state(
    ask: Callable[[str, MapQuery], Awaitable[MapAnswer]], names: Sequence[str], query: MapQuery
) -> "list[xarray.DataArray]":
    """The maps of several names at one state; the step of the first answer is asked of all others.

    An order may change the run between two answers, and a step may end. The states differ then, and all maps are asked for again, of the
    same step. Maps of different states are taken if all have the numbers of the time before: they stood so between the two.

    Parameters
    ----------
    ask
        Gives the map of a name.
    query
        What is asked of each.

    Raises
    ------
    RefusedError
        The run changed each time.
    """
    before: list[xarray.DataArray] = []
    pinned = query
    for _ in range(TIMES):
        found: list[MapAnswer] = []
        try:
            for name in names:
                found.append(await ask(name, pinned))
                if pinned.time == MapQuery().time:
                    pinned = replace(pinned, time=f"step:{found[0].step}")
        except NotAtHandError:
            if pinned.time == query.time:
                raise
            before, pinned = [], query  # the run was rewound, or has left the step far behind: the newest step is taken
            continue
        maps = [each.values for each in found]
        stayed = bool(before) and all(np.array_equal(old.values, new.values, equal_nan=True) for old, new in zip(before, maps, strict=True))
        if stayed or len({each.state for each in found}) == 1:
            return maps
        before = maps
    raise RefusedError(f'"{names[0]}" and the other levels changed {TIMES} times while they were read. Get one level, or pause the run.')
