"""The summary of a run: facts, costs, and a table of years."""

import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from steppe.array_types import Floats
from steppe.arrays import counts_text
from steppe.clock import parse_date
from steppe.engine.check import in_bytes, in_cell_days
from steppe.engine.options import options_text
from steppe.io import A_DAY, Spent, open_results
from steppe.jobs.picture import GENERATED
from steppe.levels import layer

AREAS = {"mean": "means", "min": "minima", "max": "maxima"}
COMPILED = 0.1  # seconds; machine code that is found in the cache is loaded in less

if TYPE_CHECKING:
    import xarray

    from steppe.engine.simulation import Simulation


@dataclass(frozen=True)
class Summary:
    """A finished or stopped run: facts by name, its cost, and one row a year of area means.

    facts: numbers are numbers; bytes are those of the results on disk. partial: years of which the run holds a part only.
    reading: bytes and seconds of reading in this process. arrays: numbers of the model's global arrays; empty without any.
    """

    facts: dict[str, str | int]
    spent: dict[str, float]
    columns: list[str]
    years: dict[int, list[float]]
    partial: list[int]
    reading: dict[str, float]
    arrays: dict[str, float]

    def as_dict(self) -> dict[str, object]:
        """For JSON."""
        found: dict[str, object] = {**self.facts, **self.spent, "reading": self.reading, "columns": self.columns}
        found |= {"years": {str(year): row for year, row in self.years.items()}, "partial_years": self.partial}
        return found | ({"arrays": self.arrays} if self.arrays else {})

    def as_text(self) -> str:
        """For a terminal."""
        unit = "days" if "days" in self.facts else "steps"
        facts = self.facts | {unit: f"{self.facts[unit]:,} of {self.facts[f'{unit}_of_run']:,}", "cells": f"{self.facts['cells']:,}"}
        lines = [f"{name}: {text}" for name, text in facts.items() if name not in (f"{unit}_of_run", "bytes")]
        if self.years:
            width = [max(len(column), 9) for column in self.columns]
            lines.append("year   " + "  ".join(f"{column:>{w}}" for column, w in zip(self.columns, width, strict=True)))
            for year, row in self.years.items():
                mark = "*" if year in self.partial else " "
                lines.append(f"{year}{mark}  " + "  ".join(f"{_digits(value):>{w}}" for value, w in zip(row, width, strict=True)))
            if self.partial:
                lines.append("* not a whole year")
        lines.append(f"results: {in_bytes(int(self.facts['bytes']))}")
        lines.append(f"time: {spent_text(self.spent)}")
        if self.reading.get("bytes"):
            lines.append(
                "reading: {bytes:,.1f} MB, {decode_seconds:.2f} s of decoding, {reader_seconds:.2f} s of the reading thread, "
                "{stall_seconds:.2f} s waited".format(**self.reading | {"bytes": self.reading["bytes"] / 1e6})
            )
        if self.arrays:
            lines.append(f"arrays: {counts_text(self.arrays)}")
        return "\n".join(lines) + "\n"


def spent_of(spent: Spent, cells: int, steps: int, unit: str = "day") -> dict[str, float]:
    """The cost of a run, for JSON: seconds, and cell-days a second of the time without compiling.

    unit: "step" if a step is not a day; the rate is in cell-steps then.
    """
    computing = spent.seconds - spent.compiling
    return {
        "seconds": round(spent.seconds, 3),
        "compiling_seconds": round(spent.compiling, 3),
        f"cell_{unit}s_per_second": round(cells * steps / computing) if computing > 0 else 0,
        "stall_in_seconds": round(spent.stall_in, 3),
        "stall_out_seconds": round(spent.stall_out, 3),
    }


def spent_text(spent: dict[str, float]) -> str:
    """The same in words."""
    unit = "day" if "cell_days_per_second" in spent else "step"
    rate = in_cell_days(spent[f"cell_{unit}s_per_second"], unit)
    compiling = f" after {spent['compiling_seconds']:.1f} s of compiling" if spent["compiling_seconds"] >= COMPILED else ""
    return (
        f"{spent['seconds'] - spent['compiling_seconds']:,.1f} s{compiling}, {rate}; "
        f"waited {spent['stall_in_seconds']:.1f} s for weather, {spent['stall_out_seconds']:.1f} s for the disk"
    )


def size_of(folder: Path) -> int:
    """Bytes of all files in a folder, with folders in it."""
    found = 0
    for place, _, names in os.walk(folder):
        for name in names:
            with suppress(FileNotFoundError):  # a run that is computing has renamed it meanwhile
                found += os.stat(os.path.join(place, name)).st_size
    return found


def _digits(value: float) -> str:
    """A number as text: three digits at least."""
    return f"{value:.3g}" if abs(value) < 100 else f"{value:,.0f}"


def summary(simulation: "Simulation") -> Summary:
    """The facts of a run, and the years of its first series: totals of rates; of other records as they are reduced."""
    plan, cells, steps = simulation.plan, simulation.grid.n_cells, simulation.step_index
    unit = plan.clock.unit
    facts: dict[str, str | int] = {
        "run": str(simulation.folder.path),
        "model": f"{simulation.model.name} {simulation.model.version}",
        "cells": cells,
        f"{unit}s": steps,
        f"{unit}s_of_run": simulation.steps,
        "bytes": size_of(simulation.folder.output),
    }
    if options := options_text(plan.chosen):
        facts["options"] = options
    if plan.provenance["weather"] == "generated":
        facts["weather"] = GENERATED
    reading = simulation.reading.as_dict() if simulation.reading else {}
    arrays = simulation.array_counts
    spent = spent_of(simulation.spent, cells, steps, unit)
    if not plan.run.output.series or not steps:
        return Summary(facts, spent, [], {}, [], reading, arrays)
    series = plan.run.output.series[0]
    with open_results(simulation.folder.path, series.name) as dataset:
        region = str(dataset["region"].values[0])
        begins, ends = dataset["time_bnds"][:, 0].dt, dataset["time_bnds"][:, 1].dt
        at_new_year = ends.strftime("%m-%dT%H:%M:%S") == "01-01T00:00:00"
        if (ends.year.values - at_new_year.values > begins.year.values).any():
            facts["years"] = f'no table, as records of series "{series.name}" reach from one year into the next'
            return Summary(facts, spent, [], {}, [], reading, arrays)
        columns, years = _years(dataset.isel(region=0).load(), series.variables)
    facts["years"] = f'area {AREAS[series.over]} of series "{series.name}", region "{region}"'
    first, stop = plan.clock.date(0), plan.clock.date(steps)
    new_years = {year: parse_date(f"{year:04d}-01-01", plan.clock.calendar) for year in (*years, max(years, default=0) + 1)}
    partial = [year for year in years if new_years[year] < first or new_years[year + 1] > stop]
    return Summary(facts, spent, columns, years, partial, reading, arrays)


def _years(dataset: "xarray.Dataset", names: list[str]) -> tuple[list[str], dict[int, list[float]]]:
    bounds = dataset["time_bnds"].values
    days = (bounds[:, 1] - bounds[:, 0]).astype("timedelta64[us]") / np.timedelta64(1, "D")
    year = dataset["time_bnds"].dt.year.values[:, 0]
    columns: list[str] = []
    rows: dict[int, list[float]] = {int(number): [] for number in np.unique(year)}
    for name in names:
        attributes, values = dataset[name].attrs, dataset[name].values
        if values.ndim > 1:  # of a variable with levels the first of them
            name, values = layer(name, 0), values[:, 0]
        units, (method, _, area) = str(attributes["units"]), str(attributes["cell_methods"]).removeprefix("time: ").partition(" area: ")
        what = {"sum": "total", "maximum": "greatest", "minimum": "least", "mean": "mean"}.get(method.split()[0], "last")
        what = {"maximum": "greatest", "minimum": "least"}.get(area, what)  # each record may be of another cell: these have no total
        if what == "mean" and units.endswith(A_DAY):
            units, what, values = units.removesuffix(A_DAY), "total", values * days
        columns.append(f"{name} [{units}, {what}]")
        for number in rows:
            here = year == number
            rows[number].append(_of_year(what, values[here], days[here]))
    return columns, rows


def _of_year(what: str, values: Floats, days: Floats) -> float:
    if what == "total":
        return float(values.sum())
    if what == "mean":
        return float((values * days).sum() / days.sum())
    return float({"greatest": values.max(), "least": values.min(), "last": values[-1]}[what])
