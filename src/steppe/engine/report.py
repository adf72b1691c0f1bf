"""What happened, for people: a table of years, and what a folder holds."""

import json
from bisect import bisect_right
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from steppe.engine.picture import GENERATED
from steppe.io import ForcingStore, Progress, open_results

if TYPE_CHECKING:
    import xarray

    from steppe.engine.simulation import Simulation


@dataclass(frozen=True)
class Summary:
    """A finished or stopped run: facts by name, and one row a year of area means."""

    facts: dict[str, str]
    columns: list[str]
    years: dict[int, list[float]]

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {**self.facts, "columns": self.columns, "years": {str(year): row for year, row in self.years.items()}}

    def as_text(self) -> str:
        """For a terminal."""
        lines = [f"{name}: {text}" for name, text in self.facts.items()]
        if self.years:
            width = [max(len(column), 9) for column in self.columns]
            lines.append("year  " + "  ".join(f"{column:>{w}}" for column, w in zip(self.columns, width, strict=True)))
            for year, row in self.years.items():
                lines.append(f"{year}  " + "  ".join(f"{_digits(value):>{w}}" for value, w in zip(row, width, strict=True)))
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
    if not plan.run.output.series or not simulation.step_index:
        return Summary(facts, [], {})
    series = plan.run.output.series[0]
    with open_results(simulation.folder.path, series.name) as dataset:
        region = str(dataset["region"].values[0])
        columns, years = _years(dataset.isel(region=0).load(), series.variables)
    facts["years"] = f'area means of series "{series.name}", region "{region}"'
    return Summary(facts, columns, years)


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


<<<<<<< HEAD
def draw(path: Path, output: Path, variables: list[str] | None = None, date: str | None = None) -> Path:
    """Draws maps (means over what was computed, or the interval that holds `date`) and series of a run as one PNG; gives its path.

    Raises
    ------
    RunFileError
        The run has no such variable or no such day.
    FolderError, DamagedError
        There is no run, or a file of it is damaged.
    """
    dataset = open_results(path)
    held = _in_order(dataset, path)
    for name in variables or []:
        if name not in held:
            raise RunFileError(f'The run "{path}" has no map of "{name}".{nearest(name, held)}')
    if not dataset.sizes.get("time", 0):
        raise RunFileError(f'The run "{path}" has no results yet.')
    first, last = (str(dataset["time_bnds"].values[i, j])[:10] for i, j in ((0, 0), (-1, 1)))
    when = f"{first} until before {last}"
    chosen = dataset[variables or held]
    if date is not None:
        day = f"{parse_date(date, str(dataset['time'].dt.calendar)):%Y-%m-%d}"
        if not first <= day < last:
            raise RunFileError(f'--date {date} is not in the run "{path}", which holds {when}.')
        starts = [str(start)[:10] for start in dataset["time_bnds"].values[:, 0]]
        chosen, when = chosen.isel(time=[bisect_right(starts, day) - 1]), day
    maps = [_map(chosen[name], dataset) for name in chosen.data_vars]
    attributes = dataset.attrs
    notes = [f"{attributes.get('source', '')}. Maps: {'interval that holds ' if date else 'means of '}{when}. Lines: monthly means."]
    notes.append(GENERATED if attributes.get("weather") == "generated" else str(attributes.get("weather_summary", "")))
    draw_run(output, str(attributes.get("title", path.name)), maps, _series(path), notes)
    return output


def _in_order(dataset: "xarray.Dataset", path: Path, series: str = "") -> list[str]:
    """The variables of the maps, or of a series, in the order of the run file; those of a store that lies alone as they come."""
    names, run_file = [str(name) for name in dataset.data_vars], path / "run.toml"
    if not run_file.is_file():
        return names
    output = read_run_file(run_file).output
    wanted = next((one.variables for one in output.series if one.name == series), []) if series else output.variables
    return sorted(names, key=lambda name: wanted.index(name) if name in wanted else len(wanted))


def _map(array: "xarray.DataArray", dataset: "xarray.Dataset") -> Map:
    mean = array.mean("time", keep_attrs=True)
    attributes = array.attrs
    title, units = str(attributes.get("long_name", array.name)), str(attributes.get("units", "1"))
    on_raster = array["cell"].attrs.get("compress") == "lat lon"
    drawn = unpack(mean, dataset) if on_raster else mean
    lat, lon = (drawn["lat"], drawn["lon"]) if on_raster else (drawn["cell_lat"], drawn["cell_lon"])
    colours = choose_colours(drawn.values, str(array.name), units, str(attributes.get("standard_name", "")), title)
    return Map(title, drawn.values, units, lat.values, lon.values, colours)


def _series(path: Path) -> list[Series]:
    """Every series of a run as means of months, which a page can show."""
    found = []
    folder = path / "output.zarr" / "series"
    for group in sorted(folder.iterdir()) if folder.is_dir() else []:
        if not (group / "zarr.json").is_file():
            continue
        dataset = open_results(path, group.name).load()
        if not dataset.sizes["time"]:
            continue
        monthly = dataset.drop_vars("time_bnds", errors="ignore").resample(time="MS").mean(keep_attrs=True)
        for name in _in_order(monthly, path, group.name):
            array = monthly[name]
            for region in array["region"].values:
                title = f"{array.attrs.get('long_name', name)}, {group.name}"
                values = array.sel(region=region)
                found.append(Series(title, list(values["time"].values), values.values, str(array.attrs["units"]), str(region)))
    return found


=======
>>>>>>> 5401800d4623078109c329711253fd2b4e82ae4c
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
        found["identity"] = json.loads((path / "identity.json").read_text())
    else:
        store = ForcingStore.open(path)
        found["source"] = [
            f"{source['name']}, {source['size']:,} bytes, xxh3 {source['xxh3']}" for source in store.attributes.get("source", [])
        ]
    return found


def _described(array: "xarray.DataArray") -> str:
    words = [str(array.attrs.get(key, "")) for key in ("units", "long_name", "cell_methods", "regridding")]
    shift = [f"day shift {array.attrs['day_shift']:+d}"] if array.attrs.get("day_shift") else []
    return ", ".join([*filter(None, words), *shift, f"({', '.join(map(str, array.dims))})"])
