"""The files that went into a store, and the report of what was made of them."""

from collections.abc import Mapping
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

import xxhash

TERMS = "The terms of the station records and of the normals apply."
PIECE = 1 << 20  # bytes read at a time


def source_file(path: Path) -> dict[str, str | int]:
    """Name, size in bytes and xxh3 (64 bits, hex) of a file, or of all files of a folder in the order of their names."""
    found, size = xxhash.xxh3_64(), 0
    for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
        if path.is_dir():
            found.update(file.relative_to(path).as_posix().encode())
        if file.is_file():
            size += file.stat().st_size
            with file.open("rb") as content:
                while piece := content.read(PIECE):
                    found.update(piece)
    return {"name": path.name, "size": size, "xxh3": found.hexdigest()}


class Report(NamedTuple):
    """The result of an ingest. donors: year -> stations that give rain in all of its months; notes: a line each, for the user."""

    path: Path
    cells: int
    days: int
    donors: Mapping[int, int]
    mean_annual_rain: float | None
    notes: tuple[str, ...]

    def __str__(self) -> str:
        """The report as some lines of text."""
        rain = "" if self.mean_annual_rain is None else f", mean rain {self.mean_annual_rain:.0f} mm a year"
        lines = [f"{self.path}: {self.cells} cells, {self.days} days{rain}"]
        runs = [(count, [year for year, _ in group]) for count, group in groupby(self.donors.items(), key=lambda item: item[1])]
        if runs:
            lines.append("donors: " + ", ".join(f"{n} in {y[0]}" + (f"-{y[-1]}" if len(y) > 1 else "") for n, y in runs))
        return "\n".join([*lines, *self.notes])
