"""What happened, for people: a table of years, and what a folder holds."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from steppe.engine.picture import GENERATED
from steppe.io import ForcingStore, Progress, open_results, read_identity

if TYPE_CHECKING:
    import xarray

    from steppe.engine.simulation import Simulation


@dataclass(frozen=True)
class Summary:
    """A finished or stopped run: facts by name, one row a year of area means, and what reading cost this process, in bytes and seconds."""

    facts: dict[str, str]
    columns: list[str]
    years: dict[int, list[float]]
    reading: dict[str, float]

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            **self.facts,
            "reading": self.reading,
            "columns": self.columns,
            "years": {str(year): row for year, row in self.years.items()},
        }

    def as_text(self) -> str:
        """For a terminal."""
        lines = [f"{name}: {text}" for name, text in self.facts.items()]
        if self.years:
            width = [max(len(column), 9) for column in self.columns]
            lines.append("year  " + "  ".join(f"{column:>{w}}" for column, w in zip(self.columns, width, strict=True)))
            for year, row in self.years.items():
                lines.append(f"{year}  " + "  ".join(f"{_digits(value):>{w}}" for value, w in zip(row, width, strict=True)))
        if self.reading.get("bytes"):
            lines.append(
                "reading: {bytes:,.1f} MB, {decode_seconds:.2f} s of decoding, {reader_seconds:.2f} s of the reading thread, "
                "{stall_seconds:.2f} s waited".format(**self.reading | {"bytes": self.reading["bytes"] / 1e6})
            )
        return "\n".join(lines) + "\n"


def _digits(value: float) -> str:
    """A number as people read it: three digits at least."""
    return f"{value:.3g}" if abs(value) < 100 else f"{value:,.0f}"


def summary(simulation: "Simulation") -> Summary:
    """The facts of a run, and the years of its first series: totals of rates, means of the rest."""
    plan = simulation.plan
    facts = {
        "run": str(simulation.folder.path),
        "model": f"{simulation.model.name} {simulation.model.version}",
        "cells": f"{simulation.grid.n_cells:,}",
        "days": f"{simulation.step_index:,} of {simulation.steps:,}",
    }
    if plan.provenance["weather"] == "generated":
        facts["weather"] = GENERATED
    reading = simulation.reading.as_dict() if simulation.reading else {}
    if not plan.run.output.series or not simulation.step_index:
        return Summary(facts, [], {}, reading)
    series = plan.run.output.series[0]
    with open_results(simulation.folder.path, series.name) as dataset:
        region = str(dataset["region"].values[0])
        columns, years = _years(dataset.isel(region=0).load(), series.variables)
    facts["years"] = f'area means of series "{series.name}", region "{region}"'
    return Summary(facts, columns, years, reading)


def _years(dataset: "xarray.Dataset", names: list[str]) -> tuple[list[str], dict[int, list[float]]]:
    bounds = dataset["time_bnds"].values
    days = (bounds[:, 1] - bounds[:, 0]).astype("timedelta64[D]").astype(np.float64)
    year = dataset["time"].dt.year.values
    columns: list[str] = []
    rows: dict[int, list[float]] = {int(number): [] for number in np.unique(year)}
    for name in names:
        units = str(dataset[name].attrs["units"])
        is_rate = units.endswith(" d-1")
        columns.append(f"{name} [{units.removesuffix(' d-1')}, total]" if is_rate else f"{name} [{units}, mean]")
        for number in rows:
            here = year == number
            total = float(np.sum(dataset[name].values[here] * days[here]))
            rows[number].append(total if is_rate else total / float(days[here].sum()))
    return columns, rows


def overview(path: Path) -> dict[str, Any]:
    """What a run folder or a store holds, as plain words and numbers.

    Raises
    ------
    FolderError
        There is neither.
    DamagedError
        It cannot be read.
    """
    dataset = open_results(path)
    attributes = {key: value for key, value in dataset.attrs.items() if isinstance(value, str | int | float)}
    found: dict[str, Any] = {"path": str(path), "dimensions": dict(dataset.sizes), "attributes": attributes}
    if dataset.sizes.get("time", 0):
        bounds = dataset["time_bnds"].values
        found["time"] = f"{str(bounds[0, 0])[:10]} until before {str(bounds[-1, 1])[:10]}"
    found["variables"] = {str(name): _described(array) for name, array in dataset.data_vars.items()}
    progress = Progress.read(path)
    if progress:
        found["progress"] = {"state": progress.state, "steps": progress.step, "next day": progress.date}
        found["identity"] = read_identity(path)
    else:
        store = ForcingStore.open(path)
        found["source"] = [
            f"{source['name']}, {source['size']:,} bytes, xxh3 {source['xxh3']}" for source in store.attributes.get("source", [])
        ]
    return found


def _described(array: "xarray.DataArray") -> str:
    words = [str(array.attrs.get(key, "")) for key in ("units", "long_name", "cell_methods", "regridding")]
    days = [f"days from {array.attrs['days_from']}"] if "days_from" in array.attrs else []
    return ", ".join([*filter(None, words), *days, f"({', '.join(map(str, array.dims))})"])
