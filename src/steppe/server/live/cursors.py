"""Exact values under the cursors of a viewer, from data of a step, never from levels.

All cursors of all viewers on one variable at one step are one question to the engine (`control.questions`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from steppe.api import array_of, has_value
from steppe.api.query import MapQuery
from steppe.array_types import Integers
from steppe.control import Refused
from steppe.grid import Grid

if TYPE_CHECKING:
    from steppe.control.server.supervisor import Supervisor

INTERVAL = 1 / 30  # [s] between two values of a cursor


@dataclass(eq=False)
class _Cursor:
    stream: int
    scenario: str
    variable: str
    cell: int  # row-major in the grid
    packed: int
    due: float = 0.0
    again: bool = False  # the map has moved since the value was asked


class Cursors:
    """The cursors of one viewer, one a stream. say: sends a message."""

    def __init__(self, run: Supervisor, say: Callable[[Mapping[str, object]], None]) -> None:
        self._run, self._say = run, say
        self.placed: dict[int, _Cursor] = {}
        """By stream."""
        self._asking: dict[int, asyncio.Task[None]] = {}

    def set(self, stream: int, scenario: str, variable: str, grid: Grid, cell: int | None) -> None:
        """Puts the cursor of a stream on a cell, or takes it away.

        Raises
        ------
        Refused
            The cell is not of the grid, or takes no part.
        """
        if cell is None:
            self.placed.pop(stream, None)
            return
        packed = packed_of(grid, cell)
        former = self.placed.get(stream)
        self.placed[stream] = _Cursor(stream, scenario, variable, cell, packed, former.due if former else 0.0)
        self.moved(stream)

    def moved(self, stream: int) -> None:
        """Asks for the values again: the map of a stream has a new step."""
        cursor = self.placed.get(stream)
        if cursor is None:
            return
        if stream in self._asking:
            cursor.again = True
            return
        self._asking[stream] = task = asyncio.create_task(self._tell(cursor))
        task.add_done_callback(lambda _: self._asked(stream))

    def _asked(self, stream: int) -> None:
        self._asking.pop(stream, None)
        cursor = self.placed.get(stream)
        if cursor is not None and (cursor.again or not cursor.due):
            cursor.again = False
            self.moved(stream)

    def clear(self) -> None:
        """Removes all cursors."""
        self.placed.clear()

    async def _tell(self, cursor: _Cursor) -> None:
        loop = asyncio.get_running_loop()
        await asyncio.sleep(max(0.0, cursor.due - loop.time()))
        cursor.due = loop.time() + INTERVAL
        try:
            head, body = await self._run.get(cursor.scenario, MapQuery(name=cursor.variable, packed=True))
        except Refused:
            return  # there is none at this step, or no engine: the next frame asks again
        if self.placed.get(cursor.stream) is cursor:
            values = array_of(head, body)
            self._say(
                {"type": "cursor", "stream": cursor.stream, "cell": cursor.cell, "step": head["step"], **_number(values[cursor.packed])}
            )


def packed_of(grid: Grid, cell: int) -> int:
    """The packed number of a cell that is counted row by row.

    Raises
    ------
    Refused
        The cell is not of the grid, or takes no part.
    """
    if cell >= grid.active.size:
        raise Refused("cell-outside", f"The grid has {grid.active.size:,} cells.", value=cell, allowed=[0, grid.active.size - 1])
    packed = int(_packed(cast(Any, grid))[cell])
    if packed < 0:
        raise Refused("cell-inactive", f"Cell {cell} takes no part.", value=cell)
    return packed


@lru_cache(8)
def _packed(grid: Grid) -> Integers:
    """Of each place of the grid, row by row, the packed number of its cell; -1 where there is none."""
    found = np.full(grid.active.size, -1, np.int64)
    found[grid.order] = np.arange(grid.n_cells)
    return found


def _number(value: Any) -> dict[str, object]:
    """A value and its shortest decimal."""
    return {"value": float(str(value)), "text": str(value)} if has_value(value) else {"value": None, "text": ""}
