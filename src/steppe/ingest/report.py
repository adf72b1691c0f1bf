"""What an ingest made."""

from collections.abc import Mapping
from itertools import groupby
from pathlib import Path
from typing import NamedTuple


class Report(NamedTuple):
    """What was made. donors: year -> stations that give rain in all of its months; notes: what the user should know, a line each."""

    path: Path
    cells: int
    days: int
    donors: Mapping[int, int]
    mean_annual_rain: float | None
    notes: tuple[str, ...]

    def __str__(self) -> str:
        """Some lines for people."""
        rain = "" if self.mean_annual_rain is None else f", mean rain {self.mean_annual_rain:.0f} mm a year"
        lines = [f"{self.path}: {self.cells} cells, {self.days} days{rain}"]
        runs = [(count, [year for year, _ in group]) for count, group in groupby(self.donors.items(), key=lambda item: item[1])]
        if runs:
            lines.append("donors: " + ", ".join(f"{n} in {y[0]}" + (f"-{y[-1]}" if len(y) > 1 else "") for n, y in runs))
        return "\n".join([*lines, *self.notes])
