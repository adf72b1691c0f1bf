"""All levels of a variable, which are asked for one after the other, at one state of the run."""

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from steppe.api.query import MapQuery
from steppe.client.refusals import NotAtHandError, RefusedError

if TYPE_CHECKING:
    import xarray

TURNS = 8  # in which what is of another state is asked for again
FREE = 3  # of them, in which the newest step is asked for: the engine has it at hand, and computes a past one again


class MapAnswer(NamedTuple):
    """A map of a run. state: names the state that it is of, as its ETag does; step: that of the state."""

    state: str
    step: int
    values: "xarray.DataArray"


async def of_one_state(
    ask: Callable[[str, MapQuery], Awaitable[MapAnswer]], names: Sequence[str], query: MapQuery
) -> "list[xarray.DataArray]":
    """The maps of several names at one state.

    A step may end between two answers, and an order may change the run: their states differ then, and those that are not of the newest
    state are asked for again. If a run is too fast, all are asked for the step that it had last.

    Parameters
    ----------
    ask
        Gives the map of a name.
    query
        What is asked of each.

    Raises
    ------
    RefusedError
        The run changed in each turn.
    """
    latest = query.time == MapQuery().time
    asked, state = query, ""
    found: dict[str, MapAnswer] = {}
    for turn in range(TURNS):
        if turn == FREE and latest and found:
            asked = replace(query, time=f"step:{found[names[-1]].step}")
        try:
            for name in names:
                if name not in found or found[name].state != state:
                    found[name] = await ask(name, asked)
                    state = found[name].state
        except NotAtHandError:
            if asked == query:
                raise
            asked, found = query, {}  # the run was rewound, or has left the step far behind: it is asked as at first
        else:
            if len({each.state for each in found.values()}) == 1:
                return [found[name].values for name in names]
    raise RefusedError(f'"{names[0]}" and the other levels changed {TURNS} times while they were read. Get one level, or pause the run.')
