"""CSV files: a line for each place and record, ISO dates, units in the header. Spreadsheets, R and pandas read them as they are."""

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steppe.errors import Mistake, nearest
from steppe.io.axis import Axis, day_name
from steppe.io.export.aside import aside, refuse_existing
from steppe.io.export.source import Progress, Source, days_between, read_axis
from steppe.io.results import open_results


def write_cells(
    source: Source,
    path: Path,
    places: Sequence[tuple[float, float]] = (),
    overwrite: bool = False,
    progress: Progress = lambda part: None,
) -> Path:
    """Writes the series of single cells: date, place, latitude, longitude, one column for each variable.

    Parameters
    ----------
    places
        (longitude, latitude) of each wanted cell [degrees]; the cells of the source when there are none.

    Raises
    ------
    GridError
        No active cell is at a place; the message names the nearest one.
    Mistake
        The variables do not share a time axis.
    FolderError, NoSpaceError, Failure, DamagedError
        As for `write_netcdf`.
    """
    refuse_existing([path], overwrite)
    cells = np.array([source.grid.locate(*place) for place in places]) if places else source.cells
    axis = _common_axis(source)
    ids = source.dataset["cell_id"].values if "cell_id" in source.dataset.variables else None
    where = [
        [*([str(ids[cell])] if ids is not None else []), _digits(source.grid.cell_lat[cell]), _digits(source.grid.cell_lon[cell])]
        for cell in cells
    ]
    head = [*(["date"] if axis else []), *(["place"] if ids is not None else []), "latitude", "longitude"]
    units = [str(source.dataset[name].attrs.get("units", "1")) for name in source.names]
    with aside(path) as beside, beside.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([*head, *(f"{name} [{unit}]" for name, unit in zip(source.names, units, strict=True))])
        for blocks in zip(*(source.blocks(name, cells) for name in source.names), strict=True):
            first, count = blocks[0].first, len(blocks[0].values)
            dates = _dates(axis, first, first + count) if axis else [""]
            columns = [_texts(block.values) for block in blocks]
            for row, date in enumerate(dates):
                begin = [date] if axis else []
                writer.writerows([*begin, *place, *(column[row][i] for column in columns)] for i, place in enumerate(where))
            progress((first + count) / source.records(source.names[0]))
    return path


def write_series(
    path: Path,
    series: str,
    target: Path,
    variables: Sequence[str] | None = None,
    start: str | None = None,
    end: str | None = None,
    overwrite: bool = False,
) -> Path:
    """Writes the area means of regions that a run recorded: date, region, one column for each variable.

    Parameters
    ----------
    path, series
        The run, and the name of a series of it; "" when it has only one.

    Raises
    ------
    Mistake
        There is no such series, variable or day, or it must be said which.
    FolderError, NoSpaceError, Failure, DamagedError
        As for `write_netcdf`.
    """
    refuse_existing([target], overwrite)
    name = _only_series(path, series)
    store = path if (path / "zarr.json").is_file() else path / "output.zarr"
    with open_results(path, name) as dataset:
        held = sorted(str(variable) for variable, array in dataset.data_vars.items() if array.dims == ("time", "region"))
        for variable in variables or []:
            if variable not in held:
                raise Mistake(f'Series "{name}" of "{path}" holds no variable "{variable}".{nearest(variable, held)}')
        axis = read_axis(store / "series" / name, "time")
        found = days_between(axis, start, end)
        if found is None or not dataset.sizes["time"] or (end and found.stop > dataset.sizes["time"]):
            there = _period(axis, dataset.sizes["time"])
            raise Mistake(f'Series "{name}" of "{path}" holds {there}. Ask for days of these, written as 1990-01-31.')
        chosen = dataset.isel(time=slice(found.start, min(found.stop, dataset.sizes["time"])))
        names = list(variables or held)
        columns = [_texts(chosen[variable].to_numpy()) for variable in names]
        dates = _dates(axis, found.start, found.start + chosen.sizes["time"])
        regions = [str(region) for region in chosen["region"].values]
        with aside(target) as beside, beside.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(["date", "region", *(f"{variable} [{dataset[variable].attrs['units']}]" for variable in names)])
            for row, date in enumerate(dates):
                writer.writerows([date, region, *(column[row][i] for column in columns)] for i, region in enumerate(regions))
    return target


def series_names(path: Path) -> list[str]:
    """The names of the series of a run."""
    store = path if (path / "zarr.json").is_file() else path / "output.zarr"
    folder = store / "series"
    return sorted(group.name for group in folder.iterdir() if (group / "zarr.json").is_file()) if folder.is_dir() else []


def _only_series(path: Path, series: str) -> str:
    held = series_names(path)
    if series in held or not (path / "output.zarr").is_dir():  # the latter is said when it is opened
        return series
    if series:
        raise Mistake(f'The run "{path}" has no series "{series}".{nearest(series, held)}')
    if len(held) == 1:
        return held[0]
    choice = f"one of its series with --series ({', '.join(held)}), or cells" if held else "cells"
    raise Mistake(f'Of the run "{path}" a CSV file takes {choice} with --at LATITUDE,LONGITUDE. Give one.')


def _common_axis(source: Source) -> Axis | None:
    dims = list(dict.fromkeys(source.time_of(name) for name in source.names))
    if len(dims) > 1:
        times = "; ".join(f"{name}: {source.time_of(name) or 'no time'}" for name in source.names)
        raise Mistake(f'The variables of "{source.path}" do not share a time axis ({times}). Name some that do with --variables.')
    return source.axes[dims[0]] if dims[0] else None


def _period(axis: Axis, records: int) -> str:
    if not records:
        return f"nothing yet of {axis.period()}"
    return f"{day_name(axis.first, axis.calendar)} to {day_name(int(axis.stops[records - 1]) - 1, axis.calendar)}"


def _dates(axis: Axis, first: int, stop: int) -> list[str]:
    """First days of some records."""
    return [day_name(int(day), axis.calendar) for day in axis.starts[first:stop]]


def _texts(values: NDArray[Any]) -> list[list[str]]:
    """Numbers with as many digits as tell them apart from their neighbours; nothing for a missing one."""
    texts = values.astype(str)
    texts[~np.isfinite(values)] = ""
    rows: list[list[str]] = texts.tolist()
    return rows


def _digits(value: float) -> str:
    return f"{value:.10g}"
