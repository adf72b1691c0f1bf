"""The range of the colours of each variable of a run: one for all viewers. It only widens and is kept in the run folder."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from steppe.control.server.channels import View
from steppe.files import write_whole
from steppe.service.maps import outward

FILE = "ranges.json"
Range = tuple[float, float]


class Ranges:
    """The ranges of one run. folder: of the run. If its file cannot be read, the ranges begin anew."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / FILE
        self.known: dict[str, Range] = {}
        """By variable; of a difference by variable and both scenarios, with blanks between."""
        self._writing = self._due = False
        with suppress(OSError, ValueError, TypeError):
            self.known = {
                str(name): (float(low), float(high)) for name, (low, high) in json.loads(self._file.read_text(encoding="utf-8")).items()
            }

    def widen(self, view: View, fit: Sequence[float]) -> dict[str, Range]:
        """Takes percentiles of a map; returns the ranges that they change."""
        if view.query.box is not None:  # a part does not represent the map
            return {}
        variable = view.query.name
        ends = {variable: (fit[0], fit[1])}
        if len(fit) > 2:
            apart = outward(0.0, fit[2])[1]
            ends[" ".join((variable, *view.scenarios))] = (-apart, apart)
        news = {name: wider for name, (low, high) in ends.items() if (wider := self._wider(name, low, high)) != self.known.get(name)}
        if news:
            self.known = {**self.known, **news}  # a thread may be writing the former
            self._keep()
        return news

    def _wider(self, name: str, low: float, high: float) -> Range:
        before = self.known.get(name)
        if before is None:
            return outward(low, high)
        if before[0] <= low and high <= before[1]:
            return before
        wide = outward(min(low, before[0]), max(high, before[1]))
        return min(wide[0], before[0]), max(wide[1], before[1])

    def _keep(self) -> None:
        self._due = True
        if not self._writing:
            self._writing = True
            asyncio.get_running_loop().run_in_executor(None, self._write)

    def _write(self) -> None:
        """On a thread: the loop touches no disk."""
        while self._due:
            self._due = False
            with suppress(OSError):  # a full disk must not stop viewers
                write_whole(self._file, json.dumps(self.known).encode())
        self._writing = False
