"""The lines that a viewer follows: exact values of every step, sent when its line is free; missed ones come with the next."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from steppe.api import Line as Followed
from steppe.control import Refused
from steppe.control.server.live_series import LiveSeries, SeriesKey
from steppe.server.live.cursors import packed_of
from steppe.server.live.line import ViewerLink
from steppe.service import regions
from steppe.service.coverage import decimals
from steppe.service.polygon import check_polygon

if TYPE_CHECKING:
    from steppe.server.context import ServerContext


@dataclass
class _FollowedLine:
    """A series. The viewer has the steps of `branch` before `next`."""

    series: LiveSeries
    branch: int | None
    next: int


class FollowedSeries:
    """The lines of one viewer. say: sends a message."""

    def __init__(self, context: ServerContext, run: str, line: ViewerLink, say: Callable[[Mapping[str, object]], None]) -> None:
        self._context, self._run, self._line, self._say = context, run, line, say
        self._lines: dict[int, _FollowedLine] = {}

    async def set(self, wanted: Sequence[Followed]) -> None:
        """Follows these lines, in place of the former.

        Raises
        ------
        Refused
            There is no such scenario, variable, cell or region, a number comes twice, or too much is followed; then nothing has changed.
        """
        numbers = [each.line for each in wanted]
        if len(set(numbers)) < len(numbers):
            twice = next(number for number in numbers if numbers.count(number) > 1)
            raise Refused("bad-field", f"Line {twice} comes twice. Give each a number of its own.", value=twice, position="$.follow")
        found = {each.line: await self._what(each) for each in wanted}
        run, most = self._context.run(self._run), self._context.limits.followed
        others = run.followed.of_others(self.tell)
        if len(others | {*found.values()}) > most:
            raise Refused(
                "too-busy", f"{len(others)} cells and regions are followed, and a run takes {most}. Ask for series by HTTP.", allowed=most
            )
        before, self._lines = self._lines, {}
        for number, what in found.items():
            series = run.followed.open(what, self.tell)
            self._lines[number] = _FollowedLine(series, series.branch, series.end)
        self._close(before)
        self._say({"type": "following", "lines": [*found]})

    async def _what(self, wanted: Followed) -> SeriesKey:
        context = self._context
        context.scenario(self._run, wanted.scenario)
        name = context.variable(self._run, wanted.variable, wanted.level, position="$.follow").name
        grid = context.known(self._run).grid
        if wanted.polygon is not None:
            await context.in_thread(check_polygon, wanted.polygon)
        if wanted.region is None:
            cells = np.array([packed_of(grid, wanted.cell or 0)], "<u4")
        else:
            cells = await context.in_thread(regions.select, grid, wanted.region)
        return SeriesKey(wanted.scenario, name, np.unique(cells).astype("<u4").tobytes(), wanted.region is not None)

    def tell(self) -> None:
        """Sends new values, if the line is free."""
        for number, told in self._lines.items():
            if not self._line.free:
                return
            series = told.series
            if told.branch != series.branch or not series.first <= told.next <= series.end:
                told.branch, told.next = series.branch, series.first  # the scenario was rewound, or steps are missing between
            if told.next < series.end:
                values = [decimals(np.ascontiguousarray(line)) for line in series.values(told.next, series.end).T]
                self._say({"type": "series", "line": number, "branch": series.branch, "first": told.next, "values": values})
                told.next = series.end

    def clear(self) -> None:
        """Closes all lines."""
        before, self._lines = self._lines, {}
        self._close(before)

    def _close(self, lines: Mapping[int, _FollowedLine]) -> None:
        kept = {id(told.series) for told in self._lines.values()}
        run = self._context.runs.get(self._run)
        for told in lines.values():
            if run is not None and id(told.series) not in kept:
                run.followed.close(told.series, self.tell)
