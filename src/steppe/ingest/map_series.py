"""One variable in many files: the file and map of each day. Gaps are errors or, on request, filled from other days."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import cftime
import numpy as np
from numpy.typing import NDArray

from steppe.array_types import Integers, Singles
from steppe.clock import EPOCH
from steppe.errors import ForcingError
from steppe.ingest.cf_file import CfFile
from steppe.io.axis import Axis, day_name
from steppe.io.forcing.units import Conversion
from steppe.io.forcing.valid_range import Span, mark_missing
from steppe.variable import Variable

SHOWN = 5  # gaps or points named in a message


class SeriesPart(NamedTuple):
    """A variable in one file: `source` is its name there, `line` leads from the unit of the file to that of the variable.

    span: the least and the greatest value in the unit of the file; values outside are missing.
    """

    file: CfFile
    source: str
    line: Conversion
    span: Span

    def read(self, maps: slice, rows: range, columns: range) -> Singles:
        """Values in the unit of the variable: (maps, rows, columns), NaN where missing."""
        values = self.file.read(self.source, maps, rows, columns)
        mark_missing(values, self.span)
        if self.line.factor != 1.0:
            values *= np.float32(self.line.factor)
        if self.line.offset != 0.0:
            values += np.float32(self.line.offset)
        return values


@dataclass(frozen=True)
class MapSeries:
    """A variable of the store, through the files that hold it.

    days (maps,): the first day of each map, rising, from 1850-01-01, moved by `day_shift`; lengths (maps,): how many days it holds for, 1
    or those of a week. part_of, map_of (maps,): the part that holds a map, and its place there. day_source: "time bounds" or "time stamps".
    """

    variable: Variable
    parts: Sequence[SeriesPart]
    days: Integers
    lengths: Integers
    part_of: Integers
    map_of: Integers
    calendar: str
    day_shift: int
    day_source: str

    @classmethod
    def of(cls, variable: Variable, parts: Sequence[SeriesPart], day_shift: int | None) -> "MapSeries":
        """Puts the days of some files in order.

        Raises
        ------
        ForcingError
            Two files hold one day, their calendars differ, or the 24 hours of rain or pan evaporation are not known.
        """
        found = [part.file.days(part.source) for part in parts]
        for part, its in zip(parts, found, strict=True):
            if its.calendar != found[0].calendar:
                raise ForcingError(
                    f'"{part.file.path}" has the {its.calendar} calendar, "{parts[0].file.path}" the {found[0].calendar} calendar. '
                    "Calendars are never converted; give files of one calendar."
                )
            if variable.name in ("rain", "pan") and its.source == "time stamps" and day_shift is None:
                raise ForcingError(
                    f'"{part.file.path}", variable "{part.source}": no time bounds say for which 24 hours a value is, and gauges and pans '
                    f"are mostly read at 9 am for the day before. Say it: --day-shift {variable.name}=0 keeps the day of the stamp, "
                    f"{variable.name}=-1 credits the day before."
                )
        days = np.concatenate([its.numbers for its in found]) + (day_shift or 0)
        lengths = np.concatenate([its.lengths for its in found])
        part_of = np.repeat(np.arange(len(parts)), [its.numbers.size for its in found])
        map_of = np.concatenate([np.arange(its.numbers.size) for its in found])
        order = np.argsort(days, kind="stable")
        days, lengths, part_of, map_of = days[order], lengths[order], part_of[order], map_of[order]
        twice = np.flatnonzero(np.diff(days) < lengths[:-1])
        if twice.size:
            first, second = (parts[part_of[twice[0] + i]].file.path for i in (0, 1))
            raise ForcingError(
                f'"{first}" and "{second}" both hold {variable.name} of {day_name(int(days[twice[0] + 1]), found[0].calendar)} '
                f"({twice.size} such days). Give each day once."
            )
        single = lengths == 1  # the last week of a year may be one day; two such in a row are daily maps
        if not single.all() and (single[1:] & single[:-1]).any():
            raise ForcingError(
                f"{variable.name} has daily and weekly maps in {_said(parts)}. Give one or the other, or ingest a store of each period."
            )
        return cls(variable, parts, days, lengths, part_of, map_of, found[0].calendar, day_shift or 0, found[0].source)

    @property
    def days_from(self) -> str:
        """The source of the days of maps, in words."""
        return self.day_source + (f" moved by {self.day_shift:+d}" if self.day_shift else "")

    @property
    def is_daily(self) -> bool:
        """Whether its maps are of single days."""
        return int(self.lengths.max()) == 1

    @property
    def last(self) -> int:
        """The last day."""
        return int(self.days[-1] + self.lengths[-1]) - 1

    def weeks_of(self, axis: Axis) -> Axis:
        """Its own weeks within the days of an axis, cut off at both ends."""
        inside = (self.days < axis.stop) & (self.days + self.lengths > axis.first)
        starts, stops = self.days[inside], (self.days + self.lengths)[inside]
        return Axis("time_weekly", np.maximum(starts, axis.first), np.minimum(stops, axis.stop), self.calendar)

    def without_empty(self) -> "MapSeries":
        """The series without daily maps that hold no value: their days are missing. Reads all maps."""
        if not self.is_daily:
            return self
        there = np.ones(self.days.size, np.bool_)
        for number, part in enumerate(self.parts):
            mine = np.flatnonzero(self.part_of == number)
            mine = mine[np.argsort(self.map_of[mine])]
            at_once = part.file.maps_at_once(part.source)
            for first in range(0, mine.size, at_once):
                every = range(part.file.lattice.lat.size), range(part.file.lattice.lon.size)
                maps = part.read(slice(first, min(first + at_once, mine.size)), *every)
                there[mine[first : first + at_once]] = np.isfinite(maps).any(axis=(1, 2))
        if there.all() or not there.any():
            return self
        held = {name: getattr(self, name)[there] for name in ("days", "lengths", "part_of", "map_of")}
        return replace(self, **held)

    def rows_of(self, axis: Axis, fill: str | None) -> "Rows":
        """The maps for each day of an axis; for weekly maps, for each of their weeks within it.

        Raises
        ------
        ForcingError
            A day is missing, and filling it is not asked for or not possible.
        """
        if not self.is_daily:
            weeks = self.weeks_of(axis)
            there = np.zeros(axis.rows, np.bool_)
            for start, stop in zip(weeks.starts - axis.first, weeks.stops - axis.first, strict=True):
                there[start:stop] = True
            if not there.all():
                lacking = axis.starts[~there]
                raise ForcingError(
                    f"{self.variable.name} lacks {lacking.size} of the {axis.rows} days from {axis.period()}: "
                    f"{_gaps(lacking, self.calendar)}. It was looked for in {_said(self.parts)}. Give the files that hold them; "
                    "weeks are not filled."
                )
            return Rows(self, weeks, np.searchsorted(self.days, weeks.starts, side="right") - 1, {})
        at = np.searchsorted(self.days, axis.starts)
        there = np.isin(axis.starts, self.days)
        lacking = axis.starts[~there]
        if lacking.size and fill is None:
            raise ForcingError(
                f"{self.variable.name} lacks {lacking.size} of the {axis.rows} days from {axis.period()}: "
                f"{_gaps(lacking, self.calendar)}. It was looked for in {_said(self.parts)}. Give the files that hold them, or ask for "
                "--fill previous or --fill climatology, which the store will record for each day."
            )
        givers = {int(day): self._givers(int(day), fill or "") for day in lacking}
        return Rows(self, axis, np.where(there, at, -1), givers)

    def _givers(self, day: int, fill: str) -> Integers:
        """The days whose mean replaces a missing day, as places in `days`."""
        if fill == "previous":
            found = np.arange(np.searchsorted(self.days, day))[-1:]
        else:
            dates = cftime.num2date(self.days, EPOCH, calendar=self.calendar)
            date = cftime.num2date(day, EPOCH, calendar=self.calendar)
            wanted = [(date.month, date.day)] + ([(2, 28)] if (date.month, date.day) == (2, 29) else [])
            alike = ([i for i, date in enumerate(dates) if (date.month, date.day) == each] for each in wanted)
            found = np.array(next(filter(None, alike), []), dtype=np.int64)
        if not found.size:
            what = "no day before it" if fill == "previous" else "no other year has this day"
            raise ForcingError(
                f"{self.variable.name} of {day_name(day, self.calendar)} cannot be filled by --fill {fill}: {what}. "
                "Give more files, or another period."
            )
        return found


@dataclass(frozen=True)
class Rows:
    """The days of an axis in a series. place (days,): their maps, -1 for a filled day; givers: filled day -> places to average."""

    series: MapSeries
    axis: Axis
    place: Integers
    givers: dict[int, Integers]

    @property
    def filled(self) -> NDArray[np.bool_]:
        """True for each day that is filled, (days,)."""
        return self.place < 0

    def batches(self, days: range, size: int) -> list[range]:
        """Days in batches for one read each: consecutive maps of one file, at most `size`, or one filled day."""
        found = []
        start = days.start
        for day in days[1:]:
            if day - start == size or not self._together(day - 1, day):
                found.append(range(start, day))
                start = day
        return [*found, range(start, days.stop)]

    def maps_at_once(self) -> int:
        """The number of maps to read together."""
        return max(part.file.maps_at_once(part.source) for part in self.series.parts)

    def read(self, days: range, rows: range, columns: range) -> Singles:
        """Values in the variable's unit of a batch: (days, rows, columns), NaN where missing."""
        if self.place[days.start] >= 0:
            return self._maps(self.place[days.start], len(days), rows, columns)
        givers = self.givers[int(self.axis.starts[days.start])]
        values = sum(self._maps(int(place), 1, rows, columns) for place in givers)
        assert isinstance(values, np.ndarray)
        mean: Singles = values / np.float32(givers.size)
        return mean

    def file(self, day: int) -> str:
        """The file that a day comes from, for messages."""
        place = self.place[day] if self.place[day] >= 0 else self.givers[int(self.axis.starts[day])][0]
        part = self.series.parts[self.series.part_of[place]]
        return f'"{part.file.path}", variable "{part.source}"'

    def _together(self, before: int, day: int) -> bool:
        one, two = self.place[before], self.place[day]
        part_of, map_of = self.series.part_of, self.series.map_of
        return bool(one >= 0 and two >= 0 and part_of[one] == part_of[two] and map_of[two] == map_of[one] + 1)

    def _maps(self, place: int, count: int, rows: range, columns: range) -> Singles:
        first = int(self.series.map_of[place])
        part: SeriesPart = self.series.parts[self.series.part_of[place]]
        return part.read(slice(first, first + count), rows, columns)


def _said(parts: Sequence[SeriesPart]) -> str:
    first, last = parts[0].file.path, parts[-1].file.path
    return f'"{first}"' if len(parts) == 1 else f'{len(parts)} files, "{first}" to "{last}"'


def _gaps(days: Integers, calendar: str) -> str:
    """The first gaps of some missing days, and how many there are."""
    ends = np.flatnonzero(np.diff(days) > 1)
    starts, stops = np.append(0, ends + 1), np.append(ends, days.size - 1)
    names = [
        day_name(int(days[a]), calendar) + (f" to {day_name(int(days[b]), calendar)}" if b > a else "")
        for a, b in zip(starts[:SHOWN], stops[:SHOWN], strict=True)
    ]
    return ", ".join(names) + (f" and {starts.size - SHOWN} more gaps" if starts.size > SHOWN else "")
